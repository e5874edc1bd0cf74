"""What the host says about the session as a whole: prompts, queues, import, clearing, configuration, reopening."""

from __future__ import annotations

from agentcore.events import (
    ConfigChanged,
    FollowUpQueued,
    HistoryCleared,
    HistoryImported,
    MessageWithdrawn,
    PromptSubmitted,
    SessionReopened,
    SteeringQueued,
)
from agentcore.evolve import evolve
from agentcore.messages import MessageSource, UserMessage
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import Because, Idle, QueuedMessage, Queues, State
from agentcore.steps.base import in_phase, want_checkpoint, why
from agentcore.steps.begin import begin_turn
from agentcore.steps.mend import mend
from agentcore.steps.verdicts import Ignored, Refused, stale


def _waiting(queues: Queues) -> dict[str, QueuedMessage]:
    """Return the user's messages that are queued, by id."""
    return {queued.message_id: queued for queued in (*queues.steering, *queues.follow_ups)}


def _without(queues: Queues, message_ids: tuple[str, ...]) -> Queues:
    return evolve(
        queues,
        steering=tuple(queued for queued in queues.steering if queued.message_id not in message_ids),
        follow_ups=tuple(queued for queued in queues.follow_ups if queued.message_id not in message_ids),
    )


def submit_prompt(state: State, event: PromptSubmitted) -> State | Ignored | Refused:
    """Begin a turn with what the user says, queued messages named in it first."""
    if event.message_id in state.known:
        return Ignored("message-known")
    named, waiting = tuple(dict.fromkeys(event.queued)), _waiting(state.queues)
    for message_id in named:
        if message_id not in waiting:
            return _not_queued(state, message_id)
    messages = tuple(waiting[message_id].message() for message_id in named)
    if event.parts:
        messages = (*messages, UserMessage(event.message_id, MessageSource.PROMPT, event.parts))
    if not messages:
        advice = "Give content, or name queued messages."
        return Refused(RejectionCode.EMPTY_PROMPT, Blame.HOST, event.message_id, advice)
    state = evolve(state, known=state.known.add(event.message_id), queues=_without(state.queues, named))
    return begin_turn(state, messages, Because.PROMPT_SUBMITTED)


def refuse_prompt(state: State, event: PromptSubmitted) -> Ignored | Refused:
    """Refuse a prompt while a turn runs, or before an ended one was reopened; its sender still has the words."""
    if event.message_id in state.known:
        return Ignored("message-known")
    if state.open:
        advice = "Queue it as follow-up or steering."
        return Refused(RejectionCode.TURN_IN_PROGRESS, Blame.HOST, event.message_id, advice)
    return Refused(RejectionCode.TURN_ENDED, Blame.HOST, event.message_id, "Reopen the session first.")


def queue_steering(state: State, event: SteeringQueued) -> State | Ignored:
    """Queue words for the running turn; once its end is decided they wait for the next one."""
    if event.message_id in state.known:
        return Ignored("message-known")
    queued = QueuedMessage(event.message_id, event.parts, MessageSource.STEERING)
    queues = evolve(state.queues, steering=(*state.queues.steering, queued))
    return evolve(state, known=state.known.add(event.message_id), queues=queues)


def queue_follow_up(state: State, event: FollowUpQueued) -> State | Ignored:
    """Queue words for after the turn."""
    if event.message_id in state.known:
        return Ignored("message-known")
    queued = QueuedMessage(event.message_id, event.parts, MessageSource.FOLLOW_UP)
    queues = evolve(state.queues, follow_ups=(*state.queues.follow_ups, queued))
    return evolve(state, known=state.known.add(event.message_id), queues=queues)


def withdraw_message(state: State, event: MessageWithdrawn) -> State | Refused:
    """Take a queued message back; one that is not queued any more cannot be."""
    if event.message_id not in _waiting(state.queues):
        return _not_queued(state, event.message_id)
    return evolve(state, queues=_without(state.queues, (event.message_id,)))


def _not_queued(state: State, message_id: str) -> Refused:
    if message_id in state.known:
        return stale(RejectionCode.ALREADY_DELIVERED, message_id, "It was delivered or withdrawn before.")
    return Refused(RejectionCode.UNKNOWN_MESSAGE, Blame.HOST, message_id)


def reopen_session(state: State, _event: SessionReopened) -> State:
    """Go from an end back to ``Idle``; queues, register and history stay."""
    return in_phase(state, Idle(why(Because.SESSION_REOPENED)))


def import_history(state: State, event: HistoryImported) -> State:
    """Take in a history from elsewhere, mended; no request goes out before it is durable (D-35)."""
    number = state.turns + 1
    mended = mend(event.messages, number, state.known)
    turn = evolve(state.turn, number=number, step=mended.steps)
    state = evolve(state, turn=turn, turns=number, known=mended.known, history=state.history.append(*mended.messages))
    state = evolve(state, storage=evolve(state.storage, barrier=state.seq))
    transition = why(
        Because.HISTORY_IMPORTED,
        ("messages", len(mended.messages)),
        ("answered", ", ".join(mended.answered)),
        ("set_aside", ", ".join(mended.set_aside)),
    )
    return want_checkpoint(in_phase(state, Idle(transition)))


def clear_history(state: State, _event: HistoryCleared) -> State:
    """Let the model forget: the window moves behind everything, nothing is deleted."""
    end = len(state.history)
    window = evolve(state.window, start=end, summary="", media_to=end)
    transition = why(Because.HISTORY_CLEARED, ("messages", end))
    return in_phase(evolve(state, window=window, turn=evolve(state.turn, context_tokens=0)), Idle(transition))


def change_config(state: State, event: ConfigChanged) -> State:
    """Put another configuration in force."""
    return in_phase(evolve(state, config=event.config), Idle(why(Because.CONFIG_CHANGED)))
