"""BC-17: the model spent its output on thinking; the loop took that for an answer and the user saw nothing.

An answer has something in it for its user. Everything else is asked for again, a bounded number of times, and ends as
what it is: no answer.
"""

from __future__ import annotations

import json

import pytest

from agentcore import reduce
from agentcore.commands import RequestModel
from agentcore.events import ModelReplied
from agentcore.messages import FinishReason, ReasoningPart, TextPart, ToolCallPart
from agentcore.projections import explain_end
from agentcore.states import AwaitingModel, Because, Completed, Failed, RunningTools, StopReason
from agentcore.steps import decide, reply
from agentcore.steps.sendable import says_something
from interpreters import Agent, HttpModel
from interpreters.cli import main
from interpreters.scripted import Say, ScriptedModel
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, patched, shape
from tests.core.driver import tool
from tests.models.byteserver import Answer, chunk, events, serving

ANSWER = "result is 4"
NOTHING = {
    # What the model says, and the name of the loop that asks again.
    "thinking only": ((ReasoningPart("2 + 2 …"),), Because.THINK_ONLY_NUDGED),
    "thinking and empty text": ((ReasoningPart("2 + 2 …"), TextPart("")), Because.THINK_ONLY_NUDGED),
    "encrypted thinking": ((ReasoningPart("", '{"signature":"x"}'),), Because.THINK_ONLY_NUDGED),
    "a stray closing tag": ((TextPart("</think>"),), Because.THINK_ONLY_NUDGED),
    "a stray closing tag and blanks": ((TextPart("\n</think>\n\n"),), Because.THINK_ONLY_NUDGED),
    "thinking in tags": ((TextPart("<think>2 + 2</think>\n"),), Because.THINK_ONLY_NUDGED),
    "two rounds of tags": ((TextPart("<thinking>a</thinking> <think>b</think>"),), Because.THINK_ONLY_NUDGED),
    "blanks": ((TextPart(" \n\t"),), Because.EMPTY_REPLY_NUDGED),
    "empty text": ((TextPart(""),), Because.EMPTY_REPLY_NUDGED),
    "marks without width": ((TextPart("\u200b\ufeff"),), Because.THINK_ONLY_NUDGED),
    "nothing at all": ((), Because.EMPTY_REPLY_NUDGED),
}


def after_a_round(reducer=reduce) -> Case:
    case = Case(tool("add"), reduce=reducer)
    case.execute("add")
    case.succeed(result="4")
    return case


def check_once(name: str, finish: FinishReason, reducer=reduce) -> None:
    parts, because = NOTHING[name]
    case = after_a_round(reducer)
    before = case.count(RequestModel)
    case.reply(*parts, finish=finish)
    assert case.phase is AwaitingModel, "not over"
    assert case.count(RequestModel) == before + 1
    assert because in case.hops
    assert shape(case.sent[-1])[:-1] == ["Do it.", ("", "add"), [("1.1.0", "Succeeded")]]
    case.answer(ANSWER)
    assert (case.phase, case.stop) == (Completed, StopReason.FINAL_ANSWER)
    assert case.said[-1] == f"model: {ANSWER}"


def check_always(name: str, reducer=reduce) -> None:
    """Variant C: it never says anything."""
    parts, _ = NOTHING[name]
    case = after_a_round(reducer)
    case.play(lambda: case.reply(*parts))
    assert (case.phase, case.stop) == (Failed, StopReason.NO_ANSWER)
    assert case.count(RequestModel) == 1 + 3
    assert explain_end(case.state).text


@pytest.mark.parametrize("finish", [FinishReason.STOP, FinishReason.UNKNOWN])
@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.req("R-092", "R-068", "R-043")
def test_a_reply_without_anything_for_the_user_is_asked_for_again(name, finish):
    check_once(name, finish)


@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.req("R-092", "R-068", "R-094")
def test_a_model_that_never_says_anything_ends_as_no_answer(name):
    check_always(name)


def anything_counts(message) -> bool:
    """The test of emptiness as it was: the thinking part counts as content."""
    return bool(message.parts)


