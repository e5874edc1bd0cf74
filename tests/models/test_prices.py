"""The cost of an attempt: from the host, from the list, or unknown."""

from __future__ import annotations

import socket
import sys
from decimal import Decimal

import pytest

from agentcore.messages import Usage
from interpreters.models import PROFILES, prices
from interpreters.models.prices import (
    HOW_TO_GET,
    ListedPrices,
    Prices,
    PricesMissing,
    has_list,
    is_listed,
    listed_cost,
    price_list,
)

OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"


@pytest.fixture
def listed():
    """The list of prices, or a skip."""
    return pytest.importorskip("genai_prices", reason=f"needs {HOW_TO_GET}")


@pytest.fixture
def bare(monkeypatch):
    """An installation without the list."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    price_list.cache_clear()
    yield
    price_list.cache_clear()


@pytest.mark.req("R-105", "R-235")
def test_the_list_prices_each_kind_of_tokens(listed):
    """The expected sums are made of the list's own prices, which change from version to version."""
    model = listed.calc_price(listed.Usage(input_tokens=1), "claude-sonnet-4-5", provider_api_url=ANTHROPIC).model_price
    usage = Usage(100_000, 2_000, cache_read_tokens=64_000, cache_written_tokens=30_000)
    each = (
        (6_000, model.input_mtok),
        (64_000, model.cache_read_mtok),
        (30_000, model.cache_write_mtok),
        (2_000, model.output_mtok),
    )
    expected = sum(count * Decimal(str(getattr(price, "base", price))) for count, price in each)
    assert ListedPrices(ANTHROPIC).of(usage, "claude-sonnet-4-5") == round(expected)


@pytest.mark.parametrize(
    ("usage", "model", "base_url"),
    [
        (Usage(10, 5), "gpt-nobody-has-made", OPENAI),
        (Usage(10, 5), "", OPENAI),
        (Usage(10, 5), "gpt-4o", "https://gateway.example/v1"),
        (Usage(10, 5), "gpt-4o", "http://127.0.0.1:8080/v1"),
        (Usage(10), "gpt-4o", OPENAI),
        (Usage(None, 5), "gpt-4o", OPENAI),
        (Usage(), "gpt-4o", OPENAI),
        (Usage(10, 5, cache_read_tokens=11), "gpt-4o", OPENAI),
        (Usage(10, 5), "text-embedding-3-small", OPENAI),
    ],
)
def test_what_the_list_does_not_say_is_unknown_and_never_guessed(listed, usage, model, base_url):
    assert listed_cost(usage, model, base_url) is None


def test_a_model_that_the_list_names_without_a_price_is_not_free(listed):
    """The list takes what it has no price for as costing nothing."""
    asked = (listed.Usage(input_tokens=10, output_tokens=5), "qwen-3-coder-480b")
    found = listed.calc_price(*asked, provider_api_url="https://api.cerebras.ai/v1")
    if found.model_price.input_mtok is not None:
        pytest.skip("the list has learnt this price")
    assert found.total_price == 0
    assert listed_cost(Usage(10, 5), "qwen-3-coder-480b", "https://api.cerebras.ai/v1") is None


@pytest.mark.parametrize("name", ["openai", "anthropic", "deepseek", "zhipu", "zai", "mistral", "openrouter"])
def test_the_list_knows_these_sellers_by_where_they_are_asked(listed, name):
    assert listed.data_snapshot.get_snapshot().find_provider(None, None, PROFILES[name].base_url).models


def test_whether_a_price_is_listed_can_be_asked(listed):
    assert has_list()
    assert is_listed("gpt-4o", OPENAI)
    assert not is_listed("gpt-4o", "http://localhost/v1")


def test_the_list_asks_no_network(listed, monkeypatch):
    def refuse(*args):
        raise AssertionError("a price was fetched")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    price_list.cache_clear()
    assert listed_cost(Usage(1_000_000, 0), "gpt-4o", OPENAI)
    assert listed.data_snapshot.get_snapshot().from_auto_update is False


def test_without_the_list_nothing_is_known_and_the_extra_is_named(bare):
    assert ListedPrices(OPENAI).of(Usage(10, 5), "gpt-4o") is None
    assert not has_list()
    with pytest.raises(PricesMissing, match=r"pip install 'agentcore-reducer\[prices\]'"):
        is_listed("gpt-4o", OPENAI)
    assert prices.EXTRA in HOW_TO_GET


@pytest.mark.parametrize("usage", [Usage(), Usage(10), Usage(None, 5)])
def test_given_prices_need_both_sides_too(usage):
    assert Prices(1_000_000, 1_000_000).of(usage, "m") is None
