"""BC-12: a cancel was stored, the worker's late success overwrote it, and everything went on as if all had gone well.

There is one order of events. An end of a turn never changes; what arrives later is evidence about the call.
"""

from __future__ import annotations

import anyio
import attrs
import pytest

from agentcore import Effect, Verdict, reduce
from agentcore.commands import RequestModel
from agentcore.events import (
    AbortRequested,
    AbortScope,
    CheckpointFailed,
    EffectResolved,
    FollowUpQueued,
    InspectionRequested,
    ModelReplied,
    Resolution,
    RetryRequested,
    SteeringQueued,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolSucceeded,
)
from agentcore.messages import CancelledCall, EffectSeen, Succeeded, TextPart
from agentcore.rejections import RejectionCode
from agentcore.states import Because, CancellationRequested, Cancelled, Completed, Preparing, Settled, StopReason
from agentcore.steps.begin import begin_step
from interpreters import Agent
from interpreters.engine.mailbox import enclose
from interpreters.scripted import Ask, Say, ScriptedGate, ScriptedModel
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, shape
from tests.core.driver import tool

C1 = "1.1.0"
SUCCESS = {"call_id": C1, "epoch": 0, "attempt": 1, "result": "deployed"}


def running(effect: Effect = Effect.OPAQUE, reducer=reduce) -> Case:
    case = Case(tool("deploy", effect), reduce=reducer)
    case.execute("deploy")
    case.started()
    return case


def check_a(effect: Effect, seen: EffectSeen, *, dies: bool, reducer=reduce) -> None:
    """A: cancel, confirmed ended, then the success arrives. D: the same over a restart."""
    case = running(effect, reducer)
    case.abort()
    case.stopped(seen)
    if seen is EffectSeen.UNPROVED and effect is not Effect.OPAQUE:
        case.abort()
    case.all_saved()
    if dies:
        case.restart()
        case.all_saved()
    before, history = case.state.phase, case.history
    judged = case.given(ToolSucceeded(at=case.now + 1, **SUCCESS))
    case.all_saved()
    assert (case.phase, case.ending) == (type(before), before.ending)
    assert case.phase is Cancelled
    assert (case.history, case.count(RequestModel)) == (history, 1)
    if seen is EffectSeen.UNPROVED:
        # The effect did happen: the register says so, and the next turn is told.
        assert judged.verdict is Verdict.ACCEPTED
        assert case.outcome() == Succeeded("deployed", timed_out=True)
        case.reopen()
        case.prompt("U2")
        assert any("deployed" in str(said) for said in shape(case.sent[-1]))
    elif seen is EffectSeen.NONE:
        # It had said that it did nothing: an anomaly, recorded as what it is.
        assert judged.rejection.code is RejectionCode.CONTRADICTS_ABSENCE
    else:
        assert judged.verdict is not Verdict.ACCEPTED


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("seen", EffectSeen)
@pytest.mark.parametrize("effect", [Effect.OPAQUE, Effect.FENCEABLE, Effect.KEYED])
@pytest.mark.req("R-059", "R-170", "R-159", "D-8", "R-245")
def test_a_late_success_is_evidence_and_the_turn_stays_cancelled(effect, seen, dies):
    check_a(effect, seen, dies=dies)


def check_b(reducer=reduce) -> None:
    """B: the run is over, then somebody cancels it."""
    case = running(reducer=reducer)
    case.succeed(result="deployed")
    case.answer()
    assert case.phase is Completed
    for scope in (AbortScope.TURN, AbortScope.AFTER_STEP):
        judged = case.quietly(AbortRequested(at=case.now + 1, act_id=f"late {scope}", scope=scope, turn=1))
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "turn-ended")
    assert case.stop is StopReason.FINAL_ANSWER


@pytest.mark.req("R-059")
def test_a_cancel_of_a_turn_that_is_over_says_so_and_changes_nothing():
    check_b()


def check_c(*, cancel_first: bool, reducer=reduce) -> None:
    """C: both within the same instant."""
    case = running(reducer=reducer)
    acts = [case.abort, lambda: case.give(ToolSucceeded, **SUCCESS)]
    for act in acts if cancel_first else reversed(acts):
        case.now -= 1
        act()
    if not cancel_first:
        # The result was there first, so the next request was out: it is told to end, and no other is made.
        assert case.count(RequestModel) == 2
        case.model_stops()
    case.all_saved()
    assert (case.phase, case.stop) == (Cancelled, StopReason.USER_ABORT)
    assert case.outcome() == Succeeded("deployed")
    assert shape(case.history) == ["Do it.", ("", "deploy"), [(C1, "Succeeded")]]
    assert case.count(RequestModel) == (1 if cancel_first else 2)


@pytest.mark.parametrize("cancel_first", [True, False])
@pytest.mark.req("R-170", "R-223", "D-7")
def test_cancel_and_success_back_to_back_end_alike_in_both_orders(cancel_first):
    check_c(cancel_first=cancel_first)


