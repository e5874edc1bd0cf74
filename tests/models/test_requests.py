"""One rich history, written in every dialect side by side: what goes back to its own model, and what every server gets.

The conversation changed its model twice, so each dialect meets an answer of its own and two of others. The requests
stand in ``requests/``; ``--rewrite`` renews them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcore.messages import (
    AssistantMessage,
    FailedCall,
    MediaPart,
    MessageSource,
    OpaquePart,
    Succeeded,
    TextPart,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agentcore.policy import Effect, ModelSettings, ToolContract
from interpreters.models import DIALECTS, PROFILES, AnswerDecoder, Failure
from interpreters.models.writing import message_metadata
from tests.models.runs import user, view_of

MODEL = "the-model"
FAMILY = {"chat": "openrouter", "anthropic": "anthropic", "responses": "openai-responses"}

ANSWERS = {
    "chat": {
        "id": "c1",
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "content": "I will look.",
                    "reasoning_content": "chat thinks",
                    "extra_content": {"mark": "chat-mark"},
                    "tool_calls": [
                        {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}},
                        {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{oops"}},
                    ],
                },
            }
        ],
    },
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "model": MODEL,
        "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "anthropic thinks", "signature": "anthropic-mark"},
            {"type": "redacted_thinking", "data": "anthropic-mark-2"},
            {
                "type": "text",
                "text": "I searched.",
                "citations": [{"type": "web", "encrypted_index": "anthropic-mark-3"}],
            },
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"url": "https://x"}]},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "b"}},
        ],
    },
    "responses": {
        "id": "resp_1",
        "model": MODEL,
        "status": "completed",
        "output": [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "responses thinks"}],
                "encrypted_content": "responses-mark",
            },
            {
                "type": "message",
                "id": "msg_2",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Once more.", "annotations": []}],
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "no tool!",
                "arguments": "{}",
                "status": "completed",
            },
        ],
    },
}
"""What each dialect's server said, whole; its marks may go back to nobody else."""

MARKS = {
    "chat": ("chat thinks", "chat-mark"),
    "anthropic": ("anthropic thinks", "anthropic-mark", "web_search"),
    "responses": ("responses thinks", "responses-mark", "rs_1"),
}


def answer(dialect: str, request_id: str) -> AssistantMessage:
    """What a server said, as it is kept."""
    decoder = AnswerDecoder(DIALECTS[dialect].folder())
    decoder.feed(json.dumps(ANSWERS[dialect]).encode())
    decoder.close()
    reply = decoder.outcome()
    assert not isinstance(reply, Failure), reply
    told = message_metadata(dialect, MODEL, reply)
    return AssistantMessage(request_id, 0, 1, reply.parts, reply.finish, model=reply.model, metadata=told)


def results(message: AssistantMessage) -> ToolMessage:
    """A result for each call: the first is a success without words, the others are errors."""
    return ToolMessage(
        message.request_id,
        tuple(
            ToolResult(
                f"{message.request_id}.{place}",
                call.provider_id,
                call.name,
                "no such file" if place else "",
                FailedCall("no such file") if place else Succeeded(""),
            )
            for place, call in enumerate(message.calls)
        ),
    )


def history() -> tuple:
    """Everything that a history can hold."""
    asked = [answer(dialect, f"1.{step}") for step, dialect in enumerate(ANSWERS, 1)]
    picture = MediaPart("image/png", "QUJD", "a.png")
    document = MediaPart("application/pdf", "QUJD", "b.pdf")
    notice = UserMessage("n1", MessageSource.NOTICE, (TextPart("A task has ended."),))
    steering = UserMessage("s1", MessageSource.STEERING, (TextPart("Be quick."), TextPart(" ")))
    silent = AssistantMessage("1.9", 0, 1, ())
    foreign = AssistantMessage("1.10", 0, 1, (TextPart("Imported."), OpaquePart('{"type":"unknown"}')))
    return (
        user("What is in these?", picture, document),
        *(one for message in asked for one in (message, results(message))),
        steering,
        notice,
        silent,
        foreign,
        user("", message_id="m2"),
    )


def request(dialect: str) -> dict:
    """The request in one dialect."""
    tools = (
        ToolContract("read", Effect.PURE, "Reads a file.", '{"properties":{"path":{"type":"string"}},"type":"object"}'),
        ToolContract("now"),
    )
    options = {"tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 1000, "cache": True}
    settings = ModelSettings("", json.dumps(options))
    view = view_of(*history(), instructions="Be brief.", summary="They met.", tools=tools, settings=settings)
    return DIALECTS[dialect].encode(view, MODEL, PROFILES[FAMILY[dialect]])


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.req("G-14", "R-079", "R-087")
def test_a_rich_history_is_written_as_it_was(dialect, golden):
    path = Path("tests/models/requests") / f"{dialect}.json"
    golden(path, json.dumps(request(dialect), indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.req("G-14")
def test_what_one_model_gave_goes_back_to_it_and_to_no_other(dialect):
    sent = json.dumps(request(dialect))
    for owner, marks in MARKS.items():
        for mark in marks:
            assert (mark in sent) is (owner == dialect), (owner, mark)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.req("R-210", "D-3")
def test_every_call_is_sent_with_one_id_that_its_one_result_names(dialect):
    asked, answered = paired(dialect, request(dialect))
    assert asked == answered
    assert len(set(asked)) == len(asked) == 4


def paired(dialect: str, body: dict) -> tuple[list[str], list[str]]:
    """Ids of calls and of results, in order."""
    if dialect == "chat":
        messages = body["messages"]
        calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
        return calls, [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    if dialect == "responses":
        items = body["input"]
        calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
        return calls, [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    blocks = [block for turn in body["messages"] for block in turn["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return calls, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
