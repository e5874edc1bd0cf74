"""Any value of the vocabulary, made from the types of its fields: what the codec has to carry."""

from __future__ import annotations

import enum
import functools
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs
from hypothesis import strategies as st

from agentcore.codec import INTEGERS
from agentcore.limits import Limits
from agentcore.messages import History, IdSet, Message
from agentcore.policy import Config, Effect, Policy, ToolContract

TEXT = st.text(max_size=12)
WHOLE = st.integers(INTEGERS.start, INTEGERS.stop - 1) | st.sampled_from((0, 1, INTEGERS.start, INTEGERS.stop - 1))


@functools.cache
def values(kind: Any) -> st.SearchStrategy[Any]:
    """Every value of a type, as its annotations describe it."""
    if kind in MADE:
        return MADE[kind]()
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return st.one_of([values(each) for each in args])
    if origin is tuple and args[-1] is ...:
        return st.lists(values(args[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(values(each) for each in args))
    if origin is Literal:
        return st.sampled_from(args)
    if isinstance(kind, enum.EnumType):
        return st.sampled_from(list(kind))
    assert attrs.has(kind), f"no strategy for {kind!r}"
    return st.builds(kind, **fields(kind))


def fields(kind: type[Any]) -> dict[str, st.SearchStrategy[Any]]:
    hints = get_type_hints(kind)
    return {each.name: values(hints[each.name]) for each in attrs.fields(kind)}


def histories() -> st.SearchStrategy[History]:
    few = st.lists(values(Message), max_size=3)
    return st.tuples(few, st.sampled_from((1, 1, 1, 50))).map(lambda made: History().append(*(made[0] * made[1])))


def id_sets() -> st.SearchStrategy[IdSet]:
    return st.lists(TEXT, max_size=6).map(lambda ids: functools.reduce(IdSet.add, ids, IdSet()))


@st.composite
def contracts(draw) -> ToolContract:
    made = {name: draw(strategy) for name, strategy in fields(ToolContract).items()}
    made["name"] = made["name"] or "tool"
    made["acts_within_ms"] = draw(WHOLE) if made["effect"] is Effect.INSPECTABLE else None
    made["required"] = made["required"] and made["detached"]
    return ToolContract(**made)


@st.composite
def configs(draw) -> Config:
    made = {name: draw(strategy) for name, strategy in fields(Config).items()}
    made["tools"] = tuple({tool.name: tool for tool in made["tools"]}.values())
    if not any(tool.completes for tool in made["tools"]):
        made["policy"] = attrs.evolve(made["policy"], completion_required=False)
    return Config(**made)


def limits() -> st.SearchStrategy[Limits]:
    hints = get_type_hints(Limits)
    count = st.integers(1, INTEGERS.stop - 1)
    return st.builds(
        Limits, **{each.name: count if hints[each.name] is int else count | st.none() for each in attrs.fields(Limits)}
    )


MADE = {
    str: lambda: TEXT,
    int: lambda: WHOLE,
    bool: st.booleans,
    types.NoneType: st.none,
    History: histories,
    IdSet: id_sets,
    ToolContract: contracts,
    Config: configs,
    Limits: limits,
    Policy: lambda: st.builds(Policy, **fields(Policy)),
}
"""Types whose values are not free combinations of their fields, or need none."""


def same(left: Any, right: Any) -> bool:
    """Equal, and made of the same classes all the way down: ``True`` is not ``1``, a word of an enum no text."""
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if type(one) is not type(other) or one != other:
            return False
        if attrs.has(type(one)):
            pairs += [(getattr(one, each.name), getattr(other, each.name)) for each in attrs.fields(type(one))]
        elif isinstance(one, tuple):
            pairs += zip(one, other, strict=True)
    return True
