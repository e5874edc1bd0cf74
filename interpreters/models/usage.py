"""Token counts as providers tell them, brought to one meaning.

1. The last value wins, kind by kind, and nothing is summed: servers repeat running totals. A later zero erases nothing.
2. ``input_tokens`` contains what was read from a cache; OpenAI and its likes count so already.
3. What is not a whole number of at least zero was not told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from agentcore.messages import Usage

_CHAT_PLACES: Mapping[str, tuple[str, ...]] = {
    "input_tokens": ("prompt_tokens", "input_tokens"),
    "output_tokens": ("completion_tokens", "output_tokens"),
    "cache_read_tokens": ("prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens"),
    "cache_written_tokens": (
        "prompt_tokens_details.cache_write_tokens",
        "prompt_tokens_details.cache_creation_tokens",
        "cache_creation_input_tokens",
    ),
    "reasoning_tokens": ("completion_tokens_details.reasoning_tokens", "reasoning_tokens"),
}
"""Where each kind stands in a usage object of chat-completions, the usual place first."""


@attrs.frozen
class Prices:
    """What a model costs, for hosts whose provider does not tell: millionths of a currency per million tokens."""

    input_micros: int
    """Of input that no cache held."""
    output_micros: int
    """Of output."""
    cache_read_micros: int | None = None
    """Of input read from a cache; ``None`` means the price of other input."""

    def of(self, usage: Usage) -> int | None:
        """Return the cost of an attempt in millionths, rounded; ``None`` where no tokens are known."""
        if usage.input_tokens is None and usage.output_tokens is None:
            return None
        cached = min(usage.cache_read_tokens or 0, usage.input_tokens or 0)
        cache_price = self.input_micros if self.cache_read_micros is None else self.cache_read_micros
        total = (
            ((usage.input_tokens or 0) - cached) * self.input_micros
            + cached * cache_price
            + (usage.output_tokens or 0) * self.output_micros
        )
        return round(total / 1_000_000)


def later(old: Usage, new: Usage) -> Usage:
    """Return what is known after a newer telling."""
    kinds = [field.name for field in attrs.fields(Usage)]
    return Usage(**{kind: getattr(new, kind) or _first(getattr(old, kind), getattr(new, kind)) for kind in kinds})


def chat_usage(told: Any) -> Usage:
    """Read a usage object of chat-completions; anything else tells nothing."""
    if not isinstance(told, dict):
        return Usage()
    counts = {kind: _count(told, places) for kind, places in _CHAT_PLACES.items()}
    return Usage(**counts, cost_micros=_micros(told.get("cost")))


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _count(told: Mapping[str, Any], places: tuple[str, ...]) -> int | None:
    """Return the first number that stands at one of the places; zero only if none is greater."""
    found = [count for place in places if (count := _whole(_at(told, place))) is not None]
    return next((count for count in found if count), _first(*found))


def _at(told: Mapping[str, Any], place: str) -> Any:
    outer, _, inner = place.partition(".")
    value = told.get(outer)
    if not inner:
        return value
    return value.get(inner) if isinstance(value, dict) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53 or value != int(value):
        return None
    return int(value)


def _micros(cost: Any) -> int | None:
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < 2**33:
        return None
    return round(cost * 1_000_000)
