"""The tools as an MCP server: what it says on its standard output, and that the truth is kept elsewhere."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from interpreters.check import Behaviour, Call, Patience, Scenario, Step
from interpreters.check.http import listen, port_of, serve
from interpreters.check.record import Record
from interpreters.check.world import World
from tests.meta.tree import ROOT

PATIENCE = Patience(slow_s=30)


async def nothing_happens(kind, moment, step):
    return False


class Bench:
    """A world, and the server in front of it."""

    def __init__(self, record, url):
        self.record = record
        command = [sys.executable, "-m", "interpreters.check.mcp", url]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(self, **message):
        self.line(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def line(self, data):
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, params=None, number=1):
        self.say(id=number, method=method, params=params or {})
        answer = self.hear()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", number)
        return answer["result"] if "result" in answer else answer["error"]

    def call(self, name="record", entry="x", number=1, **more):
        return self.ask("tools/call", {"name": name, "arguments": {"entry": entry, "count": 1}, **more}, number)


@contextlib.contextmanager
def world(scenario) -> Iterator[tuple[Record, str]]:
    """A world that answers in a thread of its own."""
    record = Record(scenario, "mark", "prompt")
    made = World(record, PATIENCE, nothing_happens)
    ready, stop = threading.Event(), anyio.Event
    ports, ends = [], []

    async def live():
        ends.append(stop())
        async with await listen() as listener, anyio.create_task_group() as tasks:
            ports.append(port_of(listener))

            async def handle(exchange):
                await made.answer(exchange.request.path.removeprefix("/tools"), exchange)

            tasks.start_soon(serve, listener, handle)
            ready.set()
            await ends[0].wait()
            tasks.cancel_scope.cancel()

    with start_blocking_portal() as portal:
        running = portal.start_task_soon(live)
        assert ready.wait(10)
        yield record, f"http://127.0.0.1:{ports[0]}/tools"
        portal.call(lambda: ends[0].set())
        running.result(10)


@pytest.fixture
def bench():
    slow = Scenario("slow", (Step((Call(), Call(behaviour=Behaviour.SLOW), Call(behaviour=Behaviour.LOST))),))
    with world(slow) as (record, url):
        made = Bench(record, url)
        with made.process:
            yield made
            made.process.stdin.close()
            assert made.process.wait(20) == 0


@pytest.mark.parametrize(("asked", "given"), [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")])
def test_the_version_is_the_one_asked_for_or_the_newest_that_is_known(bench, asked, given):
    told = bench.ask("initialize", {"protocolVersion": asked, "capabilities": {}, "clientInfo": {}})
    assert (told["protocolVersion"], told["capabilities"]) == (given, {"tools": {"listChanged": False}})


def test_tools_are_listed_called_and_counted_where_this_process_cannot_lose_them(bench):
    bench.say(method="notifications/initialized")
    names = [tool["name"] for tool in bench.ask("tools/list")["tools"]]
    assert names == ["record", "guarded"]
    told = bench.call(entry="mark-0.0")
    (deed,) = bench.record.deeds
    assert told == {"content": [{"type": "text", "text": deed.receipt}], "isError": False}
    assert (deed.tool, deed.entry, deed.fits) == ("record", "mark-0.0", True)


def test_the_same_key_does_nothing_more(bench):
    first, second = (bench.call(entry="mark-0.0", number=n, _meta={"agentcore/key": "k"}) for n in (1, 2))
    assert first == second
    assert len(bench.record.deeds) == 1


def test_arguments_that_do_not_fit_are_an_error_of_the_tool(bench):
    told = bench.ask("tools/call", {"name": "record", "arguments": {"entry": 1}})
    assert told["isError"]
    assert bench.record.deeds == []


def test_a_lost_answer_is_told_as_an_unknown_outcome_and_not_as_a_failure(bench):
    assert "unknown" in bench.call(entry="mark-0.2")["message"]
    assert len(bench.record.deeds) == 1


def test_a_cancelled_call_is_not_answered_and_others_go_on(bench):
    bench.say(id=7, method="tools/call", params={"name": "record", "arguments": {"entry": "mark-0.1", "count": 1}})
    while not bench.record.deeds:
        assert bench.ask("ping", number=8) == {}
    bench.say(method="notifications/cancelled", params={"requestId": 7})
    assert bench.call(entry="mark-0.0", number=9)["isError"] is False


def test_what_is_no_request_gets_an_error_and_the_next_one_an_answer(bench):
    bench.line(b"{oops")
    assert bench.hear()["error"]["code"] == -32700
    bench.line(b"[]")
    assert bench.hear()["error"]["code"] == -32600
    assert bench.ask("frob")["code"] == -32601
    assert bench.ask("tools/call", {"name": 3})["code"] == -32602


def test_an_interrupt_is_for_the_program_that_started_it(bench):
    bench.ask("tools/list")
    os.kill(bench.process.pid, signal.SIGINT)
    assert bench.ask("tools/list", number=2)["tools"]


def test_without_a_place_to_ask_it_says_so():
    env = {name: value for name, value in os.environ.items() if not name.startswith("AGENTCORE_")}
    command = [sys.executable, "-m", "interpreters.check.mcp"]
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=30, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"agentcore check mcp: no tools URL was given\n")
