"""`docs/guarantees.md` promises nothing without a test, and names no test that is not there."""

from __future__ import annotations

import re

from tests.meta.tree import ROOT, functions, nothing, sources

PAGE = "docs/guarantees.md"
ROW = re.compile(r"^\| (?P<promise>[^|]+\.) \| `(?P<file>[\w/]+\.py)::(?P<name>test_\w+)` \|$")
FRAME = re.compile(r"^\| promise \| shown by \|$|^\|---\|---\|$")


def rows() -> list[str]:
    lines = (ROOT / PAGE).read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line.startswith("|") and not FRAME.match(line)]


def test_every_promise_is_a_sentence_with_a_test():
    assert len(rows()) > 30
    nothing(line for line in rows() if not ROW.match(line))


def test_every_test_that_is_named_is_there():
    top = ROOT / "tests"
    there = {(str(path.relative_to(top)), each.name) for path in sources("tests") for each in functions(path)}
    named = [(match["file"], match["name"]) for line in rows() if (match := ROW.match(line))]
    nothing(f"{file}::{name}" for file, name in named if (file, name) not in there)


def test_no_promise_is_made_twice():
    promises = [match["promise"] for line in rows() if (match := ROW.match(line))]
    nothing(sorted({each for each in promises if promises.count(each) > 1}))
