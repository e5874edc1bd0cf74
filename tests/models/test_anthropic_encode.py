"""The body of a request in the dialect of Anthropic messages: our history as every server of it accepts it."""

from __future__ import annotations

import base64
import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.messages import (
    AssistantMessage,
    FailedCall,
    FinishReason,
    MediaPart,
    MessageSource,
    OpaquePart,
    ReasoningPart,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agentcore.policy import Effect, ModelSettings, ToolContract
from interpreters.models import PROFILES, HttpModel
from interpreters.models.anthropic_encode import encode_anthropic
from interpreters.models.anthropic_turns import BEGINNING, NO_OUTPUT, NO_WORDS
from interpreters.models.assembly import Reply
from interpreters.models.writing import message_metadata
from tests.models import anthropic_events as sent_by_server
from tests.models.byteserver import Answer, serving
from tests.models.runs import user, view_of, watched

HOME = PROFILES["anthropic"]
TOOL = ToolContract("read", Effect.PURE, "Reads.", '{"properties":{"path":{"type":"string"}},"type":"object"}')


def assistant(*parts, asked: str = "m", extra=None, request_id="1.1", **fields) -> AssistantMessage:
    told = message_metadata("anthropic", asked, Reply((), label="end_turn", id="m1", extra=extra or {}))
    return AssistantMessage(request_id, 0, 1, parts, metadata=told, **fields)


def results(*pairs) -> ToolMessage:
    """Results by the provider's id and text; a third member is their outcome."""
    made = (
        ToolResult(f"1.1.{index}", provider_id, "read", text, *(rest or (Succeeded(text),)))
        for index, (provider_id, text, *rest) in enumerate(pairs)
    )
    return ToolMessage("1.1", tuple(made))


def nudge(text: str) -> UserMessage:
    return UserMessage("n1", MessageSource.NUDGE, (TextPart(text),))


def encode(*history, model: str = "m", profile=HOME, options=None, **view) -> dict:
    settings = ModelSettings("", json.dumps(options or {}))
    return encode_anthropic(view_of(*history, settings=settings, **view), model, profile)


def messages(*history, **how) -> list[dict]:
    return encode(*history, **how)["messages"]


def words(text: str) -> dict:
    return {"type": "text", "text": text}


def turn(role: str, *blocks) -> dict:
    return {"role": role, "content": [words(block) if isinstance(block, str) else block for block in blocks]}


def use(provider_id="t1", name="read", **arguments) -> dict:
    return {"type": "tool_use", "id": provider_id, "name": name, "input": arguments}


def result(provider_id="t1", content="y", **fields) -> dict:
    return {"type": "tool_result", "tool_use_id": provider_id, "content": content, **fields}


CALL = ToolCallPart("t1", "read", '{"path":"a.txt"}')


# --- turns ---


@pytest.mark.req("R-079")
def test_a_whole_conversation():
    history = (
        user("What is in a.txt?"),
        assistant(TextPart("I will look."), CALL),
        results(("t1", "hello")),
        assistant(TextPart("It says hello.")),
        user("Thanks.", message_id="m2"),
    )
    assert encode(*history, instructions="Be brief.", tools=(TOOL,)) == {
        "model": "m",
        "max_tokens": 8192,
        "system": [words("Be brief.")],
        "tools": [
            {
                "name": "read",
                "description": "Reads.",
                "input_schema": {"properties": {"path": {"type": "string"}}, "type": "object"},
            }
        ],
        "messages": [
            turn("user", "What is in a.txt?"),
            turn("assistant", "I will look.", use(path="a.txt")),
            turn("user", result(content="hello")),
            turn("assistant", "It says hello."),
            turn("user", "Thanks."),
        ],
        "stream": True,
    }


def test_what_one_side_says_in_a_row_is_one_turn_and_results_stand_first_in_order():
    calls = (CALL, ToolCallPart("t2", "read", "{}"))
    sent = messages(
        user("a", "b"),
        user("c", message_id="m2"),
        assistant(TextPart("d")),
        assistant(*calls, request_id="1.2"),
        results(("t1", "1"), ("t2", "2")),
        user("steer", message_id="m3"),
        summary="They met.",
    )
    assert [one["role"] for one in sent] == ["user", "assistant", "user"]
    assert [block["text"] for block in sent[0]["content"]][1:] == ["a", "b", "c"]
    assert sent[0]["content"][0]["text"].endswith("\n\nThey met.")
    assert sent[1]["content"] == [words("d"), use(path="a.txt"), use("t2")]
    assert sent[2]["content"] == [result(content="1"), result("t2", "2"), words("steer")]


@pytest.mark.parametrize("history", [(), (assistant(TextPart("hi")),), (assistant(),)])
def test_the_users_side_is_always_first(history):
    assert messages(*history)[0] == turn("user", BEGINNING)


def test_nothing_blank_is_sent():
    sent = messages(
        user("", " \n"),
        assistant(TextPart(" "), TextPart(""), CALL),
        results(("t1", " \n")),
        assistant(TextPart("\n")),
        user("x", "", message_id="m2"),
        instructions=" ",
    )
    assert sent == [
        turn("user", NO_WORDS),
        turn("assistant", use(path="a.txt")),
        turn("user", result(content=NO_OUTPUT), "x"),
    ]
    assert "system" not in encode(user("x"), instructions=" ")


@pytest.mark.req("R-079")
def test_a_result_that_is_an_error_says_so():
    failed = ("t1", "no such file", FailedCall("no such file"))
    assert messages(user("x"), assistant(CALL), results(failed))[2] == turn(
        "user", result(content="no such file", is_error=True)
    )


@pytest.mark.parametrize(
    "ids", [("", ""), ("a", "a"), ("a", ""), ("a.b:0", "functions.x:1"), ("a", "b"), ("x" * 65, "é")]
)
@pytest.mark.req("G-1", "G-2", "D-3")
def test_every_result_is_paired_with_its_own_call_by_an_id_that_is_taken(ids):
    calls = [ToolCallPart(provider_id, "read", "{}") for provider_id in ids]
    paired = [(provider_id, str(index)) for index, provider_id in enumerate(ids)]
    sent = messages(user("x"), assistant(*calls), results(*paired))
    asked = [block["id"] for block in sent[1]["content"]]
    assert len(set(asked)) == 2
    assert all(one.isascii() and one.replace("_", "").replace("-", "").isalnum() for one in asked)
    assert [(block["tool_use_id"], block["content"]) for block in sent[2]["content"]] == [
        (asked[0], "0"),
        (asked[1], "1"),
    ]


def test_an_id_that_comes_again_in_a_later_message_is_sent_once():
    first = (user("x"), assistant(CALL), results(("t1", "1")))
    again = (assistant(CALL, request_id="1.2"), results(("t1", "2")))
    sent = messages(*first, *again)
    assert sent[:3] == messages(*first)
    assert sent[3]["content"][0]["id"] != "t1"
    assert sent[4]["content"][0]["tool_use_id"] == sent[3]["content"][0]["id"]


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ('{ "b": 1, "a": 2.0 }', {"b": 1, "a": 2.0}),
        ("", {}),
        (" ", {}),
        ('"Tokyo"', {"not_a_json_object": '"Tokyo"'}),
        ('{"a":', {"not_a_json_object": '{"a":'}),
        ('{"a":NaN}', {"not_a_json_object": '{"a":NaN}'}),
    ],
)
def test_arguments_are_sent_back_as_an_object_in_the_models_order(raw, sent):
    (block,) = messages(user("x"), assistant(ToolCallPart("t1", "read", raw)), results(("t1", "y")))[1]["content"]
    assert json.dumps(block["input"]) == json.dumps(sent)


