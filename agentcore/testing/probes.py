"""Events that nobody honest would send here: late ones, ones that fit nothing, ones that do not belong.

``foreign_events`` has one of every class that names an id, with an id that was never minted. ``late_events`` has, for
everything that is outstanding, answers that name an earlier attempt, an earlier epoch, one not yet minted, and a step
and turn that are over. What really happened on a path is repeated by whoever knows the path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import attrs

from agentcore import events
from agentcore.commands import TAGS, Command, ExecuteTool, InspectEffect, RequestModel
from agentcore.events import EVENTS, Event
from agentcore.evolve import evolve
from agentcore.messages import EffectSeen, TextPart, ToolMessage
from agentcore.outstanding import outstanding
from agentcore.states import Call, Proposed, State
from agentcore.testing.answers import ANSWERED, failing, names
from agentcore.testing.numbers import last_minted
from agentcore.testing.passage import all_calls, find_call

FOREIGN_CALL, FOREIGN_REQUEST = "99.1.0", "99.1"
"""Ids that no session here ever minted."""

_REQUIRED: Mapping[str, Any] = {
    "message_id": "nobody",
    "parts": (),
    "act_id": "",
    "scope": events.AbortScope.TURN,
    "call_id": FOREIGN_CALL,
    "request_id": FOREIGN_REQUEST,
    "epoch": 0,
    "attempt": 1,
    "arguments": "{}",
    "digest": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    "resolution": events.Resolution.FAILED,
    "reason": "because",
    "kind": events.ModelFailure.RETRYABLE,
    "message": "broke",
    "purpose": events.CompactionPurpose.OVERFLOW,
    "covers_to": 0,
    "summary": "before",
    "tokens_before": 2,
    "tokens_after": 1,
    "feedback": "more",
    "seq": 1 << 40,
    "timer_id": f"deadline/{FOREIGN_CALL}",
    "rule": "none",
    "problem": "none",
    "observation": "seen",
    "result": "done",
    "error": "broke",
    "effect": EffectSeen.NONE,
    "cause": "lost",
    "handle": "h",
    "succeeded": True,
    "finding": events.Finding.EXECUTED,
    "messages": (),
}
"""A value for each field that has no default."""


def _owed(field: attrs.Attribute[Any]) -> bool:
    return field.default is attrs.NOTHING and field.name in _REQUIRED


_OTHERWISE: tuple[type[Event], ...] = (
    events.PromptSubmitted,
    events.SteeringQueued,
    events.FollowUpQueued,
    events.AbortRequested,
    events.SessionReopened,
    events.SessionResumed,
    events.HistoryImported,
    events.HistoryCleared,
    events.ConfigChanged,
)
"""Events that name nothing that must have been minted before."""


_GIVEN: Mapping[type[Event], Mapping[str, Any]] = {
    kind: {
        field.name: _REQUIRED[field.name] for field in attrs.fields(kind) if field.name in _REQUIRED and _owed(field)
    }
    for kind in EVENTS
}
"""Of each class the values that it is built with, unless told otherwise."""


def an_event(kind: type[Event], at: int, /, **said: Any) -> Event:
    """Build an event of a class; fields that are not given have their default or a value that fits nothing."""
    return kind(at=at, **{**_GIVEN[kind], **said})


def foreign_events(state: State) -> tuple[Event, ...]:
    """Return one event of every class that names something, naming what was never minted."""
    return _foreign(state.at, state.turn.number + 1)


@lru_cache(maxsize=256)
def _foreign(at: int, turn: int) -> tuple[Event, ...]:
    return (
        *(an_event(kind, at) for kind in EVENTS if kind not in _OTHERWISE),
        events.AbortRequested(at=at, act_id="foreign", scope=events.AbortScope.TURN, turn=turn),
        events.AbortRequested(at=at, act_id="foreign", scope=events.AbortScope.CALL, call_id=FOREIGN_CALL),
    )


def late_events(state: State, outstanding: tuple[Command, ...]) -> Iterator[Event]:
    """Yield answers to what is outstanding that name another attempt, epoch, step or turn than the awaited one."""
    for command in outstanding:
        for event in _answers_to(command, state.at):
            yield evolve(event, attempt=event.attempt - 1)
            yield evolve(event, attempt=event.attempt + 1)
            yield evolve(event, epoch=event.epoch - 1)
            if hasattr(event, "request_id"):
                turn, step = state.turn.number, state.turn.step
                yield evolve(event, request_id=f"{turn}.{step - 1}")
                yield evolve(event, request_id=f"{turn - 1}.{step}")


def _answers_to(command: Command, at: int) -> Iterator[Any]:
    """Yield the failure of a command, and its success where that is what matters most."""
    event = failing(command, at)
    if event is not None and hasattr(event, "epoch"):
        yield event
    success = _SUCCESSES.get(type(command))
    if success is not None:
        yield an_event(success, at, **{name: held for name, held in names(command, at).items() if name != "at"})


_SUCCESSES: Mapping[type[Command], type[Event]] = {
    ExecuteTool: events.ToolSucceeded,
    InspectEffect: events.EffectInspected,
    RequestModel: events.ModelReplied,
}
"""What would be taken for the end of the matter if it were believed."""


def own_events(state: State) -> Iterator[Event]:
    """Yield one event of every class for each thing it can be about: the present step, every call, the last result.

    It names what was minted last, and says what has a default or means nothing: most of these are refused, each with
    the reason that belongs to its state.
    """
    at = state.at
    subjects = [call.call_id for call in all_calls(state)]
    written = next((message for message in reversed(state.history.tail) if isinstance(message, ToolMessage)), None)
    subjects += [result.call_id for result in written.results] if written is not None else []
    runs = {subject: find_call(state, subject) for subject in dict.fromkeys(subjects)}
    for kind, about, numbered in _ABOUT:
        if about == "call_id":
            for subject, call in runs.items():
                said = _numbered(state, kind, subject, call) if numbered else {}
                yield an_event(kind, at, call_id=subject, **said)
        elif about == "request_id":
            said = _numbered(state, kind, state.request_id, None) if numbered else {}
            yield an_event(kind, at, request_id=state.request_id, **said)
        elif about == "seq":
            number = state.storage.attempt
            yield an_event(kind, at, seq=max(state.seq - 1, 0), epoch=state.epoch, attempt=number)
        elif about == "config":
            yield events.ConfigChanged(at=at, config=state.config)
        else:
            yield an_event(kind, at)
    yield from _pointed(state)
    yield events.MessageWithdrawn(at=at, message_id="prompt")
    yield events.PromptSubmitted(at=at, message_id="again", parts=(TextPart("And?"),))


def _about(kind: type[Event]) -> tuple[type[Event], str, bool]:
    """Say of a class by which field it names what it is about, and whether it names a number too."""
    names = {field.name for field in attrs.fields(kind)}
    about = next((name for name in ("call_id", "request_id", "seq", "config") if name in names), "")
    return kind, about, "attempt" in names


_ABOUT = tuple(_about(kind) for kind in EVENTS if kind is not events.SessionResumed)


def _numbered(state: State, kind: type[Event], subject: str, call: Call | None) -> dict[str, Any]:
    """Return the fields by which an event names the number that was minted last for its subject."""
    run = call.run if call is not None else None
    if kind in _OF_RUNS and run is not None:
        return {"epoch": run.epoch, "attempt": run.attempt}
    last = last_minted(state, TAGS[ANSWERED[kind]], subject)
    return {"epoch": state.epoch, "attempt": 1 if last is None else last}


def _pointed(state: State) -> Iterator[Event]:
    """Yield what only makes sense here: earlier attempts, false digests, what nobody asked, what is queued, a clock."""
    at = state.at
    for call in all_calls(state):
        for run in (*call.unproved[-1:], *call.voided[-1:]):
            for kind in _OF_RUNS:
                yield an_event(kind, at, call_id=call.call_id, epoch=run.epoch, attempt=run.attempt)
        yield from _unasked(state, call)
        if isinstance(call.state, Proposed):
            named = {"call_id": call.call_id, "epoch": state.epoch, "attempt": call.tries.reviews}
            yield an_event(events.PolicyAllowed, at, digest="false", **named)
    for queued in (*state.queues.steering, *state.queues.follow_ups):
        yield events.MessageWithdrawn(at=at, message_id=queued.message_id)
    if state.turn.due_at is not None:
        late, number = max(at, state.turn.due_at), state.turn.number
        yield events.SteeringQueued(at=late, message_id="late", parts=(TextPart("Still there?"),))
        yield events.AbortRequested(at=late, act_id="late", scope=events.AbortScope.AFTER_STEP, turn=number)
        for command in outstanding(state):
            answer = failing(command, late)
            if answer is not None:
                yield answer


def _unasked(state: State, call: Call) -> Iterator[Event]:
    """Yield decisions about a call under numbers that nobody asked under."""
    tries, named = call.tries, {"call_id": call.call_id, "epoch": state.epoch}
    yield an_event(events.PolicyAllowed, state.at, attempt=tries.reviews + 1, **named)
    yield an_event(events.ApprovalGranted, state.at, attempt=tries.questions + 1, **named)


_OF_RUNS: tuple[type[Event], ...] = (
    events.ToolStarted,
    events.ToolProgressed,
    events.ToolSucceeded,
    events.ToolFailed,
    events.ToolCancelled,
    events.ToolLost,
    events.TaskStarted,
    events.TaskSettled,
)
"""Events that name an execution, which may be of an earlier epoch."""
