"""The reducer itself: total, deterministic, made from tables that are held to their promises."""

from __future__ import annotations

import attrs
import pytest
from attrs import evolve

from agentcore import TABLES, Config, Limits, Tables, Verdict, make_reduce, outstanding, reduce, start
from agentcore.commands import RecordRejection, key_of
from agentcore.events import (
    CheckpointWritten,
    EffectResolved,
    Finding,
    InspectionRequested,
    ModelReplied,
    PromptSubmitted,
    Resolution,
    RetryRequested,
    SteeringQueued,
    ToolSucceeded,
)
from agentcore.messages import TextPart
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import CALL_STATES, PHASES, Because, Completed, Executing, Idle, Preparing, Proposed, Saving
from agentcore.steps.verdicts import Advance, Ignored
from agentcore.table import Kind, Row
from tests.core.driver import Session, call, executing, tool

PROMPT = PromptSubmitted(at=1, message_id="m", parts=(TextPart("Hi."),))


def broken(machine, source, event, **changes):
    """Tables in which the first row for that source and event is changed."""
    rows = getattr(TABLES, machine)
    found = next(row for row in rows if (row.source, row.event) == (source, event))
    return evolve(TABLES, **{machine: tuple(evolve(row, **changes) if row is found else row for row in rows)})


def idle():
    return start("s", Config(), 0).state


class TestStart:
    def test_is_idle_with_nothing_outstanding(self):
        state, commands = start("s", Config(instructions="Be brief."), 7)
        assert isinstance(state.phase, Idle)
        assert state.phase.transition.because is Because.SESSION_STARTED
        assert (state.session_id, state.at, state.seq, state.epoch) == ("s", 7, 0, 0)
        assert state.config.instructions == "Be brief."
        assert commands == outstanding(state) == ()

    def test_a_state_is_one_value(self):
        assert start("s", Config(), 7) == start("s", Config(), 7)
        assert start("s", Config(), 7) != start("t", Config(), 7)


@pytest.mark.req("R-007", "R-217")
class TestReduce:
    def test_returns_state_and_commands(self):
        state, commands = reduce(idle(), PROMPT)
        assert [key_of(command).name for command in commands] == ["request-model", "start-timer"]
        assert state.seq == 1

    @pytest.mark.req("R-213")
    def test_is_deterministic(self):
        assert reduce(idle(), PROMPT) == reduce(idle(), PROMPT)

    @pytest.mark.parametrize("value", [None, "prompt", 7, Advance(), PromptSubmitted])
    def test_a_value_that_is_no_event_is_a_type_error(self, value):
        with pytest.raises(TypeError, match=r"is no event of agentcore\.events"):
            reduce(idle(), value)

    @pytest.mark.req("R-213", "R-194")
    def test_folding_the_accepted_events_gives_the_same_state(self):
        session = executing(calls=2)
        session.lose("1.1.0")
        session.tried(ToolSucceeded, call_id="9.9.9", epoch=0, attempt=1, result="?")
        session.resume()
        session.inspected(Finding.UNAVAILABLE, "1.1.0")
        session.abort()
        folded = start("s", session.trace[0].state.config, 0).state
        for line in session.trace:
            if line.judged.verdict is Verdict.ACCEPTED:
                folded = reduce(folded, line.event).state
        assert folded == session.state
        assert folded.seq == sum(line.judged.verdict is Verdict.ACCEPTED for line in session.trace)


