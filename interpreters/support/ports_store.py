"""What the engine and a store promise each other; the only words they share.

A store keeps, for each session, a *header* (the arguments of ``start``) and the accepted events, numbered by ``seq``
from 1 without a hole. It knows nothing of what they mean: header, events, snapshots and rejections are JSON objects
encoded as bytes without a newline, and come back byte for byte as they were given.

Rules every store keeps:

1. One writer. ``open`` and ``create`` take an exclusive lock that lives as long as the handle or its process.
2. What ``create`` and ``open`` return is durable. An event is durable once a ``sync`` begun after its append returned.
3. After a crash the events are a prefix of what was appended, and contain everything durable.
4. After a failed ``append`` or ``sync`` the handle refuses both until ``rescan`` has said which seq is the last good
   one; the caller then appends again what follows it.
5. A snapshot is only a cache: losing all of them changes nothing but the time a load takes.
6. Nothing recorded is truncated, rewritten or silently left out: what cannot be used is reported in ``Recovery``.
"""

from __future__ import annotations

import errno as errnos
import os
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import attrs

DamageKind = Literal["torn-tail", "middle", "header"]
"""``torn-tail``: a crash cut the last write. ``middle``: what was recorded is unreadable; a person must decide.
``header``: the header line is unreadable and its copy was used; nothing is lost."""

StorageAct = Literal["create", "open", "read", "append", "sync", "rescan", "snapshot", "reject", "keep", "close"]
"""What the store was doing when the storage failed."""


@attrs.frozen
class Damage:
    """Bytes of a journal that cannot be used."""

    kind: DamageKind
    file: str
    """Name of the file, relative to the session's directory."""
    offset: int
    """First unusable byte of that file."""
    length: int
    """Bytes of the unusable line or fragment; 0 where bytes are missing."""
    found: str
    """What was found there, and what was expected."""
    set_aside: str = ""
    """Where a byte-for-byte copy was put, relative to the session's directory; empty if the bytes are only in place."""


@attrs.frozen
class Recovery:
    """What a store found when it loaded a session. An incident is reported until an event is recorded after it."""

    last_seq: int
    """Seq of the last good event; 0 if there is none."""
    damage: Damage | None = None
    gap_accepted_by: str | None = None
    """Who accepted that what lies behind the damage is not used; ``None`` if nobody did (yet)."""
    behind: tuple[bytes, ...] = ()
    """Payloads of well-formed event lines behind a ``middle`` damage: evidence of what was started, never folded."""

    @property
    def needs_acceptance(self) -> bool:
        """True if the session opens for writing only with ``accept_gap``."""
        return self.damage is not None and self.damage.kind == "middle" and self.gap_accepted_by is None

    @property
    def next_check(self) -> str:
        """What to look at next, as a sentence for a person."""
        damage = self.damage
        if damage is None:
            return f"Nothing: all {self.last_seq} events are readable."
        place = f"{damage.file} at byte {damage.offset}, {damage.length} bytes: {damage.found}"
        good = f"Event {self.last_seq} is the last good one."
        match damage.kind:
            case "torn-tail":
                kept = f"; kept in {damage.set_aside}" if damage.set_aside else ""
                return f"{good} The last write was cut off ({place}{kept}). Check the effects that were under way."
            case "header":
                return f"{good} The header was read from its copy ({place}). Check the disk."
            case "middle":
                behind = f"{len(self.behind)} well-formed lines behind it are not used"
                if self.gap_accepted_by is None:
                    duty = "Restore the file, or accept the gap"
                else:
                    duty = f"{self.gap_accepted_by} accepted this; check every effect they show as started"
                return f"{good} The journal is damaged ({place}); {behind}. {duty}."


