"""The core is pure: it computes, and reaches nothing outside itself."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.meta.tree import PACKAGES, at, core, imported, name_of, nothing, parse, sources

PURE_STDLIB = {
    "__future__",
    "abc",
    "base64",
    "bisect",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "string",
    "textwrap",
    "types",
    "typing",
    "unicodedata",
}
"""Modules of the standard library that know no clock, chance, process, file or log."""

CODEC_ONLY = {"cattrs", "orjson"}
"""Libraries that turn values into bytes; they stay where that is done."""

IMPURE_NAMES = {"open", "input", "print", "exec", "eval", "compile", "breakpoint", "__import__", "id"}
"""Builtins that reach outside, or whose answer differs from run to run."""

COMPILES = {("agentcore/evolve.py", "exec")}
"""The one place where text is compiled, made of the names of fields alone, as attrs makes an `__init__`."""


@pytest.mark.req("R-007", "R-012")
def test_the_core_imports_attrs_and_the_pure_standard_library_alone():
    wrong = []
    for path in core():
        in_codec = name_of(path).startswith("agentcore/codec")
        allowed = PURE_STDLIB | {"attrs", "agentcore"} | (CODEC_ONLY if in_codec else set())
        wrong += [f"{at(path, line)} {name}" for name, line in imported(path) if name.split(".")[0] not in allowed]
    nothing(wrong)


@pytest.mark.req("R-007")
def test_the_core_calls_no_builtin_that_reaches_outside():
    wrong = [
        f"{at(path, node)} {node.id}"
        for path in core()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Name) and node.id in IMPURE_NAMES and isinstance(node.ctx, ast.Load)
        if (name_of(path), node.id) not in COMPILES
    ]
    nothing(wrong)


@pytest.mark.req("R-007")
def test_nothing_in_the_core_is_async():
    kinds = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    wrong = [at(path, node) for path in core() for node in ast.walk(parse(path)) if isinstance(node, kinds)]
    nothing(wrong)


@pytest.mark.req("R-006")
def test_no_function_of_the_core_calls_itself_to_go_on():
    """A step that recursed would grow the stack with the length of the input; values are walked with a list instead."""
    wrong = []
    for path in core():
        for function in (node for node in parse(path).body if isinstance(node, ast.FunctionDef)):
            calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
            wrong += [at(path, call) for call in calls if isinstance(call, ast.Name) and call.id == function.name]
    nothing(wrong)


@pytest.mark.req("R-049")
def test_no_module_holds_mutable_state():
    """A dict, list or set at module level is declared as what cannot be changed, and nothing says `global`."""
    wrong = []
    for path in sources(*PACKAGES):
        wrong += [at(path, node) for node in ast.walk(parse(path)) if isinstance(node, ast.Global)]
        for node in parse(path).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_mutable(node):
                wrong.append(f"{at(path, node)} annotate it as Mapping, Sequence or Set, or use tuple or frozenset")
    nothing(wrong)


def _is_mutable(node: ast.Assign | ast.AnnAssign) -> bool:
    if _names(node) == ["__all__"]:
        return False
    if isinstance(node, ast.AnnAssign) and _head(node.annotation) in {"Mapping", "Sequence", "Set", "Collection"}:
        return False
    value = node.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in {"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict"}
    return isinstance(value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp)


def _names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _head(annotation: ast.expr) -> str:
    """`Mapping` of `Mapping[...]`; `Final[Mapping[...]]` is read through."""
    if not isinstance(annotation, ast.Subscript):
        return ast.unparse(annotation)
    head = ast.unparse(annotation.value)
    return _head(annotation.slice) if head == "Final" else head


def test_the_allowed_standard_library_exists():
    """A misspelt entry would silently allow nothing."""
    assert sys.stdlib_module_names >= PURE_STDLIB
