"""Families of providers as data: each row changes what is sent exactly as it says."""

from __future__ import annotations

import json
import re

import pytest

from agentcore.messages import (
    AssistantMessage,
    MediaPart,
    ReasoningPart,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
)
from agentcore.policy import ModelSettings, ToolContract
from interpreters.models import DEFAULT, DIALECTS, PROFILES, Fault, HttpModel, encode_chat
from interpreters.models.assembly import Reply
from interpreters.models.writing import message_metadata
from tests.models.byteserver import Answer, serving
from tests.models.runs import user, view_of, watched

OPTIONS = '{"max_tokens":9,"tool_choice":"required","parallel_tool_calls":false,"cache":"1h"}'
ASKED = message_metadata("chat", "m", Reply((), label="stop", id="c1"))


def body(family: str, *history, options: str = OPTIONS, **view) -> dict:
    """The body of a request to a family."""
    settings = ModelSettings("", options)
    tools = (ToolContract("read"),)
    return encode_chat(
        view_of(*(history or (user("x"),)), settings=settings, tools=tools, **view), "m", PROFILES[family]
    )


def thought(turn: int, field: str = "reasoning") -> AssistantMessage:
    parts = (ReasoningPart(f"mm{turn}", json.dumps({"field": field})), ToolCallPart("call_0", "read", "{}"))
    return AssistantMessage(f"{turn}.1", 0, 1, parts, metadata=ASKED)


def result(turn: int) -> ToolMessage:
    return ToolMessage(f"{turn}.1", (ToolResult(f"{turn}.1.0", "call_0", "read", "x", Succeeded("x")),))


def test_every_row_speaks_a_known_dialect_and_has_a_place():
    assert {
        "openai",
        "azure",
        "deepseek",
        "zhipu",
        "qwen",
        "mistral",
        "openrouter",
        "vllm",
        "llamacpp",
        "ollama",
    } <= set(PROFILES)
    for name, profile in PROFILES.items():
        assert name == profile.name
        assert profile.dialect in DIALECTS
        assert profile.base_url or profile.url_variables
        assert profile.key_variables
        assert re.compile(profile.id_pattern)
        assert not profile.base_url.endswith("/")


@pytest.mark.parametrize(
    ("family", "field", "role", "usage", "choices"),
    [
        ("openai", "max_completion_tokens", "developer", True, (False, "required")),
        ("azure", "max_completion_tokens", "developer", True, (False, "required")),
        ("deepseek", "max_tokens", "system", True, (None, "required")),
        ("zhipu", "max_tokens", "system", True, (None, None)),
        ("qwen", "max_tokens", "system", True, (False, None)),
        ("mistral", "max_tokens", "system", False, (False, "any")),
        ("openrouter", "max_tokens", "system", True, (False, "required")),
        ("vllm", "max_tokens", "system", True, (False, "required")),
        ("llamacpp", "max_tokens", "system", True, (False, "required")),
        ("ollama", "max_tokens", "system", True, (None, "required")),
    ],
)
def test_options_are_called_what_the_family_calls_them(family, field, role, usage, choices):
    sent = body(family, instructions="Be brief.")
    assert sent[field] == 9
    assert sent["messages"][0]["role"] == role
    assert ("stream_options" in sent) is usage
    assert (sent.get("parallel_tool_calls"), sent.get("tool_choice")) == choices
    assert "cache" not in sent


@pytest.mark.parametrize(("family", "hinted"), [("openrouter", True), ("qwen", True), ("openai", False)])
def test_what_stays_the_same_is_marked_for_a_cache_where_that_is_understood(family, hinted):
    history = (user("a", MediaPart("image/png", "QUJD")), thought(1), result(1))
    sent = body(family, *history, instructions="Be brief.")["messages"]
    assert ("cache_control" in json.dumps(sent)) is hinted
    if hinted:
        hint = {"type": "ephemeral", "ttl": "1h"}
        assert sent[0]["content"] == [{"type": "text", "text": "Be brief.", "cache_control": hint}]
        assert [part.get("cache_control") for part in sent[1]["content"]] == [None, hint]
        assert sent[3]["content"] == [{"type": "text", "text": "x", "cache_control": hint}]


