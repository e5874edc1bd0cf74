"""BC-10: cancelled while the answer streamed; a call that arrived afterwards was executed.

Once a turn is stopping, an answer only ends its request: its usage counts, its text is kept as interrupted, its calls
are dropped, and nothing is asked or run any more.
"""

from __future__ import annotations

import itertools

import anyio
import attrs
import pytest

from agentcore import Verdict, reduce
from agentcore.commands import CancelModel, EvaluatePolicy, ExecuteTool, RequestModel
from agentcore.events import ModelFailed, ModelFailure, ModelReplied, ModelStopped, ModelStreamOpened, TimerFired
from agentcore.messages import AssistantMessage, FinishReason, TextPart, ToolCallPart, Usage
from agentcore.projections import UiStatus, ui_status
from agentcore.states import Cancelled, RunningTools, Saving, Stopping, StopReason
from agentcore.steps import reply
from interpreters import Agent
from interpreters.scripted import Say, ScriptedGate, ScriptedModel, ScriptedToolBox, scripted_tool
from interpreters.support.ports_model import TextDelta
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, shape
from tests.core.driver import call, tool

KEY = {"request_id": "1.1", "epoch": 0, "attempt": 1}
PARTS = (TextPart("writing"), call("write_file", "c1"))
LATE = {
    "reply": ModelReplied(at=0, **KEY, parts=PARTS, finish=FinishReason.TOOL_CALLS, usage=Usage(100, 20)),
    "stopped": ModelStopped(at=0, **KEY, parts=(TextPart("writing"),), usage=Usage(100, 20)),
    "failed": ModelFailed(at=0, **KEY, kind=ModelFailure.RETRYABLE, message="reset", usage=Usage(100, 20)),
    "opened": ModelStreamOpened(at=0, **KEY),
    "grace": TimerFired(at=0, timer_id="grace/1.1", epoch=0, attempt=1),
    "deadline": TimerFired(at=0, timer_id="model/1.1", epoch=0, attempt=1),
}
ENDS = ("reply", "stopped", "failed", "grace")
FORBIDDEN = (EvaluatePolicy, ExecuteTool, RequestModel)


def cancelled(reducer=reduce, *, streaming: bool) -> Case:
    """A request is outstanding, and somebody cancels."""
    case = Case(tool("write_file"), reduce=reducer)
    case.prompt("U1", message_id="u1")
    if streaming:
        case.opened()
    case.abort()
    return case


def check(late: str, *, streaming: bool, reducer=reduce) -> None:
    case = cancelled(reducer, streaming=streaming)
    # 1: told to end, and not cancelled before that is known.
    assert (case.phase, case.count(CancelModel)) == (Stopping, 1)
    assert ui_status(case.state).ui is UiStatus.CANCELLING
    # 2: whatever comes late ends the request, and orders nothing but the record of the end.
    case.given(attrs.evolve(LATE[late], at=case.now + 1))
    assert case.phase is Saving
    case.all_saved()
    assert (case.phase, case.stop) == (Cancelled, StopReason.USER_ABORT)
    counted = Usage(100, 20) if late != "grace" else Usage()
    assert case.state.usage == counted
    kept = [message for message in case.history if isinstance(message, AssistantMessage)]
    assert all(message.interrupted and not message.calls for message in kept)
    assert [message.text for message in kept] == (["writing"] if late in ("reply", "stopped") else [])
    # The same once more counts nothing twice.
    case.quietly(attrs.evolve(LATE[late], at=case.now + 1))
    assert case.state.usage == counted
    assert [case.count(kind) for kind in FORBIDDEN] == [0, 0, 1]
    assert case.count(CancelModel) == 1
    # 3: no call is open in what is sent next.
    case.reopen()
    case.prompt("U2")
    said = [("writing",)] if kept else []
    assert shape(case.sent[-1]) == ["U1", *said, "U2"]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("late", ENDS)
@pytest.mark.req("R-207", "R-177", "R-178", "D-7", "D-10", "R-235")
def test_an_answer_after_a_cancel_is_evidence_and_nothing_else(late, streaming):
    check(late, streaming=streaming)


def test_what_was_discarded_is_said_in_the_trace():
    case = cancelled(streaming=True)
    case.given(attrs.evolve(LATE["reply"], at=case.now + 1))
    case.all_saved()
    assert ("discarded_calls", "1") in case.ending.evidence


def believing(state, event):
    """The row as it was: nobody looks at the cancel between the stream and the tools."""
    return reply.judge_reply(state, event)


TWIN = broken(instead(Stopping, ModelReplied, believing, to=(RunningTools, Saving)))


@pytest.mark.parametrize("streaming", [False, True])
def test_a_cancel_that_is_forgotten_when_the_answer_comes_is_found_out(streaming):
    fails(check, "reply", streaming=streaming, reducer=TWIN)


def check_every_order(reducer=reduce) -> None:
    """Property: after a cancel no sequence of late events orders a review, an execution or a request."""
    for order in itertools.permutations(LATE, 4):
        case = cancelled(reducer, streaming=False)
        for name in order:
            case.given(attrs.evolve(LATE[name], at=case.now + 1))
            case.all_saved()
        assert [case.count(kind) for kind in FORBIDDEN] == [0, 0, 1]
        assert case.phase is Cancelled


@pytest.mark.req("R-207", "D-10")
def test_no_order_of_late_events_starts_anything():
    check_every_order()


def test_an_order_of_late_events_that_starts_something_is_found_out():
    fails(check_every_order, TWIN)


# ---- a real transport that does not hear the cancel in time


class DeafModel:
    """Streams, is told to stop, and answers in full nevertheless."""

    def __init__(self, then) -> None:
        self.streams, self.goes_on, self.then = anyio.Event(), anyio.Event(), then

    async def answer(self, run):
        if self.streams.is_set():
            return await self.then.answer(run)
        run.opened()
        run.show(TextDelta("writing"))
        self.streams.set()
        await self.goes_on.wait()
        parts = (TextPart("writing"), ToolCallPart("c1", "write_file", "{}"))
        return run.replied(parts, finish=FinishReason.TOOL_CALLS, usage=Usage(100, 20))


async def check_deaf(reducer=reduce) -> None:
    then = ScriptedModel([Say("done")])
    model, gate = DeafModel(then), ScriptedGate()
    box = ScriptedToolBox([scripted_tool("write_file")])
    async with Agent(model=model, tools=box, rules=gate).open() as session:
        await session.send("U1")
        await model.streams.wait()
        assert (await session.abort()).verdict is Verdict.ACCEPTED
        assert ui_status(session.state).ui is UiStatus.CANCELLING
        model.goes_on.set()
        result = await session.wait()
        assert (result.reason, result.usage) == (StopReason.USER_ABORT, Usage(100, 20))
        assert (box.deeds, gate.asked) == ([], [])
        await session.send("U2")
        assert (await session.wait()).text == "done"
    assert shape(then.requests[0][1].messages) == ["U1", ("writing",), "U2"]


@pytest.mark.anyio
@pytest.mark.req("R-207", "R-178")
async def test_a_model_that_answers_in_spite_of_the_cancel_starts_nothing():
    await check_deaf()


@pytest.mark.anyio
async def test_an_engine_that_runs_such_an_answer_is_found_out(monkeypatch):
    monkeypatch.setattr("interpreters.engine.engine.reduce", TWIN)
    await fails_async(check_deaf)
