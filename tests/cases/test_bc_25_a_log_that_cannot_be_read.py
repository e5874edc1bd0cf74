"""BC-25: a very large log could not be read; that was told as "not found", and the user silently got an empty session.

Each way of not reading a session is an error of its own that names it. None of them creates, appends or renames
anything: a new session begins only where somebody creates one. A log is read line by line, so a session is opened
whose log is much larger than the memory there is for it.
"""

from __future__ import annotations

import errno
import shutil
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from interpreters import Agent, FileStore, SchemaTooNew, SessionDamaged, SessionUnknown, StorageFailed
from interpreters.engine import resume
from interpreters.scripted import Ask, Say, ScriptedGate, ScriptedModel
from interpreters.stores.lines import event_line, seal
from interpreters.support import osio
from interpreters.tools import tool
from tests.cases.helpers_a import fails_async, patched
from tests.stores.journals import FIRST, HEADER, event, flip_event, write

pytestmark = pytest.mark.anyio


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def too_new(root: Path) -> None:
    """A version to come has written it."""
    folder = root / "s1"
    line = seal(b'{"schema":99,"session":"s1","segment":1,"header":' + HEADER)
    (folder / FIRST).write_bytes(line + event_line(*event(1)))
    (folder / "header.copy").unlink()


def missing(root: Path) -> None:
    shutil.rmtree(root / "s1")


def damaged(root: Path) -> None:
    flip_event(root / "s1", 2)


def unreadable(root: Path) -> None:
    """The disk says no; see ``failing_reader``."""


def failing_reader(path: Path, start: int, stop: int) -> Iterator[bytes]:
    if path.name == FIRST:
        raise OSError(errno.EIO, "Input/output error", str(path))
    return read_pieces(path, start, stop)


read_pieces = osio.read_pieces
WAYS = {
    unreadable: (StorageFailed, ("s1", "open failed", "EIO")),
    too_new: (SchemaTooNew, ("'s1'", "schema 99", "newer")),
    missing: (SessionUnknown, ("'s1'", "no session")),
    damaged: (SessionDamaged, ("'s1'", "Event 1", FIRST)),
}


async def what_is_said(load, root: Path) -> Exception | None:
    """Load, and return what was raised."""
    try:
        await load(root)
    except AssertionError:
        raise
    except Exception as error:
        return error
    return None


async def check(root: Path, way, load) -> None:
    await write(root, 3)
    bound = root / "bound"
    bound.write_text("s1")
    way(root)
    before = tree(root)
    kind, words = WAYS[way]
    reader = failing_reader if way is unreadable else read_pieces
    with patched((osio, "read_pieces", reader)):
        said = await what_is_said(load, root)
    assert type(said) is kind, f"expected {kind.__name__}, found {said!r}"
    for word in words:
        assert word in str(said), f"{word} is not in {said}"
    # Nothing was made, appended or bound anew.
    after = {name: data for name, data in tree(root).items() if not name.endswith("lock")}
    assert after == {name: data for name, data in before.items() if not name.endswith("lock")}
    assert bound.read_text() == "s1"
    assert directories(root) == ([] if way is missing else ["s1"])


def directories(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_dir())


async def by_agent(root: Path) -> None:
    async with Agent(model=ScriptedModel([]), store=FileStore(root)).open("s1"):
        raise AssertionError("it was opened")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.req("R-191", "R-202", "R-189")
async def test_each_failure_is_told_apart_and_leaves_everything_as_it_is(tmp_path, way):
    await check(tmp_path, way, by_agent)


async def or_a_new_one(root: Path) -> None:
    """Loading as it was: whatever cannot be read was not found, and a new session is begun in its place."""
    try:
        await by_agent(root)
    except AssertionError:
        raise
    except Exception:
        agent = Agent(model=ScriptedModel([Say("hello")]), store=FileStore(root))
        async with agent.open("s2", create=True):
            pass


@pytest.mark.parametrize("way", WAYS)
async def test_a_new_session_in_its_place_is_found_out(tmp_path, way):
    await fails_async(check, tmp_path, way, or_a_new_one)


