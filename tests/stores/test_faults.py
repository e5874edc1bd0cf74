"""The operating system fails: at every single call, for good, half way through a write."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from pathlib import Path

import anyio
import pytest

from interpreters.stores import FileStore
from interpreters.stores.lines import event_line
from interpreters.support import osio
from interpreters.support.ports_store import SessionExists, SessionUnknown, StorageFailed
from tests.stores.journals import FIRST, HEADER, event, events, segments, write

pytestmark = pytest.mark.usefixtures("patient_disk")

LAST = 10


class Host:
    """Uses a store as an engine does: keeps what is not durable, and after a failure rescans and appends it again."""

    def __init__(self, store: FileStore) -> None:
        self.store = store
        self.durable = 0
        self.failures: list[StorageFailed] = []
        self.journal = None

    async def begin(self) -> None:
        try:
            self.journal = await self.patiently(lambda: self.store.create("s1", HEADER))
        except SessionExists:
            # The creation that failed had got so far that the session is there.
            self.journal = await self.patiently(lambda: self.store.open("s1"))

    async def patiently(self, call, attempts: int = 3):
        for _ in range(attempts - 1):
            try:
                return await call()
            except StorageFailed as error:
                self.failures.append(error)
        return await call()

    async def record(self, seq: int) -> None:
        """Append one event; sync after every second one."""

        async def attempt() -> None:
            if self.failures_of_journal():
                await self.journal.rescan()
            await self.journal.append(events(self.journal.last_seq + 1, seq))
            if seq % 2 == 0:
                self.durable = await self.journal.sync()

        self.settled = len(self.failures)
        await self.patiently(attempt)

    def failures_of_journal(self) -> list[StorageFailed]:
        return self.failures[self.settled :]

    async def run(self) -> None:
        await self.begin()
        for seq in range(1, LAST + 1):
            await self.record(seq)
            if seq in (3, 5, 7):
                await self.aside(self.journal.snapshot(seq, b'{"state":%d}' % seq))
        await self.aside(self.journal.keep("out", b"x" * 100))
        await self.aside(self.journal.reject(b'{"no":1}'))
        await self.journal.close()

    async def aside(self, act) -> None:
        try:
            await act
        except StorageFailed as error:
            self.failures.append(error)


def descriptors() -> set[str]:
    """The files this process has open."""
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return {str(link.readlink()) for link in links if "s1" in str(link.readlink())}


def points_of_a_run(root, faults) -> list[str]:
    faults.seen.clear()
    anyio.run(Host(FileStore(root / "count", segment_max=300)).run)
    return list(faults.seen)


@pytest.mark.req("R-192", "R-193", "R-201")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_one_failure_at_any_call_loses_nothing(tmp_path, faults, code):
    points = points_of_a_run(tmp_path, faults)
    assert len(points) > 150
    assert {point.partition(":")[0] for point in points} >= {"open", "write", "sync", "rename", "mkdir", "lock"}
    untouched = {"truncate:before", "truncate:after"}
    silent = []

    async def check(number: int) -> None:
        host = Host(FileStore(tmp_path / str(number), segment_max=300))
        faults.fail_at(number, code)
        await host.run()
        if not host.failures:
            silent.append(points[number - 1])
        assert len(host.failures) <= 2, (number, host.failures)
        assert all(failure.errno == code for failure in host.failures[:1])
        loaded = await host.store.read("s1", from_start=True)
        assert tuple(loaded.events) == tuple(events(1, LAST)), (number, points[number - 1])
        assert loaded.recovery.damage is None
        assert (await host.store.read("s1")).recovery.last_seq == LAST
        shutil.rmtree(tmp_path / str(number))

    async def check_all() -> None:
        for number in range(1, len(points) + 1):
            before = descriptors()
            await check(number)
            # An open that succeeds and is then made to fail is the one thing no system does.
            assert descriptors() == before or points[number - 1] == "open:after"

    anyio.run(check_all)
    # Only courtesies may fail unheard: the holder's name in the lock, the copy of the header.
    assert untouched <= set(silent)
    assert len(silent) <= 20, silent


@pytest.mark.req("R-192")
@pytest.mark.parametrize("point", ["write:before", "sync:before", "open:before", "rename:before"])
def test_a_storage_that_fails_for_good_never_loses_what_it_called_durable(tmp_path, faults, point):
    points = points_of_a_run(tmp_path, faults)

    async def check(number: int) -> None:
        host = Host(FileStore(tmp_path / str(number), segment_max=300))
        faults.fail_from(number, errno.ENOSPC, point)
        with contextlib.suppress(StorageFailed):
            await host.run()
        if host.journal:
            await host.journal.close()
        faults.heal()
        try:
            journal = await host.store.open("s1")
        except SessionUnknown:
            journal = await host.store.create("s1", HEADER)
        last = journal.last_seq
        assert last >= host.durable
        await journal.append(events(last + 1, LAST + 1))
        await journal.sync()
        await journal.close()
        assert tuple((await host.store.read("s1", from_start=True)).events) == tuple(events(1, LAST + 1))
        shutil.rmtree(tmp_path / str(number))

    async def check_all() -> None:
        for number in range(1, len(points) + 1):
            if points[number - 1] == point:
                await check(number)

    anyio.run(check_all)


@pytest.mark.anyio
async def test_trying_again_and_again_on_a_full_disk_leaves_no_heap_of_files(tmp_path, faults):
    journal = await FileStore(tmp_path).create("s1", HEADER)
    await journal.append(events(1, 2))
    faults.fail_next("sync:before", errno.EIO)
    with pytest.raises(StorageFailed):
        await journal.sync()
    faults.fail_from(1, errno.ENOSPC, "write:before")
    for _ in range(10):
        with pytest.raises(StorageFailed, match="No space left"):
            await journal.rescan()
    assert list(segments(tmp_path / "s1")) == [FIRST]
    faults.heal()
    assert await journal.rescan() == 0


class Disk:
    """Stands in for ``os.write``: takes a part of what it is given, and may then fail."""

    def __init__(self, monkeypatch) -> None:
        self.limit = 1 << 30
        self.error: BaseException | None = None
        self._write = os.write
        monkeypatch.setattr(osio.os, "write", self.write)

    def write(self, descriptor: int, data: bytes) -> int:
        if self.limit <= 0 and self.error is not None:
            raise self.error
        taken = self._write(descriptor, bytes(data[: max(self.limit, 1)]))
        if self.error is not None:
            self.limit -= taken
        return taken


@pytest.mark.anyio
@pytest.mark.parametrize("size", [1, 7, 64])
async def test_short_writes_are_continued(tmp_path, monkeypatch, size):
    Disk(monkeypatch).limit = size
    host = Host(FileStore(tmp_path))
    await host.run()
    assert host.failures == []
    assert tuple((await host.store.read("s1", from_start=True)).events) == tuple(events(1, LAST))


@pytest.mark.anyio
@pytest.mark.req("R-203")
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()], ids=["full", "interrupt"])
async def test_a_write_that_ends_half_way_is_sealed_and_written_again(tmp_path, monkeypatch, error):
    """At every length of the part that was written."""
    line = len(event_line(*event(3)))
    disk = Disk(monkeypatch)
    for part in range(1, line + 1):
        store = FileStore(tmp_path / str(part))
        journal = await store.create("s1", HEADER)
        await journal.append(events(1, 2))
        await journal.sync()
        disk.limit, disk.error = part, error
        with pytest.raises((StorageFailed, KeyboardInterrupt)):
            await journal.append([event(3), event(4)])
        disk.limit, disk.error = 1 << 30, None
        session = tmp_path / str(part) / "s1"
        torn = segments(session)[FIRST]
        with pytest.raises(StorageFailed, match="rescan"):
            await journal.append([event(3)])
        assert await journal.rescan() == 2
        await journal.append(events(3, 5))
        await journal.sync()
        await journal.close()
        assert segments(session)[FIRST] == torn
        loaded = await store.read("s1")
        assert tuple(loaded.events) == tuple(events(1, 5))
        assert loaded.recovery.damage is None
        if part < line - 1:
            (kept,) = (session / "aside").iterdir()
            assert torn.endswith(kept.read_bytes())


@pytest.mark.anyio
async def test_after_a_failed_sync_the_doubtful_bytes_are_not_relied_on(tmp_path, faults):
    """What the system shows after a failed sync may never reach the disk; here it does not."""
    store = FileStore(tmp_path)
    journal = await store.create("s1", HEADER)
    await journal.append(events(1, 2))
    await journal.sync()
    durable = len(segments(tmp_path / "s1")[FIRST])
    await journal.append(events(3, 5))
    faults.fail_next("sync:before", errno.EIO)
    with pytest.raises(StorageFailed):
        await journal.sync()
    assert await journal.rescan() == 2
    await journal.append(events(3, 6))
    assert await journal.sync() == 6
    await journal.close()
    data = segments(tmp_path / "s1")[FIRST]
    for lost in (data, data[:durable], data[:durable] + bytes(len(data) - durable)):
        (tmp_path / "s1" / FIRST).write_bytes(lost)
        loaded = await store.read("s1")
        assert tuple(loaded.events) == tuple(events(1, 6))
        assert loaded.recovery.damage is None


@pytest.mark.anyio
@pytest.mark.parametrize("ask", ["open", "read"])
async def test_a_file_that_cannot_be_read_is_a_failure_and_no_damage(tmp_path, monkeypatch, ask):
    session = await write(tmp_path, 3)
    before = segments(session)

    def fail(descriptor):
        raise OSError(errno.EIO, "bad sector")

    store = FileStore(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(osio, "read_all", fail)
        with pytest.raises(StorageFailed, match=f"storage unavailable: {ask} failed at .*EIO"):
            await getattr(store, ask)("s1")
        assert "cannot be read" in (await store.sessions())[0].problem
    assert segments(session) == before
    assert (await store.open("s1")).last_seq == 3


@pytest.mark.anyio
async def test_a_failure_says_what_failed_where_and_why(tmp_path, faults):
    journal = await FileStore(tmp_path).create("s1", HEADER)
    faults.fail_next("write:before", errno.ENOSPC)
    with pytest.raises(StorageFailed) as caught:
        await journal.append([event(1)])
    assert (caught.value.kind, caught.value.errno) == ("append", errno.ENOSPC)
    assert caught.value.path == str(tmp_path / "s1" / FIRST)
    assert str(caught.value) == (
        f"storage unavailable: append failed at {caught.value.path}: No space left on device (ENOSPC)."
    )
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.anyio
async def test_a_root_that_is_no_directory_is_a_failure_of_the_storage(tmp_path):
    (tmp_path / "root").write_bytes(b"")
    store = FileStore(tmp_path / "root")
    with pytest.raises(StorageFailed, match="create failed"):
        await store.create("s1", HEADER)
    with pytest.raises(StorageFailed, match="read failed"):
        await store.sessions()
    with pytest.raises(SessionUnknown):
        await store.open("s1")
