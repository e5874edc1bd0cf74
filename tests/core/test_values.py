"""The small values everything stands on: history, id sets, usage, canonical text, keys, words for outcomes."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from agentcore import commands, events
from agentcore.commands import ANSWERS, COMMANDS, TAGS, RecordRejection, StartTimer, key_of, tag_of
from agentcore.events import EVENTS, HOST_EVENTS, WORLD_EVENTS
from agentcore.messages import (
    CHUNK,
    JSON_DEPTH_MAX,
    Abandoned,
    ArgumentsState,
    AssistantMessage,
    CancelledCall,
    DenialCase,
    DeniedCall,
    EffectSeen,
    FailedCall,
    History,
    IdSet,
    InvalidCall,
    InvalidReason,
    MessageSource,
    NotExecuted,
    NotExecutedReason,
    Succeeded,
    TextPart,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
    canonical_json,
    clean_text,
    digest,
    find_answer,
    find_result,
    is_error,
    is_open,
    parse_arguments,
    parse_json,
)
from agentcore.rejections import Blame, Rejection, RejectionCode
from agentcore.steps.results import describe


def said(number):
    return UserMessage(f"m{number}", MessageSource.PROMPT, (TextPart(str(number)),))


def turns(count):
    """A history of turns: a prompt, a call with its result, an answer."""
    history = History()
    for turn in range(1, count + 1):
        history = history.append(said(turn))
        history = history.append(
            AssistantMessage(f"{turn}.1", 0, 1, ()),
            ToolMessage(f"{turn}.1", (ToolResult(f"{turn}.1.0", "p", "t", f"r{turn}", Succeeded("r")),)),
        )
        history = history.append(AssistantMessage(f"{turn}.2", 0, 1, (TextPart("Done."),)))
    return history


class TestHistory:
    @pytest.mark.parametrize("count", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
    def test_is_the_same_however_it_was_extended(self, count):
        messages = [said(number) for number in range(count)]
        one_by_one, at_once = History(), History().append(*messages)
        for message in messages:
            one_by_one = one_by_one.append(message)
        assert list(one_by_one) == list(at_once) == messages
        assert len(one_by_one) == len(at_once) == count
        assert [at_once[place] for place in range(count)] == messages
        assert one_by_one == at_once
        assert len(at_once.tail) < CHUNK

    def test_leaves_its_former_self_as_it_was(self):
        before = History().append(*(said(number) for number in range(CHUNK - 1)))
        before.append(said(99), said(100))
        assert len(before) == CHUNK - 1

    @pytest.mark.parametrize("index", [-1, 3, 10**9])
    def test_has_nothing_outside(self, index):
        with pytest.raises(IndexError):
            History().append(said(0), said(1), said(2))[index]

    @pytest.mark.parametrize("start", [0, 1, CHUNK - 1, CHUNK, CHUNK + 3, 2 * CHUNK + 5, 10_000])
    def test_iterates_from_anywhere(self, start):
        history = History().append(*(said(number) for number in range(2 * CHUNK + 9)))
        assert list(history.since(start)) == list(history)[start:]

    @pytest.mark.parametrize("turn", [1, 2, 50, 99, 100])
    def test_finds_answers_and_results_by_id(self, turn):
        history = turns(100)
        assert find_answer(history, f"{turn}.2").text == "Done."
        assert find_result(history, f"{turn}.1.0").content == f"r{turn}"

    @pytest.mark.parametrize("missing", ["0.1", "1.3", "101.1", "", "x", "1", "1.1.0", "01.1", "\u0661.1", "9" * 5_000])
    def test_finds_no_answer_that_is_not_there(self, missing):
        assert find_answer(turns(100), missing) is None

    @pytest.mark.parametrize("missing", ["1.1.1", "1.2.0", "101.1.0", "", "x", "1.1", "01.1.0", "\u0661.1.0"])
    def test_finds_no_result_that_is_not_there(self, missing):
        assert find_result(turns(100), missing) is None
        assert find_result(History(), missing) is None

    def test_finds_no_result_of_a_last_answer(self):
        assert find_result(History().append(AssistantMessage("1.1", 0, 1, ())), "1.1.0") is None


class TestIdSet:
    def test_knows_what_was_added_and_nothing_else(self):
        ids = IdSet()
        for number in range(300):
            assert str(number) not in ids
            ids = ids.add(str(number))
            assert str(number) in ids
        assert len(ids) == 300
        assert "300" not in ids

    def test_keeps_few_levels_each_larger_than_the_next(self):
        ids = IdSet()
        for number in range(1_000):
            ids = ids.add(str(number))
        assert len(ids.levels) <= 10
        assert all(len(left) > len(right) for left, right in pairwise(ids.levels))


class TestUsage:
    def test_adds_kind_by_kind_and_unknown_is_not_zero(self):
        assert Usage(1, None, 3) + Usage(10, 2, None) == Usage(11, 2, 3)
        assert (Usage() + Usage()).cost_micros is None
        assert (Usage(cost_micros=1) + Usage(cost_micros=2)).cost_micros == 3

    def test_counts_input_and_output(self):
        assert Usage(3, 4, 100, 100, 100).tokens == 7
        assert Usage().tokens == 0


class TestCanonicalText:
    def test_has_sorted_keys_and_no_spaces(self):
        assert canonical_json({"b": [1, {"d": None, "c": True}], "a": "ü"}) == '{"a":"ü","b":[1,{"c":true,"d":null}]}'

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": -float("inf")}])
    def test_refuses_what_is_not_json(self, value):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical_json(value)

    def test_replaces_lone_surrogates_and_joins_pairs(self):
        assert clean_text("plain") == "plain"
        assert clean_text("grün") == "grün"
        assert clean_text("a\ud800b") == "a\ufffdb"
        assert clean_text("\ud83d\ude00") == "😀"
        assert canonical_json("\ud800") == '"\ufffd"'

    def test_digests_are_of_the_bytes(self):
        assert digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        assert digest("\ud800") != digest("\udfff")

    @pytest.mark.parametrize(
        "text", ['{"a":NaN}', '{"a":Infinity}', '{"a":-Infinity}', '{"a":1,"a":2}', '{"a":{"b":1,"b":1}}']
    )
    def test_parsing_is_strict(self, text):
        with pytest.raises(ValueError, match=r"is not JSON|stands twice"):
            parse_json(text)

    @pytest.mark.parametrize("opening", ["[", '{"a":'])
    def test_nesting_has_an_end(self, opening):
        closing = "]" if opening == "[" else "}"
        fits = opening * (JSON_DEPTH_MAX - 1) + "1" + closing * (JSON_DEPTH_MAX - 1)
        assert parse_json(fits) is not None
        deeper = opening * (JSON_DEPTH_MAX + 1) + "1" + closing * (JSON_DEPTH_MAX + 1)
        with pytest.raises(ValueError, match="nested deeper"):
            parse_json(deeper)

    def test_nesting_that_would_exhaust_a_parser_is_malformed(self):
        assert parse_arguments("[" * 100_000).state is not ArgumentsState.COMPLETE
        assert parse_arguments('{"a":' * 5_000 + "1" + "}" * 5_000).state is ArgumentsState.MALFORMED

    def test_overlong_numbers_are_malformed(self):
        assert parse_arguments('{"a":' + "9" * 5_000 + "}").state is ArgumentsState.MALFORMED

    @pytest.mark.parametrize("cut", range(1, len('{"ab":[1,-2.5e+3,"x\\u00fc\\n",true,false,null,{}]}')))
    def test_every_proper_beginning_of_an_object_ends_early(self, cut):
        whole = '{"ab":[1,-2.5e+3,"x\\u00fc\\n",true,false,null,{}]}'
        assert parse_arguments(whole).state is ArgumentsState.COMPLETE
        assert parse_arguments(whole[:cut]).state is ArgumentsState.INCOMPLETE

    @pytest.mark.parametrize(
        "raw",
        [
            "nonsense",
            '{"a":1 x}',
            '{"a" 1}',
            "[]",
            "7",
            "{,",
            "{a",
            '{"a":1}}',
            '{"a":1} x',
            '{"a":trux',
            '{"a":"\\q"}',
            "}",
            '{"a":1}{',
        ],
    )
    def test_what_no_further_text_completes_is_malformed(self, raw):
        assert parse_arguments(raw).state is ArgumentsState.MALFORMED

    def test_a_problem_can_be_stored(self):
        problem = parse_arguments('{"\ud800":1,"\ud800":2}').text
        problem.encode()


class TestOutcomes:
    ALL = (
        Succeeded("r"),
        FailedCall("e"),
        InvalidCall(InvalidReason.TOOL_NOT_FOUND, "p"),
        DeniedCall(DenialCase.STATIC),
        NotExecuted(NotExecutedReason.USER_ABORT),
        CancelledCall(EffectSeen.NONE),
        CancelledCall(EffectSeen.DONE),
        CancelledCall(EffectSeen.UNPROVED),
        Abandoned("anna"),
    )

    def test_two_leave_the_effect_open(self):
        assert [outcome for outcome in self.ALL if is_open(outcome)] == [
            CancelledCall(EffectSeen.UNPROVED),
            Abandoned("anna"),
        ]

    def test_only_a_success_is_no_error(self):
        assert [outcome for outcome in self.ALL if not is_error(outcome)] == [Succeeded("r")]

    @pytest.mark.req("R-242")
    def test_each_is_told_in_words_of_its_own(self):
        texts = [describe(outcome) for outcome in self.ALL]
        assert all(texts)
        assert len(set(texts)) == len(texts)

    @pytest.mark.parametrize("reason", NotExecutedReason)
    def test_what_was_not_executed_says_why(self, reason):
        assert describe(NotExecuted(reason)).startswith("Not executed")

    @pytest.mark.parametrize("reason", InvalidReason)
    def test_what_is_invalid_says_what_is_wrong(self, reason):
        text = describe(InvalidCall(reason, "x: {expected} a number"))
        assert ("x: {expected} a number" in text) or reason is InvalidReason.TRUNCATED

    def test_a_denial_says_by_which_rule_and_why(self):
        assert describe(DeniedCall(DenialCase.STATIC, "r1", "sealed")) == "Denied by rule r1: sealed"
        assert describe(DeniedCall(DenialCase.REFUSED, "", "")) == "Denied."

    @pytest.mark.req("R-243")
    def test_absence_says_whether_asking_again_is_safe(self):
        safe = describe(NotExecuted(NotExecutedReason.PROVED_ABSENT, "no row"))
        unsafe = describe(NotExecuted(NotExecutedReason.PROVED_ABSENT, "no row", retryable=False))
        assert safe.endswith("Evidence: no row. Asking for it again is safe.")
        assert unsafe.endswith("Evidence: no row.")


class TestVocabulary:
    @pytest.mark.req("R-008", "D-25")
    def test_the_four_named_commands_have_their_tags(self):
        assert {TAGS[commands.RequestModel], TAGS[commands.ExecuteTool], TAGS[commands.InspectEffect]} == {
            "request-model",
            "execute-tool",
            "inspect-effect",
        }
        assert TAGS[commands.PersistCheckpoint] == "persist-checkpoint"
        assert tag_of(commands.StartTimer) == "start-timer"

    def test_every_event_is_the_hosts_or_answers_a_command(self):
        answers = {kind for kinds in ANSWERS.values() for kind in kinds}
        assert set(HOST_EVENTS) | answers == set(EVENTS)
        assert set(WORLD_EVENTS) <= answers
        assert set(ANSWERS) == set(COMMANDS)

    @pytest.mark.req("R-053")
    def test_every_event_has_its_time(self):
        assert all("at" in kind.__annotations__ for kind in EVENTS)
        assert all(kind in vars(events).values() for kind in EVENTS)

    def test_keys_name_what_they_are_about(self):
        assert key_of(StartTimer("turn/1", 2, 3, 99)) == ("start-timer", "turn/1", 2, 3)
        rejection = Rejection(RejectionCode.FOREIGN_CALL, Blame.WORLD, "Idle", "ToolSucceeded")
        assert key_of(RecordRejection(rejection, 5)) == ("record-rejection", "ToolSucceeded", 0, 5)


class TestRejection:
    @pytest.mark.req("R-061")
    def test_says_what_was_found_where_and_what_would_have_been_legal(self):
        rejection = Rejection(
            RejectionCode.FOREIGN_CALL,
            Blame.WORLD,
            "Idle",
            "ToolSucceeded",
            "1.1.0",
            ("PromptSubmitted",),
            "Ask first.",
        )
        assert str(rejection) == (
            "ToolSucceeded for 1.1.0 is refused in Idle: foreign-call (at fault: world). Ask first. "
            "Legal here: PromptSubmitted."
        )

    def test_says_no_more_than_it_knows(self):
        rejection = Rejection(RejectionCode.CORE_DEFECT, Blame.CORE, "Idle", "X")
        assert str(rejection) == "X is refused in Idle: core-defect (at fault: core)."

    def test_its_codes_are_facts_in_kebab_case(self):
        assert all(code.value == code.name.lower().replace("_", "-") for code in RejectionCode)


def test_canonical_text_is_what_a_strict_parser_reads_back():
    value = {"z": [1.5, "\u2028", {"": None}], "a": False}
    assert json.loads(canonical_json(value)) == value
