"""Kinds of answers, made and not recorded: every story in every dialect, over every transport, with every ending."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from agentcore.events import ModelFailure
from agentcore.messages import FinishReason
from interpreters.models import Failure, Fault
from tests.models import stories, wire
from tests.models.stories import Story

WEATHER = ("id1", "get_weather", '{"city":"Tokyo"}')
PARIS = ("id2", "get_weather", '{"city":"Paris"}')

STORIES = {
    "text": Story("hi there"),
    "letters": Story("你好🌍é a\u2028b\u0085c\x0bd\x0ce \ufeff"),
    "thinking": Story("hi", "mm nn"),
    "only thinking": Story("", "mm"),
    "call": Story("", calls=(WEATHER,), stop="tools"),
    "text and call": Story("I look.", "mm", (WEATHER,), "tools"),
    "two calls": Story("", calls=(WEATHER, PARIS), stop="tools"),
    "one id twice": Story("", calls=(WEATHER, ("id1", *PARIS[1:])), stop="tools"),
    "no ids": Story("", calls=(("", *WEATHER[1:]), ("", *PARIS[1:])), stop="tools"),
    "the label lies": Story("", calls=(WEATHER,), stop="end"),
    "no arguments": Story("", calls=(("id1", "now", ""),), stop="tools"),
    "cut text": Story("hi", stop="length"),
    "cut call": Story("", calls=(("id1", "get_weather", '{"city":"To'),), stop="length"),
    "call in a cut message": Story("", calls=(WEATHER,), stop="length"),
    "cut call, the label lies": Story("", calls=(("id1", "get_weather", '{"city":"To'),), stop="tools"),
    "doubled key": Story("", calls=(("id1", "get_weather", '{"a":1,"a":2}'),), stop="tools"),
    "not a number": Story("", calls=(("id1", "get_weather", '{"a":NaN}'),), stop="tools"),
    "arguments that are a text": Story("", calls=(("id1", "get_weather", '"{}"'),), stop="tools"),
    "filtered": Story("hi", stop="filtered"),
    "nothing": Story(""),
}

TRANSPORTS = {
    "plain": {},
    "crlf": {"end": "\r\n"},
    "cr": {"end": "\r"},
    "no space": {"space": ""},
    "comments": {"before": ": keep-alive", "fields": ": inside"},
    "ids": {"fields": "id: 7\nretry: 100"},
}


def judge(story: Story, dialect: str, shown: dict, outcome) -> None:
    """Compare what came of a story with the story."""
    assert not isinstance(outcome, Failure), outcome
    found = wire.told(outcome.parts)
    raw = [[name, wire.arguments_of(arguments)] for _, name, arguments in story.calls]
    assert found["text"] == story.text
    assert found["reasoning"] == story.reasoning
    assert found["tools"] == raw
    assert all(found["ids"])
    assert len(set(found["ids"])) == len(found["ids"])
    told = [id_ for id_, _, _ in story.calls]
    assert all(found["ids"][at] == id_ for at, id_ in enumerate(told) if id_ and told.index(id_) == at)
    refused = dialect == "anthropic" and story.stop == "filtered"
    assert wire.stop(outcome.parts, outcome.finish) == (
        "refusal" if refused else "tools" if story.calls and story.stop != "length" else story.stop
    )
    cut_short = any(arguments.endswith("To") for _, _, arguments in story.calls)
    assert wire.runnable(outcome.parts, outcome.finish) is (story.stop != "length" and not cut_short)
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == story.usage
    assert shown.get("TextDelta", "") == story.text
    assert shown.get("ReasoningDelta", "") == story.reasoning


@pytest.mark.parametrize("dialect", stories.DIALECTS)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("name", STORIES)
@pytest.mark.req("R-086", "G-14")
def test_every_story_is_understood_over_every_transport(name, transport, dialect):
    story = STORIES[name]
    data = stories.written(stories.DIALECTS[dialect](story).events, **TRANSPORTS[transport])
    for pieces in ([data], [b"\xef\xbb\xbf" + data], wire.cut(data, 5)):
        judge(story, dialect, *wire.decode(pieces, dialect=dialect))


LOST = {"cut call", "cut call, the label lies", "doubled key", "arguments that are a text"}
"""Stories that a body of Anthropic messages cannot tell: arguments are an object there."""

TOLD_AT_ONCE = [
    (name, dialect) for name in STORIES for dialect in stories.DIALECTS if dialect != "anthropic" or name not in LOST
]


@pytest.mark.parametrize(("name", "dialect"), TOLD_AT_ONCE)
def test_every_story_is_understood_as_one_body(name, dialect):
    story = STORIES[name]
    data = json.dumps(stories.DIALECTS[dialect](story).body).encode()
    for pieces in ([data], [b"\n" + data + b"\n"], wire.cut(data, 5)):
        judge(story, dialect, *wire.decode(pieces, dialect=dialect))
    _, outcome = wire.decode([data[:-1]], dialect=dialect)
    assert (outcome.fault, outcome.kind) == (Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE)


@pytest.mark.parametrize("dialect", stories.DIALECTS)
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "x-gzip"])
def test_a_story_may_be_compressed(encoding, dialect):
    story = STORIES["text and call"]
    data = stories.written(stories.DIALECTS[dialect](story).events)
    packed = zlib.compress(data) if encoding == "deflate" else gzip.compress(data)
    headers = {"content-encoding": encoding}
    judge(story, dialect, *wire.decode(wire.cut(packed, 9), headers=headers, dialect=dialect))


ENDINGS = {"clean": Fault.TRUNCATED_STREAM, "reset": Fault.CONNECTION, "hang": Fault.IDLE_TIMEOUT}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dialect", stories.DIALECTS)
@pytest.mark.parametrize("name", [name for name in STORIES if name != "nothing"])
@pytest.mark.req("D-14")
def test_a_story_whose_end_is_missing_is_none_and_one_whose_end_was_stated_is_whole(name, dialect, ending):
    story = STORIES[name]
    telling = stories.DIALECTS[dialect](story)
    for count in range(1, telling.ends_at + 1):
        _, outcome = wire.decode([stories.written(telling.events[:count])], ending=ending, dialect=dialect)
        assert isinstance(outcome, Failure), telling.events[count - 1]
        assert (outcome.fault, outcome.kind) == (ENDINGS[ending], ModelFailure.RETRYABLE)
    for count in range(telling.ends_at + 1, len(telling.events) + 1):
        _, outcome = wire.decode([stories.written(telling.events[:count])], ending=ending, dialect=dialect)
        assert wire.told(outcome.parts)["text"] == story.text


@pytest.mark.parametrize("dialect", stories.DIALECTS)
@pytest.mark.parametrize("name", STORIES)
def test_the_last_blank_line_may_be_missing(name, dialect):
    data = stories.written(stories.DIALECTS[dialect](STORIES[name]).events)
    for end in (data[:-1], data[:-2]):
        judge(STORIES[name], dialect, *wire.decode([end], dialect=dialect))


ERRORS = [
    ("rate_limit_error", "slow down", Fault.RATE_LIMITED),
    ("rate_limit_exceeded", "slow down", Fault.RATE_LIMITED),
    ("overloaded_error", "Overloaded", Fault.OVERLOADED),
    ("server_error", "x", Fault.SERVER),
    ("api_error", "x", Fault.SERVER),
    ("something_new", "x", Fault.SERVER),
    ("insufficient_quota", "x", Fault.QUOTA),
    ("authentication_error", "x", Fault.AUTH),
    ("permission_error", "x", Fault.PERMISSION),
    ("not_found_error", "x", Fault.NOT_FOUND),
    ("invalid_request_error", "x", Fault.INVALID_REQUEST),
    ("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", Fault.CONTEXT_OVERFLOW),
    ("context_length_exceeded", "x", Fault.CONTEXT_OVERFLOW),
    ("content_filter", "x", Fault.CONTENT_FILTER),
]


@pytest.mark.parametrize("dialect", stories.DIALECTS)
@pytest.mark.parametrize(("type_", "message", "fault"), ERRORS)
@pytest.mark.req("D-14")
def test_an_error_is_one_wherever_it_is_told(type_, message, fault, dialect):
    telling = stories.DIALECTS[dialect](STORIES["text"])
    name, made = stories.ERRORS[dialect]
    error = made(type_, message)
    for count in (0, 1, telling.ends_at):
        for told in ((name, error), ("", error), ("error", error)):
            shown, outcome = wire.decode(
                [stories.written([*telling.events[:count], told, *telling.events[count:]])], dialect=dialect
            )
            assert outcome.fault is fault, (count, told)
            assert shown.get("TextDelta", "") == ("hi there" if count > 1 else "")
    _, outcome = wire.decode([json.dumps(error).encode()], dialect=dialect)
    assert outcome.fault is fault


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_a_code_and_a_message_without_an_answer_are_an_error(dialect):
    for told in ({"code": 500, "msg": "x", "success": False}, {"code": "1302", "message": "x"}):
        _, outcome = wire.decode([json.dumps(told).encode()], dialect=dialect)
        assert outcome.fault in (Fault.SERVER, Fault.RATE_LIMITED)


@pytest.mark.parametrize("dialect", stories.DIALECTS)
@pytest.mark.parametrize("data", ['{"a":', "not json", "[1]", "7", '"x"', "null", '{"a":1}}'])
@pytest.mark.req("D-14")
def test_malformed_data_in_mid_stream_is_an_error_and_never_skipped(data, dialect):
    telling = stories.DIALECTS[dialect](STORIES["text"])
    name = telling.events[-1][0] and telling.events[1][0]
    events = [*telling.events[:2], (name, data), *telling.events[2:]]
    _, outcome = wire.decode([stories.written(events)], dialect=dialect)
    assert (outcome.fault, outcome.kind) == (Fault.MALFORMED_STREAM, ModelFailure.RETRYABLE)


PAGES = {
    b"<html><title>Sign in</title></html>": (Fault.PROTOCOL, ModelFailure.FATAL),
    b"<!doctype html>": (Fault.PROTOCOL, ModelFailure.FATAL),
    b"": (Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE),
    b"OK": (Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE),
    b": ping\n\n: ping\n\n": (Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE),
    b'{"object":"list","data":[]}': (Fault.PROTOCOL, ModelFailure.FATAL),
    b"[]": (Fault.PROTOCOL, ModelFailure.FATAL),
}


@pytest.mark.parametrize("dialect", stories.DIALECTS)
@pytest.mark.parametrize("page", PAGES)
def test_what_is_no_answer_of_the_dialect_says_so(page, dialect):
    _, outcome = wire.decode([page], dialect=dialect)
    assert (outcome.fault, outcome.kind) == PAGES[page]


STATUSES = {
    400: Fault.INVALID_REQUEST,
    401: Fault.AUTH,
    402: Fault.QUOTA,
    403: Fault.PERMISSION,
    404: Fault.NOT_FOUND,
    408: Fault.SERVER,
    422: Fault.INVALID_REQUEST,
    429: Fault.RATE_LIMITED,
    500: Fault.SERVER,
    502: Fault.SERVER,
    503: Fault.SERVER,
    504: Fault.SERVER,
    529: Fault.OVERLOADED,
}


@pytest.mark.parametrize("dialect", stories.DIALECTS)
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("body", [b"", b"x", b"<html><title>x</title>", b'{"detail":"x"}', b"null", b"{"])
@pytest.mark.req("D-14")
def test_a_status_says_enough_where_the_body_says_nothing(body, status, dialect):
    _, outcome = wire.decode([body], status=status, headers={"retry-after": "3"}, dialect=dialect)
    assert (outcome.fault, outcome.status, outcome.retry_after_ms) == (STATUSES[status], status, 3000)


def test_a_label_that_is_not_known_is_kept_and_a_missing_one_is_inferred():
    for label, finish in (("novel_reason", FinishReason.UNKNOWN), (None, FinishReason.UNKNOWN)):
        events = [("", {"choices": [{"delta": {"content": "hi"}, "finish_reason": label}]}), ("", "[DONE]")]
        _, outcome = wire.decode([stories.written(events)])
        assert (outcome.finish, outcome.label) == (finish, label or "")
