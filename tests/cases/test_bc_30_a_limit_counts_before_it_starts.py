"""BC-30: with a limit of six, a message with eight parallel calls started all eight before the limit was noticed.

A call is counted when it is released, before it starts; those beyond the limit are answered as not executed, in source
order, and the turn ends. What is denied or invalid was never released, and does not count.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Effect, Limits, reduce
from agentcore.commands import EvaluatePolicy, ExecuteTool, RequestModel
from agentcore.messages import NotExecuted, NotExecutedReason, Succeeded
from agentcore.states import AwaitingModel, Exhausted, Ready, StopReason
from agentcore.steps.calls import stops
from agentcore.steps.verdicts import Advance
from tests.cases.helpers_a import Case, broken, fails, instead
from tests.core.driver import call, tool


def at_work(effect: Effect, max_parallel: int, reducer=reduce) -> Case:
    limits = Limits(tool_calls=6, max_parallel=max_parallel)
    return Case(tool("read", effect), limits=limits, reduce=reducer)


def ask_for(case: Case, count: int, *, bad: tuple[int, ...] = (), denied: tuple[int, ...] = ()) -> None:
    """One message with so many calls, some of them bad or denied."""
    if case.state.turn.number == 0:
        case.prompt()
    case.reply(*(call("read", f"c{n}", raw="[1]" if n in bad else "{}") for n in range(count)))
    while any(isinstance(each, EvaluatePolicy) for each in case.work):
        number = int(case.the(EvaluatePolicy).call_id.rpartition(".")[2])
        case.block() if number in denied else case.allow()


def run_out(case: Case) -> None:
    """Let everything that starts succeed, the newest first."""
    case.all_saved()
    while running := [each.call_id for each in case.work if isinstance(each, ExecuteTool)]:
        case.succeed(running[-1])
        case.all_saved()


def names(case: Case, kind: type, step: int = 1) -> list[str]:
    """Results of a step with such an outcome, by their place."""
    return [
        result.call_id.rpartition(".")[2]
        for result in case.results
        if result.call_id.startswith(f"1.{step}.") and isinstance(result.outcome, kind)
    ]


def check_bound(case: Case) -> None:
    """``used <= limit`` in every state that was reached."""
    assert max(line.state.turn.counters.tool_calls for line in case.trace) <= 6
    assert len({each.call_id for each in case.executed}) <= 6


def check_a(case: Case, *, restart: bool = False) -> None:
    ask_for(case, 8)
    if restart:
        case.restart()
        while any(isinstance(each, EvaluatePolicy) for each in case.work):
            case.allow()
    run_out(case)
    check_bound(case)
    # What only reads runs again after a crash; it is the same call, counted once.
    first = dict.fromkeys(each.call_id for each in case.executed)
    assert list(first) == [f"1.1.{n}" for n in range(6)]
    assert restart or len(case.executed) == 6
    assert names(case, Succeeded) == list("012345")
    assert names(case, NotExecuted) == list("67")
    limits = {result.outcome.reason for result in case.results if isinstance(result.outcome, NotExecuted)}
    assert limits == {NotExecutedReason.MAX_TOOL_CALLS}
    assert (case.phase, case.stop) == (Exhausted, StopReason.MAX_TOOL_CALLS)
    assert case.count(RequestModel) == 1


def check_b(case: Case) -> None:
    ask_for(case, 6)
    run_out(case)
    assert names(case, Succeeded) == list("012345")
    assert case.phase is AwaitingModel
    ask_for(case, 1)
    run_out(case)
    check_bound(case)
    assert case.stop is StopReason.MAX_TOOL_CALLS
    assert names(case, NotExecuted, step=2) == ["0"]


def check_c(case: Case) -> None:
    ask_for(case, 5)
    run_out(case)
    ask_for(case, 2)
    run_out(case)
    check_bound(case)
    assert (names(case, Succeeded, 2), names(case, NotExecuted, 2)) == (["0"], ["1"])
    assert case.stop is StopReason.MAX_TOOL_CALLS


def check_d(case: Case) -> None:
    """Five of eight are fit to run: the limit is not even reached, so one more fits in the next step."""
    ask_for(case, 8, bad=(1,), denied=(3, 6))
    run_out(case)
    assert names(case, Succeeded) == list("02457")
    assert case.state.turn.counters.tool_calls == 5
    ask_for(case, 2)
    run_out(case)
    check_bound(case)
    assert (names(case, Succeeded, 2), names(case, NotExecuted, 2)) == (["0"], ["1"])


CHECKS = (check_a, check_b, check_c, check_d)


@pytest.mark.parametrize("max_parallel", [1, 2, 8, 100])
@pytest.mark.parametrize("effect", [Effect.PURE, Effect.FENCEABLE])
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.req("R-102", "R-106", "R-214", "D-5")
def test_no_call_starts_beyond_the_limit(check, effect, max_parallel):
    check(at_work(effect, max_parallel))


@pytest.mark.req("G-5")
def test_a_restart_counts_by_the_same_rule():
    check_a(at_work(Effect.PURE, 8), restart=True)


def start_all(state, present, event):
    """The row as it was: everything that is ready starts, and is counted afterwards."""
    limits = evolve(state.config.limits, tool_calls=None)
    return stops.release(evolve(state, config=evolve(state.config, limits=limits)), present, event)


@pytest.mark.parametrize("check", CHECKS)
def test_counting_after_the_start_is_found_out(check):
    fails(check, at_work(Effect.PURE, 8, broken(instead(Ready, Advance, start_all))))