@pytest.mark.parametrize(("family", "hinted"), [("openrouter", 1), ("openai", 0)])
def test_marks_of_the_host_are_the_only_ones_and_go_where_they_are_understood(family, hinted):
    marked = TextPart("long", '{"cache_control":{"type":"ephemeral"}}')
    sent = body(family, user(marked), user("b", message_id="m2"), instructions="Be brief.")["messages"]
    assert json.dumps(sent).count("cache_control") == hinted


def test_nothing_is_marked_where_nobody_asked_for_it():
    assert "cache_control" not in json.dumps(body("openrouter", options="{}", instructions="Be brief."))


@pytest.mark.parametrize(
    ("family", "fields"),
    [
        ("openrouter", [{"reasoning": "mm1"}, {"reasoning": "mm2"}]),
        ("deepseek", [{}, {"reasoning_content": "mm2"}]),
        ("qwen", [{}, {"reasoning": "mm2"}]),
    ],
)
@pytest.mark.req("G-14")
def test_earlier_thinking_goes_back_as_far_as_the_family_wants_it(family, fields):
    history = (user("a"), thought(1), result(1), user("b", message_id="m2"), thought(2), result(2))
    sent = [one for one in body(family, *history)["messages"] if one["role"] == "assistant"]
    found = [{key: one[key] for key in ("reasoning", "reasoning_content") if key in one} for one in sent]
    assert found == fields


def test_ids_have_the_form_that_the_family_wants_and_stay_paired():
    history = (user("a"), thought(1), result(1), thought(2), result(2))
    sent = body("mistral", *history)["messages"]
    asked = [call["id"] for one in sent for call in one.get("tool_calls", ())]
    assert asked == [one["tool_call_id"] for one in sent if one["role"] == "tool"]
    assert len(set(asked)) == 2
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", one) for one in asked)
    assert body("mistral", *history)["messages"] == sent


def test_a_user_who_speaks_after_a_result_is_introduced_where_that_is_needed():
    history = (user("a"), thought(1), result(1), user("b", message_id="m2"))
    assert [one["role"] for one in body("mistral", *history)["messages"]] == [
        *("user", "assistant", "tool", "assistant", "user")
    ]
    assert [one["role"] for one in body("openai", *history)["messages"]] == ["user", "assistant", "tool", "user"]


def test_choices_are_sent_only_beside_tools():
    sent = encode_chat(view_of(user("x"), settings=ModelSettings("", OPTIONS)), "m", DEFAULT)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(sent)


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("openai", {"authorization": "Bearer k"}),
        ("azure", {"api-key": "k"}),
        ("anthropic", {"x-api-key": "k"}),
    ],
)
def test_the_key_is_carried_as_the_family_wants_it(family, expected):
    assert PROFILES[family].authorised(" k ") == expected
    assert PROFILES[family].authorised(" ") == {}


def test_a_choice_of_one_tool_and_other_values():
    named = body("openai", options='{"tool_choice":{"name":"read"}}')["tool_choice"]
    assert named == {"type": "function", "function": {"name": "read"}}
    own = {"type": "allowed_tools", "name": "x"}
    assert body("openai", options=json.dumps({"tool_choice": own, "parallel_tool_calls": "x"}))["tool_choice"] == own


@pytest.mark.anyio
async def test_a_code_that_means_something_only_to_its_family_is_read_with_it():
    answer = Answer((b'{"error":{"code":"1300","message":"x"}}',), 400, {})
    for family, fault in (("zhipu", Fault.CONTENT_FILTER), ("mistral", Fault.RATE_LIMITED)):
        with serving(answer) as server:
            model = HttpModel("m", base_url=server.url, profile=PROFILES[family])
            event = await model.answer(watched().run)
        assert event.code == fault.value
