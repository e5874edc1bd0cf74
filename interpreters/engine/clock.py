"""Time for the engine: what it is, and waiting for it. The only place that reads a clock or sleeps.

Waiting is always for *either* a time *or* a wake-up, and may end early for no reason: who waits looks again. So one
``ManualClock`` makes every timer, delay and silence testable without sleeping.
"""

from __future__ import annotations

import math
import time
from typing import Protocol

import anyio

_NAP_MS = 60_000
"""Longest uninterrupted wait: the wall clock may be set meanwhile, so it is looked at again at least this often."""


class Clock(Protocol):
    """Where the engine's time comes from."""

    def now(self) -> int:
        """Return milliseconds since the Unix epoch; may fall when the wall clock is set."""

    async def wait(self, wake: anyio.Event, until: int | None = None) -> None:
        """Return when ``wake`` is set or ``until`` (in milliseconds) is reached, or early."""


class SystemClock:
    """The wall clock of this machine."""

    def now(self) -> int:
        """Return milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000

    async def wait(self, wake: anyio.Event, until: int | None = None) -> None:
        """Return when ``wake`` is set or ``until`` is reached, or after a minute."""
        left_ms = math.inf if until is None else min(max(until - self.now(), 0), _NAP_MS)
        with anyio.move_on_after(left_ms / 1000):
            await wake.wait()


class ManualClock:
    """A clock that stands still until it is moved: time is a fact of the test, not of the machine."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        """Begin at ``now``, in milliseconds since the Unix epoch."""
        self._now = now
        self._waiting: set[anyio.Event] = set()

    def now(self) -> int:
        """Return the time it was last moved to."""
        return self._now

    def advance(self, by_ms: int) -> None:
        """Move forward and wake everybody who waits, so that each looks whether its time has come."""
        self._now += by_ms
        for wake in self._waiting:
            wake.set()
        self._waiting = set()

    async def wait(self, wake: anyio.Event, until: int | None = None) -> None:
        """Return when ``wake`` is set or the clock is moved; at once if ``until`` is reached."""
        if until is not None and until <= self._now:
            return
        self._waiting.add(wake)
        try:
            await wake.wait()
        finally:
            self._waiting.discard(wake)


async def sleep_until(clock: Clock, due_at: int) -> None:
    """Wait until the clock shows ``due_at`` (milliseconds)."""
    while clock.now() < due_at:
        await clock.wait(anyio.Event(), due_at)
