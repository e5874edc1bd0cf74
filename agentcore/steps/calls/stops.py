"""Stopping a call, giving up on one, and what a resume makes of one.

Work that has not started is settled as not executed; work that has started is told to stop and must confirm it; what
cannot be proved is
unknown. A second act of aborting gives up waiting: the effect stays in the register, the prompt comes back (D-7).
"""

from __future__ import annotations

from agentcore.events import AbortRequested, CheckpointWritten, SessionResumed
from agentcore.evolve import evolve
from agentcore.limits import allows
from agentcore.messages import Abandoned, CancelledCall, EffectSeen, NotExecuted, NotExecutedReason
from agentcore.policy import Effect
from agentcore.states import (
    Because,
    Call,
    CancellationRequested,
    EffectUnknown,
    Executing,
    Released,
    Run,
    State,
)
from agentcore.steps.base import quiet, stopping, why
from agentcore.steps.calls.moves import (
    ask,
    lose,
    not_started,
    order_cancel,
    review,
    settle,
    settle_absent,
    settle_denying,
    suspect,
)
from agentcore.steps.verdicts import Advance, StopEntered

Stop = AbortRequested | StopEntered
"""What stops a call."""


def release(state: State, call: Call, _event: Advance) -> Call:
    """Let the call start: at once if it only reads, else when a checkpoint covers this event (G-12).

    Beyond the limit of tool calls it settles as not executed; a call is counted once, before it starts (R-106).
    """
    limits, turn = state.config.limits, state.turn
    if not call.counted and not allows(limits.tool_calls, turn.counters.tool_calls):
        outcome = NotExecuted(NotExecutedReason.MAX_TOOL_CALLS)
        return settle(call, outcome, Because.TOOL_CALLS_USED_UP, ("tool_calls", limits.tool_calls))
    tries = evolve(call.tries, executions=call.tries.executions + 1)
    run = Run(state.epoch, tries.executions, state.seq, state.at)
    call = evolve(call, tries=tries, counted=True)
    transition = why(Because.RELEASED, ("attempt", run.attempt), ("seq", run.seq))
    if call.contract.pure:
        return evolve(call, state=Executing(transition, _timed(state, call, run)))
    return evolve(call, state=Released(transition, run))


def _timed(state: State, call: Call, run: Run) -> Run:
    """Fix the deadline of an attempt that may act from now on."""
    limit = call.contract.timeout_ms if call.contract.timeout_ms is not None else state.config.limits.tool_ms
    return evolve(run, covered_at=state.at, due_at=None if limit is None else state.at + limit)


def cover(state: State, call: Call, event: CheckpointWritten) -> Call:
    """Start an attempt whose intent is durable now; one that was released later goes on waiting."""
    assert isinstance(call.state, Released)
    if call.state.run.seq > event.seq:
        return call
    run = _timed(state, call, call.state.run)
    return evolve(call, state=Executing(why(Because.RELEASE_COVERED, ("seq", event.seq)), run))


def stop_unstarted(state: State, call: Call, event: Stop) -> Call:
    """Settle a call that has not started; an earlier attempt that may have acted is asked about first."""
    because = Because.ABORT_REQUESTED if isinstance(event, AbortRequested) else Because.TURN_STOPPING
    return settle_denying(state, evolve(call, aborted=True), not_started(state), because)


def stop_running(state: State, call: Call, event: Stop) -> Call:
    """Tell a started attempt to stop; it is cancelled only when it confirms (R-177)."""
    assert isinstance(call.state, Executing)
    because = Because.ABORT_REQUESTED if isinstance(event, AbortRequested) else Because.TURN_STOPPING
    run = call.state.run
    call, cancel = order_cancel(state, evolve(call, aborted=True))
    return evolve(call, state=CancellationRequested(why(because), run, cancel))


def stop_cancelling(state: State, call: Call, _event: AbortRequested) -> Call:
    """Give up waiting for the confirmation if the turn is stopping already; else the first order stands."""
    return _give_up(call) if stopping(state, call) else call


def stop_unknown(state: State, call: Call, event: Stop) -> Call:
    """Tell an unknown attempt to stop, as it may still run; a second act gives up on it."""
    unknown = call.state
    assert isinstance(unknown, EffectUnknown)
    if isinstance(event, AbortRequested) and stopping(state, call):
        return _give_up(call)
    if unknown.proved_absent is not None:
        return settle_absent(call, unknown.proved_absent)
    if quiet(state):
        return call
    call = evolve(call, aborted=True)
    if unknown.cancel is not None:
        return call
    because = Because.ABORT_REQUESTED if isinstance(event, AbortRequested) else Because.TURN_STOPPING
    call, cancel = order_cancel(state, call)
    return evolve(call, state=evolve(unknown, transition=why(because), cancel=cancel))


def _give_up(call: Call) -> Call:
    """Give up finding out: a read had no effect, anything else stays open in the register."""
    outcome = CancelledCall(EffectSeen.NONE) if call.contract.pure else Abandoned("user")
    return settle(call, outcome, Because.GIVEN_UP)


def resume_unstarted(state: State, call: Call, event: SessionResumed) -> Call:
    """Review a call again that had not started; one that lost history shows as started is asked about."""
    if any(suspect_.call_id == call.call_id for suspect_ in event.recovery.suspects):
        number = call.tries.executions + 1
        run = Run(state.epoch, number, state.seq, state.at, covered_at=state.at, resumed=True)
        call = evolve(call, tries=evolve(call.tries, executions=number))
        return suspect(state, call, run, Because.GAP_SUSPECTED, person=True)
    return review(state, call, Because.SESSION_RESUMED)


def resume_running(state: State, call: Call, _event: SessionResumed) -> Call:
    """Turn an attempt that may have been under way into what is proved; covered or not, it may have acted."""
    running = call.state
    assert isinstance(running, Released | Executing | CancellationRequested)
    run = running.run
    if run.covered_at is None:
        run = evolve(run, covered_at=state.at)
    if call.contract.pure:
        return _resume_pure(state, call)
    if call.contract.effect is Effect.KEYED:
        return lose(state, evolve(call, state=evolve(running, run=run)), Because.SESSION_RESUMED)
    return suspect(state, call, evolve(run, resumed=True), Because.SESSION_RESUMED)


def _resume_pure(state: State, call: Call) -> Call:
    """Run a read again that died with its process, unless its turn is stopping or somebody wanted it to stop."""
    if stopping(state, call):
        return settle(call, NotExecuted(NotExecutedReason.TURN_STOPPED), Because.SESSION_RESUMED)
    if call.aborted:
        return settle(call, CancelledCall(EffectSeen.NONE), Because.SESSION_RESUMED)
    return lose(state, call, Because.SESSION_RESUMED)


def resume_unknown(state: State, call: Call, _event: SessionResumed) -> Call:
    """Ask about an unknown effect anew: who was looking is dead, and so is the order to stop."""
    unknown = call.state
    assert isinstance(unknown, EffectUnknown)
    kept = evolve(unknown, live=False, cancel=None, rechecked=False)
    if unknown.proved_absent is not None:
        return evolve(call, state=kept)
    if unknown.inquiry.resume_at is not None and not quiet(state):
        return evolve(call, state=kept)
    call, inquiry = ask(state, call)
    transition = why(Because.SESSION_RESUMED, ("asked", inquiry.by.value))
    return evolve(call, state=evolve(kept, transition=transition, inquiry=inquiry))
