"""A thousand streams are cancelled while others wait for their places: nothing of them is left."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
import tracemalloc
from pathlib import Path

import anyio
import httpx2
import pytest
import trio

from agentcore.events import ModelReplied, ModelStopped
from interpreters import HttpModel
from tests.models.runs import watched
from tests.models.servers import call, free_port, process

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors, which needs /proc"),
]

PLACES = 10
AT_ONCE = 100
STREAMS = 1_000
PIECES = 20
"""Pieces of one stream, which takes some hundredths of a second."""
GROWTH_BYTES_MAX = 256 * 1024
"""What 800 streams may add, a small part of what one takes. trio lets up to a thousand deadlines lie that are over."""


@pytest.fixture(scope="module")
def server():
    port = free_port()
    with process([sys.executable, str(Path(__file__).with_name("stream_server.py")), str(port)], port) as url:
        yield url


def tasks() -> int:
    """How many tasks there are on this event loop."""
    try:
        return trio.lowlevel.current_statistics().tasks_living
    except RuntimeError:
        return len(asyncio.all_tasks())


def descriptors() -> int:
    """How many files and sockets are open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def wave(model: HttpModel, dice: random.Random, ends: dict[str, int]) -> None:
    """Begin many streams at once; each is cancelled at a moment of its own, or told to stop, or comes to its end."""

    async def one(number: int) -> None:
        seen = watched()
        after_s = dice.uniform(0, 0.4)
        if number % 3 == 0:
            with anyio.CancelScope(deadline=anyio.current_time() + after_s) as scope:
                ends[type(await model.answer(seen.run)).__name__] += 1
            ends["cancelled"] += scope.cancelled_caught
        else:
            async with anyio.create_task_group() as group:
                group.start_soon(tell, seen.run.stop, after_s)
                ends[type(await model.answer(seen.run)).__name__] += 1
                group.cancel_scope.cancel()

    async def tell(stop: anyio.Event, after_s: float) -> None:
        await anyio.sleep(after_s)
        stop.set()

    # Every other wave is cancelled whole in its middle, which is when places change hands.
    with anyio.move_on_after(dice.uniform(0.05, 0.2) if dice.random() < 0.5 else 30):
        async with anyio.create_task_group() as group:
            for number in range(AT_ONCE):
                group.start_soon(one, number)


def until_closed(server: str) -> int:
    """Wait until the server has seen that everybody is gone; return how many it still writes to."""
    until = time.monotonic() + 10
    while (found := call("GET", f"{server}/open")[1]) and time.monotonic() < until:
        time.sleep(0.05)
    return found


async def held(model: HttpModel) -> int:
    """How many places can be had at once."""
    got = 0

    async def hold() -> None:
        nonlocal got
        async with model._places.one():
            got += 1
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        for _ in range(PLACES * 2):
            group.start_soon(hold)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    return got


def measured() -> int:
    for _ in range(3):
        gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.req("R-082", "R-175")
async def test_a_thousand_cancelled_streams_leave_nothing_behind(server, report):
    dice = random.Random(1)
    model = HttpModel("m", base_url=f"{server}/drip/{PIECES}", streams_max=PLACES)
    ends = dict.fromkeys(("cancelled", ModelReplied.__name__, ModelStopped.__name__), 0)
    await wave(model, dice, ends)
    await wave(model, dice, ends)
    before = (tasks(), descriptors())
    tracemalloc.start()
    try:
        start = measured()
        for _ in range(STREAMS // AT_ONCE - 2):
            await wave(model, dice, ends)
        grown = measured() - start
    finally:
        tracemalloc.stop()
    assert (tasks(), descriptors()) == before
    assert await anyio.to_thread.run_sync(until_closed, server) == 0
    assert await held(model) == PLACES
    assert grown < GROWTH_BYTES_MAX
    assert isinstance(await model.answer(watched().run), ModelReplied)
    assert min(ends["cancelled"], ends["ModelStopped"]) > 0, ends
    report(f"{STREAMS} streams over {PLACES} places, {ends}: memory grew by {grown / 1024:.0f} KiB")


@pytest.mark.deep
async def test_a_pool_of_the_successor_is_whole_after_a_thousand_cancelled_streams(server):
    """Here the pool itself is what streams wait for."""
    dice = random.Random(1)
    ends = dict.fromkeys(("cancelled", ModelReplied.__name__, ModelStopped.__name__), 0)
    limits = httpx2.Limits(max_connections=PLACES, max_keepalive_connections=0)
    async with httpx2.AsyncClient(trust_env=False, limits=limits) as client:
        model = HttpModel("m", base_url=f"{server}/drip/{PIECES}", client=client)
        for _ in range(STREAMS // AT_ONCE):
            await wave(model, dice, ends)
        found: list[object] = []

        async def one() -> None:
            found.append(await model.answer(watched().run))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                for _ in range(PLACES):
                    group.start_soon(one)
    assert [type(event) for event in found] == [ModelReplied] * PLACES
