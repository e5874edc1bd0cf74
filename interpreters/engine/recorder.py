"""The engine's side of the journal: append, make durable, mend after a failure, snapshot.

1. Every event that is not known to be durable is kept, so that whatever a failing store lost can be written again.
2. After a failed append the store says what it still has, and what is missing is appended again, a bounded number of
   times. Past that nothing more is acted on: the unsaved events go to the caller.
3. A failed sync does the same once, within its own checkpoint; its failure is an event, not the end.
"""

from __future__ import annotations

from collections import deque

import anyio
import attrs

from agentcore.codec import encode_event, encode_state
from agentcore.events import Event
from agentcore.limits import Limits, doubled
from agentcore.states import State
from interpreters.engine.clock import Clock, sleep_until
from interpreters.support.ports_store import Journal, StorageFailed, StoreError

_DELAY_CAP_MS = 2_000
"""Longest pause between two tries to append; nobody can act meanwhile, so it is short."""

_TRIES = 3
"""Tries to append again where ``Limits.checkpoint_retries`` names no bound: a store that never answers is no store."""


class StorageUnavailable(Exception):
    """The journal cannot be written; what happened since it last could is in ``unsaved``."""

    def __init__(self, session_id: str, unsaved: tuple[tuple[int, Event], ...], cause: str) -> None:
        """Keep seq and event of everything that is not known to be durable."""
        super().__init__(session_id, unsaved, cause)
        self.session_id = session_id
        """The session."""
        self.unsaved = unsaved
        """Seq and event, oldest first; nothing was done because of the last one."""
        self.cause = cause
        """What the store said."""

    def __str__(self) -> str:
        first, last = (self.unsaved[0][0], self.unsaved[-1][0]) if self.unsaved else (0, 0)
        return (
            f"storage unavailable: session {self.session_id!r} could not be written ({self.cause}). Events {first} to "
            f"{last} are not known to be saved; nothing more is done. Mend the storage and resume the session."
        )


@attrs.frozen
class _Kept:
    seq: int
    event: Event
    payload: bytes


class Recorder:
    """Writes one session."""

    def __init__(self, journal: Journal, clock: Clock, limits: Limits) -> None:
        self._journal = journal
        self._clock = clock
        self._limits = limits
        self._kept: deque[_Kept] = deque()
        self._snapshots = False
        # Appends and mending exclude each other; a sync may overlap both.
        self._writing = anyio.Lock(fast_acquire=True)

    @property
    def journal(self) -> Journal:
        """The store's handle."""
        return self._journal

    @property
    def unsaved(self) -> tuple[tuple[int, Event], ...]:
        """Seq and event of everything that is not known to be durable, oldest first."""
        return tuple((kept.seq, kept.event) for kept in self._kept)

    async def append(self, seq: int, event: Event) -> None:
        """Write one event; ``StorageUnavailable`` when mending did not help either."""
        kept = _Kept(seq, event, encode_event(event))
        self._kept.append(kept)
        async with self._writing:
            try:
                await self._journal.append(((seq, kept.payload),))
            except StorageFailed as error:
                await self._mend(error)

    async def sync(self) -> None:
        """Make everything appended so far durable, mending once; raises ``StoreError``."""
        try:
            durable = await self._journal.sync()
        except StorageFailed:
            async with self._writing:
                await self._write_missing()
                durable = await self._journal.sync()
        while self._kept and self._kept[0].seq <= durable:
            self._kept.popleft()

    async def _mend(self, error: StoreError) -> None:
        bound = self._limits.checkpoint_retries
        for tried in range(_TRIES if bound is None else bound):
            if tried:
                # The first time at once: often only the handle has to be asked what it still has.
                pause = doubled(self._limits.checkpoint_base_ms, tried - 1, _DELAY_CAP_MS)
                await sleep_until(self._clock, self._clock.now() + pause)
            try:
                await self._write_missing()
            except StoreError as again:
                error = again
            else:
                return
        raise StorageUnavailable(self._journal.session_id, self.unsaved, str(error)) from error

    async def _write_missing(self) -> None:
        good = await self._journal.rescan()
        missing = [(kept.seq, kept.payload) for kept in self._kept if kept.seq > good]
        if missing:
            await self._journal.append(missing)

    async def sync_or_stop(self) -> None:
        """Make everything durable before anything else is done; ``StorageUnavailable`` if that is not possible."""
        try:
            await self.sync()
        except StoreError as error:
            raise StorageUnavailable(self._journal.session_id, self.unsaved, str(error)) from error

    def claim_snapshot(self) -> bool:
        """Say whether the store wants a snapshot; who is told so has to call ``snapshot`` next."""
        if self._snapshots or not self._journal.snapshot_due():
            return False
        self._snapshots = True
        return True

    async def snapshot(self, state: State) -> None:
        """Keep a snapshot; raises ``StoreError`` or ``EncodeError``, which harms nothing."""
        try:
            await self._journal.snapshot(state.seq, encode_state(state))
        finally:
            self._snapshots = False
