"""BC-36: wrong argument JSON was told as a tool error, but its text stayed in history and every later request failed.

Whatever the model wrote as arguments, what is stored and sent again is a JSON object, and the result of that very call
says what was wrong, where, and shows its beginning. Text that merely ends early means that the message was cut: none of
its calls runs, whatever its label says (docs/decisions/0127); text that is wrong spoils only its own call.
"""

from __future__ import annotations

import json

import pytest

from agentcore import Effect, Limits
from agentcore.codec import decode_event
from agentcore.commands import ExecuteTool
from agentcore.events import ModelReplied
from agentcore.messages import FinishReason, InvalidCall, InvalidReason, Succeeded, ToolCallPart
from agentcore.states import Exhausted, StopReason
from agentcore.steps import decide, reply, sendable
from tests.cases.helpers_a import Case, fails, patched
from tests.core.driver import call, tool

LONG = '{"path": "' + "a" * 3000 + '" "b"}'


def session(**limits) -> Case:
    case = Case(tool("read", Effect.PURE), limits=Limits(argument_repairs=3, failing_rounds=None, **limits))
    case.prompt()
    return case


def say(case: Case, *calls: ToolCallPart, finish: FinishReason = FinishReason.TOOL_CALLS) -> None:
    """A reply with calls; whatever may run runs."""
    case.reply(*calls, finish=finish)
    while any(wait.startswith("evaluate-policy") for wait in case.waits):
        case.allow()
    while any(wait.startswith("execute-tool") for wait in case.waits):
        case.succeed(next(wait.split()[1] for wait in case.waits if wait.startswith("execute-tool")))


def check_stored(case: Case) -> None:
    """Every call that was ever sent again has a JSON object as its arguments, and its own result."""
    for messages in case.sent:
        for message in messages:
            for part in getattr(message, "calls", ()):
                assert isinstance(json.loads(part.arguments), dict), part.arguments


def check_step_1() -> None:
    case = session()
    say(case, call("read", "c1", raw=LONG), call("read", "c2", x=1))
    first, second = case.results
    assert (first.provider_id, second.provider_id) == ("c1", "c2")
    assert first.outcome.reason is InvalidReason.ARGUMENTS_MALFORMED
    assert isinstance(second.outcome, Succeeded)
    # Where, and a bounded look at it.
    assert "character 3012" in first.content
    assert 800 < len(first.content) < 1100
    assert first.content.count("a" * 700) == 1
    assert f"({len(LONG)} characters)" in first.content
    check_stored(case)
    # The evidence keeps the raw text.
    replied = next(each for each in map(decode_event, case.lines) if isinstance(each, ModelReplied))
    assert replied.parts[0].arguments == LONG


@pytest.mark.req("R-111", "R-130", "R-128", "D-3")
def test_a_call_with_wrong_arguments_is_answered_and_spoils_only_itself():
    check_step_1()


def as_written(raw: str) -> str:
    """Arguments as they were: the text that the model wrote."""
    return raw


def test_storing_what_the_model_wrote_is_found_out():
    with patched((sendable, "_arguments", as_written)):
        fails(check_step_1)


def test_showing_no_look_or_all_of_it_is_found_out():
    with patched((reply, "preview", lambda _: "")):
        fails(check_step_1)
    with patched((reply, "preview", lambda text: text)):
        fails(check_step_1)


def check_cut(label: FinishReason = FinishReason.TOOL_CALLS) -> None:
    case = session()
    say(case, call("read", "c1", raw='{"path": "notes/a'), call("read", "c2", x=1), finish=label)
    assert case.count(ExecuteTool) == 0
    assert [type(result.outcome) for result in case.results] == [InvalidCall, InvalidCall]
    assert {result.outcome.reason for result in case.results} == {InvalidReason.TRUNCATED}
    assert [result.provider_id for result in case.results] == ["c1", "c2"]
    # The call whose text ends says where, and shows it; its neighbour is told plainly.
    cut, whole = (result.content for result in case.results)
    assert "The JSON ends early, behind character 17." in cut
    assert '{"path": "notes/a' in cut
    assert "notes" not in whole
    check_stored(case)
    say(case, call("read", "c3", x=1))
    assert isinstance(case.results[-1].outcome, Succeeded)


