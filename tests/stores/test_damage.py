"""Damage in the middle of a journal, and what a person can do about it."""

from __future__ import annotations

import shutil

import pytest

from interpreters.stores import FileStore
from interpreters.stores.chain import scan
from interpreters.stores.content import Held
from interpreters.stores.folder import Folder
from interpreters.stores.lines import Continuation, First, Position, event_line, opening_line, seal
from interpreters.support.locks import FileLock
from interpreters.support.ports_store import (
    SchemaTooNew,
    SessionDamaged,
    SessionExists,
    SessionUnknown,
    StorageFailed,
)
from tests.stores.journals import (
    COPY,
    FIRST,
    HEADER,
    SECOND,
    THIRD,
    chain_of,
    event,
    events,
    flip,
    flip_event,
    segments,
    write,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_disk")]


def payloads(first: int, last: int) -> tuple[bytes, ...]:
    return tuple(payload for _, payload in events(first, last))


@pytest.mark.req("R-200", "R-201", "R-202")
async def test_damage_in_the_middle_opens_read_only_and_says_what_to_do(tmp_path):
    session = await write(tmp_path, 6)
    flip_event(session, 4)
    before = segments(session)
    store = FileStore(tmp_path)
    with pytest.raises(SessionDamaged, match="opens read-only") as caught:
        await store.open("s1")
    loaded = caught.value.loaded
    assert loaded == await store.read("s1")
    assert loaded.header == HEADER
    assert tuple(loaded.events) == tuple(events(1, 3))
    recovery = loaded.recovery
    assert recovery.last_seq == 3
    assert (recovery.damage.kind, recovery.damage.file) == ("middle", FIRST)
    assert recovery.damage.offset == before[FIRST].index(b'{"seq":4,')
    assert recovery.damage.length == len(event_line(*event(4)))
    assert recovery.gap_accepted_by is None
    assert recovery.needs_acceptance
    assert recovery.behind == payloads(5, 6)
    for text in ("Event 3", f"{FIRST} at byte {recovery.damage.offset}", "2 well-formed lines", "accept the gap"):
        assert text in str(caught.value)
    assert segments(session) == before


@pytest.mark.req("R-203")
async def test_an_accepted_gap_goes_on_behind_the_last_good_event(tmp_path):
    session = await write(tmp_path, 6)
    flip_event(session, 4)
    before = segments(session)
    store = FileStore(tmp_path)
    journal = await store.open("s1", accept_gap="ann")
    recovery = journal.loaded.recovery
    assert (recovery.last_seq, recovery.gap_accepted_by, recovery.needs_acceptance) == (3, "ann", False)
    assert recovery.behind == payloads(5, 6)
    assert "ann accepted this; check every effect" in recovery.next_check
    new = (4, b'{"new":4}'), (5, b'{"new":5}')
    await journal.append(new)
    await journal.close()
    for loaded in (await store.read("s1"), (await store.open("s1")).loaded):
        assert tuple(loaded.events) == (*events(1, 3), *new)
        assert loaded.recovery.damage is None
        assert loaded.recovery.behind == ()
    assert segments(session)[FIRST] == before[FIRST]


async def test_an_accepted_gap_is_reported_until_an_event_follows_it(tmp_path):
    session = await write(tmp_path, 6)
    flip_event(session, 4)
    store = FileStore(tmp_path)
    journal = await store.open("s1", accept_gap="ann")
    first = journal.loaded.recovery
    await journal.close()
    for _ in range(2):
        journal = await store.open("s1")
        assert journal.loaded.recovery == first
        await journal.close()
    # A crash tears the first event after the gap: the gap is what matters.
    with (session / SECOND).open("ab") as file:
        file.write(b'{"seq":4,"ev')
    for _ in range(2):
        journal = await store.open("s1")
        assert journal.loaded.recovery == first
        await journal.close()
    journal = await store.open("s1")
    await journal.append([event(4)])
    await journal.close()
    assert (await store.read("s1")).recovery.damage is None


async def test_a_gap_accepted_by_anybody_keeps_their_name_whatever_it_is(tmp_path):
    session = await write(tmp_path, 2)
    flip_event(session, 1)
    who = 'Ann "the\n boss" \u2028 \udc80'
    store = FileStore(tmp_path)
    await (await store.open("s1", accept_gap=who)).close()
    assert (await store.read("s1")).recovery.gap_accepted_by == who


async def test_a_second_gap_before_the_first_can_be_accepted_too(tmp_path):
    session = await write(tmp_path, 6)
    flip_event(session, 5)
    store = FileStore(tmp_path)
    journal = await store.open("s1", accept_gap="ann")
    await journal.append([(5, b'{"new":5}')])
    await journal.close()
    flip_event(session, 2)
    assert (await store.read("s1")).recovery.behind == (*payloads(3, 4), payloads(6, 6)[0], b'{"new":5}')
    journal = await store.open("s1", accept_gap="bob")
    await journal.append([(2, b'{"newer":2}')])
    await journal.close()
    loaded = await store.read("s1")
    assert tuple(loaded.events) == (event(1), (2, b'{"newer":2}'))
    assert loaded.recovery.damage is None


@pytest.mark.req("R-199")
async def test_a_snapshot_from_behind_an_accepted_gap_is_never_used_again(tmp_path):
    session = await write(tmp_path, 6, snapshots=(2, 5))
    flip_event(session, 4)
    store = FileStore(tmp_path)
    assert (await store.read("s1")).snapshot == (2, b'{"state":2}')
    journal = await store.open("s1", accept_gap="ann")
    assert journal.loaded.snapshot == (2, b'{"state":2}')
    await journal.append([(seq, b'{"new":%d}' % seq) for seq in range(4, 9)])
    await journal.close()
    # Seq 5 is reached again, on the other side of the gap.
    loaded = await store.read("s1")
    assert loaded.snapshot == (2, b'{"state":2}')
    assert loaded.recovery.last_seq == 8


LINES = [
    pytest.param(event_line(*event(3)), "seq 3 where 4 was expected", id="a duplicate"),
    pytest.param(event_line(*event(5)), "seq 5 where 4 was expected", id="a hole"),
    pytest.param(event_line(*event(1)), "seq 1 where 4 was expected", id="backwards"),
    pytest.param(event_line(4, b"{}").replace(b'"seq":4', b'"seq":04'), "checksum", id="another spelling of a seq"),
    pytest.param(b"\n", "checksum", id="an empty line"),
    pytest.param(event_line(*event(4)).replace(b"\n", b"\r\n"), "checksum", id="a line ended as on another system"),
    pytest.param(b'{"seq":4,"event":{}}\n', "checksum", id="a line without a checksum"),
    pytest.param(b"hello\n", "checksum", id="a foreign line"),
    pytest.param(seal(b'{"other":1'), "a line that records no event", id="a whole line of something else"),
    pytest.param(seal(b""), "a line that records no event", id="nothing but a checksum"),
    pytest.param(COPY, "a line that records no event", id="the header again"),
]


@pytest.mark.parametrize(("line", "found"), LINES)
async def test_a_line_that_does_not_belong_is_damage(line, found):
    good = COPY + b"".join(event_line(*each) for each in events(1, 3))
    behind = event_line(*event(4))
    chain = chain_of(good + line + behind)
    assert tuple(chain.events()) == tuple(events(1, 3))
    assert (chain.damage.kind, chain.damage.offset, chain.damage.length) == ("middle", len(good), len(line))
    assert found in chain.damage.found
    assert chain.recovery().behind[-1] == event(4)[1]


@pytest.mark.req("R-201")
async def test_a_bad_last_line_with_its_newline_was_recorded_so_a_person_decides(tmp_path):
    session = await write(tmp_path, 3)
    flip_event(session, 3)
    with pytest.raises(SessionDamaged):
        await FileStore(tmp_path).open("s1")


async def test_a_journal_of_another_session_is_refused(tmp_path):
    session = await write(tmp_path, 3)
    shutil.copytree(session, tmp_path / "s2")
    store = FileStore(tmp_path)
    for ask in (store.open, store.read):
        with pytest.raises(SessionDamaged, match="cannot be read"):
            await ask("s2")
    assert "cannot be read" in (await store.sessions())[1].problem
    assert (await store.sessions())[0].problem == ""


async def test_a_first_segment_that_begins_nothing_is_no_beginning():
    continuation = Continuation(Position(1, 0, 0), "rotated")
    assert scan("s1", 1, Held(opening_line("s1", 1, continuation))).opening is None
    assert scan("s1", 2, Held(opening_line("s1", 2, First(HEADER)))).opening is None
    assert scan("s1", 2, Held(opening_line("s1", 2, continuation))).opening == continuation


async def test_a_torn_header_with_segments_behind_it_is_no_unfinished_creation(tmp_path):
    session = await write(tmp_path, 12, segment_max=300)
    (session / FIRST).write_bytes(COPY[:30])
    (session / "header.copy").unlink()
    store = FileStore(tmp_path)
    with pytest.raises(SessionDamaged):
        await store.open("s1")
    with pytest.raises(SessionExists):
        await store.create("s1", HEADER)


async def test_a_session_created_by_another_while_this_one_waited_is_not_created_again(tmp_path, monkeypatch):
    take = FileLock.take

    def take_late(path):
        folder = Folder(tmp_path, "s1")
        if not folder.numbers():
            folder.create_segment(1, COPY)
        return take(path)

    monkeypatch.setattr(FileLock, "take", take_late)
    store = FileStore(tmp_path)
    with pytest.raises(SessionExists):
        await store.create("s1", b'{"another":"header"}')
    assert (await store.open("s1")).loaded.header == HEADER


async def test_a_header_is_read_from_its_copy_and_the_damage_is_said(tmp_path):
    session = await write(tmp_path, 3)
    flip(session / FIRST, 20)
    store = FileStore(tmp_path)
    journal = await store.open("s1")
    recovery = journal.loaded.recovery
    assert (recovery.damage.kind, recovery.damage.length) == ("header", len(COPY))
    assert "The header was read from its copy" in recovery.next_check
    assert tuple(journal.loaded.events) == tuple(events(1, 3))
    await journal.append([event(4)])
    await journal.close()
    assert (await store.read("s1")).recovery.last_seq == 4


async def test_a_damaged_copy_of_the_header_is_made_anew(tmp_path):
    session = await write(tmp_path, 1)
    flip(session / "header.copy", 20)
    journal = await FileStore(tmp_path).open("s1")
    assert journal.loaded.recovery.damage is None
    assert (session / "header.copy").read_bytes() == COPY


async def test_without_a_readable_header_nothing_is_guessed(tmp_path):
    session = await write(tmp_path, 3)
    flip(session / FIRST, 20)
    flip(session / "header.copy", 30)
    before = segments(session)
    store = FileStore(tmp_path)
    for ask in (store.open, store.read, lambda name: store.open(name, accept_gap="ann")):
        with pytest.raises(SessionDamaged, match=r"segment-000001.ndjson at byte 0: an unreadable header") as caught:
            await ask("s1")
        assert caught.value.loaded is None
    assert segments(session) == before


async def test_a_first_segment_that_is_gone_is_damage_and_its_header_is_still_known(tmp_path):
    session = await write(tmp_path, 3)
    (session / FIRST).unlink()
    store = FileStore(tmp_path)
    loaded = await store.read("s1")
    assert (loaded.header, tuple(loaded.events), loaded.recovery.needs_acceptance) == (HEADER, (), True)
    journal = await store.open("s1", accept_gap="ann")
    await journal.append([event(1)])
    await journal.close()
    assert tuple((await store.read("s1")).events) == (event(1),)


@pytest.mark.parametrize("gone", [SECOND, THIRD])
async def test_a_missing_segment_in_the_middle_is_damage(tmp_path, gone):
    session = await write(tmp_path, 12, segment_max=300)
    last = int(max(segments(session))[8:14])
    assert last > 3
    before = len(chain_of(*(segments(session)[name] for name in sorted(segments(session)) if name < gone)).pieces)
    (session / gone).unlink()
    loaded = await FileStore(tmp_path).read("s1")
    assert loaded.recovery.damage.kind == "middle"
    assert "cannot be reached" in loaded.recovery.damage.found
    assert loaded.recovery.last_seq + len(loaded.recovery.behind) < 12
    assert len({FIRST, SECOND, THIRD} & {name for name in segments(session) if name < gone}) == before


async def test_a_segment_cannot_stand_in_for_another(tmp_path):
    session = await write(tmp_path, 12, segment_max=300)
    shutil.copy(session / THIRD, session / SECOND)
    recovery = (await FileStore(tmp_path).read("s1")).recovery
    assert recovery.damage.file == SECOND
    assert "does not open segment 2" in recovery.damage.found


async def test_a_damaged_segment_opening_is_damage(tmp_path):
    session = await write(tmp_path, 12, segment_max=300)
    flip(session / SECOND, 40)
    store = FileStore(tmp_path)
    recovery = (await store.read("s1")).recovery
    assert (recovery.damage.file, recovery.damage.offset, recovery.needs_acceptance) == (SECOND, 0, True)
    journal = await store.open("s1", accept_gap="ann")
    after = recovery.last_seq + 1
    await journal.append([event(after)])
    await journal.close()
    assert tuple((await store.read("s1")).events) == tuple(events(1, after))


NEWER = b'{"schema":1,"session":"s1","segment":%d,"anything":{"at":"all"}'


@pytest.mark.req("R-189", "R-190")
@pytest.mark.parametrize("number", [1, 2])
async def test_a_newer_schema_is_refused_and_nothing_is_changed(tmp_path, number):
    session = await write(tmp_path, 3)
    (session / f"segment-00000{number}.ndjson").write_bytes(seal(NEWER % number) + b"whatever it writes\n")
    (session / "header.copy").unlink()
    before = segments(session)
    store = FileStore(tmp_path)
    for ask in (store.open, store.read, lambda name: store.open(name, accept_gap="ann")):
        with pytest.raises(SchemaTooNew, match="has journal schema 1, this version knows up to schema 0"):
            await ask("s1")
    assert "schema 1" in (await store.sessions())[0].problem
    assert segments(session) == before


async def test_a_damaged_line_that_looks_newer_is_damage(tmp_path):
    """Only a whole line can claim to be newer: a flipped digit must not lock a session."""
    session = await write(tmp_path, 3)
    flip(session / FIRST, COPY.index(b"0"))
    assert (await FileStore(tmp_path).read("s1")).recovery.damage.kind == "header"


async def test_a_final_line_without_its_newline_is_accepted_and_never_written_on(tmp_path):
    session = await write(tmp_path, 3)
    data = segments(session)[FIRST]
    (session / FIRST).write_bytes(data[:-1])
    store = FileStore(tmp_path)
    journal = await store.open("s1")
    assert tuple(journal.loaded.events) == tuple(events(1, 3))
    assert journal.loaded.recovery.damage is None
    await journal.append([event(4)])
    await journal.close()
    assert segments(session)[FIRST] == data[:-1]
    assert tuple((await store.read("s1")).events) == tuple(events(1, 4))


@pytest.mark.req("R-201", "R-202", "R-224")
async def test_a_torn_tail_is_kept_aside_sealed_and_reported_until_an_event_follows(tmp_path):
    session = await write(tmp_path, 3)
    torn = b'{"seq":4,"event":{"half":'
    with (session / FIRST).open("ab") as file:
        file.write(torn)
    before = segments(session)[FIRST]
    store = FileStore(tmp_path)
    assert (await store.read("s1")).recovery.damage.set_aside == ""
    assert list(segments(session)) == [FIRST]
    journal = await store.open("s1")
    damage = journal.loaded.recovery.damage
    assert (damage.kind, damage.file, damage.length) == ("torn-tail", FIRST, len(torn))
    assert (session / damage.set_aside).read_bytes() == torn
    assert damage.set_aside in journal.loaded.recovery.next_check
    await journal.close()
    journal = await store.open("s1")
    assert journal.loaded.recovery.damage == damage
    await journal.append([event(4)])
    await journal.close()
    loaded = await store.read("s1")
    assert tuple(loaded.events) == tuple(events(1, 4))
    assert loaded.recovery.damage is None
    assert segments(session)[FIRST] == before


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"\xff", b"{", b'{"seq":4,"event":{}}' * 20])
async def test_whatever_follows_the_last_newline_is_a_torn_tail(tmp_path, tail):
    session = await write(tmp_path, 3)
    with (session / FIRST).open("ab") as file:
        file.write(tail)
    journal = await FileStore(tmp_path).open("s1")
    assert journal.loaded.recovery.damage.kind == "torn-tail"
    assert (session / journal.loaded.recovery.damage.set_aside).read_bytes() == tail


