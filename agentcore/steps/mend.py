"""Mending a history that was not written by this engine, once, when it is taken in (D-35).

Each call without a result gets one that says so; each result without a call, and each second call of one provider id,
is set aside and named. The outcome is valid for every provider, and mending it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from agentcore.evolve import evolve
from agentcore.messages import (
    Abandoned,
    AssistantMessage,
    IdSet,
    Message,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agentcore.steps.sendable import says_something, sendable

INTERRUPTED = "Interrupted: no result of this call was recorded; its effect may have happened."
"""What stands for a missing result."""


@attrs.frozen
class Mended:
    """A history in which every call has exactly one result, directly behind its message, in source order."""

    messages: tuple[Message, ...]
    """The mended messages."""
    known: IdSet
    """Ids of all messages seen, these included."""
    steps: int
    """How many assistant messages there are: the steps of the imported turn."""
    answered: tuple[str, ...]
    """Provider ids of calls that got a result made here."""
    set_aside: tuple[str, ...]
    """Ids of results without a call, of doubled calls, and of messages that were known before."""


def mend(messages: tuple[Message, ...], turn: int, known: IdSet) -> Mended:
    """Mend an imported history, giving its steps and calls ids of the given turn."""
    kept: list[Message] = []
    answered: list[str] = []
    set_aside: list[str] = []
    steps = 0
    for message, results in _with_results(messages):
        if isinstance(message, UserMessage):
            if message.message_id in known:
                set_aside.append(message.message_id)
                continue
            known = known.add(message.message_id)
            kept.append(message)
        elif isinstance(message, AssistantMessage):
            request_id = f"{turn}.{steps + 1}"
            fit = sendable(message.parts, request_id)
            own = evolve(message, request_id=request_id, epoch=0, attempt=0, parts=fit.parts)
            if not says_something(own):
                set_aside += [message.request_id, *(result.provider_id for result in results)]
                continue
            steps += 1
            given, orphans = _first_of_each(own, results)
            kept.append(own)
            set_aside += (*fit.dropped, *orphans)
            if own.calls:
                paired, missing = _pair(own, given)
                kept.append(ToolMessage(own.request_id, paired))
                answered += missing
        else:
            set_aside += [result.provider_id for result in results]
    return Mended(tuple(kept), known, steps, tuple(answered), tuple(set_aside))


def _with_results(messages: tuple[Message, ...]) -> Iterator[tuple[Message, tuple[ToolResult, ...]]]:
    """Yield each message with the results directly behind it; some formats write one tool message for each result."""
    position = 0
    while position < len(messages):
        message = messages[position]
        first = position if isinstance(message, ToolMessage) else position + 1
        position = first
        results: list[ToolResult] = []
        while position < len(messages) and isinstance(behind := messages[position], ToolMessage):
            results += behind.results
            position += 1
        yield message, tuple(results)
        if not isinstance(message, AssistantMessage | ToolMessage):
            position = first


def _first_of_each(
    message: AssistantMessage, results: tuple[ToolResult, ...]
) -> tuple[dict[str, ToolResult], tuple[str, ...]]:
    """Return the first result of each call, and the ids of those that answer no call or answer one again."""
    wanted = {part.provider_id for part in message.calls}
    given: dict[str, ToolResult] = {}
    orphans = []
    for result in results:
        if result.provider_id in wanted and result.provider_id not in given:
            given[result.provider_id] = result
        else:
            orphans.append(result.provider_id)
    return given, tuple(orphans)


def _pair(message: AssistantMessage, given: Mapping[str, ToolResult]) -> tuple[tuple[ToolResult, ...], tuple[str, ...]]:
    """Give each call its result, in source order."""
    results = []
    missing = []
    for index, part in enumerate(message.calls):
        call_id = f"{message.request_id}.{index}"
        found = given.get(part.provider_id)
        if found is None:
            missing.append(part.provider_id)
            results.append(ToolResult(call_id, part.provider_id, part.name, INTERRUPTED, Abandoned("import")))
        else:
            results.append(evolve(found, call_id=call_id, name=part.name))
    return tuple(results), tuple(missing)
