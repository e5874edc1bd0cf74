"""Aborting: which units an act reaches, and what it does to the turn (L20).

A known act is ignored, and so is one for a turn that has ended. A new act in ``Stopping`` gives up waiting; in
``Saving`` it ends the turn at
once, its outcome kept and said to be unsaved.
"""

from __future__ import annotations

from agentcore.events import AbortRequested, AbortScope, CheckpointWritten, SessionResumed
from agentcore.evolve import evolve
from agentcore.messages import find_result
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import WORKING, Because, Ending, Saving, State, Stopping, StopReason
from agentcore.steps.base import find_call, in_phase, in_turn, own_calls
from agentcore.steps.ending import add_evidence, enter_end, stop_turn
from agentcore.steps.verdicts import Ignored, Refused

_TURN_SCOPES = (AbortScope.TURN, AbortScope.AFTER_STEP)


def reached(state: State, event: AbortRequested) -> tuple[str, ...]:
    """Return the calls an act is offered to, as the session stands before it.

    Calls of a turn at work are reached by its entering ``Stopping``; offering them the act as well would be two acts.
    """
    working = isinstance(state.phase, WORKING)
    registered = tuple(call.call_id for call in state.register)
    match event.scope:
        case AbortScope.CALL | AbortScope.TASK:
            return (event.call_id,)
        case AbortScope.ALL:
            return registered if working else (*own_calls(state), *registered)
        case AbortScope.TURN:
            return () if working else own_calls(state)
        case _:
            return ()


def in_batch(state: State, _event: CheckpointWritten) -> tuple[str, ...]:
    """Return the calls of the batch, register entries excepted."""
    return own_calls(state)


def everywhere(state: State, _event: SessionResumed) -> tuple[str, ...]:
    """Return every call: the batch's in source order, then the register's."""
    return (*own_calls(state), *(call.call_id for call in state.register))


def abort(state: State, event: AbortRequested) -> State | Ignored | Refused:
    """Note the act and let it reach the turn; the calls in its scope are offered it next."""
    if event.act_id in state.acts:
        return Ignored("act-known")
    if verdict := _unreachable(state, event):
        return verdict
    state = evolve(state, acts=state.acts.add(event.act_id))
    if event.scope is AbortScope.AFTER_STEP:
        return in_turn(state, evolve(state.turn, stop_after_step=True))
    if event.scope in (AbortScope.CALL, AbortScope.TASK):
        return state
    return _abort_turn(state, event)


def _unreachable(state: State, event: AbortRequested) -> Ignored | Refused | None:
    """Say why an act reaches nothing, if it does not."""
    if event.scope in _TURN_SCOPES:
        if event.turn > state.turn.number:
            return Refused(RejectionCode.FOREIGN_TURN, Blame.HOST, str(event.turn))
        ended = event.turn < state.turn.number or not state.open
        late = event.scope is AbortScope.AFTER_STEP and not isinstance(state.phase, WORKING)
        return Ignored("turn-ended") if ended or late else None
    if event.scope is AbortScope.ALL:
        return None
    call = find_call(state, event.call_id)
    if call is None or (event.scope is AbortScope.TASK and not call.registered):
        return _no_such_call(state, event)
    return None


def _no_such_call(state: State, event: AbortRequested) -> Ignored | Refused:
    """Tell a call that is over from one that never was."""
    written = was_written(state, event.call_id)
    if written:
        return Ignored("call-ended")
    return Refused(RejectionCode.FOREIGN_CALL, Blame.HOST, event.call_id)


def was_written(state: State, call_id: str) -> bool:
    """Say whether an id is that of a call whose result stands in history."""
    return find_result(state.history, call_id) is not None


def _abort_turn(state: State, event: AbortRequested) -> State:
    phase = state.phase
    facts = (("act", event.act_id), ("scope", event.scope.value))
    if isinstance(phase, WORKING):
        return stop_turn(state, add_evidence(Ending(StopReason.USER_ABORT), *facts))
    if isinstance(phase, Stopping):
        ending = add_evidence(phase.ending, *facts)
        return in_phase(state, evolve(phase, ending=ending, request=None))
    if isinstance(phase, Saving):
        saving = evolve(phase, ending=add_evidence(phase.ending, *facts))
        return enter_end(state, saving, Because.WAITING_GIVEN_UP, unsaved=True)
    return state