NEW = (
    ToolSucceeded(at=0, **SUCCESS),
    ToolFailed(at=0, call_id=C1, epoch=0, attempt=1, error="no"),
    ToolLost(at=0, call_id=C1, epoch=0, attempt=1, cause="gone"),
    ToolCancelled(at=0, call_id=C1, epoch=0, attempt=1, effect=EffectSeen.DONE),
    ModelReplied(at=0, request_id="1.2", epoch=0, attempt=1, parts=(TextPart("done"),)),
    EffectResolved(at=0, call_id=C1, resolution=Resolution.FAILED),
    InspectionRequested(at=0, call_id=C1),
    RetryRequested(at=0, call_id=C1),
    SteeringQueued(at=0, message_id="s", parts=(TextPart("s"),)),
    FollowUpQueued(at=0, message_id="f", parts=(TextPart("f"),)),
    AbortRequested(at=0, act_id="new", scope=AbortScope.ALL),
    CheckpointFailed(at=0, seq=1, epoch=0, attempt=1, reason="full"),
)


def check_end_is_final(reducer=reduce) -> None:
    """Property: whatever happens after an end, short of a new turn, the end is the same; old events and new ones."""
    for seen in EffectSeen:
        over = running(reducer=reducer)
        over.abort()
        over.stopped(seen)
        over.all_saved()
        end = over.state.phase
        for event in (*(line.event for line in over.trace), *NEW):
            for change in ({}, {"attempt": 2}, {"epoch": 1}):
                fields = {name: value for name, value in change.items() if hasattr(event, name)}
                over.given(attrs.evolve(event, at=over.now + 1, **fields))
                over.all_saved()
                assert (over.phase, over.ending) == (type(end), end.ending)
        assert over.count(RequestModel) == 1


@pytest.mark.req("R-059", "R-205")
def test_no_event_changes_the_status_of_a_turn_that_is_over():
    check_end_is_final()


def overwritten(state, event):
    """The row as it was: a success is written, whatever was stored before."""
    return begin_step(state, Because.RESULTS_APPENDED)


OVERWRITES = broken(instead(Cancelled, ToolSucceeded, overwritten, to=(Preparing,)))


def test_a_success_that_overwrites_the_cancel_is_found_out():
    fails(check_a, Effect.OPAQUE, EffectSeen.UNPROVED, dies=False, reducer=OVERWRITES)
    fails(check_a, Effect.OPAQUE, EffectSeen.UNPROVED, dies=True, reducer=OVERWRITES)
    fails(check_end_is_final, OVERWRITES)


def taken_as_new(state, event):
    """The row as it was: a cancel is a cancel."""
    return attrs.evolve(
        state,
        phase=Cancelled(state.phase.transition, attrs.evolve(state.phase.ending, reason=StopReason.USER_ABORT), 0),
    )


def test_a_cancel_that_overwrites_the_answer_is_found_out():
    fails(check_b, broken(instead(Completed, AbortRequested, taken_as_new, to=(Cancelled,))))


def forgotten(state, call, event):
    """The row as it was: once it was told to stop, nobody listens to what it did."""
    return attrs.evolve(call, state=Settled(call.state.transition, CancelledCall(EffectSeen.NONE), call.state.run))


def test_dropping_the_success_that_came_with_the_cancel_is_found_out():
    fails(check_c, cancel_first=True, reducer=broken(instead(CancellationRequested, ToolSucceeded, forgotten)))


# ---- two writers into one mailbox


async def check_engine(*, cancel_first: bool) -> None:
    """Both acts lie in the mailbox before either is looked at; the abort comes first there, whatever came first."""
    finish, at_work = anyio.Event(), anyio.Event()

    class Deploys:
        contracts = (tool("deploy", Effect.OPAQUE),)

        async def execute(self, session_id, order, call, *, emit, show):
            at_work.set()
            await finish.wait()
            return ToolSucceeded(at=0, **SUCCESS)

        def cancel(self, session_id, order) -> None:
            finish.set()

        async def inspect(self, session_id, order, call):
            raise AssertionError("nothing is unknown here")

    model = ScriptedModel([Say(calls=(Ask("deploy"),)), Say("done")])
    agent = Agent(model=model, tools=Deploys(), rules=ScriptedGate())
    async with agent.open() as session, anyio.create_task_group() as tasks:
        await session.send("go")
        await at_work.wait()
        mailbox = session._engine._desk.mailbox
        late = enclose(ToolSucceeded(at=0, **SUCCESS))
        if cancel_first:
            tasks.start_soon(session.abort)
            await anyio.lowlevel.checkpoint()
            mailbox.put(late)
        else:
            mailbox.put(late)
            tasks.start_soon(session.abort)
        result = await session.wait()
    assert result.reason is StopReason.USER_ABORT
    assert isinstance(session.state.phase, Cancelled)
    assert [answer.content for answer in session.state.history[2].results] == ["deployed"]


@pytest.mark.anyio
@pytest.mark.parametrize("cancel_first", [True, False])
@pytest.mark.req("R-170", "D-26")
async def test_two_writers_in_an_engine_leave_a_cancelled_turn_with_its_result(cancel_first):
    await check_engine(cancel_first=cancel_first)


@pytest.mark.anyio
async def test_an_engine_that_drops_the_success_is_found_out(monkeypatch):
    twin = broken(instead(CancellationRequested, ToolSucceeded, forgotten))
    monkeypatch.setattr("interpreters.engine.engine.reduce", twin)
    await fails_async(check_engine, cancel_first=True)
