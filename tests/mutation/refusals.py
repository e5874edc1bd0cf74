"""What a refusal owes to whoever is refused: laws about the words of it, which the laws of the harness leave open.

1. What names an id is told what is wrong with that id; ``not-expected-here`` is said only of acts about the session as
   a whole. An answer that is waited for is heard.
2. What is ignored was told before, or says what is known already; an answer of an earlier attempt, step or turn that
   was never told is refused and recorded.
3. What is waited for has a number that was minted for it.
4. What a user says, and what a user stops, is never refused for where the turn stands.
"""

from __future__ import annotations

from agentcore import events
from agentcore.events import AbortScope, Event
from agentcore.messages import MessageSource, find_result
from agentcore.rejections import RejectionCode
from agentcore.states import EffectUnknown, Idle, Settled, State
from agentcore.testing.answers import answered_key
from agentcore.testing.numbers import last_minted
from agentcore.testing.passage import Passage, find_call

OF_THE_SESSION = (
    events.SessionReopened,
    events.HistoryImported,
    events.HistoryCleared,
    events.ConfigChanged,
)
"""Acts that name nothing; they are legal in one place each."""

DECISIVE = (
    events.StepPrepared,
    events.PreparationFailed,
    events.ModelReplied,
    events.ModelFailed,
    events.ModelStopped,
    events.PolicyAllowed,
    events.PolicyAsked,
    events.PolicyBlocked,
    events.ArgumentsRefused,
    events.ApprovalGranted,
    events.ApprovalDenied,
    events.ToolSucceeded,
    events.ToolFailed,
    events.EffectInspected,
    events.CheckpointWritten,
    events.CheckpointFailed,
    events.ContextCompacted,
    events.CompactionFailed,
    events.CompletionAccepted,
    events.CompletionRefused,
)
"""Answers that end a wait: while they are waited for they are never news of nothing."""


def wrongly_refused(passage: Passage, *, repeated: bool) -> str | None:
    """Say what is wrong with how an event was refused or ignored; ``repeated`` if the very same was accepted before."""
    if passage.rejection is not None:
        if passage.rejection.code is RejectionCode.NOT_EXPECTED_HERE and not isinstance(passage.event, OF_THE_SESSION):
            return f"words: {type(passage.event).__name__} names an id and is not told what is wrong with it"
        return None
    if passage.after is not passage.before:
        return _misplaced(passage) or _unminted(passage)
    if repeated:
        return None
    if isinstance(passage.event, DECISIVE) and answered_key(passage.event) in passage.waited_for:
        return f"heard: {type(passage.event).__name__} is waited for and ignored"
    return _wrongly_ignored(passage.before, passage.event)


def _misplaced(passage: Passage) -> str | None:
    """Say which message of a user was taken for one of another kind."""
    event, after = passage.event, passage.after
    wanted = {events.SteeringQueued: MessageSource.STEERING, events.FollowUpQueued: MessageSource.FOLLOW_UP}
    if type(event) not in wanted:
        return None
    waiting = (*after.queues.steering, *after.queues.follow_ups, *passage.said)
    source = next((each.source for each in waiting if getattr(each, "message_id", "") == event.message_id), None)
    return None if source is wanted[type(event)] else f"kinds: {type(event).__name__} became {source}"


def _unminted(passage: Passage) -> str | None:
    """Say which command is ordered under a number that was never minted for it."""
    for key in passage.waits_for:
        minted = last_minted(passage.after, key.name, key.id)
        if minted is None or key.attempt > minted:
            return f"numbers: {key.name} {key.id} is waited for as {key.attempt}, {minted} was minted"
    return None


def _wrongly_ignored(state: State, event: Event) -> str | None:
    key = answered_key(event)
    if key is not None and key.name != "persist-checkpoint" and _is_over(state, event):
        return f"ignored: {type(event).__name__} of {key.id} is over, was never told, and is not refused"
    known = _is_known(state, event)
    return None if known else f"ignored: {type(event).__name__} is not known and is ignored"


def _is_over(state: State, event: Event) -> bool:
    """Say whether an answer names an attempt that cannot be the present one."""
    key = answered_key(event)
    assert key is not None
    if isinstance(event, events.TimerFired):
        return False
    call = find_call(state, key.id)
    if hasattr(event, "call_id"):
        runs = () if call is None else (call.run, *call.unproved, *call.voided)
        named = (key.epoch, key.attempt)
        if find_result(state.history, key.id) is not None or (call is not None and isinstance(call.state, Settled)):
            return False
        return call is None or (named not in {run.id for run in runs if run is not None} and _is_older(state, key))
    return key.id != state.request_id or _is_older(state, key)


def _is_older(state: State, key) -> bool:
    minted = last_minted(state, key.name, key.id)
    return minted is None or (key.epoch, key.attempt) < (state.epoch, minted)


def _is_known(state: State, event: Event) -> bool:
    """Say whether an act of a host is known: by its id, or because what it asks for is so already."""
    match event:
        case events.PromptSubmitted() | events.SteeringQueued() | events.FollowUpQueued():
            return event.message_id in state.known
        case events.MessageWithdrawn():
            return False
        case events.SessionReopened():
            return isinstance(state.phase, Idle)
        case events.AbortRequested(scope=AbortScope.TURN, turn=turn):
            return event.act_id in state.acts or turn != state.turn.number or not state.open
        case events.InspectionRequested():
            call = find_call(state, event.call_id)
            return call is not None and isinstance(call.state, EffectUnknown) and call.state.looking
        case events.RetryRequested():
            return event.act_id in state.acts
        case events.EffectResolved():
            return event.act_id in state.acts or event.resolution is events.Resolution.ABANDONED
        case _:
            return True
