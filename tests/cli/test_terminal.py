"""At a real (pseudo) terminal: what streams, what is asked, what Ctrl-C does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from interpreters.cli.exits import Exit
from tests.cli.replies import say, writes
from tests.cli.screen import CTRL_C, at_a_terminal
from tests.meta.tree import ROOT

STALL = {"do": "stall", "text": "thinking about it "}
DEAF = {"do": "stall", "text": "deaf ", "confirms": False}


@pytest.fixture
def place(tmp_path):
    def write(*replies):
        (tmp_path / "script.json").write_text(json.dumps(replies), encoding="utf-8")
        return tmp_path

    return write


FLAGS = ("--model", "script:script.json", "--id", "s")


@pytest.mark.req("R-078", "R-241")
def test_text_streams_and_each_call_is_shown_when_it_starts_and_when_it_ends(place):
    room = place(say("I look.", ("list_files", {})), say("Done."))
    with at_a_terminal(room, "run", "hi", *FLAGS, NO_COLOR="1") as person:
        code = person.waits_for_the_end()
    assert code == Exit.COMPLETED
    assert person.seen.split("\n") == [
        "session s",
        "I look.",
        "> list_files()  [1.1.0]",
        "< list_files ok: home/  [1.1.0]",
        "Done.",
        "",
    ]


def test_colour_is_shown_at_a_terminal_unless_it_is_not_wanted(place):
    room = place(say("x"))
    with at_a_terminal(room, "run", "hi", *FLAGS) as person:
        person.waits_for_the_end()
    assert "\x1b[2msession s\x1b[0m" in person.seen
    with at_a_terminal(room, "show", "s", NO_COLOR="1") as person:
        person.waits_for_the_end()
    assert "\x1b" not in person.seen


def test_what_a_model_or_a_file_says_never_reaches_the_terminal_as_a_control_sequence(place):
    room = place(say("a\x1b]0;title\x07b", ("read_file", {"path": "\x1b[2J"})), say("\x9b31m"))
    (room / "evil.txt").write_text("\x1b[31m", encoding="utf-8")
    with at_a_terminal(room, "run", "hi", *FLAGS, NO_COLOR="1") as person:
        person.waits_for_the_end()
    assert [each for each in person.seen if not each.isprintable() and each != "\n"] == []


@pytest.mark.req("R-114")
def test_a_question_shows_what_would_run_and_yes_lets_it(place):
    room = place(say("", writes("a.txt", "hello")), say("written"))
    with at_a_terminal(room, "run", "hi", *FLAGS) as person:
        shown = person.sees("[v]iew all, or say what to do instead: ")
        person.types("y\n")
        assert person.waits_for_the_end() == Exit.COMPLETED
    assert "May write_file run?" in shown
    assert '"content": "hello"' in shown
    assert (room / "a.txt").read_text(encoding="utf-8") == "hello"


@pytest.mark.req("R-115")
def test_no_ends_the_turn_as_refused(place):
    room = place(say("", writes("a.txt")))
    with at_a_terminal(room, "run", "hi", *FLAGS) as person:
        person.sees("say what to do instead: ")
        person.types("n\n")
        assert person.waits_for_the_end() == Exit.DENIED
    assert "Stopped because the user refused a permission" in person.seen
    assert not (room / "a.txt").exists()


@pytest.mark.req("R-098", "R-179")
def test_ctrl_c_stops_the_turn_as_cancelled_and_not_as_an_error(place):
    with at_a_terminal(place(STALL), "run", "hi", *FLAGS, NO_COLOR="1") as person:
        person.sees("thinking about it")
        person.types(CTRL_C)
        assert person.waits_for_the_end() == Exit.CANCELLED
    assert "Stopping. Press Ctrl-C again to leave; the session can be resumed." in person.seen
    assert "Cancelled, as you asked." in person.seen
    assert "Traceback" not in person.seen


@pytest.mark.req("R-178", "R-179", "R-180")
def test_a_second_ctrl_c_leaves_and_says_how_to_go_on(place):
    room = place(DEAF, say("Here I am again."))
    with at_a_terminal(room, "run", "hi", *FLAGS, NO_COLOR="1") as person:
        person.sees("deaf")
        person.types(CTRL_C)
        person.sees("Cancelling; the end of the running work is not confirmed.")
        person.types(CTRL_C)
        assert person.waits_for_the_end() == Exit.LEFT
    assert "Left while the turn was open. Go on with: agentcore resume s" in person.seen
    assert "Cancelled, as you asked" not in person.seen
    with at_a_terminal(room, "resume", "s", "--model", "script:script.json", NO_COLOR="1") as person:
        assert person.waits_for_the_end() == Exit.CANCELLED


@pytest.mark.req("R-177", "D-7")
def test_a_command_that_is_stopped_is_killed_and_its_effect_is_left_to_be_looked_into(place):
    room = place(say("", ("shell", {"command": "echo $$ > pid; exec sleep 600"})), say("x"))
    with at_a_terminal(room, "run", "hi", *FLAGS, "--allow", "shell", NO_COLOR="1") as person:
        person.sees("> shell")
        while not (room / "pid").exists() or not (room / "pid").read_text(encoding="utf-8"):
            pass
        person.types(CTRL_C)
        assert person.waits_for_the_end() == Exit.UNRESOLVED
    assert "check that first, before anything is tried again" in person.seen
    with pytest.raises(ProcessLookupError):
        os.kill(int((room / "pid").read_text(encoding="utf-8")), 0)


def test_leaving_does_not_wait_for_a_thread_that_hangs(place):
    room = place({"do": "stall", "text": "deaf ", "confirms": False})
    command = [sys.executable, "-m", "interpreters.cli", "chat", "--model", "script:script.json", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "AGENTCORE_HOME": str(room / "home")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=room, env=environment, **pipes) as process:
        process.stdin.write(b"hi\n")
        process.stdin.flush()
        while b"deaf" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        while b"cancelling" not in process.stdout.readline():
            pass
        # A thread of it still waits for the next line, which never comes.
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(30) == -signal.SIGINT


# The chat


def chatting(room, *more):
    return at_a_terminal(room, "chat", *more, "--model", "script:script.json", NO_COLOR="1")


@pytest.mark.req("R-229")
def test_a_chat_answers_and_comes_back_to_the_prompt(place):
    with chatting(place(say("Hello."), say("Bye."))) as person:
        person.sees("> ")
        person.types("hi\n")
        assert "Hello.\n> " in person.sees("Hello.\n> ")
        person.types("bye\n")
        person.sees("Bye.\n> ")
        person.types("/quit\n")
        assert person.waits_for_the_end() == Exit.COMPLETED
    assert "Go on with: agentcore chat " in person.seen


@pytest.mark.req("R-179")
def test_at_the_prompt_the_first_ctrl_c_warns_and_the_second_leaves(place):
    with chatting(place(say("Hello."))) as person:
        person.sees("> ")
        person.types(CTRL_C)
        person.sees("Press Ctrl-C again to leave, or go on typing.\n> ")
        person.types("hi\n")
        person.sees("Hello.\n> ")
        person.types(CTRL_C)
        person.sees("Press Ctrl-C again to leave, or go on typing.\n> ")
        person.types(CTRL_C)
        assert person.waits_for_the_end() == Exit.COMPLETED


@pytest.mark.req("R-179")
def test_ctrl_c_in_a_turn_brings_the_prompt_back(place):
    with chatting(place(STALL, say("Yes?"))) as person:
        person.sees("> ")
        person.types("hi\n")
        person.sees("thinking about it")
        person.types(CTRL_C)
        person.sees("Cancelled, as you asked.")
        person.sees("> ")
        person.types("still there?\n")
        person.sees("Yes?\n> ")
        person.types("\x04")
        assert person.waits_for_the_end() == Exit.COMPLETED


@pytest.mark.req("R-179")
def test_two_ctrl_c_in_a_turn_leave_the_chat(place):
    with chatting(place(DEAF)) as person:
        person.sees("> ")
        person.types("hi\n")
        person.sees("deaf")
        person.types(CTRL_C)
        person.sees("Press Ctrl-C again")
        person.types(CTRL_C)
        assert person.waits_for_the_end() == Exit.LEFT
    assert "agentcore resume" in person.seen


@pytest.mark.req("R-239", "D-33")
def test_what_is_typed_during_a_turn_is_filed_and_said(place):
    room = place({"do": "stall", "text": "working "}, say("Steered."), say("Followed."))
    with chatting(room) as person:
        person.sees("> ")
        person.types("hi\n")
        person.sees("working")
        person.types("and then this\n")
        person.sees("this waits as a follow-up")
        person.types("/steer the other way\n")
        person.sees("The running turn hears this before its next request.")
        person.types("/status\n")
        person.sees("2 messages wait.")
        person.types(CTRL_C)
        person.sees("Cancelled, as you asked.")


def test_a_question_in_a_chat_is_answered_by_the_next_line(place):
    room = place(say("", writes("a.txt", "hello")), say("written"))
    with chatting(room) as person:
        person.sees("> ")
        person.types("hi\n")
        person.sees("say what to do instead: ")
        person.types("y\n")
        person.sees("written\n> ")
    assert (room / "a.txt").read_text(encoding="utf-8") == "hello"


def test_a_withdrawn_question_is_said_and_the_next_line_is_the_chats_again(place):
    room = place(say("", writes("a.txt")), say("Fine."))
    with chatting(room) as person:
        person.sees("> ")
        person.types("hi\n")
        person.sees("say what to do instead: ")
        person.types(CTRL_C)
        person.sees("(no longer asked)")
        person.sees("> ")
        person.types("y\n")
        person.sees("Fine.\n> ")
    assert not (room / "a.txt").exists()
