"""What the folders of every dialect share: an event's JSON, finish labels, fields that may hold anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from agentcore.messages import FinishReason
from interpreters.models.failures import Failure, WireFault, told_fault
from interpreters.models.faults import Fault
from interpreters.models.verbatim import read_with_doubles

TERMINATOR = "[DONE]"
"""Data of the event after which nothing comes."""

_FINISHES: Mapping[FinishReason, str] = {
    FinishReason.STOP: "stop end_turn eos eos_token stop_sequence complete completed",
    FinishReason.TOOL_CALLS: "tool_calls tool_call tool_use function_call",
    FinishReason.LENGTH: """length max_tokens max_output_tokens model_length truncated
        model_context_window_exceeded context_length_exceeded""",
    FinishReason.REFUSAL: "refusal",
    FinishReason.CONTENT_FILTER: "content_filter sensitive safety recitation blocklist prohibited_content spii",
    FinishReason.PAUSE: "pause pause_turn compaction",
}

_TERMINATOR_MAX = 64
_INDEX = re.compile("[0-9]{1,9}", re.ASCII)
_CAREFUL = re.compile(r'"(?:arguments|input)"\s*:\s*\{\s*"|[0-9]{19}')

FINISHES: Mapping[str, FinishReason] = {
    label: finish for finish, labels in _FINISHES.items() for label in labels.split()
}
"""What each finish label means, in lower case; any other, and none at all, is unknown."""


def is_terminator(data: str) -> bool:
    """Say whether an event is the one after which nothing comes."""
    return len(data) < _TERMINATOR_MAX and data.strip() == TERMINATOR


def finish_of(label: str, *, refused: bool = False) -> FinishReason:
    """Read a finish label; a refusal in the content outweighs one that claims an ordinary end."""
    finish = FINISHES.get(label.lower(), FinishReason.UNKNOWN)
    return FinishReason.REFUSAL if refused and finish in (FinishReason.STOP, FinishReason.UNKNOWN) else finish


def malformed(what: str) -> WireFault:
    """Make the fault of an answer that breaks its own format."""
    return WireFault(Failure(Fault.MALFORMED_STREAM, f"the stream is malformed: {what}"))


def read_json(text: str) -> Any:
    """Parse JSON as fast as can be; ``ValueError`` or ``RecursionError`` for what is none.

    Where it matters it is parsed with care: objects that may be arguments, whose doubled keys must not be lost; numbers
    that only Python can hold; lone surrogates, NaN and infinities, which are for whoever reads the values to refuse.
    """
    # One after the other, and not in a loop: this is asked of every piece of every answer.
    marked = "_call" in text or '_block"' in text or '"item"' in text or "_details" in text or "extra" in text
    if marked and _CAREFUL.search(text):
        return read_with_doubles(text)
    try:
        return orjson.loads(text)
    except ValueError:
        return read_with_doubles(text)


def event_value(name: str, data: str) -> dict[str, Any]:
    """Return the object that an event holds; ``WireFault`` for one that is malformed, or that tells of a fault."""
    try:
        value = read_json(data)
    except (ValueError, RecursionError) as error:
        if name == "error":
            raise told_fault(data) from error
        raise malformed(f"data that is not JSON ({error})") from error
    if name == "error":
        raise told_fault(value)
    if not isinstance(value, dict):
        raise malformed(f"expected an object, found {type(value).__name__}")
    return value


def tells_of_error(value: Mapping[str, Any], content: str) -> bool:
    """Say whether an object tells of a fault; ``content`` is the field without which it is no answer."""
    if value.get("error") or value.get("type") == "error" or value.get("object") == "error":
        return True
    return content not in value and "code" in value and isinstance(value.get("message", value.get("msg")), str)


def text_of(value: Any) -> str:
    """Return a text, or nothing for what is none."""
    return value if isinstance(value, str) else ""


def index_of(value: Any) -> int | None:
    """Return a place in a list, also one that came as text, or ``None`` for what is none."""
    if isinstance(value, str):
        return int(value) if _INDEX.fullmatch(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def list_of(value: Any) -> list[Any]:
    """Return a list, or an empty one for what is none."""
    return value if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one for what is none."""
    return value if isinstance(value, dict) else {}
