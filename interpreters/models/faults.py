"""The tables of what can go wrong with a model request: how providers say it, and what may be done about it.

Everything here is data; ``failures`` reads it. Labels and phrases were collected from the documentation, the SDKs and
recorded answers of providers; each row errs on the side that is bounded (a retry) or final (no retry), never silent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from agentcore.events import ModelFailure


class WireRule(StrEnum):
    """What an answer has to keep; a failure names the rule that was broken."""

    FRAMES = "events are cut and capped as the standard says"
    END = "a stream is an answer only if its end was stated"
    DATA = "what is told is JSON of the dialect, from the first byte to the last"
    ERRORS = "an error is one wherever it is told, and ends the answer"
    TIMERS = "bytes come in time, and so does progress"
    REQUEST = "what is asked for can be sent"


class Fault(StrEnum):
    """What went wrong; the ``code`` of ``ModelFailed``."""

    AUTH = "auth"
    PERMISSION = "permission"
    NOT_FOUND = "not-found"
    INVALID_REQUEST = "invalid-request"
    CONTEXT_OVERFLOW = "context-overflow"
    MEDIA_TOO_LARGE = "media-too-large"
    TOO_LARGE = "too-large"
    QUOTA = "quota"
    CONTENT_FILTER = "content-filter"
    RATE_LIMITED = "rate-limited"
    OVERLOADED = "overloaded"
    SERVER = "server"
    CONNECTION = "connection"
    CONNECT_TIMEOUT = "connect-timeout"
    IDLE_TIMEOUT = "idle-timeout"
    TRUNCATED_STREAM = "truncated-stream"
    MALFORMED_STREAM = "malformed-stream"
    PROTOCOL = "protocol"
    CANCELLED = "cancelled"
    HOOK_FAILED = "hook-failed"
    DEFECT = "defect"


KINDS: Mapping[Fault, ModelFailure] = {
    Fault.AUTH: ModelFailure.FATAL,
    Fault.PERMISSION: ModelFailure.FATAL,
    Fault.NOT_FOUND: ModelFailure.FATAL,
    Fault.INVALID_REQUEST: ModelFailure.FATAL,
    Fault.CONTEXT_OVERFLOW: ModelFailure.OVERFLOW,
    Fault.MEDIA_TOO_LARGE: ModelFailure.MEDIA_TOO_LARGE,
    Fault.TOO_LARGE: ModelFailure.FATAL,
    Fault.QUOTA: ModelFailure.FATAL,
    Fault.CONTENT_FILTER: ModelFailure.FATAL,
    Fault.RATE_LIMITED: ModelFailure.RETRYABLE,
    Fault.OVERLOADED: ModelFailure.RETRYABLE,
    Fault.SERVER: ModelFailure.RETRYABLE,
    Fault.CONNECTION: ModelFailure.RETRYABLE,
    Fault.CONNECT_TIMEOUT: ModelFailure.RETRYABLE,
    Fault.IDLE_TIMEOUT: ModelFailure.RETRYABLE,
    Fault.TRUNCATED_STREAM: ModelFailure.RETRYABLE,
    Fault.MALFORMED_STREAM: ModelFailure.RETRYABLE,
    Fault.PROTOCOL: ModelFailure.FATAL,
    Fault.CANCELLED: ModelFailure.FATAL,
    Fault.HOOK_FAILED: ModelFailure.FATAL,
    Fault.DEFECT: ModelFailure.FATAL,
}
"""What may be done about each fault. ``TOO_LARGE`` is an *answer* beyond our cap, which a retry would meet again."""

RULES: Mapping[Fault, WireRule] = {
    **dict.fromkeys(Fault, WireRule.ERRORS),
    Fault.TOO_LARGE: WireRule.FRAMES,
    Fault.CONNECTION: WireRule.END,
    Fault.TRUNCATED_STREAM: WireRule.END,
    Fault.MALFORMED_STREAM: WireRule.DATA,
    Fault.PROTOCOL: WireRule.DATA,
    Fault.CONNECT_TIMEOUT: WireRule.TIMERS,
    Fault.IDLE_TIMEOUT: WireRule.TIMERS,
    Fault.HOOK_FAILED: WireRule.REQUEST,
    Fault.DEFECT: WireRule.REQUEST,
}
"""Which rule each fault breaks."""

NEVER = frozenset({Fault.QUOTA, Fault.AUTH, Fault.PERMISSION, Fault.CONTENT_FILTER, Fault.INVALID_REQUEST})
"""Faults that no header makes retryable (D-14)."""

TOO_LARGE_STATUS = 413
"""The status that says that the request itself is too large."""

STATUSES: Mapping[int, Fault] = {
    401: Fault.AUTH,
    402: Fault.QUOTA,
    403: Fault.PERMISSION,
    404: Fault.NOT_FOUND,
    408: Fault.SERVER,
    409: Fault.SERVER,
    425: Fault.SERVER,
    429: Fault.RATE_LIMITED,
    529: Fault.OVERLOADED,
}
"""What a status means where the body says nothing. Any other 5xx is the server's fault, any other 4xx the request's."""

_LABELS: Mapping[Fault, str] = {
    Fault.CONTEXT_OVERFLOW: """context_length_exceeded exceed_context_size_error context_window_exceeded
        contextwindowexceedederror model_context_window_exceeded prompt_too_long""",
    Fault.MEDIA_TOO_LARGE: "image_too_large file_too_large media_too_large request_too_large",
    Fault.QUOTA: """insufficient_quota billing_error billing_hard_limit_reached billing_not_active payment_required
        insufficient_balance insufficient_funds insufficient_credits insufficient_user_quota
        exceeded_current_quota_error quota_exceeded access_terminated""",
    Fault.AUTH: """invalid_api_key incorrect_api_key missing_api_key api_key_invalid authentication_error
        invalid_authentication_error authenticationerror unauthenticated unauthorized""",
    Fault.PERMISSION: """permission_error permission_denied permissiondeniederror forbidden
        unsupported_country_region_territory""",
    Fault.CONTENT_FILTER: """content_filter content_policy_violation contentpolicyviolationerror
        responsibleaipolicyviolation image_content_policy_violation cyber_policy bio_policy
        data_inspection_failed content_moderation prohibited_content invalid_prompt""",
    Fault.OVERLOADED: """overloaded overloaded_error engine_overloaded engine_overloaded_error model_overloaded
        server_overloaded insufficient_system_resource slow_down unavailable service_unavailable
        service_unavailable_error""",
    Fault.RATE_LIMITED: """rate_limit_exceeded rate_limit_error rate_limit_reached_error ratelimiterror rate_limited
        too_many_requests throttlingexception throttling resource_exhausted""",
    Fault.NOT_FOUND: "model_not_found not_found_error notfounderror not_found model_not_exist",
}

LABELS: Mapping[str, Fault] = {label: fault for fault, labels in _LABELS.items() for label in labels.split()}
"""Error types and codes that mean one thing, in lower case."""

GENERAL: Mapping[str, Fault] = {
    **dict.fromkeys(
        (
            *("invalid_request_error", "invalid_request", "bad_request", "badrequesterror", "invalid_argument"),
            *(
                "invalid_image",
                "invalid_image_format",
                "invalid_base64_image",
                "invalid_image_url",
                "image_parse_error",
            ),
            *("unsupported_image_media_type", "empty_image_file", "failed_to_download_image", "image_file_not_found"),
            *("image_too_small", "unsupported_parameter", "unsupported_value", "previous_response_not_found"),
        ),
        Fault.INVALID_REQUEST,
    ),
    **dict.fromkeys(
        ("server_error", "api_error", "internal_server_error", "internal_error", "internal", "upstream_error"),
        Fault.SERVER,
    ),
}
"""Error types that only say whose fault it was."""

_PHRASES: Mapping[Fault, str] = {
    Fault.MEDIA_TOO_LARGE: r"""
        \b(image|media|audio|video|pdf|document|attachment|file)s?\b[^.]{0,60}(too large|too big|exceed|maximum size)
        too many images
        maximum of \d+ pdf pages
        """,
    Fault.CONTEXT_OVERFLOW: r"""
        context (length|window|size|limit)
        maximum context
        context.{0,10} overflow
        (prompt|input) is too long
        prompt (length )?exceeds
        (maximum|range of) (prompt|input|model) length
        inputs?.? tokens? [^.]{0,40}exceed
        input token count [^.]{0,40}exceed
        inputs.? tokens \+
        tokens in the prompt cannot exceed
        reduce the length of the (messages|prompt|input)
        request too large for model
        """,
    Fault.QUOTA: r"""
        insufficient[ _](quota|balance|credits?|funds)
        exceeded your current quota
        credit balance is too low
        out of credits
        payment required
        余额不足|欠费
        billing
        spending limit
        api usage limits
        """,
    Fault.AUTH: r"""
        (invalid|incorrect|missing|no|expired) api[ _-]?key
        api[ _-]?key (is )?(not valid|invalid|expired)
        """,
    Fault.CONTENT_FILTER: r"""
        content (management )?policy
        content filter
        敏感内容|不安全或敏感
        safety system
        responsible ai
        flagged as potentially violating
        """,
    Fault.OVERLOADED: r"""
        overloaded
        (at|over|exceeded|no available) capacity
        """,
    Fault.RATE_LIMITED: r"""
        rate.?limit
        too many requests
        (tokens|requests) per min
        """,
    Fault.NOT_FOUND: r"""
        model\b[^.]{0,80}(not found|does not exist)
        (unknown|no such) model
        """,
}

PHRASES: tuple[tuple[Fault, re.Pattern[str]], ...] = tuple(
    (fault, re.compile("|".join(words.strip() for words in text.strip().splitlines())))
    for fault, text in _PHRASES.items()
)
"""Words of a message, in lower case, that give a fault away."""

FINISH_FAULTS: Mapping[str, Fault] = {
    "error": Fault.SERVER,
    "network_error": Fault.SERVER,
    "abort": Fault.SERVER,
    "aborted": Fault.SERVER,
    "insufficient_system_resource": Fault.OVERLOADED,
    "malformed_function_call": Fault.SERVER,
}
"""Finish labels that tell of a fault and not of an end."""