@attrs.frozen
class Loaded:
    """A session as it was read."""

    session_id: str
    header: bytes
    snapshot: tuple[int, bytes] | None
    """Seq and body of the newest good snapshot; ``None`` if there is none, or if all events were asked for."""
    events: Iterable[tuple[int, bytes]]
    """Seq and payload of every good event after the snapshot, of every good event without one.

    They can be gone through more than once. A store may read them only then, so that a session need not fit into
    memory; going through them may raise ``StorageFailed``.
    """
    recovery: Recovery
    length: int = 0
    """About how many bytes those events are, which decides when the next snapshot is due; 0 if that was not counted."""


@attrs.frozen
class SessionInfo:
    """One line of a list of sessions; cheap to make, so it says nothing of damage inside the events."""

    session_id: str
    changed_at: int
    """Last write to the journal, milliseconds since the Unix epoch."""
    size: int
    """Bytes of the journal."""
    holder: str
    """Who opened it and has not closed it: still open, or its process died. Empty if it was closed."""
    problem: str
    """Why it cannot be opened as it is; empty if nothing was seen."""


class StoreError(Exception):
    """Anything a store refuses or cannot do. The fields say what; the text is derived from them."""


@attrs.define(eq=False)
class UnsafeName(StoreError):
    """A name from outside is not usable as the name of a file."""

    what: str
    name: str

    def __str__(self) -> str:
        return (
            f"{self.what} {self.name[:120]!r} is not a safe name: give 1 to 100 of a-z, A-Z, 0-9, '.', '_' and '-', "
            "beginning with a letter or digit."
        )


@attrs.define(eq=False)
class SessionExists(StoreError):
    """A session with this id has a journal already."""

    session_id: str
    place: str

    def __str__(self) -> str:
        return f"session {self.session_id!r} exists already in {self.place}; open it, or choose another id."


@attrs.define(eq=False)
class SessionUnknown(StoreError):
    """There is no session with this id."""

    session_id: str
    place: str

    def __str__(self) -> str:
        return f"there is no session {self.session_id!r} in {self.place}; list the sessions, or create it."


@attrs.define(eq=False)
class SessionUnfinished(SessionUnknown):
    """The session's creation was cut off before its header was recorded; nothing can have been built on it."""

    def __str__(self) -> str:
        return (
            f"the creation of session {self.session_id!r} in {self.place} was cut off before its header was recorded, "
            "so nothing happened in it; create it again under the same id: the fragment is kept aside."
        )


@attrs.define(eq=False)
class SessionLocked(StoreError):
    """Another handle, here or in another process, may write this session."""

    session_id: str
    holder: str
    """Process id, host and since when, as text."""

    def __str__(self) -> str:
        return f"session {self.session_id!r} is locked by {self.holder}; close it there, or read it without writing."


@attrs.define(eq=False)
class SchemaTooNew(StoreError):
    """The journal was written by a newer version, whose records must not be guessed at."""

    session_id: str
    file: str
    found: int
    known: int

    def __str__(self) -> str:
        return (
            f"session {self.session_id!r}: {self.file} has journal schema {self.found}, this version knows up to "
            f"schema {self.known}; nothing was changed. Use the version that wrote it, or a newer one."
        )


@attrs.define(eq=False)
class SessionDamaged(StoreError):
    """The journal is damaged where events were recorded; only a person may decide to go on without them."""

    session_id: str
    damage: Damage
    loaded: Loaded | None
    """All that can be read; ``None`` if the header and its copy are both lost, so that nothing can be folded, or if a
    rescan found that what was durable is gone."""

    def __str__(self) -> str:
        if self.loaded is not None:
            return f"session {self.session_id!r} opens read-only. {self.loaded.recovery.next_check}"
        return (
            f"session {self.session_id!r} cannot be read: {self.damage.file} at byte {self.damage.offset}: "
            f"{self.damage.found}. Restore that file; nothing was changed."
        )


