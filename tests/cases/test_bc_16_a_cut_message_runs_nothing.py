"""BC-16: the output limit was hit inside a call, and the cut-off call was run: half a file, reported as written.

A cut message runs none of its calls, not even those that read well, asks nobody about them, and is asked for again a
bounded number of times.
"""

from __future__ import annotations

import json

import attrs
import pytest

from agentcore import Limits, reduce
from agentcore.commands import AskApproval, EvaluatePolicy, ExecuteTool, RequestModel
from agentcore.events import ModelReplied
from agentcore.limits import allows
from agentcore.messages import FinishReason, InvalidCall, InvalidReason
from agentcore.states import AwaitingModel, Because, Completed, StopReason, Streaming
from agentcore.steps import decide, reply
from interpreters import Agent, HttpModel, file_tools
from interpreters.scripted import ScriptedGate
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, patched, shape
from tests.core.driver import call, tool
from tests.models.byteserver import Answer, chunk, events, serving

WHOLE = call("write", "c1", path="a", content="first half")
CUT = call("write", "c2", raw='{"path":"b","content":"second ha')
LIMITED = Limits(truncation_reissues=1)
CUTS = {
    # What makes a message a cut one: its label, or arguments that end early whatever the label says.
    "label": ((WHOLE, CUT), FinishReason.LENGTH),
    "label over whole calls": ((WHOLE, call("write", "c2", path="b")), FinishReason.LENGTH),
    "arguments under stop": ((WHOLE, CUT), FinishReason.STOP),
    "arguments under tool calls": ((WHOLE, CUT), FinishReason.TOOL_CALLS),
    "arguments under nothing": ((WHOLE, CUT), FinishReason.UNKNOWN),
}
NOTHING = (EvaluatePolicy, AskApproval, ExecuteTool)


def cut(case: Case, name: str) -> None:
    parts, finish = CUTS[name]
    case.reply(*parts, finish=finish)


def check_once(name: str, reducer=reduce) -> Case:
    case = Case(tool("write"), limits=LIMITED, reduce=reducer)
    case.prompt()
    cut(case, name)
    assert [case.count(kind) for kind in NOTHING] == [0, 0, 0]
    assert case.count(RequestModel) == 2
    assert case.state.turn.counters.truncation_reissues == 1
    assert Because.TRUNCATION_REISSUED in case.hops
    told = case.sent[-1][2].results
    assert [type(result.outcome) for result in told] == [InvalidCall, InvalidCall]
    assert {result.outcome.reason for result in told} == {InvalidReason.TRUNCATED}
    for result in told:
        for words in ("cut off", "Not executed", "shorter"):
            assert words in result.content
    return case


def check_twice(name: str, reducer=reduce) -> None:
    case = check_once(name, reducer)
    cut(case, name)
    case.all_saved()
    assert (case.stop, case.count(RequestModel)) == (StopReason.TRUNCATED, 2)
    assert [case.count(kind) for kind in NOTHING] == [0, 0, 0]
    answered = [len(message.calls) for message in case.history if hasattr(message, "calls")]
    assert answered == [2, 2]
    assert len(case.results) == 4


def check_reset(name: str, reducer=reduce) -> None:
    """A round that was whole gives the bound back."""
    case = check_once(name, reducer)
    case.execute("write")
    case.succeed()
    assert case.state.turn.counters.truncation_reissues == 0
    requests = case.count(RequestModel)
    cut(case, name)
    assert (case.state.turn.counters.truncation_reissues, case.count(RequestModel)) == (1, requests + 1)
    case.answer()
    assert case.phase is Completed


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.req("R-146", "R-147", "D-15", "R-042")
def test_a_cut_message_runs_nothing_and_is_asked_for_once_more(name):
    check_twice(name)


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.req("R-147", "D-15")
def test_a_whole_round_in_between_allows_another_try(name):
    check_reset(name)


@pytest.mark.parametrize("name", ["label", "arguments under stop"])
def test_the_counter_survives_a_crash(name):
    case = check_once(name)
    case.restart()
    cut(case, name)
    case.all_saved()
    assert case.stop is StopReason.TRUNCATED


def whatever_the_label(state, event):
    """The row as it was: the loop never looks at the length label."""
    return reply.judge_reply(state, attrs.evolve(event, finish=FinishReason.TOOL_CALLS))


def complete_enough(raw):
    """Reading arguments as it was: what ends early is only malformed, and spoils nobody else."""
    parsed = parse(raw)
    malformed = type(parsed.state).MALFORMED
    return attrs.evolve(parsed, state=malformed) if parsed.state.value == "incomplete" else parsed


parse = reply.parse_arguments


def test_a_loop_that_does_not_look_at_the_label_is_found_out():
    fails(check_once, "label over whole calls", broken(instead(AwaitingModel, ModelReplied, whatever_the_label)))


def test_running_the_whole_call_beside_a_cut_one_is_found_out():
    with patched((reply, "parse_arguments", complete_enough)):
        fails(check_once, "arguments under stop")


def test_asking_again_for_ever_is_found_out():
    with patched((decide, "allows", lambda limit, _used: allows(limit, 0))):
        fails(check_twice, "label")


# ---- a real file, and the bytes of a real stream


def streamed(cut_at: int | None, label: str):
    """One call that writes a file, its arguments cut at a character."""
    text = json.dumps({"path": "report.txt", "content": "all of it"})
    piece = {"index": 0, "id": "c1", "type": "function", "function": {"name": "write_file", "arguments": text[:cut_at]}}
    return Answer(events(chunk({"tool_calls": [piece]}), chunk(finish=label)))


async def check_file(folder, *, cut_at: int | None, label: str) -> None:
    final = Answer(events(chunk({"content": "done"}), chunk(finish="stop")))
    with serving(streamed(cut_at, label), streamed(None, "tool_calls"), final) as server:
        agent = Agent(model=HttpModel("m", base_url=server.url), tools=file_tools(folder), rules=ScriptedGate())
        async with agent.open() as session:
            views = session.views()
            await session.send("write it")
            started = [shown async for shown in _until_end(views) if shown.name == "tool_start"]
        bodies = [received.body["messages"] for received in server.received]
    assert len(started) == 1, "the cut call ran"
    assert (folder / "report.txt").read_text() == "all of it"
    assert "cut off" in bodies[1][-1]["content"]
    assert json.loads(bodies[1][1]["tool_calls"][0]["function"]["arguments"]) is not None
    assert shape(session.state.history)[-1] == ("done",)


async def _until_end(views):
    async for shown in views:
        yield shown
        if shown.name == "agent_end":
            return


@pytest.mark.anyio
@pytest.mark.parametrize(("cut_at", "label"), [(None, "length"), (30, "length"), (30, "stop"), (1, "tool_calls")])
@pytest.mark.req("R-146", "D-15")
async def test_a_cut_call_writes_no_file(tmp_path, cut_at, label):
    await check_file(tmp_path, cut_at=cut_at, label=label)


@pytest.mark.anyio
async def test_an_engine_that_runs_a_cut_call_is_found_out(tmp_path, monkeypatch):
    twin = broken(instead(Streaming, ModelReplied, whatever_the_label))
    monkeypatch.setattr("interpreters.engine.engine.reduce", twin)
    await fails_async(check_file, tmp_path, cut_at=None, label="length")
