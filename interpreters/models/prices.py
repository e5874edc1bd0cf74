"""What an attempt costs: from prices the host gives, or from the list that the package ``genai-prices`` ships.

1. A cost the provider told is taken as it is. Where no price is known the cost is unknown (``None``), never a guess: a
   model is priced only as the seller's whose address was asked, and only if both sides of the answer were counted.
2. The list is part of the installed package; nothing is fetched. It is in US dollars, without discounts and taxes.
3. What the list prices beyond tokens (a search, a request) is not counted by us: such a model has no known cost.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Protocol

import attrs

from agentcore.messages import Usage

EXTRA = "prices"
"""The optional part of this distribution that brings the list."""

HOW_TO_GET = f"pip install 'agentcore-reducer[{EXTRA}]'"
"""What to type to have the list."""

_KINDS: Mapping[str, str] = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_written_tokens",
    "output_reasoning_tokens": "reasoning_tokens",
}
"""What the list calls the kinds of tokens, and what we call them."""

_PER_REQUEST = "requests_kcount"


class Pricing(Protocol):
    """Says what an attempt costs."""

    def of(self, usage: Usage, model: str = "") -> int | None:
        """Return the cost in millionths of a currency; ``None`` where it is not known."""


class PricesMissing(Exception):
    """The list of prices is not installed; the text says how to get it."""


@attrs.frozen
class Prices:
    """What a model costs, for hosts who know: millionths of a currency per million tokens."""

    input_micros: int
    """Of input that no cache held."""
    output_micros: int
    """Of output."""
    cache_read_micros: int | None = None
    """Of input read from a cache; ``None`` means the price of other input."""

    def of(self, usage: Usage, model: str = "") -> int | None:
        """Return the cost of an attempt in millionths, rounded; ``None`` where not both sides were counted."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cache_read_tokens or 0, usage.input_tokens)
        cache_price = self.input_micros if self.cache_read_micros is None else self.cache_read_micros
        total = (
            (usage.input_tokens - cached) * self.input_micros
            + cached * cache_price
            + usage.output_tokens * self.output_micros
        )
        return round(total / 1_000_000)


@attrs.frozen
class ListedPrices:
    """What the models of one seller cost by the list; without the list, nothing is known."""

    base_url: str
    """Where the models are asked: that says who sells them."""

    def of(self, usage: Usage, model: str = "") -> int | None:
        """Return the cost of an attempt in millionths of a dollar, rounded; ``None`` where it is not known."""
        try:
            return listed_cost(usage, model, self.base_url)
        except PricesMissing:
            return None


def listed_cost(usage: Usage, model: str, base_url: str) -> int | None:
    """Return what the list says that an attempt costs, in millionths of a dollar; ``None`` where it says nothing.

    Raises ``PricesMissing`` if the list is not installed.
    """
    prices = price_list()
    if usage.input_tokens is None or usage.output_tokens is None or not model:
        return None
    counts = {theirs: count for theirs, ours in _KINDS.items() if (count := getattr(usage, ours)) is not None}
    try:
        found = prices.calc_price(prices.Usage(**counts), model, provider_api_url=base_url)
    except (LookupError, ValueError):
        # Unknown seller or model; or counts that contradict each other, such as more cached input than input.
        return None
    return round(found.total_price * 1_000_000) if _is_whole(found.model_price, usage) else None


def is_listed(model: str, base_url: str) -> bool:
    """Say whether the list has prices for a model at an address; raises ``PricesMissing``."""
    return listed_cost(Usage(1, 1), model, base_url) is not None


@functools.cache
def price_list() -> ModuleType:
    """Import the list; raises ``PricesMissing`` where it is not installed."""
    try:
        return importlib.import_module("genai_prices")
    except ImportError as error:
        raise PricesMissing(f"the list of prices is not installed: {HOW_TO_GET}") from error


def has_list() -> bool:
    """Say whether the list of prices is installed."""
    try:
        price_list()
    except PricesMissing:
        return False
    return True


def _is_whole(price: Any, usage: Usage) -> bool:
    """Say whether a price covers all of an attempt: the list takes what it has no price for as free."""
    needed = {"input_mtok": usage.input_tokens, "output_mtok": usage.output_tokens}
    missing = [name for name, count in needed.items() if count and getattr(price, name) is None]
    return not missing and getattr(price, _PER_REQUEST) is None
