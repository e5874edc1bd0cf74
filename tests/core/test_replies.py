"""Judging a reply: its content decides, never its label; what is cut, empty, only thought, or has no stated end."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits
from agentcore.messages import (
    FinishReason,
    InvalidReason,
    MediaPart,
    MessageSource,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    Usage,
)
from agentcore.states import AwaitingModel, Because, Completed, Failed, RunningTools, Saving, StopReason
from tests.core.driver import Session, call, tool


def asked(*tools, **limits):
    session = Session(*(tools or (tool("read", Effect.PURE),)), limits=Limits(**limits))
    session.prompt()
    return session


@pytest.mark.req("R-086", "D-16")
class TestTheLabel:
    def test_tool_calls_without_a_call_is_an_answer(self):
        session = asked()
        session.reply("There is nothing to do.", finish=FinishReason.TOOL_CALLS)
        assert session.phase is Saving

    def test_refusal_is_an_answer(self):
        session = asked()
        session.reply("I will not.", finish=FinishReason.REFUSAL)
        assert session.stop is StopReason.FINAL_ANSWER

    @pytest.mark.parametrize("label", [FinishReason.UNKNOWN, FinishReason.PAUSE])
    def test_unknown_with_calls_goes_on(self, label):
        session = asked()
        session.reply(call("read"), finish=label)
        assert session.phase is RunningTools

    @pytest.mark.req("R-089")
    def test_unknown_without_calls_is_nudged_and_then_flagged(self):
        session = asked()
        session.reply("Perhaps.", finish=FinishReason.UNKNOWN)
        assert Because.UNKNOWN_FINISH_NUDGED in session.hops
        assert session.history[-1].source is MessageSource.NUDGE
        session.reply("Perhaps.", finish=FinishReason.UNKNOWN)
        session.all_saved()
        assert session.phase is Completed
        assert session.ending.warning == "the model did not state an end"

    def test_unknown_without_any_text_ends_as_a_model_error(self):
        session = asked(unknown_finishes=0)
        session.reply(MediaPart("image/png", "aGk="), finish=FinishReason.UNKNOWN)
        session.all_saved()
        assert session.phase is Failed
        assert session.ending.message == "the model never stated an end"

    @pytest.mark.parametrize(
        ("label", "parts"),
        [
            (FinishReason.CONTENT_FILTER, ("Half a sen", call("read"))),
            (FinishReason.CONTENT_FILTER, ("Half a sen",)),
            (FinishReason.REFUSAL, ("Half a sen", call("read"))),
        ],
    )
    def test_that_withholds_the_answer_runs_nothing_and_keeps_the_text_as_interrupted(self, label, parts):
        session = asked()
        session.reply(*parts, finish=label)
        session.all_saved()
        assert session.stop is StopReason.MODEL_ERROR
        assert session.ending.message == f"the provider withheld the answer: {label.value}"
        assert dict(session.ending.evidence) == {"code": label.value, "discarded_calls": str(len(parts) - 1)}
        assert session.history[-1].interrupted
        assert session.history[-1].text == "Half a sen"

    def test_content_filter_without_text_keeps_nothing(self):
        session = asked()
        session.reply(call("read"), finish=FinishReason.CONTENT_FILTER)
        assert session.said == ("prompt: Do it.",)


@pytest.mark.req("R-146", "R-147", "D-15")
class TestACutMessage:
    def test_without_calls_is_asked_for_again(self):
        session = asked()
        session.reply("Half a sen", finish=FinishReason.LENGTH)
        assert session.phase is AwaitingModel
        assert session.said[-2:] == (
            "model: Half a sen",
            "nudge: Your answer was cut off by the output limit. Say it again, shorter or in parts.",
        )

    def test_with_nothing_in_it_is_asked_for_again(self):
        session = asked()
        session.reply(finish=FinishReason.LENGTH)
        assert session.phase is AwaitingModel
        assert session.said[0] == "prompt: Do it."
        assert not any(line.startswith("model") for line in session.said)

    def test_with_calls_gives_each_an_error_and_is_asked_for_again(self):
        session = asked()
        session.reply(
            "First", call("read", "a"), call("nope", "b"), call("read", "c", raw='{"x'), finish=FinishReason.LENGTH
        )
        assert [result.outcome.reason for result in session.results] == [InvalidReason.TRUNCATED] * 3
        assert "cut off by the output limit" in session.results[0].content
        assert Because.TRUNCATION_REISSUED in session.hops

    def test_twice_in_a_row_ends_the_turn(self):
        session = asked()
        for _ in range(2):
            session.reply(call("read"), finish=FinishReason.LENGTH)
        session.all_saved()
        assert session.phase is Failed
        assert session.stop is StopReason.TRUNCATED
        assert len(session.results) == 2

    def test_with_a_round_of_calls_between_begins_the_count_anew(self):
        session = asked()
        for _ in range(3):
            session.reply("Half", finish=FinishReason.LENGTH)
            session.execute("read")
            session.succeed(result=str(session.now))
        session.answer()
        assert session.phase is Completed

    def test_and_other_slips_do_not_reset_each_others_counts(self):
        session = asked(truncation_reissues=2, think_only=2, steps=None)
        for _ in range(2):
            session.reply(call("read"), finish=FinishReason.LENGTH)
            session.reply(ReasoningPart("Hm."))
        session.reply(call("read"), finish=FinishReason.LENGTH)
        assert session.stop is StopReason.TRUNCATED

    def test_does_not_count_as_a_round_of_errors(self):
        session = asked(failing_rounds=0)
        session.reply(call("read"), finish=FinishReason.LENGTH)
        assert session.phase is AwaitingModel
        assert session.state.turn.counters.failing_rounds == 0


@pytest.mark.req("R-092", "G-7")
class TestNothingSaid:
    @pytest.mark.parametrize("parts", [(), ("",), (" \n",)])
    def test_an_empty_reply_is_nudged(self, parts):
        session = asked()
        session.reply(*parts)
        assert Because.EMPTY_REPLY_NUDGED in session.hops
        assert session.said[-1] == "nudge: Your reply was empty. Answer, or call a tool."

    @pytest.mark.parametrize("parts", [(ReasoningPart("Hm."),), (ReasoningPart("Hm."), " ")])
    def test_thinking_only_is_nudged(self, parts):
        session = asked()
        session.reply(*parts)
        assert Because.THINK_ONLY_NUDGED in session.hops
        assert session.said[-1] == "nudge: You only thought. Answer, or call a tool."

    @pytest.mark.parametrize(
        "text",
        [
            "</think>",
            "\n</thinking>\n",
            "<think>Hm.</think>",
            "<thinking>Hm.</thinking> ",
            "<think>Hm.</think><think>Or?</think>",
        ],
    )
    def test_thinking_left_in_the_text_is_thinking(self, text):
        session = asked(think_only=0)
        session.reply(text)
        assert session.stop is StopReason.NO_ANSWER

    @pytest.mark.parametrize("text", ["<think>Hm.</think>Yes.", "<think>Hm.</think>Yes.<think>Or?</think>"])
    def test_an_answer_beside_thinking_is_an_answer(self, text):
        session = asked()
        session.reply(text)
        assert session.phase is Saving

    @pytest.mark.parametrize("part", [MediaPart("image/png", "aGk="), OpaquePart('{"x":1}')])
    def test_what_only_the_user_or_the_provider_understands_is_an_answer(self, part):
        session = asked()
        session.reply(part)
        assert session.phase is Saving

    def test_nudges_are_told_apart_by_their_ids(self):
        session = asked()
        session.reply()
        session.reply()
        ids = [message.message_id for message in session.history if message.source is MessageSource.NUDGE]
        assert len(set(ids)) == len(ids) == 2

    def test_a_round_of_calls_begins_the_counts_anew(self):
        session = asked(empty_replies=1, think_only=1, unknown_finishes=1)
        for number in range(3):
            session.reply()
            session.reply(ReasoningPart("Hm."))
            session.reply("Perhaps.", finish=FinishReason.UNKNOWN)
            session.reply(call("read", x=number))
            session.allow()
            session.succeed(result=str(number))
        session.answer()
        assert session.phase is Completed


class TestWhatCanBeSentBack:
    """Every request is valid by construction, whatever slip is in the message."""

    def test_calls_stand_behind_everything_else(self):
        session = asked()
        session.reply("One.", call("read", "a"), "Two.", ReasoningPart("Hm."))
        kinds = [type(part).__name__ for part in session.state.batch.message.parts]
        assert kinds == ["TextPart", "TextPart", "ReasoningPart", "ToolCallPart"]

    @pytest.mark.parametrize("raw", ["{,", "[]", "", '{"a":1}{"b":2}'])
    def test_arguments_that_are_no_object_are_sent_back_as_an_empty_one_and_kept_raw_with_the_call(self, raw):
        session = asked()
        session.reply(call("read", "a", raw=raw), call("read", "b"))
        assert session.state.batch.message.calls[0].arguments == "{}"
        assert session.call("1.1.0").raw_arguments == raw

    def test_an_object_is_sent_back_as_the_model_wrote_it(self):
        session = asked()
        session.reply(call("read", "a", raw='{ "b": 1 }'))
        assert session.state.batch.message.calls[0].arguments == '{ "b": 1 }'

    @pytest.mark.parametrize("parts", [(), ("",), (" \n",), ("</think>",), (ReasoningPart("Hm."),)])
    def test_a_message_that_says_nothing_is_not_written(self, parts):
        session = asked()
        session.reply(*parts)
        assert [line.split(":")[0] for line in session.said] == ["prompt", "nudge"]


class TestWhatIsKept:
    @pytest.mark.req("G-14")
    def test_every_part_and_its_metadata_is_kept_verbatim(self):
        session = asked()
        parts = (
            ReasoningPart("Hm.", '{"signature":"abc"}'),
            TextPart("See:", '{"cache":true}'),
            MediaPart("image/png", "aGk=", "a.png", '{"id":1}'),
            OpaquePart('{"type":"redacted"}'),
        )
        session.reply(*parts, model="large-2", metadata='{"id":"r1"}')
        message = session.history[-1]
        assert message.parts == parts
        assert (message.model, message.metadata, message.attempt) == ("large-2", '{"id":"r1"}', 1)

    @pytest.mark.req("R-074", "R-235")
    def test_usage_is_counted_by_kind(self):
        session = asked()
        session.reply("Done.", usage=Usage(100, 20, 60, 5, 8, 700))
        assert session.state.usage == Usage(100, 20, 60, 5, 8, 700)
        assert session.state.turn.context_tokens == 120

    def test_a_context_without_stated_output_is_its_input(self):
        session = asked()
        session.reply("Done.", usage=Usage(100))
        assert session.state.turn.context_tokens == 100

    def test_a_reply_wants_a_checkpoint(self):
        session = asked()
        session.reply(call("read"))
        assert session.commands[0] == "persist-checkpoint 2"

    @pytest.mark.req("G-7")
    def test_a_round_is_known_again_by_names_arguments_and_results(self):
        session = asked(identical_calls=0)
        for arguments, result in (({"x": 1}, "a"), ({"x": 1}, "b"), ({"x": 2}, "b")):
            session.reply(call("read", **arguments))
            session.allow()
            session.succeed(result=result)
            assert session.phase is AwaitingModel
        session.reply(call("read", x=2))
        session.allow()
        session.succeed(result="b")
        assert session.ending.loop == "identical_calls"

    def test_a_round_with_lone_surrogates_is_known_again_too(self):
        session = asked(identical_calls=0)
        for _ in range(2):
            session.reply(call("read", x=1))
            session.allow()
            session.succeed(result="\ud800")
        assert session.ending.loop == "identical_calls"

    def test_provider_executed_calls_stay_in_the_message(self):
        session = asked()
        ran = ToolCallPart("p", "search", '{"q"', provider_executed=True)
        session.reply(ran, call("read", "p"))
        assert session.calls == {"1.1.0": "Proposed"}
        assert session.state.batch.message.parts[0] is ran
