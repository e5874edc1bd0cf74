"""Messages and their parts: what a model is sent and what it answers.

Provider metadata (signatures, encrypted reasoning, cache hints) is canonical JSON text that is carried verbatim and
never interpreted here (G-14). Ids: a call's identity is ``turn.step.index``, minted by the reducer; the provider's id
is an attribute used only on the wire (G-1).
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from agentcore.messages.outcomes import Outcome


class MessageSource(StrEnum):
    """Where a message of the user's side comes from."""

    PROMPT = "prompt"
    FOLLOW_UP = "follow-up"
    STEERING = "steering"
    NOTICE = "notice"
    NUDGE = "nudge"
    FEEDBACK = "feedback"


class FinishReason(StrEnum):
    """Why the model says it stopped; a label to be doubted, kept beside what the content shows (R-086)."""

    STOP = "stop"
    TOOL_CALLS = "tool-calls"
    LENGTH = "length"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content-filter"
    PAUSE = "pause"
    UNKNOWN = "unknown"


@attrs.frozen
class TextPart:
    """Text meant to be read."""

    text: str
    """The words."""
    metadata: str = ""
    """Provider metadata, canonical JSON, carried verbatim."""


@attrs.frozen
class ReasoningPart:
    """The model's thinking, replayed to the same model and shown only where a host wants it."""

    text: str
    """The words, possibly empty where the provider encrypts them."""
    metadata: str = ""
    """Signature or encrypted content, canonical JSON, carried verbatim."""


@attrs.frozen
class MediaPart:
    """An image, a sound or a file."""

    media_type: str
    """IANA media type."""
    data: str
    """Base64 content, or an address if it starts with a scheme."""
    name: str = ""
    """File name for people."""
    metadata: str = ""
    """Provider metadata, canonical JSON, carried verbatim."""


@attrs.frozen
class ToolCallPart:
    """One call the model asks for."""

    provider_id: str
    """The provider's id of it; an attribute of the wire, not an identity."""
    name: str
    """The tool asked for."""
    arguments: str
    """Raw argument text as the model wrote it."""
    provider_executed: bool = False
    """The provider ran it itself: replayed, never run here (R-087)."""
    metadata: str = ""
    """Provider metadata, canonical JSON, carried verbatim."""


@attrs.frozen
class OpaquePart:
    """Something only the provider understands, replayed to it verbatim."""

    metadata: str
    """The part, canonical JSON."""


UserPart = TextPart | MediaPart
"""What a message of the user's side is made of."""
AssistantPart = TextPart | ReasoningPart | MediaPart | ToolCallPart | OpaquePart
"""What a message of the model is made of."""


@attrs.frozen
class UserMessage:
    """Words from the user's side, or a notice or nudge of the loop itself."""

    message_id: str
    """Minted by the client, or by the reducer for notices and nudges; unique in a session."""
    source: MessageSource
    """Where it comes from."""
    parts: tuple[UserPart, ...]
    """Its content."""


@attrs.frozen
class AssistantMessage:
    """One assembled answer of the model."""

    request_id: str
    """``turn.step`` of the request it answers."""
    epoch: int
    """Epoch of that request's attempt."""
    attempt: int
    """Which attempt of the request it answers."""
    parts: tuple[AssistantPart, ...]
    """Its content in the order of the model; a duplicate call is already dropped."""
    finish: FinishReason = FinishReason.STOP
    """The label it came with."""
    interrupted: bool = False
    """The turn was being stopped: text kept, calls dropped."""
    model: str = ""
    """Which model answered."""
    metadata: str = ""
    """Provider metadata, canonical JSON, carried verbatim."""

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        """The calls to be run here, in source order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCallPart) and not part.provider_executed)

    @property
    def text(self) -> str:
        """All text parts joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


@attrs.frozen
class ToolResult:
    """The one answer to one call."""

    call_id: str
    """``turn.step.index``."""
    provider_id: str
    """The id the provider pairs it by."""
    name: str
    """The tool that was asked for."""
    content: str
    """What the model reads."""
    outcome: Outcome
    """What really happened, with its evidence."""
    arguments: str = ""
    """The arguments that ran, canonical JSON; empty if none did."""
    epoch: int = 0
    """Epoch of the attempt that ended it."""
    attempt: int = 0
    """The execution that ended it; 0 if none was started."""


@attrs.frozen
class ToolMessage:
    """The results of one batch, in source order, directly behind the message that asked for them."""

    request_id: str
    """``turn.step`` of that message."""
    results: tuple[ToolResult, ...]
    """One for each call."""


Message = UserMessage | AssistantMessage | ToolMessage
"""What a history is made of."""
