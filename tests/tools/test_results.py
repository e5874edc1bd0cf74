"""A deed that is done stays done, whatever its result looks like."""

from __future__ import annotations

import datetime as dt
import enum
import json

import attrs
import pytest

from interpreters.tools.results import text_of


class Colour(enum.Enum):
    RED = "red"


@attrs.frozen
class Pair:
    left: int
    right: float


def endless():
    value = []
    value.append(value)
    return value


def deep():
    value = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "done"),
        ("plain", "plain"),
        ({"a": [1, True, None]}, '{"a": [1, true, null]}'),
        (Pair(1, 2.5), '{"left": 1, "right": 2.5}'),
        (Colour.RED, '"red"'),
        (dt.datetime(2020, 1, 2, tzinfo=dt.UTC), '"2020-01-02T00:00:00Z"'),
        ({1: "x"}, '{"1": "x"}'),
        (10**40, "1" + "0" * 40),
        ("half \ud83d", "half \N{REPLACEMENT CHARACTER}"),
        ("pair \ud83d\ude00", "pair \N{GRINNING FACE}"),
        ({"k": "half \udc00"}, '{"k": "half \N{REPLACEMENT CHARACTER}"}'),
    ],
)
def test_a_value_becomes_text(value, text):
    assert text_of(value) == text
    text_of(value).encode()


def test_numbers_that_are_not_finite_become_null_and_that_is_said():
    text, _, note = text_of({"a": float("nan"), "b": [float("inf"), 1.0]}).partition("\n")
    assert json.loads(text) == {"a": None, "b": [None, 1.0]}
    assert "not finite" in note


@pytest.mark.parametrize("value", [object(), endless(), deep(), {(1, 2): 3}, [open], Exception])
def test_a_result_that_is_not_json_is_a_success_that_says_so(value):
    text = text_of(value)
    assert text.startswith("The tool has done its work, but its result cannot be shown")
    assert "Do not call it again" in text
