"""BC-34: a run that waited for a person was killed by the idle watchdog before the answer could be given.

There is no watchdog over everything: each thing that is waited for has its own due time, counted from when that wait
began (docs/decisions/0126). A question has an expiry of its own or none, an execution its deadline, the turn a clock
that stands still while only a person is waited for, unless the policy counts that.
"""

from __future__ import annotations

import sys
import time

import pytest
from attrs import evolve

from agentcore import Effect, Limits, Policy, Verdict
from agentcore.commands import AskApproval, ExecuteTool, InspectEffect, StartTimer
from agentcore.events import ApprovalGranted, TimerFired
from agentcore.messages import NotExecuted, digest
from agentcore.states import AwaitingApproval, EffectUnknown, Executing, Exhausted, StopReason
from agentcore.steps.calls import stops
from tests.cases.helpers_a import Case, fails, patched, unknown_state
from tests.core.driver import call, tool

C1 = "1.1.0"
IDLE, TOTAL = 600_000, 3_600_000


def asked(*, count_waiting: bool) -> Case:
    """c1 waits for p1 since t=0."""
    limits = Limits(tool_ms=IDLE, model_ms=None, turn_ms=TOTAL)
    policy = Policy(count_waiting=count_waiting)
    case = Case(tool("pay", Effect.FENCEABLE), limits=limits, policy=policy)
    case.prompt()
    case.reply(call("pay", "c1"))
    case.ask()
    case.all_saved()
    case.now = 0
    return case


def to(case: Case, seconds: int) -> None:
    """Time goes on; the next event is stamped with it."""
    case.now = seconds * 1000 - 1


def timers(case: Case) -> dict[str, int]:
    return {each.timer_id: each.due_at for each in case.work if isinstance(each, StartTimer)}


def check_waits() -> None:
    case = asked(count_waiting=False)
    # 1: a watchdog's timer that nobody ordered changes nothing; neither the turn's clock nor a deadline runs.
    to(case, 601)
    for name in ("idle", f"deadline/{C1}", "turn/1"):
        assert case.quietly(TimerFired(at=601_000, timer_id=name, epoch=0, attempt=1)).verdict is Verdict.IGNORED
    assert case.the(AskApproval).call_id == C1
    assert timers(case) == {}
    # 2: at t=900 it may run; its own time begins then, and the turn's goes on with what was left.
    to(case, 900)
    case.grant()
    to(case, 900)
    case.all_saved()
    assert case.count(ExecuteTool, C1) == 1
    due = timers(case)
    assert due[f"deadline/{C1}"] - 900_000 in range(IDLE, IDLE + 10)
    assert due["turn/1"] - 900_000 in range(TOTAL - 10, TOTAL + 10)
    # 3: at t=1501 the deadline applies: for an effect that is no failure but an unknown.
    to(case, 1501)
    case.given(TimerFired(at=1_501_000, timer_id=f"deadline/{C1}", epoch=0, attempt=1))
    unknown_state(case)
    assert case.the(InspectEffect).call_id == C1


@pytest.mark.req("D-26", "D-27", "R-103", "R-153")
def test_waiting_for_a_person_is_no_idling_and_running_silently_is():
    check_waits()


def from_the_question_on(state, present, run):
    """Timing as it was: one window over everything, begun when the call was proposed."""
    return evolve(run, covered_at=state.at, due_at=IDLE)


def test_a_clock_that_runs_over_the_waiting_is_found_out():
    with patched((sys.modules["agentcore.reduce"], "keep_clock", lambda state: state)):
        fails(check_waits)
    with patched((stops, "_timed", from_the_question_on)):
        fails(check_waits)


def check_total(*, count_waiting: bool = True) -> None:
    case = asked(count_waiting=count_waiting)
    question = case.the(AskApproval)
    text = case.call(C1).arguments
    assert "turn/1" in timers(case), "the turn's time does not run"
    to(case, 3600)
    case.fire("turn/1")
    case.all_saved()
    assert (case.phase, case.stop) == (Exhausted, StopReason.TIMEOUT)
    assert isinstance(case.outcome(), NotExecuted)
    assert not [each for each in case.work if isinstance(each, AskApproval)]
    late = ApprovalGranted(
        at=3_700_000, call_id=C1, epoch=0, attempt=question.attempt, arguments=text, digest=digest(text)
    )
    assert case.quietly(late).verdict is Verdict.REJECTED
    assert case.executed == []


@pytest.mark.req("D-27", "R-103")
def test_where_waiting_counts_the_turns_time_ends_it_and_a_late_answer_is_refused():
    check_total()


def test_a_policy_that_does_not_count_waiting_is_told_apart():
    fails(check_total, count_waiting=False)


@pytest.mark.req("D-27", "G-6")
def test_a_question_with_an_expiry_of_its_own_is_refused_when_it_expires():
    limits = Limits(approval_ms=IDLE)
    case = Case(tool("pay", Effect.FENCEABLE), limits=limits)
    case.prompt()
    case.reply(call("pay"))
    case.ask()
    assert isinstance(case.call(C1).state, AwaitingApproval)
    case.fire(f"expiry/{C1}")
    assert case.outcome().case.value == "unanswered"
    assert case.executed == []


@pytest.mark.req("R-007", "D-26")
def test_the_clock_of_the_machine_is_not_looked_at(monkeypatch):
    def stopped(*_args):
        raise AssertionError("the reducer has looked at a clock")

    first = [line.state for line in trace_of(check_waits)]
    for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter"):
        monkeypatch.setattr(time, name, stopped)
    again = [line.state for line in trace_of(check_waits)]
    monkeypatch.undo()
    assert first == again
    assert isinstance(first[-1].batch.calls[0].state, EffectUnknown)
    assert Executing in [type(state.batch.calls[0].state) for state in first if state.batch]


def trace_of(check) -> list:
    """Every line of the trace of the session that a check drives."""
    made = []

    def noted(case: Case) -> None:
        made.append(case)

    with patched((Case, "check_replay", noted)):
        check()
    return made[-1].trace
