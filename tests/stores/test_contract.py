"""What every store promises: each test runs against files and memory, on both event loops."""

from __future__ import annotations

import json
import os
import socket

import anyio
import anyio.lowlevel
import pytest

from interpreters.stores import rules
from interpreters.support.ports_store import (
    SessionExists,
    SessionLocked,
    SessionUnknown,
    StorageFailed,
    UnsafeName,
)

pytestmark = pytest.mark.anyio

HEADER = b'{"config":{"tools":[]},"at":1}'
UNSAFE = ["", ".", "..", "a/b", "/etc", "../x", ".hidden", "a\n", "a\0b", "é", "a b", "x" * 101, "\udcff", "a\\b"]


def event(seq: int, size: int = 0) -> tuple[int, bytes]:
    return seq, json.dumps({"seq_again": seq, "text": "x" * size}).encode()


def events(first: int, last: int) -> list[tuple[int, bytes]]:
    return [event(seq) for seq in range(first, last + 1)]


async def test_a_created_session_has_its_header_and_no_events(store):
    journal = await store.create("s1", HEADER)
    assert journal.session_id == journal.loaded.session_id == "s1"
    assert journal.loaded.header == HEADER
    assert tuple(journal.loaded.events) == ()
    assert journal.loaded.snapshot is None
    assert journal.loaded.recovery.last_seq == journal.last_seq == 0
    assert journal.loaded.recovery.damage is None
    assert "Nothing" in journal.loaded.recovery.next_check


async def test_the_header_is_durable_when_create_returns(harness):
    journal = await harness.store.create("s1", HEADER)
    await harness.crash(journal)
    assert (await harness.store.open("s1")).loaded.header == HEADER


@pytest.mark.req("R-197", "R-204")
async def test_events_come_back_byte_for_byte_and_in_order(store):
    payloads = [
        b'{"text":"\xe2\x80\xa8 \xc2\x85 \xf0\x9f\x8c\xb1 \\ud800"}',
        b'{"carriage":"return\r","space": [1 , 2]}',
        b'{"seq":1,"event":{},"crc":"00000000"}',
        b"{}",
        b'{"not utf-8":"\xff\xfe"}',
    ]
    appended = tuple(enumerate(payloads, 1))
    journal = await store.create("s1", HEADER)
    await journal.append(appended[:3])
    await journal.append(appended[3:])
    await journal.append([])
    assert journal.last_seq == 5
    assert tuple((await store.read("s1")).events) == appended
    await journal.close()
    again = await store.open("s1")
    assert tuple(again.loaded.events) == appended
    assert again.last_seq == again.loaded.recovery.last_seq == 5


@pytest.mark.req("R-194", "R-201")
async def test_a_crash_keeps_what_was_synced_and_at_most_what_was_appended(harness):
    journal = await harness.store.create("s1", HEADER)
    await journal.append(events(1, 3))
    assert await journal.sync() == 3
    await journal.append(events(4, 5))
    await harness.crash(journal)
    again = await harness.store.open("s1")
    assert tuple(again.loaded.events) == tuple(events(1, 3))
    await again.append(events(4, 6))
    assert await again.sync() == 6
    await harness.crash(again)
    assert tuple((await harness.store.read("s1")).events) == tuple(events(1, 6))


async def test_what_open_returns_is_durable(harness):
    journal = await harness.store.create("s1", HEADER)
    await journal.append(events(1, 3))
    await journal.close()
    journal = await harness.store.open("s1")
    assert journal.last_seq == 3
    await harness.crash(journal)
    assert (await harness.store.read("s1")).recovery.last_seq == 3


async def test_a_sync_with_nothing_to_do_says_what_is_durable(store):
    journal = await store.create("s1", HEADER)
    assert await journal.sync() == 0
    await journal.append(events(1, 2))
    assert await journal.sync() == await journal.sync() == 2


