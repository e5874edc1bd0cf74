"""Views: for any number of subscribers, none of whom can harm another."""

from __future__ import annotations

import anyio
import pytest

from agentcore import Limits, Policy
from agentcore.events import ModelFailure
from interpreters.engine.broadcast import Broadcast
from interpreters.support.ports_model import ReasoningDelta, TextDelta
from interpreters.support.views import VIEW_NAMES, VIEWS, AgentEnd, Lagged, StepEnd
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


def test_the_views_are_those_of_the_design():
    assert [VIEW_NAMES[kind] for kind in VIEWS] == [
        "state",
        "text_delta",
        "reasoning_delta",
        "partial_discarded",
        "tool_start",
        "tool_progress",
        "tool_result",
        "approval_asked",
        "approval_withdrawn",
        "usage",
        "recovery",
        "step_end",
        "turn_end",
        "agent_end",
    ]


async def test_every_subscriber_sees_the_same_views_in_the_same_order():
    rig = Rig(config())
    seen = {name: [] for name in "abc"}

    async def watch(name, views):
        async for shown in views:
            seen[name].append(shown)

    async with anyio.create_task_group() as tasks, rig.open(ScriptedModel(text("hello"))) as session:
        for name in seen:
            tasks.start_soon(watch, name, session.views(0))
        await session.send("go")
        await session.wait()
    assert names(seen["a"])[-1] == "agent_end"
    assert seen["a"] == seen["b"] == seen["c"]


async def test_a_slow_subscriber_is_told_what_it_missed_and_catches_up_from_the_state():
    async def chatty(run):
        for number in range(100):
            run.show(TextDelta(str(number)))
        return run.replied(text("done"))

    rig = Rig(config(), ring=16)
    async with rig.open(ScriptedModel(chatty)) as session:
        slow = session.views(0)
        await session.send("go")
        await session.wait()
        first = await anext(slow)
        rest = await collect(session, slow.after)
    assert isinstance(first.view, Lagged)
    assert first.view.state == session.state
    assert first.view.missed == first.number
    assert rest[0].number == first.number + 1
    assert names(rest)[-2:] == ["turn_end", "agent_end"]


async def test_a_dead_subscriber_costs_nothing():
    rig = Rig(config(), ring=16)
    async with rig.open(ScriptedModel(text("done"))) as session:
        dead = session.views()
        await session.send("go")
        assert (await session.wait()).text == "done"
    assert dead.after == 0
    assert len(session.engine._desk.broadcast._ring) <= 16


async def test_a_subscriber_that_comes_back_continues_where_it_was():
    rig = Rig(config())
    async with rig.open(ScriptedModel(text("one"), text("two"))) as session:
        await session.send("go")
        await session.wait()
        before = await collect(session)
        await session.send("on")
        await session.wait()
        behind = await collect(session, before[-1].number)
        assert before + behind == await collect(session)
        assert session.views(10_000).after == behind[-1].number


async def test_views_end_when_the_session_is_over_and_everything_was_seen():
    broadcast = Broadcast(lambda: None)
    views = broadcast.subscribe()
    broadcast.show(StepEnd("1.1"))
    broadcast.show(AgentEnd())
    broadcast.close()
    assert names([shown async for shown in views]) == ["step_end", "agent_end"]


@pytest.mark.parametrize("shows", [False, True])
@pytest.mark.req("D-14", "D-20", "R-151")
async def test_text_of_an_attempt_that_failed_is_withdrawn_and_its_cause_shown_if_the_host_wants_it(shows):
    async def breaks(run):
        run.opened()
        run.show(ReasoningDelta("hmm"))
        run.show(TextDelta("half a"))
        return run.failed(ModelFailure.RETRYABLE, "the stream broke", output_shown=True)

    rig = Rig(config(policy=Policy(show_recoverable=shows)))
    async with rig.open(ScriptedModel(breaks, text("whole"))) as session:
        await session.send("go")
        await settle()
        rig.clock.advance(60_000)
        await session.wait()
        seen = [shown for shown in await collect(session) if shown.name != "state"]
    assert [shown.view.message for shown in seen if shown.name == "recovery"] == ["the stream broke"] * shows
    seen = [shown for shown in seen if shown.name != "recovery"]
    assert names(seen)[:4] == ["reasoning_delta", "text_delta", "partial_discarded", "text_delta"]
    assert [shown.view.attempt for shown in seen[:4]] == [1, 1, 1, 2]


