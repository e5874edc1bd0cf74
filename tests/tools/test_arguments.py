"""What is wrong with arguments, in words a model can mend them by."""

from __future__ import annotations

import json

import pytest

from interpreters.support.arguments import PROBLEMS_MAX, SchemaError, check_schema, problems_of, refusal

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 2, "pattern": "^/"},
            "mode": {"enum": ["fast", "slow"]},
            "names": {"type": "array", "items": {"type": "string"}},
            "size": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
)


@pytest.mark.req("R-111", "R-242")
@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ({"path": "/a"}, []),
        ({}, ["path: missing, but required"]),
        ({"path": 3}, ["path: found integer 3, expected string"]),
        ({"path": None}, ["path: found null, expected string"]),
        ({"path": "/"}, ['path: found string "/", expected minLength 2']),
        ({"path": "ab"}, ['path: found string "ab", expected pattern "^/"']),
        ({"path": "/a", "mode": "quick"}, ['mode: found string "quick", expected one of ["fast", "slow"]']),
        ({"path": "/a", "names": ["x", True]}, ["names[1]: found boolean true, expected string"]),
        ({"path": "/a", "size": "big"}, ['size: found string "big", expected integer or null']),
        ({"path": "/a", "depth": 1}, ['arguments: does not know "depth"']),
        ([], ["arguments: found array [], expected object"]),
    ],
)
def test_a_problem_names_the_argument_what_was_found_and_what_was_expected(arguments, problems):
    assert problems_of(SCHEMA, arguments) == problems


def test_a_long_argument_is_shown_short():
    (problem,) = problems_of(SCHEMA, {"path": "/a", "size": "x" * 1_000_000})
    assert len(problem) < 150


def test_so_many_problems_are_told_and_that_there_are_more():
    problems = problems_of(SCHEMA, {"path": "/a", "names": [1] * 20})
    assert len(problems) == PROBLEMS_MAX + 1
    assert problems[-1] == "and more"


@pytest.mark.req("R-111", "R-136")
def test_the_text_for_the_model_names_tool_problems_and_schema():
    text = refusal("draw", SCHEMA, problems_of(SCHEMA, {}))
    assert text.startswith("The arguments of draw do not fit its schema:\n- path: missing, but required\nSchema: {")


@pytest.mark.parametrize("schema", ["{", "[]", "true", '{"type":"string"}', '{"type":"object","$ref":"#/$defs/no"}'])
def test_what_is_no_schema_of_arguments_is_refused(schema):
    with pytest.raises(SchemaError):
        check_schema(schema)
