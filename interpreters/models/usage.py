"""Token counts as providers tell them, brought to one meaning: five kinds, each a number or not told.

1. The last value wins, kind by kind, and nothing is summed: servers repeat running totals. A later zero erases nothing.
2. ``input_tokens`` contains what was read from a cache and written to one; ``output_tokens`` contains the thinking.
   OpenAI and its likes count so; Anthropic counts cached input apart, llama.cpp's timings what was read from a cache.
3. What is not a whole number of at least zero was not told.
4. Where a provider counts apart, the numbers it told are merged first (``merged``) and read then: a later telling that
   names only some of them must not lose the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from agentcore.messages import Usage

_CHAT_PLACES: Mapping[str, tuple[str, ...]] = {
    "input_tokens": ("prompt_tokens", "input_tokens", "prompt_eval_count"),
    "output_tokens": ("completion_tokens", "output_tokens", "eval_count"),
    "cache_read_tokens": (
        "prompt_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
        "num_cached_tokens",
        "cached_tokens",
    ),
    "cache_written_tokens": (
        "prompt_tokens_details.cache_write_tokens",
        "prompt_tokens_details.cache_creation_tokens",
        "prompt_tokens_details.cache_creation_input_tokens",
        "cache_creation_input_tokens",
    ),
    "reasoning_tokens": ("completion_tokens_details.reasoning_tokens", "reasoning_tokens"),
}
"""Where each kind stands in a usage object of chat-completions, the usual place first: that of OpenAI, DeepSeek (cache
hits), Mistral and Moonshot (cached), Qwen (cache creation), Ollama's own interface (eval counts)."""

_RESPONSES_PLACES: Mapping[str, tuple[str, ...]] = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "cache_read_tokens": ("input_tokens_details.cached_tokens",),
    "cache_written_tokens": ("input_tokens_details.cache_write_tokens", "input_tokens_details.cache_creation_tokens"),
    "reasoning_tokens": ("output_tokens_details.reasoning_tokens",),
}
"""The same in the usage object of OpenAI Responses."""

_ANTHROPIC_PLACES: Mapping[str, tuple[str, ...]] = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "cache_read_tokens": ("cache_read_input_tokens",),
    "cache_written_tokens": ("cache_creation_input_tokens",),
    "reasoning_tokens": ("output_tokens_details.thinking_tokens", "output_tokens_details.reasoning_tokens"),
}
"""The same in the usage object of Anthropic messages, where the input leaves out what a cache was about."""

_TIMINGS_PLACES: Mapping[str, tuple[str, ...]] = {
    "input_tokens": ("prompt_n",),
    "output_tokens": ("predicted_n",),
    "cache_read_tokens": ("cache_n",),
}
"""The same in llama.cpp's ``timings``, where the input leaves out what was read from a cache."""


def later(old: Usage, new: Usage) -> Usage:
    """Return what is known after a newer telling."""
    kinds = [field.name for field in attrs.fields(Usage)]
    return Usage(**{kind: getattr(new, kind) or _first(getattr(old, kind), getattr(new, kind)) for kind in kinds})


def merged(old: Mapping[str, Any], new: Any) -> dict[str, Any]:
    """Return a provider's numbers after a newer telling, still in its own words; zeros and nothing erase nothing."""
    found = dict(old)
    for key, value in new.items() if isinstance(new, dict) else ():
        if isinstance(value, dict):
            before = found.get(key)
            found[key] = merged(before if isinstance(before, dict) else {}, value)
        elif value or found.get(key) is None:
            found[key] = value
    return found


def chat_usage(told: Any) -> Usage:
    """Read a usage object of chat-completions; anything else tells nothing."""
    return _read(told, _CHAT_PLACES)


def responses_usage(told: Any) -> Usage:
    """Read a usage object of OpenAI Responses; anything else tells nothing."""
    return _read(told, _RESPONSES_PLACES)


def anthropic_usage(told: Any) -> Usage:
    """Read what Anthropic messages told of usage, ``merged``; anything else tells nothing."""
    found = _read(told, _ANTHROPIC_PLACES)
    if found.cache_written_tokens is None and isinstance(told, dict) and isinstance(told.get("cache_creation"), dict):
        found = attrs.evolve(found, cache_written_tokens=_total(map(_whole, told["cache_creation"].values())))
    return _with_cached(found)


def timings_usage(told: Any) -> Usage:
    """Read llama.cpp's ``timings``, which it sends where nobody asked for usage; anything else tells nothing."""
    return _with_cached(_read(told, _TIMINGS_PLACES))


def _read(told: Any, places: Mapping[str, tuple[str, ...]]) -> Usage:
    if not isinstance(told, dict):
        return Usage()
    return Usage(**{kind: _count(told, where) for kind, where in places.items()}, cost_micros=_micros(told.get("cost")))


def _with_cached(apart: Usage) -> Usage:
    """Add cached input to an input that was counted without it."""
    if apart.input_tokens is None:
        return apart
    return attrs.evolve(
        apart, input_tokens=_total((apart.input_tokens, apart.cache_read_tokens, apart.cache_written_tokens))
    )


def _total(counts: Iterable[int | None]) -> int | None:
    """Sum what was told; nothing told is not zero."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


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
