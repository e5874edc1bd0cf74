"""What is not exactly right is refused, and the error says where, what and of which version."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import attrs
import pytest

from agentcore import codec
from agentcore.codec import DecodeError, EncodeError
from agentcore.events import (
    AbortRequested,
    AbortScope,
    ConfigChanged,
    ModelReplied,
    TimerFired,
    ToolStarted,
)
from agentcore.messages import CHUNK, History, IdSet, MessageSource, TextPart, ToolCallPart, UserMessage
from agentcore.policy import Config, ToolContract
from agentcore.states import Because, Completed, Ending, State, StopReason, Transition

REPLY = ModelReplied(
    at=7, request_id="1.1", epoch=0, attempt=1, parts=(TextPart("hi"), ToolCallPart("c1", "read", '{"path":"a"}'))
)
STATE = State(
    "s",
    Config(),
    Completed(Transition(Because.END_SAVED, evidence=(("seq", "4"),)), Ending(StopReason.FINAL_ANSWER), 4),
)
HISTORY = History().append(UserMessage("m1", MessageSource.PROMPT, (TextPart("hi"),)))


def changed(written: bytes, path: tuple[str | int, ...], value: object) -> bytes:
    """The same JSON with another value in one place; `...` takes the key away."""
    whole = json.loads(written)
    place = whole
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(whole).encode()


def refusal(read, data: bytes) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        read(data)
    return caught.value


@pytest.mark.parametrize(
    ("path", "value", "where", "problem"),
    [
        (("at",), None, "$.at", "expected a whole number, found null"),
        (("at",), True, "$.at", "expected a whole number, found true"),
        (("at",), 1.0, "$.at", "expected a whole number, found 1.0"),
        (("at",), "1", "$.at", "expected a whole number, found '1'"),
        (("at",), 2**63, "$.at", "9223372036854775808 needs more than 64 bits"),
        (("at",), 2**64, "$.at", "18446744073709551616 needs more than 64 bits"),
        (("at",), -(2**63) - 1, "$.at", "-9223372036854775809 needs more than 64 bits"),
        (("request_id",), None, "$.request_id", "expected text, found null"),
        (("request_id",), 11, "$.request_id", "expected text, found 11"),
        (("finish",), "stopped", "$.finish", "expected one of stop, tool-calls, length"),
        (("finish",), None, "$.finish", "found null"),
        (("parts",), "hi", "$.parts", "expected a list, found 'hi'"),
        (("parts",), {}, "$.parts", "expected a list, found an object"),
        (("parts", 1), [], "$.parts[1]", "expected an object, found a list"),
        (("parts", 1, "arguments"), {"path": "a"}, "$.parts[1].arguments", "expected text, found an object"),
        (("parts", 1, "provider_executed"), 0, "$.parts[1].provider_executed", "expected true or false, found 0"),
        (("parts", 0, "text"), ..., "$.parts[0].text", "the field is missing"),
        (("parts", 0, "metadata"), ..., "$.parts[0].metadata", "the field is missing"),
        (("parts", 0, "tekst"), "hi", "$.parts[0].tekst", "the field is not known"),
        (("parts", 0, "a b"), "hi", "$.parts[0]['a b']", "the field is not known"),
        (("parts", 0, "type"), "image-part", "$.parts[0].type", "expected one of text-part, reasoning-part"),
        (("parts", 0, "type"), "user-message", "$.parts[0].type", "found 'user-message'"),
        (("parts", 0, "type"), ["text-part"], "$.parts[0].type", "found a list"),
        (("parts", 0, "type"), ..., "$.parts[0].type", "found null"),
        (("parts", 0, "v"), ..., "$.parts[0].v", "expected the version of text-part, found null"),
        (("parts", 0, "v"), True, "$.parts[0].v", "expected the version of text-part, found true"),
        (("parts", 0, "v"), 0, "$.parts[0].v", "there is no way from version 0 of text-part to 1"),
        (("usage",), None, "$.usage", "expected an object, found null"),
        (("usage", "input_tokens"), 1.5, "$.usage.input_tokens", "expected a whole number, found 1.5"),
        (("usage", "price"), 1, "$.usage.price", "the field is not known"),
        (("type",), "model-said", "$.type", "found 'model-said'"),
        (("type",), "prepare-step", "$.type", "found 'prepare-step'"),
    ],
)
def test_an_event_is_read_exactly_or_not_at_all(path, value, where, problem):
    error = refusal(codec.decode_event, changed(codec.encode_event(REPLY), path, value))
    assert error.path == where
    assert problem in error.problem


@pytest.mark.parametrize(
    ("path", "value", "where", "problem"),
    [
        (("known", "levels"), [["a", "a"]], "$.known.levels[0]", "an item stands twice in a set"),
        (("known", "levels"), [["a", 1]], "$.known.levels[0][1]", "expected text, found 1"),
        (("history",), [1], "$.history[0]", "expected an object, found 1"),
        (
            ("phase", "transition", "evidence", 0),
            ["seq"],
            "$.phase.transition.evidence[0]",
            "expected 2 items, found 1",
        ),
        (("phase", "transition", "because"), "luck", "$.phase.transition.because", "found 'luck'"),
        (("config", "policy", "denied_static"), "ignore", "$.config.policy.denied_static", "return_error, stop_turn"),
        (("config", "limits", "steps"), -1, "$.config.limits", "limits.steps is -1: expected a whole number"),
        (("config", "limits", "max_parallel"), 0, "$.config.limits", "limits.max_parallel is 0"),
    ],
)
def test_a_state_is_read_exactly_or_not_at_all(path, value, where, problem):
    error = refusal(codec.decode_state, changed(codec.encode_state(STATE), path, value))
    assert error.path == where
    assert problem in error.problem


def test_a_contract_that_contradicts_itself_is_refused_on_reading():
    written = codec.encode_event(ConfigChanged(at=1, config=Config(tools=(ToolContract("pay"),))))
    error = refusal(codec.decode_event, changed(written, ("config", "tools", 0, "effect"), "inspectable"))
    assert (error.path, error.tag, error.version) == ("$.config.tools[0]", "tool-contract", 1)
    assert "acts_within_ms" in error.problem


def test_the_error_names_the_innermost_tagged_value_and_its_version():
    error = refusal(codec.decode_event, changed(codec.encode_event(REPLY), ("parts", 0, "text"), None))
    assert (error.tag, error.version) == ("text-part", 1)
    assert str(error) == "cannot read $.parts[0].text of text-part version 1: expected text, found null"


def test_an_error_before_any_tag_was_seen_names_none():
    error = refusal(codec.decode_event, b"[]")
    assert (error.tag, error.version) == ("", None)
    assert str(error) == "cannot read $: expected an object, found a list"


def test_an_overlong_value_is_cut_in_the_message():
    error = refusal(codec.decode_event, changed(codec.encode_event(REPLY), ("usage",), "x" * 10_000))
    assert len(str(error)) < 200


@pytest.mark.parametrize(
    ("data", "where", "problem"),
    [
        (b"", "$", "this is not JSON"),
        (b"{", "$", "this is not JSON"),
        (b"\xff\xfe", "$", "this is not JSON"),
        (b'{"at":1', "$", "this is not JSON"),
        (b"[" * 100_000, "$", "this is not JSON"),
        (b'{"type":"timer-fired","type":"timer-fired"}', "$.type", "the key stands twice in one object"),
        (b'{"parts":[{"text":"a"},{"text":"a","text":"b"}]}', "$.parts[1].text", "the key stands twice in one object"),
        (b'{"at":NaN}', "$.at", "NaN is not JSON"),
        (b'{"usage":{"list":[0,-Infinity]}}', "$.usage.list[1]", "-Infinity is not JSON"),
        (b'{"":NaN}', "$['']", "NaN is not JSON"),
        (b'{"":1,"":2}', "$['']", "the key stands twice in one object"),
        (b"NaN", "$", "NaN is not JSON"),
    ],
)
def test_bytes_that_two_parsers_could_read_differently_are_refused(data, where, problem):
    error = refusal(codec.decode_event, data)
    assert error.path == where
    assert problem in error.problem


def test_deep_nesting_is_refused_by_its_type_not_by_the_stack():
    error = refusal(codec.decode_event, b'{"type":' + b"[" * 600 + b"]" * 600 + b"}")
    assert (error.path, error.problem.split(", found ")[1]) == ("$.type", "a list")


def test_blank_space_and_escapes_of_another_hand_are_fine():
    written = json.dumps(json.loads(codec.encode_event(REPLY)), indent=1).replace("hi", "\\u0068i").encode()
    assert codec.decode_event(written) == REPLY


def test_half_a_surrogate_pair_in_an_old_line_is_replaced_visibly():
    written = codec.encode_event(REPLY).replace(b'"hi"', b'"a\\ud83db \\ud83d\\ude00"')
    assert codec.decode_event(written).parts[0] == TextPart("a\N{REPLACEMENT CHARACTER}b \N{GRINNING FACE}")


def evolved(**fields: object) -> ModelReplied:
    return attrs.evolve(REPLY, **fields)


@pytest.mark.parametrize(
    ("write", "value", "where", "problem"),
    [
        (codec.encode_event, evolved(model="a\ud83d"), "$.model", "half a surrogate pair at character 1"),
        (codec.encode_event, evolved(parts=(TextPart("\udc00"),)), "$.parts[0].text", "clean the text first"),
        (codec.encode_event, evolved(at=2**63), "$.at", "9223372036854775808 needs more than 64 bits"),
        (codec.encode_event, evolved(at=-(2**64)), "$.at", "needs more than 64 bits"),
        (codec.encode_event, evolved(at=True), "$.at", "expected a whole number, found true"),
        (codec.encode_event, evolved(at=math.nan), "$.at", "expected a whole number, found NaN"),
        (codec.encode_event, evolved(model=None), "$.model", "expected text, found null"),
        (codec.encode_event, evolved(model=b"gpt"), "$.model", "expected text, found a bytes"),
        (codec.encode_event, evolved(finish="stop"), "$.finish", "expected one of stop, tool-calls"),
        (codec.encode_event, evolved(parts=[TextPart("hi")]), "$.parts", "expected a tuple, found a list"),
        (codec.encode_event, evolved(parts=(STATE,)), "$.parts[0]", "expected one of TextPart, ReasoningPart"),
        (codec.encode_event, evolved(usage=None), "$.usage", "expected a Usage, found null"),
        (codec.encode_event, STATE, "$", "expected one of PromptSubmitted, SteeringQueued"),
        (codec.encode_state, attrs.evolve(STATE, known=IdSet((["a"],))), "$.known.levels[0]", "expected a frozen set"),
        (codec.encode_state, attrs.evolve(STATE, history=(1,)), "$.history", "expected a history, found a tuple"),
        (
            codec.encode_state,
            attrs.evolve(STATE, history=History(HISTORY.chunks, tuple(HISTORY) * CHUNK)),
            "$.history",
            "not made by appending",
        ),
        (codec.encode_state, attrs.evolve(STATE, history=History((tuple(HISTORY),))), "$.history", "chunks"),
        (
            codec.encode_event,
            ConfigChanged(at=1, config=attrs.evolve(Config(), settings=None)),
            "$.config.settings",
            "expected a ModelSettings",
        ),
    ],
)
def test_what_could_not_be_read_again_is_not_written(write, value, where, problem):
    with pytest.raises(EncodeError) as caught:
        write(value)
    assert caught.value.path == where
    assert problem in caught.value.problem
    assert str(caught.value) == f"cannot write {where}: {caught.value.problem}"


def test_the_largest_and_smallest_numbers_are_written_and_read():
    for at in (codec.INTEGERS.start, codec.INTEGERS.stop - 1):
        event = TimerFired(at=at, timer_id="turn/1", epoch=0, attempt=1)
        assert codec.decode_event(codec.encode_event(event)) == event


def test_each_decoder_reads_its_own_kind_alone():
    line = codec.encode_event(AbortRequested(at=1, act_id="a", scope=AbortScope.ALL))
    for read in (codec.decode_command, codec.decode_state, codec.decode_header, codec.decode_rejection):
        assert refusal(read, line).path == "$.type"


def test_nothing_of_a_refused_value_leaks_into_the_next():
    """Writers and readers hold no state: after a failure the same value is written as before."""
    line = codec.encode_event(REPLY)
    with pytest.raises(EncodeError):
        codec.encode_event(evolved(usage=None))
    refusal(codec.decode_event, line[:-1])
    assert codec.encode_event(codec.decode_event(line)) == line


def test_a_default_is_written_too_so_that_a_later_default_changes_no_past():
    written = json.loads(codec.encode_event(ToolStarted(at=1, call_id="1.1.0", epoch=0, attempt=1)))
    assert written == {
        "type": "tool-started",
        "v": 1,
        "at": 1,
        "call_id": "1.1.0",
        "epoch": 0,
        "attempt": 1,
        "handle": "",
    }


def test_the_core_without_the_codec_needs_neither_cattrs_nor_orjson():
    script = "import sys, agentcore.states, agentcore.commands; sys.exit(bool({'cattrs', 'orjson'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
