"""What providers tell of tokens in words of their own means one thing here: five kinds, each a number or not told."""

from __future__ import annotations

import pytest

from agentcore.messages import Usage
from interpreters.models import ChatFolder
from interpreters.models.usage import anthropic_usage, chat_usage, later, merged, responses_usage, timings_usage
from tests.models.byteserver import chunk, events
from tests.models.wire import decode

OPENAI = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 15, "accepted_prediction_tokens": 0},
}
CHAT = {
    "openai": (OPENAI, Usage(100, 20, 64, None, 15)),
    "openrouter": (OPENAI | {"cost": 0.00125}, Usage(100, 20, 64, None, 15, 1250)),
    "deepseek": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36,
            "completion_tokens_details": {"reasoning_tokens": 15},
        },
        Usage(100, 20, 64, None, 15),
    ),
    "moonshot": ({"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 64}, Usage(100, 20, 64)),
    "mistral": ({"prompt_tokens": 100, "completion_tokens": 20, "num_cached_tokens": 64}, Usage(100, 20, 64)),
    "qwen": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_input_tokens": 30},
        },
        Usage(100, 20, 0, 30),
    ),
    "vllm, ollama, llama.cpp": ({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}, Usage(100, 20)),
    "ollama's own": ({"prompt_eval_count": 100, "eval_count": 20}, Usage(100, 20)),
    "nulls": ({"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": None}, Usage(100, 20)),
    "nothing": ({}, Usage()),
    "no object": ([1], Usage()),
}


@pytest.mark.req("R-235")
@pytest.mark.parametrize("provider", CHAT)
def test_chat_completions_tell_usage_in_many_words(provider):
    told, usage = CHAT[provider]
    assert chat_usage(told) == usage


@pytest.mark.req("R-235")
def test_responses_tell_both_sides_with_their_parts():
    told = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 64},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 15},
        "total_tokens": 120,
    }
    assert responses_usage(told) == Usage(100, 20, 64, None, 15)
    assert responses_usage(None) == Usage()


@pytest.mark.req("R-235")
def test_anthropic_counts_cached_input_apart_and_we_count_it_in():
    start = {"input_tokens": 6, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 30, "output_tokens": 1}
    assert anthropic_usage(start) == Usage(100, 1, 64, 30)
    assert anthropic_usage({"input_tokens": 6, "output_tokens": 1}) == Usage(6, 1)
    written = {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}
    assert anthropic_usage({"input_tokens": 6, "cache_creation": written}) == Usage(36, None, None, 30)


def test_a_later_telling_that_names_only_some_numbers_loses_none_of_the_others():
    start = {"input_tokens": 6, "cache_read_input_tokens": 64, "output_tokens": 1}
    end = {"input_tokens": 6, "cache_read_input_tokens": 0, "cache_creation_input_tokens": None, "output_tokens": 20}
    assert anthropic_usage(merged(merged({}, start), end)) == Usage(70, 20, 64)
    nested = merged({"input_tokens_details": {"cached_tokens": 4}}, {"input_tokens_details": {"cached_tokens": 0}})
    assert nested == {"input_tokens_details": {"cached_tokens": 4}}
    assert merged({"a": 1}, "no object") == {"a": 1}
    assert merged({}, {"a": 0, "b": None}) == {"a": 0, "b": None}


@pytest.mark.req("R-235")
def test_timings_are_read_where_no_usage_was_told_and_give_way_to_it():
    timings = {"cache_n": 64, "prompt_n": 36, "predicted_n": 20, "predicted_ms": 1.5}
    assert timings_usage(timings) == Usage(100, 20, 64)
    said = chunk({"content": "hi"}, timings={"prompt_n": 100, "predicted_n": 1})
    _, alone = decode(events(said, chunk({}, "stop", timings=timings)))
    assert alone.usage == Usage(100, 20, 64)
    _, beside = decode(events(chunk({"content": "hi"}, "stop", timings=timings, usage={"prompt_tokens": 101})))
    assert beside.usage == Usage(101)
    folder = ChatFolder()
    folder.fold_body({"choices": [{"message": {"content": "hi"}}], "usage": {"prompt_tokens": 7}, "timings": [1]})
    assert folder.usage == Usage(7)


def test_what_is_known_is_never_lost_to_a_later_nothing():
    assert later(Usage(10, 5, 3, 2, 1, 9), Usage(0, 6)) == Usage(10, 6, 3, 2, 1, 9)
    assert later(Usage(), Usage(0, None)) == Usage(0)