async def test_a_segment_whose_creation_was_cut_off_is_passed_over(tmp_path):
    session = await write(tmp_path, 3)
    opening = b'{"schema":0,"session":"s1","segment":2,"posi'
    store = FileStore(tmp_path)
    for number, content in enumerate((b"", opening, b""), 2):
        (session / f"segment-00000{number}.ndjson").write_bytes(content)
    journal = await store.open("s1")
    assert tuple(journal.loaded.events) == tuple(events(1, 3))
    await journal.append([event(4)])
    await journal.close()
    assert max(segments(session)) == "segment-000005.ndjson"
    assert tuple((await store.read("s1")).events) == tuple(events(1, 4))


async def test_an_empty_file_after_the_journal_is_not_called_damage(tmp_path):
    session = await write(tmp_path, 3)
    (session / SECOND).write_bytes(b"")
    assert (await FileStore(tmp_path).read("s1")).recovery.damage is None


@pytest.mark.req("R-199")
@pytest.mark.parametrize("where", [0, 30, -2])
async def test_a_damaged_snapshot_is_ignored_for_an_earlier_one_and_then_for_none(tmp_path, where):
    session = await write(tmp_path, 6, snapshots=(1, 3, 5))
    newest, older = sorted(session.glob("snapshot-*"), reverse=True)
    store = FileStore(tmp_path)
    assert (await store.read("s1")).snapshot == (5, b'{"state":5}')
    flip(newest, where)
    loaded = await store.read("s1")
    assert loaded.snapshot == (3, b'{"state":3}')
    assert tuple(loaded.events) == tuple(events(4, 6))
    flip(older, where)
    loaded = await store.read("s1")
    assert loaded.snapshot is None
    assert tuple(loaded.events) == tuple(events(1, 6))
    assert loaded.recovery.damage is None


