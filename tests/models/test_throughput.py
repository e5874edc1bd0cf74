"""Events per second, beside the usual way to read a stream: httpx, httpx-sse and a bare JSON parse."""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from pathlib import Path

import anyio
import httpx
import httpx_sse
import pytest

from agentcore.events import ModelReplied
from interpreters import HttpModel
from tests.models.runs import watched
from tests.models.servers import free_port, process

pytestmark = pytest.mark.slow

EVENTS = 10_000
ROUNDS = 7


@pytest.fixture(scope="module")
def server():
    port = free_port()
    with process([sys.executable, str(Path(__file__).with_name("stream_server.py")), str(port)], port) as url:
        yield f"{url}/blast/{EVENTS}"


async def bare(url: str) -> int:
    """Parse each event and look whether it says something; nothing is put together, checked or timed."""
    count = 0
    async with (
        httpx.AsyncClient(trust_env=False) as client,
        httpx_sse.aconnect_sse(client, "POST", f"{url}/chat/completions", content=b"{}") as source,
    ):
        async for event in source.aiter_sse():
            if event.data != "[DONE]":
                count += bool(json.loads(event.data)["choices"][0]["delta"].get("content"))
    return count


async def ours(url: str) -> int:
    """One attempt of a request, as the engine makes it: decoded, assembled, shown piece by piece, watched by clocks."""
    seen = watched()
    event = await HttpModel("m", base_url=url).answer(seen.run)
    assert isinstance(event, ModelReplied)
    assert event.parts[0].text == "".join(delta.text for delta in seen.shown)
    return len(seen.shown)


def cpu_s(work, url: str) -> float:
    gc.collect()
    began = time.process_time()
    assert anyio.run(work, url) == EVENTS
    return time.process_time() - began


def test_events_come_at_least_as_fast_as_with_a_bare_parse(server, report):
    for work in (bare, ours):
        cpu_s(work, server)
    pairs = [(cpu_s(bare, server), cpu_s(ours, server)) for _ in range(ROUNDS)]
    theirs, own = (statistics.median(times) for times in zip(*pairs, strict=True))
    # Within a pair both were measured one after the other: what else the machine did fell on both.
    ratio = statistics.median(theirs / own for theirs, own in pairs)
    report(
        f"{EVENTS} events: bare {theirs / EVENTS * 1e6:.1f} µs, ours {own / EVENTS * 1e6:.1f} µs of CPU each, "
        f"ratio {ratio:.2f}"
    )
    assert ratio >= 1.0
