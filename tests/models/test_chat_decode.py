"""Chat-completions folded into one message: content, thinking, usage, labels, faults in mid-stream."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from agentcore.events import ModelFailure
from agentcore.messages import FinishReason, MediaPart, OpaquePart, ReasoningPart, TextPart, Usage
from interpreters.models import AnswerDecoder, ChatFolder, Failure, Fault
from tests.models import wire
from tests.models.byteserver import chunk, events


def reply(*chunks, done: bool = True):
    _, outcome = wire.decode(events(*chunks, done=done))
    assert not isinstance(outcome, Failure), outcome
    return outcome


def failure(*chunks, done: bool = True) -> Failure:
    _, outcome = wire.decode(events(*chunks, done=done))
    assert isinstance(outcome, Failure), outcome
    return outcome


STOP = chunk({}, "stop")


def test_parts_keep_the_order_of_the_model():
    call = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "now", "arguments": "{}"}}]}
    outcome = reply(
        chunk({"reasoning": "t1"}),
        chunk({"content": "a"}),
        chunk({"content": "b"}),
        chunk(call),
        chunk({"content": "c"}),
        STOP,
    )
    assert [getattr(part, "text", getattr(part, "name", "")) for part in outcome.parts] == ["t1", "ab", "now", "c"]


def test_a_surrogate_pair_cut_between_two_chunks_is_healed_and_never_shown_in_halves():
    decoder = AnswerDecoder(ChatFolder())
    shown = []
    for piece in (
        b'data: {"choices":[{"delta":{"content":"a\\ud83c"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"\\udf0db"}}]}\n\n',
    ):
        shown += [delta.text for delta in decoder.feed(piece)]
    decoder.feed(events(STOP)[0])
    decoder.close()
    assert shown == ["a", "🌍b"]
    assert decoder.outcome().parts == (TextPart("a🌍b"),)


def test_a_lone_surrogate_is_replaced_before_anything_is_stored():
    outcome = reply(chunk({"content": "a\ud83cb"}), STOP)
    assert outcome.parts == (TextPart("a\ufffdb"),)
    outcome.parts[0].text.encode()


@pytest.mark.parametrize(
    ("label", "finish"),
    [
        ("stop", FinishReason.STOP),
        ("STOP", FinishReason.STOP),
        ("eos", FinishReason.STOP),
        ("tool_calls", FinishReason.TOOL_CALLS),
        ("function_call", FinishReason.TOOL_CALLS),
        ("length", FinishReason.LENGTH),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("sensitive", FinishReason.CONTENT_FILTER),
        ("something_new", FinishReason.UNKNOWN),
    ],
)
@pytest.mark.req("R-086", "R-089", "D-16")
def test_a_finish_label_is_read_and_kept_as_it_was(label, finish):
    outcome = reply(chunk({"content": "hi"}, label))
    assert (outcome.finish, outcome.label) == (finish, label)


def test_a_refusal_in_the_content_outweighs_an_ordinary_label():
    outcome = reply(chunk({"refusal": "I will not."}), STOP)
    assert outcome.finish is FinishReason.REFUSAL
    assert outcome.parts == (TextPart("I will not.", '{"refusal":true}'),)


@pytest.mark.req("R-089", "D-16")
def test_the_terminator_alone_states_an_end_whose_reason_is_unknown():
    assert reply(chunk({"content": "hi"})).finish is FinishReason.UNKNOWN


@pytest.mark.parametrize("delta", [{"content": "hi"}, {}, {"tool_calls": [{"index": 0, "function": {"name": "x"}}]}])
def test_a_stream_without_a_stated_end_is_no_message(delta):
    found = failure(chunk(delta), done=False)
    assert (found.fault, found.kind) == (Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE)


@pytest.mark.req("R-235")
def test_five_kinds_of_tokens_are_told_apart():
    told = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 15},
        "cost": 0.0125,
    }
    assert reply(STOP, {"choices": [], "usage": told}).usage == Usage(100, 20, 60, 30, 15, 12_500)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([{"prompt_tokens": 10, "completion_tokens": 1}, {"prompt_tokens": 10, "completion_tokens": 5}], (10, 5)),
        ([{"prompt_tokens": 10, "completion_tokens": 5}, {"prompt_tokens": 0, "completion_tokens": 0}], (10, 5)),
        ([{"prompt_tokens": 10}, {"completion_tokens": 5}], (10, 5)),
        ([{"prompt_tokens": 0, "completion_tokens": 0}], (0, 0)),
        ([{"prompt_tokens": 10.0, "completion_tokens": "5"}], (10, None)),
        ([{"prompt_tokens": True, "completion_tokens": -5}], (None, None)),
        ([{"prompt_tokens": 1.5, "completion_tokens": 10**30}], (None, None)),
        ([[], "x", 7, None], (None, None)),
    ],
)
def test_of_usage_the_last_value_wins_and_a_later_zero_erases_nothing(told, expected):
    usage = reply(*(chunk({}, usage=one) for one in told), STOP).usage
    assert (usage.input_tokens, usage.output_tokens) == expected


@pytest.mark.parametrize("place", ["choice", "x_groq"])
def test_usage_is_found_where_some_servers_put_it(place):
    told = {"prompt_tokens": 10, "completion_tokens": 5}
    last = chunk({}, "stop")
    if place == "choice":
        last["choices"][0]["usage"] = told
    else:
        last["x_groq"] = {"usage": told}
    assert reply(last).usage == Usage(10, 5)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ({"error": {"message": "overloaded", "type": "overloaded_error"}}, Fault.OVERLOADED),
        ({"error": "boom"}, Fault.SERVER),
        ({"error": {"message": "x", "code": 429}}, Fault.RATE_LIMITED),
        ({"error": {"message": "slow", "code": "insufficient_quota"}}, Fault.QUOTA),
        (
            {"object": "error", "message": "context length", "type": "BadRequestError", "code": 400},
            Fault.CONTEXT_OVERFLOW,
        ),
        ({"type": "error", "message": "internal"}, Fault.SERVER),
        ({"choices": [{"index": 0, "delta": {}, "error": {"code": 502, "message": "x"}}]}, Fault.SERVER),
        ({"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}, Fault.SERVER),
    ],
)
def test_an_error_ends_the_answer_wherever_it_stands(error, fault):
    assert failure(chunk({"content": "hi"}), error, chunk({}, "stop")).fault is fault
    assert failure(chunk({"content": "hi"}, "stop"), error).fault is fault


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b'event: error\ndata: {"code": "rate_limit_exceeded", "message": "slow"}\n\n', Fault.RATE_LIMITED),
        (b"event: error\ndata: the model is overloaded\n\n", Fault.OVERLOADED),
    ],
)
def test_an_error_event_is_an_error_whatever_its_data(data, fault):
    _, outcome = wire.decode([events(chunk({"content": "hi"}), done=False)[0], data])
    assert outcome.fault is fault


@pytest.mark.parametrize(
    "data", [b'{"cho', b"[1]", b"7", b'"x"', b"null", b'{"choices": 7}', b"[" * 100_000, b'{"a":' + b"9" * 5_000 + b"}"]
)
def test_malformed_data_in_mid_stream_is_an_error_and_never_skipped(data):
    pieces = [*events(chunk({"content": "hi"}), done=False), b"data: " + data + b"\n\n", *events(STOP)]
    _, outcome = wire.decode(pieces)
    assert (outcome.fault, outcome.kind) == (Fault.MALFORMED_STREAM, ModelFailure.RETRYABLE)


@pytest.mark.parametrize("ending", ["reset", "hang", "clean"])
def test_a_stream_that_breaks_after_its_end_was_stated_has_said_everything(ending):
    pieces = [*events(chunk({"content": "hi"}), STOP, done=False), b'data: {"choices":[],"usa']
    _, outcome = wire.decode(pieces, ending=ending)
    assert outcome.parts == (TextPart("hi"),)


@pytest.mark.parametrize(
    "data", [b"data: \n\n", b'data: {"type":"ping"}\n\n', b'data: {"choices":[null,{"delta":null}]}\n\n']
)
def test_what_says_nothing_is_no_progress_and_no_harm(data):
    decoder = AnswerDecoder(ChatFolder())
    decoder.feed(events(chunk({"content": "hi"}), done=False)[0])
    before = decoder.progress
    assert decoder.feed(data) == []
    assert decoder.progress == before
    assert decoder.feed(events(chunk({"content": "!"}), done=False)[0])
    assert decoder.progress > before


def test_one_json_value_in_answer_to_a_stream_request_is_an_answer():
    call = {"id": "a", "type": "function", "function": {"name": "now", "arguments": {}}}
    message = {"role": "assistant", "content": "hi", "reasoning_content": "mm", "tool_calls": [call]}
    value = {"id": "c", "choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3}}
    shown, outcome = wire.decode([json.dumps(value, indent=1).encode()], headers={"content-type": "application/json"})
    assert wire.told(outcome.parts) == {
        "text": "hi",
        "refusal": "",
        "reasoning": "mm",
        "tools": [["now", {}]],
        "ids": ["a"],
    }
    assert shown == {"ReasoningDelta": "mm", "TextDelta": "hi"}
    assert outcome.usage == Usage(3)


@pytest.mark.parametrize(
    ("body", "fault", "kind"),
    [
        (b"", Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE),
        (b"  \n", Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE),
        (b'{"choices":[{"mess', Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE),
        (b'{"choices":[]}', Fault.PROTOCOL, ModelFailure.FATAL),
        (b'{"hello":"world"}', Fault.PROTOCOL, ModelFailure.FATAL),
        (b"[1,2]", Fault.PROTOCOL, ModelFailure.FATAL),
        (b"{nonsense}", Fault.PROTOCOL, ModelFailure.FATAL),
        (b'{"a":' * 100_000, Fault.PROTOCOL, ModelFailure.FATAL),
        (b"<html><title>Log in</title></html>", Fault.PROTOCOL, ModelFailure.FATAL),
        (b"\xef\xbb\xbf<html>", Fault.PROTOCOL, ModelFailure.FATAL),
        (b"Hello, world", Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE),
        (b'{"error":{"message":"boom","code":"500"}}', Fault.SERVER, ModelFailure.RETRYABLE),
        (b'{"error":{"message":"no","code":"invalid_api_key"}}', Fault.AUTH, ModelFailure.FATAL),
    ],
)
@pytest.mark.parametrize("size", [1, 10**9])
def test_a_body_that_is_no_answer_says_what_was_found(body, fault, kind, size):
    size = max(size, len(body) // 1000)
    _, outcome = wire.decode(wire.cut(body, size))
    assert (outcome.fault, outcome.kind) == (fault, kind)


@pytest.mark.req("G-14")
def test_encrypted_thinking_is_kept_verbatim_though_it_has_no_words():
    details = [
        {"type": "reasoning.encrypted", "data": "ENC", "index": 0},
        {"type": "reasoning.encrypted", "data": "E2"},
    ]
    outcome = reply(chunk({"reasoning_details": details}), chunk({"content": "hi"}), STOP)
    assert [type(part) for part in outcome.parts] == [ReasoningPart, TextPart]
    assert json.loads(outcome.parts[0].metadata) == {"reasoning_details": details}


@pytest.mark.req("G-14")
def test_pieces_of_one_detail_of_thinking_are_joined_with_its_signature():
    pieces = [
        {"type": "reasoning.text", "text": "a", "index": 0},
        {"type": "reasoning.text", "text": "b", "index": 0},
        {"type": "reasoning.text", "text": "", "signature": "SIG", "index": 0},
        {"type": "reasoning.text", "text": "c", "index": 1},
    ]
    outcome = reply(*(chunk({"reasoning": one["text"], "reasoning_details": [one]}) for one in pieces), STOP)
    told = json.loads(outcome.parts[0].metadata)
    assert outcome.parts[0].text == "abc"
    assert told["field"] == "reasoning"
    assert told["reasoning_details"] == [
        {"type": "reasoning.text", "text": "ab", "signature": "SIG", "index": 0},
        {"type": "reasoning.text", "text": "c", "index": 1},
    ]


def test_thinking_under_two_names_at_once_is_told_once():
    outcome = reply(chunk({"reasoning": "mm", "reasoning_content": "mm"}), STOP)
    assert outcome.parts == (ReasoningPart("mm", '{"field":"reasoning_content"}'),)


def test_content_may_be_a_list_of_thinking_and_text():
    content = [{"type": "thinking", "thinking": [{"type": "text", "text": "mm"}]}, {"type": "text", "text": "hi"}]
    outcome = reply(chunk({"content": content}), STOP)
    assert outcome.parts == (ReasoningPart("mm", '{"chunk":{"type":"thinking"}}'), TextPart("hi"))


def test_images_in_an_answer_become_media():
    images = [
        {"type": "image_url", "image_url": {"url": "data:image/webp;base64,QUJD"}},
        {"image_url": {"url": "https://x/y"}},
    ]
    outcome = reply(chunk({"content": "look", "images": images}), STOP)
    assert outcome.parts[1:] == (MediaPart("image/webp", "QUJD"), MediaPart("image/*", "https://x/y"))


def test_an_answer_beyond_the_cap_is_an_error():
    decoder = AnswerDecoder(ChatFolder(), answer_bytes_max=10_000)
    for _ in range(1000):
        decoder.feed(events(chunk({"content": "x" * 10}), done=False)[0])
    assert decoder.outcome().fault is Fault.TOO_LARGE


WHOLE = b"".join(events(chunk({"content": "hi"}), chunk({}, "stop")))


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(WHOLE)),
        ("X-GZIP ", gzip.compress(WHOLE)),
        ("deflate", zlib.compress(WHOLE)),
        ("gzip", gzip.compress(WHOLE[:50]) + gzip.compress(WHOLE[50:])),
        ("identity", WHOLE),
    ],
)
@pytest.mark.parametrize("size", [1, 10**9])
def test_a_compressed_answer_is_unpacked_as_it_comes(encoding, packed, size):
    shown, outcome = wire.decode(wire.cut(packed, size), headers={"content-encoding": encoding})
    assert (shown, outcome.parts) == ({"TextDelta": "hi"}, (TextPart("hi"),))


@pytest.mark.parametrize(
    ("encoding", "packed", "fault"),
    [
        ("gzip", b"not gzip", Fault.MALFORMED_STREAM),
        ("gzip", gzip.compress(WHOLE)[:60], Fault.TRUNCATED_STREAM),
        ("br", WHOLE, Fault.PROTOCOL),
    ],
)
def test_a_compressed_answer_that_cannot_be_unpacked_is_a_failure(encoding, packed, fault):
    _, outcome = wire.decode([packed], headers={"content-encoding": encoding})
    assert outcome.fault is fault


def test_a_small_body_that_unpacks_to_a_huge_one_is_stopped_early():
    decoder = AnswerDecoder(ChatFolder(), 200, {"content-encoding": "gzip"}, answer_bytes_max=1000)
    decoder.feed(gzip.compress(b": " + b"x" * 1_000_000))
    assert decoder.outcome().fault is Fault.TOO_LARGE


def test_an_event_beyond_the_cap_is_an_error():
    decoder = AnswerDecoder(ChatFolder(), event_bytes_max=1000)
    decoder.feed(b"data: " + b"x" * 2000)
    assert decoder.outcome().fault is Fault.TOO_LARGE


def test_what_was_shown_before_a_fault_in_the_same_bytes_is_still_shown():
    shown, outcome = wire.decode([b"".join(events(chunk({"content": "hi"}), {"error": "boom"}))])
    assert shown == {"TextDelta": "hi"}
    assert isinstance(outcome, Failure)


def test_a_content_list_may_hold_thinking_as_text_and_things_nobody_knows():
    content = ["x", 7, {"type": "new"}, {"thinking": "mm"}, {"thinking": [None, {"text": "m"}]}, {"text": "hi"}]
    outcome = reply(chunk({"content": content}), chunk({"content": 7, "images": [7, {}, {"image_url": "x"}]}), STOP)
    assert wire.told(outcome.parts)["reasoning"] == "mmm"
    assert wire.told(outcome.parts)["text"] == "hi"


@pytest.mark.req("G-14")
def test_content_of_a_kind_nobody_knows_is_kept_whole():
    item = {"type": "reference", "reference_ids": [1]}
    outcome = reply(chunk({"content": [{"type": "text", "text": "hi"}, item]}), STOP)
    assert outcome.parts == (TextPart("hi"), OpaquePart('{"reference_ids":[1],"type":"reference"}'))


def test_thinking_inside_the_content_keeps_its_signature():
    content = [{"type": "thinking", "thinking": [{"type": "text", "text": "mm"}], "signature": "S"}]
    (part,) = reply(chunk({"content": content}), STOP).parts
    assert part == ReasoningPart("mm", '{"chunk":{"signature":"S","type":"thinking"}}')


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text", "thinking"])
def test_thinking_comes_under_several_names(field):
    (part,) = reply(chunk({field: "mm"}), STOP).parts
    assert part == ReasoningPart("mm", json.dumps({"field": field}, separators=(",", ":")))


def test_what_the_model_spoke_is_sound_and_its_words_are_text():
    pieces = (
        {"id": "a1"},
        {"data": "QQ==", "transcript": "he"},
        {"data": "Qg==", "transcript": "y"},
        {"expires_at": 7},
    )
    outcome = reply(*(chunk({"audio": piece}) for piece in pieces), STOP)
    assert outcome.parts == (
        MediaPart("audio/*", "QUI=", metadata='{"audio":"a1"}'),
        TextPart("hey", '{"transcript":true}'),
    )
    (broken,) = reply(chunk({"audio": {"data": "?"}}), STOP).parts
    assert broken == MediaPart("audio/*", "?")
    assert reply(chunk({"audio": {"id": "a1"}}), STOP).parts == ()


def test_a_whole_message_at_the_end_fills_in_only_what_was_not_told():
    whole = {"content": "hi", "reasoning": "mm", "refusal": "no", "images": [{"image_url": {"url": "https://x"}}]}
    last = {"choices": [{"index": 0, "delta": {}, "message": whole, "finish_reason": "stop"}]}
    told = reply(chunk(whole), last)
    assert told.parts == reply(chunk(whole), STOP).parts
    assert reply(last).parts == told.parts


def test_metadata_that_is_no_json_is_not_kept():
    outcome = reply(chunk({"content": "hi", "reasoning_details": [{"index": 0, "x": float("nan")}]}), STOP)
    assert outcome.parts == (ReasoningPart(""), TextPart("hi"))


@pytest.mark.parametrize("size", [1, 10**9])
def test_nothing_is_read_after_the_terminator_or_a_fault(size):
    after = events(chunk({"content": "more"}))
    for end in (b"data: [DONE]\n\n", b'data: {"error":"boom"}\n\n'):
        pieces = [*events(chunk({"content": "hi"}, "stop"), done=False), end, *after]
        shown, _ = wire.decode(wire.cut(b"".join(pieces), size))
        assert shown == {"TextDelta": "hi"}


@pytest.mark.parametrize("beside", [{}, {"index": None}, {"index": 0}])
def test_calls_of_a_whole_message_are_told_apart_by_their_places(beside):
    told = [{**beside, "id": "t1", "function": {"name": "now", "arguments": raw}} for raw in ('{"x":1}', '{"x":2}')]
    body = {"choices": [{"message": {"tool_calls": told}, "finish_reason": "tool_calls"}]}
    _, outcome = wire.decode([json.dumps(body).encode()])
    assert [part.arguments for part in outcome.parts] == ['{"x":1}', '{"x":2}']
    assert len({part.provider_id for part in outcome.parts}) == 2
