"""One classification for every way in which a provider says that something went wrong."""

from __future__ import annotations

import json

import pytest

from agentcore.events import ModelFailure
from interpreters.models import PROFILES, Failure, Fault, classify
from interpreters.models.faults import KINDS, NEVER, RULES
from tests.models import wire

RETRYABLE, FATAL = ModelFailure.RETRYABLE, ModelFailure.FATAL


def test_every_fault_says_what_may_be_done_about_it():
    assert set(KINDS) == set(Fault)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529, 599])
@pytest.mark.req("R-142", "R-228", "D-14")
def test_these_statuses_may_be_tried_again(status):
    assert classify("", status).kind is RETRYABLE


@pytest.mark.parametrize("status", [301, 307, 400, 401, 402, 403, 404, 405, 415, 422, 451])
@pytest.mark.req("R-142", "R-228", "D-14")
def test_these_statuses_are_final(status):
    assert classify("", status).kind is FATAL


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (302, Fault.PROTOCOL),
        (400, Fault.INVALID_REQUEST),
        (401, Fault.AUTH),
        (402, Fault.QUOTA),
        (403, Fault.PERMISSION),
        (404, Fault.NOT_FOUND),
        (413, Fault.MEDIA_TOO_LARGE),
        (429, Fault.RATE_LIMITED),
        (500, Fault.SERVER),
        (529, Fault.OVERLOADED),
    ],
)
def test_a_status_alone_says_what_went_wrong(status, fault):
    assert classify("", status).fault is fault


@pytest.mark.parametrize(
    ("status", "error", "fault"),
    [
        # a code or type that means one thing goes before the status
        (429, {"error": {"message": "x", "code": "insufficient_quota"}}, Fault.QUOTA),
        (429, {"error": {"message": "x", "type": "engine_overloaded_error"}}, Fault.OVERLOADED),
        (400, {"error": {"message": "x", "code": "context_length_exceeded"}}, Fault.CONTEXT_OVERFLOW),
        (400, {"error": {"message": "x", "code": "content_filter"}}, Fault.CONTENT_FILTER),
        (500, {"error": {"message": "x", "code": "rate_limit_exceeded"}}, Fault.RATE_LIMITED),
        (503, {"error": {"message": "x", "status": "UNAVAILABLE", "code": 503}}, Fault.OVERLOADED),
        (400, [{"error": {"message": "x", "status": "RESOURCE_EXHAUSTED"}}], Fault.RATE_LIMITED),
        # words, under a general type
        (400, {"error": {"message": "This model's maximum context length is 8192 tokens."}}, Fault.CONTEXT_OVERFLOW),
        (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}, Fault.CONTEXT_OVERFLOW),
        (400, {"error": {"message": "The input token count (9) exceeds the maximum"}}, Fault.CONTEXT_OVERFLOW),
        (500, {"error": "Requested tokens (9) exceed context window of 8"}, Fault.CONTEXT_OVERFLOW),
        (400, {"error": {"message": "image exceeds 5 MB maximum"}}, Fault.MEDIA_TOO_LARGE),
        (400, {"error": {"message": "Your credit balance is too low", "type": "invalid_request_error"}}, Fault.QUOTA),
        (400, {"error": {"message": "API key not valid. Please pass a valid API key."}}, Fault.AUTH),
        (400, {"error": {"message": "flagged as potentially violating our usage policy"}}, Fault.CONTENT_FILTER),
        (400, {"error": {"message": "The model is overloaded"}}, Fault.OVERLOADED),
        (400, {"error": {"message": "The model `x` does not exist"}}, Fault.NOT_FOUND),
        (404, {"error": "model 'x' not found, try pulling it first"}, Fault.NOT_FOUND),
        (
            413,
            {"error": {"message": "Request too large for model `x`", "code": "rate_limit_exceeded"}},
            Fault.CONTEXT_OVERFLOW,
        ),
        (422, {"detail": [{"loc": ["body"], "msg": "field required", "type": "missing"}]}, Fault.INVALID_REQUEST),
        # a fault wrapped in a fault
        (
            400,
            {"error": {"message": "Provider returned error", "metadata": {"raw": '{"message":"prompt is too long"}'}}},
            Fault.CONTEXT_OVERFLOW,
        ),
        # inside an answer of status 200 the object has to say all
        (200, {"error": {"message": "x", "code": "503"}}, Fault.SERVER),
        (200, {"error": {"message": "x", "code": 401}}, Fault.AUTH),
        (200, {"error": {"message": "x", "type": "invalid_request_error"}}, Fault.INVALID_REQUEST),
        (None, {"error": {"message": "x", "type": "server_error"}}, Fault.SERVER),
        (None, {"error": {"message": "x"}}, Fault.SERVER),
        # not everything that sounds alike is alike
        (400, {"error": {"message": "max_tokens is too large: 9. It supports at most 4096"}}, Fault.INVALID_REQUEST),
        (400, {"error": {"message": "profile exceeds nothing"}}, Fault.INVALID_REQUEST),
    ],
)
@pytest.mark.req("D-14", "R-138")
def test_the_body_of_an_error_says_what_went_wrong(status, error, fault):
    assert classify(error, status).fault is fault


