"""The directory of one session: its names, and how files get into it. Blocking; errors leave as ``OSError``."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import attrs

from interpreters.stores.chain import Chain, Segment, follow, scan, segment_name
from interpreters.stores.content import Content, Held, on_disk
from interpreters.stores.lines import SCHEMA, Newer
from interpreters.stores.rules import check_name, digest
from interpreters.support import osio
from interpreters.support.ports_store import Damage, SchemaTooNew, SessionDamaged, SessionUnfinished, SessionUnknown

HEADER_COPY = "header.copy"
"""Name of the copy of the header line."""

_SEGMENT = re.compile(r"segment-(\d{6,})\.ndjson")


class Folder:
    """One session's directory. Raises ``UnsafeName`` if the id cannot name one."""

    def __init__(self, root: Path, session_id: str) -> None:
        check_name("the session id", session_id)
        self.session_id = session_id
        self.root = root
        self.path = root / session_id

    def segment_path(self, number: int) -> Path:
        """Where segment ``number`` is."""
        return self.path / segment_name(number)

    def make(self) -> None:
        """Make the directory and those above it; the names of the new ones are durable."""
        new = [path for path in (self.path, *self.path.parents) if not osio.is_there(path)]
        osio.make_directory(self.path)
        for path in new:
            osio.sync_directory(path.parent)

    def names(self) -> tuple[str, ...]:
        """All names in the directory. Raises ``SessionUnknown``."""
        try:
            return osio.list_names(self.path)
        except (FileNotFoundError, NotADirectoryError):
            raise SessionUnknown(self.session_id, str(self.root)) from None

    def numbers(self) -> list[int]:
        """The numbers of the segments there are, ascending. Raises ``SessionUnknown``."""
        found = (_SEGMENT.fullmatch(name) for name in self.names())
        return sorted(int(match[1]) for match in found if match and segment_name(int(match[1])) == match[0])

    def header_copy(self) -> bytes | None:
        """The copy of the header line, unchecked; ``None`` if there is none."""
        try:
            return osio.read_file(self.path / HEADER_COPY)
        except FileNotFoundError:
            return None

    def load(self) -> Chain:
        """Read the journal.

        Raises ``SessionUnknown``, ``SessionUnfinished``, ``SchemaTooNew``; ``SessionDamaged`` if the header is lost.
        """
        numbers = self.numbers()
        # A first segment that is missing is one without a byte: its header may still be known from the copy.
        segments = [] if 1 in numbers else [self.scan(1, Held(b""))]
        segments += [self.scan(number, on_disk(self.segment_path(number))) for number in numbers]
        first = segments[0]
        if first.opening is not None:
            return follow(segments)
        if all(segment.silent for segment in segments):
            raise SessionUnfinished(self.session_id, str(self.path))
        length = first.flaw.length if first.flaw else 0
        found = f"an unreadable header, and no good copy of it in {HEADER_COPY}"
        raise SessionDamaged(self.session_id, Damage("middle", segment_name(1), 0, length, found), None)

    def scan(self, number: int, content: Content) -> Segment:
        """Read a segment; the first one with the help of the header's copy. Raises ``SchemaTooNew``."""
        try:
            return scan(self.session_id, number, content, self.header_copy() if number == 1 else None)
        except Newer as error:
            raise SchemaTooNew(self.session_id, segment_name(number), error.args[0], SCHEMA) from None

    def create_segment(self, number: int, line: bytes) -> int:
        """Make a segment that must not exist, with its first line; return its descriptor.

        If that fails nothing was recorded in it, so it is removed: a full disk does not fill up with beginnings.
        """
        path = self.segment_path(number)
        descriptor = osio.open_new(path)
        try:
            osio.write_all(descriptor, line)
        except BaseException:
            osio.close(descriptor)
            with contextlib.suppress(OSError):
                osio.remove(path)
            raise
        return descriptor

    def open_segment(self, number: int) -> int:
        """Open a segment for writing behind its end."""
        return osio.open_file(self.segment_path(number), os.O_WRONLY | os.O_APPEND)

    def set_aside(self, damage: Damage, data: bytes) -> Damage:
        """Copy damaged bytes, durably; return the damage with the place of the copy."""
        place = _aside(damage.file, damage.offset, data)
        self.publish(place, data, durable=True)
        return attrs.evolve(damage, set_aside=place)

    def move_aside(self, number: int) -> None:
        """Move a segment out of the way of a new one with its number, durably."""
        source = self.segment_path(number)
        target = self.path / _aside(source.name, 0, osio.read_file(source))
        osio.make_directory(target.parent)
        osio.rename(source, target)
        osio.sync_directory(target.parent)
        osio.sync_directory(self.path)

    def publish(self, place: str, data: bytes, *, durable: bool) -> None:
        """Write a file so that its name never stands for a part of it; replace one that has the name."""
        target = self.path / place
        osio.make_directory(target.parent)
        draft = target.with_name(f".{target.name}.draft")
        descriptor = osio.open_file(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            osio.write_all(descriptor, data)
            if durable:
                osio.sync(descriptor)
        finally:
            osio.close(descriptor)
        osio.rename(draft, target)
        if durable:
            osio.sync_directory(target.parent)
            osio.sync_directory(self.path)

    def sync_names(self) -> None:
        """Make the session's directory, and every name in it, durable."""
        osio.sync_directory(self.path)
        osio.sync_directory(self.root)


def _aside(file: str, offset: int, data: bytes) -> str:
    return f"aside/{file}-at-{offset}-{digest(data)}"
