"""Usage is counted once per attempt, failed ones included; a sum says what it leaves out."""

from __future__ import annotations

import json

import pytest

from agentcore import Limits, start
from agentcore.codec import decode_event, decode_header
from agentcore.messages import Usage
from agentcore.projections import replay
from agentcore.states import StopReason
from interpreters import Agent, MemoryStore, ScriptedModel, allow, model_named
from interpreters.frontends import attempts_text, cost_of, spending, usage_text, usage_values
from interpreters.models import HttpModel, Prices
from interpreters.scripted import Ask, Break, Say, ScriptedToolBox, Stall, sub_agent
from tests.models.byteserver import RESET, Answer, chunk, events, serving

HASTY = Limits(model_retries=2, retry_base_ms=1, retry_jitter_ms=0)
PRICES = Prices(input_micros=1_000_000, output_micros=10_000_000)


async def spent_by(agent: Agent, task: str = "go"):
    """Run a turn; return its state and what each attempt consumed, read from the journal."""
    async with agent.open("s", create=True) as session:
        await session.send(task)
        await session.wait()
        state = session.state
    return state, await read_spending(agent.store)


async def read_spending(store):
    loaded = await store.read("s", from_start=True)
    header = decode_header(loaded.header)
    begun = start(header.session_id, header.config, header.at).state
    return tuple(spending(replay(begun, [decode_event(payload) for _, payload in loaded.events])))


def told(input_tokens: int, output_tokens: int) -> dict:
    return chunk(usage={"prompt_tokens": input_tokens, "completion_tokens": output_tokens})


@pytest.mark.anyio
@pytest.mark.req("R-074", "R-235", "D-14")
async def test_a_failed_attempt_that_told_usage_is_counted_beside_its_retry():
    """The first answer breaks after it told its running totals twice; the second one ends, after two tellings too."""
    broken = Answer((*events(chunk({"content": "h"}), told(10, 1), told(10, 3), done=False), RESET))
    whole = Answer(events(chunk({"content": "hi"}), told(10, 1), chunk({}, "stop"), told(10, 2)))
    with serving(broken, whole) as server:
        agent = Agent(model=HttpModel("m", base_url=server.url, prices=PRICES), limits=HASTY)
        state, spent = await spent_by(agent)
    assert [(one.ended, one.usage) for one in spent] == [
        ("failed", Usage(10, 3, cost_micros=40)),
        ("replied", Usage(10, 2, cost_micros=30)),
    ]
    assert [(one.about, one.attempt, one.code) for one in spent] == [("1.1", 1, "connection"), ("1.1", 2, "")]
    assert state.usage == state.turn.usage == Usage(20, 5, cost_micros=70)
    assert cost_of(spent).text == "0.0001"
    assert usage_values(state, spent)["cost"]["session"]["complete"] is True


def spoken(*told: dict) -> bytes:
    """Events that name themselves, as Anthropic and Responses send them."""
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in told)


def anthropic(cut: bool) -> Answer:
    """An answer of Anthropic messages, or one that breaks down after its first words."""
    usage = {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 1}
    head = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    begun = (
        {"type": "message_start", "message": head},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
    )
    if cut:
        return Answer((spoken(*begun, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),))
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
    return Answer((spoken(*begun, {"type": "content_block_stop", "index": 0}, ended, {"type": "message_stop"}),))


