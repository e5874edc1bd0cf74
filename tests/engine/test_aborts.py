"""Aborts: in flight, confirmed or not, and what is stopped when nobody waits for it any more."""

from __future__ import annotations

import anyio
import pytest

from agentcore import Limits
from agentcore.events import AbortScope
from agentcore.messages import CancelledCall, EffectSeen, NotExecuted, Succeeded
from agentcore.states import CancellationRequested, Stopping, StopReason
from tests.engine.rig import Rig, ScriptedModel, ScriptedTools, calls, collect, config, contract, names, settle, text

pytestmark = pytest.mark.anyio


def outcomes(session):
    return [answer.outcome for message in session.state.history for answer in getattr(message, "results", ())]


@pytest.mark.req("R-098", "R-175", "D-7")
async def test_an_abort_ends_a_request_in_flight_and_keeps_what_was_said():
    async def endless(run):
        run.opened()
        await run.stop.wait()
        return run.stopped("so far")

    rig = Rig(config())
    async with rig.open(ScriptedModel(endless)) as session:
        await session.send("go")
        await settle()
        assert (await session.abort()).accepted
        result = await session.wait()
        told = names(await collect(session))
    assert result.reason is StopReason.USER_ABORT
    assert result.text == "so far"
    assert told[-2:] == ["turn_end", "agent_end"]
    assert "partial_discarded" not in told


@pytest.mark.req("R-143")
async def test_a_model_that_does_not_stop_is_dropped_when_its_grace_is_over():
    dropped = anyio.Event()

    async def deaf(run):
        try:
            await anyio.sleep_forever()
        finally:
            dropped.set()

    rig = Rig(config(limits=Limits(grace_ms=50)))
    async with rig.open(ScriptedModel(deaf)) as session:
        await session.send("go")
        await settle()
        await session.abort()
        await settle()
        assert not dropped.is_set()
        rig.clock.advance(50)
        result = await session.wait()
        await settle()
        assert dropped.is_set()
    assert result.reason is StopReason.USER_ABORT


@pytest.mark.req("R-176", "R-177", "R-178")
async def test_an_abort_during_tools_gives_each_call_a_truthful_result():
    running = anyio.Event()

    async def stops(run):
        running.set()
        await run.stop.wait()
        return run.cancelled(EffectSeen.NONE)

    async def never(run):
        return "ran"

    rig = Rig(config(contract("stops"), contract("later", exclusive=True)))
    model = ScriptedModel(calls(("stops", {}), ("later", {})))
    async with rig.open(model, ScriptedTools(stops=stops, later=never)) as session:
        await session.send("go")
        await running.wait()
        await session.abort()
        result = await session.wait()
    assert result.reason is StopReason.USER_ABORT
    assert outcomes(session)[0] == CancelledCall(EffectSeen.NONE)
    assert isinstance(outcomes(session)[1], NotExecuted)


@pytest.mark.req("R-178")
async def test_until_a_tool_confirms_the_turn_is_stopping_and_not_cancelled():
    running, release = anyio.Event(), anyio.Event()

    async def stubborn(run):
        running.set()
        await release.wait()
        return "did it after all"

    rig = Rig(config(contract("stubborn")))
    async with rig.open(ScriptedModel(calls(("stubborn", {}))), ScriptedTools(stubborn=stubborn)) as session:
        await session.send("go")
        await running.wait()
        await session.abort()
        await settle()
        assert isinstance(session.state.phase, Stopping)
        assert isinstance(session.state.batch.calls[0].state, CancellationRequested)
        release.set()
        result = await session.wait()
    assert result.reason is StopReason.USER_ABORT
    assert isinstance(outcomes(session)[0], Succeeded)


@pytest.mark.req("R-180")
async def test_a_non_pure_execution_is_never_cancelled_by_the_engine_itself():
    """Its grace ends, it is inspected, a person gives up; and still the execution runs to its own end."""
    ended = []
    running, release = anyio.Event(), anyio.Event()

    async def stubborn(run):
        running.set()
        try:
            await release.wait()
        except BaseException:
            ended.append("cancelled")
            raise
        ended.append("by itself")
        return "done"

    rig = Rig(config(contract("stubborn")))
    async with rig.open(ScriptedModel(calls(("stubborn", {}))), ScriptedTools(stubborn=stubborn)) as session:
        await session.send("go")
        await running.wait()
        await session.abort()
        await settle()
        rig.clock.advance(rig.config.limits.grace_ms)
        await settle()
        await session.abort()
        result = await session.wait()
        assert result.reason is StopReason.USER_ABORT
        assert result.unresolved == ("1.1.0",)
        release.set()
        await settle()
        assert session.result.unresolved == ()
    assert ended == ["by itself"]


async def test_a_pure_tool_is_dropped_when_nobody_waits_for_it():
    running, dropped = anyio.Event(), anyio.Event()

    async def reads(run):
        running.set()
        try:
            await anyio.sleep_forever()
        finally:
            dropped.set()

    rig = Rig(config(contract("reads", "pure"), limits=Limits(grace_ms=50)))
    async with rig.open(ScriptedModel(calls(("reads", {}))), ScriptedTools(reads=reads)) as session:
        await session.send("go")
        await running.wait()
        await session.abort()
        await settle()
        rig.clock.advance(50)
        await session.wait()
        await settle()
        assert dropped.is_set()


@pytest.mark.req("D-26")
async def test_an_abort_is_judged_before_everything_that_came_earlier():
    gate = anyio.Event()

    async def reply(run):
        await gate.wait()
        return run.replied(text("late"))

    rig = Rig(config())
    async with rig.open(ScriptedModel(reply)) as session, anyio.create_task_group() as tasks:
        await session.send("go")
        await settle()
        tasks.start_soon(session.steer, "a")
        tasks.start_soon(session.steer, "b")
        tasks.start_soon(session.abort)
        await settle()
        judged = [name for name in rig.reductions() if name in ("SteeringQueued", "AbortRequested")]
        gate.set()
        await session.wait()
    assert judged[0] in ("AbortRequested", "SteeringQueued")
    assert judged.index("AbortRequested") <= 1


@pytest.mark.req("R-019", "D-29")
async def test_after_step_lets_the_round_of_tools_finish_and_makes_no_further_request():
    running, release = anyio.Event(), anyio.Event()

    async def tool(run):
        running.set()
        await release.wait()
        return "ok"

    rig = Rig(config(contract("work")))
    model = ScriptedModel(calls(("work", {})))
    async with rig.open(model, ScriptedTools(work=tool)) as session:
        await session.send("go")
        await running.wait()
        await session.abort(AbortScope.AFTER_STEP)
        release.set()
        result = await session.wait()
    assert result.reason is StopReason.STOPPED_BY_HOST
    assert outcomes(session)[0].result == "ok"
    assert len(model.seen) == 1


async def test_the_same_act_twice_is_one():
    async def endless(run):
        await run.stop.wait()
        return run.stopped()

    rig = Rig(config())
    async with rig.open(ScriptedModel(endless)) as session:
        await session.send("go")
        await settle()
        first = await session.abort(act_id="x")
        second = await session.abort(act_id="x")
        await session.wait()
    assert first.accepted
    assert second.verdict == "ignored"
