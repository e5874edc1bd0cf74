"""Any value of the vocabulary, and what it means that two of them are the same: what the codec has to carry."""

from __future__ import annotations

from typing import Any

import attrs

from agentcore.testing.strategies import values

__all__ = ["same", "values"]


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
