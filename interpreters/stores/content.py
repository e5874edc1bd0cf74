"""The bytes of a segment, wherever they are, line by line: of a journal of any length one line is held at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import attrs

from interpreters.support import osio


class Content(Protocol):
    """Bytes that can be gone through from any place, and more than once."""

    @property
    def size(self) -> int:
        """How many there are."""

    def pieces(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes from one offset to another, in pieces of any length."""


@attrs.frozen
class Held:
    """Bytes in memory."""

    data: bytes
    """All of them."""

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.data)

    def pieces(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield them at once."""
        yield self.data[start:stop]


@attrs.frozen
class OnDisk:
    """The first bytes of a file; what is added to it later is none of them."""

    path: Path
    """The file."""
    size: int
    """How long it was when it was looked at."""

    def pieces(self, start: int, stop: int) -> Iterator[bytes]:
        """Read them as they are wanted. Raises ``OSError``."""
        return osio.read_pieces(self.path, start, stop)


def on_disk(path: Path) -> OnDisk:
    """Return a file as it is now. Raises ``OSError``."""
    return OnDisk(path, osio.length_of(path))


class Line(NamedTuple):
    r"""A line without its ``\n``."""

    at: int
    r"""Offset of its first byte."""
    text: bytes
    """The line."""
    ended: bool
    r"""Whether a ``\n`` ends it; only the last line may have none."""

    @property
    def end(self) -> int:
        """Offset behind it."""
        return self.at + len(self.text) + self.ended


def lines(content: Content, at: int = 0) -> Iterator[Line]:
    """Yield the lines from an offset on. Raises ``OSError``."""
    parts: list[bytes] = []
    for piece in content.pieces(at, content.size):
        begin = 0
        while (stop := piece.find(b"\n", begin)) >= 0:
            text = b"".join((*parts, piece[begin:stop]))
            parts.clear()
            yield Line(at, text, ended=True)
            at += len(text) + 1
            begin = stop + 1
        if begin < len(piece):
            parts.append(piece[begin:])
    if parts:
        yield Line(at, b"".join(parts), ended=False)


def read(content: Content, start: int, stop: int) -> bytes:
    """Return the bytes from one offset to another. Raises ``OSError``."""
    return b"".join(content.pieces(start, stop))