async def test_a_model_that_is_dropped_shows_nothing_more():
    late = []

    async def deaf(run):
        run.show(TextDelta("early"))
        try:
            await anyio.sleep_forever()
        finally:
            run.show(TextDelta("late"))
            late.append(True)

    rig = Rig(config(limits=Limits(model_ms=100, model_retries=0)))
    async with rig.open(ScriptedModel(deaf)) as session:
        await session.send("go")
        await settle()
        rig.clock.advance(100)
        await settle()
        rig.clock.advance(rig.config.limits.grace_ms)
        await session.wait()
        await settle()
        shown = [each.view.text for each in await collect(session) if each.name == "text_delta"]
    assert late == [True]
    assert shown == ["early"]


@pytest.mark.req("R-132", "R-241")
async def test_each_execution_shows_its_start_its_progress_and_its_outcome():
    async def tool(run):
        run.show("half way")
        return "ok"

    rig = Rig(config(contract("work")))
    async with rig.open(ScriptedModel(calls(("work", {"a": 1})), text("done")), ScriptedTools(work=tool)) as session:
        await session.send("go")
        await session.wait()
        seen = [shown.view for shown in await collect(session) if shown.name.startswith("tool_")]
    start, progress, result = seen
    assert (start.call_id, start.name, start.arguments) == ("1.1.0", "work", '{"a":1}')
    assert progress.text == "half way"
    assert result.outcome.result == "ok"


@pytest.mark.req("R-114", "G-6")
async def test_a_question_is_shown_and_taken_back_when_it_is_answered():
    async def tool(run):
        return "ran"

    rig = Rig(config(contract("work")))
    model = ScriptedModel(calls(("work", {"a": 1})), text("done"))
    async with rig.open(model, ScriptedTools(work=tool), gate=Allow("work")) as session:
        await session.send("go")
        await settle()
        asked = next(shown.view for shown in await collect(session) if shown.name == "approval_asked")
        assert (asked.call_id, asked.name, asked.arguments, asked.rule) == ("1.1.0", "work", '{"a":1}', "test")
        stale = await session.approve("1.1.0", shown="0" * 64)
        assert stale.rejection.code == "digest-mismatch"
        assert (await session.approve("1.1.0", shown=asked.digest)).accepted
        await session.wait()
        withdrawn = [shown.view for shown in await collect(session) if shown.name == "approval_withdrawn"]
    assert [(view.call_id, view.answered) for view in withdrawn] == [("1.1.0", True)]


async def test_a_question_that_nobody_needs_any_more_is_withdrawn():
    rig = Rig(config(contract("work")))
    async with rig.open(ScriptedModel(calls(("work", {}))), gate=Allow("work")) as session:
        await session.send("go")
        await settle()
        await session.abort()
        await session.wait()
        withdrawn = [shown.view for shown in await collect(session) if shown.name == "approval_withdrawn"]
    assert [(view.call_id, view.answered) for view in withdrawn] == [("1.1.0", False)]


@pytest.mark.req("D-1", "R-115")
async def test_a_refusal_ends_the_turn_and_feedback_lets_it_go_on():
    rig = Rig(config(contract("work")))
    model = ScriptedModel(calls(("work", {})), text("understood"))
    async with rig.open(model, gate=Allow("work")) as session:
        await session.send("go")
        await settle()
        await session.deny("1.1.0", "use another tool")
        assert (await session.wait()).text == "understood"
    assert "use another tool" in model.seen[1].messages[-1].results[0].content


async def test_without_anybody_to_ask_asking_is_refused_at_once():
    rig = Rig(config(contract("work")))
    model = ScriptedModel(calls(("work", {})), text("understood"))
    async with rig.open(model, gate=Allow("work"), attended=False) as session:
        await session.send("go")
        assert (await session.wait()).text == "understood"
    assert "ApprovalDenied" in rig.reductions()


@pytest.mark.req("R-070", "R-100")
async def test_leaving_in_the_middle_of_a_turn_still_shows_both_ends():
    async def endless(run):
        await anyio.sleep_forever()

    rig = Rig(config())
    async with rig.open(ScriptedModel(endless)) as session:
        await session.send("go")
        await settle()
        views = session.views(0)
    seen = [shown async for shown in views]
    assert names(seen)[-2:] == ["turn_end", "agent_end"]
    assert seen[-2].view.reason is None
