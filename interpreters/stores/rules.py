"""What every store checks and counts in the same way."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence

import attrs

from interpreters.support.ports_store import UnsafeName

SNAPSHOT_MIN = 1 << 16
"""Bytes of events before the first snapshot: below this, replaying them costs less than keeping one."""

SNAPSHOTS_KEPT = 2
"""The newest snapshot, and one before it in case the newest cannot be read."""

REJECTIONS_MAX = 1 << 18
"""Bytes of rejections after which the older half is dropped."""

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_KEPT = re.compile(r"kept/([A-Za-z0-9][A-Za-z0-9._-]{0,99}-[0-9a-f]{16})")


def check_name(what: str, name: str) -> None:
    """Raise ``UnsafeName`` unless a name from outside can be the name of a file, in this directory and no other."""
    if not _SAFE.fullmatch(name):
        raise UnsafeName(what, name)


def kept_place(name: str, data: bytes) -> str:
    """Return the place of kept bytes. Raises ``UnsafeName``."""
    check_name("the output name", name)
    return f"kept/{name}-{digest(data)}"


def check_place(place: str) -> None:
    """Raise ``UnsafeName`` unless ``kept_place`` can have made it."""
    if not _KEPT.fullmatch(place):
        raise UnsafeName("the place", place)


def digest(data: bytes) -> str:
    """Return the beginning of the SHA-256: enough to tell apart what is kept under one name."""
    return hashlib.sha256(data).hexdigest()[:16]


def check_object(what: str, payload: bytes) -> None:
    """Raise ``ValueError`` unless the bytes can be a JSON object on one line; they are not parsed."""
    if payload[:1] != b"{" or payload[-1:] != b"}" or b"\n" in payload:
        raise ValueError(f"{what} is not a JSON object on one line: {payload[:60]!r}")


def check_events(events: Sequence[tuple[int, bytes]], last_seq: int) -> None:
    """Raise ``ValueError`` unless the events are well-formed and follow ``last_seq`` without a hole."""
    for expected, (seq, payload) in enumerate(events, last_seq + 1):
        if seq != expected:
            raise ValueError(f"seq {seq} cannot be appended where {expected} is the next one")
        check_object(f"event {seq}", payload)


def check_snapshot(seq: int, last_seq: int) -> None:
    """Raise ``ValueError`` unless a snapshot after event ``seq`` can be kept."""
    if not 1 <= seq <= last_seq:
        raise ValueError(f"a snapshot after event {seq} cannot be kept; the events are 1 to {last_seq}")


def check_acceptance(accept_gap: str | None) -> None:
    """Raise ``ValueError`` if a gap is accepted by nobody."""
    if accept_gap is not None and not accept_gap.strip():
        raise ValueError("accept_gap names who accepts the gap; it is empty")


def bounded_rejection(record: bytes) -> bytes:
    """Return the record, or a note in its place if it is too long to be kept. Raises ``ValueError``."""
    check_object("a rejection", record)
    return record if len(record) <= REJECTIONS_MAX else json.dumps({"too_long_bytes": len(record)}).encode()


def length_of(events: Iterable[tuple[int, bytes]]) -> int:
    """Bytes of payload of some events."""
    return sum(len(payload) for _, payload in events)


@attrs.define
class Spacing:
    """When the next snapshot is due.

    One is due when as many bytes of events were appended as the last snapshot was long, and at least ``SNAPSHOT_MIN``.
    So all snapshots but the last together are no longer than the events, and total writing stays linear however long
    the session and however large its state.
    """

    appended: int = 0
    """Bytes of payload since the last snapshot."""
    last_size: int = 0
    """Bytes of the last snapshot; 0 if there is none."""

    def add(self, events: Sequence[tuple[int, bytes]]) -> None:
        """Count what was appended."""
        self.appended += length_of(events)

    def start_over(self, size: int) -> None:
        """Count from here, where a snapshot of that size is taken."""
        self.appended, self.last_size = 0, size

    @property
    def due(self) -> bool:
        """True if a snapshot may be taken now."""
        return self.appended >= max(SNAPSHOT_MIN, self.last_size)
