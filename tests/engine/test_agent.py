"""The host API as a program uses it."""

from __future__ import annotations

import subprocess
import sys

import anyio
import pytest

import interpreters
from agentcore import PRESETS, Limits, Policy
from agentcore.events import SteeringQueued
from agentcore.messages import DeniedCall
from agentcore.states import StopReason
from interpreters import Agent, Hooks, MemoryStore, StorageUnavailable, tool
from interpreters.engine import ManualClock, read_state
from interpreters.engine.mailbox import enclose
from interpreters.policy import deny
from interpreters.scripted import Ask, AskFirst, Break, Grant, Say, ScriptedApprover, ScriptedGate, ScriptedModel
from interpreters.support.ports_store import SessionExists, SessionUnknown
from interpreters.tools import Toolbox, ToolContext
from tests.engine.rig import names


@tool(effect="pure")
def add(x: int, y: int) -> int:
    """Add two numbers."""
    return x + y


def summing():
    return ScriptedModel([Say(calls=(Ask("add", {"x": 2, "y": 3}),)), Say("The sum is 5.")])


def agent(model=None, **more):
    return Agent(model=model or summing(), **{"tools": [add], "rules": ScriptedGate()} | more)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.req("R-022")
def test_run_sync_does_a_task_on_either_event_loop(backend):
    result = agent().run_sync("What is 2 + 3?", backend=backend)
    assert (result.text, result.reason, result.completed) == ("The sum is 5.", StopReason.FINAL_ANSWER, True)
    assert result.explanation


@pytest.mark.anyio
async def test_a_session_is_continued_by_its_id():
    working = agent(ScriptedModel([Say("one"), Say("two")]))
    first = await working.run("go")
    second = await working.run("on", session_id=first.session_id)
    assert (second.session_id, second.turn, second.text) == (first.session_id, 2, "two")
    assert (await read_state(working.store, first.session_id)).turn.number == 2


@pytest.mark.req("R-191")
@pytest.mark.anyio
async def test_an_unknown_session_is_never_taken_for_a_new_one():
    working = agent()
    with pytest.raises(SessionUnknown):
        await working.run("go", session_id="nothing")
    async with working.open("mine", create=True) as session:
        assert session.session_id == "mine"
        assert session.recovery is None
    with pytest.raises(SessionExists):
        async with working.open("mine", create=True):
            pass


@pytest.mark.anyio
async def test_an_empty_task_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="empty-prompt"):
        await agent().run("")


@pytest.mark.req("D-27", "R-115")
@pytest.mark.anyio
async def test_run_has_nobody_to_ask_unless_it_is_given_somebody():
    @tool
    def write() -> str:
        """Write."""
        return "written"

    def asking():
        return ScriptedModel([Say(calls=(Ask("write"),)), Say("done")])

    gate = ScriptedGate({"write": [AskFirst()]})
    model = asking()
    await agent(model, tools=[write], rules=gate).run("go")
    assert isinstance(model.requests[1][1].messages[-1].results[0].outcome, DeniedCall)
    model = asking()
    await agent(model, tools=[write], rules=gate, approver=ScriptedApprover([Grant()])).run("go")
    assert model.requests[1][1].messages[-1].results[0].content == "written"


@pytest.mark.req("R-113", "R-114")
@pytest.mark.anyio
async def test_without_rules_what_reads_is_allowed_and_what_acts_is_asked_about():
    @tool
    def write() -> str:
        """Write."""
        return "written"

    model = ScriptedModel([Say(calls=(Ask("add", {"x": 1, "y": 2}), Ask("write"))), Say("done")])
    async with Agent(model=model, tools=[add, write]).open() as session:
        await session.send("go")
        await anyio.wait_all_tasks_blocked()
        assert [type(call.state).__name__ for call in session.state.batch.calls][1] == "AwaitingApproval"
        assert (await session.approve("1.1.1")).accepted
        await session.wait()
    assert [answer.content for answer in model.requests[1][1].messages[-1].results] == ["3", "written"]


@pytest.mark.req("R-113", "R-116")
@pytest.mark.anyio
async def test_rules_decide_by_tool_and_argument():
    model = ScriptedModel([Say(calls=(Ask("add", {"x": 1, "y": 2}),)), Say("done")])
    await Agent(model=model, tools=[add], rules=[deny("add", reason="no sums")]).run("go")
    outcome = model.requests[1][1].messages[-1].results[0].outcome
    assert isinstance(outcome, DeniedCall)
    assert outcome.reason == "no sums"


@pytest.mark.anyio
async def test_what_the_block_raises_is_raised_as_it_is():
    with pytest.raises(LookupError, match="mine"):
        async with agent().open():
            raise LookupError("mine")


def breaking(store):
    store.fail_next("append", 100)
    store.fail_next("rescan", 100)


@pytest.mark.anyio
async def test_storage_that_ends_is_said_at_the_end_of_the_block_if_nobody_was_told():
    async def work():
        async with working.open() as session:
            breaking(store)
            session._engine._desk.mailbox.put(enclose(SteeringQueued(at=0, message_id="m", parts=())))
            assert names([shown async for shown in session.views(0)]) == ["agent_end"]

    store = MemoryStore()
    working = agent(store=store, limits=Limits(checkpoint_retries=0))
    with pytest.raises(StorageUnavailable, match="storage unavailable"):
        await work()


