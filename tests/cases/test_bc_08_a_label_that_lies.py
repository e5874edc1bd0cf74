"""BC-08: the provider said "tool calls" and sent none; the loop asked the same again until the step limit.

What comes next is decided by the content. Every way of asking again has a name and a bound, and says something new.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from agentcore import Limits, reduce
from agentcore.commands import EvaluatePolicy, ExecuteTool, RequestModel
from agentcore.messages import FinishReason, ReasoningPart
from agentcore.states import Because, StopReason
from agentcore.steps import reply
from agentcore.steps.begin import begin_step
from interpreters import Agent, HttpModel
from tests.cases.helpers_a import Case, fails, fails_async, patched
from tests.core.driver import tool
from tests.models.byteserver import Answer, chunk, events, serving

NOTHING = ()
TEXT = ("All done.",)
THOUGHT = (ReasoningPart("hm"),)
NUDGES = {NOTHING: Because.EMPTY_REPLY_NUDGED, THOUGHT: Because.THINK_ONLY_NUDGED, TEXT: Because.UNKNOWN_FINISH_NUDGED}

ALWAYS = {
    # What the model answers every time: requests until the end, why it ends, and whether that comes with a warning.
    (NOTHING, FinishReason.TOOL_CALLS): (3, StopReason.NO_ANSWER, False),  # the base
    (TEXT, FinishReason.TOOL_CALLS): (1, StopReason.FINAL_ANSWER, True),  # variant B
    (TEXT, FinishReason.UNKNOWN): (2, StopReason.FINAL_ANSWER, True),  # variant C
    (TEXT, FinishReason.PAUSE): (2, StopReason.FINAL_ANSWER, True),
    (TEXT, FinishReason.STOP): (1, StopReason.FINAL_ANSWER, False),
    (TEXT, FinishReason.REFUSAL): (1, StopReason.FINAL_ANSWER, False),
    (TEXT, FinishReason.LENGTH): (2, StopReason.TRUNCATED, False),
    (TEXT, FinishReason.CONTENT_FILTER): (1, StopReason.MODEL_ERROR, False),
    **{
        (parts, finish): (3, StopReason.NO_ANSWER, False)
        for parts in (NOTHING, THOUGHT)
        for finish in FinishReason
        if finish not in (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)
    },
    (NOTHING, FinishReason.LENGTH): (2, StopReason.TRUNCATED, False),
    (THOUGHT, FinishReason.LENGTH): (2, StopReason.TRUNCATED, False),
    (NOTHING, FinishReason.CONTENT_FILTER): (1, StopReason.MODEL_ERROR, False),
    (THOUGHT, FinishReason.CONTENT_FILTER): (1, StopReason.MODEL_ERROR, False),
}


def check(parts, finish: FinishReason, reducer=reduce) -> None:
    case = Case(tool("read"), limits=Limits(steps=10), reduce=reducer)
    case.prompt()
    case.play(lambda: case.reply(*parts, finish=finish))
    requests, reason, warned = ALWAYS[parts, finish]
    assert (case.count(RequestModel), case.stop, bool(case.ending.warning)) == (requests, reason, warned)
    assert (case.count(ExecuteTool), case.count(EvaluatePolicy)) == (0, 0)
    # Each extra request is named in the trace, and no request is a repetition of the one before.
    names = {Because.TRUNCATION_REISSUED, NUDGES[parts]}
    assert sum(len(names & set(line.judged.hops)) for line in case.trace) == requests - 1
    assert all(before != after for before, after in pairwise(case.sent))


@pytest.mark.parametrize(("parts", "finish"), ALWAYS)
@pytest.mark.req("R-068", "R-086", "R-089", "R-092", "D-16")
def test_an_endless_answer_ends_after_a_bounded_number_of_requests(parts, finish):
    check(parts, finish)


def test_the_warnings_say_what_was_wrong_with_the_label():
    case = Case()
    case.prompt()
    case.answer("hello")
    assert case.ending.warning == ""
    case.reopen()
    case.prompt()
    case.reply("All done.", finish=FinishReason.TOOL_CALLS)
    assert "announced tool calls" in case.ending.warning


def by_the_label(state, message):
    """The decision as it was: the label says that more comes, so ask again."""
    if message.finish in (FinishReason.TOOL_CALLS, FinishReason.UNKNOWN):
        return begin_step(state, Because.RESULTS_APPENDED)
    return complete_text(state, message)


complete_text = reply.judge_text


@pytest.mark.parametrize(
    ("parts", "finish"),
    [(NOTHING, FinishReason.TOOL_CALLS), (TEXT, FinishReason.TOOL_CALLS), (TEXT, FinishReason.UNKNOWN)],
)
def test_going_on_by_the_label_is_found_out(parts, finish):
    with patched((reply, "judge_text", by_the_label)):
        fails(check, parts, finish)


# ---- over a real connection


async def check_bytes(delta, label, requests: int, reason: StopReason) -> None:
    answer = Answer(events(chunk(delta), chunk(finish=label)))
    with serving(*[answer] * 12) as server:
        result = await Agent(model=HttpModel("m", base_url=server.url), limits=Limits(steps=10)).run("go")
        assert (len(server.received), result.reason) == (requests, reason)
        bodies = [received.body["messages"] for received in server.received]
    assert all(before != after for before, after in pairwise(bodies))


WIRE = [
    ({"content": ""}, "tool_calls", 3, StopReason.NO_ANSWER),
    ({"content": "All done."}, "tool_calls", 1, StopReason.FINAL_ANSWER),
    ({"content": "All done."}, None, 2, StopReason.FINAL_ANSWER),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("delta", "label", "requests", "reason"), WIRE)
@pytest.mark.req("R-086", "D-16")
async def test_a_provider_whose_label_lies_is_asked_a_bounded_number_of_times(delta, label, requests, reason):
    await check_bytes(delta, label, requests, reason)


@pytest.mark.anyio
async def test_going_on_by_the_label_of_a_provider_is_found_out():
    with patched((reply, "judge_text", by_the_label)):
        await fails_async(check_bytes, *WIRE[0])