@pytest.mark.req("R-199")
async def test_every_changed_byte_of_a_snapshot_is_noticed(tmp_path):
    session = await write(tmp_path, 3, snapshots=(1, 2))
    newest = max(session.glob("snapshot-*"))
    store = FileStore(tmp_path)
    for offset in range(len(newest.read_bytes())):
        flip(newest, offset)
        assert (await store.read("s1")).snapshot == (1, b'{"state":1}')
        flip(newest, offset)
    assert (await store.read("s1")).snapshot == (2, b'{"state":2}')


async def test_a_snapshot_of_another_session_or_of_a_newer_schema_is_ignored(tmp_path):
    session = await write(tmp_path, 3, snapshots=(2,))
    (snapshot,) = session.glob("snapshot-*")
    first_line, _, body = snapshot.read_bytes().partition(b"\n")
    store = FileStore(tmp_path)
    for old, new in ((b'"schema":0', b'"schema":1'), (b'"session":"s1"', b'"session":"s2"')):
        snapshot.write_bytes(seal(first_line.replace(old, new)[:-18]) + body)
        assert (await store.read("s1")).snapshot is None
    snapshot.write_bytes(seal(first_line[:-18]) + body)
    assert (await store.read("s1")).snapshot == (2, b'{"state":2}')


async def test_a_snapshot_that_vanishes_while_it_is_read_is_no_failure(tmp_path):
    session = await write(tmp_path, 3, snapshots=(2,))
    (session / "snapshot-000000000003.json").symlink_to("gone")
    assert (await FileStore(tmp_path).read("s1")).snapshot == (2, b'{"state":2}')


