"""Recorded answers of providers, and what a correct client makes of each.

A fixture holds status, header fields, the body as it was written piece by piece, and ``expect`` in neutral words; here
those words are brought to ours.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

from agentcore.events import ModelFailure
from agentcore.messages import (
    ArgumentsState,
    FinishReason,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    parse_arguments,
)
from interpreters.models import AnswerDecoder, Failure, Fault
from interpreters.models.known import DIALECTS

FIXTURES = Path(__file__).parent / "fixtures"

KINDS = {
    "auth": {Fault.AUTH},
    "permission": {Fault.PERMISSION},
    "not_found": {Fault.NOT_FOUND},
    "invalid_request": {Fault.INVALID_REQUEST},
    "context_overflow": {Fault.CONTEXT_OVERFLOW},
    "quota": {Fault.QUOTA},
    "rate_limited": {Fault.RATE_LIMITED},
    "overloaded": {Fault.OVERLOADED},
    "server": {Fault.SERVER},
    "connection": {Fault.CONNECTION},
    "idle_timeout": {Fault.IDLE_TIMEOUT},
    "truncated_stream": {Fault.TRUNCATED_STREAM},
    "protocol": {Fault.PROTOCOL, Fault.MALFORMED_STREAM},
    "connect_timeout": {Fault.CONNECT_TIMEOUT},
    "too_large": {Fault.TOO_LARGE},
    "content_filter": {Fault.CONTENT_FILTER},
    "cancelled": {Fault.CANCELLED},
}
"""Neutral words for failures, in ours."""

LABELS = {
    FinishReason.STOP: "end",
    FinishReason.TOOL_CALLS: "tools",
    FinishReason.LENGTH: "length",
    FinishReason.REFUSAL: "refusal",
    FinishReason.CONTENT_FILTER: "filtered",
    FinishReason.PAUSE: "pause",
    FinishReason.UNKNOWN: "unknown",
}

KEYS = {
    *("outcome", "text", "tools", "stop", "usage", "reasoning", "refusal", "signature", "redacted"),
    *("runnable", "degraded", "arg_error", "unique_ids", "synthesized_ids", "kind", "retry", "retry_after"),
}
"""What a fixture may expect; each is looked at here."""

USAGE = {
    "in": "input_tokens",
    "out": "output_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_written_tokens",
}


def names(dialect: str = "") -> list[str]:
    """The ids of all fixtures, or those of one dialect; with the one that is made here because it is large."""
    stored = {path.stem: json.loads(path.read_text())["dialect"] for path in FIXTURES.glob("*.json")}
    stored["A13"] = "chat"
    return sorted(name for name, told in stored.items() if dialect in ("", told))


def captures() -> list[str]:
    """The names of all recorded streams."""
    return sorted(path.name for path in FIXTURES.glob("*.sse"))


def dialect_of(capture: str) -> str:
    """The dialect of a recorded stream."""
    return capture.split("_")[1]


def load(name: str) -> dict:
    """A fixture by its id."""
    return _large() if name == "A13" else json.loads((FIXTURES / f"{name}.json").read_text())


def _large() -> dict:
    """Two megabytes of arguments in one data line."""
    arguments = json.dumps({"city": "Tokyo", "pad": "x" * 2_000_000})
    call = {"index": 0, "id": "t1", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    chunk = {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    end = {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    written = [f"data: {json.dumps(one)}\n\n".encode() for one in (chunk, end)] + [b"data: [DONE]\n\n"]
    return {
        "id": "A13",
        "title": "2 MB tool arguments in one data line",
        "dialect": "chat",
        "status": 200,
        "headers": {"content-type": "text/event-stream"},
        "steps": [{"b64": base64.b64encode(piece).decode()} for piece in written] + [{"end": "clean"}],
        "expect": {
            "outcome": "ok",
            "text": "",
            "tools": [["get_weather", {"city": "Tokyo", "pad": "x" * 2_000_000}]],
            "stop": "tools",
        },
    }


def body(fixture: dict) -> bytes:
    """The whole body, as it was sent."""
    return b"".join(base64.b64decode(step["b64"]) for step in fixture["steps"] if "b64" in step)


def end(fixture: dict) -> str:
    """How the connection ends: clean, reset or hang."""
    return next(step["end"] for step in reversed(fixture["steps"]) if "end" in step)


def cut(data: bytes, size: int) -> list[bytes]:
    """The data in pieces of one size."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def decode_fixture(fixture: dict, pieces=None):
    """Decode a fixture, its body in the given pieces or else whole."""
    pieces = [body(fixture)] if pieces is None else pieces
    return decode(pieces, fixture["status"], fixture["headers"], end(fixture), dialect=fixture["dialect"])


