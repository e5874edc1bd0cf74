"""Changed copies of frozen values: what ``attrs.evolve`` does, at little more than the price of copying the fields.

Every step ends in a few of these copies, so they are what an event costs. A class that checks, converts or completes
its values is built by its own ``__init__``, as ever; the fields of any other are copied one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

import attrs

__all__ = ["evolve"]

Plan = tuple[Callable[[Any], Any], Mapping[str, int], tuple[Callable[[Any, Any], None], ...]]
"""How a class is copied: what reads all of its fields at once, the place of each, what writes each."""

if TYPE_CHECKING:
    from attrs import evolve  # type checkers know what this one takes for each class
else:

    def evolve(value: Any, /, **changes: Any) -> Any:
        """Return a copy of an attrs value in which some fields are changed; ``TypeError`` for one it does not have."""
        kind = value.__class__
        plan = _PLANS[kind] if kind in _PLANS else _planned(kind)
        if plan is None:
            return attrs.evolve(value, **changes)
        read, places, writes = plan
        fields = list(read(value))
        try:
            for name, changed in changes.items():
                fields[places[name]] = changed
        except KeyError:
            raise TypeError(f"{kind.__name__} has no field {name!r}") from None
        copy = _new(kind)
        for write, field in zip(writes, fields, strict=True):
            write(copy, field)
        return copy


_PLANS: dict[type[Any], Plan | None] = {}
"""The plan of each class that was met; ``None`` for one that only its own ``__init__`` may build."""

_new = object.__new__


def _planned(kind: type[Any]) -> Plan | None:
    fields = attrs.fields(kind)
    plain = all(field.init and field.validator is None and field.converter is None for field in fields)
    completed = hasattr(kind, "__attrs_post_init__") or hasattr(kind, "__attrs_pre_init__")
    slots = [
        kind.__dict__[field.name] for field in fields if isinstance(kind.__dict__.get(field.name), MemberDescriptorType)
    ]
    several = len(fields) > 1  # a class's only field would be read without a tuple around it
    plan = None
    if plain and several and not completed and len(slots) == len(fields):
        names = [field.name for field in fields]
        writes = tuple(slot.__set__ for slot in slots)
        plan = attrgetter(*names), {name: place for place, name in enumerate(names)}, writes
    _PLANS[kind] = plan
    return plan
