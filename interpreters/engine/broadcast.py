"""Views for any number of subscribers, in bounded memory.

One ring of numbered views serves everybody; a subscription is nothing but a number in it. So a slow subscriber delays
nobody, a dead one costs nothing, and one that comes back continues where it was. Who falls off the ring is told how
much was lost, with the state to go on from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable

import anyio

from agentcore.states import State
from interpreters.support.views import Lagged, Shown, View

RING = 4096
"""Views that are kept for subscribers who are behind."""


class Broadcast:
    """The views of one session."""

    def __init__(self, now: Callable[[], State], ring: int = RING) -> None:
        """Keep the last ``ring`` views; ``now`` returns the state for who missed some."""
        self._now = now
        self._ring: deque[Shown] = deque(maxlen=ring)
        self._last = 0
        self._more = anyio.Event()
        self._closed = False

    @property
    def last(self) -> int:
        """Number of the newest view."""
        return self._last

    def show(self, view: View) -> None:
        """Number a view and let everybody see it. Never waits, never raises."""
        self._last += 1
        self._ring.append(Shown(self._last, view))
        self._more.set()

    def close(self) -> None:
        """Say that nothing more comes; what is in the ring can still be read."""
        self._closed = True
        self._more.set()

    def subscribe(self, after: int | None = None) -> Subscription:
        """Return an iterator over the views after a number; without one, over what comes from now on."""
        return Subscription(self, self._last if after is None else min(after, self._last))

    def take(self, after: int) -> Shown | None:
        """Return the next view for who saw everything up to a number, or ``None`` if there is none yet."""
        if after >= self._last:
            return None
        oldest = self._ring[0].number
        if after + 1 < oldest:
            return Shown(oldest - 1, Lagged(oldest - 1 - after, self._now()))
        return self._ring[after + 1 - oldest]

    async def wait(self, after: int) -> bool:
        """Wait until there is a view after a number; ``False`` if none will come."""
        while after >= self._last and not self._closed:
            self._more = anyio.Event() if self._more.is_set() else self._more
            await self._more.wait()
        return after < self._last


class Subscription(AsyncIterator[Shown]):
    """One reader's place in the views. Needs no closing: it is only a number."""

    def __init__(self, source: Broadcast, after: int) -> None:
        self._source = source
        self.after = after
        """Number of the last view seen."""

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Shown:
        """Return the next view; ends when the session is over and everything was seen."""
        if not await self._source.wait(self.after):
            raise StopAsyncIteration
        shown = self._source.take(self.after)
        assert shown is not None  # just waited for
        self.after = shown.number
        return shown
