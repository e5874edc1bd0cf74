"""Whatever an interpreter does, one event comes back."""

from __future__ import annotations

import asyncio

import anyio
import attrs
import pytest

from agentcore import Limits
from agentcore.commands import ANSWERS, COMMANDS, CancelModel, CancelTool, ExecuteTool, RecordRejection, StartTimer
from agentcore.events import CompactionPurpose, EffectResolved, Inspector
from agentcore.messages import DeniedCall, digest
from agentcore.rejections import Blame, Rejection, RejectionCode
from agentcore.states import EffectUnknown, StopReason
from interpreters.engine.seam import describe, failure, names
from interpreters.stores.memory import MemoryJournal, MemoryStore
from tests.engine.rig import (
    Allow,
    Rig,
    ScriptedModel,
    ScriptedTools,
    Yes,
    calls,
    config,
    contract,
    settle,
    text,
)

EXAMPLES = {
    "request_id": "1.1",
    "call_id": "1.1.0",
    "epoch": 2,
    "attempt": 3,
    "seq": 4,
    "digest": "d",
    "purpose": CompactionPurpose.OVERFLOW,
    "execution": (2, 1),
    "by": Inspector.PROGRAM,
    "timer_id": "turn/1",
    "due_at": 5,
    "rejection": Rejection(RejectionCode.CORE_DEFECT, Blame.CORE, "Idle", "TimerFired"),
    "at": 6,
}
CANNOT_FAIL = {CancelModel, CancelTool, StartTimer, RecordRejection}


def example(kind):
    wanted = [field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING]
    return kind(**{name: EXAMPLES[name] for name in wanted})


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.req("R-069", "R-161")
def test_each_command_that_can_fail_has_its_failure_event_and_it_names_the_whole_key(kind):
    command = example(kind)
    event = failure(command, "it broke")
    if kind in CANNOT_FAIL:
        assert event is None
    else:
        assert type(event) is ANSWERS[kind][0]
        assert names(command, event)


def test_a_person_who_is_not_there_abandons():
    command = attrs.evolve(example(COMMANDS[7]), by=Inspector.PERSON)
    event = failure(command, "nobody")
    assert isinstance(event, EffectResolved)
    assert (event.resolution, event.by) == ("abandoned", "nobody")


@pytest.mark.req("R-242")
def test_a_cause_names_type_and_message_and_is_bounded():
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError

    assert describe(ValueError("no")) == "ValueError: no"
    assert describe(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert describe(ExceptionGroup("g", [ValueError("a"), OSError("b")])) == "ValueError: a; OSError: b"
    assert "cannot be read" in describe(Odd())
    assert len(describe(ValueError("x" * 10_000))) <= 2_000
    assert describe(ValueError("a\ud800b")).encode()


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), TimeoutError(), BaseException("odd")])
@pytest.mark.req("R-131", "R-153")
@pytest.mark.anyio
async def test_a_toolbox_that_raises_has_lost_its_attempt(error):
    async def broken(run):
        raise error

    rig = Rig(config(contract("work")))
    async with rig.open(ScriptedModel(calls(("work", {}))), ScriptedTools(work=broken)) as session:
        await session.send("go")
        await settle()
        assert isinstance(session.state.batch.calls[0].state, EffectUnknown)
    assert "ToolLost" in rig.reductions()


@pytest.mark.anyio
async def test_a_model_that_raises_fails_the_request_and_trouble_on_the_way_is_tried_again():
    async def unreachable(run):
        raise ConnectionResetError("gone")

    async def defect(run):
        raise TypeError("a defect")

    rig = Rig(config())
    async with rig.open(ScriptedModel(unreachable, defect)) as session:
        await session.send("go")
        await settle()
        rig.clock.advance(60_000)
        result = await session.wait()
    assert result.reason is StopReason.MODEL_ERROR
    assert "TypeError: a defect" in result.message
    assert rig.reductions().count("ModelFailed") == 2


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_nobody_asked_for_is_a_fault_like_any_other():
    """Only asyncio lets foreign code raise one."""

    async def cancelled(run):
        raise asyncio.CancelledError

    rig = Rig(config(contract("work")))
    async with rig.open(ScriptedModel(calls(("work", {}))), ScriptedTools(work=cancelled)) as session:
        await session.send("go")
        await settle()
        assert isinstance(session.state.batch.calls[0].state, EffectUnknown)


