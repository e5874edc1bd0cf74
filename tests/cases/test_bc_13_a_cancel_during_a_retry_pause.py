"""BC-13: a cancel during a retry pause was honoured only after the pause, and another call to the provider could start.

A pause is a state with a timer: nothing is running, so a cancel ends it at once, and a timer that nobody waits for is
ignored. If the timer was first, a request is out, and that has to be confirmed as ended.
"""

from __future__ import annotations

import anyio
import attrs
import pytest

from agentcore import Verdict, reduce
from agentcore.commands import CancelModel, PersistCheckpoint, RequestModel, StartTimer
from agentcore.events import AbortRequested, ModelFailure, TimerFired
from agentcore.messages import Usage
from agentcore.states import AwaitingModel, AwaitingRetry, Because, Cancelled, Saving, Stopping, StopReason
from agentcore.steps.begin import request_model
from interpreters import Agent, ManualClock
from interpreters.scripted import Break, Say, ScriptedModel
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead

LIMITED = {"status": 429, "code": "rate-limited", "retry_after_ms": 60_000, "usage": Usage(10, 0)}


def paused(reducer=reduce) -> tuple[Case, TimerFired]:
    """q1 failed with 429; its next attempt is due in 60 s."""
    case = Case(reduce=reducer)
    case.prompt()
    case.model_fails(ModelFailure.RETRYABLE, "too many requests", **LIMITED)
    assert (case.phase, case.because) == (AwaitingRetry, Because.RETRY_RATE_LIMITED)
    timer = case.the(StartTimer, "retry/1.1")
    assert timer.due_at - case.now == 60_000
    return case, TimerFired(at=0, timer_id=timer.timer_id, epoch=timer.epoch, attempt=timer.attempt)


def check_cancel_first(reducer=reduce) -> None:
    case, fired = paused(reducer)
    counters, usage = case.state.turn.counters, case.state.usage
    case.wait(2_000)
    case.abort()
    # Nothing runs: the pause is over, its timer is no longer waited for, only the record of the end is.
    assert case.phase is Saving
    assert [type(command) for command in case.work] == [PersistCheckpoint]
    case.saved()
    assert (case.phase, case.stop) == (Cancelled, StopReason.USER_ABORT)
    for delay in (0, 58_000, 600_000):
        judged = case.quietly(attrs.evolve(fired, at=case.now + delay))
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "nobody-waits")
    assert case.count(RequestModel) == 1
    assert (case.state.turn.counters, case.state.usage) == (counters, usage)


def check_timer_first(reducer=reduce) -> None:
    """The variant: the timer wins within the same instant."""
    case, fired = paused(reducer)
    counters = case.state.turn.counters
    now = case.the(StartTimer, "retry/1.1").due_at
    case.given(attrs.evolve(fired, at=now))
    assert (case.phase, case.count(RequestModel)) == (AwaitingModel, 2)
    case.now = now - 1
    case.abort()
    assert (case.phase, case.count(CancelModel)) == (Stopping, 1)
    case.quietly(attrs.evolve(fired, at=now))
    case.model_stops()
    case.all_saved()
    assert (case.phase, case.count(RequestModel)) == (Cancelled, 2)
    assert case.state.turn.counters == counters


@pytest.mark.req("R-143", "D-26", "R-207", "D-7")
def test_a_cancel_ends_the_pause_at_once_and_the_late_timer_is_ignored():
    check_cancel_first()


@pytest.mark.req("R-143", "R-177")
def test_a_timer_that_was_first_has_a_request_out_which_is_told_to_end():
    check_timer_first()


@pytest.mark.req("R-143", "G-5")
def test_the_same_holds_after_a_restart_in_the_pause():
    case, fired = paused()
    case.restart(dead_ms=5_000)
    assert case.quietly(attrs.evolve(fired, at=case.now + 60_000)).reason == "nobody-waits"
    case.abort()
    case.all_saved()
    assert (case.phase, case.count(RequestModel)) == (Cancelled, 1)


def slept_through(state, event):
    """The row as it was: a plain sleep, the cancel waits behind it."""
    return state


def asks_anyway(state, event):
    """The row as it was: whoever wakes up asks."""
    return request_model(state, Because.RETRY_DUE)


def test_a_pause_that_sleeps_through_the_cancel_is_found_out():
    fails(check_cancel_first, broken(instead(AwaitingRetry, AbortRequested, slept_through, to=(AwaitingRetry,))))


def test_a_late_timer_that_asks_is_found_out():
    fails(check_cancel_first, broken(instead(Cancelled, TimerFired, asks_anyway, to=(AwaitingModel,))))


def test_an_instant_cancel_with_a_request_out_is_found_out():
    def at_once(state, event):
        ending = attrs.evolve(paused()[0].state.phase.transition)
        return attrs.evolve(state, phase=AwaitingRetry(ending, state.request_id, state.at, 0))

    fails(check_timer_first, broken(instead(AwaitingModel, AbortRequested, at_once, to=(AwaitingRetry,))))


# ---- an engine whose clock is moved


async def check_engine(*, timer_first: bool) -> None:
    clock = ManualClock()
    model = ScriptedModel([Break("busy", status=429, retry_after_ms=60_000), Say("late"), Say("later")])
    async with Agent(model=model, clock=clock).open() as session:
        views = session.views()
        await session.send("go")
        async for shown in views:
            if shown.name == "state" and isinstance(shown.view.state.phase, AwaitingRetry):
                break
        began = clock.now()
        if timer_first:
            # Jitter may have been added to the pause; it is bounded.
            clock.advance(61_000)
            async for shown in views:
                if shown.name == "state" and isinstance(shown.view.state.phase, AwaitingModel):
                    break
        else:
            clock.advance(2_000)
        with anyio.fail_after(10):
            await session.abort()
            result = await session.wait()
        assert clock.now() - began in (2_000, 61_000)
        assert result.reason is StopReason.USER_ABORT
        clock.advance(600_000)
        await anyio.wait_all_tasks_blocked()
        assert len(model.requests) == (2 if timer_first else 1)


@pytest.mark.anyio
@pytest.mark.parametrize("timer_first", [False, True])
@pytest.mark.req("R-143", "D-26")
async def test_a_cancel_in_a_pause_needs_no_time_to_pass(timer_first):
    await check_engine(timer_first=timer_first)


@pytest.mark.anyio
async def test_an_engine_that_sleeps_through_the_cancel_is_found_out(monkeypatch):
    twin = broken(instead(AwaitingRetry, AbortRequested, slept_through, to=(AwaitingRetry,)))
    monkeypatch.setattr("interpreters.engine.engine.reduce", twin)

    async def impatient() -> None:
        with anyio.move_on_after(0.3) as limit:
            await check_engine(timer_first=False)
        assert not limit.cancelled_caught, "the cancel waits for the pause"

    await fails_async(impatient)