@pytest.mark.parametrize("first", [0, 1, 2, 4, -1])
async def test_a_wrong_seq_is_refused_and_nothing_is_recorded(store, first):
    journal = await store.create("s1", HEADER)
    await journal.append(events(1, 2))
    with pytest.raises(ValueError, match="where 3 is the next one"):
        await journal.append([event(first)])
    with pytest.raises(ValueError, match="where 4 is the next one"):
        await journal.append([event(3), event(5)])
    await journal.append([event(3)])
    assert tuple((await store.read("s1")).events) == tuple(events(1, 3))


@pytest.mark.parametrize("payload", [b"", b"[]", b'{"a":\n1}', b'{"a":1}\n', b" {}", b"{", b"}"])
async def test_a_payload_that_is_no_object_on_one_line_is_refused(store, payload):
    with pytest.raises(ValueError, match="JSON object on one line"):
        await store.create("other", payload)
    journal = await store.create("s1", HEADER)
    with pytest.raises(ValueError, match="event 1 is not a JSON object on one line"):
        await journal.append([(1, payload)])
    with pytest.raises(ValueError, match="JSON object on one line"):
        await journal.reject(payload)
    assert await journal.sync() == 0


async def test_a_session_is_created_once(store):
    journal = await store.create("s1", HEADER)
    await journal.append(events(1, 2))
    with pytest.raises(SessionExists, match="'s1' exists already"):
        await store.create("s1", b"{}")
    await journal.close()
    with pytest.raises(SessionExists):
        await store.create("s1", b"{}")
    assert tuple((await store.read("s1")).events) == tuple(events(1, 2))


async def test_an_unknown_session_is_never_made_by_asking_for_it(store):
    for ask in (store.open, store.read, store.rejections, lambda name: store.kept(name, "kept/a-" + "0" * 16)):
        with pytest.raises(SessionUnknown, match="no session 'nobody'"):
            await ask("nobody")
    assert await store.sessions() == ()


@pytest.mark.parametrize("name", UNSAFE)
async def test_a_name_that_could_leave_its_directory_is_refused(store, name):
    for ask in (store.open, store.read, store.rejections, lambda name: store.create(name, HEADER)):
        with pytest.raises(UnsafeName, match="is not a safe name"):
            await ask(name)
    journal = await store.create("s1", HEADER)
    with pytest.raises(UnsafeName):
        await journal.keep(name, b"data")
    for place in (name, f"kept/{name}", f"kept/{name}-{'0' * 16}"):
        with pytest.raises(UnsafeName):
            await store.kept("s1", place)


async def test_a_second_writer_is_refused_and_told_by_whom(store):
    journal = await store.create("s1", HEADER)
    await journal.append(events(1, 2))
    with pytest.raises(SessionLocked, match="'s1' is locked by process") as caught:
        await store.open("s1")
    assert str(os.getpid()) in caught.value.holder
    assert socket.gethostname() in caught.value.holder
    assert (await store.read("s1")).recovery.last_seq == 2
    await journal.close()
    assert (await store.open("s1")).last_seq == 2


@pytest.mark.req("R-199")
async def test_a_snapshot_stands_for_the_events_before_it(store):
    journal = await store.create("s1", HEADER)
    await journal.append(events(1, 3))
    await journal.sync()
    await journal.snapshot(3, b'{"state":3}')
    await journal.append(events(4, 5))
    await journal.snapshot(4, b"any bytes\nat all")
    await journal.close()
    loaded = (await store.open("s1")).loaded
    assert loaded.snapshot == (4, b"any bytes\nat all")
    assert tuple(loaded.events) == (event(5),)
    assert loaded.recovery.last_seq == 5
    whole = await store.read("s1", from_start=True)
    assert whole.snapshot is None
    assert tuple(whole.events) == tuple(events(1, 5))


