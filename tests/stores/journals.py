"""Journals on disk for tests to damage: made once, copied, opened, compared."""

from __future__ import annotations

import shutil
from pathlib import Path

from interpreters.stores import FileStore
from interpreters.stores.chain import Chain, follow, scan
from interpreters.stores.content import Held
from interpreters.stores.lines import First, opening_line

HEADER = b'{"config":{"tools":["a"]},"at":1}'
FIRST = "segment-000001.ndjson"
SECOND = "segment-000002.ndjson"
THIRD = "segment-000003.ndjson"
COPY = opening_line("s1", 1, First(HEADER))


def event(seq: int, text: str = "") -> tuple[int, bytes]:
    """A small event whose payload says its seq, and that looks a little like a line of the journal."""
    return seq, b'{"n":%d,"x":{"seq":%d,"event":1,"crc":"00000000"},"t":"%b"}' % (seq, seq, text.encode())


def events(first: int, last: int) -> list[tuple[int, bytes]]:
    """Several of them."""
    return [event(seq) for seq in range(first, last + 1)]


async def write(root: Path, last: int, *, segment_max: int = 1 << 20, snapshots: tuple[int, ...] = ()) -> Path:
    """Write session s1 with events 1 to ``last``, one append and one sync each; return its directory."""
    journal = await FileStore(root, segment_max=segment_max).create("s1", HEADER)
    for seq in range(1, last + 1):
        await journal.append([event(seq)])
        await journal.sync()
        if seq in snapshots:
            await journal.snapshot(seq, b'{"state":%d}' % seq)
    await journal.close()
    return root / "s1"


def copy(session: Path, root: Path) -> Path:
    """Copy a session under another root; return its new directory."""
    return shutil.copytree(session, root / session.name)


def segments(session: Path) -> dict[str, bytes]:
    """The bytes of every segment."""
    return {path.name: path.read_bytes() for path in sorted(session.glob("segment-*"))}


def chain_of(*data: bytes, header_copy: bytes | None = None) -> Chain:
    """Follow segments given as bytes."""
    return follow(
        [scan("s1", number, Held(each), header_copy if number == 1 else None) for number, each in enumerate(data, 1)]
    )


def flip(path: Path, offset: int, mask: int = 1) -> None:
    """Change one byte of a file."""
    data = bytearray(path.read_bytes())
    data[offset] ^= mask
    path.write_bytes(data)


def flip_event(session: Path, seq: int) -> None:
    """Change one byte of the payload of an event, wherever it is written first."""
    for path in sorted(session.glob("segment-*")):
        at = path.read_bytes().find(event(seq)[1])
        if at >= 0:
            flip(path, at + 5)
            return
    raise LookupError(seq)
