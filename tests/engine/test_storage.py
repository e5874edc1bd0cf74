"""What the engine does when the store does not do what it should."""

from __future__ import annotations

import anyio
import attrs
import pytest

from agentcore import Limits
from agentcore.events import CheckpointFailed, CheckpointWritten
from agentcore.states import StopReason
from interpreters.engine.recorder import StorageUnavailable
from interpreters.stores.memory import MemoryJournal, MemoryStore
from tests.engine.rig import Rig, ScriptedModel, ScriptedTools, calls, collect, config, contract, names, settle, text

pytestmark = pytest.mark.anyio

BROKEN = 10_000
"""More failures than anybody tries."""


async def advance_until(rig, done):
    """Move time on until something has happened."""
    for _ in range(100):
        await settle()
        if done():
            return
        rig.clock.advance(1_000)
    raise AssertionError("it never happened")


@pytest.mark.req("R-194")
async def test_a_failed_append_is_mended_by_writing_again_what_is_missing():
    rig = Rig(config())
    async with rig.open(ScriptedModel(text("ok"))) as session:
        rig.store.fail_next("append")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.send, "go")
            await advance_until(rig, lambda: session.state.turn.number == 1)
        assert (await session.wait()).text == "ok"
    events = await rig.journal()
    assert len(events) == session.state.seq
    assert type(events[0]).__name__ == "PromptSubmitted"


async def test_what_was_appended_and_not_synced_is_written_again_too():
    """A failed append makes the store cut back to what is durable; the engine has kept everything since."""
    rig = Rig(config())

    async def reply(run):
        rig.store.fail_next("append")
        return run.replied(text("ok"))

    async with rig.open(ScriptedModel(reply)) as session:
        await session.steer("one")
        await session.steer("two")
        await session.send("go")
        await advance_until(rig, lambda: session.result.completed)
    assert [type(event).__name__ for event in await rig.journal()][:3] == [
        "SteeringQueued",
        "SteeringQueued",
        "PromptSubmitted",
    ]
    assert len(await rig.journal()) == session.state.seq


@pytest.mark.req("R-192")
async def test_past_the_bound_nothing_is_done_and_what_is_not_saved_goes_to_the_caller():
    async def tool(run):
        return "ran"

    tools = ScriptedTools(work=tool)
    rig = Rig(config(contract("work"), limits=Limits(checkpoint_retries=2)))

    async def reply(run):
        rig.store.fail_next("append", BROKEN)
        rig.store.fail_next("rescan", BROKEN)
        return run.replied(calls(("work", {})))

    async with rig.open(ScriptedModel(text("first"), reply), tools) as session:
        await session.send("one")
        await session.wait()
        durable = session.state.storage.durable
        await session.send("two")
        await advance_until(rig, lambda: session.engine.failure is not None)
        with pytest.raises(StorageUnavailable, match="storage unavailable: session 's'") as caught:
            await session.wait()
        with pytest.raises(StorageUnavailable):
            await session.send("more")
        told = await collect(session)
    assert tools.deeds == []
    assert [type(event).__name__ for _, event in caught.value.unsaved][-1] == "ModelReplied"
    assert caught.value.unsaved[-1][0] == session.state.seq + 1
    assert caught.value.unsaved[0][0] == durable + 1
    assert names(told)[-2:] == ["turn_end", "agent_end"]
    assert told[-2].view.reason is StopReason.STORAGE
    assert "storage unavailable" in told[-1].view.error


async def test_an_act_that_waits_when_storage_ends_is_told_so():
    rig = Rig(config(limits=Limits(checkpoint_retries=0)))
    rig.store.fail_next("append", BROKEN)
    rig.store.fail_next("rescan", BROKEN)
    failed = []

    async def say(session):
        try:
            await session.send("go")
        except StorageUnavailable as error:
            failed.append(len(error.unsaved))

    async with rig.open(ScriptedModel()) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(say, session)
        tasks.start_soon(say, session)
    assert failed == [1, 1]


@pytest.mark.req("R-192", "R-223")
async def test_a_checkpoint_that_fails_before_an_effect_blocks_it():
    async def tool(run):
        return "ran"

    tools = ScriptedTools(work=tool)
    rig = Rig(config(contract("work"), limits=Limits(checkpoint_retries=1)))

    async def reply(run):
        rig.store.fail_next("sync", BROKEN)
        return run.replied(calls(("work", {})))

    async with rig.open(ScriptedModel(reply), tools) as session:
        await session.send("go")
        await advance_until(rig, lambda: not session.state.open)
        result = await session.wait()
    assert tools.deeds == []
    assert result.reason is StopReason.STORAGE
    assert result.unsaved


