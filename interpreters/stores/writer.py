"""The one hand that writes a journal. Blocking, and safe to use from two threads: one appends while another syncs.

What becomes durable when:

1. Everything up to ``durable`` is on the disk. A new segment is started only where nothing waits for a sync, so the
   segments before the last one are durable whole.
2. Before a write the handle counts as failed and is cleared after it, so that whatever interrupts it leaves the handle
   failed: it then refuses to write until it was rescanned.
3. After a failed sync the operating system may show bytes that never reach the disk. So a rescan goes on from the last
   durable position, in a new segment, and the caller appends again what follows it; the doubtful bytes stay unused.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from interpreters.stores.chain import Chain, segment_name
from interpreters.stores.folder import Folder
from interpreters.stores.lines import Because, Continuation, Position, event_line, opening_line
from interpreters.stores.rules import check_events
from interpreters.support import osio
from interpreters.support.ports_store import Damage, SessionDamaged, StorageAct, StorageFailed

_CLOSED = -1


@contextmanager
def storage(act: StorageAct, path: Path) -> Iterator[None]:
    """Turn whatever the operating system says into ``StorageFailed``."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(act, error.errno or 0, str(error.filename or path), "") from error


class Writer:
    """Writes the segments of one session, whose lock the caller holds."""

    def __init__(self, folder: Folder, chain: Chain, segment_max: int) -> None:
        """Begin at the end of a chain; nothing is open until ``go_on`` or ``start_segment``."""
        self._folder = folder
        self._segment_max = segment_max
        self._guard = threading.Lock()
        self._descriptor = _CLOSED
        self._position = self._durable = chain.end
        self._last_number = chain.segments[-1].number
        self._begun = [(piece.segment.base, piece.segment.number) for piece in chain.pieces]
        self._names_changed = True
        self._closed = False
        self._failed: StorageFailed | None = None

    @property
    def last_seq(self) -> int:
        """Seq of the last event written."""
        return self._position.seq

    def segment_of(self, seq: int) -> int:
        """The number of the segment in which event ``seq`` stands."""
        return next(number for base, number in reversed(self._begun) if base < seq)

    def go_on(self) -> None:
        """Go on in the last segment. Raises ``OSError``."""
        self._replace_descriptor(self._folder.open_segment(self._position.segment))

    def start_segment(self, because: Because, damage: Damage | None = None, accepted_by: str | None = None) -> None:
        """Go on in a new segment. Raises ``OSError``."""
        self._last_number += 1
        opening = Continuation(self._position, because, damage, accepted_by)
        line = opening_line(self._folder.session_id, self._last_number, opening)
        self._replace_descriptor(self._folder.create_segment(self._last_number, line))
        self._position = Position(self._last_number, len(line), self._position.seq)
        self._begun.append((self._position.seq, self._last_number))
        self._names_changed = True

    def append(self, events: Sequence[tuple[int, bytes]]) -> None:
        """Write events behind the last one. Raises ``StorageFailed``, ``ValueError``."""
        with self._guard:
            self._check_usable("append")
            check_events(events, self._position.seq)
            path = self._folder.segment_path(self._position.segment)
            self._failed = StorageFailed("append", 0, str(path), "the write was interrupted")
            try:
                with storage("append", path):
                    self._write(b"".join(event_line(seq, payload) for seq, payload in events), len(events))
            except StorageFailed as error:
                self._failed = error
                raise
            self._failed = None

    def _write(self, data: bytes, count: int) -> None:
        # While a sync is under way something waits for it, so the descriptor it uses is not replaced.
        if self._position.offset >= self._segment_max and self._position == self._durable:
            self.start_segment("rotated")
        osio.write_all(self._descriptor, data)
        segment, offset, seq = self._position.segment, self._position.offset, self._position.seq
        self._position = Position(segment, offset + len(data), seq + count)

    def sync(self) -> int:
        """Make everything written so far durable; return the last durable seq. Raises ``StorageFailed``."""
        with self._guard:
            self._check_usable("sync")
            if self._position == self._durable and not self._names_changed:
                return self._durable.seq
            descriptor, position, names_changed = self._descriptor, self._position, self._names_changed
        try:
            with storage("sync", self._folder.segment_path(position.segment)):
                osio.sync(descriptor)
                if names_changed:
                    self._folder.sync_names()
        except StorageFailed as error:
            with self._guard:
                self._failed = error
            raise
        with self._guard:
            self._durable, self._names_changed = position, False
        return position.seq

    def rescan(self) -> int:
        """Read what is there, go on behind what is durable, and return its seq.

        Raises ``StorageFailed``; ``SessionDamaged`` if what was durable cannot be read any more.
        """
        with self._guard:
            self.check_open("rescan")
            self._failed = self._failed or StorageFailed("rescan", 0, str(self._folder.path), "a rescan is under way")
            self._replace_descriptor(_CLOSED)
        with storage("rescan", self._folder.path):
            chain = self._folder.load()
            if not chain.holds(self._durable):
                raise SessionDamaged(self._folder.session_id, self._lost(), None)
            self._go_on_behind_durable(chain)
            osio.sync(self._descriptor)
            self._folder.sync_names()
        with self._guard:
            self._durable, self._names_changed, self._failed = self._position, False, None
        return self._durable.seq

    def _lost(self) -> Damage:
        segment, offset, seq = self._durable.segment, self._durable.offset, self._durable.seq
        found = f"event {seq} was durable and cannot be read any more"
        return Damage("middle", segment_name(segment), offset, 0, found)

    def _go_on_behind_durable(self, chain: Chain) -> None:
        self._position = self._durable
        self._last_number = chain.segments[-1].number
        if chain.appendable and chain.end == self._durable:
            self.go_on()
            return
        damage = chain.damage
        torn = damage if damage and damage.kind == "torn-tail" else None
        self.start_segment("write-failed", torn and self._folder.set_aside(torn, chain.damaged_bytes))

    def close(self) -> None:
        """Close the file; everything but another ``close`` is refused from now on."""
        with self._guard:
            self._closed = True
            self._replace_descriptor(_CLOSED)

    def _replace_descriptor(self, descriptor: int) -> None:
        old, self._descriptor = self._descriptor, descriptor
        if old != _CLOSED:
            osio.close(old)

    def _check_usable(self, act: StorageAct) -> None:
        self.check_open(act)
        if self._failed is not None:
            found = f"not tried again before a rescan, since the {self._failed.kind} before it failed"
            raise StorageFailed(act, self._failed.errno, self._failed.path, found)

    def check_open(self, act: StorageAct) -> None:
        """Raise ``StorageFailed`` if it was closed."""
        if self._closed:
            raise StorageFailed(act, errno.EBADF, str(self._folder.path), "the journal was closed")
