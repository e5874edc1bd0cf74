"""Sessions in memory: for tests, and for hosts that need no session to outlive the process.

It keeps every promise of a store except that of surviving the process. What a disk and a power cut do to a journal can
be ordered instead: ``crash`` loses what was not synced, ``fail_next`` makes the storage fail.
"""

from __future__ import annotations

import errno
import time
from collections import Counter, deque
from collections.abc import Sequence

import anyio.lowlevel
import attrs

from interpreters.stores import rules
from interpreters.support.locks import Holder
from interpreters.support.ports_store import (
    Loaded,
    Recovery,
    SessionExists,
    SessionInfo,
    SessionLocked,
    SessionUnknown,
    StorageAct,
    StorageFailed,
)

_PLACE = "memory"


@attrs.define(eq=False)
class _Session:
    """What is kept of one session."""

    header: bytes
    changed_at: int
    events: list[tuple[int, bytes]] = attrs.Factory(list)
    durable: int = 0
    """How many of the events survive a crash."""
    snapshots: list[tuple[int, bytes]] = attrs.Factory(list)
    rejections: deque[bytes] = attrs.Factory(deque)
    kept: dict[str, bytes] = attrs.Factory(dict)
    writer: MemoryJournal | None = None
    """The one handle that may write; any other is closed, or was lost in a crash."""

    def cut(self, count: int) -> None:
        """Lose every event behind the first ``count``; what is left is durable."""
        del self.events[count:]
        self.snapshots = [each for each in self.snapshots if each[0] <= count]
        self.durable = count


class MemoryJournal:
    """The writer's handle on a session in memory; ``MemoryStore`` makes it. See ``ports_store.Journal``."""

    def __init__(self, session_id: str, session: _Session, loaded: Loaded, failures: Counter[StorageAct]) -> None:
        self._session_id = session_id
        self._session = session
        self._loaded = loaded
        self._failures = failures
        self._last_seq = loaded.recovery.last_seq
        self._failed = False
        self._spacing = rules.Spacing(loaded.length, len(loaded.snapshot[1]) if loaded.snapshot else 0)
        self.holder = str(Holder.myself())
        """Who opened it, as text."""

    @property
    def session_id(self) -> str:
        """The id it was opened under."""
        return self._session_id

    @property
    def loaded(self) -> Loaded:
        """What was found when it was opened."""
        return self._loaded

    @property
    def last_seq(self) -> int:
        """Seq of the last event appended or loaded."""
        return self._last_seq

    async def append(self, events: Sequence[tuple[int, bytes]]) -> None:
        """Record events."""
        self._check_usable("append")
        rules.check_events(events, self._last_seq)
        self._fail_if_ordered("append")
        self._session.events += events
        self._session.changed_at = _now_ms()
        self._last_seq += len(events)
        self._spacing.add(events)

    async def sync(self) -> int:
        """Let everything appended so far survive a crash; as with a disk, others run meanwhile."""
        self._check_usable("sync")
        reached = self._last_seq
        await anyio.lowlevel.cancel_shielded_checkpoint()
        self._check_open("sync")
        self._fail_if_ordered("sync")
        self._session.durable = max(self._session.durable, reached)
        return reached

    async def rescan(self) -> int:
        """Go on behind what is durable after a failure; return its seq."""
        self._check_open("rescan")
        self._fail_if_ordered("rescan")
        self._session.cut(self._session.durable)
        self._last_seq, self._failed = self._session.durable, False
        return self._last_seq

    def snapshot_due(self) -> bool:
        """True if a snapshot may be taken now."""
        return self._spacing.due

    async def snapshot(self, seq: int, body: bytes) -> None:
        """Keep the state after event ``seq``."""
        self._check_open("snapshot")
        rules.check_snapshot(seq, self._last_seq)
        self._spacing.start_over(len(body))
        self._fail_if_ordered("snapshot")
        self._session.snapshots = [*self._session.snapshots, (seq, body)][-rules.SNAPSHOTS_KEPT :]

    async def reject(self, record: bytes) -> None:
        """Add to the bounded list of rejections."""
        self._check_open("reject")
        kept = rules.bounded_rejection(record)
        self._fail_if_ordered("reject")
        rejections = self._session.rejections
        rejections.append(kept)
        while sum(map(len, rejections)) > 2 * rules.REJECTIONS_MAX:
            rejections.popleft()

    async def keep(self, name: str, data: bytes) -> str:
        """Keep bytes beside the events; return their place."""
        self._check_open("keep")
        place = rules.kept_place(name, data)
        self._fail_if_ordered("keep")
        self._session.kept[place] = data
        return place

    async def close(self) -> None:
        """Release the lock."""
        if self._session.writer is self:
            self._session.writer = None

    def _check_usable(self, act: StorageAct) -> None:
        self._check_open(act)
        if self._failed:
            raise StorageFailed(act, errno.EIO, self._path, "not tried again before a rescan")

    def _check_open(self, act: StorageAct) -> None:
        if self._session.writer is not self:
            raise StorageFailed(act, errno.EBADF, self._path, "the journal was closed")

    def _fail_if_ordered(self, act: StorageAct) -> None:
        if self._failures[act] > 0:
            self._failures[act] -= 1
            self._failed = self._failed or act in ("append", "sync")
            raise StorageFailed(act, errno.EIO, self._path, "ordered by a test")

    @property
    def _path(self) -> str:
        return f"{_PLACE}/{self._session_id}"


