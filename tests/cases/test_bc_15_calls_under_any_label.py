"""BC-15: the model sent three calls, the provider labelled the step "stop", and the loop threw the calls away.

Calls are calls, whatever the label says; only a cut, a refusal or a filter keeps them from running.
"""

from __future__ import annotations

import json

import attrs
import pytest

from agentcore import Effect, reduce
from agentcore.commands import EvaluatePolicy, ExecuteTool, RequestModel
from agentcore.events import ModelReplied
from agentcore.messages import FinishReason, ToolCallPart
from agentcore.states import AwaitingModel, Completed, RunningTools, StopReason, Streaming
from agentcore.steps import reply
from interpreters import Agent, HttpModel, tool
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, shape
from tests.core.driver import call
from tests.core.driver import tool as contract
from tests.models.byteserver import Answer, chunk, events, serving

IDS = ("1.1.0", "1.1.1", "1.1.2")
WITHHELD = (FinishReason.REFUSAL, FinishReason.CONTENT_FILTER)
RUN = [finish for finish in FinishReason if finish not in (*WITHHELD, FinishReason.LENGTH)]


def asking(finish: FinishReason, effect: Effect = Effect.OPAQUE, reducer=reduce) -> Case:
    case = Case(contract("look", effect), reduce=reducer)
    case.prompt()
    case.reply("let me look", *(call("look", f"c{n}", n=n) for n in range(3)), finish=finish)
    return case


def check_run(finish: FinishReason, effect: Effect, reducer=reduce) -> None:
    case = asking(finish, effect, reducer)
    assert case.phase is RunningTools, "not over"
    for call_id in IDS:
        case.allow(call_id)
    case.all_saved()
    assert [case.count(EvaluatePolicy, call_id) for call_id in IDS] == [1, 1, 1]
    assert [case.count(ExecuteTool, call_id) for call_id in IDS] == [1, 1, 1]
    for call_id in reversed(IDS):
        case.succeed(call_id, f"saw {call_id}")
    assert case.count(RequestModel) == 2
    assert [result.content for result in case.sent[-1][2].results] == [f"saw {call_id}" for call_id in IDS]
    case.answer("three things")
    assert (case.phase, case.stop) == (Completed, StopReason.FINAL_ANSWER)


@pytest.mark.parametrize("effect", [Effect.PURE, Effect.OPAQUE])
@pytest.mark.parametrize("finish", RUN)
@pytest.mark.req("R-086", "R-089", "D-16", "R-127", "R-225")
def test_calls_run_under_every_label_that_claims_an_end(finish, effect):
    check_run(finish, effect)


def check_withheld(finish: FinishReason, reducer=reduce) -> None:
    case = asking(finish, reducer=reducer)
    case.all_saved()
    assert (case.count(EvaluatePolicy), case.count(ExecuteTool), case.count(RequestModel)) == (0, 0, 1)
    assert case.stop is StopReason.MODEL_ERROR
    assert finish.value in case.ending.message
    case.reopen()
    case.prompt("U2")
    assert shape(case.sent[-1]) == ["Do it.", ("let me look",), "U2"]


@pytest.mark.parametrize("finish", WITHHELD)
@pytest.mark.req("R-076")
def test_calls_of_a_refused_or_filtered_message_never_run(finish):
    check_withheld(finish)


@pytest.mark.parametrize("finish", [*RUN, FinishReason.LENGTH])
@pytest.mark.req("R-043", "R-233")
def test_the_label_is_kept_as_evidence(finish):
    case = asking(finish)
    facts = dict(case.trace[-1].state.phase.transition.evidence)
    named = facts.get("finish") or case.history[1].finish.value
    assert named == finish.value


def by_the_label(state, event):
    """The row as it was: calls surface in the one branch whose label names them."""
    if event.finish is FinishReason.TOOL_CALLS:
        return reply.judge_reply(state, event)
    said = tuple(part for part in event.parts if not isinstance(part, ToolCallPart))
    return reply.judge_reply(state, attrs.evolve(event, parts=said))


TWIN = broken(instead(AwaitingModel, ModelReplied, by_the_label))


@pytest.mark.parametrize("finish", [finish for finish in RUN if finish is not FinishReason.TOOL_CALLS])
def test_throwing_calls_away_by_the_label_is_found_out(finish):
    fails(check_run, finish, Effect.PURE, TWIN)


def test_running_what_a_provider_withheld_is_found_out():
    def unlabelled(state, event):
        return reply.judge_reply(state, attrs.evolve(event, finish=FinishReason.STOP))

    for finish in WITHHELD:
        fails(check_withheld, finish, broken(instead(AwaitingModel, ModelReplied, unlabelled)))


# ---- over a real connection, with the words that providers use and some that nobody knows


LABELS = [
    "stop",
    "end_turn",
    "tool_calls",
    "function_call",
    "other",
    "unknown",
    "SOME_NEW_WORD",
    "",
    None,
    "pause_turn",
]


def three_calls(label):
    pieces = [
        {"index": n, "id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": json.dumps({"n": n})}}
        for n in range(3)
    ]
    told = (chunk({"tool_calls": [one]}) for one in pieces)
    return Answer(events(chunk({"content": "let me look"}), *told, chunk(finish=label)))


FINAL = Answer(events(chunk({"content": "three things"}), chunk(finish="stop")))


async def check_wire(label, *, runs: bool) -> None:
    looked: list[int] = []

    @tool(effect="pure")
    def look(n: int) -> str:
        """Look at something."""
        looked.append(n)
        return f"saw {n}"

    with serving(three_calls(label), FINAL) as server:
        result = await Agent(model=HttpModel("m", base_url=server.url), tools=[look]).run("go")
        received = server.received
    if not runs:
        assert (looked, len(received), result.reason) == ([], 1, StopReason.MODEL_ERROR)
        return
    assert (sorted(looked), result.text) == ([0, 1, 2], "three things")
    body = received[1].body["messages"]
    assert [(one["role"], one.get("tool_call_id")) for one in body[2:]] == [("tool", f"c{n}") for n in range(3)]
    assert [one["content"] for one in body[2:]] == ["saw 0", "saw 1", "saw 2"]


@pytest.mark.anyio
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.req("R-086", "R-089", "R-227")
async def test_calls_of_a_provider_run_under_whatever_label(label):
    await check_wire(label, runs=True)


@pytest.mark.anyio
@pytest.mark.parametrize("label", ["content_filter", "refusal", "safety"])
async def test_calls_that_a_provider_withholds_never_run(label):
    await check_wire(label, runs=False)


@pytest.mark.anyio
async def test_an_engine_that_goes_by_the_label_is_found_out(monkeypatch):
    twin = broken(instead(Streaming, ModelReplied, by_the_label))
    monkeypatch.setattr("interpreters.engine.engine.reduce", twin)
    await fails_async(check_wire, "stop", runs=True)