def test_what_may_be_done_follows_from_the_fault():
    assert classify({"code": "context_length_exceeded"}, 400).kind is ModelFailure.OVERFLOW
    assert classify("", 413).kind is ModelFailure.MEDIA_TOO_LARGE


@pytest.mark.parametrize(
    "error", [None, "", 7, [], {}, {"error": None}, {"error": []}, {"error": {"error": {"error": {}}}}]
)
def test_an_error_without_words_still_has_a_message(error):
    assert classify(error, 503) == Failure(Fault.SERVER, "no reason was given", 503)


def test_a_label_alone_is_a_message_that_can_be_stored():
    assert classify({"error": {"code": "bad_\ud800"}}).message == "bad_\ufffd"


def test_deep_and_wide_errors_are_read_within_bounds():
    deep: dict = {"message": "x"}
    for _ in range(1000):
        deep = {"error": deep}
    assert classify(deep, 500).fault is Fault.SERVER
    assert len(classify([{"message": "y" * 5_000}] * 1000, 500).message) < 2_000


@pytest.mark.parametrize(
    ("headers", "wait_ms"),
    [
        ({"retry-after": "2"}, 2000),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "1.5"}, 1500),
        ({"retry-after": " 3 "}, 3000),
        ({"retry-after-ms": "250"}, 250),
        ({"retry-after-ms": "250", "retry-after": "9"}, 250),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, 10_000),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 -0000"}, 10_000),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:10 GMT"}, 0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Xyz, 99 Foo 2023 99:99:99 GMT"}, None),
        ({}, None),
    ],
)
@pytest.mark.req("D-14")
def test_the_servers_wish_to_wait_is_read_in_seconds_milliseconds_or_as_a_date(headers, wait_ms):
    assert classify("", 429, headers, now_ms=1_700_000_000_000).retry_after_ms == wait_ms


def test_a_wish_to_wait_inside_the_body_is_read():
    error = {"error": {"message": "x", "details": [{"@type": "RetryInfo", "retryDelay": "34s"}]}}
    assert classify(error, 429).retry_after_ms == 34_000


@pytest.mark.parametrize(
    ("words", "wait_ms"),
    [
        ("Please try again in 1.5s.", 1500),
        ("Please try again in 20ms.", 20),
        ("try again in 6m0s", 360_000),
        ("Retry after 30 seconds", 30_000),
        ("try again in 1h2m3s", 3_723_000),
        ("retry in a moment", None),
        ("retry after 30", None),
    ],
)
def test_a_wish_to_wait_in_words_is_read_where_nothing_else_tells_it(words, wait_ms):
    error = {"error": {"message": f"Rate limit reached. {words}", "code": "rate_limit_exceeded"}}
    assert classify(error).retry_after_ms == wait_ms
    assert classify(error, 429, {"retry-after": "7"}).retry_after_ms == 7000


