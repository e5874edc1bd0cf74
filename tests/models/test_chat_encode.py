"""The body of a request: our history as every server of the dialect accepts it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.messages import (
    AssistantMessage,
    FinishReason,
    MediaPart,
    OpaquePart,
    ReasoningPart,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
    Usage,
)
from agentcore.policy import Effect, ModelSettings, ToolContract
from interpreters.models import ChatFolder, encode_chat
from interpreters.models.assembly import Reply
from interpreters.models.decoder import AnswerDecoder
from interpreters.models.writing import message_metadata, wire_name
from tests.models.byteserver import chunk, events
from tests.models.runs import user, view_of


def assistant(*parts, asked: str = "m", **fields) -> AssistantMessage:
    told = message_metadata("chat", asked, Reply((), label="stop", id="c1"))
    return AssistantMessage("1.1", 0, 1, parts, metadata=told, **fields)


def results(*pairs: tuple[str, str]) -> ToolMessage:
    made = (ToolResult(f"1.1.{i}", id_, "read", text, Succeeded(text)) for i, (id_, text) in enumerate(pairs))
    return ToolMessage("1.1", tuple(made))


def messages(*history, model: str = "m", **view) -> list[dict]:
    return encode_chat(view_of(*history, **view), model)["messages"]


@pytest.mark.req("R-079")
def test_a_whole_conversation():
    history = (
        user("What is in a.txt?"),
        assistant(TextPart("I will look."), ToolCallPart("t1", "read", '{"path":"a.txt"}')),
        results(("t1", "hello")),
        assistant(TextPart("It says hello.")),
        user("Thanks.", message_id="m2"),
    )
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a.txt"}'}}
    assert messages(*history, instructions="Be brief.") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is in a.txt?"},
        {"role": "assistant", "tool_calls": [call], "content": "I will look."},
        {"role": "tool", "tool_call_id": "t1", "name": "read", "content": "hello"},
        {"role": "assistant", "content": "It says hello."},
        {"role": "user", "content": "Thanks."},
    ]


def test_a_summary_stands_for_the_messages_before():
    sent = messages(user("go on"), summary="They greeted.")
    assert [one["role"] for one in sent] == ["user", "user"]
    assert sent[0]["content"].endswith("\n\nThey greeted.")


def test_the_body_asks_for_a_stream_with_usage_and_offers_the_tools():
    tool = ToolContract("read", Effect.PURE, "Reads.", '{"properties":{"path":{"type":"string"}},"type":"object"}')
    body = encode_chat(view_of(user("x"), tools=(tool, ToolContract("bare"))), "m")
    schema = {"properties": {"path": {"type": "string"}}, "type": "object"}
    assert body["model"] == "m"
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert body["tools"] == [
        {"type": "function", "function": {"name": "read", "parameters": schema, "description": "Reads."}},
        {"type": "function", "function": {"name": "bare", "parameters": {"type": "object"}}},
    ]
    assert "tools" not in encode_chat(view_of(user("x")), "m")
    whole = encode_chat(view_of(user("x"), settings=ModelSettings("m", '{"stream":false}')), "m")
    assert (whole["stream"], whole.get("stream_options")) == (False, None)


def test_options_are_merged_over_the_body_and_null_takes_a_field_out():
    options = '{"stream_options":null,"temperature":0,"model":"other","tool_choice":"none"}'
    body = encode_chat(view_of(user("x"), tools=(ToolContract("t"),), settings=ModelSettings("", options)), "m")
    assert "stream_options" not in body
    assert (body["temperature"], body["model"], body["tool_choice"]) == (0, "other", "none")


@pytest.mark.parametrize("options", ["[]", "7", "nonsense"])
def test_options_that_are_no_object_are_refused(options):
    with pytest.raises(ValueError, match=r"object|Expecting"):
        encode_chat(view_of(user("x"), settings=ModelSettings("", options)), "m")


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            MediaPart("image/png", "QUJD"),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        ),
        (MediaPart("image/*", "https://x/y.png"), {"type": "image_url", "image_url": {"url": "https://x/y.png"}}),
        (MediaPart("audio/wav", "QUJD"), {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}),
        (
            MediaPart("application/pdf", "QUJD", "a.pdf"),
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}},
        ),
        (
            MediaPart("application/pdf", "https://x/a.pdf", "a.pdf"),
            {"type": "text", "text": "[application/pdf a.pdf: https://x/a.pdf]"},
        ),
        (
            TextPart("long", '{"cache_control":{"type":"ephemeral"}}'),
            {"cache_control": {"type": "ephemeral"}, "type": "text", "text": "long"},
        ),
    ],
)
@pytest.mark.req("G-14")
def test_media_and_provider_metadata_of_the_user_need_the_list_form(part, expected):
    sent = messages(user("look", part))
    assert sent == [{"role": "user", "content": [{"type": "text", "text": "look"}, expected]}]


def test_several_plain_texts_stay_a_string():
    assert messages(user("a", "b")) == [{"role": "user", "content": "a\n\nb"}]


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ('{ "a": 1 }', '{ "a": 1 }'),
        ("", "{}"),
        ("  ", "{}"),
        ('"Tokyo"', '{"not_a_json_object":"\\"Tokyo\\""}'),
        ('{"a":', '{"not_a_json_object":"{\\"a\\":"}'),
        ('{"a":NaN}', '{"not_a_json_object":"{\\"a\\":NaN}"}'),
    ],
)
def test_arguments_are_sent_back_as_they_were_unless_no_provider_would_take_them(raw, sent):
    message = messages(user("x"), assistant(ToolCallPart("t1", "read", raw)), results(("t1", "y")))[1]
    assert message["tool_calls"][0]["function"]["arguments"] == sent
    assert message["content"] is None


@pytest.mark.parametrize(("name", "sent"), [("read", "read"), ("no such tool!", "no_such_tool_"), ("", "unnamed")])
def test_a_name_that_no_provider_takes_is_respelled_in_call_and_result_alike(name, sent):
    assert wire_name(name) == sent
    assert len(wire_name("x" * 100)) == 64


@pytest.mark.parametrize("ids", [("", ""), ("a", "a"), ("a", ""), ("", "call0"), ("a", "b")])
@pytest.mark.req("G-1", "G-2", "D-3")
def test_every_result_is_paired_with_its_own_call(ids):
    calls = [ToolCallPart(id_, "read", "{}") for id_ in ids]
    sent = messages(user("x"), assistant(*calls), results(*((id_, str(i)) for i, id_ in enumerate(ids))))
    asked = [call["id"] for call in sent[1]["tool_calls"]]
    assert len(set(asked)) == 2
    assert all(asked)
    assert [(one["tool_call_id"], one["content"]) for one in sent[2:]] == [(asked[0], "0"), (asked[1], "1")]


@pytest.mark.req("R-087")
def test_what_this_dialect_has_no_place_for_is_left_out_and_an_empty_message_too():
    executed = ToolCallPart("s1", "search", "{}", provider_executed=True)
    media, opaque = MediaPart("image/png", "QUJD"), OpaquePart('{"x":1}')
    told = user("x"), assistant(executed, media), assistant(opaque, asked="other"), assistant()
    assert messages(*told) == [{"role": "user", "content": "x"}]
    assert messages(assistant(opaque)) == [{"role": "assistant", "content": [{"x": 1}]}]
    assert messages(assistant(executed, TextPart("hi"))) == [{"role": "assistant", "content": "hi"}]


THOUGHT = ReasoningPart("mm", '{"field":"reasoning_content"}')
DETAILED = ReasoningPart("mm", '{"field":"reasoning","reasoning_details":[{"data":"ENC"}]}')
INNER = ReasoningPart("mm", '{"chunk":{"type":"thinking"}}')


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        (THOUGHT, {"reasoning_content": "mm", "content": "hi"}),
        (DETAILED, {"reasoning_details": [{"data": "ENC"}], "content": "hi"}),
        (
            INNER,
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "mm"}]},
                    {"type": "text", "text": "hi"},
                ]
            },
        ),
        (ReasoningPart("mm"), {"content": "hi"}),
    ],
)
@pytest.mark.req("G-14")
def test_thinking_goes_back_to_the_same_model_under_the_name_it_came_by(part, sent):
    assert messages(assistant(part, TextPart("hi"))) == [{"role": "assistant", **sent}]
    assert messages(assistant(part, TextPart("hi"), asked="other")) == [{"role": "assistant", "content": "hi"}]


@pytest.mark.req("G-14")
def test_signatures_beside_calls_and_messages_go_back_to_the_same_model_only():
    call = ToolCallPart("t1", "now", "{}", metadata='{"extra_content":{"sig":"S"}}')
    kept = message_metadata("chat", "m", Reply((), label="stop", id="c1", extra={"extra_content": {"sig": "T"}}))
    message = AssistantMessage("1.1", 0, 1, (call,), metadata=kept)
    sent = messages(message, results(("t1", "x")))[0]
    assert sent["extra_content"] == {"sig": "T"}
    assert sent["tool_calls"][0]["extra_content"] == {"sig": "S"}
    assert "extra_content" not in json.dumps(messages(message, results(("t1", "x")), model="other"))


def test_a_refusal_goes_back_as_a_refusal():
    assert messages(assistant(TextPart("No.", '{"refusal":true}'))) == [
        {"role": "assistant", "refusal": "No.", "content": None}
    ]


def test_an_imported_message_without_metadata_is_sent_plainly():
    assert messages(AssistantMessage("1.1", 0, 1, (TextPart("hi"),), metadata="[]")) == [
        {"role": "assistant", "content": "hi"}
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(
    text=st.text(),
    reasoning=st.text(),
    arguments=st.dictionaries(st.text(), JSON),
    extra=st.dictionaries(st.text(), JSON),
)
@pytest.mark.req("G-14")
def test_what_was_decoded_is_sent_back_as_it_came(text, reasoning, arguments, extra):
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": json.dumps(arguments)}}
    call = {**{key: value for key, value in extra.items() if value is not None}, **call}
    call.pop("index", None)
    deltas = ({"reasoning_content": reasoning}, {"content": text}, {"tool_calls": [{**call, "index": 0}]})
    decoder = AnswerDecoder(ChatFolder())
    for piece in events(*(chunk(delta) for delta in deltas), chunk({}, "tool_calls")):
        decoder.feed(piece)
    decoder.close()
    reply = decoder.outcome()
    kept = message_metadata("chat", "m", reply)
    message = AssistantMessage("1.1", 0, 1, reply.parts, FinishReason.TOOL_CALLS, metadata=kept)
    sent = messages(message, results(("t1", "x")))[0]
    assert sent.get("content") == (text or None)
    assert sent.get("reasoning_content", "") == reasoning
    assert sent["tool_calls"] == [call]
    assert reply.usage == Usage()


def test_what_the_model_spoke_goes_back_by_its_name_to_the_same_model_and_as_words_to_another():
    parts = (MediaPart("audio/*", "QUI=", metadata='{"audio":"a1"}'), TextPart("hey", '{"transcript":true}'))
    assert messages(assistant(*parts)) == [{"role": "assistant", "audio": {"id": "a1"}, "content": None}]
    assert messages(assistant(*parts, asked="other")) == [{"role": "assistant", "content": "hey"}]
