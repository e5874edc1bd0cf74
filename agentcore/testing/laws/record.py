"""Laws about what is written and counted: settled calls, history, late results, messages, usage (L9, L11, L13, L14,
L16).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentcore.commands import Key
from agentcore.events import (
    Event,
    FollowUpQueued,
    HistoryImported,
    MessageWithdrawn,
    PromptSubmitted,
    SteeringQueued,
    TaskSettled,
    ToolCancelled,
    ToolFailed,
    ToolSucceeded,
)
from agentcore.messages import (
    CHUNK,
    ArgumentsState,
    AssistantMessage,
    History,
    Message,
    MessageSource,
    ReasoningPart,
    TextPart,
    ToolMessage,
    Usage,
    UserMessage,
    is_open,
    parse_arguments,
)
from agentcore.states import Because, Call, Completed, EffectUnknown, ReviewingCompletion, Settled, State, StopReason
from agentcore.testing.answers import answered_key
from agentcore.testing.laws.base import Law, Monitor, transition_law, words
from agentcore.testing.laws.refusals import misheard
from agentcore.testing.numbers import last_minted
from agentcore.testing.passage import Passage, find_call


@transition_law("L9")
def what_is_settled_stays(passage: Passage) -> str | None:
    """A settled call and its written result never change; an entry of the register is resolved at most once. A late
    success settles an unknown; a late timeout unsettles nothing.

    History only grows: every message that was there stays the same object. An answer in the batch is the one that is
    written. In the register an answer that leaves its effect open may be followed by one that closes it, and that
    stays.
    """
    before, after = passage.before, passage.after
    if before is after:
        return None
    if before.history is not after.history and not is_prefix(before.history, after.history):
        return "history was rewritten"
    for old, new in passage.moved:
        if old is None or not isinstance(old.state, Settled):
            continue
        if new is not None and new.state != old.state and not (old.registered and is_open(old.state.outcome)):
            return f"{old.call_id} was settled and changed"
        if new is None and not old.registered and not _is_written(passage, old, old.state):
            return f"{old.call_id} was settled and something else was written"
    return None


def is_prefix(old: History, new: History) -> bool:
    """Say whether a history begins with the very messages of another."""
    if len(old) > len(new):
        return False
    if any(mine is not theirs for mine, theirs in zip(old.chunks, new.chunks, strict=False)):
        return False
    rest = new.since(len(old.chunks) * CHUNK)
    return all(mine is theirs for mine, theirs in zip(old.tail, rest, strict=False))


def _is_written(passage: Passage, call: Call, settled: Settled) -> bool:
    results = (result for message in passage.said if isinstance(message, ToolMessage) for result in message.results)
    return any(result.call_id == call.call_id and result.outcome == settled.outcome for result in results)


@transition_law("L11")
def history_is_balanced(passage: Passage) -> str | None:
    """Every request's history is balanced: each call has exactly one result, adjacent, in source order.

    A message and its results go into history with one event, so each event adds a balanced piece; and what a request is
    built from, ``request_messages``, is balanced as it is sent. Each message of the model is one that providers take
    back, whatever it was when it came.
    """
    if passage.before is passage.after:
        return None
    if passage.said and (problem := unbalanced(passage.said) or _unfit(passage.said)):
        return problem
    for command in passage.requests:
        sent = passage.core.request_messages(passage.after, command.request_id).messages
        if problem := unbalanced(sent):
            return f"in request {command.request_id}: {problem}"
    return None


def unbalanced(messages: tuple[Message, ...]) -> str | None:
    """Say which call has no result, or which result no call, in messages that belong together; ``None`` if all is
    well.
    """
    owed: tuple[str, ...] = ()
    for message in messages:
        if isinstance(message, ToolMessage):
            given = tuple(result.provider_id for result in message.results)
            if given != owed or not given:
                return f"results {given} stand where {owed or 'none'} are owed"
            owed = ()
            continue
        if owed:
            return f"no results stand behind the calls {owed}"
        owed = tuple(part.provider_id for part in message.calls) if isinstance(message, AssistantMessage) else ()
    return f"no results stand behind the calls {owed}" if owed else None


def _unfit(messages: tuple[Message, ...]) -> str | None:
    """Say which message of the model no provider takes back: words behind a call, arguments that are no object, or
    nothing at all.
    """
    for message in messages:
        if not isinstance(message, AssistantMessage):
            continue
        calls = message.calls
        behind = message.parts[message.parts.index(calls[0]) :] if calls else ()
        if any(isinstance(part, TextPart | ReasoningPart) for part in behind):
            return f"the message of {message.request_id} goes on behind a call"
        for call in calls:
            if not call.arguments.strip() or parse_arguments(call.arguments).state is not ArgumentsState.COMPLETE:
                return f"the arguments of {call.provider_id} are no object: {call.arguments!r:.60}"
        only_words = all(isinstance(part, TextPart | ReasoningPart) for part in message.parts)
        if only_words and not message.text.strip():
            return f"the message of {message.request_id} says nothing"
    return None


RESULTS: tuple[type[Event], ...] = (ToolSucceeded, ToolFailed, ToolCancelled, TaskSettled)
"""Events that prove how an attempt ended."""


@transition_law("L13", refusals=True)
def late_results_start_nothing(passage: Passage) -> str | None:
    """A result for an unknown, foreign or stale id is rejected and recorded and starts nothing.

    The exception is a proved end of an earlier attempt of a call that is unsettled or in the register: before a newer
    attempt started it settles the call, afterwards it is rejected as ``earlier-attempt-acted`` and shown. A keyed
    call is settled by the success of any attempt, and an unknown call keeps the proof for whoever inspects it. A
    success of an attempt that was declared absent counts as such a proof: it contradicts, and is never dropped. What
    is told of the very attempt that is being found out is neither foreign nor stale.

    An answer is ignored only if it is known: it was told before, it says what is so already, or it proves nothing
    (``KNOWN``); so what is awaited is heard. One of which a refusal would tell the truth (``CLAIMS``) is refused.
    """
    accepted = passage.after is not passage.before
    key = answered_key(passage.event) if accepted or not passage.commands else None
    if key is None:
        return None
    problem = misheard(passage)
    if problem is None and accepted and isinstance(passage.event, RESULTS):
        problem = _earlier(passage, key)
    return problem


def _earlier(passage: Passage, key: Key) -> str | None:
    """Say what is wrong with how the end of an earlier attempt was taken."""
    call = find_call(passage.before, key.id)
    if call is None or (call.run is not None and call.run.id == (key.epoch, key.attempt)):
        return None
    told = f"{type(passage.event).__name__} for {key.id} (epoch {key.epoch}, attempt {key.attempt})"
    if any(command.call_id == call.call_id for command in passage.executions):
        return f"{told} started an execution of its own call"
    after = find_call(passage.after, key.id)
    settled = after is None or isinstance(after.state, Settled)
    return None if settled or _is_kept(call, after) else f"{told} was accepted and settled nothing"


def _is_kept(old: Call, new: Call | None) -> bool:
    """Say whether what was told is kept: for whoever inspects, or by asking about another earlier attempt."""
    asked = new is not None and isinstance(new.state, EffectUnknown)
    return asked and (isinstance(old.state, EffectUnknown) or len(old.unproved) > 1)


@transition_law("L14")
def every_message_is_somewhere(passage: Passage) -> str | None:
    """Every user message is delivered exactly once, withdrawn, or still queued.

    With each event, what was queued and what arrived is what is queued, went into history, or was withdrawn; and only a
    message with an id that was not known before arrives. It keeps its kind: steering stays steering. What is imported
    was said elsewhere, to somebody else, and stands in history with the ids that were new.

    Nothing waits where it could be heard: no steering and no notice while a completion is reviewed, nothing at all
    behind an answer that is saved.
    """
    before, after, event = passage.before, passage.after, passage.event
    if before is after:
        return None
    if problem := _unheard(after) or _lost_import(passage):
        return problem
    if before.queues is after.queues and before.history is after.history and not _arriving(event):
        return None
    arrived = _arriving(event)
    if any(message_id in before.known for message_id in arrived):
        return f"{', '.join(arrived)} was known and arrived again"
    if any(message_id not in after.known for message_id in arrived):
        return f"{', '.join(arrived)} arrived and is not known"
    if (misplaced := _misplaced(passage)) is not None:
        return misplaced
    withdrawn = (event.message_id,) if isinstance(event, MessageWithdrawn) else ()
    delivered = () if isinstance(event, HistoryImported) else tuple(_delivered(passage.said, _OF_USERS))
    owed, found = sorted((*_queued(before), *arrived)), sorted((*_queued(after), *delivered, *withdrawn))
    if owed != found:
        return f"owed were {owed}, found are {found}"
    told, still_there = tuple(_delivered(passage.said, (MessageSource.NOTICE,))), _notices(after)
    lost = _notices(before) - still_there - set(told)
    doubled = [
        message_id for message_id in dict.fromkeys(told) if told.count(message_id) > 1 or message_id in still_there
    ]
    return f"notices {sorted(lost)} are lost, {doubled} are told twice" if lost or doubled else None


def _unheard(state: State) -> str | None:
    """Say what waits although its place has come."""
    queues, phase = state.queues, state.phase
    if isinstance(phase, ReviewingCompletion):
        waiting = (*queues.steering, *queues.notices)
    elif isinstance(phase, Completed) and _goes_on(phase):
        waiting = (*queues.steering, *queues.follow_ups)
    else:
        return None
    return f"{waiting[0].message_id} waits in {type(phase).__name__}" if waiting else None


def _goes_on(end: Completed) -> bool:
    """Say whether a saved answer lets the next turn begin: nobody wanted it to stop there."""
    given_up = end.transition.because is Because.WAITING_GIVEN_UP
    return not end.unsaved and end.ending.reason is not StopReason.STOPPED_BY_HOST and not given_up


def _lost_import(passage: Passage) -> str | None:
    """Say which message of a user was imported and is not in history."""
    if not isinstance(passage.event, HistoryImported):
        return None
    brought = {each.message_id for each in passage.event.messages if isinstance(each, UserMessage)}
    lost = [each for each in sorted(brought) if each not in passage.before.known and each not in _ids(passage.said)]
    return f"{lost[0]} was imported and is not in history" if lost else None


def _ids(said: tuple[Message, ...]) -> set[str]:
    return {message.message_id for message in said if isinstance(message, UserMessage)}


_OF_USERS = (MessageSource.PROMPT, MessageSource.FOLLOW_UP, MessageSource.STEERING)


def _arriving(event: Event) -> tuple[str, ...]:
    """Return the id of the message that comes with an event, if one does."""
    match event:
        case SteeringQueued() | FollowUpQueued():
            return (event.message_id,)
        case PromptSubmitted(parts=parts):
            return (event.message_id,) if parts else ()
        case _:
            return ()


_KINDS: Mapping[type[Event], MessageSource] = {
    PromptSubmitted: MessageSource.PROMPT,
    SteeringQueued: MessageSource.STEERING,
    FollowUpQueued: MessageSource.FOLLOW_UP,
}


def _misplaced(passage: Passage) -> str | None:
    """Say that a message became one of another kind."""
    event = passage.event
    if not isinstance(event, PromptSubmitted | SteeringQueued | FollowUpQueued):
        return None
    wanted = _KINDS[type(event)]
    queues = passage.after.queues
    waiting = {queued.message_id: MessageSource.STEERING for queued in queues.steering}
    waiting |= {queued.message_id: MessageSource.FOLLOW_UP for queued in queues.follow_ups}
    waiting |= {said.message_id: said.source for said in passage.said if isinstance(said, UserMessage)}
    found = waiting.get(event.message_id, wanted)
    return None if found is wanted else f"{event.message_id} was said as {wanted.value} and became {found.value}"


def _queued(state: State) -> tuple[str, ...]:
    queues = state.queues
    return tuple(queued.message_id for queued in (*queues.steering, *queues.follow_ups))


def _notices(state: State) -> set[str]:
    return {queued.message_id for queued in state.queues.notices}


def _delivered(said: tuple[Message, ...], sources: tuple[MessageSource, ...]) -> Iterator[str]:
    messages = (message for message in said if isinstance(message, UserMessage) and message.source in sources)
    return (message.message_id for message in messages)


Attempts = frozenset[Key]
"""Attempts whose usage was counted."""


def usage_counts_once(counted: Attempts, passage: Passage) -> tuple[Attempts, str | None]:
    """Each attempt's usage (model, compaction, child) is counted at most once.

    What a session has consumed changes only by an event that names an attempt, by exactly what that event says, and
    only
    the first time for that attempt. What the turn has consumed changes by as much, or, for a task that belongs to no
    turn,
    not at all.
    """
    before, after, event = passage.before, passage.after, passage.event
    if before.usage is after.usage or before.usage == after.usage:
        return counted, None
    key, usage = answered_key(event), getattr(event, "usage", Usage())
    if key is None:
        return counted, f"{type(event).__name__} names no attempt, but usage was counted"
    if key in counted:
        return counted, f"the usage of {key.name} {key.id} (epoch {key.epoch}, attempt {key.attempt}) was counted twice"
    if after.usage != before.usage + usage:
        return counted, f"usage went from {before.usage} to {after.usage} by an event with {usage}"
    if after.turn.number == before.turn.number and after.turn.usage not in (
        before.turn.usage,
        before.turn.usage + usage,
    ):
        return counted, f"usage of the turn went from {before.turn.usage} to {after.turn.usage}"
    return counted | {key}, None


def still_answering(counted: Attempts, state: State) -> object:
    """Return the counted attempts of units that can still be heard of: the present step, open calls."""
    epoch = state.epoch
    return frozenset(
        (key.name, key.id, epoch - key.epoch, _minted(state, key) - key.attempt)
        for key in counted
        if key.id == state.request_id or find_call(state, key.id) is not None
    )


def _minted(state: State, key: Key) -> int:
    return last_minted(state, key.name, key.id) or 0


L16 = Law("L16", words(usage_counts_once), monitor=Monitor(frozenset(), usage_counts_once, still_answering))
