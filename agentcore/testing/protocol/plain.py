"""Values of any kind as keys that can be compared, and as text on one line that cannot mislead.

States, events and commands come from other people's programs: what they are is not known here, and what their text
holds is not to be trusted.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping
from typing import Any

import attrs

DEPTH_MAX = 60
"""How deep a value may be nested; a value that holds itself would never end."""


def canonical(value: Any) -> Hashable:
    """Return a hashable key: equal for values that are built alike, whatever their identity.

    A value that is hashable and says itself what it is equal to is its own key. Lists, mappings, sets and the fields of
    other objects are looked into; the order of a mapping does not count. ``ValueError`` for a value that holds itself.
    """
    return value if is_settled(value) else _key(value, 0)


def is_settled(value: Any) -> bool:
    """Say whether a value can be its own key: it is hashable, and its equality is its own and not its identity."""
    kind: Any = type(value)
    if issubclass(kind, tuple | frozenset | float) or kind.__eq__ is object.__eq__:
        return value is None  # what is in a tuple has to be looked at, and a number that is none equals nothing
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _key(value: Any, depth: int) -> Hashable:
    if depth > DEPTH_MAX:
        raise ValueError(
            f"a {type(value).__name__} is nested too deep or holds itself: give the protocol a `normalise`"
        )
    kind = type(value).__name__
    match value:
        case None | str() | bytes() | int() if not isinstance(value, bool):
            return value
        case bool() | float():  # else True would be 1 and 1.0
            return kind, repr(value)
        case Mapping():
            return kind, frozenset((_key(name, depth + 1), _key(held, depth + 1)) for name, held in value.items())
        case list() | tuple():
            return kind, tuple(_key(each, depth + 1) for each in value)
        case set() | frozenset():
            return kind, frozenset(_key(each, depth + 1) for each in value)
    fields = fields_of(value)
    if fields is not None and not is_settled(value):
        return kind, frozenset((name, _key(held, depth + 1)) for name, held in fields)
    hash(value)
    return kind, value


def fields_of(value: Any) -> list[tuple[str, Any]] | None:
    """Return the fields of an object by name, ``None`` for what has none, such as functions and classes."""
    if callable(value) or isinstance(value, type):
        return None
    if attrs.has(type(value)):
        return [(field.name, getattr(value, field.name)) for field in attrs.fields(type(value))]
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    found = [(name, getattr(value, name)) for name in slots if hasattr(value, name)]
    found += getattr(value, "__dict__", {}).items()
    return found if found or hasattr(value, "__dict__") else None


def label(value: Any) -> str:
    """Return a value as one line of text, the same in every run: text as it is, everything else as ``written``."""
    return one_line(value if isinstance(value, str) else written(value))


def written(value: Any) -> str:
    """Return what ``repr`` would, but sets in order, and the fields of whatever has no ``__repr__`` of its own."""
    kind = type(value).__name__
    match value:
        case dict():
            return f"{{{', '.join(f'{written(name)}: {written(held)}' for name, held in value.items())}}}"
        case list():
            return f"[{', '.join(map(written, value))}]"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(written, value)))}}}" if value else f"{kind}()"
    if type(value) is tuple:
        return f"({', '.join(map(written, value))}{',' if len(value) == 1 else ''})"
    if has_own_repr(type(value)):
        return repr(value)
    return f"{kind}({', '.join(f'{name}={written(held)}' for name, held in fields_of(value) or ())})"


def has_own_repr(kind: type[Any]) -> bool:
    """Say whether somebody wrote how instances are shown; a generated ``__repr__`` shows fields, come what may."""
    shows = inspect.unwrap(kind.__repr__)
    code = getattr(shows, "__code__", None)
    return not code.co_filename.startswith("<") if code is not None else shows is not object.__repr__


def one_line(text: str) -> str:
    r"""Return text on one line: line ends, controls and signs that cannot be seen are written as ``\n`` or ``\x1b``.

    A first letter that would mean something in a scenario file, ``#``, ``-`` or a space, gets a backslash before it.
    """
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
    return f"\\{shown}" if not shown or shown[0] in " #-\\" else shown
