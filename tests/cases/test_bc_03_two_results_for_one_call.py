"""BC-03: a second executor took over, both delivered a result for one call, and the session was rejected for ever.

The first accepted outcome settles a call. What says the same again is ignored, what says something else is refused with
the digests of both, and an id that never was is refused as crossed wires. None of them changes the state.
"""

from __future__ import annotations

import attrs
import pytest

from agentcore import Effect, Verdict, reduce
from agentcore.codec import decode_rejection
from agentcore.events import ToolCancelled, ToolFailed, ToolLost, ToolSucceeded
from agentcore.messages import EffectSeen, Succeeded, ToolMessage, digest, find_result
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import AwaitingModel, Because, Completed, Settled
from agentcore.steps.calls.moves import settle
from interpreters import Agent, MemoryStore
from interpreters.scripted import Ask, Say, ScriptedGate, ScriptedModel
from interpreters.support.ports import STAMPED
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, shape
from tests.core.driver import tool


def batch_open(case: Case) -> None:
    """Variant a: a sibling still runs, the results are not written, no request is out."""
    case.execute("run_tests", "run_tests")
    case.succeed("1.1.0", "out-A")


def requested(case: Case) -> None:
    """The results are written and the next request is out."""
    case.execute("run_tests")
    case.succeed("1.1.0", "out-A")


def completed(case: Case) -> None:
    """Variant c: the run is over."""
    requested(case)
    case.answer()


def next_turn(case: Case) -> None:
    """Another turn runs by now."""
    completed(case)
    case.reopen()
    case.execute("run_tests")


def resumed(case: Case) -> None:
    """Another process has taken the session up."""
    requested(case)
    case.restart()


MOMENTS = (batch_open, requested, completed, next_turn, resumed)
KEY = {"call_id": "1.1.0", "epoch": 0, "attempt": 1}
SECOND = {
    "the same": ToolSucceeded(at=0, **KEY, result="out-A"),
    "another result": ToolSucceeded(at=0, **KEY, result="out-B"),
    "an error": ToolFailed(at=0, **KEY, error="out-B"),
    "a loss": ToolLost(at=0, **KEY, cause="timeout"),
    "a stop": ToolCancelled(at=0, **KEY, effect=EffectSeen.NONE),
}


def check(moment, second: str, effect: Effect = Effect.OPAQUE, reducer=reduce) -> None:
    case = Case(tool("run_tests", effect), reduce=reducer)
    moment(case)
    requests, executions = len(case.requested), len(case.executed)
    judged = case.quietly(attrs.evolve(SECOND[second], at=case.now + 1))
    assert (len(case.requested), len(case.executed)) == (requests, executions)
    if second == "the same":
        assert (judged.verdict, judged.reduction.commands) == (Verdict.IGNORED, ())
    else:
        assert judged.verdict is Verdict.REJECTED
        assert judged.rejection.code is RejectionCode.ALREADY_SETTLED
    if second == "another result":
        assert digest("out-A")[:16] in str(judged.rejection)
        assert digest("out-B")[:16] in str(judged.rejection)
    if moment is batch_open:
        case.succeed("1.1.1", "other")
    results = [result for result in case.results if result.call_id == "1.1.0"]
    assert [(result.content, type(result.outcome)) for result in results] == [("out-A", Succeeded)]


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.req("R-064", "R-160", "R-128", "R-245")
def test_the_first_outcome_stands_and_a_second_changes_nothing(moment, second):
    check(moment, second)


def settle_again(state, known, event):
    """The row as it was: whoever comes last is believed."""
    return settle(known, Succeeded(event.result), Because.TOOL_SUCCEEDED)


def append_again(state, event):
    """The row as it was: the other path appends its own block, whoever has answered."""
    first = find_result(state.history, event.call_id)
    second = ToolMessage(state.request_id, (attrs.evolve(first, content=event.result),))
    return attrs.evolve(state, history=state.history.append(second))


TWIN = broken(
    instead(Settled, ToolSucceeded, settle_again),
    instead(AwaitingModel, ToolSucceeded, append_again),
    instead(Completed, ToolSucceeded, append_again),
)


@pytest.mark.parametrize("moment", [batch_open, requested, completed])
@pytest.mark.parametrize("second", ["the same", "another result"])
def test_believing_the_second_outcome_is_found_out(moment, second):
    fails(check, moment, second, reducer=TWIN)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("call_id", ["9.9.9", "1.1.7", "1.2.0", "0.0.0", "toolu_01", "", "1.1.0/../1.1.1"])
@pytest.mark.req("R-065")
def test_a_result_for_a_call_that_never_was_is_refused_and_recorded(moment, call_id):
    case = Case(tool("run_tests"))
    moment(case)
    judged = case.quietly(ToolSucceeded(at=case.now, call_id=call_id, epoch=0, attempt=1, result="out-B"))
    assert judged.rejection.code is RejectionCode.FOREIGN_CALL
    assert (judged.rejection.blame, judged.rejection.offending) == (Blame.WORLD, call_id)
    assert [type(command).__name__ for command in judged.reduction.commands] == ["RecordRejection"]


# ---- two executors for real: one hands its result over on the way, the other returns one


class Twice:
    """Tools that answer each execution twice."""

    contracts = (tool("run_tests", Effect.OPAQUE),)

    def __init__(self, second: str) -> None:
        self.second = second

    async def execute(self, session_id, order, call, *, emit, show):
        key = {"at": STAMPED, "call_id": order.call_id, "epoch": order.epoch, "attempt": order.attempt}
        emit(ToolSucceeded(**key, result="out-A"))
        return ToolSucceeded(**key, result=self.second)

    def cancel(self, session_id, order) -> None:
        """Nothing to stop."""

    async def inspect(self, session_id, order, call):
        raise AssertionError("nothing is unknown here")


async def check_race(second: str) -> None:
    store, model = MemoryStore(), ScriptedModel([Say(calls=(Ask("run_tests"),)), Say("done")])
    agent = Agent(model=model, tools=Twice(second), rules=ScriptedGate(), store=store)
    async with agent.open("s", create=True) as session:
        await session.send("go")
        result = await session.wait()
    assert result.text == "done"
    assert shape(session.state.history) == ["go", ("", "run_tests"), [("1.1.0", "Succeeded")], ("done",)]
    assert session.state.history[2].results[0].content == "out-A"
    assert len(model.requests) == 2
    refused = [decode_rejection(line) for line in await store.rejections("s")]
    assert [each.code for each in refused] == ([] if second == "out-A" else [RejectionCode.ALREADY_SETTLED])


@pytest.mark.anyio
@pytest.mark.parametrize("second", ["out-A", "out-B"])
@pytest.mark.req("R-064", "R-170")
async def test_two_executors_that_both_deliver_leave_one_result(second):
    await check_race(second)


@pytest.mark.anyio
async def test_an_engine_that_believes_the_second_executor_is_found_out(monkeypatch):
    monkeypatch.setattr("interpreters.engine.engine.reduce", TWIN)
    await fails_async(check_race, "out-B")