def test_counting_thinking_as_content_is_found_out():
    with patched((reply, "says_something", anything_counts)):
        for name in ("thinking only", "a stray closing tag", "blanks", "empty text"):
            fails(check_once, name, FinishReason.STOP)
            fails(check_always, name)


def test_accepting_whatever_comes_is_found_out():
    def accepted(state, event):
        if any(isinstance(part, ToolCallPart) for part in event.parts):
            return reply.judge_reply(state, event)
        return decide.complete(state, decide.Ending(StopReason.FINAL_ANSWER))

    twin = broken(instead(AwaitingModel, ModelReplied, accepted, to=(RunningTools,)))
    fails(check_once, "nothing at all", FinishReason.STOP, twin)


@pytest.mark.parametrize(
    "text", ["4", "<think>2+2</think>4", "4</think>", "the tag <think> opens a thought", "a < b </p>", "\u200b4"]
)
def test_an_answer_beside_stray_tags_is_an_answer(text):
    case = Case()
    case.prompt()
    case.answer(text)
    assert case.stop is StopReason.FINAL_ANSWER
    assert says_something(case.history[-1])
    assert case.history[-1].text == text


@pytest.mark.req("R-068")
def test_two_kinds_of_nothing_in_turn_are_bounded_too():
    case = after_a_round()
    kinds = [NOTHING[name][0] for name in ("thinking only", "nothing at all")]
    case.play(lambda: case.reply(*kinds[case.count(RequestModel) % 2]))
    assert case.stop is StopReason.NO_ANSWER
    assert case.count(RequestModel) <= 1 + 2 + 2 + 1


# ---- what a headless caller sees, and what a provider is sent


async def check_headless() -> None:
    result = await Agent(model=ScriptedModel(lambda *_: Say(reasoning="hm"))).run("2 + 2?")
    assert (result.reason, result.completed, result.text) == (StopReason.NO_ANSWER, False, "")
    assert result.explanation


@pytest.mark.anyio
@pytest.mark.req("R-094", "R-097")
async def test_a_headless_caller_is_told_that_there_was_no_answer():
    await check_headless()


@pytest.mark.anyio
async def test_a_headless_caller_that_is_given_an_empty_answer_is_found_out():
    with patched((reply, "says_something", anything_counts)):
        await fails_async(check_headless)


def check_exit(place, capfd) -> None:
    """The command line, as a script calls it: the exit status says that there is no answer."""
    (place / "script.json").write_text(json.dumps([{"do": "say", "reasoning": "2 + 2 …"}] * 4))
    code = main(["run", "2 + 2?", "--model", "script:script.json"])
    told = capfd.readouterr()
    assert (int(code), told.out) == (1, "")
    assert told.err.strip()


@pytest.fixture
def own_place(tmp_path, monkeypatch):
    """A directory of its own, sessions included."""
    monkeypatch.setenv("AGENTCORE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.req("R-094", "R-097")
def test_the_exit_status_of_a_run_without_an_answer_is_not_zero(own_place, capfd):
    check_exit(own_place, capfd)


def test_an_exit_status_of_zero_for_thinking_is_found_out(own_place, capfd):
    with patched((reply, "says_something", anything_counts)):
        fails(check_exit, own_place, capfd)


@pytest.mark.anyio
@pytest.mark.parametrize("delta", [{"reasoning_content": "hm"}, {"content": "</think>"}, {"content": "  "}, {}])
@pytest.mark.req("R-092")
async def test_a_provider_is_never_sent_a_message_without_anything_in_it(delta):
    empty = Answer(events(chunk(delta), chunk(finish="stop")))
    final = Answer(events(chunk({"content": ANSWER}), chunk(finish="stop")))
    with serving(empty, final) as server:
        result = await Agent(model=HttpModel("m", base_url=server.url)).run("2 + 2?")
        bodies = [received.body["messages"] for received in server.received]
    assert (result.text, len(bodies)) == (ANSWER, 2)
    assert [message["role"] for message in bodies[1]] == ["user", "user"]
    assert all(message["content"].strip() for message in bodies[1])
