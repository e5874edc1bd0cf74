"""What a tool returned, made into text a model can read.

A deed that is done stays done, whatever becomes of its result: one that cannot be shown is a success that says so, and
never an error that would invite the model to do it again.
"""

from __future__ import annotations

import json
import math
from typing import Any

import attrs
import msgspec

from agentcore.messages import Artifact, clean_text

NOTHING = "done"
"""What the model is told of a tool that returns nothing."""

_NOT_FINITE = "\n[numbers that are not finite were written as null]"


@attrs.frozen
class Returned:
    """A result with more to say than its value. A tool may return any value instead."""

    value: Any
    """What the model is told: text, or anything that JSON can hold."""
    summary: str = ""
    """One line for people; else the first line of the result."""
    resource_version: str = ""
    """Version of what was changed, as the other side names it."""
    artifacts: tuple[Artifact, ...] = ()
    """What was made."""
    terminate: bool = False
    """Suggests to end the turn."""


def text_of(value: Any) -> str:
    """Return the text for a value: itself, or JSON; a value that JSON cannot hold gives text that says so."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return clean_text(value)
    try:
        return _json(value)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return _unshowable(value, error)


def _json(value: Any) -> str:
    plain = msgspec.to_builtins(value, str_keys=True)
    try:
        text, note = json.dumps(plain, ensure_ascii=False, allow_nan=False), ""
    except ValueError:
        text, note = json.dumps(_finite(plain), ensure_ascii=False, allow_nan=False), _NOT_FINITE
    return clean_text(text) + note


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def _unshowable(value: Any, error: Exception) -> str:
    kind = type(value).__name__
    cause = str(error) or type(error).__name__
    return (
        f"The tool has done its work, but its result cannot be shown: it returned {kind}, which is not JSON ({cause}). "
        "Do not call it again for the result. Its author should return text, numbers, lists or objects."
    )