async def test_only_the_two_newest_snapshots_are_kept(tmp_path):
    session = await write(tmp_path, 9, snapshots=tuple(range(1, 10)))
    assert sorted(path.name for path in session.glob("*snapshot*")) == [
        "snapshot-000000000008.json",
        "snapshot-000000000009.json",
    ]


async def test_a_snapshot_of_any_earlier_event_is_found_again_in_whatever_segment_it_stands(tmp_path):
    store = FileStore(tmp_path, segment_max=300)
    for reopened in (False, True):
        for seq in range(1, 13):
            name = f"{seq}-{reopened}"
            session = await write(tmp_path / name, 12, segment_max=300)
            assert len(segments(session)) > 3
            store = FileStore(tmp_path / name, segment_max=300)
            journal = await store.open("s1")
            if not reopened:
                await journal.rescan()
            await journal.snapshot(seq, b"state")
            await journal.close()
            assert (await store.read("s1")).snapshot == (seq, b"state")


async def test_segments_rotate_and_never_change_afterwards(tmp_path):
    store = FileStore(tmp_path, segment_max=300)
    journal = await store.create("s1", HEADER)
    closed: dict[str, bytes] = {}
    for seq in range(1, 41):
        await journal.append([event(seq)])
        await journal.sync()
        found = segments(tmp_path / "s1")
        assert {name: found[name] for name in closed} == closed
        closed = {name: found[name] for name in sorted(found)[:-1]}
        if seq % 7 == 0:
            await journal.close()
            journal = await store.open("s1")
    assert len(closed) > 5
    assert all(300 <= len(data) < 300 + 200 for data in closed.values())
    assert tuple((await store.read("s1")).events) == tuple(events(1, 40))


