"""Both kinds of store behind one harness, so that one suite of tests runs against each."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from interpreters.stores import FileStore, MemoryStore
from interpreters.support import osio
from interpreters.support.ports_store import StorageFailed
from tests.stores.faults import Faults


@pytest.fixture
def faults(monkeypatch) -> Faults:
    """Replace the kill points by ones that can raise."""
    points = Faults()
    monkeypatch.setattr(osio, "POINTS", points)
    return points


@pytest.fixture
def patient_disk(monkeypatch) -> None:
    """Let no sync wait for the disk, where thousands are made and what reaches it is not the question."""
    monkeypatch.setattr(os, "fsync", os.fstat)


async def record_sync(journal, reached: list[int | StorageFailed]) -> None:
    """Sync, and put the answer or the failure into the list."""
    try:
        reached.append(await journal.sync())
    except StorageFailed as error:
        reached.append(error)


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

    @asynccontextmanager
    async def sync_under_way(self, journal) -> AsyncIterator[list[int | StorageFailed]]:
        """Run the block between the beginning and the end of a sync; its answer is in the list afterwards."""
        reached: list[int | StorageFailed] = []
        begun, go_on = anyio.Event(), anyio.Event()

        async def wait() -> None:
            begun.set()
            await go_on.wait()

        with pytest.MonkeyPatch.context() as patch:
            async with anyio.create_task_group() as group:
                patch.setattr(anyio.lowlevel, "cancel_shielded_checkpoint", wait)
                group.start_soon(record_sync, journal, reached)
                await begun.wait()
                yield reached
                go_on.set()


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

    @asynccontextmanager
    async def sync_under_way(self, journal) -> AsyncIterator[list[int | StorageFailed]]:
        """Run the block between the beginning and the end of a sync; its answer is in the list afterwards."""
        reached: list[int | StorageFailed] = []
        begun, go_on = threading.Event(), threading.Event()
        sync = osio.sync

        def sync_slowly(descriptor: int) -> None:
            begun.set()
            assert go_on.wait(10)
            sync(descriptor)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(osio, "sync", sync_slowly)
            async with anyio.create_task_group() as group:
                group.start_soon(record_sync, journal, reached)
                assert await anyio.to_thread.run_sync(begun.wait, 10)
                yield reached
                go_on.set()

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
