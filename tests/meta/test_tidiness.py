"""Nothing unfinished, nothing silenced without a reason, nothing of the machine it was written on."""

from __future__ import annotations

import re

import pytest

from tests.meta.tree import PACKAGES, files, name_of, nothing, sources

UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|NotImplementedError)\b|pragma:")
SILENCED = re.compile(
    r"#\s*(?:noqa|type:\s*ignore)(?P<codes>:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|\[[\w, -]+\])?(?P<rest>.*)", re.DOTALL
)
MACHINE = re.compile(
    r"(?<![\w.])/(?:work|root|opt|home/\w+|Users/\w+)/|\.\./shared/|pypi\.|pythonhosted|index-url", re.IGNORECASE
)

SELF = "tests/meta/test_tidiness.py"
"""This file holds every word it looks for."""

LINE_MAX_BYTES = 2000
"""A longer line is data, where a search for words means nothing."""


def lines_of(path):
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:  # a fixture with bytes that are no text is no prose either
        return []
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if len(line) < LINE_MAX_BYTES]


def written():
    """Every line of prose or code with its place, this file left out."""
    for path in files():
        if name_of(path) != SELF and path.suffix not in {".png", ".svg"}:
            yield from ((f"{name_of(path)}:{number}", line) for number, line in lines_of(path))


def in_code():
    names = tuple(name_of(path) for path in sources(*PACKAGES, "tests"))
    return ((place, line) for place, line in written() if place.rpartition(":")[0] in names)


def says_which_and_why(found):
    """A code, and at least two words."""
    return bool(found["codes"]) and len(re.findall(r"[A-Za-z]{2,}", found["rest"])) >= 2


def test_nothing_is_left_for_later():
    nothing(f"{place} {line.strip()}" for place, line in in_code() if UNFINISHED.search(line))


def test_whatever_silences_a_check_says_which_and_why():
    found = ((place, SILENCED.search(line)) for place, line in in_code())
    nothing(f"{place} {match[0]}" for place, match in found if match and not says_which_and_why(match))


@pytest.mark.parametrize(
    ("comment", "complete"),
    [
        ("# noqa: BLE001 - the one seam that turns anything into an event", True),
        ("# type: ignore[arg-type]  # the stub forgets None", True),
        ("# noqa", False),
        ("# noqa: BLE001", False),
        ("# noqa because I say so", False),
        ("# type: ignore[arg-type]", False),
    ],
)
def test_the_check_of_silencing_comments_asks_for_code_and_reason(comment, complete):
    assert says_which_and_why(SILENCED.search(comment)) == complete


def test_no_file_names_a_place_of_the_machine_it_was_written_on():
    nothing(f"{place} {line.strip()[:160]}" for place, line in written() if MACHINE.search(line))
