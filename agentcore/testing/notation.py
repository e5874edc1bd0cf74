"""Values as readable text: ``text-part("Do it.")``, ``call-id=1.1.0``, ``[usage(input-tokens=10)]``.

1. A class is written as its kebab-case name with the fields that differ from their defaults; a first field that stands
   alone is written without its name. Text is bare where it is one plain word, else a JSON string.
2. Reading is guided by the types of the fields, so a bare ``1.1.0`` or ``12`` is text where text is expected.
3. Reading and writing are inverse: ``read(write(value), type(value)) == value`` for everything in the vocabulary.
"""

from __future__ import annotations

import json
import re
import types
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

import attrs

from agentcore.commands import tag_of

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[\[\](),=]|[^\s\[\](),="]+)')
_PLAIN = re.compile(r"[A-Za-z0-9_./:#+-]+")


class NotationError(ValueError):
    """Text that is no value of the type expected: says what was found, and what was expected."""


def write(value: Any) -> str:
    """Return a value as text."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Enum():
            return str(value.value)
        case int():
            return str(value)
        case str():
            return value if _PLAIN.fullmatch(value) and value != "null" else json.dumps(value, ensure_ascii=False)
        case tuple():
            return f"[{', '.join(write(each) for each in value)}]"
        case _:
            return f"{tag_of(type(value))}({', '.join(_arguments(value))})"


def fields_of(value: Any, *left_out: str) -> list[str]:
    """Return ``name=value`` for each field that differs from its default."""
    said = ((field, getattr(value, field.name)) for field in attrs.fields(type(value)) if field.name not in left_out)
    return [f"{kebab(field.name)}={write(held)}" for field, held in said if held != default_of(field)]


def _arguments(value: Any) -> list[str]:
    said = fields_of(value)
    first = kebab(attrs.fields(type(value))[0].name) if attrs.fields(type(value)) else ""
    alone = len(said) == 1 and said[0].startswith(f"{first}=")
    return [said[0].partition("=")[2]] if alone else said


def default_of(field: attrs.Attribute[Any]) -> Any:
    """Return the default of a field, ``NOTHING`` if it has none."""
    default: Any = field.default
    # ``attrs.Factory`` is typed as a function, so it is known by what it holds.
    return default.factory() if hasattr(default, "factory") else default


def kebab(name: str) -> str:
    """Return a field's name as it is written."""
    return name.replace("_", "-")


class Reader:
    """Reads values from one text, from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._next = 0

    @property
    def more(self) -> bool:
        """Whether anything is left."""
        return self._next < len(self._tokens)

    def peek(self, ahead: int = 0) -> str:
        """Return a token that is still to come, or nothing."""
        place = self._next + ahead
        return self._tokens[place] if place < len(self._tokens) else ""

    def take(self, expected: str = "") -> str:
        """Take the next token, which has to be the expected one if one is named."""
        token = self.peek()
        if not token or (expected and token != expected):
            raise NotationError(f"expected {expected or 'a value'}, found {token or 'the end'}")
        self._next += 1
        return token

    def fields(self, kind: type[Any], **known: Any) -> Any:
        """Read ``name=value`` up to the end and build an instance of a class."""
        said = dict(known)
        while self.more:
            self._field(kind, said)
        return _build(kind, said)

    def _field(self, kind: type[Any], said: dict[str, Any]) -> None:
        name = self.take().replace("-", "_")
        self.take("=")
        said[name] = self.value(_hint(kind, name))

    def value(self, hint: Any) -> Any:
        """Read one value of a type."""
        token = self.peek()
        if get_origin(hint) is tuple:
            return self._list(hint)
        members = [each for each in _members(hint) if each is not type(None)]
        if token == "null" and type(None) in _members(hint):  # noqa: S105 - a word of the notation
            self.take()
            return None
        classes = [each for each in members if attrs.has(each)]
        if classes and self.peek(1) == "(":
            return self._instance(classes)
        return _scalar(self.take(), members)

    def _list(self, hint: Any) -> tuple[Any, ...]:
        kinds = get_args(hint)
        self.take("[")
        found: list[Any] = []
        while self.peek() != "]":
            kind = kinds[0] if kinds[-1] is Ellipsis else kinds[len(found)]
            found.append(self.value(kind))
            if self.peek() == ",":
                self.take()
        self.take("]")
        return tuple(found)

    def _instance(self, classes: list[type[Any]]) -> Any:
        tag = self.take()
        kind = next((each for each in classes if tag_of(each) == tag), None)
        if kind is None:
            raise NotationError(f"{tag} is none of {', '.join(tag_of(each) for each in classes)}")
        self.take("(")
        said: dict[str, Any] = {}
        while self.peek() != ")":
            if self.peek(1) == "=":
                self._field(kind, said)
            else:
                first = attrs.fields(kind)[0].name
                said[first] = self.value(_hint(kind, first))
            if self.peek() == ",":
                self.take()
        self.take(")")
        return _build(kind, said)


def _build(kind: type[Any], said: dict[str, Any]) -> Any:
    try:
        return kind(**said)
    except (TypeError, ValueError) as error:
        raise NotationError(f"{tag_of(kind)}: {error}") from error


def _hint(kind: type[Any], name: str) -> Any:
    attrs.resolve_types(kind)
    field = attrs.fields_dict(kind).get(name)
    if field is None:
        raise NotationError(f"{tag_of(kind)} has no field {kebab(name)}")
    return field.type


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _scalar(token: str, kinds: list[Any]) -> Any:
    """Read a token as the first of some types that it can be."""
    for kind in kinds:
        if kind is bool and token in ("true", "false"):
            return token == "true"  # noqa: S105 - a word of the notation
        if kind is int and re.fullmatch(r"-?\d+", token):
            return int(token)
        if get_origin(kind) is Literal and token in get_args(kind):
            return token
        if isinstance(kind, type) and issubclass(kind, Enum) and token in {each.value for each in kind}:
            return kind(token)
        if kind is str:
            return json.loads(token) if token.startswith('"') else token
    raise NotationError(f"{token} is no {' or '.join(getattr(kind, '__name__', str(kind)) for kind in kinds)}")