def test_a_name_that_no_provider_takes_is_respelled():
    sent = messages(user("x"), assistant(ToolCallPart("t1", "no such tool!", "{}")), results(("t1", "y")))
    assert sent[1]["content"][0]["name"] == "no_such_tool_"


# --- what goes back to its own model only ---


THOUGHT = ReasoningPart("mm", '{"signature":"SIG==","type":"thinking"}')
REDACTED = ReasoningPart("", '{"data":"ENC","type":"redacted_thinking"}')
SEARCH = ToolCallPart("s1", "web.search", '{"query":"x"}', True, '{"type":"server_tool_use"}')
FOUND = OpaquePart('{"content":[],"tool_use_id":"s1","type":"web_search_tool_result"}')
SEARCH_BLOCK = {"type": "server_tool_use", "id": "s1", "name": "web.search", "input": {"query": "x"}}
FOUND_BLOCK = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}


@pytest.mark.req("G-14", "R-087")
def test_thinking_and_what_the_provider_ran_go_back_to_the_same_model_verbatim():
    said = (THOUGHT, REDACTED, TextPart("a", '{"citations":[{"x":1}]}'), SEARCH, FOUND, CALL)
    history = (user("x"), assistant(*said), results(("t1", "y")))
    assert messages(*history)[1]["content"] == [
        {"type": "thinking", "thinking": "mm", "signature": "SIG=="},
        {"type": "redacted_thinking", "data": "ENC"},
        {"type": "text", "text": "a", "citations": [{"x": 1}]},
        SEARCH_BLOCK,
        FOUND_BLOCK,
        use(path="a.txt"),
    ]
    plain = [words("a"), use(path="a.txt")]
    assert messages(*history, model="other")[1]["content"] == plain
    foreign = attrs.evolve(history[1], metadata=history[1].metadata.replace("anthropic", "chat"))
    assert messages(history[0], foreign, history[2])[1]["content"] == plain
    unknown = attrs.evolve(history[1], metadata="[]")
    assert messages(history[0], unknown, history[2])[1]["content"] == plain