@pytest.mark.parametrize("label", [FinishReason.TOOL_CALLS, FinishReason.STOP, FinishReason.LENGTH])
@pytest.mark.req("D-15", "R-146", "R-086")
def test_arguments_that_end_early_mean_that_the_message_was_cut(label):
    check_cut(label)


def test_running_the_rest_of_a_cut_message_is_found_out():
    with patched((reply, "parse_arguments", _never_early)):
        fails(check_cut)


def _never_early(raw: str):
    parsed = reply.ParsedArguments
    found = _parse(raw)
    malformed = reply.ArgumentsState.MALFORMED
    return parsed(malformed, found.text) if found.state is reply.ArgumentsState.INCOMPLETE else found


_parse = reply.parse_arguments

SLIPS = (
    call("read", "s1", raw="null"),
    call("read", "s2", raw="[1]"),
    call("read", "s3", raw='"text"'),
    call("write_everything", "s4", x=1),
)


@pytest.mark.parametrize("slip", SLIPS, ids=lambda part: part.arguments)
@pytest.mark.req("R-110", "R-111", "D-3", "R-242")
def test_each_slip_is_an_error_of_its_own_call(slip):
    case = session()
    say(case, slip, call("read", "good", x=1))
    first, second = case.results
    assert first.provider_id == slip.provider_id
    assert isinstance(first.outcome, InvalidCall)
    assert isinstance(second.outcome, Succeeded)
    if slip.name != "read":
        assert first.outcome.reason is InvalidReason.TOOL_NOT_FOUND
        assert "write_everything" in first.content
        assert "Available tools: read" in first.content
    else:
        assert "expected a JSON object, found" in first.content
    check_stored(case)


def check_bound(raw: str = "null") -> None:
    """Three rounds to repair are granted; the fourth slip in a row ends the turn, by name."""
    case = session()
    for number in range(3):
        say(case, call("read", f"a{number}", raw=raw))
    # A round without a slip in between sets the count back.
    say(case, call("read", "good", x=1))
    for number in range(4):
        assert case.state.open
        assert case.state.turn.counters.argument_repairs == number
        say(case, call("read", f"b{number}", raw=raw + " " * number))
    case.all_saved()
    assert (case.phase, case.stop) == (Exhausted, StopReason.LOOP_LIMIT)
    assert case.ending.loop == "argument_repairs"
    check_stored(case)
    case.reopen()
    case.prompt("Try otherwise.")
    check_stored(case)


@pytest.mark.req("G-7", "R-214", "R-140")
def test_slips_in_a_row_are_bounded_and_a_good_call_resets_the_count():
    with patched((decide, "_LOOPS", ("argument_repairs",))):
        check_bound()


def test_slips_without_a_bound_or_without_a_reset_are_found_out():
    with patched((decide, "_LOOPS", ())):
        fails(check_bound)

    def never_reset(state, **counts):
        used = state.turn.counters.argument_repairs
        return decide_recounted(state, **{**counts, "argument_repairs": max(used, counts.get("argument_repairs", 0))})

    decide_recounted = decide.recounted
    with patched((decide, "recounted", never_reset), (decide, "_LOOPS", ("argument_repairs",))):
        fails(check_bound)


def check_empty(raw: str = "") -> None:
    case = session()
    say(case, call("read", "c1", raw=raw))
    assert isinstance(case.results[0].outcome, Succeeded)
    assert case.results[0].arguments == "{}"
    check_stored(case)


@pytest.mark.parametrize("raw", ["", " ", "\n\t "])
@pytest.mark.req("R-111")
def test_no_arguments_at_all_are_an_empty_object(raw):
    check_empty(raw)


def test_taking_empty_text_for_a_slip_is_found_out():
    with patched((reply, "parse_arguments", lambda raw: _parse(raw or "null"))):
        fails(check_empty)