@pytest.mark.anyio
async def test_rules_that_break_block_the_call():
    class Broken:
        async def evaluate(self, session_id, order, call):
            raise RuntimeError("no rules")

    async def tool(run):
        return "ran"

    rig = Rig(config(contract("work")))
    model = ScriptedModel(calls(("work", {})), text("ok"))
    tools = ScriptedTools(work=tool)
    async with rig.open(model, tools, gate=Broken()) as session:
        await session.send("go")
        await session.wait()
    outcome = model.seen[1].messages[-1].results[0].outcome
    assert isinstance(outcome, DeniedCall)
    assert outcome.rule == "policy-failed"
    assert tools.deeds == []


@pytest.mark.anyio
async def test_an_answer_to_another_question_is_a_fault():
    class Wrong(Allow):
        async def evaluate(self, session_id, order, call):
            right = await super().evaluate(session_id, order, call)
            return attrs.evolve(right, call_id="9.9.9")

    rig = Rig(config(contract("work")))
    async with rig.open(ScriptedModel(calls(("work", {})), text("ok")), gate=Wrong()) as session:
        await session.send("go")
        await session.wait()
    blocked = [event for event in await rig.journal() if type(event).__name__ == "PolicyBlocked"]
    assert "it answered something else: PolicyAllowed" in blocked[0].reason


@pytest.mark.anyio
async def test_an_answer_that_the_reducer_refuses_fails_the_command_instead_of_hanging():
    class Unfaithful(Allow):
        async def evaluate(self, session_id, order, call):
            right = await super().evaluate(session_id, order, call)
            return attrs.evolve(right, digest=digest("something else"))

    rig = Rig(config(contract("work")))
    async with rig.open(ScriptedModel(calls(("work", {})), text("ok")), gate=Unfaithful()) as session:
        await session.send("go")
        await session.wait()
    blocked = [event for event in await rig.journal() if type(event).__name__ == "PolicyBlocked"]
    assert "digest-mismatch" in blocked[0].reason


@pytest.mark.anyio
async def test_an_answer_that_cannot_be_recorded_fails_the_command():
    async def odd(run):
        return run.replied(text("lone surrogate \ud800"))

    rig = Rig(config())
    async with rig.open(ScriptedModel(odd)) as session:
        await session.send("go")
        result = await session.wait()
    assert result.reason is StopReason.MODEL_ERROR
    assert "its answer cannot be used" in result.message


@pytest.mark.anyio
async def test_an_act_that_cannot_be_recorded_is_an_error_of_its_caller():
    from agentcore.codec import EncodeError

    rig = Rig(config())
    async with rig.open(ScriptedModel(text("ok"))) as session:
        with pytest.raises(EncodeError):
            await session.send("go", message_id="\ud800")
        await session.send("go")
        assert (await session.wait()).text == "ok"


@pytest.mark.anyio
async def test_rules_that_stay_silent_block_the_call_after_answer_ms():
    cancelled = anyio.Event()

    class Silent:
        async def evaluate(self, session_id, order, call):
            try:
                await anyio.sleep_forever()
            finally:
                cancelled.set()

    rig = Rig(config(contract("work"), limits=Limits(answer_ms=500)))
    async with rig.open(ScriptedModel(calls(("work", {})), text("ok")), gate=Silent()) as session:
        await session.send("go")
        await settle()
        rig.clock.advance(499)
        await settle()
        assert "PolicyBlocked" not in rig.reductions()
        rig.clock.advance(1)
        await session.wait()
        await settle()
        assert cancelled.is_set()
    blocked = [event for event in await rig.journal() if type(event).__name__ == "PolicyBlocked"]
    assert blocked[0].reason == "no answer within 500 ms"