@pytest.mark.req("R-193", "R-223")
async def test_a_checkpoint_that_fails_after_an_effect_keeps_the_evidence():
    async def tool(run):
        rig.store.fail_next("sync", BROKEN)
        return "ran"

    tools = ScriptedTools(work=tool)
    rig = Rig(config(contract("work"), limits=Limits(checkpoint_retries=1)))
    async with rig.open(ScriptedModel(calls(("work", {})), text("done")), tools) as session:
        await session.send("go")
        await advance_until(rig, lambda: not session.state.open)
        result = await session.wait()
    assert tools.deeds == ["1.1.0"]
    assert result.unsaved
    assert "ToolSucceeded" in rig.reductions()


async def test_one_failed_sync_is_mended_inside_its_own_checkpoint():
    rig = Rig(config())
    rig.store.fail_next("sync")
    async with rig.open(ScriptedModel(text("ok"))) as session:
        await session.send("go")
        result = await session.wait()
    assert not result.unsaved
    assert "CheckpointFailed" not in rig.reductions()
    assert len(await rig.journal()) == session.state.seq


async def test_a_sync_that_hangs_is_a_failed_checkpoint_and_is_never_interrupted():
    hanging, interrupted = anyio.Event(), []

    class Hanging(MemoryJournal):
        async def sync(self):
            if hanging.is_set():
                return await super().sync()
            hanging.set()
            try:
                await anyio.sleep(3600)
            except BaseException:
                interrupted.append(session.state.seq)
                raise
            return 0

    class Store(MemoryStore):
        async def create(self, session_id, header):
            journal = await super().create(session_id, header)
            journal.__class__ = Hanging
            return journal

    rig = Rig(config(limits=Limits(answer_ms=500)), store=Store())
    async with rig.open(ScriptedModel(text("ok"))) as session:
        await session.send("go")
        await hanging.wait()
        await settle()
        rig.clock.advance(500)
        await settle()
        assert isinstance((await rig.journal())[-1], CheckpointFailed)
        rig.clock.advance(rig.config.limits.checkpoint_base_ms)
        assert (await session.wait()).text == "ok"
        assert interrupted == []
    assert any(isinstance(event, CheckpointWritten) for event in await rig.journal())


async def test_a_rejection_that_cannot_be_recorded_harms_nothing():
    rig = Rig(config())
    rig.store.fail_next("reject")
    async with rig.open(ScriptedModel(text("ok"))) as session:
        await session.retry("1.1.0")
        await session.send("go")
        assert (await session.wait()).text == "ok"
    assert any(line["event"] == "rejection not recorded" for line in rig.lines)


@pytest.mark.req("R-199")
async def test_snapshots_are_taken_where_the_store_wants_them_and_one_that_fails_harms_nothing():
    rig = Rig(config())
    rig.store.fail_next("snapshot")
    async with rig.open(ScriptedModel(*[text("word " * 20_000)] * 6)) as session:
        for _ in range(6):
            await session.send("go")
            await session.wait()
            await settle()
    loaded = await rig.store.read("s")
    assert loaded.snapshot is not None
    assert any(line["event"] == "snapshot failed" for line in rig.lines)
    async with rig.open(resume=True) as again:
        await settle()
        assert attrs.evolve(again.state, epoch=0).history == session.state.history


@pytest.mark.req("R-070")
async def test_the_append_is_shielded_from_cancellation():
    """Cancelled while it waits for the store, the engine still finishes the event that it has begun."""
    began, go_on = anyio.Event(), anyio.Event()

    class Slow(MemoryJournal):
        async def append(self, events):
            began.set()
            await go_on.wait()
            await super().append(events)

    class Store(MemoryStore):
        async def create(self, session_id, header):
            journal = await super().create(session_id, header)
            journal.__class__ = Slow
            return journal

    rig = Rig(config(), store=Store())
    with anyio.CancelScope() as scope:
        async with rig.open(ScriptedModel()) as session, anyio.create_task_group() as tasks:
            tasks.start_soon(session.send, "go")
            await began.wait()
            scope.cancel()
            go_on.set()
    assert session.state.seq == 1
    assert len(await rig.journal()) == 1
