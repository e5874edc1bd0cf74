"""Work that can be told to end: by an event that means *stop and say what came of it*, beside ordinary cancellation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio


async def until_stopped(stop: anyio.Event, work: Callable[[], Awaitable[None]]) -> bool:
    """Await ``work()``, cancelling it when ``stop`` is set; return whether it came to its own end.

    ``work`` must not raise; the cancellation of the caller passes through both.
    """
    finished = False
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            await stop.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        await work()
        finished = True
        tasks.cancel_scope.cancel()
    return finished
