"""Strict hooks for everything that is not a class: text, numbers, words, tuples, sets, the history.

A *writer* turns a value into what JSON can hold, a *reader* turns it back. Both refuse what is not exactly of their
type: what could not be read again must not be written either. A flaw inside a list or class gets its place on its way
up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, EnumType
from itertools import cycle
from typing import Any, Literal, get_args, get_origin

import cattrs

from agentcore.codec.errors import Flaw, one_of, shown
from agentcore.messages import CHUNK, History, Message

INTEGERS = range(-(2**63), 2**63)
"""Whole numbers that can be stored: 64 bits with a sign."""

Hook = Callable[..., Any]
"""A writer, called with a value, or a reader, called with a JSON value; cattrs adds the type, which each hook knows."""
Rule = tuple[Callable[[Any], bool], Callable[..., Hook], Callable[..., Hook]]
"""For which types it is, and what makes a writer and a reader for one of them."""


def writer_of(kind: Any, converter: cattrs.Converter) -> Hook:
    """Return the writer of a type. Words come first: cattrs would take a ``StrEnum`` for any text."""
    return _word_writer(kind) if _is_words(kind) else converter.get_unstructure_hook(kind)


def reader_of(kind: Any, converter: cattrs.Converter) -> Hook:
    """Return the reader of a type."""
    return _word_reader(kind) if _is_words(kind) else converter.get_structure_hook(kind)


def write_text(value: Any) -> str:
    """Pass text on; half a surrogate pair has no place in UTF-8."""
    if type(value) is not str:
        raise Flaw(f"expected text, found {shown(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Flaw(f"half a surrogate pair at character {error.start}; clean the text first") from None
    return value


def read_text(value: Any, _: Any = None) -> str:
    """Pass text on; the parser has seen to surrogates."""
    if type(value) is not str:
        raise Flaw(f"expected text, found {shown(value)}")
    return value


def whole_number(value: Any, _: Any = None) -> int:
    """Pass a whole number on, both ways; ``True`` and ``1.0`` are none."""
    if type(value) is not int:
        raise Flaw(f"expected a whole number, found {shown(value)}")
    if value not in INTEGERS:
        raise Flaw(f"{shown(value)} needs more than 64 bits")
    return value


def truth(value: Any, _: Any = None) -> bool:
    """Pass true or false on, both ways; ``1`` and ``0`` are neither."""
    if type(value) is not bool:
        raise Flaw(f"expected true or false, found {shown(value)}")
    return value


def _is_words(kind: Any) -> bool:
    return isinstance(kind, EnumType) or get_origin(kind) is Literal


def _words(kind: Any) -> Mapping[str, Any]:
    """Return what may be written, each with the value it stands for."""
    if isinstance(kind, EnumType):
        members: Mapping[str, Enum] = kind.__members__
        return {member.value: member for member in members.values()}
    return {word: word for word in get_args(kind)}


def _word_writer(kind: Any) -> Hook:
    words = {value: word for word, value in _words(kind).items()}
    expected = kind if isinstance(kind, EnumType) else str

    def write(value: Any) -> str:
        if type(value) is not expected or value not in words:
            raise Flaw(f"expected {one_of(words.values())}, found {shown(value)}")
        return words[value]

    return write


def _word_reader(kind: Any) -> Hook:
    words = _words(kind)

    def read(value: Any, _: Any = None) -> Any:
        if type(value) is not str or value not in words:
            raise Flaw(f"expected {one_of(words)}, found {shown(value)}")
        return words[value]

    return read


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _places(kind: Any) -> tuple[tuple[Any, ...], int | None]:
    """Return the types of a tuple's places, to be repeated, and how many places it has if that is fixed."""
    args = get_args(kind)
    return (args[:1], None) if args[-1] is ... else (args, len(args))


def _tuple_writer(kind: Any, converter: cattrs.Converter) -> Hook:
    kinds, length = _places(kind)
    return _items_hook(tuple, "a tuple", list, [writer_of(each, converter) for each in kinds], length)


def _tuple_reader(kind: Any, converter: cattrs.Converter) -> Hook:
    kinds, length = _places(kind)
    return _items_hook(list, "a list", tuple, [reader_of(each, converter) for each in kinds], length)


def _items_hook(
    source: type[Any], name: str, target: Callable[..., Any], hooks: list[Hook], length: int | None
) -> Hook:
    def convert(value: Any, _: Any = None) -> Any:
        if type(value) is not source:
            raise Flaw(f"expected {name}, found {shown(value)}")
        if length is not None and len(value) != length:
            raise Flaw(f"expected {length} items, found {len(value)}")
        items: list[Any] = []
        try:
            for item, hook in zip(value, cycle(hooks), strict=False):
                items.append(hook(item))
        except Flaw as flaw:
            raise flaw.under(len(items)) from None
        return target(items)

    return convert


def _is_set(kind: Any) -> bool:
    return get_origin(kind) is frozenset


def _set_writer(kind: Any, converter: cattrs.Converter) -> Hook:
    write_items = _items_hook(frozenset, "a frozen set", list, [writer_of(get_args(kind)[0], converter)], None)
    return lambda value: sorted(write_items(value))


def _set_reader(kind: Any, converter: cattrs.Converter) -> Hook:
    read_items = _items_hook(list, "a list", tuple, [reader_of(get_args(kind)[0], converter)], None)

    def read(value: Any, _: Any = None) -> frozenset[Any]:
        items = frozenset(read_items(value))
        if len(items) != len(value):
            raise Flaw("an item stands twice in a set")
        return items

    return read


def _is_history(kind: Any) -> bool:
    return kind is History


def _history_writer(_kind: Any, converter: cattrs.Converter) -> Hook:
    write_messages = _tuple_writer(tuple[Message, ...], converter)

    def write(value: Any) -> Any:
        if type(value) is not History:
            raise Flaw(f"expected a history, found {shown(value)}")
        if len(value.tail) >= CHUNK or any(len(chunk) != CHUNK for chunk in value.chunks):
            raise Flaw("the chunks of a history are full and its tail is not; this one was not made by appending")
        return write_messages(tuple(value))

    return write


def _history_reader(_kind: Any, converter: cattrs.Converter) -> Hook:
    read_messages = _tuple_reader(tuple[Message, ...], converter)
    return lambda value, _=None: History().append(*read_messages(value))


RULES: tuple[Rule, ...] = (
    (_is_tuple, _tuple_writer, _tuple_reader),
    (_is_set, _set_writer, _set_reader),
    (_is_history, _history_writer, _history_reader),
)
"""The rules of this module, in the order in which cattrs is told of them: the last one that applies counts."""
