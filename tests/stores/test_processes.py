"""Real processes: one that holds the lock, and ones that are killed at every point at which they touch the disk."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

from interpreters.stores import FileStore
from interpreters.support.ports_store import SessionLocked, SessionUnknown
from tests.stores import writing_process
from tests.stores.journals import FIRST, HEADER, SECOND, write

TOP = Path(__file__).resolve().parents[2]
LAST = writing_process.LAST


def command(root: Path) -> list[str]:
    return [sys.executable, writing_process.__file__, str(root)]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(TOP), "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(root: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(root), env=environment(**more), capture_output=True, text=True, check=False)


def promises(ran: subprocess.CompletedProcess[str]) -> tuple[int, list[str], bool]:
    """The last durable seq, the kept places, and whether it came to its end."""
    words = [line.split() for line in ran.stdout.split("\n") if line]
    durable = [int(word[1]) for word in words if word[0] == "durable"]
    return max(durable, default=0), [word[1] for word in words if word[0] == "kept"], ["done"] in words


def count_points(root: Path, log: Path) -> list[str]:
    """The kill points one run passes."""
    assert promises(run(root, AGENTCORE_KILL_LOG=str(log)))[2]
    return [line.split()[1] for line in log.read_text().split("\n") if line]


def check(root: Path, killed: subprocess.CompletedProcess[str]) -> None:
    """Nothing that was promised is missing, and the session goes on to its end."""
    durable, kept, done = promises(killed)
    assert (killed.returncode, done) == (-signal.SIGKILL, False), killed.stderr
    assert killed.stderr == ""

    async def look() -> None:
        store = FileStore(root)
        try:
            loaded = await store.read("s1", from_start=True)
        except SessionUnknown:
            assert durable == 0
            assert kept == []
            return
        assert loaded.header == b'{"header":true}'
        last = loaded.recovery.last_seq
        assert last >= durable
        assert tuple(loaded.events) == tuple(writing_process.event(seq) for seq in range(1, last + 1))
        assert loaded.recovery.damage is None or loaded.recovery.damage.kind == "torn-tail"
        for place in kept:
            assert await store.kept("s1", place) == b"data" * 100

    async def go_on() -> None:
        await writing_process.main(str(root))
        loaded = await FileStore(root).read("s1", from_start=True)
        assert tuple(loaded.events) == tuple(writing_process.event(seq) for seq in range(1, LAST + 1))
        assert loaded.recovery.damage is None

    anyio.run(look)
    anyio.run(go_on)


@pytest.mark.slow
@pytest.mark.req("R-194", "R-201")
def test_a_process_killed_at_any_point_leaves_a_journal_that_opens_and_goes_on(tmp_path):
    points = count_points(tmp_path / "count", tmp_path / "log")
    assert len(points) > 150
    assert {point.partition(":")[0] for point in points} >= {"open", "write", "sync", "rename", "mkdir", "lock"}

    def kill_at(number: int) -> None:
        root = tmp_path / str(number)
        check(root, run(root, AGENTCORE_KILL_AT=str(number)))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(kill_at, range(1, len(points) + 1)))


@pytest.mark.slow
@pytest.mark.req("R-201")
def test_a_process_killed_while_it_seals_a_torn_tail_leaves_a_journal_that_opens_and_goes_on(tmp_path):
    async def make() -> None:
        journal = await FileStore(tmp_path / "torn").create("s1", b'{"header":true}')
        await journal.append([writing_process.event(seq) for seq in range(1, 5)])
        await journal.close()

    anyio.run(make)
    with (tmp_path / "torn" / "s1" / FIRST).open("ab") as file:
        file.write(b'{"seq":5,"ev')
    shutil.copytree(tmp_path / "torn", tmp_path / "count")
    points = count_points(tmp_path / "count", tmp_path / "log")

    def kill_at(number: int) -> bool:
        root = shutil.copytree(tmp_path / "torn", tmp_path / str(number))
        killed = run(root, AGENTCORE_KILL_AT=str(number))
        sealed = (root / "s1" / SECOND).exists()
        check(root, killed)
        return sealed

    # To seal takes a copy of the tail and a new segment; it is done long before the first snapshot.
    snapshot = [at for at, point in enumerate(points, 1) if point == "rename:before"][1]
    with ThreadPoolExecutor(2) as pool:
        sealed = list(pool.map(kill_at, range(1, snapshot)))
    assert sealed == sorted(sealed)
    assert sealed.count(False) > 20
    assert sealed.count(True) > 10


HOLDER = """
import sys, anyio
from interpreters.stores import FileStore

async def main():
    journal = await FileStore(sys.argv[1]).open("s1")
    print("held", flush=True)
    sys.stdin.readline()

anyio.run(main)
"""


def test_a_session_held_by_another_process_says_which_and_is_free_when_that_is_killed(tmp_path):
    anyio.run(write, tmp_path, 3)
    store = FileStore(tmp_path)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment()}
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], **pipes) as other:
        try:
            assert other.stdout.readline() == "held\n"
            for ask in (store.open, lambda name: store.open(name, accept_gap="ann")):
                with pytest.raises(SessionLocked, match=f"'s1' is locked by process {other.pid} on"):
                    anyio.run(ask, "s1")
            assert anyio.run(store.read, "s1").recovery.last_seq == 3
            (info,) = anyio.run(store.sessions)
            assert f"process {other.pid} on" in info.holder
        finally:
            other.kill()
    # The dead process did not close it: its name stays readable, and the lock is free.
    (info,) = anyio.run(store.sessions)
    assert f"process {other.pid} on" in info.holder

    async def go_on() -> None:
        journal = await store.open("s1")
        assert journal.last_seq == 3
        await journal.close()

    anyio.run(go_on)
    assert anyio.run(store.sessions)[0].holder == ""


def test_a_lock_file_with_nonsense_in_it_names_nobody_and_locks_all_the_same(tmp_path):
    async def hold_and_ask() -> None:
        store = FileStore(tmp_path)
        journal = await store.create("s1", HEADER)
        for nonsense in (b"", b"{", b"[]", b'{"pid":"x","host":1,"since":2}', b"\xff"):
            (tmp_path / "s1" / "lock").write_bytes(nonsense)
            with pytest.raises(SessionLocked, match="a holder that has not written its name yet"):
                await store.open("s1")
        await journal.close()
        await (await store.open("s1")).close()

    anyio.run(hold_and_ask)


def test_a_child_process_does_not_keep_the_lock(tmp_path):
    async def check_lock() -> None:
        store = FileStore(tmp_path)
        journal = await store.create("s1", HEADER)
        children.append(os.fork())
        if not children[0]:
            signal.pause()
        await journal.close()
        await (await store.open("s1")).close()

    children: list[int] = []
    try:
        anyio.run(check_lock)
    finally:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)