def test_fields_beside_a_call_go_back_and_cannot_change_what_it_is():
    odd = ToolCallPart("t1", "read", "{}", metadata='{"caller":{"type":"direct"},"id":"z","name":"w","type":"text"}')
    sent = messages(user("x"), assistant(odd), results(("t1", "y")))
    assert sent[1]["content"] == [use() | {"caller": {"type": "direct"}}]


def test_thinking_of_another_dialect_has_no_block_and_is_left_out():
    assert messages(user("x"), assistant(ReasoningPart("mm", '{"field":"reasoning"}'), TextPart("hi")))[1] == turn(
        "assistant", "hi"
    )


def test_a_turn_does_not_end_in_thinking_and_one_of_thinking_alone_is_left_out():
    sent = messages(user("x"), assistant(THOUGHT), nudge("You only thought."), assistant(TextPart("a"), THOUGHT))
    assert sent == [turn("user", "x", "You only thought."), turn("assistant", "a")]


def test_media_of_the_model_has_no_block():
    assert messages(user("x"), assistant(MediaPart("image/png", "QUJD"), TextPart("a")), user("y", message_id="m2"))[
        1
    ] == turn("assistant", "a")


@pytest.mark.req("R-087")
def test_a_paused_answer_is_sent_back_as_the_last_turn_without_the_nudge():
    paused = assistant(TextPart("a \n"), SEARCH, finish=FinishReason.PAUSE)
    go_on = nudge("It is unclear whether you were done.")
    assert messages(user("x"), paused, go_on) == [turn("user", "x"), turn("assistant", "a \n", SEARCH_BLOCK)]
    words_last = assistant(TextPart("a \n"), finish=FinishReason.PAUSE)
    assert messages(user("x"), words_last, go_on)[-1] == turn("assistant", "a")
    later = assistant(FOUND, TextPart("b"), request_id="1.2")
    assert messages(user("x"), paused, go_on, later)[1:] == [turn("assistant", "a \n", SEARCH_BLOCK, FOUND_BLOCK, "b")]


def test_the_nudge_is_said_where_the_pause_cannot_be_continued():
    paused = assistant(TextPart("a"), SEARCH, finish=FinishReason.PAUSE)
    said = [turn("user", "x"), turn("assistant", "a"), turn("user", "go on")]
    assert messages(user("x"), paused, nudge("go on"), model="other") == said
    stopped = attrs.evolve(paused, interrupted=True)
    assert messages(user("x"), stopped, nudge("go on")) == said
    assert messages(user("x"), paused, user("go on", message_id="m2")) == said


