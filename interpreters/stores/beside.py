"""What a session keeps beside its journal: snapshots, rejections, full outputs. Blocking; errors leave as ``OSError``.

None of it decides anything: without all of it the session loads the same state.
"""

from __future__ import annotations

import hashlib
import json
import re

from interpreters.stores.chain import Chain
from interpreters.stores.folder import Folder
from interpreters.stores.lines import SCHEMA, seal, unseal
from interpreters.stores.rules import REJECTIONS_MAX, SNAPSHOTS_KEPT, check_place, kept_place
from interpreters.support import osio

_SNAPSHOT = re.compile(r"snapshot-(\d{12,})\.json")
_REJECTIONS = "rejections.ndjson"
_OLD_REJECTIONS = "rejections.old.ndjson"
_REJECTION = b'{"rejection":'


def write_snapshot(folder: Folder, segment: int, seq: int, body: bytes) -> None:
    """Keep the state after event ``seq``, which stands in ``segment``; drop all but the newest snapshots.

    It is not forced to the disk: its digest shows whether it arrived there.
    """
    record = {"schema": SCHEMA, "session": folder.session_id, "segment": segment, "seq": seq}
    record["sha256"] = hashlib.sha256(body).hexdigest()
    first_line = seal(json.dumps(record, separators=(",", ":"))[:-1].encode())
    folder.publish(f"snapshot-{seq:012d}.json", first_line + body, durable=False)
    for old in _snapshot_names(folder)[SNAPSHOTS_KEPT:]:
        osio.remove(folder.path / old)


def newest_snapshot(folder: Folder, chain: Chain) -> tuple[int, bytes] | None:
    """Seq and body of the newest snapshot that is whole and whose last event is part of the journal.

    A snapshot names the segment of that event: after an accepted gap or a failed write the same seq is used again.
    """
    for name in _snapshot_names(folder):
        try:
            first_line, _, body = osio.read_file(folder.path / name).partition(b"\n")
        except FileNotFoundError:
            continue
        place = _read_snapshot(folder.session_id, first_line, body)
        if place and chain.reaches(*place):
            return place[1], body
    return None


def _snapshot_names(folder: Folder) -> list[str]:
    """Names of all snapshots, newest first."""
    found = (_SNAPSHOT.fullmatch(name) for name in folder.names())
    return [match[0] for match in sorted((m for m in found if m), key=lambda m: int(m[1]), reverse=True)]


def _read_snapshot(session_id: str, first_line: bytes, body: bytes) -> tuple[int, int] | None:
    """Segment and seq of a snapshot; ``None`` if it is damaged, of another session or of another schema."""
    if unseal(first_line) is None:
        return None
    record = json.loads(first_line)
    expected = {"schema": SCHEMA, "session": session_id, "sha256": hashlib.sha256(body).hexdigest()}
    if any(record.get(key) != value for key, value in expected.items()):
        return None
    return int(record["segment"]), int(record["seq"])


def add_rejection(folder: Folder, record: bytes) -> None:
    """Add to the rejections; when the file is full it takes the place of the older one."""
    line = seal(_REJECTION + record)
    path = folder.path / _REJECTIONS
    descriptor = osio.open_shared(path)
    try:
        size = osio.size_of(descriptor)
        # The empty line parts this record from a fragment that a crash may have left; readers skip both.
        osio.write_all(descriptor, b"\n" + line if size else line)
    finally:
        osio.close(descriptor)
    if size + len(line) > REJECTIONS_MAX:
        osio.rename(path, folder.path / _OLD_REJECTIONS)


def read_rejections(folder: Folder) -> tuple[bytes, ...]:
    """All rejections that are kept, oldest first."""
    found = folder.names()
    lines = [
        line
        for name in (_OLD_REJECTIONS, _REJECTIONS)
        if name in found
        for line in osio.read_file(folder.path / name).split(b"\n")
    ]
    bodies = (body for line in lines if (body := unseal(line)) is not None)
    return tuple(body.removeprefix(_REJECTION) for body in bodies)


def keep(folder: Folder, name: str, data: bytes) -> str:
    """Keep bytes durably; return their place. Raises ``UnsafeName``."""
    place = kept_place(name, data)
    folder.publish(place, data, durable=True)
    return place


def read_kept(folder: Folder, place: str) -> bytes:
    """The bytes kept under a place. Raises ``UnsafeName``, ``SessionUnknown``."""
    check_place(place)
    folder.names()
    return osio.read_file(folder.path / place)
