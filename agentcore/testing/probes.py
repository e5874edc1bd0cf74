"""Events that must change nothing: repeated ones, late ones, and ones that fit nothing.

``foreign_events`` has one of every class that names an id, with an id that was never minted. ``late_events`` has, for
everything that is outstanding, answers that name an earlier attempt, an earlier epoch, one not yet minted, and a step
and turn that are over. What really happened on a path is repeated by whoever knows the path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from agentcore import events
from agentcore.commands import Command
from agentcore.events import EVENTS, Event
from agentcore.messages import EffectSeen
from agentcore.states import State
from agentcore.testing.answers import failing

FOREIGN_CALL, FOREIGN_REQUEST = "99.1.0", "99.1"
"""Ids that no session here ever minted."""

_REQUIRED: dict[str, Any] = {
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


def an_event(kind: type[Event], at: int, /, **said: Any) -> Event:
    """Build an event of a class; fields that are not given have their default or a value that fits nothing."""
    for field in attrs.fields(kind):
        if field.name not in said and field.default is attrs.NOTHING and field.name != "at":
            said[field.name] = _REQUIRED[field.name]
    return kind(at=at, **said)


def foreign_events(state: State) -> Iterator[Event]:
    """Yield one event of every class that names something, naming what was never minted."""
    for kind in EVENTS:
        if kind not in _OTHERWISE:
            yield an_event(kind, state.at)
    yield events.AbortRequested(at=state.at, act_id="foreign", scope=events.AbortScope.TURN, turn=state.turn.number + 1)
    yield events.AbortRequested(at=state.at, act_id="foreign", scope=events.AbortScope.CALL, call_id=FOREIGN_CALL)


def late_events(state: State, outstanding: tuple[Command, ...]) -> Iterator[Event]:
    """Yield answers to what is outstanding that name another attempt, epoch, step or turn than the one that is awaited."""
    for command in outstanding:
        event: Any = failing(command, state.at)
        if event is None or not hasattr(event, "epoch"):
            continue
        yield attrs.evolve(event, attempt=event.attempt - 1)
        yield attrs.evolve(event, attempt=event.attempt + 1)
        yield attrs.evolve(event, epoch=event.epoch - 1)
        if hasattr(event, "request_id"):
            turn, step = state.turn.number, state.turn.step
            yield attrs.evolve(event, request_id=f"{turn}.{step - 1}")
            yield attrs.evolve(event, request_id=f"{turn - 1}.{step}")
