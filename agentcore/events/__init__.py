"""Everything that can have happened: durable facts in the past tense, the only input of ``reduce``.

``host`` holds what people and hosts ask for; ``model``, ``tools`` and ``session`` hold what answers a command. An
event's id is
its seq, its position among the accepted events of its session.
"""

from __future__ import annotations

from agentcore.events.host import (
    AbortRequested,
    AbortScope,
    ApprovalDenied,
    ApprovalGranted,
    ConfigChanged,
    DamageKind,
    DenialKind,
    EffectResolved,
    FollowUpQueued,
    HistoryCleared,
    HistoryImported,
    InspectionRequested,
    MessageWithdrawn,
    PromptSubmitted,
    Recovery,
    Resolution,
    RetryRequested,
    SessionReopened,
    SessionResumed,
    SteeringQueued,
    Suspect,
)
from agentcore.events.model import (
    CompactionFailed,
    CompactionPurpose,
    CompletionAccepted,
    CompletionRefused,
    ContextCompacted,
    ModelFailed,
    ModelFailure,
    ModelReplied,
    ModelStopped,
    ModelStreamOpened,
    PreparationFailed,
    StepPrepared,
)
from agentcore.events.session import (
    CheckpointFailed,
    CheckpointWritten,
    TimerFired,
)
from agentcore.events.tools import (
    ArgumentsRefused,
    EffectInspected,
    Finding,
    Inspector,
    PolicyAllowed,
    PolicyAsked,
    PolicyBlocked,
    TaskSettled,
    TaskStarted,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)

HostEvent = (
    PromptSubmitted
    | SteeringQueued
    | FollowUpQueued
    | MessageWithdrawn
    | AbortRequested
    | ApprovalGranted
    | ApprovalDenied
    | InspectionRequested
    | RetryRequested
    | EffectResolved
    | SessionReopened
    | SessionResumed
    | HistoryImported
    | HistoryCleared
    | ConfigChanged
)
"""What a person or host may say at any time; three of them also answer a question."""

WorldEvent = (
    StepPrepared
    | PreparationFailed
    | ModelStreamOpened
    | ModelReplied
    | ModelFailed
    | ModelStopped
    | PolicyAllowed
    | PolicyBlocked
    | PolicyAsked
    | ArgumentsRefused
    | ToolStarted
    | ToolProgressed
    | ToolSucceeded
    | ToolFailed
    | ToolCancelled
    | ToolLost
    | TaskStarted
    | TaskSettled
    | EffectInspected
    | CheckpointWritten
    | CheckpointFailed
    | ContextCompacted
    | CompactionFailed
    | CompletionAccepted
    | CompletionRefused
    | TimerFired
)
"""What only answers a command."""

Event = HostEvent | WorldEvent
"""The closed union of everything that ``reduce`` takes."""

HOST_EVENTS: tuple[type[HostEvent], ...] = HostEvent.__args__
"""Classes of the host's events."""
WORLD_EVENTS: tuple[type[WorldEvent], ...] = WorldEvent.__args__
"""Classes of the world's events."""
EVENTS: tuple[type[Event], ...] = (*HOST_EVENTS, *WORLD_EVENTS)
"""Classes of all events."""

__all__ = [
    "EVENTS",
    "HOST_EVENTS",
    "WORLD_EVENTS",
    "AbortRequested",
    "AbortScope",
    "ApprovalDenied",
    "ApprovalGranted",
    "ArgumentsRefused",
    "CheckpointFailed",
    "CheckpointWritten",
    "CompactionFailed",
    "CompactionPurpose",
    "CompletionAccepted",
    "CompletionRefused",
    "ConfigChanged",
    "ContextCompacted",
    "DamageKind",
    "DenialKind",
    "EffectInspected",
    "EffectResolved",
    "Event",
    "Finding",
    "FollowUpQueued",
    "HistoryCleared",
    "HistoryImported",
    "HostEvent",
    "InspectionRequested",
    "Inspector",
    "MessageWithdrawn",
    "ModelFailed",
    "ModelFailure",
    "ModelReplied",
    "ModelStopped",
    "ModelStreamOpened",
    "PolicyAllowed",
    "PolicyAsked",
    "PolicyBlocked",
    "PreparationFailed",
    "PromptSubmitted",
    "Recovery",
    "Resolution",
    "RetryRequested",
    "SessionReopened",
    "SessionResumed",
    "SteeringQueued",
    "StepPrepared",
    "Suspect",
    "TaskSettled",
    "TaskStarted",
    "TimerFired",
    "ToolCancelled",
    "ToolFailed",
    "ToolLost",
    "ToolProgressed",
    "ToolStarted",
    "ToolSucceeded",
    "WorldEvent",
]
