"""One mailbox per session: what happened, in the order in which it is to be judged (D-26).

1. Aborts come first, so that no flood of results can keep a person from stopping the work.
2. Due timers come next, and a timer is due when its time has come, not when some task got around to saying so: that is
   why timers live here and not in tasks.
3. Everything else follows in the order of arrival.
4. An envelope holds not an event but how to make it from the state it meets: ``send`` means a prompt in one phase and
   a follow-up in another, and nothing may come between the decision and the reduction.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Container, Hashable
from itertools import count

import anyio
import anyio.lowlevel
import attrs

from agentcore.commands import Command
from agentcore.events import Event
from agentcore.states import State
from interpreters.engine.clock import Clock
from interpreters.engine.receipts import Reply

Make = Callable[[State], tuple[Event, ...]]
"""Makes the events of an envelope from the state that they meet."""


@attrs.frozen(eq=False)
class Envelope:
    """Something to be reduced, and who wants to know what became of it."""

    make: Make
    """Makes the events, ``at`` left 0."""
    reply: Reply | None = None
    """Told the verdict on the last of them."""
    answers: Command | None = None
    """The command it ends: one that stays outstanding although it was answered has failed."""


def enclose(event: Event, reply: Reply | None = None, answers: Command | None = None) -> Envelope:
    """Wrap one event that is the same in every state."""
    return Envelope(lambda _: (event,), reply, answers)


@attrs.define(order=True)
class _Timer:
    due_at: int
    order: int
    key: Hashable = attrs.field(order=False)
    event: Event = attrs.field(order=False)
    stopped: bool = attrs.field(default=False, order=False)


class Timers:
    """What is to happen when, earliest first; equal times in the order in which they were started."""

    def __init__(self) -> None:
        self._heap: list[_Timer] = []
        self._live: dict[Hashable, _Timer] = {}
        self._order = count()

    def start(self, key: Hashable, due_at: int, event: Event) -> None:
        """Let ``event`` happen at ``due_at`` (milliseconds) unless ``key`` is stopped before."""
        timer = _Timer(due_at, next(self._order), key, event)
        self._live[key] = timer
        heapq.heappush(self._heap, timer)

    def stop(self, key: Hashable) -> None:
        """Forget a timer; one that is not there is none."""
        timer = self._live.pop(key, None)
        if timer is not None:
            timer.stopped = True

    def keep_only(self, keys: Container[Hashable]) -> None:
        """Forget every timer whose key is not among ``keys``."""
        for key in [key for key in self._live if key not in keys]:
            self.stop(key)

    @property
    def next_due(self) -> int | None:
        """When the earliest fires, in milliseconds."""
        while self._heap and self._heap[0].stopped:
            heapq.heappop(self._heap)
        return self._heap[0].due_at if self._heap else None

    def pop_due(self, now: int) -> Event | None:
        """Take the earliest timer whose time has come and return its event."""
        due_at = self.next_due
        if due_at is None or due_at > now:
            return None
        timer = heapq.heappop(self._heap)
        del self._live[timer.key]
        return timer.event


class Mailbox:
    """Where everything that happened to a session waits for its turn."""

    def __init__(self, clock: Clock) -> None:
        self.timers = Timers()
        self._clock = clock
        self._aborts: deque[Envelope] = deque()
        self._rest: deque[Envelope] = deque()
        self._wake = anyio.Event()
        self._urgent = anyio.Event()
        self._closed = False

    def put(self, envelope: Envelope) -> None:
        """Add what happened, behind everything that happened before."""
        self._rest.append(envelope)
        self._wake.set()

    def put_abort(self, envelope: Envelope) -> None:
        """Add an abort, before everything but earlier aborts."""
        self._aborts.append(envelope)
        self._wake.set()
        self._urgent.set()

    def close(self) -> None:
        """Say that nothing more is to be looked at."""
        self._closed = True
        self._wake.set()
        self._urgent.set()

    async def take(self) -> Envelope | None:
        """Wait for the next envelope; ``None`` once the mailbox is closed. Always lets other tasks run once."""
        await anyio.lowlevel.checkpoint()
        while not self._closed:
            envelope = self._next()
            if envelope is not None:
                return envelope
            self._wake = anyio.Event()
            await self._clock.wait(self._wake, self.timers.next_due)
        return None

    async def wait_urgent(self, until: int | None = None) -> None:
        """Return when an abort is waiting, the mailbox is closed, or ``until`` (milliseconds) has come."""
        while not self._aborts and not self._closed and (until is None or self._clock.now() < until):
            self._urgent = anyio.Event()
            await self._clock.wait(self._urgent, until)

    def _next(self) -> Envelope | None:
        if self._aborts:
            return self._aborts.popleft()
        event = self.timers.pop_due(self._clock.now())
        if event is not None:
            return enclose(event)
        return self._rest.popleft() if self._rest else None

    def drain(self) -> list[Envelope]:
        """Take out everything that was not looked at, for a session that is over."""
        left = [*self._aborts, *self._rest]
        self._aborts.clear()
        self._rest.clear()
        return left
