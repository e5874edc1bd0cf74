"""A real model behind llama.cpp's own server, in this process: all three dialects that it speaks, and what it does.

Nothing is scripted here: calls, cuts and refusals are the server's and the model's own. Its answers may differ from one
version to the next in their words, never in what is claimed of them.
"""

from __future__ import annotations

import importlib
import json
from contextlib import asynccontextmanager, contextmanager

import anyio
import attrs
import pytest

from agentcore import Effect, Limits, ModelSettings, ToolContract
from agentcore.events import ContextCompacted, ModelFailed, ModelFailure, ModelReplied
from agentcore.messages import (
    ArgumentsState,
    AssistantMessage,
    FinishReason,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
    parse_arguments,
)
from agentcore.states import StopReason
from interpreters import Agent, HttpModel, MemoryStore
from interpreters.cli.demo import smollm2
from interpreters.models import DIALECTS, OwnConnections, Timeouts
from interpreters.scripted import Compaction, ScriptedCompactor
from tests.cases.helpers_a import journalled
from tests.models.runs import user, view_of, watched

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(bool(smollm2.missing()), reason=f"needs the real model: {smollm2.COMMAND}"),
]

CONTEXT_TOKENS, ROOMY_TOKENS = 512, 2_560
FEWER = ["chat", *(pytest.param(name, marks=pytest.mark.deep) for name in DIALECTS if name != "chat")]
"""What takes long is tried in one dialect in an ordinary run."""
PATIENT = Timeouts(connect_s=10, idle_s=300, progress_s=300)
WEATHER = ToolContract(
    name="weather",
    effect=Effect.PURE,
    parameters='{"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}',
)


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=pytest.mark.deep)])
def anyio_backend(request) -> str:
    """A model takes real time: in an ordinary run it is asked on one event loop."""
    return request.param


@contextmanager
def serving(context_tokens: int):
    """A server; it ends with this process, for it knows no other way."""
    library = importlib.import_module("xllamacpp")
    asked = library.CommonParams()
    asked.model.path = str(smollm2.weights())
    asked.model_alias = {"m"}
    asked.chat_template = smollm2.TEMPLATE
    asked.use_jinja = True
    asked.n_ctx = context_tokens
    asked.n_parallel = 1
    asked.warmup = False
    asked.verbosity = -1
    # A comment for each second in which there is nothing to say.
    asked.sse_ping_interval = 1
    # Threads that wait for each other by spinning stand still on a machine that does other things too.
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1
    server = library.Server(asked)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture(scope="module")
def llama():
    """A server whose context is soon full."""
    with serving(CONTEXT_TOKENS) as address:
        yield address


@pytest.fixture(scope="module")
def roomy_llama():
    """A server that can be given so much to read that it takes seconds on any machine."""
    with serving(ROOMY_TOKENS) as address:
        yield address


def options(**others) -> ModelSettings:
    """So that every run says the same."""
    return ModelSettings("", json.dumps({"temperature": 0, "seed": 1, **others}))


def example(number: int, *cities: str):
    """A turn in which the weather of several cities was asked for at once."""
    calls = tuple(ToolCallPart(f"e{number}{city}", "weather", json.dumps({"city": city})) for city in cities)
    results = tuple(
        ToolResult(f"{number}.1.{index}", call.provider_id, "weather", "12", Succeeded("12"))
        for index, call in enumerate(calls)
    )
    yield user(f"Weather in {' and '.join(cities)}?", message_id=f"u{number}")
    yield AssistantMessage(f"{number}.1", 0, 1, calls)
    yield ToolMessage(f"{number}.1", results)
    yield AssistantMessage(f"{number}.2", 0, 1, (TextPart(f"It has 12 in {' and in '.join(cities)}."),))


def asking(**others):
    """A request for the weather of two cities, after two examples of how that is done."""
    asked = user("Weather in Paris and London?", message_id="u3")
    messages = (*example(1, "Rome", "Oslo"), *example(2, "Bern", "Kiev"), asked)
    return view_of(*messages, tools=(WEATHER,), settings=options(**others))