class MemoryStore:
    """Sessions that live as long as this object. See ``ports_store.Store``."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._failures: Counter[StorageAct] = Counter()

    async def create(self, session_id: str, header: bytes) -> MemoryJournal:
        """Begin a session."""
        rules.check_name("the session id", session_id)
        rules.check_object("the header", header)
        if session_id in self._sessions:
            raise SessionExists(session_id, _PLACE)
        self._sessions[session_id] = _Session(header, _now_ms())
        return await self.open(session_id)

    async def open(self, session_id: str, *, accept_gap: str | None = None) -> MemoryJournal:
        """Take the lock and load; memory has no gaps to accept."""
        rules.check_acceptance(accept_gap)
        session = self._find(session_id)
        if session.writer is not None:
            raise SessionLocked(session_id, session.writer.holder)
        session.durable = len(session.events)
        session.writer = MemoryJournal(session_id, session, await self.read(session_id), self._failures)
        return session.writer

    async def read(self, session_id: str, *, from_start: bool = False) -> Loaded:
        """Load without lock."""
        session = self._find(session_id)
        snapshot = session.snapshots[-1] if session.snapshots and not from_start else None
        after = snapshot[0] if snapshot else 0
        events = tuple(session.events[after:])
        recovery = Recovery(len(session.events))
        return Loaded(session_id, session.header, snapshot, events, recovery, rules.length_of(events))

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """Every session, ordered by id."""
        return tuple(self._info(*each) for each in sorted(self._sessions.items()))

    def _info(self, session_id: str, session: _Session) -> SessionInfo:
        size = len(session.header) + sum(len(payload) for _, payload in session.events)
        holder = session.writer.holder if session.writer else ""
        return SessionInfo(session_id, session.changed_at, size, holder, "")

    async def rejections(self, session_id: str) -> tuple[bytes, ...]:
        """The newest rejections, oldest first."""
        return tuple(self._find(session_id).rejections)

    async def kept(self, session_id: str, place: str) -> bytes:
        """The bytes kept under a place."""
        rules.check_place(place)
        try:
            return self._find(session_id).kept[place]
        except KeyError:
            raise StorageFailed("read", errno.ENOENT, f"{_PLACE}/{session_id}/{place}", "") from None

    def crash(self, *, surviving: int = 0) -> None:
        """Do what a power cut does: every handle is gone, and every event that was not synced.

        ``surviving``: how many events of each session had reached the disk on their own, beyond the synced ones.
        """
        for session in self._sessions.values():
            session.cut(min(len(session.events), session.durable + surviving))
            session.writer = None

    def fail_next(self, act: StorageAct, times: int = 1) -> None:
        """Let the next calls of one method of any journal fail, as a full or broken disk does."""
        self._failures[act] += times

    def _find(self, session_id: str) -> _Session:
        rules.check_name("the session id", session_id)
        try:
            return self._sessions[session_id]
        except KeyError:
            raise SessionUnknown(session_id, _PLACE) from None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
