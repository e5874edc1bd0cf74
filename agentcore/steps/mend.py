"""Mending a history that was not written by this engine, once, when it is taken in (D-35).

Each call without a result gets one that says so; each result without a call, and each second call of one provider
id, is set aside and
named. The outcome is valid for every provider, and mending it again changes nothing.
"""

from __future__ import annotations

import attrs
from attrs import evolve

from agentcore.messages import (
    Abandoned,
    AssistantMessage,
    AssistantPart,
    Message,
    ToolCallPart,
    ToolMessage,
    ToolResult,
)

INTERRUPTED = "Interrupted: no result of this call was recorded; its effect may have happened."
"""What stands for a missing result."""


@attrs.frozen
class Mended:
    """A history in which every call has exactly one result, directly behind its message, in source order."""

    messages: tuple[Message, ...]
    """The mended messages."""
    steps: int
    """How many assistant messages there are: the steps of the imported turn."""
    answered: tuple[str, ...]
    """Provider ids of calls that got a result made here."""
    set_aside: tuple[str, ...]
    """Provider ids of results without a call, and of doubled calls."""


def mend(messages: tuple[Message, ...], turn: int) -> Mended:
    """Mend an imported history, giving its steps and calls ids of the given turn."""
    kept: list[Message] = []
    answered: list[str] = []
    set_aside: list[str] = []
    steps = 0
    behind = (*messages[1:], None) if messages else ()
    for message, following in zip(messages, behind, strict=True):
        if isinstance(message, ToolMessage):
            continue
        if not isinstance(message, AssistantMessage):
            kept.append(message)
            continue
        steps += 1
        given = _results_behind(following)
        own, doubles = _unique_calls(message, f"{turn}.{steps}")
        kept.append(own)
        set_aside.extend(doubles)
        if own.calls:
            results, missing = _pair(own, given)
            kept.append(ToolMessage(own.request_id, results))
            answered.extend(missing)
    set_aside.extend(_orphans(messages))
    return Mended(tuple(kept), steps, tuple(answered), tuple(set_aside))


def _results_behind(following: Message | None) -> dict[str, ToolResult]:
    """Return the first result of each provider id in the message directly behind."""
    results: dict[str, ToolResult] = {}
    for result in following.results if isinstance(following, ToolMessage) else ():
        results.setdefault(result.provider_id, result)
    return results


def _unique_calls(message: AssistantMessage, request_id: str) -> tuple[AssistantMessage, tuple[str, ...]]:
    """Drop the second call of one provider id: no provider takes it."""
    parts: list[AssistantPart] = []
    seen: set[str] = set()
    doubles = []
    for part in message.parts:
        if isinstance(part, ToolCallPart) and not part.provider_executed:
            if part.provider_id in seen:
                doubles.append(part.provider_id)
                continue
            seen.add(part.provider_id)
        parts.append(part)
    return evolve(message, request_id=request_id, epoch=0, attempt=0, parts=tuple(parts)), tuple(doubles)


def _pair(message: AssistantMessage, given: dict[str, ToolResult]) -> tuple[tuple[ToolResult, ...], tuple[str, ...]]:
    """Give each call its result, in source order."""
    results = []
    missing = []
    for index, part in enumerate(message.calls):
        call_id = f"{message.request_id}.{index}"
        found = given.get(part.provider_id)
        if found is None:
            missing.append(part.provider_id)
            outcome = Abandoned("import")
            found = ToolResult(call_id, part.provider_id, part.name, INTERRUPTED, outcome)
        results.append(evolve(found, call_id=call_id, name=part.name))
    return tuple(results), tuple(missing)


def _orphans(messages: tuple[Message, ...]) -> list[str]:
    """Name the results that answer no call of the message directly before them, or answer it twice."""
    orphans = []
    before: Message | None = None
    for message in messages:
        if isinstance(message, ToolMessage):
            wanted = {part.provider_id for part in before.calls} if isinstance(before, AssistantMessage) else set()
            for result in message.results:
                if result.provider_id in wanted:
                    wanted.discard(result.provider_id)
                else:
                    orphans.append(result.provider_id)
        before = message
    return orphans
