"""`docs/requirements.md` names every requirement that a test cites, and the tests that cite it.

The tests are read, not run: a citation is any ``pytest.mark.req("R-153", "D-7")``, as a decorator, in ``pytestmark``
or in ``pytest.param``. It counts for the test, class or module that it stands in.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.meta.tree import ROOT, Function, at, name_of, nothing, parse, sources

PAGE = "docs/requirements.md"
ROW = re.compile(r"^\| (?P<number>[RDG]-\d+) \| (?P<text>[^|]+) \| (?P<tests>[^|]*) \|$")
NUMBER = re.compile(r"R-\d{3}|[DG]-[1-9]\d?")


def citations(tree: ast.Module) -> Iterator[tuple[str, str, ast.AST]]:
    """Number, path of the citing class or test inside the file, and place, for every citation in a file."""
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, owner = pending.pop()
        if isinstance(node, Function | ast.ClassDef):
            owner = f"{owner}::{node.name}"
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.req"):
            yield from ((number, owner, node) for number in numbers_of(node))
        pending += [(child, owner) for child in ast.iter_child_nodes(node)]


def numbers_of(call: ast.Call) -> list[str]:
    return [each.value if isinstance(each, ast.Constant) else ast.unparse(each) for each in call.args]


def cited() -> dict[str, set[str]]:
    """The tests that cite each number."""
    tests = defaultdict(set)
    for path in sources("tests"):
        for number, owner, _ in citations(parse(path)):
            tests[number].add(name_of(path).removeprefix("tests/") + owner)
    return tests


def page() -> str:
    return (ROOT / PAGE).read_text(encoding="utf-8")


def test_every_cited_number_stands_in_the_page():
    known = {row["number"] for line in page().split("\n") if (row := ROW.match(line))}
    nothing(
        f"{at(path, node)} {number}"
        for path in sources("tests")
        for number, _, node in citations(parse(path))
        if number not in known
    )


def test_every_row_of_the_page_is_well_formed_and_stands_once():
    lines = [line for line in page().split("\n") if re.match(r"\| [RDG]-", line)]
    nothing(line for line in lines if not ROW.match(line) or not NUMBER.fullmatch(ROW.match(line)["number"]))
    numbers = [ROW.match(line)["number"] for line in lines]
    nothing(sorted({number for number in numbers if numbers.count(number) > 1}))


def test_the_page_names_exactly_the_tests_that_cite_each_number(golden):
    tests = cited()

    def renew(line: str) -> str:
        row = ROW.match(line)
        if not row:
            return line
        shown = "<br>".join(f"`{each}`" for each in sorted(tests[row["number"]])) or "—"
        return f"| {row['number']} | {row['text']} | {shown} |"

    golden(PAGE, "\n".join(map(renew, page().split("\n"))))


def test_citations_are_found_wherever_a_mark_can_stand():
    source = (
        "pytestmark = pytest.mark.req('R-001')\n"
        "@pytest.mark.req('R-002', 'D-3')\nclass TestA:\n    @pytest.mark.req('R-004')\n    def test_b(self): ...\n"
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.req('G-5'))])\ndef test_c(x): ...\n"
    )
    found = {(number, owner) for number, owner, _ in citations(ast.parse(source))}
    assert found == {
        ("R-001", ""),
        ("R-002", "::TestA"),
        ("D-3", "::TestA"),
        ("R-004", "::TestA::test_b"),
        ("G-5", "::test_c"),
    }
