"""Canonical JSON text and digests: how values from outside are kept and compared.

1. A JSON value inside a state or event is text in one canonical form (sorted keys, no spaces), never a dict: frozen,
   hashable, comparable.
2. Arguments come from a model and are not to be trusted: NaN, infinities and duplicate keys are refused, lone
   surrogates replaced, and text that merely *ends early* is told apart from text that is wrong. The first means that
   the whole message was cut, the second spoils one call.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Any, NoReturn

import attrs

from agentcore.messages.prefix import ends_early

JSON_DEPTH_MAX = 200
"""Nesting beyond this is refused, well before a recursive parser of anyone downstream gives up."""


class ArgumentsState(StrEnum):
    """What reading a call's raw arguments showed."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    MALFORMED = "malformed"


@attrs.frozen
class ParsedArguments:
    """The verdict on raw argument text."""

    state: ArgumentsState
    """Whether the text is a whole JSON object, ends early, or is wrong."""
    text: str
    """The canonical object if complete, else what is wrong and where."""


class _RefusedError(ValueError):
    """Well-formed by Python's parser, but not JSON that can be relied on."""


def canonical_json(value: Any) -> str:
    """Return the one canonical text of a JSON value; ``ValueError`` for NaN, infinities and what is not JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return clean_text(text)


def clean_text(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, so that the text can be stored as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def digest(text: str) -> str:
    """Return the SHA-256 of the text's UTF-8 bytes, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def parse_json(text: str) -> Any:
    """Parse strictly; ``ValueError`` for NaN, duplicate keys, overlong numbers and too much nesting."""
    value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    _check_depth(value)
    return value


def parse_arguments(raw: str) -> ParsedArguments:
    """Read a call's raw arguments; text of nothing but blanks means the empty object."""
    if not raw.strip():
        return ParsedArguments(ArgumentsState.COMPLETE, "{}")
    try:
        value = parse_json(raw)
        if not isinstance(value, dict):
            return _malformed(f"expected a JSON object, found {type(value).__name__}")
        return ParsedArguments(ArgumentsState.COMPLETE, canonical_json(value))
    except json.JSONDecodeError as error:
        if ends_early(raw):
            return ParsedArguments(ArgumentsState.INCOMPLETE, f"The JSON ends early, behind character {len(raw)}")
        return _malformed(f"{error.msg.removesuffix(' at')} at character {error.pos}")
    except (ValueError, RecursionError) as error:
        return _malformed(str(error))


def _malformed(problem: str) -> ParsedArguments:
    return ParsedArguments(ArgumentsState.MALFORMED, clean_text(problem))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _RefusedError(f"the key {name!r} stands twice in one object")
        found[name] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise _RefusedError(f"{name} is not JSON")


def _check_depth(value: Any) -> None:
    """Walk level by level, so that the check itself cannot run out of stack."""
    level = [value]
    for _ in range(JSON_DEPTH_MAX):
        level = [inner for item in level for inner in _children(item)]
        if not level:
            return
    raise _RefusedError(f"nested deeper than {JSON_DEPTH_MAX} levels")


def _children(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else []
