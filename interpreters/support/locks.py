"""An exclusive lock on a file that says who holds it.

``flock`` belongs to the open file, not to the process: it conflicts between two handles of one process too, and it is
gone when its process dies, whatever way. A forked child that does not ``exec`` shares the lock, so ``release`` unlocks
explicitly and does not rely on the last descriptor being closed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from pathlib import Path

import attrs

from interpreters.support import osio


@attrs.frozen
class Holder:
    """Who took a lock."""

    pid: int
    host: str
    since: str
    """UTC, ISO 8601."""

    @classmethod
    def myself(cls) -> Holder:
        """This process, now."""
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        return cls(*osio.process_identity(), now.replace("+00:00", "Z"))

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


class LockHeld(Exception):
    """Somebody else holds the lock. The argument is the ``Holder``, or ``None`` if they have not written it yet."""

    @property
    def holder(self) -> str:
        """Who holds it, as text."""
        return str(self.args[0] or "a holder that has not written its name yet")


class FileLock:
    """A lock that is held; ``take`` makes one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path) -> FileLock:
        """Take the lock without waiting; the file is made if it is missing. Raises ``LockHeld`` or ``OSError``."""
        descriptor = osio.open_shared(path)
        try:
            _take(descriptor)
        except BaseException:
            osio.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        """Give the lock back and wipe the name; twice is fine."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            with contextlib.suppress(OSError):
                osio.truncate(descriptor, 0)
            osio.unlock(descriptor)
        finally:
            osio.close(descriptor)


def last_holder(path: Path) -> Holder | None:
    """Who took the lock last and did not give it back: it is held, or its process died. ``None`` if nobody."""
    try:
        return _parse(osio.read_file(path))
    except OSError:
        return None


def _take(descriptor: int) -> None:
    if not osio.try_lock(descriptor):
        raise LockHeld(_parse(osio.read_all(descriptor)))
    # The lock is held whether or not its file can say so: a full disk must not keep anybody from reading on.
    with contextlib.suppress(OSError):
        osio.truncate(descriptor, 0)
        osio.write_all(descriptor, json.dumps(attrs.asdict(Holder.myself())).encode() + b"\n")


def _parse(text: bytes) -> Holder | None:
    try:
        record = json.loads(text)
        return Holder(int(record["pid"]), str(record["host"]), str(record["since"]))
    except (ValueError, KeyError, TypeError):
        return None
