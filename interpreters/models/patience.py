"""How long an answer is waited for: two clocks, because a server may send comments for ever and say nothing.

1. No *bytes* for ``idle_s``: the connection is dead, or the server is.
2. No *progress* for ``progress_s``: bytes come, but nothing of the answer does. Comments and pings wind only the first.
3. Once the end was stated the rest (usage, the terminator) gets a short while, and a server that keeps the connection
   open behind its terminator a moment.
"""

from __future__ import annotations

import math

import attrs

from interpreters.models.decoder import AnswerDecoder

_AFTER_STATED_S = 5.0
_AFTER_DONE_S = 0.05


@attrs.frozen
class Timeouts:
    """Waiting times of one request, in seconds. The deadline of the whole request is the reducer's."""

    connect_s: float = 15.0
    """To reach the server."""
    idle_s: float = 240.0
    """Without a byte, the wait for the first one included: a small machine reads a long prompt for minutes."""
    progress_s: float = 300.0
    """Without anything of the answer."""


class Patience:
    """Says until when to wait, given what came. Times are those of one clock, in seconds.

    Moving a deadline costs more than reading a piece of an answer, so it is done at most once in a hundredth of the
    waiting time: by that much a wait may be too short.
    """

    def __init__(self, timeouts: Timeouts, now: float) -> None:
        self._timeouts = timeouts
        self._slack = min(timeouts.idle_s, timeouts.progress_s) / 100
        self._look_at = now
        self._progress = 0
        self._progressed_at = now
        self._over_at = math.inf
        self._until = now + min(timeouts.idle_s, timeouts.progress_s)
        self._for_bytes = timeouts.idle_s <= timeouts.progress_s

    @property
    def waited_for(self) -> str:
        """What did not come, where the time is over."""
        if self._for_bytes:
            return f"silence: no byte for {self._timeouts.idle_s:g} s"
        return f"silence: nothing of the answer for {self._timeouts.progress_s:g} s, only signs of life"

    def left(self, now: float) -> float:
        """Return how long to wait from now on."""
        return self._until - now

    def hear(self, decoder: AnswerDecoder, now: float) -> bool:
        """Take note that bytes came and were decoded; return whether the time to wait is another one now."""
        ended = decoder.failure is not None or decoder.folder.stated
        if now < self._look_at and not ended:
            return False
        self._look_at = now + self._slack
        if decoder.progress != self._progress:
            self._progress, self._progressed_at = decoder.progress, now
        if ended:
            self._over_at = min(self._over_at, now + (_AFTER_DONE_S if decoder.done else _AFTER_STATED_S))
            return self._move(self._over_at)
        byte, progress = now + self._timeouts.idle_s, self._progressed_at + self._timeouts.progress_s
        self._for_bytes = byte <= progress
        return self._move(min(byte, progress))

    def _move(self, until: float) -> bool:
        moved, self._until = until != self._until, until
        return moved