@attrs.define(eq=False)
class StorageFailed(StoreError):
    """The storage did not do what it was asked; what was recorded before still stands."""

    kind: StorageAct
    errno: int
    """The operating system's error number; 0 if it gave none."""
    path: str
    found: str
    """What was found, beyond the error itself; may be empty."""

    def __str__(self) -> str:
        reason = f"{os.strerror(self.errno)} ({errnos.errorcode.get(self.errno, self.errno)})" if self.errno else ""
        detail = "; ".join(part for part in (reason, self.found) if part)
        return f"storage unavailable: {self.kind} failed at {self.path}: {detail}."


class Journal(Protocol):
    """The one writer's handle on a session. Used from one event loop; its methods may overlap."""

    @property
    def session_id(self) -> str:
        """The id it was opened under."""

    @property
    def loaded(self) -> Loaded:
        """What was found when it was opened; not updated by appends."""

    @property
    def last_seq(self) -> int:
        """Seq of the last event appended through this handle or loaded."""

    async def append(self, events: Sequence[tuple[int, bytes]]) -> None:
        """Record events, the first being ``last_seq + 1``, without forcing them to the disk.

        Raises ``StorageFailed``; ``ValueError`` for a wrong seq or a payload that is no single-line JSON object.
        """

    async def sync(self) -> int:
        """Force everything appended so far to the disk; return the last durable seq. Not interrupted by cancellation.

        Raises ``StorageFailed``.
        """

    async def rescan(self) -> int:
        """After a failure: read what is there, seal it, and return the seq after which to append again.

        That is the last seq known to be durable: after a failed sync nobody knows what the disk has of the rest.
        Raises ``StorageFailed`` (try again later) or ``SessionDamaged``.
        """

    def snapshot_due(self) -> bool:
        """True once enough was appended since the last snapshot that another one keeps total writing linear."""

    async def snapshot(self, seq: int, body: bytes) -> None:
        """Keep a snapshot of the state after the appended event ``seq``.

        Raises ``StorageFailed``; the journal stays usable.
        """

    async def reject(self, record: bytes) -> None:
        """Add to the session's bounded list of rejections; the oldest are dropped first.

        Raises ``StorageFailed``; the journal stays usable.
        """

    async def keep(self, name: str, data: bytes) -> str:
        """Keep bytes durably beside the journal; return their place, for ``Store.kept``.

        The place contains a digest: the same bytes under the same name are kept once, others never replace them.
        Raises ``UnsafeName`` or ``StorageFailed``; the journal stays usable.
        """

    async def close(self) -> None:
        """Release the lock; what was not synced is left to the operating system. Closing twice is fine."""


class Store(Protocol):
    """A place with sessions."""

    async def create(self, session_id: str, header: bytes) -> Journal:
        """Begin a session. Raises ``SessionExists``, ``SessionLocked``, ``UnsafeName``, ``StorageFailed``."""

    async def open(self, session_id: str, *, accept_gap: str | None = None) -> Journal:
        """Take the lock and load. ``accept_gap`` names who accepts that what lies behind a damage is never folded.

        Raises ``SessionUnknown``, ``SessionLocked``, ``SchemaTooNew``, ``SessionDamaged``, ``UnsafeName``,
        ``StorageFailed``.
        """

    async def read(self, session_id: str, *, from_start: bool = False) -> Loaded:
        """Load without lock and without writing, also what is locked or damaged.

        ``from_start``: all events and no snapshot.

        Raises ``SessionUnknown``, ``SchemaTooNew``, ``UnsafeName``, ``StorageFailed``, and ``SessionDamaged`` if the
        header is lost.
        """

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """Every session, ordered by id; one that cannot be opened is listed with its problem."""

    async def rejections(self, session_id: str) -> tuple[bytes, ...]:
        """The newest recorded rejections, oldest first.

        Raises ``SessionUnknown``, ``UnsafeName``, ``StorageFailed``.
        """

    async def kept(self, session_id: str, place: str) -> bytes:
        """The bytes kept under a place that ``keep`` returned. Raises ``UnsafeName``, ``StorageFailed``."""