@pytest.mark.parametrize("seq", [-1, 0, 3])
async def test_a_snapshot_belongs_to_an_event(store, seq):
    journal = await store.create("s1", HEADER)
    await journal.append(events(1, 2))
    with pytest.raises(ValueError, match="the events are 1 to 2"):
        await journal.snapshot(seq, b"{}")
    assert (await store.read("s1")).snapshot is None


@pytest.mark.req("R-199")
async def test_a_snapshot_of_events_that_were_lost_is_not_used(harness):
    journal = await harness.store.create("s1", HEADER)
    await journal.append(events(1, 2))
    await journal.sync()
    await journal.snapshot(2, b'{"state":2}')
    await journal.append(events(3, 4))
    await journal.snapshot(4, b'{"state":4}')
    await harness.crash(journal)
    again = await harness.store.open("s1")
    assert again.loaded.snapshot == (2, b'{"state":2}')
    assert again.loaded.recovery.last_seq == 2


@pytest.mark.parametrize("act", ["append", "sync"])
@pytest.mark.req("R-192", "R-193")
async def test_after_a_failure_nothing_is_written_before_a_rescan_and_everything_after_it(harness, act):
    journal = await harness.store.create("s1", HEADER)
    await journal.append(events(1, 2))
    await journal.sync()
    await journal.append(events(3, 4))
    harness.fail_next(act)
    with pytest.raises(StorageFailed, match=f"storage unavailable: {act} failed"):
        await (journal.append([event(5)]) if act == "append" else journal.sync())
    with pytest.raises(StorageFailed, match="rescan"):
        await journal.append([event(5)])
    with pytest.raises(StorageFailed, match="rescan"):
        await journal.sync()
    assert await journal.rescan() == journal.last_seq == 2
    await journal.append(events(3, 6))
    assert await journal.sync() == 6
    await harness.crash(journal)
    assert tuple((await harness.store.open("s1")).loaded.events) == tuple(events(1, 6))


async def test_a_rescan_that_fails_can_be_tried_again(harness):
    journal = await harness.store.create("s1", HEADER)
    await journal.append([event(1)])
    harness.fail_next("sync")
    with pytest.raises(StorageFailed):
        await journal.sync()
    for _ in range(3):
        harness.fail_next("rescan")
        with pytest.raises(StorageFailed, match="rescan failed"):
            await journal.rescan()
        with pytest.raises(StorageFailed):
            await journal.append([event(2)])
    assert await journal.rescan() == 0
    await journal.append(events(1, 2))
    assert await journal.sync() == 2


async def test_a_rescan_without_a_failure_goes_on_behind_what_is_durable(harness):
    journal = await harness.store.create("s1", HEADER)
    await journal.append(events(1, 2))
    await journal.sync()
    assert await journal.rescan() == 2
    await journal.append([event(3)])
    assert await journal.rescan() == 2
    await journal.append([event(3)])
    assert await journal.sync() == 3
    await journal.close()
    assert tuple((await harness.store.read("s1")).events) == tuple(events(1, 3))


async def test_a_failure_beside_the_journal_leaves_the_journal_usable(harness):
    journal = await harness.store.create("s1", HEADER)
    await journal.append(events(1, 2))
    for act, call in (
        ("snapshot", lambda: journal.snapshot(1, b"{}")),
        ("reject", lambda: journal.reject(b"{}")),
        ("keep", lambda: journal.keep("name", b"data")),
    ):
        harness.fail_next(act)
        with pytest.raises(StorageFailed, match=f"{act} failed"):
            await call()
        await call()
    await journal.append([event(3)])
    assert await journal.sync() == 3


@pytest.mark.req("R-189")
async def test_an_event_appended_while_a_sync_is_under_way_is_not_counted_durable(harness):
    journal = await harness.store.create("s1", HEADER)
    await journal.append([event(1)])
    async with harness.sync_under_way(journal) as reached:
        await journal.append([event(2)])
    assert reached == [1]
    await harness.crash(journal)
    assert (await harness.store.read("s1")).recovery.last_seq == 1