@pytest.mark.req("D-30", "R-061", "R-062")
class TestVerdicts:
    def test_an_accepted_event_names_the_rows_it_took(self):
        judged = reduce.examine(idle(), PROMPT)
        assert judged.verdict is Verdict.ACCEPTED
        assert judged.rows[0].name == "Idle x PromptSubmitted submit_prompt"
        assert [row.because for row in judged.rows[1:]] == [Because.REQUEST_READY]
        assert judged.reduction.state.phase.transition.hops == judged.hops

    def test_an_ignored_event_gives_the_same_state_and_nothing(self):
        session = Session()
        session.prompt(message_id="m")
        judged = session.tried(PromptSubmitted, message_id="m")
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "message-known")
        assert judged.reduction.commands == ()

    def test_a_rejected_event_gives_one_record_with_all_that_is_known(self):
        session = Session(tool())
        session.propose("write")
        judged = session.tried(ToolSucceeded, call_id="1.1.0", epoch=0, attempt=1, result="?")
        assert judged.reduction.commands == (RecordRejection(judged.rejection, session.now),)
        assert (judged.rejection.state, judged.rejection.event) == ("Proposed", "ToolSucceeded")
        assert "PolicyAllowed" in judged.rejection.legal
        assert "StopEntered" not in judged.rejection.legal

    def test_what_is_not_listed_is_rejected_with_what_would_have_been_legal(self):
        session = Session()
        session.prompt()
        judged = session.tried(ModelReplied, request_id="9.9", epoch=0, attempt=1, parts=())
        assert judged.verdict is Verdict.REJECTED
        assert {"ModelReplied", "AbortRequested", "SteeringQueued"} <= set(judged.rejection.legal)

    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            (InspectionRequested, {}),
            (RetryRequested, {}),
            (EffectResolved, {"resolution": Resolution.EXECUTED}),
        ],
    )
    def test_a_wrong_id_of_the_host_is_the_hosts_fault(self, kind, fields):
        judged = Session().tried(kind, call_id="1.1.0", **fields)
        assert (judged.rejection.code, judged.rejection.blame) == (RejectionCode.FOREIGN_CALL, Blame.HOST)

    @pytest.mark.parametrize("call_id", ["", "x", "1.1", "1.1.0.0", "9" * 5_000 + ".1.0", "../../etc"])
    def test_a_wrong_id_of_the_world_is_the_worlds_fault_whatever_it_looks_like(self, call_id):
        judged = executing().tried(ToolSucceeded, call_id=call_id, epoch=0, attempt=1, result="?")
        assert (judged.rejection.code, judged.rejection.blame) == (RejectionCode.FOREIGN_CALL, Blame.WORLD)

    def test_a_result_of_a_call_that_was_written_is_judged_by_what_was_written(self):
        session = executing()
        execution = session.execution()
        session.succeed(result="written")
        again = session.tried(ToolSucceeded, **execution, result="written")
        other = session.tried(ToolSucceeded, **execution, result="other")
        assert (again.verdict, again.reason) == (Verdict.IGNORED, "repeats-what-was-settled")
        assert other.rejection.code is RejectionCode.ALREADY_SETTLED

    def test_a_result_of_a_written_call_that_never_ran_is_foreign(self):
        session = Session(tool())
        session.propose(call("nope"))
        judged = session.tried(ToolSucceeded, call_id="1.1.0", epoch=0, attempt=1, result="?")
        assert judged.verdict is Verdict.REJECTED


@pytest.mark.req("R-055", "D-11")
class TestABrokenTable:
    """A step that breaks its promise is a defect of the core: the state stays, and the rejection says so."""

    def defect(self, tables, state, event):
        judged = make_reduce(tables).examine(state, event)
        assert judged.verdict is Verdict.REJECTED
        assert judged.reduction.state is state
        assert (judged.rejection.code, judged.rejection.blame) == (RejectionCode.CORE_DEFECT, Blame.CORE)
        return judged.rejection.advice

    def test_that_leads_to_a_phase_it_does_not_declare(self):
        tables = broken("turn", Idle, PromptSubmitted, to=(Idle,))
        assert "Idle x PromptSubmitted submit_prompt may not lead to Preparing" in self.defect(tables, idle(), PROMPT)

    def test_that_leads_a_call_to_a_state_it_does_not_declare(self):
        tables = broken("call", Executing, ToolSucceeded, to=(Executing,))
        session = executing()
        event = ToolSucceeded(at=9, **session.execution(), result="ok")
        assert "may not lead to Settled" in self.defect(tables, session.state, event)

    def test_whose_move_leads_where_it_does_not_declare(self):
        rows = tuple(
            evolve(row, to=(Preparing,)) if row.because is Because.REQUEST_READY else row for row in TABLES.turn
        )
        assert "may not lead to AwaitingModel" in self.defect(evolve(TABLES, turn=rows), idle(), PROMPT)

    def test_whose_step_raises(self):
        def fall(_state, _event):
            raise ZeroDivisionError("by zero")

        tables = broken("turn", Idle, PromptSubmitted, step=fall)
        assert self.defect(tables, idle(), PROMPT) == "ZeroDivisionError: by zero"

    @pytest.mark.parametrize("nothing", [None, 7, "state"])
    def test_whose_step_returns_no_verdict(self, nothing):
        tables = broken("turn", Idle, PromptSubmitted, step=lambda _state, _event: nothing)
        assert f"a step returned {type(nothing).__name__}" in self.defect(tables, idle(), PROMPT)

    def test_whose_call_step_returns_no_verdict(self):
        tables = broken("call", Executing, ToolSucceeded, step=lambda _state, _call, _event: 7)
        session = executing()
        event = ToolSucceeded(at=9, **session.execution(), result="ok")
        assert "a step returned int" in self.defect(tables, session.state, event)

    def test_that_does_not_settle(self):
        rows = tuple(
            evolve(row, step=lambda state: state, to=(Preparing,)) if row.because is Because.REQUEST_READY else row
            for row in TABLES.turn
        )
        assert "does not settle" in self.defect(evolve(TABLES, turn=rows), idle(), PROMPT)

    def test_without_a_row_rejects_what_was_legal(self):
        rows = tuple(row for row in TABLES.turn if row.event is not PromptSubmitted)
        judged = make_reduce(evolve(TABLES, turn=rows)).examine(idle(), PROMPT)
        assert (judged.reason, judged.rejection.blame) == ("not-expected-here", Blame.HOST)

    def test_without_a_row_rejects_what_the_world_says(self):
        rows = tuple(row for row in TABLES.turn if row.event is not CheckpointWritten)
        event = CheckpointWritten(at=1, seq=1, epoch=0, attempt=1)
        judged = make_reduce(evolve(TABLES, turn=rows)).examine(idle(), event)
        assert (judged.reason, judged.rejection.blame) == ("not-expected-here", Blame.WORLD)

    def test_without_a_row_of_the_call_rejects_it_there(self):
        rows = tuple(row for row in TABLES.call if row.event is not ToolSucceeded)
        session = executing()
        event = ToolSucceeded(at=9, **session.execution(), result="ok")
        judged = make_reduce(evolve(TABLES, call=rows)).examine(session.state, event)
        assert (judged.reason, judged.rejection.state) == ("not-expected-here", "Executing")


