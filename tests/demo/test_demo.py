"""The promise, on the real file system: killed between a deed and its record, resumed, done once."""

from __future__ import annotations

import signal
import time

import attrs
import pytest

from interpreters.cli.demo.story import Room
from interpreters.cli.demo.verdict import claims_of_death, claims_of_life, look
from interpreters.cli.exits import Exit
from tests.cli.screen import CTRL_C, at_a_terminal
from tests.demo.processes import deeds, demo, journal, worker

OUTCOMES = {"tool-succeeded", "tool-failed", "tool-lost", "effect-inspected"}


@pytest.fixture
def room(tmp_path):
    Room(tmp_path).furnish()
    return tmp_path


def named(events, kind):
    return [event for event in events if event["type"] == kind]


def outcomes_of(events, name):
    """Events that say what became of the calls of a tool."""
    calls = {
        f"{event['request_id']}.{index}"
        for event in named(events, "model-replied")
        for index, part in enumerate(part for part in event["parts"] if part["type"] == "tool-call-part")
        if part["name"] == name
    }
    return [event for event in events if event["type"] in OUTCOMES and event["call_id"] in calls]


@pytest.mark.req("R-153", "R-159", "R-163", "R-194", "G-12")
def test_killed_between_a_deed_and_its_record_the_deed_is_done_once(room):
    first = worker(room, "--dies")
    assert first.status == -signal.SIGKILL
    events = journal(room)
    assert outcomes_of(events, "add_line") == []
    assert named(events, "approval-granted")[-1]["call_id"] == "1.2.0"
    assert deeds(room) == 1

    second = worker(room, "--resumes")
    assert second.status == Exit.COMPLETED
    assert deeds(room) == 1
    (found,) = outcomes_of(journal(room), "add_line")
    assert (found["type"], found["finding"]) == ("effect-inspected", "executed")
    assert second.transitions[0] == "session-resumed"


@pytest.mark.req("R-157")
def test_an_inspection_that_lies_lets_the_deed_be_done_twice(room):
    assert worker(room, "--dies").status == -signal.SIGKILL
    assert worker(room, "--resumes", "--lies").status == Exit.COMPLETED
    assert deeds(room) == 2


def test_the_journal_of_the_first_process_is_a_prefix_of_what_the_second_leaves(room):
    worker(room, "--dies")
    before = journal(room)
    worker(room, "--resumes")
    assert journal(room)[: len(before)] == before


@pytest.mark.req("R-120", "R-123", "R-127")
def test_two_tools_run_at_once_and_their_results_are_written_in_source_order(room):
    first = worker(room, "--dies")
    shown = [line for line in first.lines if line.get("view") in ("tool_start", "tool_result")]
    assert [line["view"] for line in shown[:4]] == ["tool_start", "tool_start", "tool_result", "tool_result"]
    second = worker(room, "--resumes")
    assert second.status == Exit.COMPLETED


def test_the_demonstration_shows_it_in_less_than_half_a_minute_and_says_only_what_is_so(tmp_path):
    began = time.monotonic()
    ran = demo("--json", "--dir", "room", cwd=tmp_path)
    assert time.monotonic() - began < 30
    verdict = ran.lines[-1]
    assert (ran.status, verdict["demo"], verdict["true"], verdict["deeds"]) == (0, "verdict", True, 1)
    assert all(claim["true"] for claim in verdict["claims"])
    assert deeds(tmp_path / "room") == 1
    assert {"approval-granted", "session-resumed", "effect-inspected"} <= set(ran.transitions)


def test_with_a_lying_inspection_the_demonstration_ends_with_two_deeds_and_says_so(tmp_path):
    ran = demo("--json", "--lying-inspect", "--dir", "room", cwd=tmp_path)
    assert (ran.status, ran.lines[-1]["deeds"]) == (0, 2)
    assert deeds(tmp_path / "room") == 2


def test_without_a_terminal_the_question_is_answered_and_that_is_said(tmp_path):
    ran = demo(cwd=tmp_path)
    assert ran.status == Exit.COMPLETED
    assert "This is no terminal, so the question for permission is answered with yes." in ran.out
    assert "the first process is dead: signal 9 (SIGKILL)" in ran.out
    assert "FALSE" not in ran.out
    assert ran.out.count("true ") == 7
    assert [path.name for path in tmp_path.iterdir()] == []


def test_a_refusal_is_the_end_of_the_story(tmp_path):
    ran = demo("--approval", "no", "--dir", "room", cwd=tmp_path)
    assert ran.status == Exit.DENIED
    assert deeds(tmp_path / "room") == 0


def test_a_directory_that_exists_is_left_alone(tmp_path):
    (tmp_path / "room").mkdir()
    ran = demo("--dir", "room", cwd=tmp_path)
    assert (ran.status, "exists already" in ran.err) == (Exit.USAGE, True)


@pytest.mark.anyio
async def test_what_is_not_so_is_not_claimed(room):
    """Each claim is false where what it speaks of is otherwise."""
    worker(room, "--dies")
    dead = await look(Room(room))
    assert [claim.true for claim in claims_of_death(-9, dead)] == [True, True, True]
    assert [claim.true for claim in claims_of_death(0, attrs.evolve(dead, deeds=2))] == [False, True, False]
    assert not any(
        claim.true for claim in claims_of_life(1, attrs.evolve(dead, passages=dead.passages[:3], deeds=0), lied=False)
    )
    worker(room, "--resumes")
    alive = await look(Room(room))
    assert [claim.true for claim in claims_of_life(0, alive, lied=False)] == [True, True, True, True]
    assert [claim.true for claim in claims_of_death(-9, alive)][1] is False
    assert [claim.true for claim in claims_of_life(0, alive, lied=True)] == [True, False, False, True]


def test_at_a_terminal_a_person_is_asked_and_their_yes_is_what_lets_it_run(tmp_path):
    with at_a_terminal(tmp_path, "demo", "--dir", "room", NO_COLOR="1") as person:
        person.sees("May add_line run?")
        person.sees("or say what to do instead: ")
        person.types("y\n")
        assert person.waits_for_the_end() == Exit.COMPLETED
    assert deeds(tmp_path / "room") == 1
    (granted,) = named(journal(tmp_path / "room"), "approval-granted")
    assert granted["by"] == "user"


def test_ctrl_c_ends_the_demonstration_and_leaves_nothing_behind(tmp_path):
    with at_a_terminal(tmp_path, "demo", TMPDIR=str(tmp_path), NO_COLOR="1") as person:
        person.sees("or say what to do instead: ")
        assert [path.name[:15] for path in tmp_path.iterdir()] == ["agentcore-demo-"]
        person.types(CTRL_C)
        assert person.waits_for_the_end() == Exit.LEFT
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in person.seen
