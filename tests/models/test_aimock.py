"""A second server, by others and in another language: text, parallel calls, and faults asked for by header.

``AIMOCK`` names the folder of the npm package ``@copilotkit/aimock``; without it these tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import anyio
import pytest

from agentcore import Limits
from agentcore.events import ModelFailed, ModelReplied
from agentcore.messages import Usage
from agentcore.states import StopReason
from interpreters import Agent, HttpModel, MemoryStore, tool
from interpreters.models import DIALECTS, Timeouts
from interpreters.scripted import ScriptedGate
from tests.cases.helpers_a import journalled
from tests.models.servers import call, free_port, process

CLI = Path(os.environ.get("AIMOCK", "")) / "dist" / "cli.js"
NODE = shutil.which("node")

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(
        not ("AIMOCK" in os.environ and CLI.is_file() and NODE),
        reason="needs node and AIMOCK=FOLDER/node_modules/@copilotkit/aimock, from npm install @copilotkit/aimock@1.43",
    ),
]

WORDS = "The bridge opens at nine – and it closes at six. 🌉"
FIXTURES = [
    {"match": {"userMessage": "bridge"}, "response": {"content": WORDS}},
    {
        "match": {"userMessage": "weather", "hasToolResult": False},
        "response": {
            "toolCalls": [
                {"id": f"call_{city}", "name": "get_weather", "arguments": {"city": city}} for city in ("Oslo", "Rome")
            ]
        },
    },
    {"match": {"userMessage": "weather", "hasToolResult": True}, "response": {"content": "Rome is warmer."}},
    {
        "match": {"userMessage": "both", "hasToolResult": False},
        "response": {"content": "I look.", "toolCalls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]},
    },
    {"match": {"userMessage": "both", "hasToolResult": True}, "response": {"content": "Cold."}},
]
CHAOS = {
    "drop": "server",
    "malformed": "protocol",
    "disconnect": "connection",
    "ratelimit": "rate-limited",
}
"""What each fault is called there and here."""


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=pytest.mark.deep)])
def anyio_backend(request) -> str:
    """What is tried here is the other side: in an ordinary run on one event loop."""
    return request.param


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}), encoding="utf-8")
    port = free_port()
    command = [NODE, str(CLI), "-p", str(port), "-h", "127.0.0.1", "-f", str(fixtures), "-c", "7"]
    with process(command, port) as url:
        yield url


@tool
def get_weather(city: str) -> str:
    """Say what the weather is."""
    return {"Oslo": "-3", "Rome": "12"}[city]


async def turn(mock: str, dialect: str, words: str, faults: tuple[str, ...] = ()):
    """Do one turn; each request asks for the next fault by its header. Return how it ended, and its requests' ends."""
    left = list(faults)

    def headers() -> dict[str, str]:
        return {f"x-aimock-chaos-{left.pop(0)}": "1"} if left else {}

    store = MemoryStore()
    timeouts = Timeouts(connect_s=10, idle_s=5, progress_s=5)
    model = HttpModel("m", base_url=f"{mock}/v1", dialect=dialect, timeouts=timeouts, credentials=headers)
    limits = Limits(model_retries=2, retry_base_ms=10, retry_jitter_ms=0)
    agent = Agent(model=model, tools=[get_weather], rules=ScriptedGate(), limits=limits, store=store)
    with anyio.fail_after(30):
        async with agent.open("s", create=True) as session:
            await session.send(words)
            result = await session.wait()
    return result, [one for one in await journalled(store, "s") if isinstance(one, ModelFailed | ModelReplied)]


def journal(mock: str) -> list[dict]:
    return call("GET", f"{mock}/__aimock/journal")[1]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_text_comes_through_as_it_is(mock, dialect):
    result, ends = await turn(mock, dialect, "When does the bridge open?")
    assert (result.reason, result.text) == (StopReason.FINAL_ANSWER, WORDS)
    assert None not in (ends[0].usage.input_tokens, ends[0].usage.output_tokens)
    assert ends[0].usage != Usage()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.req("D-4")
async def test_parallel_calls_run_and_their_results_find_them(mock, dialect):
    result, ends = await turn(mock, dialect, "Where is the weather better?")
    assert (result.reason, result.text) == (StopReason.FINAL_ANSWER, "Rome is warmer.")
    assert [call.provider_id for call in ends[0].parts] == ["call_Oslo", "call_Rome"]
    # What the server took for the history it was sent.
    sent = journal(mock)[-1]["body"]["messages"]
    results = {one["tool_call_id"]: one["content"] for one in sent if one["role"] == "tool"}
    assert results == {"call_Oslo": "-3", "call_Rome": "12"}


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_text_and_a_call_in_one_message_are_both_taken(mock, dialect):
    result, ends = await turn(mock, dialect, "Tell me both.")
    assert (result.reason, result.text) == (StopReason.FINAL_ANSWER, "Cold.")
    assert [type(part).__name__ for part in ends[0].parts] == ["TextPart", "ToolCallPart"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("fault", CHAOS)
@pytest.mark.req("D-13", "D-14", "R-142")
async def test_a_fault_is_named_and_tried_again_where_that_may_help(mock, dialect, fault):
    result, ends = await turn(mock, dialect, "When does the bridge open?", (fault,))
    assert ends[0].code == CHAOS[fault]
    if fault == "malformed":
        # A whole answer that is no JSON: the address is wrong, which no other try mends.
        assert (result.reason, len(ends)) == (StopReason.MODEL_ERROR, 1)
    else:
        assert (result.reason, result.text, len(ends)) == (StopReason.FINAL_ANSWER, WORDS, 2)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_it_has_no_answer_to_is_not_asked_again(mock, dialect):
    result, ends = await turn(mock, dialect, "Something else?")
    assert (result.reason, len(ends)) == (StopReason.MODEL_ERROR, 1)
