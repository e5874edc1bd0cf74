"""Text of any length in bounded memory: the beginning and the end are kept, what is cut between them is said (G-13)."""

from __future__ import annotations

from collections import deque

import attrs


@attrs.frozen
class Cut:
    """A text that may have been shortened."""

    text: str
    """What is left, with a line in the place of what is not."""
    left_out: int
    """Characters that are not in it; 0 if it is whole."""


class HeadAndTail:
    """Takes a stream of text and remembers its first and its last ``limit / 2`` characters."""

    def __init__(self, limit: int) -> None:
        self.length = 0
        self._head_max = limit - limit // 2
        self._tail_max = limit // 2
        self._head: list[str] = []
        self._head_used = 0
        self._tail: deque[str] = deque()
        self._tail_used = 0

    @property
    def whole(self) -> bool:
        """Whether nothing had to be left out so far."""
        return self.length <= self._head_max + self._tail_max

    def add(self, text: str) -> None:
        """Take the next piece."""
        self.length += len(text)
        room = min(self._head_max - self._head_used, len(text))
        if room > 0:
            self._head.append(text[:room])
            self._head_used += room
        if len(text) > room:
            # Nothing but the end is taken: a copy of all the rest could be as large as the text itself.
            self._extend_tail(text[max(room, len(text) - self._tail_max) :])

    def _extend_tail(self, text: str) -> None:
        self._tail.append(text)
        self._tail_used += len(self._tail[-1])
        while self._tail and self._tail_used - len(self._tail[0]) >= self._tail_max:
            self._tail_used -= len(self._tail.popleft())

    def cut(self, where: str = "") -> Cut:
        """Return what is remembered; ``where`` says in words where the whole can be found."""
        head = "".join(self._head)
        tail = "".join(self._tail)[-self._tail_max :] if self._tail_max else ""
        if self.whole:
            return Cut(head + tail, 0)
        left_out = self.length - len(head) - len(tail)
        hint = f"; {where}" if where else ""
        return Cut(f"{head}\n[... {left_out} characters left out{hint} ...]\n{tail}", left_out)


def bounded(text: str, limit: int, where: str = "") -> Cut:
    """Shorten a text that is already in memory to about ``limit`` characters, telling what was cut."""
    if len(text) <= limit:
        return Cut(text, 0)
    ends = HeadAndTail(limit)
    ends.add(text)
    return ends.cut(where)
