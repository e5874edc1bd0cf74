"""What a crash or a bad disk can do to a small journal, enumerated: every cut, every changed byte."""

from __future__ import annotations

import anyio
import pytest

from interpreters.stores import FileStore
from interpreters.stores.chain import follow, scan
from interpreters.stores.content import Held
from interpreters.support.ports_store import SessionDamaged, SessionUnfinished
from tests.stores.journals import (
    COPY,
    FIRST,
    HEADER,
    SECOND,
    chain_of,
    copy,
    event,
    events,
    segments,
    write,
)

pytestmark = pytest.mark.usefixtures("patient_disk")

LAST = 6


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Six events in one segment."""
    return anyio.run(write, tmp_path_factory.mktemp("small"), LAST)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Six events in two segments."""

    async def make(root):
        return await write(root, LAST, segment_max=350)

    session = anyio.run(make, tmp_path_factory.mktemp("two"))
    assert sorted(segments(session)) == [FIRST, SECOND]
    return session


def lines_within(data: bytes, cut: int) -> int:
    """How many whole lines the first ``cut`` bytes have; the newline of the last one need not be there."""
    return data[:cut].count(b"\n") + (cut < len(data) and data[cut : cut + 1] == b"\n")


@pytest.mark.req("R-200", "R-201")
def test_every_prefix_is_read_as_exactly_the_events_that_are_whole(small):
    data = segments(small)[FIRST]
    for cut in range(len(COPY) - 1, len(data) + 1):
        chain = chain_of(data[:cut])
        whole = lines_within(data, cut) - 1
        assert tuple(chain.events()) == tuple(events(1, whole)), cut
        assert chain.header == HEADER
        torn = cut - chain.end.offset
        assert (chain.damage is not None) == (torn > 0)
        if chain.damage:
            assert (chain.damage.kind, chain.damage.length) == ("torn-tail", torn)
            assert chain.damage.offset == chain.end.offset


@pytest.mark.req("R-201", "R-203")
def test_every_prefix_opens_goes_on_and_changes_nothing_that_was_there(small, tmp_path):
    data = segments(small)[FIRST]

    async def check(cut: int) -> None:
        session = copy(small, tmp_path / str(cut))
        (session / FIRST).write_bytes(data[:cut])
        whole = lines_within(data, cut) - 1
        journal = await FileStore(session.parent).open("s1")
        recovery = journal.loaded.recovery
        assert tuple(journal.loaded.events) == tuple(events(1, whole))
        if recovery.damage:
            kept = (session / recovery.damage.set_aside).read_bytes()
            assert kept == data[:cut][recovery.damage.offset :] != b""
        await journal.append(events(whole + 1, whole + 2))
        await journal.sync()
        await journal.close()
        loaded = await FileStore(session.parent).read("s1")
        assert tuple(loaded.events) == tuple(events(1, whole + 2))
        assert loaded.recovery.damage is None
        assert segments(session)[FIRST].startswith(data[:cut])
        if recovery.damage:
            assert segments(session)[FIRST] == data[:cut]

    async def check_all() -> None:
        for cut in range(len(COPY) - 1, len(data) + 1):
            await check(cut)

    anyio.run(check_all)


@pytest.mark.req("R-191")
def test_every_prefix_of_the_header_is_an_unfinished_creation_that_can_be_done_again(small, tmp_path):
    async def check(cut: int) -> None:
        session = tmp_path / str(cut) / "s1"
        session.mkdir(parents=True)
        (session / FIRST).write_bytes(COPY[:cut])
        store = FileStore(session.parent)
        for ask in (store.open, store.read):
            with pytest.raises(SessionUnfinished, match="was cut off before its header was recorded"):
                await ask("s1")
        assert "cut off" in (await store.sessions())[0].problem
        journal = await store.create("s1", b'{"other":"header"}')
        await journal.append([event(1)])
        await journal.close()
        assert [path.read_bytes() for path in (session / "aside").iterdir()] == [COPY[:cut]]
        loaded = await store.read("s1")
        assert (loaded.header, tuple(loaded.events)) == (b'{"other":"header"}', (event(1),))

    async def check_all() -> None:
        for cut in range(len(COPY) - 1):
            await check(cut)

    anyio.run(check_all)


@pytest.mark.req("R-191")
def test_a_header_that_is_gone_though_its_copy_was_made_is_no_unfinished_creation(small, tmp_path):
    """The copy proves that the header was durable, so events may be lost: a person decides."""

    async def check(cut: int) -> None:
        session = copy(small, tmp_path / str(cut))
        (session / FIRST).write_bytes(COPY[:cut])
        with pytest.raises(SessionDamaged) as caught:
            await FileStore(session.parent).open("s1")
        assert caught.value.loaded.header == HEADER
        assert tuple(caught.value.loaded.events) == ()

    async def check_all() -> None:
        for cut in range(0, len(COPY) - 1, 7):
            await check(cut)

    anyio.run(check_all)


def test_every_prefix_of_the_last_segment_is_read_as_the_events_that_are_whole(two):
    first, second = segments(two).values()
    before = first.count(b"\n") - 1
    for cut in range(len(second) + 1):
        chain = chain_of(first, second[:cut])
        whole = max(lines_within(second, cut) - 1, 0)
        assert tuple(chain.events()) == tuple(events(1, before + whole)), cut
        assert chain.damage is None or chain.damage.kind == "torn-tail"


def test_every_cut_of_an_earlier_segment_is_damage(two):
    first, second = segments(two).values()
    for cut in range(len(first)):
        chain = chain_of(first[:cut], second, header_copy=COPY)
        whole = max(lines_within(first, cut) - 1, 0)
        assert tuple(chain.events()) == tuple(events(1, whole)), cut
        assert chain.damage is not None
        assert chain.damage.kind == "middle"


@pytest.mark.req("R-200")
def test_every_changed_byte_is_detected_and_no_event_after_it_is_lost_in_silence(two):
    """All 255 other values of every byte of both segments.

    Where an event is not read though it was recorded, the damage asks for a person. Without one the session opens only
    if every event was read: when the header was read from its copy, or when the byte is the very last newline.
    """
    names, data = zip(*segments(two).items(), strict=True)
    good = tuple(events(1, LAST))
    kinds = {"middle": 0, "header": 0, "torn-tail": 0}
    for which, original in enumerate(data):
        scanned = [scan("s1", number, Held(each), COPY) for number, each in enumerate(data, 1)]
        for offset in range(len(original)):
            for mask in range(1, 256):
                changed = bytearray(original)
                changed[offset] ^= mask
                scanned[which] = scan("s1", which + 1, Held(bytes(changed)), COPY)
                chain = follow(scanned)
                recovery = chain.recovery()
                read = tuple(chain.events())
                assert recovery.damage is not None, (names[which], offset, mask)
                assert recovery.damage.file == names[which]
                assert recovery.damage.offset <= offset < recovery.damage.offset + recovery.damage.length
                assert read == good[: len(read)]
                assert recovery.needs_acceptance == (recovery.damage.kind == "middle") == (read != good)
                kinds[recovery.damage.kind] += 1
    assert kinds["torn-tail"] == 255
    assert kinds["header"] == 255 * len(COPY)


def test_every_changed_byte_of_a_journal_without_a_copy_of_its_header_is_detected(small):
    data = segments(small)[FIRST]
    for offset in range(len(data)):
        changed = bytearray(data)
        changed[offset] ^= 0x20
        first = scan("s1", 1, Held(bytes(changed)))
        if offset < len(COPY):
            assert first.opening is None
            assert not first.silent
        else:
            assert follow([first]).damage is not None
