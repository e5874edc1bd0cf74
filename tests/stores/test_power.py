"""After a power cut at any promise, what was promised is there: the order of writes, syncs and names is right."""

from __future__ import annotations

import pytest

from interpreters.stores import FileStore
from interpreters.support import osio
from tests.stores.journals import FIRST, HEADER, event, events, flip_event, write
from tests.stores.power import Power

pytestmark = pytest.mark.anyio


@pytest.fixture
def power(monkeypatch) -> Power:
    return Power(monkeypatch)


async def left(power: Power, top, name: str, *, segment_max: int = 300):
    """The session as it can be read after a power cut now."""
    return await FileStore(power.cut(top / "disk", top / name) / "made/now", segment_max=segment_max).read("s1")


@pytest.mark.req("R-193", "R-201")
async def test_everything_promised_survives_a_power_cut_right_after_the_promise(tmp_path, power):
    (tmp_path / "disk").mkdir()
    store = FileStore(tmp_path / "disk/made/now", segment_max=300)
    journal = await store.create("s1", HEADER)
    assert (await left(power, tmp_path, "created")).header == HEADER
    for seq in range(1, 21):
        await journal.append([event(seq)])
        if seq % 2 == 0:
            assert await journal.sync() == seq
        if seq % 5 == 0:
            await journal.snapshot(seq, b'{"state":%d}' % seq)
        loaded = await left(power, tmp_path, f"after-{seq}")
        assert tuple(loaded.events) == tuple(events(1, seq - seq % 2))
        assert loaded.recovery.damage is None
        if seq % 6 == 0:
            await journal.close()
            journal = await store.open("s1")
    place = await journal.keep("out", b"data")
    cut = FileStore(power.cut(tmp_path / "disk", tmp_path / "kept") / "made/now")
    assert await cut.kept("s1", place) == b"data"


async def test_what_open_returns_survives_a_power_cut(tmp_path, power):
    (tmp_path / "disk").mkdir()
    store = FileStore(tmp_path / "disk/made/now", segment_max=300)
    journal = await store.create("s1", HEADER)
    await journal.append(events(1, 3))
    await journal.close()
    assert tuple((await left(power, tmp_path, "closed")).events) == ()
    await store.open("s1")
    assert tuple((await left(power, tmp_path, "opened")).events) == tuple(events(1, 3))


@pytest.mark.parametrize("what", ["torn", "unterminated", "gap"])
async def test_what_was_sealed_or_accepted_survives_a_power_cut(tmp_path, power, what):
    (tmp_path / "disk").mkdir()
    root = tmp_path / "disk/made/now"
    session = await write(root, 3)
    if what == "gap":
        flip_event(session, 2)
    with (session / FIRST).open("r+b") as file:
        file.seek(-1 if what == "unterminated" else 0, 2)
        file.truncate()
        file.write(b'{"seq":4,' if what == "torn" else b"")
    journal = await FileStore(root).open("s1", accept_gap="ann")
    loaded = await left(power, tmp_path, "opened")
    assert loaded.recovery == journal.loaded.recovery
    assert tuple(loaded.events) == tuple(journal.loaded.events)
    if what == "torn":
        kept = tmp_path / "opened/made/now/s1" / loaded.recovery.damage.set_aside
        assert kept.read_bytes() == b'{"seq":4,'
    await journal.append([event(journal.last_seq + 1)])
    await journal.sync()
    assert (await left(power, tmp_path, "synced")).recovery.last_seq == journal.last_seq


async def test_what_a_rescan_returns_survives_a_power_cut_and_what_follows_it_too(tmp_path, power):
    (tmp_path / "disk").mkdir()
    journal = await FileStore(tmp_path / "disk/made/now", segment_max=300).create("s1", HEADER)
    await journal.append(events(1, 4))
    await journal.sync()
    await journal.append(events(5, 6))
    assert await journal.rescan() == 4
    assert tuple((await left(power, tmp_path, "rescanned")).events) == tuple(events(1, 4))
    await journal.append(events(5, 7))
    await journal.sync()
    assert tuple((await left(power, tmp_path, "synced")).events) == tuple(events(1, 7))


async def test_the_fragment_of_an_unfinished_creation_is_kept_over_a_power_cut(tmp_path, power):
    session = tmp_path / "disk/made/now/s1"
    session.mkdir(parents=True)
    (session / FIRST).write_bytes(b'{"schema":0,')
    for directory in (tmp_path / "disk", tmp_path / "disk/made"):
        osio.sync_directory(directory)
    await FileStore(session.parent).create("s1", HEADER)
    assert (await left(power, tmp_path, "created")).header == HEADER
    assert len(list((tmp_path / "created/made/now/s1/aside").iterdir())) == 1