@pytest.mark.req("R-036", "R-062", "R-012")
class TestTheTables:
    def test_every_pair_stands_at_most_once(self):
        for rows in (TABLES.turn, TABLES.call):
            pairs = [(row.source, row.event) for row in rows if row.event is not Advance]
            assert len(set(pairs)) == len(pairs)

    def test_every_row_is_of_this_vocabulary(self):
        assert {row.source for row in TABLES.turn} == set(PHASES)
        assert {row.source for row in TABLES.call} == set(CALL_STATES)
        for rows, states in ((TABLES.turn, PHASES), (TABLES.call, CALL_STATES)):
            assert {target for row in rows for target in row.to} <= set(states)

    def test_every_row_has_a_name_of_its_own_and_says_what_it_does(self):
        names = [row.name for row in TABLES.turn if row.event is not Advance]
        assert len(set(names)) == len(names)
        assert Row(Idle, PromptSubmitted, Kind.IGNORE, None, ()).name == "Idle x PromptSubmitted"

    def test_only_reopening_and_a_waiting_message_leave_an_end(self):
        leaving = {row.event.__name__ for row in TABLES.turn if row.source is Completed and set(row.to) - {Completed}}
        assert leaving == {"SessionReopened", "Advance"}

    @pytest.mark.req("R-059")
    @pytest.mark.parametrize(
        "end", [each for each in PHASES if each.__name__ in ("Denied", "Cancelled", "Exhausted", "Failed")]
    )
    def test_only_reopening_leaves_every_other_end(self, end):
        assert {row.event.__name__ for row in TABLES.turn if row.source is end and set(row.to) - {end}} == {
            "SessionReopened"
        }

    def test_tables_are_values(self):
        assert attrs.evolve(TABLES) == TABLES == Tables(TABLES.turn, TABLES.call)


def test_rows_that_only_ignore_say_why():
    for rows in (TABLES.turn, TABLES.call):
        assert all(row.because and row.step is None for row in rows if row.kind is Kind.IGNORE)


def test_an_ignored_verdict_of_a_step_is_carried_to_the_judgement():
    rows = tuple(
        evolve(row, step=lambda _state, _event: Ignored("not-today")) if row.event is SteeringQueued else row
        for row in TABLES.turn
    )
    event = SteeringQueued(at=1, message_id="m", parts=())
    judged = make_reduce(evolve(TABLES, turn=rows)).examine(idle(), event)
    assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "not-today")


def test_legal_events_of_a_call_are_those_of_its_state():
    session = Session(tool())
    session.propose("write")
    legal = reduce.legal_events(session.state, session.call())
    assert "PolicyAllowed" in legal
    assert "ApprovalGranted" not in legal
    assert {row.source for row in TABLES.call if row.event.__name__ in legal} >= {Proposed}


def test_a_step_beyond_every_limit_leaves_saving_reachable():
    session = Session(limits=Limits(steps=0))
    session.prompt()
    assert session.phase is Saving


def test_a_table_may_ignore_what_is_said_of_a_call():
    session = executing()
    tables = broken("call", Executing, ToolSucceeded, kind=Kind.IGNORE, step=None, to=(), because="not-listened-to")
    event = ToolSucceeded(at=9, call_id="1.1.0", epoch=0, attempt=1, result="done")
    judged = make_reduce(tables).examine(session.state, event)
    assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "not-listened-to")
    assert judged.reduction == (session.state, ())
