"""A chat through a pipe: one line, one message; and what each command says."""

from __future__ import annotations

import io
import json
import sys

import pytest

from interpreters.cli.exits import Exit
from tests.cli.replies import say


@pytest.fixture
def chat(cli, monkeypatch):
    """Run a chat with lines as its input."""

    def run(lines, *replies, flags=()):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return cli("chat", *flags, *cli.script(*replies))

    return run


@pytest.mark.req("R-244")
def test_each_line_is_a_message_and_each_answer_is_written_when_it_is_whole(chat):
    ran = chat(["one", "", "two"], say("First."), say("Second."))
    assert (ran.code, ran.out) == (Exit.COMPLETED, "First.\nSecond.\n")


def test_the_end_of_the_last_turn_is_the_exit_code(chat):
    assert chat(["hi"], {"do": "break", "message": "gone", "kind": "fatal"}).code == Exit.FAILED
    assert chat(["hi", "/quit", "never said"], say("x")).code == Exit.COMPLETED
    assert chat([]).code == Exit.COMPLETED


@pytest.mark.req("R-179")
def test_clear_empties_what_the_model_sees_and_confirms(chat, cli):
    ran = chat(["one", "/clear", "two"], say("First."), say("Second."), flags=["--json"])
    assert "Cleared: the model starts from an empty conversation." in ran.out
    session = cli("sessions", "--json").lines[0]["session_id"]
    events = [line["event"] for line in cli("log", session, "--json").lines if line["log"] == "transition"]
    assert "history-cleared" in events


@pytest.mark.req("R-229", "R-235")
def test_cost_and_status_answer_in_words_and_as_values(chat):
    reply = say("x") | {"usage": {"input_tokens": 7, "output_tokens": 5, "cost_micros": 1500}}
    ran = chat(["hi", "/cost", "/status"], reply)
    assert ran.err.split("\n")[1].split() == ["input", "7", "7"]
    assert "cost" in ran.err
    assert "0.0015" in ran.err
    assert "Done. Send a message." in ran.err
    values = chat(["hi", "/cost", "/status"], reply, flags=["--json"]).lines
    assert [line["turn"]["cost_micros"] for line in values if line["view"] == "cost"] == [1500]
    assert [line["status"] for line in values if line["view"] == "status"] == ["done"]


def test_commands_that_mean_nothing_now_say_so(chat):
    ran = chat(["/abort", "/steer", "/steer go left", "/frob x", "/help"])
    assert ran.err.split("\n")[:4] == [
        "No turn is running.",
        "What should be said? /steer WORDS",
        "No turn is running: this is delivered with the next one.",
        "There is no command /frob. /help lists them; // begins a message that starts with a slash.",
    ]
    assert "/clear" in ran.err


def test_two_slashes_begin_a_message(chat, cli):
    chat(["//etc is a directory"], say("Yes."))
    session = cli("sessions", "--json").lines[0]["session_id"]
    assert "/etc is a directory" in [entry["text"] for entry in cli("show", session, "--json").lines[0]["transcript"]]


def test_a_chat_goes_on_in_a_session_that_exists(chat, cli):
    cli("run", "one", "--id", "s", *cli.script(say("First."), say("Second.")))
    assert chat(["two"], say("First."), say("Second."), flags=["s"]).out == "Second.\n"
    assert chat(["x"], say("x"), flags=["nobody"]).code == Exit.UNKNOWN


def test_lines_of_json_are_all_that_is_written_for_a_program(chat):
    ran = chat(["hi", "/help"], say("x"), flags=["--json"])
    assert [json.loads(line)["view"] for line in ran.out.split("\n") if line][-1] == "chat"
    assert ran.err == ""