@pytest.mark.parametrize(
    ("family", "code", "status", "fault"),
    [
        ("zhipu", "1113", 429, Fault.QUOTA),
        ("zhipu", 1302, 429, Fault.RATE_LIMITED),
        ("zhipu", "1300", 400, Fault.CONTENT_FILTER),
        ("mistral", "1300", 429, Fault.RATE_LIMITED),
        ("mistral", "3505", 429, Fault.OVERLOADED),
        ("qwen", "DataInspectionFailed", 400, Fault.CONTENT_FILTER),
        ("qwen", "Throttling.RateQuota", 429, Fault.RATE_LIMITED),
        ("azure", "DeploymentNotFound", 404, Fault.NOT_FOUND),
        ("openrouter", 502, 200, Fault.OVERLOADED),
        ("compatible", "1113", 429, Fault.QUOTA),
        ("compatible", "Arrearage", 400, Fault.QUOTA),
        ("compatible", 7777, 400, Fault.INVALID_REQUEST),
    ],
)
@pytest.mark.req("D-14")
def test_the_codes_of_a_family_mean_what_it_says(family, code, status, fault):
    codes = PROFILES[family].codes if family in PROFILES else None
    assert classify({"error": {"code": code, "message": "x"}}, status, codes=codes).fault is fault


def test_every_code_of_a_family_is_in_lower_case_as_it_is_looked_up():
    assert all(code == code.lower() for profile in PROFILES.values() for code in profile.codes)


def test_every_fault_has_a_kind_and_a_rule():
    assert set(KINDS) == set(RULES) == set(Fault)


def test_a_quota_that_refills_by_itself_is_a_rate():
    error = {"error": {"message": "You exceeded your current quota", "status": "X"}}
    assert classify(error, 429).fault is Fault.QUOTA
    assert classify(error, 429, {"retry-after": "5"}).fault is Fault.RATE_LIMITED


@pytest.mark.parametrize(
    ("status", "header", "kind"),
    [
        (503, "false", FATAL),
        (404, "true", RETRYABLE),
        (503, "maybe", RETRYABLE),
        (401, "true", FATAL),
        (402, "true", FATAL),
        (400, "true", FATAL),
    ],
)
@pytest.mark.req("D-14")
def test_a_header_overrides_what_may_be_tried_again_except_what_never_may(status, header, kind):
    assert classify("", status, {"x-should-retry": header}).kind is kind


@pytest.mark.parametrize("fault", sorted(NEVER))
@pytest.mark.req("D-14")
def test_quota_credentials_policy_and_invalid_requests_are_never_tried_again(fault):
    assert KINDS[fault] is FATAL
    assert Failure(fault, "x", should_retry=True).kind is FATAL


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html><head><title>502 Bad &amp; Gateway</title></head></html>", "a page titled '502 Bad & Gateway'"),
        (b"<html></html>", "a page without a title"),
        (b"upstream connect error", "upstream connect error"),
        (b"", "no reason was given"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"x" * 10_000, "x" * 300),
        (json.dumps({"error": {"message": "lone \ud800"}}).encode(), "lone \ufffd"),
    ],
)
@pytest.mark.parametrize("size", [1, 10**9])
def test_an_error_page_is_told_in_words_a_person_can_read(body, message, size):
    _, outcome = wire.decode(wire.cut(body, max(size, 1)), status=502)
    assert (outcome.message, outcome.fault, outcome.status) == (message, Fault.SERVER, 502)


def test_an_endless_error_page_is_read_only_so_far():
    _, outcome = wire.decode([b"y" * 100_000 for _ in range(100)], status=500)
    assert outcome.message == "y" * 300
