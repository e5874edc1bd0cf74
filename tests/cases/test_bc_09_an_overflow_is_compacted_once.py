"""BC-09: overflow, summary, no smaller, overflow again, without end; and a resume went into the loop anew.

One compaction a turn answers an overflow, counted in the state. One that is not smaller has failed, and the turn ends
with the provider's error.
"""

from __future__ import annotations

import anyio
import pytest

from agentcore import reduce
from agentcore.commands import CompactContext
from agentcore.events import ModelFailure
from agentcore.limits import allows
from agentcore.states import AwaitingModel, Compacting, Failed, StopReason, Streaming
from agentcore.steps import model as model_steps
from interpreters import Agent, FileStore
from interpreters.scripted import Break, Compaction, Say, ScriptedCompactor, ScriptedModel, Stall
from tests.cases.helpers_a import Case, crash_image, fails, fails_async, patched, shape

FIRST, SECOND = "context length exceeded: 210000 > 200000", "context length exceeded: 205000 > 200000"


def overflowed(reducer=reduce) -> Case:
    """A turn with a past, whose request does not fit."""
    case = Case(reduce=reducer)
    case.prompt("U0", message_id="u0")
    case.answer("A0")
    case.reopen()
    case.prompt("U1", message_id="u1")
    case.model_fails(ModelFailure.OVERFLOW, FIRST)
    return case


def equal(case: Case) -> None:
    case.compacted(tokens_before=100, tokens_after=100)


def larger(case: Case) -> None:
    case.compacted(tokens_before=100, tokens_after=120)


def fails_itself(case: Case) -> None:
    case.compaction_fails("the summary model is down")


def smaller(case: Case) -> None:
    """It got smaller, and does not fit either."""
    case.compacted(2)
    assert case.phase is AwaitingModel
    case.model_fails(ModelFailure.OVERFLOW, SECOND)


def smaller_and_crash(case: Case) -> None:
    """Step 4: the process dies between the compaction and the second overflow."""
    case.compacted(2)
    case.restart()
    case.model_fails(ModelFailure.OVERFLOW, SECOND)


def crash_and_equal(case: Case) -> None:
    """The process dies while the context is being made smaller: the one compaction is ordered anew."""
    case.restart()
    assert case.phase is Compacting
    case.compacted(tokens_before=100, tokens_after=100)


WAYS = (equal, larger, fails_itself, smaller, smaller_and_crash, crash_and_equal)


def check(way, reducer=reduce) -> None:
    case = overflowed(reducer)
    case.steer("S1", "s1")
    case.follow_up("F1", "f1")
    case.steer("S2", "s2")
    way(case)
    case.all_saved()
    assert (case.phase, case.stop) == (Failed, StopReason.MODEL_ERROR)
    assert case.ending.message in (FIRST, SECOND), "the provider's words, not those of a summary"
    answered = case.count(CompactContext) - (way is crash_and_equal)
    assert answered == 1
    assert case.state.turn.counters.overflow_compactions == 1
    # What was said meanwhile waits, in order.
    assert [each.message_id for each in case.state.queues.steering] == ["s1", "s2"]
    assert [each.message_id for each in case.state.queues.follow_ups] == ["f1"]
    if way not in (smaller, smaller_and_crash):
        assert case.state.window.start == 0
        assert case.state.window.summary == ""
    # 5: a new turn may compact once again.
    case.reopen()
    case.prompt("U2", queued=("s1", "s2", "f1"))
    before = case.count(CompactContext)
    case.model_fails(ModelFailure.OVERFLOW, FIRST)
    assert (case.phase, case.count(CompactContext)) == (Compacting, before + 1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.req("R-145", "G-8", "R-143", "D-9", "G-5")
def test_an_overflow_is_compacted_once_a_turn_and_ends_with_the_providers_error(way):
    check(way)


def once_and_for_ever(limit, used) -> bool:
    """The bound as it was: there is always one more."""
    return allows(limit, 0)


def the_summarys_error(state, phase, reason):
    """The end as it was: the last thing that failed is what is told."""
    return model_steps.model_error(state, reason, ())


@pytest.mark.parametrize("way", [smaller, smaller_and_crash])
def test_compacting_without_a_bound_is_found_out(way):
    with patched((model_steps, "allows", once_and_for_ever)):
        fails(check, way)


@pytest.mark.parametrize("way", [equal, larger, fails_itself, crash_and_equal])
def test_hiding_the_providers_error_is_found_out(way):
    with patched((model_steps, "_not_compacted", the_summarys_error)):
        fails(check, way)


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.req("D-7", "R-177")
def test_a_cancel_while_it_is_made_smaller_is_a_cancel_and_the_history_is_whole(dies):
    case = overflowed()
    if dies:
        case.restart()
    before = (case.history, case.state.window)
    case.abort()
    case.all_saved()
    assert case.stop is StopReason.USER_ABORT
    assert (case.history, case.state.window) == before
    case.reopen()
    case.prompt("U2", message_id="u2")
    assert shape(case.sent[-1]) == ["U0", ("A0",), "U1", "U2"]


# ---- with files: the flag survives the process


async def check_resumed(folder, image, limits=None) -> None:
    compactor = ScriptedCompactor([Compaction()])
    first = ScriptedModel([Say("A0"), Break(FIRST, ModelFailure.OVERFLOW), Stall()])
    agent = Agent(model=first, compactor=compactor, store=FileStore(folder))
    async with agent.open("s", create=True) as session:
        await session.send("U0")
        await session.wait()
        views = session.views()
        await session.send("U1")
        async for shown in views:
            streams = shown.name == "state" and isinstance(shown.view.state.phase, Streaming)
            if streams and len(first.requests) == 3:
                break
        left = crash_image(folder, image)

    second = ScriptedModel([*[Break(SECOND, ModelFailure.OVERFLOW)] * 3, Say("no")])
    agent = Agent(model=second, compactor=compactor, store=FileStore(left))
    async with agent.open("s") as session:
        with anyio.fail_after(10):
            result = await session.wait()
    assert (result.reason, result.message) == (StopReason.MODEL_ERROR, SECOND)
    assert (len(compactor.orders), len(second.requests)) == (1, 1)


@pytest.mark.anyio
@pytest.mark.req("R-145", "G-5", "R-194")
async def test_a_resumed_turn_remembers_that_it_was_compacted(tmp_path):
    await check_resumed(tmp_path / "a", tmp_path / "b")


@pytest.mark.anyio
async def test_a_resumed_turn_that_compacts_again_is_found_out(tmp_path):
    with patched((model_steps, "allows", once_and_for_ever)):
        await fails_async(check_resumed, tmp_path / "a", tmp_path / "b")
