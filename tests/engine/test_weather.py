"""Everything at once: whatever model, tools, rules, store and user do, the turn ends and the journal tells the truth.

The dice are seeded and time is moved by the test, so that a run that fails can be run again.
"""

from __future__ import annotations

import random

import anyio
import pytest

from agentcore import Limits
from agentcore.events import EffectInspected, Finding, ModelFailure
from agentcore.messages import AssistantMessage, EffectSeen, ToolMessage
from agentcore.states import ENDS
from interpreters.engine import read_state
from tests.engine.rig import (
    Allow,
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

TOOLS = {"reads": "pure", "keyed": "keyed", "fenced": "fenceable", "opaque": "opaque"}


class Weather:
    """Answers of the world by dice."""

    def __init__(self, seed):
        self.dice = random.Random(seed)

    async def delay(self):
        for _ in range(self.dice.randrange(4)):
            await anyio.lowlevel.checkpoint()

    async def reply(self, run):
        await self.delay()
        match self.dice.randrange(10):
            case 0:
                raise ConnectionError("the line broke")
            case 1:
                return run.failed(ModelFailure.RETRYABLE, "busy")
            case 2:
                await run.stop.wait()
                return run.stopped("half")
            case 3 | 4:
                return run.replied(text("done"))
            case 5:
                return run.replied(())
            case _:
                wanted = self.dice.choices(list(TOOLS), k=self.dice.randint(1, 3))
                return run.replied(calls(*((name, {"n": self.dice.randrange(99)}) for name in wanted)))

    async def tool(self, run):
        await self.delay()
        match self.dice.randrange(8):
            case 0:
                raise TimeoutError("no answer")
            case 1:
                return run.failed("no such thing")
            case 2:
                await run.stop.wait()
                return run.cancelled(self.dice.choice(list(EffectSeen)))
            case 3:
                return object()
            case _:
                run.show("working")
                return "ran"

    async def look(self, order):
        return EffectInspected(
            at=0,
            call_id=order.call_id,
            epoch=order.epoch,
            attempt=order.attempt,
            finding=self.dice.choice(list(Finding)),
            conclusive=True,
        )


class EndlessModel(ScriptedModel):
    async def answer(self, run):
        return await self.script[0](run)


def rig_for(weather):
    contracts = [contract(name, effect) for name, effect in TOOLS.items()]
    limits = Limits(steps=6, tool_ms=50_000, model_ms=50_000, checkpoint_base_ms=10, answer_ms=5_000)
    rig = Rig(config(*contracts, limits=limits))
    tools = ScriptedTools(**dict.fromkeys(TOOLS, weather.tool))
    tools.findings.extend([weather.look] * 1_000)
    return rig, EndlessModel(weather.reply), tools


async def live_through(rig, session, dice):
    """Move time, and now and then stop the work, until the turn has ended."""
    async with anyio.create_task_group() as tasks:
        for round_ in range(200):
            await settle()
            if not session.state.open:
                return
            if round_ > 20 and dice.random() < 0.3:
                tasks.start_soon(session.abort)
            rig.clock.advance(dice.choice([1, 100, 5_000, 60_000]))
    raise AssertionError(f"the turn does not end: {session.state.phase}")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.req("R-070", "R-128", "R-210", "R-213")
async def test_every_turn_ends_balanced_and_the_journal_folds_to_its_state(seed):
    weather = Weather(seed)
    rig, model, tools = rig_for(weather)
    async with rig.open(model, tools, attended=False, gate=Allow("keyed" if seed % 2 else "opaque")) as session:
        if seed % 3 == 0:
            rig.store.fail_next("sync", weather.dice.randrange(4))
        await session.send("go")
        await live_through(rig, session, weather.dice)
        assert isinstance(session.state.phase, ENDS)
        told = names(await collect(session))
    # Behind them only what is learnt late of effects whose outcome was given up, and of a store that recovers.
    assert [name for name in told if name in ("turn_end", "agent_end")] == ["turn_end", "agent_end"]
    assert await read_state(rig.store, "s") == session.state
    messages = [*session.state.history]
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.calls:
            behind = messages[place + 1]
            assert isinstance(behind, ToolMessage)
            assert [result.provider_id for result in behind.results] == [call.provider_id for call in message.calls]
