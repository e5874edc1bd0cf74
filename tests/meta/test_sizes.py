"""Files and functions stay small enough to be read in one go."""

from __future__ import annotations

import statistics

from tests.meta.tree import PACKAGES, Function, at, core, functions, name_of, nothing, sources

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50
CORE_MEDIAN_BELOW = 12


def length(function: Function) -> int:
    """Lines from `def` to the end, docstring included."""
    return function.end_lineno - function.lineno + 1


def test_files_stay_short():
    lengths = {name_of(path): len(path.read_bytes().split(b"\n")) - 1 for path in sources(*PACKAGES)}
    nothing(f"{name} {lines}" for name, lines in lengths.items() if lines > FILE_LINES_MAX)


def test_functions_stay_short():
    found = ((at(path, each), each.name, length(each)) for path in sources(*PACKAGES) for each in functions(path))
    nothing(f"{place} {name} {lines}" for place, name, lines in found if lines > FUNCTION_LINES_MAX)


def test_half_of_the_functions_of_the_core_are_shorter_than_twelve_lines(report):
    median = statistics.median(length(each) for path in core() for each in functions(path))
    report(f"median length of a function of the core: {median} lines")
    assert median < CORE_MEDIAN_BELOW