def decode(pieces, status: int = 200, headers: dict | None = None, ending: str = "clean", *, dialect: str = "chat"):
    """Decode pieces; return what was shown as one text per kind, and the outcome."""
    decoder = AnswerDecoder(DIALECTS[dialect].folder(), status, headers or {})
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    if ending == "clean":
        deltas += decoder.close()
    else:
        fault = {"reset": Fault.CONNECTION, "hang": Fault.IDLE_TIMEOUT}[ending]
        decoder.lose(Failure(fault, "told by the test"))
    shown = {}
    for delta in deltas:
        shown.setdefault(type(delta).__name__, []).append(delta.text)
    return {kind: "".join(texts) for kind, texts in shown.items()}, decoder.outcome()


def told(parts) -> dict:
    """A message in neutral words; what the provider ran itself is no call."""
    words = [part for part in parts if isinstance(part, TextPart)]
    calls = [part for part in parts if isinstance(part, ToolCallPart) and not part.provider_executed]
    return {
        "text": "".join(part.text for part in words if "refusal" not in part.metadata),
        "refusal": "".join(part.text for part in words if "refusal" in part.metadata),
        "reasoning": "".join(part.text for part in parts if isinstance(part, ReasoningPart)),
        "tools": [[call.name, arguments_of(call.arguments)] for call in calls],
        "ids": [call.provider_id for call in calls],
    }


def arguments_of(raw: str):
    """Arguments as a value; `None` where they cannot be used."""
    parsed = parse_arguments(raw)
    return json.loads(parsed.text) if parsed.state is ArgumentsState.COMPLETE else None


def runnable(parts, finish: FinishReason) -> bool:
    """Whether calls of the message may run, by the rule of the core: not if it was cut."""
    calls = [part for part in parts if isinstance(part, ToolCallPart) and not part.provider_executed]
    cut_short = [call for call in calls if parse_arguments(call.arguments).state is ArgumentsState.INCOMPLETE]
    return finish is not FinishReason.LENGTH and not cut_short


def stop(parts, finish: FinishReason) -> str:
    """The derived stop in neutral words: content outweighs the label, except that a cut message is a cut message."""
    calls = any(isinstance(part, ToolCallPart) and not part.provider_executed for part in parts)
    return "tools" if calls and finish is not FinishReason.LENGTH else LABELS[finish]


def check_reply(expect: dict, parts, finish: FinishReason, usage) -> None:
    """Compare a message with what a fixture expects; that ids are told, and each its own, is always expected."""
    found = told(parts)
    assert set(expect) <= KEYS
    assert expect["outcome"] == "ok"
    assert found["text"] == expect["text"]
    assert found["tools"] == expect["tools"]
    assert found["refusal"] == expect.get("refusal", "")
    assert found["reasoning"] == expect.get("reasoning", "")
    assert stop(parts, finish) == expect["stop"]
    assert runnable(parts, finish) is expect.get("runnable", True)
    assert len(set(found["ids"])) == len(found["ids"])
    assert all(found["ids"])
    # Where the end was inferred and not stated by a label, the label is unknown.
    assert (finish is FinishReason.UNKNOWN) is expect.get("degraded", False)
    for kind, count in expect.get("usage", {}).items():
        assert getattr(usage, USAGE[kind]) == count, kind
    beside = "".join(part.metadata for part in parts)
    for verbatim in (*expect.get("redacted", ()), *filter(None, [expect.get("signature")])):
        assert json.dumps(verbatim) in beside
    if "arg_error" in expect:
        raw = [part.arguments for part in parts if isinstance(part, ToolCallPart)]
        assert any(parse_arguments(text).state is ArgumentsState.MALFORMED for text in raw) is expect["arg_error"]


def check_failure(expect: dict, code: str, kind: ModelFailure, retry_after_ms: int | None, now_ms: int) -> None:
    """Compare a failure with what a fixture expects."""
    assert set(expect) <= KEYS
    assert expect["outcome"] == "error"
    assert code in {fault.value for fault in KINDS[expect["kind"]]}
    assert (kind is ModelFailure.RETRYABLE) is expect["retry"]
    after = expect.get("retry_after")
    if after == "date":
        # The one fixture with a date names 2026-10-21 07:28:00 UTC.
        assert retry_after_ms == 1_792_567_680_000 - now_ms
    else:
        assert retry_after_ms == (None if after is None else after * 1000)
