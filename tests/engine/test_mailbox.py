"""The order in which things are judged, and time without sleeping."""

from __future__ import annotations

import anyio
import pytest

from agentcore.events import SessionReopened, TimerFired
from interpreters.engine.clock import ManualClock, SystemClock, sleep_until
from interpreters.engine.mailbox import Mailbox, enclose

pytestmark = pytest.mark.anyio


def timer(name: str) -> TimerFired:
    return TimerFired(at=0, timer_id=name, epoch=0, attempt=1)


async def take(mailbox: Mailbox):
    envelope = await mailbox.take()
    return envelope if envelope is None else envelope.make(None)[0]


@pytest.mark.req("D-26", "R-056")
async def test_aborts_come_first_then_due_timers_then_the_rest_in_order():
    clock = ManualClock(1_000)
    mailbox = Mailbox(clock)
    rest, second, abort = timer("rest"), timer("second"), timer("abort")
    mailbox.put(enclose(rest))
    mailbox.put(enclose(second))
    mailbox.timers.start("late", 2_000, timer("late"))
    mailbox.timers.start("b", 900, timer("b"))
    mailbox.timers.start("a", 900, timer("a"))
    mailbox.timers.start("early", 800, timer("early"))
    mailbox.put_abort(enclose(abort))
    order = [(await take(mailbox)).timer_id for _ in range(6)]
    assert order == ["abort", "early", "b", "a", "rest", "second"]


async def test_a_timer_is_due_when_its_time_has_come_and_not_before():
    clock = ManualClock(1_000)
    mailbox = Mailbox(clock)
    mailbox.timers.start("x", 1_500, timer("x"))
    taken = []

    async def taking():
        taken.append(await take(mailbox))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(taking)
        await anyio.wait_all_tasks_blocked()
        clock.advance(499)
        await anyio.wait_all_tasks_blocked()
        assert taken == []
        clock.advance(1)
    assert taken == [timer("x")]


async def test_a_stopped_timer_never_fires():
    clock = ManualClock(1_000)
    mailbox = Mailbox(clock)
    for name in "abc":
        mailbox.timers.start(name, 500, timer(name))
    mailbox.timers.stop("a")
    mailbox.timers.stop("unknown")
    mailbox.timers.keep_only({"c"})
    mailbox.put(enclose(SessionReopened(at=0)))
    assert await take(mailbox) == timer("c")
    assert await take(mailbox) == SessionReopened(at=0)
    assert mailbox.timers.next_due is None


async def test_a_closed_mailbox_gives_nothing_more_and_lets_go_of_what_is_left():
    mailbox = Mailbox(ManualClock())
    mailbox.put(enclose(timer("rest")))
    mailbox.put_abort(enclose(timer("abort")))
    mailbox.close()
    assert await mailbox.take() is None
    assert len(mailbox.drain()) == 2
    await mailbox.wait_urgent()


async def test_waiting_for_something_urgent_ends_with_an_abort_or_with_the_time():
    clock = ManualClock(0)
    mailbox = Mailbox(clock)
    ended = []

    async def wait(name, until):
        await mailbox.wait_urgent(until)
        ended.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, "time", 10)
        await anyio.wait_all_tasks_blocked()
        clock.advance(10)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(wait, "abort", None)
        await anyio.wait_all_tasks_blocked()
        assert ended == ["time"]
        mailbox.put_abort(enclose(timer("abort")))
    assert ended == ["time", "abort"]


async def test_the_system_clock_waits_for_a_time_or_a_wake_up():
    clock = SystemClock()
    began = clock.now()
    await sleep_until(clock, began + 5)
    assert clock.now() >= began + 5
    wake = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.wait, wake, None)
        wake.set()


async def test_a_manual_clock_moves_only_when_it_is_told_to():
    clock = ManualClock(7)
    assert clock.now() == clock.now() == 7
    await clock.wait(anyio.Event(), 7)
    clock.advance(3)
    assert clock.now() == 10
