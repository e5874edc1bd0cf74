"""Replacing a file at most once, however often its writer is killed, paused or asked about.

The attempt, holding the lock of its note:

1. reads its note; a mark that it was voided ends it here,
2. reads the file, works out the new content, and notes the digest of both, durably,
3. writes the content to a file beside the target, forces it to the disk, renames it over the target, forces the
   directory to the disk, and notes that it is done.

An inspection takes the same lock. If it cannot, the attempt is still running (or paused, which is the same: it may
go on). If it can, the attempt is dead, has ended or has not begun, and the file tells: the digest *after* means done;
the digest *before* means not done, and a mark in the note keeps the attempt from ever doing it; anything else was
written by somebody later, and nobody can tell what had been there between.

Why a lock and not a look: a worker that was paused between 1 and 3 would write after somebody had looked, found
nothing and done the work again. With the lock it cannot be between 1 and 3 while somebody looks.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from typing import Any

import attrs

from agentcore.messages import digest
from interpreters.support import osio
from interpreters.tools.errors import OutcomeUnknown, ToolError
from interpreters.tools.findings import Found, executed, not_executed, still_running
from interpreters.tools.notes import Note, Notes
from interpreters.tools.root import Root

ABSENT = "absent"
"""Stands for the digest of a file that is not there."""

_WAIT_S = 10.0
_CHUNK = 1 << 20


@attrs.frozen
class Content:
    """What a file is to hold."""

    data: bytes
    """Its bytes."""
    says: str
    """What the model is told when it is done."""


@attrs.frozen
class Written:
    """A file that was replaced."""

    says: str
    """What the model is told."""
    version: str
    """SHA-256 of the content."""


@attrs.frozen
class Place:
    """Where files are written, and where the notes of it are."""

    root: Root
    """The tree of the files."""
    notes: Notes
    """The notes of the attempts."""


Make = Callable[[int | None], Content]
"""Gives the new content, from a descriptor of the present file, ``None`` if there is none; may raise ``ToolError``."""


def replace(place: Place, key: str, parts: tuple[str, ...], make: Make, *, create: bool) -> Written:
    """Replace the file at ``parts`` in the attempt ``key``; with ``create`` missing directories are made.

    ``ToolError`` means that nothing was written, ``OutcomeUnknown`` that this cannot be said.
    """
    path = "/".join(parts)
    with place.notes.held(key, _WAIT_S) as note:
        if note is None:
            raise OutcomeUnknown("another worker is busy with this very attempt", target=path)
        if note.find("voided"):
            raise ToolError("an inspection had voided this attempt before it began; it did nothing", kind="voided")
        if note.find("intended"):
            return _begun_before(place, note)
        with place.notes.target(path, _WAIT_S) as free, place.root.directory(parts[:-1], create=create) as inside:
            if not free:
                raise ToolError(
                    f"{path!r} is being written by another call; try again when that has ended", kind="busy"
                )
            return _replace(place, note, inside, parts, make)


def _begun_before(place: Place, note: Note) -> Written:
    """Answer for an attempt that is run a second time: it is looked at, never begun again."""
    intended = note.find("intended") or {}
    if note.find("written") or digest_of(place.root, tuple(intended["path"])) == intended["after"]:
        return Written(intended["says"], intended["after"])
    raise OutcomeUnknown(
        "this attempt had been begun before, and was not seen to end", target="/".join(intended["path"])
    )


def _replace(place: Place, note: Note, inside: int, parts: tuple[str, ...], make: Make) -> Written:
    temporary = temporary_name(note.key)
    try:
        before, mode, content = _read(place.root, inside, parts, make)
        after = hashlib.sha256(content.data).hexdigest()
        note.add("intended", path=list(parts), before=before, after=after, says=content.says)
        _write_beside(inside, temporary, content.data, mode)
    except OSError as error:
        _remove(inside, temporary)
        raise ToolError(f"nothing was written: {error.strerror or error}", kind="not-written") from error
    try:
        osio.rename(temporary, parts[-1], source_fd=inside, target_fd=inside)
        osio.sync(inside)
    except OSError as error:
        raise OutcomeUnknown(f"replacing the file broke off: {error.strerror}", target="/".join(parts)) from error
    with contextlib.suppress(OSError):  # the deed is done and can be seen; the note only saves the looking
        note.add("written")
    return Written(content.says, after)


def _read(root: Root, inside: int, parts: tuple[str, ...], make: Make) -> tuple[str, int | None, Content]:
    """Return the digest and mode of what is there, and what shall be there."""
    try:
        descriptor = root.file_in(inside, parts)
    except ToolError as error:
        if error.kind != "not-found":
            raise
        return ABSENT, None, make(None)
    try:
        before = _digest(descriptor)
        osio.rewind(descriptor)
        return before, osio.mode_of(descriptor), make(descriptor)
    finally:
        osio.close(descriptor)


def _write_beside(inside: int, name: str, data: bytes, mode: int | None) -> None:
    descriptor = osio.open_new(name, 0o666, dir_fd=inside)
    try:
        osio.write_all(descriptor, data)
        if mode is not None:
            osio.set_mode(descriptor, mode)
        osio.sync(descriptor)
    finally:
        osio.close(descriptor)


def inspect(place: Place, key: str) -> Found:
    """Say what became of the attempt ``key``, and see to it that the answer stays true."""
    with place.notes.held(key, 0) as note:
        if note is None:
            return still_running("the attempt holds its lock: it is writing, or paused while writing")
        intended = note.find("intended")
        voided = note.find("voided")
        if voided:
            return not_executed(voided["why"], conclusive=voided["conclusive"])
        if intended is None:
            return _void(note, "the attempt had not begun to write; it is voided", conclusive=True)
        return _look(place, note, intended)


def _look(place: Place, note: Note, intended: dict[str, Any]) -> Found:
    """Compare the file with what the attempt was about to do."""
    parts, says, after = tuple(intended["path"]), intended["says"], intended["after"]
    path = "/".join(parts)
    if note.find("written"):
        return executed(says, evidence=f"the attempt noted that it had written {path!r}")
    now = digest_of(place.root, parts)
    if now == after:
        note.add("written")
        return executed(says, evidence=f"{path!r} has the content the attempt was to write, SHA-256 {after}")
    with contextlib.suppress(OSError, ToolError), place.root.directory(parts[:-1]) as inside:
        _remove(inside, temporary_name(note.key))
    if now == intended["before"]:
        return _void(note, f"{path!r} is as it was before the attempt, which is voided", conclusive=True)
    return _void(note, f"{path!r} is neither as before nor as it was to be: {now}", conclusive=False)


def _void(note: Note, why: str, *, conclusive: bool) -> Found:
    note.add("voided", why=why, conclusive=conclusive)
    return not_executed(why, conclusive=conclusive)


def digest_of(root: Root, parts: tuple[str, ...]) -> str:
    """Return the SHA-256 of a file, ``absent``, or what else is there in words."""
    try:
        with root.file(parts) as descriptor:
            return _digest(descriptor)
    except ToolError as error:
        return ABSENT if error.kind == "not-found" else str(error)


def temporary_name(key: str) -> str:
    """Return the name of the file an attempt writes beside its target."""
    return f".agentcore-{digest(key)[:16]}.tmp"


def _digest(descriptor: int) -> str:
    found = hashlib.sha256()
    while piece := osio.read_some(descriptor, _CHUNK):
        found.update(piece)
    return found.hexdigest()


def _remove(inside: int, name: str) -> None:
    with contextlib.suppress(OSError):
        osio.remove(name, dir_fd=inside)
