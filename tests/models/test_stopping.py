"""Work that can be told to end."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from interpreters.support.stopping import until_stopped
from tests.models.runs import in_time

pytestmark = pytest.mark.anyio


@in_time
async def test_work_that_ends_by_itself_has_finished():
    assert await until_stopped(anyio.Event(), anyio.lowlevel.checkpoint)


@in_time
async def test_work_that_is_told_to_stop_is_cancelled():
    stop = anyio.Event()
    stop.set()
    assert not await until_stopped(stop, anyio.sleep_forever)


@in_time
async def test_work_that_has_ended_when_it_is_told_to_stop_has_finished():
    stop = anyio.Event()

    async def work() -> None:
        await anyio.lowlevel.checkpoint()
        stop.set()

    assert await until_stopped(stop, work)


@in_time
async def test_the_cancellation_of_the_caller_passes_through():
    with anyio.move_on_after(0.01) as scope:
        await until_stopped(anyio.Event(), anyio.sleep_forever)
    assert scope.cancelled_caught
