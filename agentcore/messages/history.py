"""Append-only history, and a set of ids that only grows: both cheap to extend and to keep.

A tuple would be copied at every append, O(n) each. A tuple of full chunks behind a short tail costs O(1) amortised, is
immutable, and iterates as fast. The id set keeps frozen sets of doubling size, so that adding is O(log n) amortised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice

import attrs

from agentcore.messages.parts import AssistantMessage, Message, ToolMessage, ToolResult

CHUNK = 64
"""Messages in a full chunk."""


@attrs.frozen
class History:
    """Every message of a session, oldest first; never rewritten."""

    chunks: tuple[tuple[Message, ...], ...] = ()
    """Full chunks of ``CHUNK`` messages."""
    tail: tuple[Message, ...] = ()
    """The newest messages, fewer than ``CHUNK``."""

    def __len__(self) -> int:
        return len(self.chunks) * CHUNK + len(self.tail)

    def __iter__(self) -> Iterator[Message]:
        return chain(chain.from_iterable(self.chunks), self.tail)

    def __getitem__(self, index: int) -> Message:
        """Return the message at a position from 0; ``IndexError`` outside."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        chunk, place = divmod(index, CHUNK)
        return self.chunks[chunk][place] if chunk < len(self.chunks) else self.tail[place]

    def append(self, *messages: Message) -> History:
        """Return a history with the messages added at its end."""
        tail = self.tail + messages
        chunks = self.chunks
        while len(tail) >= CHUNK:
            chunks, tail = (*chunks, tail[:CHUNK]), tail[CHUNK:]
        return History(chunks, tail)

    def since(self, start: int) -> Iterator[Message]:
        """Iterate over the messages from a position on, skipping whole chunks."""
        chunk, place = divmod(start, CHUNK)
        return islice(chain(chain.from_iterable(self.chunks[chunk:]), self.tail), place, None)


def find_answer(history: History, request_id: str) -> AssistantMessage | None:
    """Return the model's message for a request of this session, in O(log n): steps only grow along a history."""
    position = _find(history, _order(request_id))
    message = history[position] if position is not None else None
    return message if isinstance(message, AssistantMessage) else None


def find_result(history: History, call_id: str) -> ToolResult | None:
    """Return the written result of a call of this session, or ``None``."""
    position = _find(history, _order(call_id.rpartition(".")[0]))
    if position is None or position + 1 >= len(history):
        return None
    message = history[position + 1]
    results = message.results if isinstance(message, ToolMessage) else ()
    return next((result for result in results if result.call_id == call_id), None)


_STEP = re.compile(r"([1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})")
_STEP_MAX = 37
"""Characters of the longest id that can be one of ours."""


def step_of(request_id: str) -> tuple[int, int] | None:
    """Return turn and step of an id that the reducer can have minted, else ``None``."""
    return _step_of(request_id) if len(request_id) <= _STEP_MAX else None


@lru_cache(maxsize=1024)
def _step_of(request_id: str) -> tuple[int, int] | None:
    found = _STEP.fullmatch(request_id)
    return (int(found[1]), int(found[2])) if found else None


def _order(request_id: str) -> tuple[int, ...]:
    """Order ids along a history; what is no id of ours sorts before every request."""
    return step_of(request_id) or ()


def _find(history: History, wanted: tuple[int, ...]) -> int | None:
    """Bisect for the assistant message of a request."""
    messages: Sequence[Message] | History = history if history.chunks else history.tail
    low, high = 0, len(messages)
    while low < high:
        middle = (low + high) // 2
        at = middle
        while at < high and not isinstance(messages[at], AssistantMessage):
            at += 1
        if at == high:
            high = middle
            continue
        message = messages[at]
        found = _order(message.request_id) if isinstance(message, AssistantMessage) else ()
        if found == wanted:
            return at
        if found < wanted:
            low = at + 1
        else:
            high = middle
    return None


@attrs.frozen
class IdSet:
    """Ids that were seen; membership is O(log n), adding O(log n) amortised."""

    levels: tuple[frozenset[str], ...] = ()
    """Sets of falling size; two neighbours of one size are merged at once."""

    def __contains__(self, item: str) -> bool:
        return any(item in level for level in self.levels)

    def __len__(self) -> int:
        return sum(len(level) for level in self.levels)

    def add(self, item: str) -> IdSet:
        """Return a set that holds the item too."""
        levels = [*self.levels, frozenset((item,))]
        while len(levels) > 1 and len(levels[-1]) >= len(levels[-2]):
            levels[-2:] = [levels[-2] | levels[-1]]
        return IdSet(tuple(levels))
