"""What is recorded is shown as it is: sessions, conversations, transitions, calls; and what is amiss is said."""

from __future__ import annotations

import os

import anyio
import pytest

from interpreters.cli.exits import Exit
from interpreters.stores import FileStore
from interpreters.stores.lines import seal
from interpreters.support.locks import FileLock
from tests.cli.replies import say, writes


@pytest.fixture
def told(cli):
    """A session with two calls, one of them refused."""
    script = cli.script(say("I look.", ("list_files", {})), say("Now I write.", writes("a.txt")), say("Done."))
    cli("run", "look and write", "--id", "s", *script)
    return cli


def segment(cli, session_id="s"):
    return cli.session(session_id) / "segment-000001.ndjson"


# The list


def test_sessions_are_listed_newest_first_with_where_they_stand_and_what_they_were_asked(told):
    told("run", "another", "--id", "t", "--approval", "wait", *told.script(say("", writes("b.txt"))))
    rows = told("sessions").out.split("\n")
    assert [row.split()[0] for row in rows if row] == ["t", "s"]
    assert "waiting_for_person  another" in rows[0]
    assert "done  look and write" in rows[1]
    assert [line["session_id"] for line in told("sessions", "--json").lines] == ["t", "s"]


def test_only_the_newest_are_listed_unless_all_are_asked_for(cli):
    script = cli.script(say("x"))
    for number in range(22):
        cli("run", "x", "--id", f"s{number}", *script)
    ran = cli("sessions")
    assert (len(ran.out.split("\n")) - 1, ran.err) == (20, "2 older ones are not listed (--all)\n")
    assert len(cli("sessions", "--all").out.split("\n")) - 1 == 22


def test_where_there_are_none_that_is_said(cli):
    ran = cli("sessions")
    assert (ran.code, ran.out) == (Exit.COMPLETED, "")
    assert "no sessions in" in ran.err


def test_a_directory_of_garbage_is_listed_with_its_problem_and_disturbs_no_other(told):
    (told.place / "home" / "sessions" / "junk").mkdir()
    (told.session("junk") / "segment-000001.ndjson").write_bytes(b"\x00\xff\x1b[31mgarbage\n")
    (told.place / "home" / "sessions" / "loose.txt").write_text("x", encoding="utf-8")
    (told.place / "home" / "sessions" / "-odd name").mkdir()
    ran = told("sessions")
    assert ran.code == Exit.COMPLETED
    assert "junk" in ran.out
    assert "unreadable" in ran.out
    assert "\x1b" not in ran.out
    assert "done  look and write" in ran.out


# A conversation


@pytest.mark.req("R-211", "R-238")
def test_a_conversation_is_shown_with_its_calls_and_where_it_stands(told):
    ran = told("show", "s")
    assert ran.code == Exit.COMPLETED
    assert ran.out.split("\n\n") == [
        "You\nlook and write",
        "Model\nI look.",
        "> list_files()  [1.1.0]\n< succeeded\n  home/\n  script.json",
        "Model\nNow I write.",
        (
            '> write_file(content="x", path="a.txt")  [1.2.0]\n< denied\n'
            "  Denied by rule default: nobody was there to ask"
        ),
        "Model\nDone.",
        "Done: the model gave its answer.\n",
    ]


def test_a_conversation_as_json_holds_all_of_it(told):
    (shown,) = told("show", "s", "--json").lines
    assert [entry["kind"] for entry in shown["transcript"]] == ["said", "said", "called", "said", "called", "said"]
    assert (shown["phase"], shown["status"], shown["damage"]) == ("completed", "done", None)
    assert shown["usage"]["turn_number"] == 1


def test_long_results_are_shortened_unless_the_whole_is_asked_for(cli):
    (cli.place / "long.txt").write_text("\n".join(f"line {n}" for n in range(50)), encoding="utf-8")
    cli("run", "x", "--id", "s", *cli.script(say("", ("read_file", {"path": "long.txt"})), say("x")))
    assert "… 38 more lines (--whole)" in cli("show", "s").out
    assert "line 49" in cli("show", "s", "--whole").out


# Transitions


@pytest.mark.req("R-054", "R-230", "R-233")
def test_every_event_is_one_transition_with_its_evidence(told):
    header, *lines = told("log", "s", "--json").lines
    transitions = [line for line in lines if line["log"] == "transition"]
    assert header["log"] == "header"
    assert [line["seq"] for line in transitions] == list(range(1, len(transitions) + 1))
    assert [line["event"] for line in transitions] == [line["fact"]["type"] for line in transitions]
    assert transitions[-1]["to"] == "Completed"
    assert transitions[-1]["evidence"] == {"reason": "final_answer"}


def test_transitions_are_shown_in_lines_with_the_calls_that_moved(told):
    out = told("log", "s").out
    assert "    1 prompt-submitted     Idle -> AwaitingModel" in out
    assert "call 1.2.0 Proposed -> AwaitingApproval (approval-asked)" in out
    assert "orders" not in out
    assert "orders request-model/1.1/0/1" in told("log", "s", "--whole").out


