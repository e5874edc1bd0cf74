"""Events around a model request: preparation, stream, reply, failure, compaction, review of a completion.

Each answers a command and names its whole key: id, epoch, attempt. Text deltas are views and never come here (D-24).
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from agentcore.messages import AssistantPart, FinishReason, TextPart, Usage
from agentcore.policy import ModelSettings


@attrs.frozen(kw_only=True)
class StepPrepared:
    """The host prepared the step."""

    at: int
    """When, in milliseconds."""
    request_id: str
    """The step."""
    epoch: int
    """Epoch of the order."""
    attempt: int
    """Number of the order."""
    settings: ModelSettings | None = None
    """Model settings from this step on; ``None`` keeps them."""


@attrs.frozen(kw_only=True)
class PreparationFailed:
    """The host could not prepare the step."""

    at: int
    """When, in milliseconds."""
    request_id: str
    """The step."""
    epoch: int
    """Epoch of the order."""
    attempt: int
    """Number of the order."""
    reason: str
    """Why."""


@attrs.frozen(kw_only=True)
class ModelStreamOpened:
    """The first byte of an answer came."""

    at: int
    """When, in milliseconds."""
    request_id: str
    """The request."""
    epoch: int
    """Epoch of its attempt."""
    attempt: int
    """Its attempt."""


@attrs.frozen(kw_only=True)
class ModelReplied:
    """The model's answer is complete and assembled."""

    at: int
    """When, in milliseconds."""
    request_id: str
    """The request."""
    epoch: int
    """Epoch of its attempt."""
    attempt: int
    """Its attempt."""
    parts: tuple[AssistantPart, ...]
    """Content in the model's order."""
    finish: FinishReason = FinishReason.STOP
    """The label it came with."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed."""
    model: str = ""
    """Which model answered."""
    metadata: str = ""
    """Provider metadata, canonical JSON."""


class ModelFailure(StrEnum):
    """What kind of failure a request met."""

    RETRYABLE = "retryable"
    OVERFLOW = "overflow"
    MEDIA_TOO_LARGE = "media-too-large"
    FATAL = "fatal"


@attrs.frozen(kw_only=True)
class ModelFailed:
    """A request ended without a usable message."""

    at: int
    """When, in milliseconds."""
    request_id: str
    """The request."""
    epoch: int
    """Epoch of its attempt."""
    attempt: int
    """Its attempt."""
    kind: ModelFailure
    """What may be done about it."""
    message: str
    """Cause in words."""
    status: int | None = None
    """HTTP status, if there was one."""
    code: str = ""
    """The provider's code, or ours: rate-limited, overloaded, quota, truncated-stream …"""
    retry_after_ms: int | None = None
    """How long the server asks to wait, in milliseconds."""
    output_shown: bool = False
    """Text had already been shown; it is withdrawn by a view."""
    usage: Usage = attrs.field(factory=Usage)
    """What the attempt consumed."""


@attrs.frozen(kw_only=True)
class ModelStopped:
    """A cancelled request is confirmed to have ended."""

    at: int
    """When, in milliseconds."""
    request_id: str
    """The request."""
    epoch: int
    """Epoch of its attempt."""
    attempt: int
    """Its attempt (of the request, not of the cancel)."""
    parts: tuple[TextPart, ...] = ()
    """What had been received."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed."""


class CompactionPurpose(StrEnum):
    """Why the context is made smaller."""

    THRESHOLD = "threshold"
    OVERFLOW = "overflow"
    MEDIA = "media"


@attrs.frozen(kw_only=True)
class ContextCompacted:
    """The context was made smaller; one that did not get smaller has failed (G-8)."""

    at: int
    """When, in milliseconds."""
    request_id: str
    """The step it was for."""
    epoch: int
    """Epoch of the order."""
    attempt: int
    """Number of the order."""
    purpose: CompactionPurpose
    """Why."""
    covers_to: int
    """History position up to which the summary speaks; must not part calls from their results."""
    summary: str
    """What stands for the covered messages."""
    tokens_before: int
    """Size before, in tokens."""
    tokens_after: int
    """Size after, in tokens."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed."""


@attrs.frozen(kw_only=True)
class CompactionFailed:
    """The context could not be made smaller."""

    at: int
    """When, in milliseconds."""
    request_id: str
    """The step it was for."""
    epoch: int
    """Epoch of the order."""
    attempt: int
    """Number of the order."""
    reason: str
    """Why."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed."""


@attrs.frozen(kw_only=True)
class CompletionAccepted:
    """The review lets the turn end."""

    at: int
    """When, in milliseconds."""
    request_id: str
    """The step whose answer was reviewed."""
    epoch: int
    """Epoch of the review."""
    attempt: int
    """Number of the review."""
    warning: str = ""
    """Anything to be said with it; ``review-failed`` where the review itself broke."""


@attrs.frozen(kw_only=True)
class CompletionRefused:
    """The review wants the work to go on."""

    at: int
    """When, in milliseconds."""
    request_id: str
    """The step whose answer was reviewed."""
    epoch: int
    """Epoch of the review."""
    attempt: int
    """Number of the review."""
    feedback: str
    """What is missing; shown to the model."""
