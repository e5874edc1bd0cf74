"""BC-29: children ended without a result; the parent's wait only timed out, and list, wait and close disagreed.

Each child is one call with one status, read by everybody. It ends in exactly one outcome with a reason; what nobody can
tell is unknown, with an inspection. A wait that runs out changes nothing. Shown by events and commands.
"""

from __future__ import annotations

import pytest

from agentcore import Effect, Verdict, reduce
from agentcore.commands import EvaluatePolicy, ExecuteTool, InspectEffect, RequestModel
from agentcore.events import AbortScope, Finding, SessionResumed, TimerFired, ToolFailed
from agentcore.messages import FailedCall, Succeeded, UserMessage
from agentcore.projections import InspectCall, pending_acts, ui_status, unresolved
from agentcore.states import (
    RUNNING,
    AwaitingModel,
    Because,
    Cancelled,
    Executing,
    Proposed,
    Ready,
    Released,
    RunningTools,
)
from agentcore.steps.calls.moves import review
from agentcore.steps.verdicts import Ignored
from tests.cases.helpers_a import Case, broken, fails, instead, shape, unknown_state
from tests.core.driver import tool

K1, K2, K3 = "1.1.0", "1.1.1", "1.1.2"


def family(reducer=reduce, **contract) -> Case:
    """P waits for three children: foreground calls, all of which have to be settled."""
    case = Case(tool("child", Effect.FENCEABLE, **contract), reduce=reducer)
    case.execute("child", "child", "child")
    for number, call_id in enumerate((K1, K2, K3), 1):
        case.started(call_id, f"session K{number}")
    return case


def statuses(case: Case) -> list[str]:
    return [type(call.state).__name__ for call in case.state.batch.calls]


def check(reducer=reduce) -> None:
    case = family(reducer)
    # 1: one is done.
    case.succeed(K1, "result of K1")
    # 4: a wait runs out before the second: nobody's status changes.
    before = statuses(case)
    late = TimerFired(at=case.now, timer_id="wait/1.1", epoch=0, attempt=1)
    assert case.quietly(late).verdict is Verdict.IGNORED
    assert statuses(case) == before == ["Settled", "Executing", "Executing"]
    # 2: shut down without a result is a failure that says so.
    case.give(ToolFailed, call_id=K2, epoch=0, attempt=1, error="the child ended without a result", kind="no-result")
    # 3: the host dies; nobody has a handle on the third.
    case.restart()
    unknown_state(case, K3)
    assert case.the(InspectEffect).call_id == K3
    # Listing, waiting and closing read the same status.
    assert [call.call_id for call in unresolved(case.state)] == [K3]
    assert ui_status(case.state).unresolved == (K3,)
    assert [act.call_id for act in pending_acts(case.state) if isinstance(act, InspectCall)] == [K3]
    assert case.count(RequestModel) == 1
    case.inspected(Finding.FAILED, K3, result="its process is gone, its journal ends at step 2")
    # Once all are settled: one input with all of them, by name.
    assert case.phase is AwaitingModel
    assert case.count(RequestModel) == 2
    assert case.count(ExecuteTool) == 3
    told = [(result.call_id, type(result.outcome), result.content) for result in case.results]
    assert told == [
        (K1, Succeeded, "result of K1"),
        (K2, FailedCall, "Error: the child ended without a result"),
        (K3, FailedCall, "Error: its process is gone, its journal ends at step 2"),
    ]


@pytest.mark.req("R-164", "R-165", "R-168", "R-169", "R-209", "R-161")
def test_each_child_ends_in_one_outcome_that_everybody_reads():
    check()


def nothing_to_say(state, call, event):
    """The row as it was: a child that ends without a result has no end."""
    return Ignored("no-result")


def start_anew(state, call, event):
    """The row as it was: a child without a handle is started again."""
    return review(state, call, Because.SESSION_RESUMED)


@pytest.mark.parametrize(
    "change",
    [
        instead(Executing, ToolFailed, nothing_to_say),
        instead(Executing, SessionResumed, start_anew, to=(Ready, Released, Proposed)),
    ],
)
def test_a_child_without_an_end_is_found_out(change):
    fails(check, broken(change))


def check_never_for_ever(reducer=reduce) -> None:
    """A child that never says anything: its deadline makes it unknown, and a person can always go on."""
    case = family(reducer)
    case.succeed(K1)
    case.succeed(K2)
    case.fire(f"deadline/{K3}")
    unknown_state(case, K3)
    for _ in range(10):
        if not any(isinstance(each, InspectEffect) and each.by.value == "program" for each in case.work):
            break
        case.inspected(Finding.UNAVAILABLE, K3)
        if f"start-timer inquiry/{K3}" in case.waits:
            case.fire(f"inquiry/{K3}")
    assert case.the(InspectEffect).by.value == "person"
    case.abort(AbortScope.TURN)
    case.abort(AbortScope.TURN)
    case.all_saved()
    assert case.phase is Cancelled
    # Nothing is left running unseen: what is not known is listed.
    assert not [call for call in case.state.register if isinstance(call.state, RUNNING)]
    assert ui_status(case.state).unresolved == (K3,)


@pytest.mark.req("R-155", "R-162", "D-7")
def test_a_parent_never_waits_for_ever():
    check_never_for_ever()


def wait_on(state, call, event):
    """The row as it was: a deadline is waited over."""
    return Ignored("still-waiting")


def test_a_parent_that_waits_over_every_deadline_is_found_out():
    fails(check_never_for_ever, broken(instead(Executing, TimerFired, wait_on)))


@pytest.mark.req("R-165", "R-249")
def test_detached_children_that_are_required_are_awaited_together():
    case = family(detached=True, required=True)
    for call_id in (K1, K2, K3):
        case.detach(call_id, handle=f"session {call_id}")
    case.reply("I wait for them.")
    assert case.state.phase.awaits_tasks
    case.task_ends(K1, result="one")
    case.task_ends(K2, succeeded=False, result="no result")
    # What is known is told; the end waits for the third.
    while case.phase is not RunningTools and any(isinstance(each, RequestModel) for each in case.work):
        case.reply("I wait.")
    assert case.state.phase.awaits_tasks
    case.restart()
    assert not [each for each in case.work if isinstance(each, EvaluatePolicy)]
    case.inspected(Finding.FAILED, K3, result="gone")
    case.answer("All told.")
    assert not case.state.open
    told = " ".join(shape([message])[0] for message in case.sent[-1] if isinstance(message, UserMessage))
    assert "one" in told
    assert "no result" in told
    assert "gone" in told
