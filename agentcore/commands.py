"""Orders to interpreters: small values, each with a key, none with messages in it.

1. The key is (name, id, epoch, attempt). Commands are told apart by key alone, and a key that left ``outstanding``
   never comes back: numbers only grow, and the epoch counts the resumes.
2. Who performs a command answers with one of its ``ANSWERS`` and names the whole key. The first class of each row is
   the
   failure event, which an engine gives for an interpreter that broke or stays silent.
3. ``RecordRejection`` is the one command that is never outstanding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import attrs

from agentcore import events
from agentcore.events import CompactionPurpose, Event, Inspector
from agentcore.rejections import Rejection


class Key(NamedTuple):
    """The identity of a command."""

    name: str
    """Tag of the command, kebab-case."""
    id: str
    """What it is about."""
    epoch: int
    """Number of resumes when it was ordered."""
    attempt: int
    """Which try it is; grows within an id."""


def tag_of(kind: type[Any]) -> str:
    """Return the kebab-case tag of a class: ``RequestModel`` is ``request-model``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", kind.__name__).lower()


@attrs.frozen
class PrepareStep:
    """Let the host prepare a step: instruction files, tool lists, model settings."""

    request_id: str
    """The step."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key."""


@attrs.frozen
class RequestModel:
    """Send the request; its messages come from ``request_messages(state, request_id)``."""

    request_id: str
    """The request."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key."""


@attrs.frozen
class CancelModel:
    """End a request and say what had come of it."""

    request_id: str
    """The request."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key: the attempt that is to end."""


@attrs.frozen
class EvaluatePolicy:
    """Validate a call's arguments and apply hooks and rules."""

    call_id: str
    """The call."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key."""


@attrs.frozen
class AskApproval:
    """Ask a person about exactly the arguments of this digest."""

    call_id: str
    """The call."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key."""
    digest: str
    """SHA-256 of the arguments that would run."""
    reason: str = ""
    """Why a person is asked."""


@attrs.frozen
class ExecuteTool:
    """Run a call that stands in the state; at most once per key."""

    call_id: str
    """The call."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key."""


@attrs.frozen
class CancelTool:
    """Tell a running attempt to stop, and answer for the attempt how it ended."""

    call_id: str
    """The call."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key: number of the cancel."""
    execution: tuple[int, int]
    """Epoch and attempt of the execution that is to stop."""


@attrs.frozen
class InspectEffect:
    """Find out what became of an effect, by a program or by a person."""

    call_id: str
    """The call or task."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key: number of the inspection."""
    by: Inspector
    """Who looks."""
    execution: tuple[int, int]
    """Epoch and attempt of the execution that is asked about."""


@attrs.frozen
class PersistCheckpoint:
    """Make every event up to ``seq`` durable."""

    seq: int
    """The newest event."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key."""


@attrs.frozen
class CompactContext:
    """Make the context of a request smaller."""

    request_id: str
    """The step it is for."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key."""
    purpose: CompactionPurpose
    """Why."""


@attrs.frozen
class ReviewCompletion:
    """Ask the host whether the turn may end with this answer."""

    request_id: str
    """The step of the answer."""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key."""


@attrs.frozen
class StartTimer:
    """Fire at a due time."""

    timer_id: str
    """What it is for: ``deadline/1.1.0`` …"""
    epoch: int
    """Part of the key."""
    attempt: int
    """Part of the key."""
    due_at: int
    """Milliseconds since the Unix epoch, fixed when the wait began."""
    jitter_max_ms: int = 0
    """What may be added, in milliseconds."""


@attrs.frozen
class RecordRejection:
    """Keep a refused event beside the journal."""

    rejection: Rejection
    """Why it was refused."""
    at: int
    """When the event was stamped, in milliseconds."""


Command = (
    PrepareStep
    | RequestModel
    | CancelModel
    | EvaluatePolicy
    | AskApproval
    | ExecuteTool
    | CancelTool
    | InspectEffect
    | PersistCheckpoint
    | CompactContext
    | ReviewCompletion
    | StartTimer
    | RecordRejection
)
"""The closed union of everything ``reduce`` can order."""

COMMANDS: tuple[type[Command], ...] = Command.__args__
"""Classes of all commands."""

TAGS: Mapping[type[Command], str] = {kind: tag_of(kind) for kind in COMMANDS}
"""Tag of each command as it stands on disk, in logs and in scenario files."""


def key_of(command: Command) -> Key:
    """Return the identity of a command; a rejection is identified by its event and time and never outstanding."""
    kind = type(command)
    if isinstance(command, RecordRejection):
        return Key(TAGS[kind], command.rejection.event, 0, command.at)
    return Key(TAGS[kind], str(getattr(command, _SUBJECTS[kind])), command.epoch, command.attempt)


def _subject(kind: type[Command]) -> str:
    """Return the field of a command that says what it is about."""
    names = {field.name for field in attrs.fields(kind)}
    return next(name for name in ("call_id", "request_id", "timer_id", "seq") if name in names)


_SUBJECTS: Mapping[type[Command], str] = {kind: _subject(kind) for kind in COMMANDS if kind is not RecordRejection}
"""Of each command that can be outstanding, the field whose value is the id of its key."""


ANSWERS: Mapping[type[Command], tuple[type[Event], ...]] = {
    PrepareStep: (events.PreparationFailed, events.StepPrepared),
    RequestModel: (events.ModelFailed, events.ModelStreamOpened, events.ModelReplied),
    CancelModel: (events.ModelStopped,),
    EvaluatePolicy: (events.PolicyBlocked, events.PolicyAllowed, events.PolicyAsked, events.ArgumentsRefused),
    AskApproval: (events.ApprovalDenied, events.ApprovalGranted),
    ExecuteTool: (
        events.ToolLost,
        events.ToolStarted,
        events.ToolProgressed,
        events.ToolSucceeded,
        events.ToolFailed,
        events.TaskStarted,
        events.TaskSettled,
    ),
    CancelTool: (events.ToolCancelled,),
    InspectEffect: (events.EffectInspected, events.EffectResolved),
    PersistCheckpoint: (events.CheckpointFailed, events.CheckpointWritten),
    CompactContext: (events.CompactionFailed, events.ContextCompacted),
    ReviewCompletion: (events.CompletionAccepted, events.CompletionRefused),
    StartTimer: (events.TimerFired,),
    RecordRejection: (),
}
"""Which events answer a command; the first is given for a failure, where a command can fail."""
