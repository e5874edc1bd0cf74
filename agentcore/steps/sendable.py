"""Making a model's message fit to be sent back, whatever slip is in it: every request is valid by construction.

1. A second call of one provider id is dropped (G-2); a call without an id gets one of ours.
2. Arguments that are no JSON object stand as ``{}``: no provider takes them otherwise. What the model wrote is kept
   with the call and in the journal, and its result tells the model.
3. Our calls stand last: no provider takes text behind a call. What the provider ran itself stays where it is.
"""

from __future__ import annotations

import attrs

from agentcore.evolve import evolve
from agentcore.messages import (
    ArgumentsState,
    AssistantMessage,
    AssistantPart,
    MediaPart,
    OpaquePart,
    ToolCallPart,
    parse_arguments,
)


@attrs.frozen
class Sendable:
    """Parts that can be sent back, and what was done to make them so."""

    parts: tuple[AssistantPart, ...]
    """Everything but our calls in the model's order, then our calls in theirs."""
    raw: tuple[str, ...]
    """What the model wrote as arguments of each of our calls."""
    dropped: tuple[str, ...]
    """Provider ids of doubled calls."""


def sendable(parts: tuple[AssistantPart, ...], request_id: str) -> Sendable:
    """Mend the parts of one message; mending them again changes nothing."""
    others: list[AssistantPart] = []
    calls: list[ToolCallPart] = []
    raw: list[str] = []
    dropped: list[str] = []
    seen: set[str] = set()
    for part in parts:
        if not isinstance(part, ToolCallPart) or part.provider_executed:
            others.append(part)
            continue
        named = part.provider_id or f"call-{request_id}.{len(calls) + len(dropped)}"
        if named in seen:
            dropped.append(named)
            continue
        seen.add(named)
        raw.append(part.arguments)
        calls.append(evolve(part, provider_id=named, arguments=_arguments(part.arguments)))
    return Sendable((*others, *calls), tuple(raw), tuple(dropped))


def _arguments(raw: str) -> str:
    """Keep the text of a JSON object as it is, and nothing else."""
    return raw if raw.strip() and parse_arguments(raw).state is ArgumentsState.COMPLETE else "{}"


def says_something(message: AssistantMessage) -> bool:
    """Say whether there is anything for the user: text, media, or something only the provider understands."""
    lasting = any(isinstance(part, MediaPart | OpaquePart | ToolCallPart) for part in message.parts)
    return lasting or _visible(without_thinking(message.text))


def _visible(text: str) -> bool:
    """Say whether there is a letter to be seen: blanks and marks without width are none."""
    return any(letter.isprintable() and not letter.isspace() for letter in text)


_THINKING = (("<think>", "</think>"), ("<thinking>", "</thinking>"))


def without_thinking(text: str) -> str:
    """Take thinking that stands in the text, and closing tags that some models leave behind, out of it (R-092)."""
    for opening, closing in _THINKING:
        kept = []
        while (start := text.find(opening)) >= 0 and (end := text.find(closing, start)) >= 0:
            kept.append(text[:start])
            text = text[end + len(closing) :]
        text = "".join((*kept, text)).replace(closing, "")
    return text.strip()