def responses(cut: bool) -> Answer:
    """An answer of OpenAI Responses, or one that fails after its first words and tells what it consumed."""
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 1 if cut else 2}
    item = {"type": "message", "id": "i1", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
    begun = (
        {"type": "response.created", "response": {"id": "r1", "model": "m", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "item_id": "i1", "content_index": 0, "delta": "hi"},
    )
    end = {"id": "r1", "model": "m", "usage": usage, "output": [item]}
    if cut:
        failed = end | {"status": "failed", "error": {"code": "server_error", "message": "oops"}}
        return Answer((spoken(*begun, {"type": "response.failed", "response": failed}),))
    return Answer((spoken(*begun, {"type": "response.completed", "response": end | {"status": "completed"}}),))


@pytest.mark.anyio
@pytest.mark.req("R-074", "R-235")
@pytest.mark.parametrize("told_by", [anthropic, responses])
async def test_failed_attempts_count_in_every_dialect(told_by):
    with serving(told_by(cut=True), told_by(cut=False)) as server:
        model = model_named(f"{told_by.__name__}:m", base_url=server.url, api_key="k", prices=PRICES)
        state, spent = await spent_by(Agent(model=model, limits=HASTY))
    assert [(one.ended, one.usage) for one in spent] == [
        ("failed", Usage(10, 1, 4, cost_micros=20)),
        ("replied", Usage(10, 2, 4, cost_micros=30)),
    ]
    assert state.usage == Usage(20, 3, 8, cost_micros=50)


@pytest.mark.anyio
@pytest.mark.req("R-235")
async def test_a_sum_of_known_and_unknown_costs_says_so():
    """The first attempt breaks without a word of usage, the second is complete."""
    broken = Answer((*events(chunk({"content": "h"}), done=False), RESET))
    whole = Answer(events(chunk({"content": "hi"}), chunk({}, "stop"), told(100_000, 0)))
    with serving(broken, whole) as server:
        agent = Agent(model=HttpModel("m", base_url=server.url, prices=PRICES), limits=HASTY)
        state, spent = await spent_by(agent)
    text = usage_text(state, spent)
    assert "0.1000 + unknown" in text
    assert "1 of 2 attempts did not tell what they consumed" in text
    values = usage_values(state, spent)["cost"]["turn"]
    assert values == {"micros": 100_000, "attempts": 2, "unpriced": 0, "untold": 1, "complete": False}


@pytest.mark.anyio
@pytest.mark.req("R-235")
async def test_tokens_without_a_price_cost_something_unknown():
    agent = Agent(model=ScriptedModel([Say("hi", usage=Usage(10, 5))]))
    state, spent = await spent_by(agent)
    text = usage_text(state, spent)
    assert text.split("\n")[6].split() == ["cost", "unknown", "unknown"]
    assert "1 of 1 attempts have no known price" in text
    assert "unknown" in attempts_text(spent)


@pytest.mark.anyio
@pytest.mark.req("R-105")
async def test_the_limit_of_cost_counts_failed_attempts():
    replies = [Break(text="x", usage=Usage(1, 1, cost_micros=600))] * 3
    agent = Agent(model=ScriptedModel(replies), limits=Limits(cost_micros=1000, retry_base_ms=1, retry_jitter_ms=0))
    state, spent = await spent_by(agent)
    assert state.phase.ending.reason is StopReason.MAX_COST
    assert (len(spent), cost_of(spent).micros) == (2, 1200)


@pytest.mark.anyio
@pytest.mark.req("R-235")
async def test_what_a_sub_agent_consumed_is_an_attempt_of_its_call():
    helper = sub_agent("helper", "done", usage=Usage(7, 3, cost_micros=5))
    model = ScriptedModel([Say(calls=(Ask("helper", {"task": "x"}),), usage=Usage(1, 1, cost_micros=1)), Say("ok")])
    agent = Agent(model=model, tools=ScriptedToolBox([helper]), rules=[allow()])
    state, spent = await spent_by(agent)
    assert [(one.about, one.ended, one.usage.cost_micros) for one in spent] == [
        ("1.1", "replied", 1),
        ("1.1.0", "tool", 5),
        ("1.2", "replied", None),
    ]
    assert state.usage == Usage(8, 4, cost_micros=6)


@pytest.mark.anyio
@pytest.mark.req("R-235")
async def test_an_attempt_whose_process_died_is_lost_and_its_cost_unknown():
    store = MemoryStore()
    dying = Agent(model=ScriptedModel([Stall("half", confirms=False)]), store=store)
    async with dying.open("s", create=True) as session:
        views = session.views()
        await session.send("go")
        async for shown in views:
            if shown.name == "text_delta":
                break
    going = Agent(model=ScriptedModel([Say("hi", usage=Usage(1, 1, cost_micros=9))]), store=store)
    async with going.open("s") as session:
        await session.wait()
    spent = await read_spending(store)
    assert [one.ended for one in spent] == ["lost", "replied"]
    assert (spent[0].epoch, spent[1].epoch) == (0, 1)
    assert cost_of(spent).text == "0.0000 + unknown"


def test_no_attempt_costs_nothing_yet():
    assert cost_of(()).text == "nothing yet"
