"""What is true of an event about the session, a step, the store or the clock: facts that refusals claim."""

from __future__ import annotations

from agentcore import events
from agentcore.events import AbortScope
from agentcore.messages import step_of
from agentcore.states import ENDS, WORKING, AwaitingModel, Idle, Stopping, Streaming
from agentcore.steps.sendable import sendable
from agentcore.testing.laws.case import Case

_OF_TURNS = (AbortScope.TURN, AbortScope.AFTER_STEP)


def is_queued(case: Case, message_id: str) -> bool:
    """A message waits in a queue."""
    queues = case.state.queues
    return any(queued.message_id == message_id for queued in (*queues.steering, *queues.follow_ups))


def wanted(case: Case) -> tuple[str, ...]:
    """Return the queued messages that an event speaks of."""
    if isinstance(case.event, events.MessageWithdrawn):
        return (case.event.message_id,)
    return case.event.queued if isinstance(case.state.phase, Idle) else ()


def wants_unknown(case: Case) -> bool:
    """A message that it speaks of was never seen."""
    return any(not is_queued(case, each) and each not in case.state.known for each in wanted(case))


def wants_delivered(case: Case) -> bool:
    """A message that it speaks of was delivered or withdrawn."""
    return any(not is_queued(case, each) and each in case.state.known for each in wanted(case))


def says_nothing(case: Case) -> bool:
    """A prompt in ``Idle`` has no content and names no message."""
    return isinstance(case.state.phase, Idle) and not case.event.parts and not case.event.queued


def message_is_known(case: Case) -> bool:
    """A message with this id was taken before."""
    return case.event.message_id in case.state.known


def is_idle(case: Case) -> bool:
    """No turn is open or has to be reopened."""
    return isinstance(case.state.phase, Idle)


def is_open(case: Case) -> bool:
    """A turn is open."""
    return case.state.open


def has_ended(case: Case) -> bool:
    """A turn has ended and was not reopened."""
    return isinstance(case.state.phase, ENDS)


def is_not_idle(case: Case) -> bool:
    """A turn is open, or has to be reopened."""
    return not isinstance(case.state.phase, Idle)


def is_future_turn(case: Case) -> bool:
    """It names a turn that has not begun."""
    return case.event.scope in _OF_TURNS and case.event.turn > case.state.turn.number


def reaches_no_call(case: Case) -> bool:
    """No call, or no task, has the id that an abort names."""
    scope, call = case.event.scope, case.call
    return scope in (AbortScope.CALL, AbortScope.TASK) and (
        call is None or (scope is AbortScope.TASK and not call.registered)
    )


def reaches_nothing(case: Case) -> bool:
    """It names a call or task that never was."""
    return reaches_no_call(case) and case.written is None


def act_is_known(case: Case) -> bool:
    """It has an id, and an act with that id was taken before."""
    return bool(case.event.act_id) and case.event.act_id in case.state.acts


def abort_is_known(case: Case) -> bool:
    """It was taken before, or what it stops is over."""
    state, event = case.state, case.event
    if event.act_id in state.acts:
        return True
    if event.scope not in _OF_TURNS:
        return reaches_no_call(case) and case.written is not None
    over = event.turn < state.turn.number or not state.open
    late = event.scope is AbortScope.AFTER_STEP and not isinstance(state.phase, WORKING)
    return event.turn <= state.turn.number and (over or late)


def act_on_call_is_known(case: Case) -> bool:
    """It was taken before, and its call is one."""
    return act_is_known(case) and not case.missing


def is_older_step(case: Case) -> bool:
    """It names a step before the present one."""
    step = step_of(case.event.request_id)
    return step is not None and step < (case.state.turn.number, case.state.turn.step)


def is_taken(case: Case) -> bool:
    """A message was taken from the very attempt that replies."""
    return isinstance(case.event, events.ModelReplied) and case.answer is not None


def is_stale_step(case: Case) -> bool:
    """It names a step before the present one."""
    return not case.is_present and is_older_step(case) and not is_taken(case)


def is_foreign_step(case: Case) -> bool:
    """It names a step that never was."""
    return not case.is_present and not is_older_step(case)


def is_unasked_of_step(case: Case) -> bool:
    """Its number was not minted in this step, or what it confirms was not ordered."""
    if not case.is_present or is_taken(case):
        return False
    unordered = isinstance(case.event, events.ModelStopped) and isinstance(case.state.phase, AwaitingModel | Streaming)
    return case.given > case.minted or not case.minted[1] or (case.given == case.minted and unordered)


def is_earlier_of_step(case: Case) -> bool:
    """It names an attempt before the present one of this step."""
    return case.is_present and case.minted[1] > 0 and case.given < case.minted and not is_taken(case)


def was_answered(case: Case) -> bool:
    """Its order was given, and nobody waits for the answer any more; or a message was taken from it."""
    present = case.is_present and case.given == case.minted
    return is_taken(case) or (present and not case.is_awaited and not is_unasked_of_step(case))


def reply_is_known(case: Case) -> bool:
    """It says what was taken from it, or what that was made of."""
    answer = case.answer
    if answer is None or answer.finish is not case.event.finish:
        return False
    said = sendable(case.event.parts, case.event.request_id).parts
    return all(part in said for part in answer.parts)


def stream_is_known(case: Case) -> bool:
    """The request it speaks of is streaming, or was told to end."""
    if not case.is_present or case.given != case.minted or not case.is_awaited:
        return False
    return isinstance(case.state.phase, Streaming | Stopping)


def is_awaited_checkpoint(case: Case) -> bool:
    """It answers the checkpoint that is outstanding."""
    storage = case.state.storage
    return case.event.seq == storage.in_flight and case.given == (case.state.epoch, storage.attempt)


def is_foreign_checkpoint(case: Case) -> bool:
    """It names an order or an event beyond the last."""
    state = case.state
    beyond = case.given > (state.epoch, state.storage.attempt) or case.event.seq > state.seq
    return beyond and not is_awaited_checkpoint(case)


def is_durable(case: Case) -> bool:
    """What it covers is known to be durable."""
    late = not is_awaited_checkpoint(case) and not is_foreign_checkpoint(case)
    return late and case.event.seq <= case.state.storage.durable


def is_stale_checkpoint(case: Case) -> bool:
    """It answers an order before the last, and says nothing that is known."""
    late = not is_awaited_checkpoint(case) and not is_foreign_checkpoint(case)
    written = isinstance(case.event, events.CheckpointWritten)
    return late and not (written and case.event.seq <= case.state.storage.durable)


def is_waited_for_by_nobody(case: Case) -> bool:
    """This timer does not run."""
    return not case.is_asked
