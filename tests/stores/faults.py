"""How the tests make the operating system fail: in place of the kill points, an error at a chosen point."""

from __future__ import annotations

import os

from interpreters.support import osio


class Faults(osio.KillPoints):
    """Passes every point, and raises an ``OSError`` where it was told to."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self._fail_at = 0
        self._fail_from = 0
        self._from_point = ""
        self._fail_next: list[str] = []
        self._errno = 0

    def fail_at(self, number: int, errno: int) -> None:
        """Raise at the n-th point from here."""
        self._fail_at, self._errno = self.passed + number, errno

    def fail_from(self, number: int, errno: int, point: str) -> None:
        """Raise at every point of that name from the n-th point on."""
        self._fail_from, self._from_point, self._errno = self.passed + number, point, errno

    def heal(self) -> None:
        """Raise no more."""
        self._fail_at = self._fail_from = 0
        self._fail_next = []

    def fail_next(self, point: str, errno: int, times: int = 1) -> None:
        """Raise at the next point of that name."""
        self._fail_next += [point] * times
        self._errno = errno

    def _reach(self, point: str) -> None:
        super()._reach(point)
        self.seen.append(point)
        if point in self._fail_next:
            self._fail_next.remove(point)
        elif self.passed != self._fail_at and not self._broken_for_good(point):
            return
        raise OSError(self._errno, os.strerror(self._errno))

    def _broken_for_good(self, point: str) -> bool:
        return 0 < self._fail_from <= self.passed and point == self._from_point