@pytest.mark.req("R-191")
async def test_starting_afresh_is_an_explicit_call(tmp_path):
    agent = Agent(model=ScriptedModel([Say("hello")]), store=FileStore(tmp_path))
    with pytest.raises(SessionUnknown):
        async with agent.open("s1"):
            pass
    assert list(tmp_path.iterdir()) == []
    async with agent.open("s1", create=True) as session:
        await session.send("hello")
        assert (await session.wait()).text == "hello"


# ---- a very large log


def large(root: Path, lines: int, size: int = 0) -> Path:
    folder = root / "s1"
    folder.mkdir(parents=True)
    text = "x" * size
    header = seal(b'{"schema":0,"session":"s1","segment":1,"header":' + HEADER)
    with (folder / FIRST).open("wb") as file:
        file.write(header)
        file.writelines(event_line(*event(seq, text)) for seq in range(1, lines + 1))
    return folder


@pytest.mark.req("R-200")
async def test_three_hundred_thousand_lines_are_read(tmp_path):
    large(tmp_path, 300_000)
    loaded = await FileStore(tmp_path).read("s1")
    seq = 0
    for seq, payload in loaded.events:
        assert (seq, payload) == event(seq)
    assert seq == loaded.recovery.last_seq == 300_000
    assert loaded.recovery.damage is None


async def check_memory(root: Path) -> None:
    """Going through all events takes a small part of what the log has in bytes."""
    size = (root / "s1" / FIRST).stat().st_size
    tracemalloc.start()
    try:
        loaded = await FileStore(root).read("s1")
        assert sum(1 for _ in loaded.events) == loaded.recovery.last_seq == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size / 10, f"{peak} bytes for a log of {size}"


def whole(path: Path, start: int, stop: int) -> Iterator[bytes]:
    """Reading as it was: the whole file at once."""
    return iter([b"".join(read_pieces(path, start, stop))])


@pytest.mark.req("R-200")
async def test_a_large_log_is_never_in_memory_whole(tmp_path):
    large(tmp_path, 20_000, 1_000)
    await check_memory(tmp_path)
    with patched((osio, "read_pieces", whole)):
        await fails_async(check_memory, tmp_path)


@pytest.mark.req("R-200", "R-201")
async def test_one_bad_line_of_a_large_log_costs_no_other_line_in_front_of_it(tmp_path):
    folder = large(tmp_path, 20_000)
    flip_event(folder, 15_001)
    loaded = await FileStore(tmp_path).read("s1")
    assert len(tuple(loaded.events)) == loaded.recovery.last_seq == 15_000
    assert len(loaded.recovery.behind) == 4_999


# ---- from a snapshot only what follows it is parsed


async def check_parsed(root: Path, store) -> None:
    @tool(effect="pure")
    async def read(n: int) -> str:
        """Read."""
        return "x" * 4_000

    rounds = 60
    script = [Say(calls=(Ask("read", {"n": n}),)) for n in range(rounds)]
    agent = Agent(
        model=ScriptedModel([*script, Say("done"), Say("more")]), tools=[read], rules=ScriptedGate(), store=store
    )
    async with agent.open("s1", create=True) as session:
        await session.send("go")
        await session.wait()
        await anyio.wait_all_tasks_blocked()
        total = session.state.seq
    loaded = await store.read("s1")
    assert loaded.snapshot is not None, "no snapshot was taken"
    parsed = []

    def counting(payload):
        parsed.append(payload)
        return decode_event(payload)

    decode_event = resume.decode_event
    with patched((resume, "decode_event", counting)):
        state = await resume.read_state(store, "s1")
    assert state.seq == total
    assert len(parsed) == total - loaded.snapshot[0]
    assert len(parsed) < total / 2


@pytest.mark.req("R-199", "R-190")
async def test_a_load_from_a_snapshot_parses_only_what_follows_it(tmp_path):
    await check_parsed(tmp_path, FileStore(tmp_path))


class FromStart(FileStore):
    """A store as it was: every load reads everything."""

    async def read(self, session_id, *, from_start=False):
        found = await super().read(session_id)
        return await super().read(session_id, from_start=True) if self.used else self._mark(found)

    used = False

    def _mark(self, found):
        self.used = True
        return found


async def test_a_load_that_parses_everything_is_found_out(tmp_path):
    await fails_async(check_parsed, tmp_path, FromStart(tmp_path))
