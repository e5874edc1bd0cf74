"""Arguments checked against a tool's JSON schema, with messages a model can mend its call by.

1. No reference to anything outside the schema is ever fetched: a schema is not an errand.
2. A message names the argument by its path, says what was found and what was expected, and stays short however long
   the argument is.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from interpreters.support.cleaning import shortened

PROBLEMS_MAX = 8
"""So many problems are told at once."""

_FOUND_MAX = 80
_EXPECTED_MAX = 300
_SCHEMA_MAX = 2000


class SchemaError(ValueError):
    """A text is not a usable JSON schema for arguments."""


def _refuse(uri: str) -> NoReturn:
    raise LookupError(f"references to other documents are refused ({uri}); put the definition into $defs instead")


@functools.lru_cache(maxsize=512)
def _validator(schema: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json.loads(schema), retriever=_refuse)


def check_schema(schema: str) -> None:
    """Accept the JSON text of a schema of an object, or raise ``SchemaError`` saying what is wrong with it."""
    try:
        value = json.loads(schema)
        _validator(schema)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        message = str(error).split("\n", 1)[0]
        raise SchemaError(shortened(message, _EXPECTED_MAX)) from error
    if not isinstance(value, dict) or value.get("type") != "object":
        raise SchemaError('the schema must be one of an object: {"type": "object", "properties": ...}')


def problems_of(schema: str, arguments: Any) -> list[str]:
    """Return what is wrong with parsed arguments, each as ``path: found X, expected Y``; empty if they fit."""
    found = [_problem(error) for error in islice(_validator(schema).iter_errors(arguments), PROBLEMS_MAX + 1)]
    return found if len(found) <= PROBLEMS_MAX else [*found[:PROBLEMS_MAX], "and more"]


def refusal(tool: str, schema: str, problems: Sequence[str]) -> str:
    """Return the text for the model: every problem, and the schema to try again with."""
    listed = "\n".join(f"- {problem}" for problem in problems)
    return f"The arguments of {tool} do not fit its schema:\n{listed}\nSchema: {shortened(schema, _SCHEMA_MAX)}"


def _problem(error: jsonschema_rs.ValidationError) -> str:
    path = _path(error.instance_path)
    value = error.kind.value
    match error.kind.name:
        case "required":
            return f"{_path([*error.instance_path, value])}: missing, but required"
        case "additionalProperties" | "unevaluatedProperties":
            known = error.kind.value if isinstance(value, list) else [value]
            return f"{path}: does not know {', '.join(map(_shown, known))}"
        case _:
            return f"{path}: found {_found(error.instance)}, expected {_expected(error)}"


def _expected(error: jsonschema_rs.ValidationError) -> str:
    value = error.kind.value
    match error.kind.name:
        case "type":
            return " or ".join(value) if isinstance(value, list) else str(value)
        case "enum":
            return "one of " + shortened(json.dumps(value, ensure_ascii=False), _EXPECTED_MAX)
        case "anyOf" | "oneOf":
            branches = [_expected(branch[0]) for branch in value or () if branch]
            return shortened(" or ".join(dict.fromkeys(branches)) or "another form", _EXPECTED_MAX)
        case name:
            return shortened(f"{name} {json.dumps(value, ensure_ascii=False, default=str)}", _EXPECTED_MAX)


_TYPES: Sequence[tuple[type, str]] = (
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
    (dict, "object"),
    (list, "array"),
)


def _found(value: Any) -> str:
    if value is None:
        return "null"
    kind = next((name for known, name in _TYPES if isinstance(value, known)), "value")
    return f"{kind} {_shown(value)}"


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False, default=str), _FOUND_MAX)


def _path(path: Sequence[str | int]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{shortened(step, _FOUND_MAX)}"
    return text.removeprefix(".") or "arguments"
