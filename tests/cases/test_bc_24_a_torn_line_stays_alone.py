"""BC-24: a torn last line was skipped on load, but the next append landed right behind it and was lost too.

The torn bytes are reported, set aside byte for byte and sealed by a segment that goes on behind the last good event.
Nothing is truncated or rewritten.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcore import Config
from agentcore.codec import Header, encode_header
from interpreters import FileStore
from interpreters.engine import read_state
from interpreters.stores.lines import event_line, seal, unseal
from tests.cases.helpers_a import crash_image, fails_async
from tests.stores.journals import FIRST, HEADER, event

pytestmark = pytest.mark.anyio
FRAGMENT_OF = event_line(4, event(4)[1])


def prepared(root: Path, tail: bytes) -> Path:
    """Three complete lines, and whatever a crash left behind them."""
    folder = root / "s1"
    folder.mkdir(parents=True)
    header = b'{"schema":0,"session":"s1","segment":1,"header":' + HEADER
    data = seal(header) + b"".join(event_line(*event(seq)) for seq in (1, 2, 3))
    (folder / FIRST).write_bytes(data + tail)
    return folder


async def opened(store):
    journal = await store.open("s1")
    try:
        return [seq for seq, _ in journal.loaded.events], journal.loaded.recovery
    finally:
        await journal.close()


async def appended(store, seq: int, text: str) -> None:
    journal = await store.open("s1")
    try:
        await journal.append([event(seq, text)])
        await journal.sync()
    finally:
        await journal.close()


async def check_kept(root: Path, make, tail: bytes) -> None:
    """Steps 1 to 3: nothing that was committed is ever lost."""
    folder = prepared(root, tail)
    before = (folder / FIRST).read_bytes()
    good = before[: len(before) - len(tail)]
    whole = tail == FRAGMENT_OF[:-1]
    store = make(root)
    found, _ = await opened(store)
    assert found == ([1, 2, 3, 4] if whole else [1, 2, 3])
    following = len(found) + 1
    await appended(store, following, "again")
    again, _ = await opened(make(root))
    assert again == list(range(1, following + 1))
    assert (folder / FIRST).read_bytes().startswith(good)
    loaded = await make(root).read("s1", from_start=True)
    assert [payload for _, payload in loaded.events][3:] == [
        *([event(4)[1]] if whole else []),
        event(following, "again")[1],
    ]


async def check_told(root: Path, tail: bytes) -> None:
    """What is reported, and that the damaged bytes are still there, alone."""
    folder = prepared(root, tail)
    _, recovery = await opened(FileStore(root))
    damage = recovery.damage
    assert (damage.kind, damage.length, recovery.last_seq) == ("torn-tail", len(tail), 3)
    assert damage.offset == len((folder / FIRST).read_bytes()) - len(tail)
    assert (folder / damage.set_aside).read_bytes() == tail
    await appended(FileStore(root), 4, "again")
    for path in folder.glob("segment-*"):
        for line in path.read_bytes().split(b"\n"):
            assert line.count(b'"crc":"') <= 1 or b'"n":' in line, "two records in one line"
            assert not line or line == tail or unseal(line) is not None


TEARS = range(1, len(FRAGMENT_OF) - 1)


@pytest.mark.parametrize("length", [1, 7, len(FRAGMENT_OF) // 2, len(FRAGMENT_OF) - 2, len(FRAGMENT_OF) - 1])
@pytest.mark.req("R-200", "R-201", "R-202", "R-203", "R-191")
async def test_an_append_behind_a_torn_line_is_readable_and_the_torn_bytes_stay(tmp_path, length):
    await check_kept(tmp_path / "kept", FileStore, FRAGMENT_OF[:length])
    if length < len(FRAGMENT_OF) - 1:
        await check_told(tmp_path / "told", FRAGMENT_OF[:length])


@pytest.mark.req("R-200", "R-203")
async def test_a_line_may_be_torn_at_every_byte_again_and_again(tmp_path):
    """Tear, recover and append five times, at every byte position of a line; no committed event is ever lost."""
    folder = prepared(tmp_path, b"")
    store, committed = FileStore(tmp_path), 3
    for position in (*TEARS, len(FRAGMENT_OF) - 1):
        for _ in range(5 if position % 16 == 0 else 1):
            newest = max(folder.glob("segment-*"))
            torn = event_line(*event(committed + 1, "torn"))[:position]
            newest.write_bytes(newest.read_bytes() + torn)
            if unseal(torn) is None:
                await appended(store, committed + 1, "torn")
            committed += 1
    found, _ = await opened(FileStore(tmp_path))
    assert found == list(range(1, committed + 1))


class Naive:
    """A log as it was: the reader tolerates a fragment, the writer appends right behind it."""

    def __init__(self, root: Path) -> None:
        self.path = root / "s1" / FIRST

    async def open(self, session_id: str):
        return self

    async def read(self, session_id: str, *, from_start: bool = False):
        return self

    @property
    def loaded(self):
        return self

    @property
    def recovery(self):
        return None

    @property
    def events(self):
        lines = self.path.read_bytes().split(b"\n")[1:]
        bodies = [body for line in lines if (body := unseal(line)) is not None]
        return [(int(body[7 : body.index(b",")]), body[body.index(b'"event":') + 8 :]) for body in bodies]

    async def append(self, events) -> None:
        with self.path.open("ab") as file:
            for seq, payload in events:
                file.write(event_line(seq, payload))

    async def sync(self) -> None:
        """Nothing to do for this twin."""

    async def close(self) -> None:
        """Nothing to do for this twin."""


@pytest.mark.parametrize("length", [1, len(FRAGMENT_OF) // 2, len(FRAGMENT_OF) - 2, len(FRAGMENT_OF) - 1])
async def test_a_writer_that_appends_behind_a_fragment_is_found_out(tmp_path, length):
    await fails_async(check_kept, tmp_path, Naive, FRAGMENT_OF[:length])


class Truncating(Naive):
    """A log as it was elsewhere: the reader cuts off what it cannot read."""

    async def open(self, session_id: str):
        data = self.path.read_bytes()
        self.path.write_bytes(data[: data.rfind(b"\n") + 1])
        return self


async def test_a_reader_that_cuts_a_whole_record_off_is_found_out(tmp_path):
    await fails_async(check_kept, tmp_path, Truncating, FRAGMENT_OF[:-1])


@pytest.mark.req("R-191", "R-202")
async def test_a_torn_session_stays_itself(tmp_path):
    store = FileStore(tmp_path / "one")
    journal = await store.create("s", encode_header(Header("s", Config(), 0)))
    await journal.close()
    image = crash_image(tmp_path / "one", tmp_path / "two")
    newest = max((image / "s").glob("segment-*"))
    newest.write_bytes(newest.read_bytes() + b'{"seq":1,"eve')
    assert (await read_state(FileStore(image), "s")).session_id == "s"
    assert [info.session_id for info in await FileStore(image).sessions()] == ["s"]
