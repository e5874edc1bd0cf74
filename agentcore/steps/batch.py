"""Scheduling of a batch, and what a changed call means for the session around it.

Review is serial. A ready call is released when its whole batch is reviewed and a slot is free, in source order;
released, executing,
cancelling and unknown calls hold a slot, and an exclusive call holds all of them.
"""

from __future__ import annotations

from agentcore.events import (
    Event,
    TaskSettled,
    TaskStarted,
    ToolCancelled,
    ToolFailed,
    ToolSucceeded,
)
from agentcore.evolve import evolve
from agentcore.messages import DeniedCall, Succeeded, is_open
from agentcore.outstanding import reviewee
from agentcore.states import (
    RUNNING,
    Because,
    Call,
    EffectUnknown,
    Ready,
    Released,
    RunningTools,
    Settled,
    State,
)
from agentcore.steps.base import consumed, counted, notice, register_call, replace_call, want_checkpoint, why
from agentcore.steps.results import describe_late
from agentcore.steps.verdicts import Advance


def holds_slot(call: Call) -> bool:
    """Say whether an attempt of the call may be acting; a proved absence holds nothing."""
    if isinstance(call.state, EffectUnknown):
        return call.state.proved_absent is None
    return isinstance(call.state, RUNNING)


def next_releasable(state: State) -> tuple[str, ...]:
    """Return the call that may be released now, if there is one."""
    assert isinstance(state.phase, RunningTools)
    calls = state.phase.batch.calls
    if reviewee(calls) is not None:
        return ()
    held = [call for call in calls if holds_slot(call)]
    first = next((call for call in calls if isinstance(call.state, Ready)), None)
    if first is None or any(call.contract.exclusive for call in held):
        return ()
    room = 1 if state.config.policy.sequential else state.config.limits.max_parallel
    if len(held) >= room or (first.contract.exclusive and held):
        return ()
    return (first.call_id,)


def release_next(state: State) -> State | None:
    """Release a ready call when its batch is reviewed and a slot is free, in source order."""
    return state if next_releasable(state) else None


def absent_calls(state: State) -> tuple[str, ...]:
    """Return the calls that were proved absent, once nothing else of their batch is waited for."""
    assert isinstance(state.phase, RunningTools)
    waiting = [call for call in state.phase.batch.calls if not isinstance(call.state, Settled)]
    if all(isinstance(call.state, EffectUnknown) and call.state.proved_absent is not None for call in waiting):
        return tuple(call.call_id for call in waiting)
    return ()


def report_absences(state: State) -> State | None:
    """Report proved absences when the batch is about to close."""
    return state if absent_calls(state) else None


def absorb(state: State, before: Call, after: Call, event: Event | Advance | object) -> State:
    """Put a changed call back and draw its consequences: register, notice, counters, usage, checkpoint."""
    if isinstance(event, TaskStarted):
        return _detached(state, before, after, event)
    if isinstance(event, ToolSucceeded | ToolFailed | ToolCancelled | TaskSettled):
        # What a task consumes belongs to the session: the turn that started it may be over.
        state = evolve(state, usage=state.usage + event.usage) if before.registered else consumed(state, event.usage)
    state = replace_call(state, after)
    if isinstance(after.state, Released) and not isinstance(before.state, Released):
        state = want_checkpoint(state)
    if after.counted and not before.counted:
        state = counted(state, tool_calls=1)
    if isinstance(after.state, Settled):
        return _settled(state, before, after, after.state)
    if isinstance(after.state, EffectUnknown) and not isinstance(before.state, EffectUnknown):
        state = want_checkpoint(state)
    return state


def _settled(state: State, before: Call, after: Call, settled: Settled) -> State:
    state = want_checkpoint(state)
    outcome = settled.outcome
    if isinstance(outcome, DeniedCall) and not isinstance(before.state, Settled):
        state = counted(state, denials=1)
    if not after.registered:
        return register_call(state, after) if is_open(outcome) else state
    if is_open(outcome):
        return state
    return notice(state, after, describe_late(after, outcome))


def _detached(state: State, before: Call, after: Call, event: TaskStarted) -> State:
    """Answer the call in its batch and keep the task, just as it stands, in the register."""
    said = event.result or f"Started in the background as {event.handle}. You will be told how it ends."
    answered = Settled(why(Because.TASK_STARTED, ("handle", event.handle)), Succeeded(said, "started"), after.run)
    state = replace_call(state, evolve(before, state=answered))
    return want_checkpoint(evolve(state, register=(*state.register, after)))