@pytest.mark.anyio
async def test_an_answer_that_waits_to_be_judged_is_not_silence():
    """(1) The loop waits for the store. (2) The rules answer. (3) Their time runs out. (4) The store answers."""
    asked, answer, appending, go_on = anyio.Event(), anyio.Event(), anyio.Event(), anyio.Event()

    class Gate(Allow):
        async def evaluate(self, session_id, order, call):
            asked.set()
            await answer.wait()
            return await super().evaluate(session_id, order, call)

    class Slow(MemoryJournal):
        async def append(self, events):
            if asked.is_set() and not go_on.is_set():
                appending.set()
                await go_on.wait()
            await super().append(events)

    class Store(MemoryStore):
        async def create(self, session_id, header):
            journal = await super().create(session_id, header)
            journal.__class__ = Slow
            return journal

    async def tool(run):
        return "ran"

    rig = Rig(config(contract("work"), limits=Limits(answer_ms=500)), store=Store())
    model = ScriptedModel(calls(("work", {})), text("ok"))
    async with rig.open(model, ScriptedTools(work=tool), gate=Gate()) as session, anyio.create_task_group() as tasks:
        await session.send("go")
        await asked.wait()
        await settle()
        tasks.start_soon(session.steer, "busy")
        await appending.wait()
        answer.set()
        await settle()
        rig.clock.advance(500)
        go_on.set()
        await session.wait()
    assert "PolicyBlocked" not in rig.reductions()


@pytest.mark.anyio
async def test_work_that_was_dropped_and_answers_all_the_same_is_not_heard():
    async def deaf(run):
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            return run.replied(text("late"))

    rig = Rig(config(limits=Limits(model_ms=100, model_retries=0)))
    async with rig.open(ScriptedModel(deaf)) as session:
        await session.send("go")
        await settle()
        rig.clock.advance(100)
        await settle()
        rig.clock.advance(rig.config.limits.grace_ms)
        await session.wait()
        await settle()
    assert rig.reductions("rejected") == []
    assert "ModelReplied" not in rig.reductions()


@pytest.mark.anyio
async def test_a_question_to_a_person_may_stay_open_longer_than_answer_ms():
    class Slow(Yes):
        async def ask(self, session_id, order, call):
            await gate.wait()
            return await super().ask(session_id, order, call)

    async def tool(run):
        return "ran"

    gate = anyio.Event()
    rig = Rig(config(contract("work"), limits=Limits(answer_ms=500)))
    model = ScriptedModel(calls(("work", {})), text("ok"))
    async with rig.open(model, ScriptedTools(work=tool), gate=Allow("work"), approver=Slow()) as session:
        await session.send("go")
        await settle()
        rig.clock.advance(100_000)
        await settle()
        gate.set()
        assert (await session.wait()).text == "ok"


@pytest.mark.req("R-218", "R-137")
@pytest.mark.anyio
async def test_an_execution_that_says_it_was_stopped_though_nobody_told_it_is_lost():
    async def odd(run):
        return run.cancelled()

    rig = Rig(config(contract("work")))
    async with rig.open(ScriptedModel(calls(("work", {}))), ScriptedTools(work=odd)) as session:
        await session.send("go")
        await settle()
        assert isinstance(session.state.batch.calls[0].state, EffectUnknown)
    assert ExecuteTool in ANSWERS


@pytest.mark.anyio
async def test_a_cancel_that_raises_leaves_the_waiting_to_its_grace():
    class Broken(ScriptedTools):
        def cancel(self, session_id, order):
            raise RuntimeError("no cancel")

    running = anyio.Event()

    async def work(run):
        running.set()
        await anyio.sleep_forever()

    rig = Rig(config(contract("work")))
    async with rig.open(ScriptedModel(calls(("work", {}))), Broken(work=work)) as session:
        await session.send("go")
        await running.wait()
        await session.abort()
        await settle()
        rig.clock.advance(rig.config.limits.grace_ms)
        await settle()
        assert isinstance(session.state.batch.calls[0].state, EffectUnknown)
    assert any(line["event"] == "cancel failed" for line in rig.lines)
