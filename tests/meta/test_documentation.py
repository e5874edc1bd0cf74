"""Every public name says what it means."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.meta.tree import PACKAGES, Function, at, core, is_public, nothing, parse, sources


def public_definitions(path: Path) -> Iterator[ast.AST]:
    """The module, its public classes and functions, and the public methods of the classes."""
    tree = parse(path)
    yield tree
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and is_public(node.name):
            yield node
            yield from (each for each in node.body if isinstance(each, Function) and is_public(each.name))
        elif isinstance(node, Function) and is_public(node.name):
            yield node


def is_overload(node: ast.AST) -> bool:
    """An overload is one more signature of what is documented below it."""
    return any(ast.unparse(each).endswith("overload") for each in getattr(node, "decorator_list", ()))


def is_override(node: ast.AST) -> bool:
    """What overrides a documented method means the same."""
    return any(ast.unparse(each).endswith("override") for each in getattr(node, "decorator_list", ()))


def test_public_modules_classes_and_functions_have_docstrings():
    wrong = [
        f"{at(path, getattr(node, 'lineno', 1))} {getattr(node, 'name', 'module')}"
        for path in sources(*PACKAGES)
        for node in public_definitions(path)
        if not ast.get_docstring(node) and not is_overload(node) and not is_override(node)
    ]
    nothing(wrong)


def test_public_fields_of_the_core_say_what_they_mean():
    """A string stands under each field, or the class or module docstring speaks of the ``field`` in backticks."""
    wrong = []
    for path in core():
        module_words = ast.get_docstring(parse(path)) or ""
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ClassDef) and is_public(node.name) and is_attrs(node):
                words = module_words + (ast.get_docstring(node) or "")
                wrong += [f"{at(path, field)} {node.name}.{name}" for name, field in bare_fields(node, words)]
    nothing(wrong)


def test_public_constants_of_the_core_say_what_they_mean():
    """A string stands under each name that a module gives a value, or under the block of lines that it is part of."""
    wrong = []
    for path in core():
        explained, next_line = False, 0
        for node in reversed(parse(path).body):
            names = [name for name in assigned(node) if is_public(name) and name != "__all__"]
            explained = is_text(node) or (bool(assigned(node)) and explained and node.end_lineno + 1 == next_line)
            next_line = node.lineno
            if names and not explained and not is_type_variable(node):
                wrong.append(f"{at(path, node)} {', '.join(names)}")
    nothing(wrong)


def is_type_variable(node: ast.AST) -> bool:
    """A type variable means what its bound says."""
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and ast.unparse(value.func).endswith(("TypeVar", "ParamSpec"))


def is_attrs(node: ast.ClassDef) -> bool:
    return any(ast.unparse(each).startswith("attrs.") for each in node.decorator_list)


def bare_fields(node: ast.ClassDef, words: str) -> Iterator[tuple[str, ast.AST]]:
    for field, after in pairwise([*node.body, None]):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            name = field.target.id
            if is_public(name) and not is_text(after) and f"``{name}``" not in words:
                yield name, field


def is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def assigned(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []
