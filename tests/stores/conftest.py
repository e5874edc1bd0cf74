"""Both kinds of store behind one harness, so that one suite of tests runs against each."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from interpreters.stores import FileStore, MemoryStore
from interpreters.support import osio
from tests.stores.faults import Faults


@pytest.fixture
def faults(monkeypatch) -> Faults:
    """Replace the kill points by ones that can raise."""
    points = Faults()
    monkeypatch.setattr(osio, "POINTS", points)
    return points


class MemoryHarness:
    """A store in memory, and what can happen to it."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    async def crash(self, *journals) -> None:
        """Everything that was not synced is gone, and so are the handles."""
        self.store.crash()

    def fail_next(self, act: str, times: int = 1) -> None:
        """Let the next calls fail."""
        self.store.fail_next(act, times)


class FileHarness:
    """A store on the real disk, and what can happen to it."""

    def __init__(self, root: Path, faults: Faults) -> None:
        self.store = FileStore(root, segment_max=400)
        self._root = root
        self._faults = faults

    async def crash(self, *journals) -> None:
        """Everything that was not synced is gone, and so are the handles."""
        for journal in journals:
            durable = journal._writer._durable
            await journal.close()
            for path in sorted((self._root / journal.session_id).glob("segment-*")):
                if int(path.stem[-6:]) == durable.segment:
                    os.truncate(path, durable.offset)
                if int(path.stem[-6:]) > durable.segment:
                    path.unlink()

    def fail_next(self, act: str, times: int = 1) -> None:
        """Let the next calls fail."""
        point = {"append": "write:before", "sync": "sync:before", "rescan": "sync:before"}.get(act, "open:before")
        self._faults.fail_next(point, errno.EIO, times)


@pytest.fixture(params=["files", "memory"])
def harness(request, tmp_path, faults) -> FileHarness | MemoryHarness:
    """One store of each kind, empty."""
    return FileHarness(tmp_path / "root", faults) if request.param == "files" else MemoryHarness()


@pytest.fixture
def store(harness) -> FileStore | MemoryStore:
    """The store of the harness."""
    return harness.store
