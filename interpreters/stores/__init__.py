"""Where sessions are kept: on the local disk, or in memory.

Both keep the promises of ``interpreters.support.ports_store`` and pass the same tests.

A ``FileStore`` has one directory for each session::

    segment-000001.ndjson    the journal: the header line, then one line for each event; rotated by size
    header.copy              the header line again, should the first one become unreadable
    snapshot-000000000042.json   the state after event 42; the two newest are kept; only a cache
    rejections.ndjson        events that were not legal; bounded, with rejections.old.ndjson
    kept/                    full outputs of which the journal has only a part
    aside/                   byte-for-byte copies of what a crash cut off
    lock                     held by the one writer, and says who that is

Read ``lines`` for the format, ``chain`` for how damage is told from a crash, ``writer`` for what becomes durable when.
"""

from __future__ import annotations

from interpreters.stores.files import FileStore
from interpreters.stores.memory import MemoryStore

__all__ = ["FileStore", "MemoryStore"]
