"""Any value of the vocabulary, made from the types of its fields.

``roll(kind, dice)`` follows the annotations, so a new word of a union is made as soon as it is in the union. Classes
whose fields bind each other are made by the functions of ``BOUND``.
"""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import evolve

from agentcore.limits import Limits
from agentcore.messages import History, IdSet, Message
from agentcore.policy import Config, Effect, ToolContract
from agentcore.testing.strategies.dice import Dice


def roll(kind: Any, dice: Dice) -> Any:
    """Return a value of a type of the vocabulary: a class, a union, a tuple, an enum or a plain type."""
    if kind in BOUND:
        return BOUND[kind](dice)
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return roll(dice.pick(args), dice)
    if origin is tuple:
        inner = (args[0],) * dice.below(3) if args[-1] is ... else args
        return tuple(roll(each, dice) for each in inner)
    if origin is Literal:
        return dice.pick(args)
    if isinstance(kind, enum.EnumType):
        return dice.pick(list(kind))
    return kind(**_fields(kind, dice))


def hints(kind: Any) -> Mapping[str, Any]:
    """Return the types of a class's fields, by name."""
    return _hints(kind)


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    found = get_type_hints(kind)
    return {field.name: found[field.name] for field in attrs.fields(kind)}


def _fields(kind: type[Any], dice: Dice) -> dict[str, Any]:
    return {name: roll(hint, dice) for name, hint in hints(kind).items()}


def _history(dice: Dice) -> History:
    few = tuple(roll(Message, dice) for _ in range(dice.below(4)))
    return History().append(*few * dice.pick((1, 1, 1, 50)))


def _ids(dice: Dice) -> IdSet:
    return functools.reduce(IdSet.add, (dice.text() for _ in range(dice.below(6))), IdSet())


def _limits(dice: Dice) -> Limits:
    made: dict[str, Any] = {name: value and abs(value) for name, value in _fields(Limits, dice).items()}
    return Limits(**{**made, "max_parallel": max(1, made["max_parallel"])})


def _contract(dice: Dice) -> ToolContract:
    made = _fields(ToolContract, dice)
    inspectable = made["effect"] is Effect.INSPECTABLE
    made["name"] = made["name"] or "tool"
    made["acts_within_ms"] = dice.whole() if inspectable else None
    return ToolContract(**{**made, "required": made["required"] and made["detached"]})


def _config(dice: Dice) -> Config:
    made = _fields(Config, dice)
    made["tools"] = tuple({tool.name: tool for tool in made["tools"]}.values())
    if not any(tool.completes for tool in made["tools"]):
        made["policy"] = evolve(made["policy"], completion_required=False)
    return Config(**made)


BOUND: Mapping[Any, Callable[[Dice], Any]] = {
    str: Dice.text,
    int: Dice.whole,
    bool: lambda dice: dice.once_in(2),
    types.NoneType: lambda _: None,
    History: _history,
    IdSet: _ids,
    Limits: _limits,
    ToolContract: _contract,
    Config: _config,
}
"""Types whose values are no free combination of their fields, or have no fields."""
