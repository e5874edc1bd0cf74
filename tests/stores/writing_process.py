"""A process that uses a store as an engine does, to be killed. Run as a program: ``writing_process.py ROOT``.

Each line it prints is something it was promised: ``durable SEQ``, ``kept PLACE``; ``done`` is the last.
"""

from __future__ import annotations

import sys

import anyio

from interpreters.stores import FileStore
from interpreters.support.ports_store import SessionUnknown

LAST = 14


def event(seq: int) -> tuple[int, bytes]:
    """The event every run records under this seq."""
    return seq, b'{"n":%d,"text":"%b"}' % (seq, b"x" * (seq * 7))


def promise(text: str) -> None:
    """Say what may be relied on from here."""
    print(text, flush=True)


async def main(root: str) -> None:
    """Go on from wherever an earlier run was killed, to the last event."""
    store = FileStore(root, segment_max=300)
    try:
        journal = await store.open("s1")
    except SessionUnknown:
        journal = await store.create("s1", b'{"header":true}')
    promise(f"durable {journal.last_seq}")
    for seq in range(journal.last_seq + 1, LAST + 1):
        await journal.append([event(seq)])
        if seq % 3 == 0 or seq == LAST:
            promise(f"durable {await journal.sync()}")
        if seq in (4, 7, 10):
            await journal.snapshot(seq, b'{"state":%d}' % seq)
    await journal.reject(b'{"no":1}')
    promise("kept " + await journal.keep("out", b"data" * 100))
    await journal.close()
    promise("done")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
