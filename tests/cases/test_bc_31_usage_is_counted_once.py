"""BC-31: running totals were added up as if they were increments, and elsewhere the usage of failed attempts was lost.

A provider's tellings are totals: the last one counts. Each attempt is counted once, whether it succeeded or not; a
repetition changes nothing; what nobody told is unknown, and not zero.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Limits, Verdict
from agentcore.codec import decode_event
from agentcore.commands import RequestModel
from agentcore.events import ModelFailed, ModelReplied, ToolSucceeded
from agentcore.messages import Usage
from agentcore.projections import usage_of
from agentcore.states import AwaitingModel, Exhausted, StopReason
from agentcore.steps import batch, model
from interpreters import Agent, HttpModel
from interpreters.models import chat_decode
from tests.cases.helpers_a import Case, fails, fails_async, patched
from tests.core.driver import call, tool
from tests.models.byteserver import Answer, chunk, events, serving

CHILD = "1.2.0"


def check(*, tokens: int | None = None) -> Case:
    limits = Limits(tokens=tokens, retry_jitter_ms=0)
    case = Case(tool("read"), tool("child"), limits=limits)
    # 1 and 2: the model's interpreter has made one telling of the snapshots; the final event comes twice.
    case.prompt()
    case.reply(call("read"), usage=Usage(100, 15))
    assert used(case) == (100, 15)
    case.again()
    assert used(case) == (100, 15)
    case.allow()
    case.all_saved()
    case.succeed()
    # 3: an attempt that failed has consumed all the same.
    case.model_fails(usage=Usage(120, 40))
    assert used(case) == (220, 55)
    case.fire("retry/1.2")
    case.reply(call("child"), usage=Usage(120, 60))
    assert used(case) == (340, 115)
    attempts = [decode_event(line) for line in case.lines]
    told = [each.usage for each in attempts if isinstance(each, ModelReplied | ModelFailed)]
    assert told == [Usage(100, 15), Usage(120, 40), Usage(120, 60)]
    # 4: a child's usage is rolled up once, over a restart too.
    case.allow()
    case.all_saved()
    case.succeed(usage=Usage(10, 5))
    assert used(case) == (350, 120)
    roll_up = next(line.event for line in reversed(case.trace) if isinstance(line.event, ToolSucceeded))
    case.restart()
    assert used(case) == (350, 120)
    assert case.quietly(evolve(roll_up, at=case.now)).verdict is Verdict.IGNORED
    assert used(case) == (350, 120)
    return case


def used(case: Case) -> tuple[int | None, int | None]:
    told = usage_of(case.state)
    assert told.turn == told.session == case.state.turn.usage
    return told.turn.input_tokens, told.turn.output_tokens


@pytest.mark.req("R-235", "R-228")
def test_each_attempt_is_counted_once():
    check()


@pytest.mark.parametrize(("tokens", "phase"), [(470, Exhausted), (471, AwaitingModel)])
@pytest.mark.req("R-105")
def test_the_budget_is_asked_about_exactly_these_numbers(tokens, phase):
    case = check(tokens=tokens)
    case.all_saved()
    assert case.phase is phase
    if phase is Exhausted:
        assert case.stop is StopReason.MAX_TOKENS
        assert case.count(RequestModel) == 3


def test_losing_the_usage_of_a_failed_attempt_or_counting_none_of_a_child_is_found_out():
    with patched((model, "consumed", lambda state, _: state)):
        fails(check)
    with patched((batch, "consumed", lambda state, _: state)):
        fails(check)


def test_a_budget_that_is_one_too_large_is_found_out():
    with pytest.raises(AssertionError):
        assert check(tokens=471).phase is Exhausted


@pytest.mark.req("R-235")
def test_what_nobody_told_is_unknown_and_not_zero():
    case = Case()
    case.prompt()
    case.answer()
    assert [(line.turn, line.session) for line in usage_of(case.state).lines] == [(None, None)] * 5
    case.reopen()
    case.prompt()
    case.reply("Done.", usage=Usage(output_tokens=0))
    assert (used_of_turn(case).input_tokens, used_of_turn(case).output_tokens) == (None, 0)


def used_of_turn(case: Case) -> Usage:
    return usage_of(case.state).turn


# ---- snapshots over the wire


def told(**counts: int) -> dict:
    return chunk(usage=counts)


async def check_wire() -> None:
    snapshots = (
        told(prompt_tokens=100, completion_tokens=1),
        told(completion_tokens=15),
        told(completion_tokens=15),
    )
    answer = Answer(events(chunk({"content": "hi"}), *snapshots, chunk({}, "stop"), snapshots[-1]))
    with serving(answer) as server:
        result = await Agent(model=HttpModel("m", base_url=server.url)).run("hello")
    assert result.text == "hi"
    assert (result.usage.input_tokens, result.usage.output_tokens) == (100, 15)


@pytest.mark.anyio
@pytest.mark.req("R-235")
async def test_the_last_of_several_running_totals_counts():
    await check_wire()


@pytest.mark.anyio
async def test_adding_running_totals_up_is_found_out():
    with patched((chat_decode, "later", lambda old, new: old + new)):
        await fails_async(check_wire)
