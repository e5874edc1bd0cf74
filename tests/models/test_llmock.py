"""A server of others that breaks on demand and grades its client: every dialect, every fault, through the engine.

A turn is done; what the server saw of it is judged by the server: whether the client waited as long as it was asked to,
backed off, tried again what may help and nothing else, and took no cut answer for a whole one.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import anyio
import pytest

from agentcore import Limits
from agentcore.events import ModelFailed, ModelReplied
from agentcore.states import StopReason
from interpreters import Agent, HttpModel, MemoryStore
from interpreters.models import DIALECTS, Timeouts
from tests.cases.helpers_a import journalled
from tests.models.servers import call, free_port, process

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("llmock") is None, reason="needs llmock: pip install llmock==0.2.2"),
]

TIMEOUTS = Timeouts(connect_s=10, idle_s=0.5, progress_s=5)
LIMITS = Limits(model_retries=3, retry_base_ms=60, retry_jitter_ms=20)
WORDS = "The bridge opens at nine and closes at six in the evening."
AFTER = {"after_chunks": 6}
BASES = {"chat": "/v1", "responses": "/v1", "anthropic": "/anthropic/v1"}

FEWER = ["chat", *(pytest.param(name, marks=pytest.mark.deep) for name in DIALECTS if name != "chat")]

FAULTS = {
    "429-retry-after": ({"type": "fail", "status": 429, "retry_after": 0.4}, "rate-limited", False),
    "503": ({"type": "fail", "status": 503}, "overloaded", False),
    "529": ({"type": "fail", "status": 529}, "overloaded", False),
    "500-twice": ({"type": "fail", "status": 500, "times": 2}, "server", False),
    "truncate": ({"type": "stream_fault", "kind": "truncate", **AFTER}, "truncated-stream", True),
    "disconnect": ({"type": "stream_fault", "kind": "disconnect", **AFTER}, "connection", True),
    "malformed": ({"type": "stream_fault", "kind": "malformed", **AFTER}, "malformed-stream", True),
    "stall": ({"type": "stream_fault", "kind": "stall", "stall_seconds": 20, **AFTER}, "idle-timeout", True),
}
"""What the server is told to do, how we name it, and whether it comes in the middle of a stream."""

FINAL = {
    "400": ({"type": "fail", "status": 400}, "invalid-request"),
    "401": ({"type": "fail", "status": 401}, "auth"),
    "404": ({"type": "fail", "status": 404}, "not-found"),
}
"""What no other try can mend."""


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=pytest.mark.deep)])
def anyio_backend(request) -> str:
    """The grid is large and takes real time: in an ordinary run it is walked on one event loop."""
    return request.param


@pytest.fixture(scope="module")
def mock():
    port = free_port()
    command = [sys.executable, "-m", "llmock.cli", "serve", "--host", "127.0.0.1", "--port", str(port)]
    with process([*command, "--stream-chunk-delay-ms", "30"], port) as url:
        yield url


def arm(mock: str, *behaviours: dict) -> None:
    """Tell the server what to do next. Anything but 201 means that it will not."""
    assert call("POST", f"{mock}/_llmock/reset")[0] == 200
    status, told = call("POST", f"{mock}/_llmock/scenario", {"behaviors": list(behaviours)})
    assert status == 201, told


async def verdict(mock: str) -> dict:
    _, found = await anyio.to_thread.run_sync(call, "GET", f"{mock}/_llmock/verdict")
    return found


async def turn(mock: str, dialect: str):
    """Do one turn; return how it ended, the views of it, and the ends of its requests."""
    store = MemoryStore()
    model = HttpModel(
        "m", base_url=f"{mock}{BASES[dialect]}", dialect=dialect, timeouts=TIMEOUTS, api_key="not-a-real-key"
    )
    async with Agent(model=model, limits=LIMITS, store=store).open("s", create=True) as session:
        with anyio.fail_after(30):
            seen = [shown async for shown in session.stream("When does the bridge open?")]
        result = session.result
    return result, seen, [one for one in await journalled(store, "s") if isinstance(one, ModelFailed | ModelReplied)]


@pytest.mark.req("D-13", "D-14", "R-141", "R-142")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_server_that_broke_finds_nothing_wrong_with_its_client(mock, dialect, fault):
    behaviour, code, in_the_middle = FAULTS[fault]
    arm(mock, behaviour, {"type": "reply", "text": WORDS, "times": None})
    result, seen, ends = await turn(mock, dialect)
    failed = [end for end in ends if isinstance(end, ModelFailed)]
    assert (result.reason, result.text) == (StopReason.FINAL_ANSWER, WORDS)
    assert [end.code for end in failed] == [code] * behaviour.get("times", 1)
    assert [end.output_shown for end in failed] == [in_the_middle] * len(failed)
    withdrawn = [shown.view.attempt for shown in seen if shown.name == "partial_discarded"]
    assert withdrawn == [end.attempt for end in failed if end.output_shown]
    found = await verdict(mock)
    assert (found["passed"], found["findings"], found["calls"]) == (True, [], 1), found
    assert (found["attempts"], found["faults_injected"]) == (len(failed) + 1, len(failed))


@pytest.mark.req("D-14", "R-142")
@pytest.mark.parametrize("fault", FINAL)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_no_other_try_can_mend_is_not_tried_again(mock, dialect, fault):
    behaviour, code = FINAL[fault]
    arm(mock, behaviour)
    result, _, ends = await turn(mock, dialect)
    assert (result.reason, [end.code for end in ends]) == (StopReason.MODEL_ERROR, [code])
    found = await verdict(mock)
    assert (found["passed"], found["findings"], found["attempts"]) == (True, [], 1), found


@pytest.mark.req("R-141")
@pytest.mark.parametrize("dialect", FEWER)
async def test_an_outage_is_given_up_after_the_retries_that_the_limits_allow(mock, dialect):
    arm(mock, {"type": "fail", "status": 503, "times": None})
    result, _, ends = await turn(mock, dialect)
    assert (result.reason, len(ends)) == (StopReason.MODEL_ERROR, LIMITS.model_retries + 1)
    found = await verdict(mock)
    assert (found["passed"], found["findings"], found["attempts"]) == (True, [], len(ends)), found


async def test_a_fault_that_was_not_armed_is_noticed(mock):
    with pytest.raises(AssertionError):
        arm(mock, {"type": "stream_fault", "kind": "no-such-fault"})
