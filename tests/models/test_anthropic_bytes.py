"""Anthropic messages as bytes: whole bodies, faults in every form, cuts anywhere, and anything at all."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.events import ModelFailure
from agentcore.messages import FinishReason, OpaquePart, ReasoningPart, TextPart, ToolCallPart
from interpreters.models import AnswerDecoder, Failure, Fault
from interpreters.models.anthropic_decode import AnthropicFolder
from tests.models import wire
from tests.models.anthropic_events import (
    OVER,
    USAGE,
    WORDS,
    args,
    body,
    call,
    calls,
    decode,
    end,
    failure,
    head,
    piece,
    reply,
    start,
    stop,
    stream,
    text,
)

# --- whole bodies ---


BODY = {
    "id": "m1",
    "type": "message",
    "model": "m",
    "content": [
        {"type": "thinking", "thinking": "mm", "signature": "S"},
        {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "t1", "name": "now", "input": {"a": 1}},
        {"type": "new", "x": 1},
    ],
    "stop_reason": "tool_use",
    "usage": USAGE,
}


def test_a_whole_body_says_what_a_stream_of_it_says():
    shown, outcome = body(BODY)
    assert shown == {"ReasoningDelta": "mm", "TextDelta": "hi"}
    streamed = reply(head(**{key: BODY[key] for key in ("content", "stop_reason")}), OVER)
    assert outcome == streamed
    assert outcome.label == "tool_use"
    assert [type(part) for part in outcome.parts] == [ReasoningPart, TextPart, ToolCallPart, OpaquePart]


def test_a_body_is_complete_though_it_names_no_reason_to_stop_and_may_be_plain_text():
    _, outcome = body({"content": "hi"})
    assert (outcome.parts, outcome.finish) == ((TextPart("hi"),), FinishReason.UNKNOWN)
    assert body({"type": "message", "content": [], "stop_reason": "end_turn"})[1].parts == ()


@pytest.mark.parametrize("told", [{}, [], 7, "x", None, {"choices": []}, {"content": None}, {"type": "message"}])
def test_json_that_is_no_message_is_told_as_such(told):
    _, outcome = body(told)
    assert outcome.fault in (Fault.PROTOCOL, Fault.TRUNCATED_STREAM, Fault.MALFORMED_STREAM)


def test_a_body_cut_in_its_middle_was_cut():
    raw = json.dumps(BODY).encode()
    for length in range(len(raw) - 1):
        _, outcome = body(raw[:length])
        assert outcome.fault is Fault.TRUNCATED_STREAM, raw[:length]


# --- faults ---


ERRORS = [
    ("invalid_request_error", "messages: field required", 400, Fault.INVALID_REQUEST),
    ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", 400, Fault.CONTEXT_OVERFLOW),
    (
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
        400,
        Fault.CONTEXT_OVERFLOW,
    ),
    (
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing",
        400,
        Fault.QUOTA,
    ),
    (
        "invalid_request_error",
        "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
        400,
        Fault.QUOTA,
    ),
    (
        "invalid_request_error",
        "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 9 bytes > 5 bytes",
        400,
        Fault.MEDIA_TOO_LARGE,
    ),
    ("invalid_request_error", "A maximum of 100 PDF pages may be provided.", 400, Fault.MEDIA_TOO_LARGE),
    ("invalid_request_error", "Output blocked by content filtering policy", 400, Fault.CONTENT_FILTER),
    ("authentication_error", "invalid x-api-key", 401, Fault.AUTH),
    ("billing_error", "Payment required", 402, Fault.QUOTA),
    ("permission_error", "Your API key does not have permission", 403, Fault.PERMISSION),
    ("not_found_error", "model: claude-none", 404, Fault.NOT_FOUND),
    ("request_too_large", "Request exceeds the maximum allowed number of bytes", 413, Fault.MEDIA_TOO_LARGE),
    ("rate_limit_error", "This request would exceed your organization's rate limit", 429, Fault.RATE_LIMITED),
    ("api_error", "Internal server error", 500, Fault.SERVER),
    ("timeout_error", "Request timed out", 504, Fault.SERVER),
    ("overloaded_error", "Overloaded", 529, Fault.OVERLOADED),
    ("some_new_error", "What is this?", None, Fault.SERVER),
]


@pytest.mark.parametrize(("label", "message", "status", "fault"), ERRORS)
@pytest.mark.req("D-14")
def test_one_fault_has_one_class_as_a_status_as_a_body_and_as_an_event(label, message, status, fault):
    told = {"type": "error", "error": {"type": label, "message": message}, "request_id": "req_1"}
    assert failure(head(), text("hi"), told).fault is fault
    assert failure(f"event: error\ndata: {json.dumps(told)}\n\n").fault is fault
    assert failure(f"data: {json.dumps({'error': told['error']})}\n\n").fault is fault
    assert body(told)[1].fault is fault
    if status is not None:
        assert body(told, status=status)[1].fault is fault


def test_an_error_event_that_is_no_json_is_an_error_and_what_was_shown_stays_shown():
    shown, outcome = decode(head(), text("hi"), "event: error\ndata: overloaded\n\n")
    assert (shown, outcome.fault) == ({"TextDelta": "hi"}, Fault.OVERLOADED)


def test_a_wait_is_read_from_the_header():
    told = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    _, outcome = body(told, status=429, headers={"retry-after": "7"})
    assert (outcome.fault, outcome.retry_after_ms) == (Fault.RATE_LIMITED, 7000)
    _, outcome = body(told, status=429, headers={"retry-after": "7", "x-should-retry": "false"})
    assert outcome.kind is ModelFailure.FATAL


@pytest.mark.parametrize(("status", "fault"), [(502, Fault.SERVER), (529, Fault.OVERLOADED), (403, Fault.PERMISSION)])
def test_a_page_of_html_is_classified_by_its_status(status, fault):
    _, outcome = body(b"<html><title>Bad gateway</title></html>", status=status)
    assert outcome.fault is fault


def test_a_page_of_html_in_place_of_an_answer_is_no_empty_answer():
    assert body(b"<html><title>Log in</title></html>")[1].fault is Fault.PROTOCOL


# --- bytes ---


def rich() -> bytes:
    """A stream with something of everything, in more than one alphabet."""
    return stream(
        head(),
        ": keep-alive\n\n",
        start({"type": "thinking", "thinking": "", "signature": ""}),
        piece({"type": "thinking_delta", "thinking": "é"}),
        piece({"type": "signature_delta", "signature": "S=="}),
        stop(),
        'event: content_block_start\ndata: {"type":"content_block_start","index":1,\n'
        'data: "content_block":{"type":"text","text":"你"}}\n\n',
        'data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"好🌍\u2028\x85"}}\n\n',
        {"type": "ping"},
        start(call(), 2),
        args('{"a"', 2),
        args(":1}", 2),
        end("tool_use", cache_read_input_tokens=5),
        OVER,
    )


FORMS = {
    "lf": lambda data: data,
    "cr": lambda data: data.replace(b"\n", b"\r"),
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "bom": lambda data: b"\xef\xbb\xbf" + data,
    "no space": lambda data: data.replace(b"data: ", b"data:"),
    "fields": lambda data: data.replace(b"data: ", b"id: 7\nretry: 1\n: c\ndata: "),
    "no end": lambda data: data.rstrip(b"\n"),
}


@pytest.mark.parametrize("form", FORMS)
@given(places=st.sets(st.integers(1, 2500), max_size=12))
def test_cutting_the_bytes_anywhere_changes_nothing(form, places):
    whole = wire.decode([rich()], dialect="anthropic")
    assert [type(part) for part in whole[1].parts] == [ReasoningPart, TextPart, ToolCallPart]
    assert whole[1].parts[1].text == "你好🌍\u2028\x85"
    data = FORMS[form](rich())
    cuts = [0, *sorted(place for place in places if place < len(data)), len(data)]
    pieces = [data[begin:until] for begin, until in pairwise(cuts)]
    assert wire.decode(pieces, dialect="anthropic") == whole


@pytest.mark.parametrize("form", FORMS)
def test_every_byte_alone_says_the_same(form):
    data = FORMS[form](rich())
    assert wire.decode(wire.cut(data, 1), dialect="anthropic") == wire.decode([rich()], dialect="anthropic")


def test_a_stream_cut_off_anywhere_is_whole_or_told_to_be_cut():
    data, whole = rich(), wire.decode([rich()], dialect="anthropic")[1]
    for length in range(len(data)):
        _, outcome = wire.decode([data[:length]], dialect="anthropic")
        if isinstance(outcome, Failure):
            assert outcome.fault is Fault.TRUNCATED_STREAM, data[:length]
        else:
            assert outcome.parts == whole.parts, data[:length]


def test_an_event_of_megabytes_is_read_and_one_beyond_the_cap_is_an_error():
    pad = "x" * 2_000_000
    (found,) = calls(start(call()), args(json.dumps({"pad": pad})))
    assert json.loads(found[2]) == {"pad": pad}
    decoder = AnswerDecoder(AnthropicFolder(), event_bytes_max=1000)
    decoder.feed(stream(head(), text("x" * 2000)))
    assert decoder.outcome().fault is Fault.TOO_LARGE


KEYS = ["type", "text", "thinking", "signature", "partial_json", "citation", "citations", "id", "name", "input"]
KEYS += ["content", "data", "input_tokens", "output_tokens", "stop_reason", "tool_use_id"]
NAMES = ["text", "thinking", "tool_use", "server_tool_use", "text_delta", "new", "input_json_delta", "max_tokens"]
KINDS = ["message_start", "content_block_start", "content_block_delta", "message_delta", "error", 0]
HONEST = [head(), start(WORDS), start(call()), text("a"), args('{"a":1}'), args("{"), stop(), end(), OVER]

ATOMS = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=3), st.sampled_from(NAMES))
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
INNER = st.none() | st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5)


def scrap(kind, index, inner) -> dict:
    told = dict.fromkeys(("delta", "content_block", "usage", "message"), inner)
    return {"type": kind, "index": index, **told}


SCRAPS = st.one_of(
    st.sampled_from(HONEST),
    st.builds(scrap, st.sampled_from(KINDS), st.integers(-1, 3) | st.none() | st.text(max_size=2), INNER),
    st.binary(max_size=12).map(lambda raw: raw.decode("utf-8", "replace")),
)


@given(events=st.lists(SCRAPS, max_size=8), cuts=st.lists(st.integers(0, 600), max_size=6))
def test_whatever_comes_there_is_one_outcome_and_no_exception_however_it_is_cut(events, cuts):
    data = "".join(event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n" for event in events).encode(
        "utf-8", "replace"
    )
    places = [0, *sorted(min(place, len(data)) for place in cuts), len(data)]
    pieces = [data[begin:until] for begin, until in pairwise(places)]
    shown, outcome = wire.decode([data], dialect="anthropic")
    assert repr(wire.decode(pieces, dialect="anthropic")) == repr((shown, outcome))
    if not isinstance(outcome, Failure):
        for part in outcome.parts:
            repr(part).encode()
        told = [part for part in outcome.parts if isinstance(part, ToolCallPart)]
        ours = [part.provider_id for part in told if not part.provider_executed]
        assert len(set(ours)) == len(ours)
        assert all(ours)
