"""BC-32: at the step limit a run ended right after a call, in some libraries unanswered, and counted in two ways.

N steps are N model requests. The calls of the last one are carried out and answered; then the turn ends, so that the
session is usable. There is no closing request beyond the limit: a host that wants one asks (docs/decisions/0125).
"""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Limits, reduce
from agentcore.commands import ExecuteTool, RequestModel
from agentcore.messages import InvalidCall, Succeeded
from agentcore.states import Completed, Exhausted, StopReason
from agentcore.steps import begin
from tests.cases.helpers_a import Case, fails, patched
from tests.core.driver import call, tool


def at_limit(steps: int, **config) -> Case:
    case = Case(tool("read"), limits=Limits(steps=steps, identical_calls=None), **config)
    case.prompt()
    return case


def round_of(case: Case, number: int, *, invalid: bool = False) -> None:
    """The model asks for one tool; it runs, or its arguments are refused."""
    case.reply(call("read", f"c{number}", n=number))
    if invalid:
        case.refuse_arguments()
        return
    case.allow()
    case.all_saved()
    case.succeed(result=f"result {number}")


def check(steps: int, *, final: bool = False, invalid_at: int = 0) -> None:
    case = at_limit(steps)
    for number in range(1, steps + 1):
        assert case.count(RequestModel) == number
        if final and number == steps:
            case.reply("Here it is.")
        else:
            round_of(case, number, invalid=number == invalid_at)
        if case.count(RequestModel) == number:
            break
    case.all_saved()
    assert case.count(RequestModel) == steps
    if final:
        assert (case.phase, case.stop) == (Completed, StopReason.FINAL_ANSWER)
    else:
        assert (case.phase, case.stop) == (Exhausted, StopReason.MAX_STEPS)
        # The last call was carried out, and is answered.
        assert [result.call_id for result in case.results] == [f"1.{number}.0" for number in range(1, steps + 1)]
        kinds = [InvalidCall if number == invalid_at else Succeeded for number in range(1, steps + 1)]
        assert [type(result.outcome) for result in case.results] == kinds
    check_usable(case, steps)


def check_usable(case: Case, steps: int) -> None:
    """A new submit has fresh counters."""
    before = case.count(RequestModel)
    case.reopen()
    case.prompt("Go on.")
    for number in range(1, steps + 1):
        round_of(case, number)
    case.all_saved()
    assert case.count(RequestModel) == before + steps
    assert case.stop is StopReason.MAX_STEPS


VARIANTS = [
    *({"steps": steps} for steps in (1, 2, 3)),
    *({"steps": steps, "final": True} for steps in (1, 2, 3)),
    *({"steps": steps, "invalid_at": steps - 1} for steps in (2, 3)),
    *({"steps": steps, "invalid_at": steps} for steps in (1, 2, 3)),
]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.req("D-5", "D-23", "R-101", "R-107", "R-108", "R-129", "R-244")
def test_so_many_steps_are_so_many_requests_and_every_call_is_answered(variant):
    check(**variant)


def one_more(limit, used):
    """The bound as it was: asked after the step instead of before it."""
    return limit is None or used <= limit


def one_less(limit, used):
    """The bound as it was elsewhere: the request in flight counts as two."""
    return limit is None or used < limit - 1


@pytest.mark.parametrize("twin", [one_more, one_less])
@pytest.mark.parametrize("variant", [{"steps": 2}, {"steps": 3, "invalid_at": 2}, {"steps": 2, "final": True}], ids=str)
def test_a_bound_that_is_off_by_one_is_found_out(twin, variant):
    if twin is one_more and variant.get("final"):
        variant = {"steps": 2}
    with patched((begin, "allows", twin)):
        fails(check, **variant)


@pytest.mark.req("D-5")
def test_no_step_is_allowed_by_none():
    case = Case(limits=Limits(steps=0))
    case.prompt()
    case.all_saved()
    assert (case.count(RequestModel), case.stop) == (0, StopReason.MAX_STEPS)


# ---- one closing answer without tools, by the host


def check_closing(reducer=reduce, *, still_asks: bool = False, tools: tuple = ()) -> None:
    case = at_limit(2, reduce=reducer)
    round_of(case, 1)
    round_of(case, 2)
    case.all_saved()
    case.reopen()
    case.configure(tools=tools, limits=evolve(case.state.config.limits, steps=1))
    case.prompt("Say in words what you have found.")
    executed = case.count(ExecuteTool)
    assert case.view().tools == ()
    if still_asks:
        case.reply(call("read"))
    else:
        case.reply("I found two things.")
    case.all_saved()
    assert case.count(RequestModel) == 3
    assert case.count(ExecuteTool) == executed
    assert case.stop is (StopReason.MAX_STEPS if still_asks else StopReason.FINAL_ANSWER)


@pytest.mark.parametrize("still_asks", [False, True])
@pytest.mark.req("R-090", "D-29")
def test_a_host_gets_one_closing_answer_without_tools(still_asks):
    check_closing(still_asks=still_asks)


def test_a_closing_request_that_offers_tools_is_found_out():
    fails(check_closing, tools=(tool("read"),))
