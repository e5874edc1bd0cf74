"""BC-27: the work succeeded, saving failed because the disk was full, and the whole run was reported as failed.

What a tool did and whether it is saved are two facts. Before an effect a failed save blocks it; after one it keeps the
evidence, says "done, not saved", and starts nothing further until a save succeeds.
"""

from __future__ import annotations

import anyio
import pytest
from attrs import evolve

from agentcore import Limits, reduce
from agentcore.commands import ExecuteTool, InspectEffect, PersistCheckpoint, RequestModel
from agentcore.events import CheckpointFailed
from agentcore.messages import Succeeded
from agentcore.projections import explain_end, ui_status
from agentcore.states import AwaitingModel, Ending, Executing, Failed, Ready, Saving, StopReason, Streaming
from agentcore.steps.calls import stops
from agentcore.steps.ending import stop_turn
from agentcore.steps.storage import fail_checkpoint
from agentcore.steps.verdicts import Advance
from interpreters import Agent, ManualClock, MemoryStore, tool
from interpreters.scripted import Ask, Say, ScriptedGate, ScriptedModel
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, unknown_state
from tests.core.driver import call
from tests.core.driver import tool as contract

C1 = "1.1.0"


def executed(reducer=reduce) -> Case:
    """c1 has acted and said so."""
    case = Case(contract("write"), contract("other"), limits=Limits(checkpoint_retries=2), reduce=reducer)
    case.execute("write")
    case.succeed(result="written")
    return case


def check_a(reducer=reduce) -> None:
    case = executed(reducer)
    case.save_fails("no space left on device")
    # Done, and not saved: evidence in the state, no tool failure, no second execution.
    assert isinstance(case.outcome(), Succeeded)
    assert case.state.open
    assert "storage is unavailable" in ui_status(case.state).text
    case.reply("more", call("other"))
    case.allow()
    assert case.count(ExecuteTool) == 1, "no further effect until a save succeeds"
    case.fire("checkpoint")
    case.saved()
    case.all_saved()
    assert [each.call_id for each in case.executed] == [C1, "1.2.0"]
    assert "storage" not in ui_status(case.state).text


def check_a_without_end(reducer=reduce) -> None:
    """The save fails for good: the turn ends for storage, with the deed still told as done."""
    case = executed(reducer)
    case.storage_breaks()
    assert case.stop is StopReason.STORAGE
    case.model_stops()
    case.save_fails("no space left on device")
    assert (case.phase, case.stop) == (Failed, StopReason.STORAGE)
    assert case.state.phase.unsaved
    assert isinstance(case.outcome(), Succeeded)
    assert case.count(ExecuteTool) == 1
    assert "not saved" in ui_status(case.state).text.lower() or "not saved" in explain_end(case.state).text.lower()


def check_b(reducer=reduce) -> None:
    case = Case(contract("write"), limits=Limits(checkpoint_retries=2), reduce=reducer)
    case.propose("write")
    case.allow()
    tries = 0
    while any(isinstance(each, PersistCheckpoint) for each in case.work) and tries < 20:
        case.save_fails("no space left on device")
        tries += 1
        assert case.count(ExecuteTool) == 0
        assert case.state.storage.failures == 0 or "storage" in ui_status(case.state).text
        if any("checkpoint" in wait for wait in case.waits if wait.startswith("start-timer")):
            case.fire("checkpoint")
    assert case.stop is StopReason.STORAGE
    # Three tries before the effect, one more for the end: bounded.
    assert tries == 4
    assert case.executed == []
    assert case.outcome().reason.value == "storage"


def check_c(reducer=reduce) -> None:
    case = executed(reducer)
    case.save_fails("no space left on device")
    case.fire("checkpoint")
    case.all_saved()
    assert case.phase is AwaitingModel
    assert case.count(RequestModel) == 2
    case.answer()
    assert case.stop is StopReason.FINAL_ANSWER
    assert (case.count(ExecuteTool), case.count(RequestModel)) == (1, 2)


def check_d(reducer=reduce) -> None:
    case = executed(reducer)
    case.save_fails("no space left on device")
    # What was never durable is gone: the success, and all that came after the release was saved.
    case.restart(lose=case.state.seq - case.state.storage.durable)
    unknown_state(case)
    assert case.the(InspectEffect).call_id == C1
    assert case.count(ExecuteTool) == 1


CHECKS = (check_a, check_a_without_end, check_b, check_c, check_d)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.req("R-192", "R-193", "R-223", "G-12")
def test_saving_and_doing_are_told_apart(check):
    check()


def fail_the_run(state, event):
    """The row as it was: a failed save is a failed run."""
    return stop_turn(state, Ending(StopReason.TOOL_ERROR, message=event.reason))


def fail_the_end(state, event):
    """The same while the end is being saved."""
    ending = Ending(StopReason.TOOL_ERROR, message=event.reason)
    return evolve(fail_checkpoint(state, event), phase=evolve(state.phase, ending=ending))


def start_unsaved(state, present, event):
    """The row as it was: a call starts before its release is saved."""
    released = stops.release(state, present, event)
    run = stops._timed(state, released, released.state.run)
    return evolve(released, state=Executing(released.state.transition, run))


@pytest.mark.parametrize(
    ("check", "change"),
    [
        (check_a, instead(AwaitingModel, CheckpointFailed, fail_the_run)),
        (check_c, instead(AwaitingModel, CheckpointFailed, fail_the_run)),
        (check_b, instead(Ready, Advance, start_unsaved)),
        (check_a, instead(Ready, Advance, start_unsaved)),
    ],
)
def test_one_channel_for_both_is_found_out(check, change):
    fails(check, broken(change))


# ---- a real engine over a store whose disk is full for a while


async def check_engine(*, heals: bool) -> None:
    store, clock, written = MemoryStore(), ManualClock(), []

    @tool(effect="opaque")
    async def write() -> str:
        """Write."""
        written.append("written")
        store.fail_next("sync", 2 if heals else 10_000)
        return "written"

    model = ScriptedModel([Say(calls=(Ask("write"),)), Say("done")])
    limits = Limits(checkpoint_retries=1)
    agent = Agent(model=model, tools=[write], rules=ScriptedGate(), store=store, clock=clock, limits=limits)
    async with agent.open("s", create=True) as session:
        await session.send("go")
        for _ in range(100):
            await anyio.wait_all_tasks_blocked()
            if not session.state.open:
                break
            clock.advance(1_000)
        assert not session.state.open, "the turn never ends"
        result = await session.wait()
        assert written == ["written"]
        assert [type(each.outcome) for each in session.state.history[2].results] == [Succeeded]
        assert result.unsaved is not heals
        if heals:
            assert (result.reason, result.text) == (StopReason.FINAL_ANSWER, "done")
        else:
            assert "not saved" in result.explanation.lower() or "storage" in result.explanation.lower()


@pytest.mark.anyio
@pytest.mark.parametrize("heals", [True, False])
@pytest.mark.req("R-193")
async def test_a_full_disk_after_a_deed_does_not_undo_it(heals):
    await check_engine(heals=heals)


@pytest.mark.anyio
async def test_an_engine_that_calls_a_failed_save_a_failed_run_is_found_out(monkeypatch):
    changes = (
        instead(AwaitingModel, CheckpointFailed, fail_the_run),
        instead(Streaming, CheckpointFailed, fail_the_run),
        instead(Saving, CheckpointFailed, fail_the_end),
    )
    monkeypatch.setattr("interpreters.engine.engine.reduce", broken(*changes))
    await fails_async(check_engine, heals=True)