@pytest.mark.anyio
async def test_storage_that_ends_is_said_to_whoever_acts_and_not_again_at_the_end():
    store = MemoryStore()
    async with agent(store=store, limits=Limits(checkpoint_retries=0)).open() as session:
        breaking(store)
        with pytest.raises(StorageUnavailable):
            await session.send("go")
        with pytest.raises(StorageUnavailable):
            await session.wait()


@pytest.mark.req("R-245")
@pytest.mark.anyio
async def test_leaving_the_block_gives_the_lock_back_even_when_it_is_cancelled():
    working = agent(ScriptedModel([Say("one")]))
    with anyio.CancelScope() as scope:
        async with working.open("s", create=True) as session:
            await session.send("go")
            scope.cancel()
            await anyio.sleep_forever()
    async with working.open("s") as session:
        assert session.recovery is not None


@pytest.mark.req("D-32")
@pytest.mark.anyio
async def test_a_tool_gets_the_live_object_of_its_session_and_a_place_for_large_outputs():
    @tool(effect="pure")
    async def big(context: ToolContext) -> str:
        """Return much."""
        return context.host * 50_000

    model = ScriptedModel([Say(calls=(Ask("big"),)), Say("done")])
    working = agent(model, tools=[big])
    result = await working.run("go", context="ab")
    content = model.requests[1][1].messages[-1].results[0].content
    assert content.startswith("abab")
    assert len(content) < 50_000
    answer = model.requests[1][1].messages[-1].results[0].outcome
    kept = await working.store.kept(result.session_id, answer.artifacts[0].place)
    assert kept == b"ab" * 50_000


@pytest.mark.anyio
async def test_secrets_of_the_host_are_taken_out_of_whatever_a_tool_says():
    @tool(effect="pure")
    def leak(context: ToolContext) -> str:
        """Say too much."""
        context.progress("about to say hunter-2-hunter")
        return "the word is hunter-2-hunter"

    model = ScriptedModel([Say(calls=(Ask("leak"),)), Say("done")])
    working = agent(model, tools=[leak], secrets=["hunter-2-hunter"])
    async with working.open() as session:
        seen = [shown async for shown in session.stream("go")]
    assert model.requests[1][1].messages[-1].results[0].content == "the word is [redacted]"
    assert [shown.view.text for shown in seen if shown.name == "tool_progress"] == ["about to say [redacted]"]
    assert b"hunter" not in b"".join(line for _, line in (await working.store.read(session.session_id)).events)


def test_secrets_and_a_toolbox_that_would_not_know_them_contradict_each_other():
    with pytest.raises(ValueError, match="give yours a Redactor"):
        agent(tools=Toolbox([add]), secrets=["hunter-2-hunter"])


@pytest.mark.anyio
async def test_two_sessions_in_one_agent_do_not_touch_each_other():
    working = agent(ScriptedModel(lambda view, _: Say(f"to {view.messages[-1].parts[0].text}")))
    async with working.open() as one, working.open() as two:
        await one.send("one")
        await two.send("two")
        assert {(await one.wait()).text, (await two.wait()).text} == {"to one", "to two"}
    assert one.session_id != two.session_id


def test_presets_bring_their_limits_and_each_can_be_replaced():
    assert agent(policy="strict").config.limits == PRESETS["strict"].limits
    assert agent(policy="strict", limits=Limits(steps=3)).config.limits.steps == 3
    assert agent(policy="strict", limits=Limits(steps=3)).config.policy == PRESETS["strict"].policy
    assert agent(policy=Policy(sequential=True)).config.policy.sequential
    with pytest.raises(ValueError, match="no policy preset 'careful'; there are: recommended"):
        agent(policy="careful")


def test_hooks_that_need_a_command_are_said_in_the_configuration():
    plain = agent().config
    assert (plain.prepares_steps, plain.reviews_completion) == (False, False)
    hooked = agent(hooks=Hooks(prepare_step=lambda _: None, review_completion=lambda _: None)).config
    assert (hooked.prepares_steps, hooked.reviews_completion) == (True, True)


@pytest.mark.req("R-143", "R-141")
@pytest.mark.anyio
async def test_a_retry_waits_for_its_time_by_the_clock_of_the_agent():
    clock = ManualClock()
    async with agent(ScriptedModel([Break(), Say("ok")]), clock=clock).open() as session:
        await session.send("go")
        await anyio.wait_all_tasks_blocked()
        assert session.state.open
        clock.advance(2_000)
        assert (await session.wait()).text == "ok"


def test_every_public_name_can_be_imported_and_a_part_brings_not_the_whole():
    assert [getattr(interpreters, name) for name in interpreters.__all__]
    assert sorted(name for public in interpreters._HOMES.values() for name in public) == sorted(interpreters.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        interpreters.nothing  # noqa: B018 - reading it is the test
    program = "import sys, interpreters.support; print('interpreters.agent' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


@pytest.mark.anyio
async def test_views_of_an_open_session_end_with_the_block():
    async with agent().open() as session:
        views = session.views(0)
        await session.send("What is 2 + 3?")
        await session.wait()
    assert names([shown async for shown in views])[-1] == "agent_end"


@pytest.mark.anyio
async def test_a_session_streams_the_views_of_what_was_said_until_nothing_goes_on():
    async with agent().open() as session:
        seen = [shown async for shown in session.stream("What is 2 + 3?")]
        with pytest.raises(ValueError, match="empty-prompt"):
            await anext(session.stream(""))
    assert names(seen)[-2:] == ["turn_end", "agent_end"]
    assert "".join(shown.view.text for shown in seen if shown.name == "text_delta") == "The sum is 5."