async def test_overlapping_syncs_agree(harness):
    journal = await harness.store.create("s1", HEADER)
    reached = []
    for seq in range(1, 40):
        await journal.append([event(seq)])
        async with anyio.create_task_group() as group:

            async def sync():
                reached.append(await journal.sync())

            group.start_soon(sync)
            group.start_soon(sync)
    assert sorted(reached) == sorted([*range(1, 40)] * 2)
    await journal.append([event(40)])
    await harness.crash(journal)
    assert (await harness.store.read("s1")).recovery.last_seq == 39


@pytest.mark.req("R-201")
@pytest.mark.parametrize("harness", ["memory"], indirect=True)
async def test_a_crash_while_a_sync_is_under_way_ends_it_as_a_failure(harness):
    journal = await harness.store.create("s1", HEADER)
    await journal.append([event(1)])
    async with harness.sync_under_way(journal) as reached:
        harness.store.crash()
        await (await harness.store.open("s1")).append([(1, b'{"another":1}')])
    assert "the journal was closed" in str(reached[0])
    harness.store.crash()
    assert tuple((await harness.store.read("s1")).events) == ()


async def test_events_appended_during_syncs_are_all_recorded_in_order(store):
    journal = await store.create("s1", HEADER)
    seen = []

    async def keep_syncing():
        while journal.last_seq < 200:
            seen.append(await journal.sync())

    async with anyio.create_task_group() as group:
        group.start_soon(keep_syncing)
        for seq in range(1, 201):
            await journal.append([event(seq)])
            await anyio.lowlevel.checkpoint()
    assert await journal.sync() == 200
    assert seen == sorted(seen)
    await journal.close()
    assert tuple((await store.read("s1")).events) == tuple(events(1, 200))


async def test_cancellation_does_not_interrupt_a_sync(harness):
    journal = await harness.store.create("s1", HEADER)
    await journal.append([event(1)])
    with anyio.CancelScope() as scope:
        scope.cancel()
        assert await journal.sync() == 1
    await harness.crash(journal)
    assert (await harness.store.read("s1")).recovery.last_seq == 1


async def test_rejections_are_kept_bounded_the_newest_last(store):
    journal = await store.create("s1", HEADER)
    assert await store.rejections("s1") == ()
    records = [json.dumps({"number": number, "why": "x" * 50_000}).encode() for number in range(40)]
    for record in records:
        await journal.reject(record)
    kept = await store.rejections("s1")
    assert kept == tuple(records[-len(kept) :])
    assert rules.REJECTIONS_MAX / 2 <= sum(map(len, kept)) <= 2.5 * rules.REJECTIONS_MAX
    assert (await store.read("s1")).recovery.last_seq == 0


async def test_a_rejection_too_long_to_keep_is_said_to_be_so(store):
    journal = await store.create("s1", HEADER)
    record = b'{"x":"' + b"y" * rules.REJECTIONS_MAX + b'"}'
    await journal.reject(record)
    assert [json.loads(each) for each in await store.rejections("s1")] == [{"too_long_bytes": len(record)}]


async def test_rejections_outlive_the_handle(store):
    journal = await store.create("s1", HEADER)
    await journal.reject(b'{"n":1}')
    await journal.close()
    journal = await store.open("s1")
    await journal.reject(b'{"n":2}')
    assert await store.rejections("s1") == (b'{"n":1}', b'{"n":2}')


@pytest.mark.req("G-13")
async def test_a_kept_output_comes_back_by_its_place_and_is_never_replaced(store):
    journal = await store.create("s1", HEADER)
    data = b"\0\xff" * 1000
    place = await journal.keep("1.1.1-out", data)
    other = await journal.keep("1.1.1-out", b"other")
    assert await journal.keep("1.1.1-out", data) == place != other
    assert await store.kept("s1", place) == data
    assert await store.kept("s1", other) == b"other"
    with pytest.raises(StorageFailed, match="read failed"):
        await store.kept("s1", place[:-16] + "0" * 16)


