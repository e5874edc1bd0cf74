"""Commands and the events that answer them: the key an event names, and the answer of somebody who has given up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from agentcore import events
from agentcore.commands import (
    ANSWERS,
    TAGS,
    AskApproval,
    CancelModel,
    CancelTool,
    Command,
    CompactContext,
    EvaluatePolicy,
    ExecuteTool,
    InspectEffect,
    Key,
    PersistCheckpoint,
    PrepareStep,
    RecordRejection,
    RequestModel,
    ReviewCompletion,
    StartTimer,
)
from agentcore.events import Event, Inspector

_OF_ANOTHER: Mapping[type[Event], type[Command]] = {
    events.ModelStopped: RequestModel,
    events.ToolCancelled: ExecuteTool,
}
"""Answers to a cancel speak of the unit that was to stop, not of the cancel."""

ANSWERED: Mapping[type[Event], type[Command]] = {
    **{answer: command for command, answers in ANSWERS.items() for answer in answers},
    **_OF_ANOTHER,
}
"""The command whose key an event names."""


def answered_key(event: Event) -> Key | None:
    """Return the key that an event names; ``None`` for what hosts say and for a person's word about an effect."""
    found = _NAMING.get(type(event))
    if found is None:
        return None
    said: Any = event
    name, subject = found
    return Key(name, str(getattr(said, subject)), said.epoch, said.attempt)


def _subject(kind: type[Event]) -> str:
    """Return the field of an answer that says what its command is about."""
    names = {field.name for field in attrs.fields(kind)}
    return next(name for name in ("seq", "timer_id", "call_id", "request_id") if name in names)


_NAMING: Mapping[type[Event], tuple[str, str]] = {
    kind: (TAGS[command], _subject(kind)) for kind, command in ANSWERED.items() if kind is not events.EffectResolved
}
"""Of each event that names a key, the tag of the command and the field with its subject."""


def failing(command: Command, at: int) -> Event | None:
    """Return the failure event of a command, as an engine gives it for an interpreter that broke.

    A cancel has none, its grace timer stands for it: that ``StartTimer`` and every other one fire. ``None`` for a
    cancel and for ``RecordRejection``.
    """
    answer = _FAILING.get(type(command))
    return answer(command, at) if answer is not None else None


def names(command: Any, at: int) -> dict[str, Any]:
    """Return the fields by which an answer names its command."""
    subject = "call_id" if hasattr(command, "call_id") else "request_id"
    return {"at": at, subject: getattr(command, subject), "epoch": command.epoch, "attempt": command.attempt}


def _uninspected(command: Any, at: int) -> Event:
    if command.by is Inspector.PERSON:
        gave_up = events.Resolution.ABANDONED
        return events.EffectResolved(at=at, call_id=command.call_id, resolution=gave_up, by="nobody")
    return events.EffectInspected(**names(command, at), finding=events.Finding.UNAVAILABLE)


def _unsaved(command: Any, at: int) -> Event:
    return events.CheckpointFailed(
        at=at, seq=command.seq, epoch=command.epoch, attempt=command.attempt, reason="no space left"
    )


def _due(command: Any, at: int) -> Event:
    return events.TimerFired(
        at=max(at, command.due_at), timer_id=command.timer_id, epoch=command.epoch, attempt=command.attempt
    )


_FAILING: Mapping[type[Command], Callable[[Any, int], Event]] = {
    PrepareStep: lambda command, at: events.PreparationFailed(**names(command, at), reason="hook broke"),
    RequestModel: lambda command, at: events.ModelFailed(
        **names(command, at), kind=events.ModelFailure.RETRYABLE, message="connection reset"
    ),
    EvaluatePolicy: lambda command, at: events.PolicyBlocked(
        **names(command, at), rule="policy-failed", reason="the rules could not be read"
    ),
    AskApproval: lambda command, at: events.ApprovalDenied(
        **names(command, at), kind=events.DenialKind.NOBODY, by="nobody"
    ),
    ExecuteTool: lambda command, at: events.ToolLost(**names(command, at), cause="connection reset"),
    InspectEffect: _uninspected,
    PersistCheckpoint: _unsaved,
    CompactContext: lambda command, at: events.CompactionFailed(**names(command, at), reason="model unreachable"),
    ReviewCompletion: lambda command, at: events.CompletionAccepted(**names(command, at), warning="review-failed"),
    StartTimer: _due,
}
"""The failure event of each command that has one; cancels and recorded rejections have none."""

assert _FAILING.keys() == set(ANSWERS) - {CancelModel, CancelTool, RecordRejection}