async def test_a_segment_is_closed_only_when_all_of_it_is_durable(tmp_path):
    store = FileStore(tmp_path, segment_max=300)
    journal = await store.create("s1", HEADER)
    for seq in range(1, 41):
        await journal.append([event(seq)])
    assert list(segments(tmp_path / "s1")) == [FIRST]
    await journal.sync()
    await journal.append([event(41)])
    assert list(segments(tmp_path / "s1")) == [FIRST, SECOND]


async def test_a_rescan_that_finds_durable_bytes_gone_says_so(tmp_path):
    store = FileStore(tmp_path)
    journal = await store.create("s1", HEADER)
    await journal.append(events(1, 3))
    await journal.sync()
    flip_event(tmp_path / "s1", 2)
    with pytest.raises(SessionDamaged, match="event 3 was durable and cannot be read any more"):
        await journal.rescan()
    with pytest.raises(StorageFailed):
        await journal.append([event(4)])


async def test_rejections_survive_a_torn_one(tmp_path):
    store = FileStore(tmp_path)
    journal = await store.create("s1", HEADER)
    await journal.reject(b'{"n":1}')
    with (tmp_path / "s1" / "rejections.ndjson").open("ab") as file:
        file.write(b'{"rejection":{"n":')
    await journal.reject(b'{"n":2}')
    assert await store.rejections("s1") == (b'{"n":1}', b'{"n":2}')


