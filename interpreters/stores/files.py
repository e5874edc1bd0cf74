"""Sessions on the local disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from interpreters.stores.beside import add_rejection, keep, read_kept, read_rejections, write_snapshot
from interpreters.stores.folder import Folder
from interpreters.stores.opening import Opened, create_session, list_sessions, open_session, read_session
from interpreters.stores.rules import Spacing, bounded_rejection, check_snapshot
from interpreters.stores.writer import storage
from interpreters.support.ports_store import Loaded, SessionInfo, StorageAct

SEGMENT_MAX = 1 << 22
"""Bytes after which a segment is closed, at the next moment when all of it is durable."""

_T = TypeVar("_T")


class _Disk:
    """Runs blocking work of one caller, one piece after the other, in a thread of its own.

    A limiter of its own, so that tools which occupy all common threads cannot hold up the journal.
    """

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(1)

    async def run(self, work: Callable[..., _T], *args: object) -> _T:
        """Do it to the end, whatever is cancelled meanwhile: half a sync is worth nothing."""
        with anyio.CancelScope(shield=True):
            done = await anyio.to_thread.run_sync(work, *args, limiter=self._limiter)
        return done  # noqa: RET504 - a scope may swallow an exception, so a type checker wants the return outside


class FileJournal:
    """The writer's handle on a session in a directory; ``FileStore`` makes it. See ``ports_store.Journal``."""

    def __init__(self, opened: Opened, disk: _Disk) -> None:
        self._folder = opened.folder
        self._loaded = opened.loaded
        self._writer = opened.writer
        self._lock = opened.lock
        self._disk = disk
        snapshot = opened.loaded.snapshot
        self._spacing = Spacing(opened.loaded.length, len(snapshot[1]) if snapshot else 0)

    @property
    def session_id(self) -> str:
        """The id it was opened under."""
        return self._folder.session_id

    @property
    def loaded(self) -> Loaded:
        """What was found when it was opened."""
        return self._loaded

    @property
    def last_seq(self) -> int:
        """Seq of the last event appended or loaded."""
        return self._writer.last_seq

    async def append(self, events: Sequence[tuple[int, bytes]]) -> None:
        """Write events, in this thread: handing them to another takes longer than the operating system does."""
        self._writer.append(events)
        self._spacing.add(events)

    async def sync(self) -> int:
        """Force everything appended so far to the disk; return the last durable seq."""
        return await self._disk.run(self._writer.sync)

    async def rescan(self) -> int:
        """Go on behind what is durable after a failure; return its seq."""
        return await self._disk.run(self._writer.rescan)

    def snapshot_due(self) -> bool:
        """True if a snapshot may be taken now."""
        return self._spacing.due

    async def snapshot(self, seq: int, body: bytes) -> None:
        """Keep the state after event ``seq``."""
        check_snapshot(seq, self.last_seq)
        self._spacing.start_over(len(body))
        segment = self._writer.segment_of(seq)
        await self._disk.run(self._beside, "snapshot", write_snapshot, self._folder, segment, seq, body)

    async def reject(self, record: bytes) -> None:
        """Add to the bounded list of rejections."""
        await self._disk.run(self._beside, "reject", add_rejection, self._folder, bounded_rejection(record))

    async def keep(self, name: str, data: bytes) -> str:
        """Keep bytes beside the journal; return their place."""
        return await self._disk.run(self._beside, "keep", keep, self._folder, name, data)

    async def close(self) -> None:
        """Close the files and release the lock."""
        with storage("close", self._folder.path):
            await self._disk.run(self._close)

    def _beside(self, act: StorageAct, work: Callable[..., _T], *args: object) -> _T:
        self._writer.check_open(act)
        with storage(act, self._folder.path):
            return work(*args)

    def _close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._lock.release()


class FileStore:
    """Sessions in the directories of a root directory. See ``ports_store.Store``."""

    def __init__(self, root: Path | str, *, segment_max: int = SEGMENT_MAX) -> None:
        """Keep sessions under ``root``, which is made when the first is created; segments of ``segment_max`` bytes."""
        self._root = Path(root)
        self._segment_max = segment_max

    async def create(self, session_id: str, header: bytes) -> FileJournal:
        """Begin a session."""
        disk = _Disk()
        return FileJournal(await disk.run(create_session, self._root, session_id, header, self._segment_max), disk)

    async def open(self, session_id: str, *, accept_gap: str | None = None) -> FileJournal:
        """Take the lock and load."""
        disk = _Disk()
        return FileJournal(await disk.run(open_session, self._root, session_id, self._segment_max, accept_gap), disk)

    async def read(self, session_id: str, *, from_start: bool = False) -> Loaded:
        """Load without lock and without writing."""
        return await _Disk().run(partial(read_session, self._root, session_id, from_start=from_start))

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """Every session, ordered by id."""
        return await _Disk().run(list_sessions, self._root)

    async def rejections(self, session_id: str) -> tuple[bytes, ...]:
        """The newest rejections, oldest first."""
        folder = Folder(self._root, session_id)
        with storage("read", folder.path):
            return await _Disk().run(read_rejections, folder)

    async def kept(self, session_id: str, place: str) -> bytes:
        """The bytes kept under a place."""
        folder = Folder(self._root, session_id)
        with storage("read", folder.path):
            return await _Disk().run(read_kept, folder, place)
