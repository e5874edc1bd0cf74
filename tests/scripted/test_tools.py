"""Scripted tools: what they say, what they do to the world, and how an inspection finds the truth."""

from __future__ import annotations

import anyio
import pytest

from agentcore.events import (
    Finding,
    TaskSettled,
    TaskStarted,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.messages import Artifact, EffectSeen, Usage
from agentcore.policy import Effect
from interpreters.scripted import (
    Detach,
    Fail,
    Hang,
    Look,
    Lose,
    ScriptedToolBox,
    Succeed,
    scripted_tool,
    sub_agent,
)
from tests.models.runs import in_time
from tests.scripted.calls import SESSION, call_of, cancel, execute, inspect

pytestmark = pytest.mark.anyio

KEY = {"at": 0, "call_id": "1.1.0", "epoch": 0, "attempt": 1}


class Bench:
    """A box, and everything its tools say."""

    def __init__(self, *tools):
        self.box = ScriptedToolBox(tools)
        self.tools = {tool.contract.name: tool for tool in tools}
        self.emitted, self.shown, self.ended = [], [], []

    async def run(self, name, call_id="1.1.0", attempt=1, arguments="{}"):
        call = call_of(self.tools[name], call_id, arguments)
        event = await self.box.execute(
            SESSION, execute(call_id, attempt), call, emit=self.emitted.append, show=self.shown.append
        )
        self.ended.append(name)
        return event

    async def look(self, name, attempt=1):
        return await self.box.inspect(SESSION, inspect(attempt=attempt), call_of(self.tools[name]))


@in_time
async def test_a_success_says_everything_and_is_a_deed():
    act = Succeed(
        result="3",
        summary="three",
        resource_version="v2",
        artifacts=(Artifact("a", "p", "s"),),
        terminate=True,
        usage=Usage(5),
        handle="pid 7",
        progress=("half",),
        observations=("row 1",),
    )
    bench = Bench(scripted_tool("write", act, effect=Effect.KEYED))
    event = await bench.run("write", arguments='{"a":1}')
    assert event == ToolSucceeded(
        **KEY,
        result="3",
        summary="three",
        resource_version="v2",
        artifacts=act.artifacts,
        terminate=True,
        usage=Usage(5),
    )
    assert bench.emitted == [ToolStarted(**KEY, handle="pid 7"), ToolProgressed(**KEY, observation="row 1")]
    assert bench.shown == ["half"]
    (deed,) = bench.box.deeds
    assert (deed.tool, deed.effect_key, deed.execution, deed.arguments) == ("write", "s1/1.1.0", (0, 1), '{"a":1}')
    assert bench.box.count("write") == 1


@pytest.mark.parametrize(
    ("act", "event", "deeds"),
    [
        (Fail(error="no", kind="io", fatal=True), ToolFailed(**KEY, error="no", kind="io", fatal=True), 0),
        (
            Lose(cause="gone", target="t", observation="o"),
            ToolLost(**KEY, cause="gone", target="t", observation="o"),
            1,
        ),
        (Lose(did=False), ToolLost(**KEY, cause="the connection was lost"), 0),
    ],
)
@in_time
async def test_a_failure_does_nothing_and_a_loss_may_have_done_it(act, event, deeds):
    bench = Bench(scripted_tool("write", act))
    assert await bench.run("write") == event
    assert len(bench.box.deeds) == deeds


@in_time
async def test_acts_follow_each_other_and_the_last_is_repeated():
    bench = Bench(scripted_tool("write", Lose(), Succeed(result="x")))
    events = [await bench.run("write", attempt=attempt) for attempt in (1, 2, 3)]
    assert [type(event) for event in events] == [ToolLost, ToolSucceeded, ToolSucceeded]


@in_time
async def test_a_function_acts_by_the_arguments():
    tool = scripted_tool("double")
    tool = type(tool)(tool.contract, lambda arguments: Succeed(result=str(arguments["n"] * 2)))
    assert (await Bench(tool).run("double", arguments='{"n":21}')).result == "42"


@pytest.mark.req("R-227")
@in_time
async def test_three_tools_at_once_end_in_the_order_of_the_script():
    tools = [
        scripted_tool("one", Succeed(after=("two",))),
        scripted_tool("two"),
        scripted_tool("three", Succeed(after=("one",))),
    ]
    bench = Bench(*tools)
    async with anyio.create_task_group() as tasks:
        for place, name in enumerate(("one", "two", "three")):
            tasks.start_soon(bench.run, name, f"1.1.{place}")
    assert bench.ended == ["two", "one", "three"]


@pytest.mark.parametrize(
    ("act", "effect", "deeds"),
    [
        (Hang(), EffectSeen.NONE, 0),
        (Hang(effect=EffectSeen.DONE, did=True), EffectSeen.DONE, 1),
        (Hang(effect=EffectSeen.UNPROVED, did=True), EffectSeen.UNPROVED, 1),
        (Succeed(after=("never",)), EffectSeen.NONE, 0),
        (Detach(then=Hang()), EffectSeen.NONE, 0),
    ],
)
@pytest.mark.req("D-7")
@in_time
async def test_a_running_attempt_ends_when_it_is_told_to_stop(act, effect, deeds):
    bench = Bench(scripted_tool("slow", act))
    found = []

    async def run() -> None:
        found.append(await bench.run("slow"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        bench.box.cancel(SESSION, cancel(attempt=2))
        await anyio.wait_all_tasks_blocked()
        assert found == []
        bench.box.cancel(SESSION, cancel())
    assert found == [ToolCancelled(**KEY, effect=effect)]
    assert len(bench.box.deeds) == deeds


@in_time
async def test_an_attempt_that_does_not_confirm_ends_only_with_its_task():
    bench = Bench(scripted_tool("slow", Hang(confirms=False)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.run, "slow")
        await anyio.wait_all_tasks_blocked()
        bench.box.cancel(SESSION, cancel())
        await anyio.wait_all_tasks_blocked()
        assert bench.ended == []
        tasks.cancel_scope.cancel()
    assert bench.ended == []


@in_time
async def test_telling_an_attempt_that_is_not_here_to_stop_is_no_error():
    ScriptedToolBox(()).cancel(SESSION, cancel())


@pytest.mark.parametrize(
    ("then", "end"),
    [
        (Succeed(result="done", usage=Usage(5)), TaskSettled(**KEY, succeeded=True, result="done", usage=Usage(5))),
        (Fail(error="no"), TaskSettled(**KEY, succeeded=False, result="no")),
        (Lose(cause="gone"), ToolLost(**KEY, cause="gone")),
    ],
)
@in_time
async def test_a_detached_tool_answers_at_once_and_settles_later(then, end):
    bench = Bench(scripted_tool("job", Detach(handle="job 7", result="begun", then=then), detached=True))
    assert await bench.run("job") == end
    assert bench.emitted == [ToolStarted(**KEY, handle="job 7"), TaskStarted(**KEY, handle="job 7", result="begun")]


@in_time
async def test_a_sub_agent_is_a_session_with_usage_of_its_own():
    bench = Bench(sub_agent("helper", "42", usage=Usage(5, 2)))
    event = await bench.run("helper")
    assert (event.result, event.usage) == ("42", Usage(5, 2))
    assert bench.emitted == [ToolStarted(**KEY, handle="session helper")]


@pytest.mark.req("R-157", "D-8")
@in_time
async def test_an_inspection_finds_what_was_really_done():
    bench = Bench(scripted_tool("write", Lose(did=True)))
    await bench.run("write")
    assert (await bench.look("write")).finding is Finding.EXECUTED


@pytest.mark.req("R-157", "D-8")
@in_time
async def test_an_inspection_that_finds_nothing_voids_the_attempt():
    bench = Bench(scripted_tool("write", Lose(did=False), Succeed()))
    await bench.run("write")
    found = await bench.look("write")
    assert (found.finding, found.conclusive, found.retry_safe) == (Finding.NOT_EXECUTED, True, True)
    event = await bench.run("write", attempt=1)
    assert (event.kind, bench.box.deeds) == ("voided", [])
    assert isinstance(await bench.run("write", attempt=2), ToolSucceeded)


@in_time
async def test_an_inspection_of_what_runs_says_so():
    bench = Bench(scripted_tool("slow", Hang()))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.run, "slow")
        await anyio.wait_all_tasks_blocked()
        assert (await bench.look("slow")).finding is Finding.STILL_RUNNING
        tasks.cancel_scope.cancel()


@in_time
async def test_an_inspection_may_lie_where_the_script_says_so():
    looks = (Look(Finding.UNAVAILABLE), Look(Finding.NOT_EXECUTED, conclusive=True, result="r", evidence="a lie"))
    bench = Bench(scripted_tool("write", looks=looks))
    await bench.run("write")
    found = [await bench.look("write") for _ in range(3)]
    assert [one.finding for one in found] == [Finding.UNAVAILABLE, Finding.NOT_EXECUTED, Finding.EXECUTED]
    assert (found[1].evidence, found[1].result) == ("a lie", "r")
    assert bench.box.voided == set()


@in_time
async def test_a_tool_that_is_not_there_fails_and_is_found_not_to_have_acted():
    tool = scripted_tool("gone")
    box = ScriptedToolBox(())
    event = await box.execute(SESSION, execute(), call_of(tool), emit=print, show=print)
    assert event.kind == "tool-not-found"
    assert (await box.inspect(SESSION, inspect(), call_of(tool))).finding is Finding.NOT_EXECUTED


@in_time
async def test_real_time_passes_only_where_it_is_asked_for():
    assert isinstance(await Bench(scripted_tool("slow", Succeed(delay_s=0.01))).run("slow"), ToolSucceeded)


@in_time
async def test_the_contracts_are_those_of_the_tools():
    tool = scripted_tool("write", effect=Effect.KEYED, exclusive=True)
    assert ScriptedToolBox([tool]).contracts == (tool.contract,)
    assert tool.contract.exclusive