async def test_what_is_no_session_is_not_listed(tmp_path):
    await write(tmp_path, 1)
    (tmp_path / "a file").write_bytes(b"")
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "empty").mkdir()
    store = FileStore(tmp_path)
    assert [(info.session_id, bool(info.problem)) for info in await store.sessions()] == [
        ("empty", True),
        ("s1", False),
    ]
    for name in ("file", "missing"):
        with pytest.raises(SessionUnknown):
            await store.open(name)


async def test_asking_never_makes_a_directory(tmp_path):
    store = FileStore(tmp_path / "root")
    assert await store.sessions() == ()
    with pytest.raises(SessionUnknown):
        await store.open("s1")
    assert not (tmp_path / "root").exists()


async def test_what_the_library_writes_only_its_user_may_read(tmp_path):
    session = await write(tmp_path / "root", 3, snapshots=(2,))
    journal = await FileStore(tmp_path / "root").open("s1")
    await journal.keep("out", b"data")
    await journal.reject(b"{}")
    for path in [session, *session.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


async def test_opening_lines_are_json_and_say_why_they_are_there(tmp_path):
    import json

    session = await write(tmp_path, 3)
    flip_event(session, 2)
    await (await FileStore(tmp_path).open("s1", accept_gap="ann")).close()
    record = json.loads((session / SECOND).read_bytes())
    assert record["position"] == {"segment": 1, "offset": len(COPY) + len(event_line(*event(1))), "seq": 1}
    assert (record["because"], record["accepted_by"], record["damage"]["kind"]) == ("gap-accepted", "ann", "middle")
    assert opening_line("s1", 1, chain_of(COPY).pieces[0].segment.opening) == COPY


@pytest.mark.parametrize("kept", [1, 2])
async def test_a_journal_that_is_cut_after_it_was_opened_is_reported_and_not_taken_for_a_shorter_one(tmp_path, kept):
    folder = await write(tmp_path, 3)
    loaded = await FileStore(tmp_path).read("s1")
    assert len(tuple(loaded.events)) == 3
    data = (folder / FIRST).read_bytes()
    (folder / FIRST).write_bytes(b"\n".join(data.split(b"\n")[: kept + 1]) + b"\n")
    with pytest.raises(StorageFailed, match=f"event {kept + 1} changed|EIO"):
        tuple(loaded.events)
