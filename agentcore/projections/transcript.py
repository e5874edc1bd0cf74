"""The conversation as people read it: what was said, what was called and what came of it, what still waits.

Calls appear with their results, in source order; those of the running batch as far as they have come. Thinking is kept
apart from text, because only some hosts want to show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import attrs

from agentcore.commands import tag_of
from agentcore.messages import (
    AssistantMessage,
    MediaPart,
    MessageSource,
    Outcome,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResult,
    UserMessage,
    UserPart,
)
from agentcore.projections.calls import went_well
from agentcore.states import Batch, Call, Settled, State
from agentcore.steps.results import describe


class Speaker(StrEnum):
    """Who said something."""

    USER = "user"
    MODEL = "model"
    LOOP = "loop"


@attrs.frozen
class Said:
    """Something somebody said."""

    speaker: Speaker
    """Who."""
    id: str
    """Id of the message, or of the request that the model answered."""
    text: str
    """The words; each medium stands as its type and name in brackets."""
    source: MessageSource | None = None
    """How words of the user's side came in; ``None`` for the model's."""
    thinking: str = ""
    """What the model thought, where it told."""
    interrupted: bool = False
    """The turn was being stopped while this was said."""
    waiting: bool = False
    """It is queued and not yet delivered."""


@attrs.frozen
class Called:
    """A call, and how far it has come."""

    call_id: str
    """``turn.step.index``; empty where the provider ran it itself."""
    name: str
    """The tool asked for."""
    arguments: str
    """What ran, else what the model wrote."""
    standing: str
    """Kebab-case: the outcome if there is one, else the state of the call."""
    ok: bool | None = None
    """Whether it succeeded; ``None`` while it goes on, and where nobody can tell."""
    text: str = ""
    """What the model read, or reads so far."""


Entry = Said | Called
"""A line of the transcript."""

_LOOP = (MessageSource.NOTICE, MessageSource.NUDGE, MessageSource.FEEDBACK)


def transcript(state: State) -> tuple[Entry, ...]:
    """Return the whole conversation, oldest first; what is queued comes last."""
    return tuple(_entries(state))


def _entries(state: State) -> Iterator[Entry]:
    asked: AssistantMessage | None = None
    for message in state.history:
        match message:
            case UserMessage():
                yield _said(message.message_id, message.source, message.parts)
            case AssistantMessage():
                asked = message
                yield from _answer(message)
            case _:
                yield from (_called(result, asked) for result in message.results)
    if state.batch is not None:
        yield from _running(state.batch)
    queues = state.queues
    for queued in (*queues.notices, *queues.steering, *queues.follow_ups):
        yield attrs.evolve(_said(queued.message_id, queued.source, queued.parts), waiting=True)


def _said(message_id: str, source: MessageSource, parts: tuple[UserPart, ...]) -> Said:
    speaker = Speaker.LOOP if source in _LOOP else Speaker.USER
    return Said(speaker, message_id, "\n".join(_words(part) for part in parts), source)


def _words(part: TextPart | MediaPart) -> str:
    if isinstance(part, TextPart):
        return part.text
    return f"[{part.media_type}{f' {part.name}' if part.name else ''}]"


def _answer(message: AssistantMessage) -> Iterator[Entry]:
    text = "".join(_words(part) for part in message.parts if isinstance(part, TextPart | MediaPart))
    thinking = "\n".join(part.text for part in message.parts if isinstance(part, ReasoningPart) and part.text)
    if text or thinking:
        yield Said(Speaker.MODEL, message.request_id, text, None, thinking, message.interrupted)
    for part in message.parts:
        if isinstance(part, ToolCallPart) and part.provider_executed:
            yield Called("", part.name, part.arguments, "provider-executed")


def _called(result: ToolResult, asked: AssistantMessage | None) -> Called:
    written = {part.provider_id: part.arguments for part in asked.calls} if asked is not None else {}
    arguments = result.arguments or written.get(result.provider_id, "")
    return _ended(result.call_id, result.name, arguments, result.outcome, result.content)


def _ended(call_id: str, name: str, arguments: str, outcome: Outcome, text: str) -> Called:
    return Called(call_id, name, arguments, tag_of(type(outcome)), went_well(outcome), text)


def _running(batch: Batch) -> Iterator[Entry]:
    yield from _answer(batch.message)
    yield from (_standing(call) for call in batch.calls)


def _standing(call: Call) -> Called:
    arguments = call.arguments or call.raw_arguments
    if isinstance(call.state, Settled):
        return _ended(call.call_id, call.name, arguments, call.state.outcome, describe(call.state.outcome))
    return Called(call.call_id, call.name, arguments, tag_of(type(call.state)))
