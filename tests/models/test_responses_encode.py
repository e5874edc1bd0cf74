"""The body of a request in OpenAI Responses: our history as items."""

from __future__ import annotations

import json

import pytest

from agentcore.messages import (
    AssistantMessage,
    MediaPart,
    OpaquePart,
    ReasoningPart,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
)
from agentcore.policy import Effect, ModelSettings, ToolContract
from interpreters.models import PROFILES
from interpreters.models.assembly import Reply
from interpreters.models.responses_encode import encode_responses
from interpreters.models.writing import message_metadata
from tests.models import wire
from tests.models.runs import user, view_of
from tests.models.test_responses_decode import completed, done

OPENAI = PROFILES["openai-responses"]


def spoken(words):
    """Words of the assistant, as every server takes them."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}


def assistant(*parts, asked: str = "m", turn: int = 1, **fields) -> AssistantMessage:
    told = message_metadata("responses", asked, Reply((), label="completed", id="r1"))
    return AssistantMessage(f"{turn}.1", 0, 1, parts, metadata=told, **fields)


def results(*ids: str, turn: int = 1) -> ToolMessage:
    made = (ToolResult(f"{turn}.1.{at}", id_, "read", f"saw {at}", Succeeded("x")) for at, id_ in enumerate(ids))
    return ToolMessage(f"{turn}.1", tuple(made))


def items(*history, model: str = "m", **view) -> list[dict]:
    return encode_responses(view_of(*history, **view), model, OPENAI)["input"]


def kept(**item) -> str:
    return json.dumps({"item": item})


@pytest.mark.req("R-079")
def test_a_whole_conversation():
    history = (
        user("What is in a.txt?"),
        assistant(TextPart("I will look."), ToolCallPart("c1", "read", '{"path":"a.txt"}', metadata='{"id":"f1"}')),
        results("c1"),
        assistant(TextPart("It says hello."), turn=2),
        user("Thanks.", message_id="m2"),
    )
    assert items(*history, summary="They met.") == [
        {
            "role": "user",
            "content": "Summary of the conversation so far, in place of its earlier messages:\n\nThey met.",
        },
        {"role": "user", "content": "What is in a.txt?"},
        spoken("I will look."),
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "read", "arguments": '{"path":"a.txt"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "saw 0"},
        spoken("It says hello."),
        {"role": "user", "content": "Thanks."},
    ]


def test_the_body_asks_for_a_stream_and_keeps_nothing_at_the_provider():
    tool = ToolContract("read", Effect.PURE, "Reads.", '{"properties":{},"type":"object"}')
    view = view_of(user("x"), instructions="Be brief.", tools=(tool,))
    body = encode_responses(view, "gpt-5.1", OPENAI)
    assert {key: value for key, value in body.items() if key != "input"} == {
        "model": "gpt-5.1",
        "instructions": "Be brief.",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "stream": True,
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Reads.",
                "parameters": {"properties": {}, "type": "object"},
                "strict": False,
            }
        ],
    }


@pytest.mark.parametrize(
    ("model", "options", "asked"),
    [("gpt-5.1", "{}", True), ("o4-mini", "{}", True), ("gpt-4o", "{}", False), ("gpt-4o", '{"reasoning":{}}', True)],
)
def test_a_cipher_is_asked_for_where_the_model_thinks(model, options, asked):
    body = encode_responses(view_of(user("x"), settings=ModelSettings("", options)), model, OPENAI)
    assert ("include" in body) is asked


def test_options_that_mean_the_same_everywhere_are_brought_to_this_dialect():
    options = '{"max_tokens":9,"tool_choice":{"name":"read"},"parallel_tool_calls":false,"temperature":0,"cache":true}'
    view = view_of(user("x"), tools=(ToolContract("read"),), settings=ModelSettings("", options))
    body = encode_responses(view, "m", OPENAI)
    assert (body["max_output_tokens"], body["parallel_tool_calls"], body["temperature"]) == (9, False, 0)
    assert body["tool_choice"] == {"type": "function", "name": "read"}
    assert not {"max_tokens", "cache"} & set(body)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (MediaPart("image/png", "QUJD"), {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}),
        (MediaPart("image/*", "https://x/y.png"), {"type": "input_image", "image_url": "https://x/y.png"}),
        (
            MediaPart("application/pdf", "QUJD", "a.pdf"),
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"},
        ),
        (MediaPart("application/pdf", "https://x/a.pdf"), {"type": "input_file", "file_url": "https://x/a.pdf"}),
        (MediaPart("audio/wav", "QUJD"), {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}),
        (
            MediaPart("image/png", "QUJD", metadata='{"detail":"low","cache_control":{}}'),
            {"type": "input_image", "detail": "low", "image_url": "data:image/png;base64,QUJD"},
        ),
    ],
)
@pytest.mark.req("G-14")
def test_media_of_the_user(part, expected):
    assert items(user("look", part)) == [
        {"role": "user", "content": [{"type": "input_text", "text": "look"}, expected]}
    ]


REASONING = {"id": "rs1", "type": "reasoning", "summary": [], "encrypted_content": "ENC"}
MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "phase": "final_answer",
    "content": [
        {"type": "output_text", "text": "a", "annotations": [{"type": "url_citation", "url": "u"}]},
        {"type": "refusal", "refusal": "b"},
        {"type": "new", "x": 1},
    ],
}
SEARCH = {"id": "ws1", "type": "web_search_call", "status": "completed", "action": {"query": "q"}}
IMAGE = {"id": "ig1", "type": "image_generation_call", "status": "completed", "result": "QUJD"}
CALL = {"id": "f1", "type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'}
CUSTOM = {"id": "ct1", "type": "custom_tool_call", "call_id": "c2", "name": "shell", "input": "ls"}
UNKNOWN = {"id": "x1", "type": "compaction", "encrypted_content": "C"}
SAID = [REASONING, SEARCH, IMAGE, UNKNOWN, MESSAGE, CALL, CUSTOM]


@pytest.mark.req("G-14", "R-087")
def test_what_was_decoded_goes_back_as_it_came_to_the_same_model_and_as_words_to_another():
    _, reply = wire.decode([*(done(item, at) for at, item in enumerate(SAID)), completed(*SAID)], dialect="responses")
    told = message_metadata("responses", "m", reply)
    message = AssistantMessage("1.1", 0, 1, reply.parts, reply.finish, metadata=told)
    answers = [
        {"type": "function_call_output", "call_id": "c1", "output": "saw 0"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "saw 1"},
    ]
    assert items(message, results("c1", "c2")) == [*SAID, *answers]
    plain = items(message, results("c1", "c2"), model="other")
    assert plain[0] == spoken("ab")
    assert plain[1] == {key: value for key, value in CALL.items() if key != "id"}
    text = json.dumps(plain)
    assert not any(word in text for word in ("ENC", "ws1", "QUJD", "compaction", "rs1"))


def test_thinking_that_cannot_go_back_takes_the_ids_of_its_message_with_it():
    bare = ReasoningPart("", kept(id="rs1", type="reasoning", summary=[]))
    call = ToolCallPart("c1", "read", "{}", metadata='{"id":"f1"}')
    said = TextPart("hi", kept(id="m1"))
    sent = items(assistant(bare, said, call), results("c1"))
    assert sent[:2] == [
        spoken("hi"),
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
    ]
    stored = encode_responses(view_of(assistant(bare, said), settings=ModelSettings("", '{"store":true}')), "m", OPENAI)
    assert [item["id"] for item in stored["input"]] == ["rs1", "m1"]


def test_thinking_behind_which_nothing_stands_is_left_out():
    thought = ReasoningPart("", json.dumps({"item": REASONING}))
    assert items(assistant(thought)) == []
    assert items(assistant(TextPart("hi"), thought)) == [spoken("hi")]
    assert items(assistant(thought, TextPart("hi")))[0] == REASONING


@pytest.mark.req("G-1")
def test_ids_of_calls_and_items_stand_once_in_a_request():
    call = ToolCallPart("c1", "read", "{}", metadata='{"id":"f1"}')
    sent = items(assistant(call), results("c1"), assistant(call, turn=2), results("c1", turn=2))
    asked = [item["call_id"] for item in sent if item["type"] == "function_call"]
    answered = [item["call_id"] for item in sent if item["type"] == "function_call_output"]
    assert asked == answered
    assert len(set(asked)) == 2
    assert [item.get("id") for item in sent if item["type"] == "function_call"] == ["f1", None]


def test_slips_of_the_model_are_mended_and_empty_messages_left_out():
    call = ToolCallPart("c1", "a tool!", "nonsense")
    sent = items(assistant(TextPart("")), assistant(call), results("c1"))
    assert sent[0] == {
        "type": "function_call",
        "call_id": "c1",
        "name": "a_tool_",
        "arguments": '{"not_a_json_object":"nonsense"}',
    }


@pytest.mark.parametrize("metadata", ["[]", "7", '{"item":7}', '{"content":{},"item":{}}', '{"type":"message"}', ""])
def test_metadata_of_any_form_is_survived(metadata):
    parts = (
        TextPart("hi", metadata),
        ReasoningPart("mm", metadata),
        ToolCallPart("c1", "read", "{}", metadata=metadata),
        ToolCallPart("c2", "read", "{}", provider_executed=True, metadata=metadata),
        OpaquePart(metadata),
        MediaPart("image/png", "QUJD", metadata=metadata),
        TextPart("ho", metadata),
    )
    sent = items(assistant(*parts), results("c1"))
    assert [item["call_id"] for item in sent if item.get("type") == "function_call"] == ["c1"]
    assert json.dumps(sent)
