"""Bytes to JSON values, strictly: what two parsers could read differently is refused.

1. orjson reads almost everything. Written again, what it read must give the same bytes: then no key stood twice.
2. Bytes that it refuses, or that come back different, go the slow way, which finds the place of a doubled key or a NaN.
   Blank space and escapes of another hand's making are fine; half a surrogate pair is replaced, visibly (U+FFFD).
"""

from __future__ import annotations

import json
from typing import Any

import attrs
import orjson

from agentcore.codec.errors import Flaw, PathStep
from agentcore.messages import clean_text


def parse(data: bytes) -> Any:
    """Return the JSON value; ``Flaw`` for what is not JSON, NaN, infinities and doubled keys."""
    try:
        value = orjson.loads(data)
        if orjson.dumps(value) == data:
            return value
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass  # the slow way tells what it is, or that it is harmless
    return _parse_with_care(data)


@attrs.frozen
class _Mark:
    """Stands where something was found that must not be there."""

    problem: str
    key: tuple[str, ...] = ()


def _parse_with_care(data: bytes) -> Any:
    try:
        value = json.loads(data.decode(), object_pairs_hook=_object, parse_constant=_constant)
        _refuse_marks(value)
        return json.loads(clean_text(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise Flaw(f"this is not JSON: {clean_text(str(error))}") from None


def _object(pairs: list[tuple[str, Any]]) -> Any:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            return _Mark("the key stands twice in one object", (key,))
        found[key] = value
    return found


def _constant(name: str) -> _Mark:
    return _Mark(f"{name} is not JSON")


def _refuse_marks(value: Any) -> None:
    """Walk with a list, so that deep nesting cannot run out of stack."""
    places: list[tuple[tuple[PathStep, ...], Any]] = [((), value)]
    while places:
        path, item = places.pop()
        if isinstance(item, _Mark):
            flaw = Flaw(item.problem)
            flaw.steps = [*item.key, *reversed(path)]
            raise flaw
        if isinstance(item, dict):
            places.extend(((*path, key), inner) for key, inner in item.items())
        elif isinstance(item, list):
            places.extend(((*path, index), inner) for index, inner in enumerate(item))