@pytest.mark.req("R-087")
def test_a_call_that_the_provider_ran_goes_with_its_result_also_if_that_comes_later():
    beside = (user("x"), assistant(SEARCH, CALL), results(("t1", "y")))
    assert messages(*beside)[1]["content"] == [SEARCH_BLOCK, use(path="a.txt")]
    told = messages(*beside, assistant(FOUND, TextPart("b"), request_id="1.2"), user("thanks", message_id="m2"))
    assert told[1]["content"] == [SEARCH_BLOCK, use(path="a.txt")]
    assert told[3]["content"] == [FOUND_BLOCK, words("b")]
    never = messages(*beside, assistant(TextPart("b"), request_id="1.2"), user("thanks", message_id="m2"))
    assert never[1]["content"] == [use(path="a.txt")]


def test_a_result_of_the_providers_without_its_call_is_left_out():
    sent = messages(user("x"), assistant(FOUND, TextPart("a")), user("y", message_id="m2"))
    assert sent[1]["content"] == [words("a")]


def test_the_container_of_the_last_answer_is_named():
    first = assistant(TextPart("a"), extra={"container": "c1"})
    assert encode(user("x"), first)["container"] == "c1"
    assert "container" not in encode(user("x"), first, user("y", message_id="m2"), assistant(TextPart("b")))
    assert "container" not in encode(user("x"), first, model="other")


# --- media ---


def source(kind: str, **fields) -> dict:
    return {"type": kind, "source": fields}


TEXT_FILE = base64.b64encode(b"# Title").decode()


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (MediaPart("image/png", "QUJD"), source("image", type="base64", media_type="image/png", data="QUJD")),
        (MediaPart("image/jpg", "QUJD"), source("image", type="base64", media_type="image/jpeg", data="QUJD")),
        (MediaPart("image/*", "https://x/y.png"), source("image", type="url", url="https://x/y.png")),
        (
            MediaPart("image/*", "data:image/png;base64,QUJD"),
            source("image", type="base64", media_type="image/png", data="QUJD"),
        ),
        (
            MediaPart("application/pdf", "QUJD", "a.pdf"),
            source("document", type="base64", media_type="application/pdf", data="QUJD") | {"title": "a.pdf"},
        ),
        (MediaPart("application/pdf", "https://x/a.pdf"), source("document", type="url", url="https://x/a.pdf")),
        (
            MediaPart("text/markdown", TEXT_FILE, "a.md"),
            source("document", type="text", media_type="text/plain", data="# Title") | {"title": "a.md"},
        ),
        (
            MediaPart("application/pdf", "QUJD", metadata='{"citations":{"enabled":true},"detail":"high"}'),
            source("document", type="base64", media_type="application/pdf", data="QUJD")
            | {"citations": {"enabled": True}},
        ),
        (
            MediaPart("image/png", "", metadata='{"source":{"type":"file","file_id":"f1"}}'),
            source("image", type="file", file_id="f1"),
        ),
        (MediaPart("image/bmp", "QUJD", "a.bmp"), words("[image/bmp a.bmp: not shown, this model does not take it]")),
        (MediaPart("audio/wav", "QUJD"), words("[audio/wav: not shown, this model does not take it]")),
        (MediaPart("audio/wav", "https://x/a.wav"), words("[audio/wav: https://x/a.wav]")),
        (MediaPart("image/png", "file:/etc/passwd"), words("[image/png: file:/etc/passwd]")),
        (MediaPart("image/png", "data:,x"), words("[image/png: not shown, this model does not take it]")),
        (MediaPart("text/plain", "###"), words("[text/plain: not shown, this model does not take it]")),
        (MediaPart("text/plain", "QUJ$D"), words("[text/plain: not shown, this model does not take it]")),
        (MediaPart("text/plain", ""), words("[text/plain: not shown, this model does not take it]")),
    ],
)
@pytest.mark.req("G-14")
def test_media_goes_in_the_forms_that_are_taken_and_is_named_otherwise(part, expected):
    assert messages(user("look", part)) == [turn("user", "look", expected)]