@pytest.mark.req("R-133")
def test_the_audit_has_one_record_for_each_call_with_who_let_it_run(told):
    first, second = told("log", "s", "--audit", "--json").lines
    assert (first["name"], first["ok"], first["rule"], first["arguments"]) == ("list_files", True, "default-pure", "{}")
    assert (second["name"], second["ok"], second["by"], second["outcome"]) == (
        "write_file",
        False,
        "nobody",
        "denied-call",
    )
    text = told("log", "s", "--audit").out
    assert "allowed by default-pure, attempt 0.1" in text
    assert "refused by nobody, never run" in text
    assert "refused by nobody: nobody was there to ask" in text


# What is amiss


def test_an_unknown_session_is_said_by_every_command_that_reads(cli):
    for name in ("show", "log", "inspect"):
        ran = cli(name, "nobody")
        assert (ran.code, ran.out) == (Exit.UNKNOWN, "")
        assert ran.err.startswith("agentcore: there is no session 'nobody' in ")


@pytest.mark.req("R-201", "R-202")
def test_a_damaged_journal_is_shown_as_far_as_it_goes_and_says_where_it_is_damaged(told):
    lines = segment(told).read_bytes().split(b"\n")
    lines[7] = lines[7].replace(b"at", b"@t")
    segment(told).write_bytes(b"\n".join(lines))
    shown = told("show", "s")
    assert shown.code == Exit.DAMAGED
    assert "look and write" in shown.out
    assert (
        "session 's': Event 6 is the last good one. The journal is damaged (segment-000001.ndjson at byte" in shown.err
    )
    logged = told("log", "s", "--json")
    assert (logged.code, logged.lines[-1]["seq"]) == (Exit.DAMAGED, 6)
    before = segment(told).read_bytes()
    ran = told("resume", "s", *told.script(say("x")))
    assert ran.code == Exit.DAMAGED
    assert "opens read-only" in ran.err
    assert "--accept-gap" in ran.err
    assert segment(told).read_bytes() == before


@pytest.mark.req("R-191", "R-203")
def test_a_gap_that_a_person_accepts_is_recorded_and_the_session_goes_on(told):
    lines = segment(told).read_bytes().split(b"\n")
    lines[7] = lines[7].replace(b"at", b"@t")
    segment(told).write_bytes(b"\n".join(lines))
    ran = told("resume", "s", "--accept-gap", "ann", *told.script(say(""), say("Here we are.")))
    assert (ran.code, ran.out) == (Exit.COMPLETED, "Here we are.\n")
    assert '"gap_accepted_by": "ann"' in told("log", "s", "--whole").out


@pytest.mark.req("R-200", "R-201")
def test_half_a_line_at_the_end_is_set_aside_and_said(told):
    data = segment(told).read_bytes()
    segment(told).write_bytes(data[:-30])
    shown = told("show", "s")
    assert shown.code == Exit.COMPLETED
    assert "The last write was cut off" in shown.err


def test_a_newer_journal_is_refused_by_name(told):
    data = segment(told).read_bytes()
    header, _, rest = data.partition(b"\n")
    newer = header[: header.rindex(b',"crc"')].replace(b'{"schema":0,', b'{"schema":99,', 1)
    segment(told).write_bytes(seal(newer) + rest)
    ran = told("show", "s")
    assert ran.code == Exit.NEWER
    assert "Use the version that wrote it, or a newer one" in ran.err


def test_a_locked_session_says_by_whom(told):
    script = told.script(say("x"))
    lock = FileLock.take(told.session("s") / "lock")
    try:
        ran = told("resume", "s", "more", *script)
        assert ran.code == Exit.LOCKED
        assert f"session 's' is locked by process {os.getpid()} on " in ran.err
        assert told("show", "s").code == Exit.COMPLETED
    finally:
        lock.release()


def test_an_error_is_a_value_where_a_program_reads(cli):
    ran = cli("show", "nobody", "--json")
    assert ran.lines[0]["exit"] == Exit.UNKNOWN
    assert "no session" in ran.lines[0]["error"]


def test_rejections_are_shown_with_the_transitions(told):
    async def reject():
        journal = await FileStore(told.place / "home" / "sessions").open("s")
        await journal.reject(b'{"code":"not-expected-here","event":"\\u001b[31m"}')
        await journal.close()

    anyio.run(reject)
    assert "refused" in told("log", "s").out
    assert "\x1b" not in told("log", "s").out
    assert told("log", "s", "--json").lines[-1]["rejection"]["code"] == "not-expected-here"


def test_a_session_that_cannot_be_read_is_named(told):
    segment(told).unlink()
    segment(told).mkdir()
    ran = told("show", "s")
    assert ran.code == Exit.STORAGE
    assert "storage unavailable: read failed" in ran.err
    assert "Is a directory" in ran.err
    assert "Is a directory" in told("sessions").out
