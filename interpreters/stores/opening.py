"""How a session on disk is created, opened, read and listed. Blocking; every failure is a ``StoreError``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import attrs

from interpreters.stores.beside import newest_snapshot
from interpreters.stores.chain import Chain
from interpreters.stores.content import Held
from interpreters.stores.folder import HEADER_COPY, Folder
from interpreters.stores.lines import First, opening_line
from interpreters.stores.rules import check_acceptance, check_object
from interpreters.stores.writer import Writer, storage
from interpreters.support import osio
from interpreters.support.locks import FileLock, LockHeld, last_holder
from interpreters.support.ports_store import (
    Loaded,
    Recovery,
    SchemaTooNew,
    SessionDamaged,
    SessionExists,
    SessionInfo,
    SessionLocked,
    SessionUnfinished,
    SessionUnknown,
    StoreError,
    UnsafeName,
)

_LOCK = "lock"


@attrs.frozen
class Opened:
    """A session that this process may write."""

    folder: Folder
    loaded: Loaded
    writer: Writer
    lock: FileLock


def create_session(root: Path, session_id: str, header: bytes, segment_max: int) -> Opened:
    """Begin a session; its header is durable when this returns."""
    folder = Folder(root, session_id)
    check_object("the header", header)
    with storage("create", folder.path):
        folder.make()
        _check_new(folder)
        with _locked(folder) as lock:
            _check_new(folder)
            if folder.numbers():
                folder.move_aside(1)
            line = opening_line(session_id, 1, First(header))
            osio.close(folder.create_segment(1, line))
            return _attach(folder, folder.load(), segment_max, lock, None)


def open_session(root: Path, session_id: str, segment_max: int, accept_gap: str | None) -> Opened:
    """Take the lock, load, and make durable what was found."""
    folder = Folder(root, session_id)
    check_acceptance(accept_gap)
    with storage("open", folder.path):
        folder.names()
        with _locked(folder) as lock:
            return _attach(folder, folder.load(), segment_max, lock, accept_gap)


def read_session(root: Path, session_id: str, *, from_start: bool) -> Loaded:
    """Load without lock, writing nothing."""
    folder = Folder(root, session_id)
    with storage("read", folder.path):
        chain = folder.load()
        return _loaded(folder, chain, chain.recovery(), from_start=from_start)


def list_sessions(root: Path) -> tuple[SessionInfo, ...]:
    """List every directory that may be a session."""
    with storage("read", root):
        try:
            names = osio.list_names(root)
        except FileNotFoundError:
            return ()
    return tuple(info for name in names if (info := _info(root, name)) is not None)


@contextlib.contextmanager
def _locked(folder: Folder) -> Iterator[FileLock]:
    """Hold the session's lock; keep it if the block succeeds, give it back if it does not."""
    try:
        lock = FileLock.take(folder.path / _LOCK)
    except LockHeld as error:
        raise SessionLocked(folder.session_id, error.holder) from None
    try:
        yield lock
    except BaseException:
        lock.release()
        raise


def _check_new(folder: Folder) -> None:
    """Raise ``SessionExists`` if there is more than the fragment of an unfinished creation."""
    try:
        folder.load()
    except SessionUnfinished:
        return
    except (SchemaTooNew, SessionDamaged):
        pass  # It exists all the more.
    raise SessionExists(folder.session_id, str(folder.path))


def _attach(folder: Folder, chain: Chain, segment_max: int, lock: FileLock, accept_gap: str | None) -> Opened:
    """Make a writer that goes on at the end of the journal, after sealing what cannot be used."""
    recovery, damage = chain.recovery(), chain.damage
    if damage is not None and damage.kind == "middle" and accept_gap is None:
        raise SessionDamaged(folder.session_id, damage, _loaded(folder, chain, recovery))
    writer = Writer(folder, chain, segment_max)
    try:
        if chain.end.offset:
            writer.go_on()
            writer.sync()
        if not chain.appendable:
            recovery = _seal(folder, chain, writer, accept_gap)
        _copy_header(folder, chain.header)
        return Opened(folder, _loaded(folder, chain, recovery), writer, lock)
    except BaseException:
        writer.close()
        raise


def _seal(folder: Folder, chain: Chain, writer: Writer, accept_gap: str | None) -> Recovery:
    """Start a segment that says what lies before it; return what to report."""
    recovery, damage = chain.recovery(), chain.damage
    if damage is None:
        writer.start_segment("unterminated")
    elif damage.kind == "middle":
        writer.start_segment("gap-accepted", damage, accept_gap)
        recovery = attrs.evolve(recovery, gap_accepted_by=accept_gap)
    else:
        kept = folder.set_aside(damage, chain.damaged_bytes)
        writer.start_segment("torn-tail", kept)
        # An accepted gap is reported until an event follows it, whatever was torn since.
        recovery = attrs.evolve(recovery, damage=kept) if recovery.damage == damage else recovery
    writer.sync()
    return recovery


def _copy_header(folder: Folder, header: bytes) -> None:
    """Make the copy of the header line what it should be; it is made only when the header is durable."""
    line = opening_line(folder.session_id, 1, First(header))
    if folder.header_copy() != line:
        with contextlib.suppress(OSError):  # It is a second chance, not a promise.
            folder.publish(HEADER_COPY, line, durable=False)


def _loaded(folder: Folder, chain: Chain, recovery: Recovery, *, from_start: bool = False) -> Loaded:
    snapshot = None if from_start else newest_snapshot(folder, chain)
    after = snapshot[0] if snapshot else 0
    events = _Recorded(folder.path, chain, after)
    return Loaded(folder.session_id, chain.header, snapshot, events, recovery, chain.length(after))


@attrs.frozen
class _Recorded:
    """Events that are read from the disk each time they are gone through."""

    path: Path
    chain: Chain
    after: int

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        with storage("read", self.path):
            yield from self.chain.events(self.after)


def _info(root: Path, name: str) -> SessionInfo | None:
    """Describe a directory; ``None`` if it is none, or its name is not that of a session."""
    try:
        folder = Folder(root, name)
        paths = [folder.segment_path(number) for number in folder.numbers()]
    except (UnsafeName, SessionUnknown):
        return None
    changed_at = size = 0
    problem = ""
    try:
        size = sum(osio.length_of(path) for path in paths)
        changed_at = max((osio.modified_at_ms(path) for path in paths), default=0)
        # The copy answers for the header without reading the events; without it everything is read.
        if not paths or folder.scan(1, Held(b"")).opening is None:
            folder.load()
    except StoreError as error:
        problem = str(error)
    except OSError as error:
        problem = f"it cannot be read: {error}"
    return SessionInfo(name, changed_at, size, str(last_holder(folder.path / _LOCK) or ""), problem)