# --- the rest of the body ---


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({}, None),
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"tool_choice": {"name": "read"}}, {"type": "tool", "name": "read"}),
        ({"tool_choice": {"type": "any"}}, {"type": "any"}),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ({"parallel_tool_calls": True}, {"type": "auto", "disable_parallel_tool_use": False}),
        (
            {"parallel_tool_calls": False, "tool_choice": "required"},
            {"type": "any", "disable_parallel_tool_use": True},
        ),
        ({"parallel_tool_calls": False, "tool_choice": "none"}, {"type": "none"}),
    ],
)
def test_the_tool_choice_is_an_object_that_holds_the_switch_for_parallel_calls(options, sent):
    assert encode(user("x"), tools=(TOOL,), options=options).get("tool_choice") == sent
    assert not {"tool_choice", "parallel_tool_calls", "tools"} & set(encode(user("x"), options=options))


@pytest.mark.parametrize(
    ("model", "options", "tokens"),
    [
        ("claude-3-opus-20240229", {}, 4096),
        ("claude-3-5-haiku-latest", {}, 8192),
        ("claude-sonnet-4-5", {}, 16_384),
        ("qwen3", {}, 8192),
        ("claude-sonnet-4-5", {"max_tokens": 100}, 100),
        ("claude-sonnet-4-5", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, 18_384),
        ("claude-sonnet-4-5", {"thinking": {"type": "adaptive"}}, 16_384),
    ],
)
def test_a_bound_of_tokens_is_always_sent(model, options, tokens):
    assert encode(user("x"), model=model, options=options)["max_tokens"] == tokens


def test_options_are_merged_over_the_body_and_null_takes_a_field_out():
    body = encode(user("x"), options={"stream": None, "temperature": 0, "metadata": {"user_id": "u"}})
    assert "stream" not in body
    assert (body["temperature"], body["metadata"]) == (0, {"user_id": "u"})


@pytest.mark.parametrize("options", ["[]", "7", "nonsense"])
def test_options_that_are_no_object_are_refused(options):
    with pytest.raises(ValueError, match=r"object|Expecting"):
        encode_anthropic(view_of(user("x"), settings=ModelSettings("", options)), "m")


def test_a_schema_without_a_type_gets_the_one_that_is_asked_for():
    body = encode(user("x"), tools=(ToolContract("bare", parameters='{"properties":{}}'),))
    assert body["tools"] == [{"name": "bare", "input_schema": {"type": "object", "properties": {}}}]


BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 2000}}


@pytest.mark.parametrize(
    ("parts", "options", "asked"),
    [
        ((CALL,), BUDGET, False),
        ((TextPart("a"), CALL), BUDGET, False),
        ((THOUGHT, CALL), BUDGET, True),
        ((REDACTED, CALL), BUDGET, True),
        ((CALL,), {"thinking": {"type": "adaptive"}}, True),
    ],
)
def test_thinking_by_a_budget_does_not_begin_between_a_call_and_its_result(parts, options, asked):
    history = (user("x"), assistant(*parts), results(("t1", "y")))
    assert ("thinking" in encode(*history, options=options)) is asked
    assert "thinking" in encode(*history, assistant(TextPart("b")), user("z", message_id="m2"), options=BUDGET)
    assert "thinking" in encode(user("x"), options=BUDGET)


# --- cache hints ---


def marked(body: dict) -> list:
    blocks = [*body.get("tools", []), *body.get("system", [])]
    blocks += [block for one in body["messages"] for block in one["content"]]
    return [
        block.get("text") or block.get("name") or block.get("content") for block in blocks if "cache_control" in block
    ]


LONG = (user("a"), assistant(CALL), results(("t1", "1")), assistant(TextPart("b")), user("c", message_id="m2"))