async def test_a_closed_journal_refuses_everything_and_closes_twice(store):
    journal = await store.create("s1", HEADER)
    await journal.append([event(1)])
    await journal.close()
    await journal.close()
    other = await store.open("s1")
    for call in (
        lambda: journal.append([event(2)]),
        journal.sync,
        journal.rescan,
        lambda: journal.snapshot(1, b"{}"),
        lambda: journal.reject(b"{}"),
        lambda: journal.keep("name", b"data"),
    ):
        with pytest.raises(StorageFailed, match="the journal was closed"):
            await call()
    await journal.close()
    await other.append([event(2)])
    with pytest.raises(SessionLocked):
        await store.open("s1")


async def test_sessions_are_listed_by_id_with_whoever_holds_them(store):
    assert await store.sessions() == ()
    for name in ("b", "a", "C.1_x-y"):
        journal = await store.create(name, HEADER)
        await journal.append([event(1, size=ord(name[0]))])
        if name != "a":
            await journal.close()
    found = await store.sessions()
    assert [info.session_id for info in found] == ["C.1_x-y", "a", "b"]
    assert [bool(info.holder) for info in found] == [False, True, False]
    assert str(os.getpid()) in found[1].holder
    assert [info.problem for info in found] == ["", "", ""]
    assert found[1].size < found[2].size
    assert all(info.changed_at > 1_700_000_000_000 for info in found)


@pytest.mark.parametrize("who", ["", " "])
async def test_a_gap_is_accepted_by_somebody(store, who):
    await (await store.create("s1", HEADER)).close()
    with pytest.raises(ValueError, match="names who accepts"):
        await store.open("s1", accept_gap=who)


async def test_accepting_a_gap_where_there_is_none_changes_nothing(store):
    journal = await store.create("s1", HEADER)
    await journal.append([event(1)])
    await journal.close()
    recovery = (await store.open("s1", accept_gap="ann")).loaded.recovery
    assert (recovery.last_seq, recovery.damage, recovery.gap_accepted_by) == (1, None, None)


@pytest.mark.parametrize(("event_size", "state_share"), [(100, 1.0), (2000, 0.5), (100, 30.0), (70_000, 1.0)])
async def test_total_writing_stays_linear_however_long_the_session(store, event_size, state_share):
    """The state grows with the journal, here up to thirty times as fast; all snapshots together stay in proportion."""
    journal = await store.create("s1", HEADER)
    appended = snapshots = largest = 0
    for seq in range(1, 1501):
        await journal.append([event(seq, event_size)])
        appended += len(event(seq, event_size)[1])
        if journal.snapshot_due():
            largest = int(appended * state_share)
            await journal.snapshot(seq, b"x" * largest)
            snapshots += largest
    assert 0 < snapshots <= appended + largest
    await journal.close()
    # What a load has left to replay is in proportion to what it need not replay.
    loaded = await store.read("s1")
    replayed = sum(len(payload) for _, payload in loaded.events)
    assert replayed <= max(rules.SNAPSHOT_MIN, largest) + event_size + 100


async def test_the_spacing_of_snapshots_outlives_the_handle(store):
    journal = await store.create("s1", HEADER)
    await journal.append([event(1, 50_000)])
    assert not journal.snapshot_due()
    await journal.close()
    journal = await store.open("s1")
    await journal.append([event(2, 50_000)])
    assert journal.snapshot_due()
    await journal.snapshot(2, b"x" * 90_000)
    await journal.append([event(3, 80_000)])
    assert not journal.snapshot_due()
    await journal.close()
    journal = await store.open("s1")
    assert not journal.snapshot_due()
    await journal.append([event(4, 10_000)])
    assert journal.snapshot_due()