async def ask(llama: str, dialect: str, view, **fields):
    with anyio.fail_after(300):
        model = HttpModel("m", base_url=llama, dialect=dialect, **{"timeouts": PATIENT, **fields})
        return await model.answer(watched(view).run)


@pytest.mark.req("D-4", "R-009")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_real_model_makes_two_calls_in_one_message(llama, dialect):
    event = await ask(llama, dialect, asking(max_tokens=80, parallel_tool_calls=True))
    assert isinstance(event, ModelReplied), event
    calls = [part for part in event.parts if isinstance(part, ToolCallPart)]
    assert [(call.name, json.loads(call.arguments)["city"]) for call in calls] == [
        ("weather", "Paris"),
        ("weather", "London"),
    ]
    assert len({call.provider_id for call in calls}) == 2
    assert event.usage.input_tokens > 300
    assert event.usage.output_tokens > 20


@pytest.mark.req("D-15")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_call_that_the_limit_of_tokens_cuts_is_not_whole(llama, dialect):
    event = await ask(llama, dialect, asking(max_tokens=16))
    assert isinstance(event, ModelReplied), event
    # Responses of this server claim to be completed even then: what is cut says so itself.
    assert (event.finish is FinishReason.LENGTH) is (dialect != "responses")
    calls = [part for part in event.parts if isinstance(part, ToolCallPart)]
    assert [parse_arguments(call.arguments).state for call in calls] in ([], [ArgumentsState.INCOMPLETE])
    assert calls or dialect != "responses"


@pytest.mark.req("R-145", "G-9")
@pytest.mark.parametrize("dialect", FEWER)
async def test_a_context_that_overflows_is_made_smaller_once_and_then_answered(llama, dialect):
    store, compactor = MemoryStore(), ScriptedCompactor([Compaction()])
    model = HttpModel("m", base_url=llama, dialect=dialect, timeouts=PATIENT)
    agent = Agent(
        model=model, compactor=compactor, store=store, limits=Limits(model_retries=0), settings=options(max_tokens=8)
    )
    with anyio.fail_after(300):
        async with agent.open("s", create=True) as session:
            # Each fits alone, and both together do not.
            for words in (220, 320):
                await session.send("word " * words + "Now say hello.")
                result = await session.wait()
    journal = await journalled(store, "s")
    failed = [event for event in journal if isinstance(event, ModelFailed)]
    assert [(event.kind, event.code) for event in failed] == [(ModelFailure.OVERFLOW, "context-overflow")]
    assert len([event for event in journal if isinstance(event, ContextCompacted)]) == 1
    assert len(compactor.orders) == 1
    answered = journal.index(failed[0])
    assert any(isinstance(event, ModelReplied) for event in journal[answered:])
    assert result.reason in (StopReason.FINAL_ANSWER, StopReason.TRUNCATED)


@attrs.frozen
class Copy:
    """An answer, copied while it is read."""

    response: object
    heard: list

    @property
    def status_code(self) -> int:
        return self.response.status_code

    @property
    def headers(self):
        return self.response.headers

    async def aiter_raw(self):
        async for chunk in self.response.aiter_raw():
            self.heard.append(chunk)
            yield chunk


@attrs.frozen
class Overheard:
    """The client used by default, and every byte that came through it."""

    heard: list = attrs.field(factory=list)

    @asynccontextmanager
    async def stream(self, *place, **sent):
        async with OwnConnections().stream(*place, **sent) as response:
            yield Copy(response, self.heard)


@pytest.mark.parametrize("dialect", FEWER)
async def test_comments_keep_a_request_alive_while_the_model_reads(roomy_llama, dialect, anyio_backend):
    client = Overheard()
    # Nothing that the server has read before: it starts with other words, and takes seconds.
    view = view_of(
        user(f"{anyio_backend} {dialect} " + "reads a long text slowly and " * 300), settings=options(max_tokens=4)
    )
    event = await ask(roomy_llama, dialect, view, client=client, timeouts=Timeouts(idle_s=60, progress_s=200))
    assert isinstance(event, ModelReplied), event
    comments = [line for line in b"".join(client.heard).split(b"\n") if line.startswith(b":")]
    assert comments
