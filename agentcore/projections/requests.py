"""What a model is sent for a request: the window of the history, built anew from the state each time.

History is balanced and append-only, and a window never starts between calls and their results; so no request holds an
orphan, and nothing has to be repaired here. Turning a view into the bytes of a provider is the work of a wire adapter.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TypeVar

import attrs

from agentcore.evolve import evolve
from agentcore.messages import AssistantMessage, MediaPart, Message, TextPart, ToolMessage, UserMessage
from agentcore.policy import ModelSettings, ToolContract
from agentcore.states import State

Part = TypeVar("Part")


@attrs.frozen
class RequestView:
    """One model request, whole."""

    request_id: str
    """``turn.step``."""
    instructions: str
    """The system prompt."""
    summary: str
    """What stands for the messages before the window, or nothing."""
    messages: tuple[Message, ...]
    """Oldest first; every call is followed by its one result."""
    tools: tuple[ToolContract, ...]
    """The tools that may be asked for."""
    settings: ModelSettings
    """Model settings of this step."""


def request_messages(state: State, request_id: str) -> RequestView:
    """Return what the model is sent for a request; the cost grows with the window, not with the history.

    For the request that runs this is exact. For an earlier one, or one yet to come, it is what the present window and
    configuration show of it: nothing from the answer to that request on.
    """
    window, history = state.window, state.history
    shown = takewhile(lambda message: not _answers(message, request_id), history.since(max(window.start, 0)))
    messages = tuple(
        _without_media(message) if position < window.media_to else message
        for position, message in enumerate(shown, max(window.start, 0))
    )
    config = state.config
    return RequestView(request_id, config.instructions, window.summary, messages, config.tools, config.settings)


def _answers(message: Message, request_id: str) -> bool:
    return isinstance(message, AssistantMessage) and message.request_id == request_id


def _without_media(message: Message) -> Message:
    """Put a remark in the place of each medium that the provider found too large, or that was shown long ago."""
    if isinstance(message, ToolMessage):
        return message
    if not any(isinstance(part, MediaPart) for part in message.parts):
        return message
    if isinstance(message, UserMessage):
        return evolve(message, parts=tuple(_remark(part) for part in message.parts))
    return evolve(message, parts=tuple(_remark(part) for part in message.parts))


def _remark(part: Part) -> Part | TextPart:
    if not isinstance(part, MediaPart):
        return part
    name = f" {part.name!r}" if part.name else ""
    return TextPart(f"[{part.media_type}{name} was here; it is left out to make the context smaller]")
