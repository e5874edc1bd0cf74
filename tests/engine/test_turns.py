"""Whole turns through the engine, with the real reducer."""

from __future__ import annotations

import anyio
import pytest

from agentcore.messages import AssistantMessage, ToolMessage
from agentcore.states import StopReason
from tests.engine.rig import (
    Rig,
    ScriptedModel,
    ScriptedTools,
    calls,
    collect,
    config,
    contract,
    names,
    settle,
    text,
)

pytestmark = pytest.mark.anyio


@pytest.mark.req("R-001", "R-075", "R-074")
async def test_a_question_gets_its_answer():
    rig = Rig(config())
    async with rig.open(ScriptedModel(text("four"))) as session:
        sent = await session.send("two and two?")
        result = await session.wait()
    assert sent.filed == "prompt"
    assert (result.reason, result.text, result.completed) == (StopReason.FINAL_ANSWER, "four", True)
    assert result.usage.tokens == 15
    assert rig.reductions() == [
        "PromptSubmitted",
        "ModelStreamOpened",
        "ModelReplied",
        "CheckpointWritten",
    ]


@pytest.mark.req("R-100", "R-197")
async def test_views_come_in_one_order_and_end_with_turn_end_and_agent_end():
    rig = Rig(config())
    async with rig.open(ScriptedModel(text("four"))) as session:
        await session.send("two and two?")
        await session.wait()
        seen = await collect(session)
    assert [shown.number for shown in seen] == list(range(1, len(seen) + 1))
    told = [name for name in names(seen) if name != "state"]
    assert told == ["text_delta", "usage", "step_end", "turn_end", "agent_end"]


@pytest.mark.req("R-125", "R-126", "R-127", "R-211", "R-225")
async def test_three_parallel_tools_end_two_one_three_and_history_says_one_two_three():
    gates = {name: anyio.Event() for name in ("one", "two", "three")}

    async def tool(run):
        await gates[run.call.name].wait()
        return run.call.name

    tools = ScriptedTools(one=tool, two=tool, three=tool)
    rig = Rig(config(*(contract(name) for name in gates)))
    model = ScriptedModel(calls(("one", {}), ("two", {}), ("three", {})), text("done"))
    async with rig.open(model, tools) as session:
        await session.send("go")
        for name in ("two", "one", "three"):
            gates[name].set()
            await settle()
        result = await session.wait()
        ended = [shown.view.name for shown in await collect(session) if shown.name == "tool_result"]
    assert ended == ["two", "one", "three"]
    written = [message for message in session.state.history if isinstance(message, ToolMessage)]
    assert [[answer.content for answer in message.results] for message in written] == [["one", "two", "three"]]
    assert result.text == "done"


@pytest.mark.req("R-225", "R-129")
async def test_three_serial_steps_feed_each_result_back_to_the_model():
    async def tool(run):
        return f"result {run.arguments['n']}"

    rig = Rig(config(contract("count")))
    model = ScriptedModel(*(calls(("count", {"n": n})) for n in range(3)), text("done"))
    async with rig.open(model, ScriptedTools(count=tool)) as session:
        await session.send("go")
        result = await session.wait()
    assert result.text == "done"
    assert [len(view.messages) for view in model.seen] == [1, 3, 5, 7]
    assert [type(message) for message in model.seen[1].messages][1:] == [AssistantMessage, ToolMessage]


@pytest.mark.req("G-12", "R-008")
async def test_an_effect_starts_only_after_its_intent_is_durable():
    durable_at_start = []

    async def tool(run):
        durable_at_start.append(rig.store._sessions["s"].durable)
        released.append(run.call.state.run.seq)
        return "ok"

    released = []
    rig = Rig(config(contract("write")))
    async with rig.open(ScriptedModel(calls(("write", {})), text("done")), ScriptedTools(write=tool)) as session:
        await session.send("go")
        await session.wait()
    assert len(released) == 1
    assert durable_at_start[0] >= released[0]


@pytest.mark.req("R-239", "D-33")
async def test_a_message_during_a_turn_is_filed_and_said_to_be():
    gate = anyio.Event()

    async def slow(run):
        await gate.wait()
        return run.replied(text("first"))

    rig = Rig(config())
    async with rig.open(ScriptedModel(slow, text("second"))) as session:
        await session.send("one")
        later = await session.send("two")
        steering = await session.send("three", steer=True)
        assert (later.filed, steering.filed) == ("follow-up", "steering")
        assert (await session.withdraw(steering.message_id)).accepted
        gate.set()
        result = await session.wait()
    assert (result.turn, result.text) == (2, "second")


@pytest.mark.req("R-173", "R-244")
async def test_a_follow_up_begins_the_next_turn_and_each_turn_tells_its_end():
    rig = Rig(config())
    model = ScriptedModel(text("first"), text("second"))
    async with rig.open(model) as session:
        await session.send("one")
        await session.follow_up("two")
        result = await session.wait()
        told = [shown for shown in await collect(session) if shown.name in ("turn_end", "agent_end")]
    assert result.turn == 2
    assert names(told) == ["turn_end", "turn_end", "agent_end"]
    assert [shown.view.turn for shown in told[:2]] == [1, 2]


async def test_a_prompt_after_an_end_reopens_the_session_by_itself():
    rig = Rig(config())
    async with rig.open(ScriptedModel(text("first"), text("second"))) as session:
        await session.send("one")
        await session.wait()
        sent = await session.send("two")
        result = await session.wait()
    assert sent.filed == "prompt"
    assert result.turn == 2
    assert "SessionReopened" in rig.reductions()


@pytest.mark.req("R-171", "R-172", "R-134")
async def test_steering_is_delivered_after_the_round_of_tools():
    started, gate = anyio.Event(), anyio.Event()

    async def tool(run):
        started.set()
        await gate.wait()
        return "ok"

    rig = Rig(config(contract("work")))
    model = ScriptedModel(calls(("work", {})), text("done"))
    async with rig.open(model, ScriptedTools(work=tool)) as session:
        await session.send("go")
        await started.wait()
        await session.steer("faster")
        gate.set()
        await session.wait()
    assert [type(message).__name__ for message in model.seen[1].messages] == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "UserMessage",
    ]


async def test_the_journal_folds_to_the_state_of_the_engine():
    from interpreters.engine.resume import read_state

    async def tool(run):
        return "ok"

    rig = Rig(config(contract("work")))
    async with rig.open(ScriptedModel(calls(("work", {})), text("done")), ScriptedTools(work=tool)) as session:
        await session.send("go")
        await session.wait()
    assert await read_state(rig.store, "s") == session.state


@pytest.mark.req("R-067", "R-061")
async def test_an_act_that_is_not_legal_is_a_receipt_with_a_reason():
    rig = Rig(config())
    async with rig.open(ScriptedModel(text("first"))) as session:
        receipt = await session.retry("1.1.0")
        assert receipt.verdict == "rejected"
        assert receipt.rejection.code == "foreign-call"
        assert "1.1.0" in str(receipt)
    assert len(await rig.store.rejections("s")) == 1


async def test_clear_moves_the_window_and_is_refused_during_a_turn():
    gate = anyio.Event()

    async def slow(run):
        await gate.wait()
        return run.replied(text("first"))

    rig = Rig(config())
    model = ScriptedModel(slow, text("second"))
    async with rig.open(model) as session:
        await session.send("one")
        assert not (await session.clear()).accepted
        gate.set()
        await session.wait()
        assert (await session.clear()).accepted
        await session.send("two")
        await session.wait()
    assert len(model.seen[1].messages) == 1