def test_a_cache_is_asked_for_at_the_ends_of_what_stays_the_same():
    body = encode(*LONG, instructions="S", tools=(ToolContract("one"), TOOL), options={"cache": "1h"})
    assert marked(body) == ["read", "S", "1", "c"]
    assert body["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert marked(encode(user("a"), options={"cache": True})) == ["a"]
    assert "cache" not in body


def test_the_end_of_one_request_is_still_marked_in_the_next():
    requests = [encode(*LONG[:length], options={"cache": True}) for length in (1, 3, 5)]
    assert [marked(body) for body in requests] == [["a"], ["a", "1"], ["1", "c"]]


def test_no_mark_stands_on_thinking():
    paused = assistant(TextPart("a"), SEARCH, FOUND, THOUGHT, TextPart(" "), finish=FinishReason.PAUSE)
    body = encode(user("x"), paused, options={"cache": True})
    assert [block["type"] for block in body["messages"][-1]["content"] if "cache_control" in block] == [
        "web_search_tool_result"
    ]


def test_nothing_is_marked_where_nobody_asks_or_hints_are_not_understood_or_the_host_marks():
    own = user(TextPart("a", '{"cache_control":{"type":"ephemeral"}}'))
    assert marked(encode(*LONG, instructions="S")) == []
    plain = attrs.evolve(HOME, cache_hints=False)
    assert marked(encode(*LONG, instructions="S", profile=plain, options={"cache": True})) == []
    assert marked(encode(own, instructions="S", options={"cache": True})) == ["a"]
    assert marked(encode(own, instructions="S", profile=plain)) == []
    automatic = {"cache": True, "cache_control": {"type": "ephemeral"}}
    assert marked(encode(*LONG, instructions="S", options=automatic)) == []


# --- round trips ---


def replayed(body: dict) -> AssistantMessage:
    """An answer as it is kept after decoding."""
    _, reply = sent_by_server.body(body)
    told = message_metadata("anthropic", "m", reply)
    return AssistantMessage("1.1", 0, 1, reply.parts, reply.finish, metadata=told)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
OBJECT = st.dictionaries(st.text(max_size=5), JSON, max_size=3)
WORDS = st.text(min_size=1).filter(str.strip)
BLOCKS = st.lists(
    st.one_of(
        st.builds(words, WORDS),
        st.builds(lambda text, cited: words(text) | {"citations": [cited]}, WORDS, OBJECT),
        st.builds(
            lambda text, sig: {"type": "thinking", "thinking": text, "signature": sig}, WORDS, st.text(min_size=1)
        ),
        st.builds(lambda data: {"type": "redacted_thinking", "data": data}, st.text(min_size=1)),
        st.builds(lambda found: {"type": "brand_new", "content": found}, JSON.filter(lambda found: found is not None)),
    ),
    max_size=6,
)


@given(blocks=BLOCKS, arguments=OBJECT)
@pytest.mark.req("G-14")
def test_what_was_decoded_is_sent_back_as_it_came(blocks, arguments):
    content = [*blocks, SEARCH_BLOCK, FOUND_BLOCK, use() | {"input": arguments}]
    answer = replayed({"type": "message", "id": "m1", "content": content, "stop_reason": "tool_use"})
    sent = messages(user("x"), answer, results(("t1", "y")))
    assert sent[1]["content"] == content


@pytest.mark.anyio
async def test_a_request_goes_to_the_interface_with_its_version_and_key():
    events = (sent_by_server.head(), sent_by_server.text("hi"), sent_by_server.end(), sent_by_server.OVER)
    with serving(Answer((sent_by_server.stream(*events),))) as server:
        model = HttpModel("m", base_url=server.url, profile=HOME, api_key="secret-key")
        event = await model.answer(watched().run)
    (received,) = server.received
    assert event.parts == (TextPart("hi"),)
    assert received.path == "/v1/messages"
    assert (received.headers["anthropic-version"], received.headers["x-api-key"]) == ("2023-06-01", "secret-key")
    assert "authorization" not in received.headers
    assert received.body["messages"] == [turn("user", "hello")]
    assert (received.body["stream"], received.body["max_tokens"]) == (True, 8192)
