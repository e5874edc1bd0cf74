"""The notes of attempts that write files: one small file each, locked while the attempt, or an inspection of it, works.

1. The name of a note follows from the attempt's key, so that whoever inspects finds the very file the attempt locks.
   A note is never removed or replaced: two processes that opened it would hold two different locks.
2. A record is one line of JSON, forced to the disk before the next act. Each begins on a line of its own: a half line
   that a power cut left stays a line that means nothing.
3. ``flock`` is released by the death of its holder and by nothing else. A process that is merely paused keeps it.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any

from agentcore.messages import canonical_json, digest
from interpreters.support import osio
from interpreters.tools.root import RESERVED, Root

_WAIT_S = 0.01
_NAME_LENGTH = 40


class Note:
    """The note of one attempt, opened and locked."""

    def __init__(self, descriptor: int, directory: int, key: str) -> None:
        self._descriptor = descriptor
        self._directory = directory
        self.key = key
        self._records = _records(osio.read_all(descriptor))

    def find(self, did: str) -> dict[str, Any] | None:
        """Return the record of what was done, or ``None``."""
        return next((record for record in self._records if record["did"] == did), None)

    def add(self, did: str, **facts: Any) -> None:
        """Record what is being done, durably: after this returns a power cut cannot take it away."""
        record = {"did": did, "attempt": self.key, **facts}
        osio.write_all(self._descriptor, f"\n{canonical_json(record)}\n".encode())
        osio.sync(self._descriptor)
        if not self._records:
            osio.sync(self._directory)
        self._records.append(record)


class Notes:
    """A directory of notes: ``.agentcore`` at the top of a root, or all of a root of its own."""

    def __init__(self, root: Root, *, own: bool = False) -> None:
        self._root = root
        self._parts = () if own else (RESERVED,)

    @contextlib.contextmanager
    def held(self, key: str, wait_s: float) -> Iterator[Note | None]:
        """Lock and read the note of an attempt; ``None`` if another holds it for longer than ``wait_s``."""
        with self._locked(f"{digest(key)[:_NAME_LENGTH]}.attempt", wait_s) as (descriptor, directory):
            yield None if descriptor is None else Note(descriptor, directory, key)

    @contextlib.contextmanager
    def target(self, path: str, wait_s: float) -> Iterator[bool]:
        """Keep other writers of the same file out; ``False`` if one is busy with it for longer than ``wait_s``.

        Two calls that edit one file each hold the note of their own attempt. Without this lock both could read the
        same content, and the second would undo what the first did.
        """
        with self._locked(f"{digest(path)[:_NAME_LENGTH]}.target", wait_s) as (descriptor, _):
            yield descriptor is not None

    @contextlib.contextmanager
    def _locked(self, name: str, wait_s: float) -> Iterator[tuple[int | None, int]]:
        with self._root.directory(self._parts, create=True) as directory:
            descriptor = osio.open_shared(name, dir_fd=directory)
            try:
                yield (descriptor if _lock(descriptor, wait_s) else None), directory
            finally:
                osio.close(descriptor)


def _lock(descriptor: int, wait_s: float) -> bool:
    """Try until the time is over; a waiting ``flock`` could not be given up if its holder is paused."""
    give_up_at = time.monotonic() + wait_s
    while not osio.try_lock(descriptor):
        if time.monotonic() >= give_up_at:
            return False
        time.sleep(_WAIT_S)
    return True


def _records(data: bytes) -> list[dict[str, Any]]:
    found = []
    for line in data.split(b"\n"):
        with contextlib.suppress(ValueError):  # half a line, or one that only separates
            record = json.loads(line)
            if isinstance(record, dict) and "did" in record:
                found.append(record)
    return found
