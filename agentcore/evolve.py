"""Changed copies of frozen values: what ``attrs.evolve`` does, at the price of copying the fields.

Every step ends in a few of these copies, so they are what an event costs. For each class one function is compiled that
copies its fields one by one, as ``attrs`` compiles an ``__init__``. A class that checks, converts or completes its
values is built by its own ``__init__``, as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

import attrs

__all__ = ["evolve"]

if TYPE_CHECKING:
    from attrs import evolve  # type checkers know what this one takes for each class
else:

    def evolve(value: Any, /, **changes: Any) -> Any:
        """Return a copy of an attrs value in which some fields are changed; ``TypeError`` for one it does not have."""
        return _COPIES[value.__class__](value, **changes)


class _Copies(dict[type[Any], Callable[..., Any]]):
    """What copies a value of each class; compiled when the first one is met."""

    def __missing__(self, kind: type[Any]) -> Callable[..., Any]:
        copy = self[kind] = _compiled(kind)
        return copy


_COPIES = _Copies()


def _compiled(kind: type[Any]) -> Callable[..., Any]:
    """Compile what copies a class whose fields are slots and nothing more; for any other return the one of attrs."""
    fields = attrs.fields(kind)
    slots = {field.name: slot for field in fields if isinstance(slot := kind.__dict__.get(field.name), _SLOT)}
    plain = all(
        field.init and field.validator is field.converter is None and field.alias == field.name for field in fields
    )
    completed = hasattr(kind, "__attrs_post_init__") or hasattr(kind, "__attrs_pre_init__")
    if len(slots) < len(fields) or not plain or completed:
        return attrs.evolve
    known: dict[str, Any] = {f"_write_{name}": slot.__set__ for name, slot in slots.items()}
    known |= {"_new": partial(object.__new__, kind), "_kept": object()}
    exec(_source(tuple(slots)), known)  # noqa: S102 - the text holds names of fields and nothing from outside
    copy: Callable[..., Any] = known["_copy"]
    return copy


_SLOT = MemberDescriptorType


def _source(names: tuple[str, ...]) -> str:
    """Write the function that copies fields of these names."""
    lines = (
        f"def _copy(_value, /, *, {', '.join(f'{name}=_kept' for name in names)}):",
        "_copied = _new()",
        *(f"_write_{name}(_copied, _value.{name} if {name} is _kept else {name})" for name in names),
        "return _copied",
    )
    return "\n    ".join(lines)
