"""OpenAI Responses folded into one message: items told in any way, whole bodies, ends and faults."""

from __future__ import annotations

import json

import pytest

from agentcore.events import ModelFailure
from agentcore.messages import FinishReason, MediaPart, OpaquePart, ReasoningPart, TextPart, ToolCallPart, Usage
from interpreters.models import DIALECTS, AnswerDecoder, Failure, Fault
from tests.models import wire

CALL = {"id": "f1", "type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'}
MESSAGE = {"id": "m1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}


def event(kind: str, *, named: bool = True, **fields) -> bytes:
    """One event as the server writes it."""
    name = f"event: {kind}\n" if named else ""
    return f"{name}data: {json.dumps({'type': kind, **fields})}\n\n".encode()


def added(item: dict, index: int | None = 0) -> bytes:
    return event("response.output_item.added", item=item, **({} if index is None else {"output_index": index}))


def done(item: dict, index: int | None = 0) -> bytes:
    return event("response.output_item.done", item=item, **({} if index is None else {"output_index": index}))


def said(piece: str, index: int = 0, content: int = 0, item: str = "m1") -> bytes:
    where = {"output_index": index, "content_index": content, "item_id": item}
    return event("response.output_text.delta", delta=piece, **where)


def args(piece: str, **where) -> bytes:
    return event("response.function_call_arguments.delta", delta=piece, **where)


def completed(*output: dict, status: str = "completed", **fields) -> bytes:
    response = {"id": "r1", "model": "m", "status": status, "output": list(output), **fields}
    return event(f"response.{status}", response=response)


def decode(*pieces: bytes, **answer):
    """Decode events; return what was shown, and the outcome."""
    return wire.decode(list(pieces), dialect="responses", **answer)


def reply(*pieces: bytes):
    """The message that events tell of, having been shown as it is."""
    shown, outcome = decode(*pieces)
    assert not isinstance(outcome, Failure), outcome
    words = "".join(part.text for part in outcome.parts if isinstance(part, TextPart))
    assert shown.get("TextDelta", "") == words
    return outcome


def calls(*pieces: bytes) -> list[tuple[str, str, str]]:
    """Ids, names and arguments of the calls that events tell of."""
    return [
        (part.provider_id, part.name, part.arguments) for part in reply(*pieces).parts if isinstance(part, ToolCallPart)
    ]


BEGUN = {**CALL, "arguments": ""}
ONE = [("c1", "read", '{"path":"a"}')]


@pytest.mark.parametrize(
    "pieces",
    [
        (added(BEGUN), args('{"path":', output_index=0, item_id="f1"), args('"a"}', output_index=0), done(CALL)),
        (added(BEGUN, None), args('{"path":"a"}', item_id="f1"), done(CALL, None)),
        (added(BEGUN, None), args('{"path":'), args('"a"}'), completed(CALL)),
        (added(BEGUN), args('{"path":"a"}', output_index=0), done({**CALL, "arguments": ""})),
        (added(BEGUN), args('{"path":"a"}', output_index=0), done({**CALL, "arguments": None})),
        (added(BEGUN), args('{"path":"a"}', output_index=0), done({**CALL, "arguments": "{}"})),
        (added({**CALL, "arguments": "{}"}), args('{"path":"a"}', output_index=0)),
        (added(CALL), args('{"path":"a"}', output_index=0), done(CALL), completed(CALL)),
        (added(CALL), done(CALL)),
        (done(CALL),),
        (done(CALL, None), done(CALL, None)),
        (completed(CALL),),
        (done({**CALL, "arguments": {"path": "a"}}),),
        # ids of items minted anew with every event
        (added({**BEGUN, "id": "x"}), args('{"path":"a"}', output_index=0, item_id="y"), done({**CALL, "id": "z"})),
        # what ends the arguments tells them too, and sometimes the name
        (
            added({**BEGUN, "name": ""}),
            event("response.function_call_arguments.done", output_index=0, arguments='{"path":"a"}', name="read"),
        ),
    ],
)
@pytest.mark.req("R-086")
def test_one_call_is_one_call_however_often_and_incompletely_it_is_told(pieces):
    ends = () if pieces[-1].startswith(b"event: response.completed") else (completed(),)
    found = calls(*pieces, *ends)
    assert [(id_, name, json.loads(arguments)) for id_, name, arguments in found] == [("c1", "read", {"path": "a"})]


def other(**fields) -> dict:
    return {**CALL, "arguments": '{"path":"b"}', **fields}


@pytest.mark.parametrize(
    ("pieces", "ids"),
    [
        ((done(CALL, 0), done(other(id="f2", call_id="c2"), 1)), ["c1", "c2"]),
        ((done(CALL, 0), done(other(id="f2", call_id="c2"), 0)), ["c1", "c2"]),
        ((done(CALL, None), done(other(id="f2", call_id="c2"), None)), ["c1", "c2"]),
        ((done(CALL, 0), done(other(call_id="c2"), 1)), ["c1", "c2"]),
        ((completed(CALL, other(id="f2", call_id="c2")),), ["c1", "c2"]),
        ((done(CALL, 0), completed(CALL, other(id="f2", call_id="c2"))), ["c1", "c2"]),
        # interleaved
        (
            (
                *(added(BEGUN, 0), added({**BEGUN, "id": "f2", "call_id": "c2"}, 1)),
                *(args('{"path":', output_index=0), args('{"path":"b', output_index=1)),
                *(args('"a"}', output_index=0), args('"}', output_index=1)),
            ),
            ["c1", "c2"],
        ),
        # everything at index 0
        (
            (
                *(added(BEGUN, 0), args('{"path":"a"}', output_index=0, item_id="f1")),
                *(added({**BEGUN, "id": "f2", "call_id": "c2"}, 0), args('{"path":"b"}', output_index=0, item_id="f2")),
            ),
            ["c1", "c2"],
        ),
        # one id for both
        ((done(CALL, 0), done(other(id="f2"), 1)), ["c1", None]),
        ((done(CALL, 0), done(other(), 1)), ["c1", None]),
        ((done(CALL, None), done(other(), None)), ["c1", None]),
        # no ids at all
        ((done({**CALL, "id": "", "call_id": ""}, 0), done(other(id=None, call_id=None), 1)), [None, None]),
        ((done({**CALL, "id": "", "call_id": ""}, None), done(other(id="", call_id=""), None)), [None, None]),
    ],
)
@pytest.mark.req("G-1")
def test_two_calls_are_two_calls_each_with_an_id_of_its_own(pieces, ids):
    ends = () if pieces[-1].startswith(b"event: response.completed") else (completed(),)
    found = calls(*pieces, *ends)
    assert [arguments for _, _, arguments in found] == ['{"path":"a"}', '{"path":"b"}']
    assert len({id_ for id_, _, _ in found}) == 2
    assert all(id_ for id_, _, _ in found)
    assert [id_ for (id_, _, _), told in zip(found, ids, strict=True) if told] == [told for told in ids if told]


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ("", ""),
        ('{"a":NaN}', '{"a":NaN}'),
        ('{"a":1,"a":2}', '{"a":1,"a":2}'),
        ('"{}"', '"{}"'),
    ],
)
def test_arguments_are_kept_as_they_came(arguments, kept):
    assert calls(done({**CALL, "arguments": arguments}), completed()) == [("c1", "read", kept)]


def test_arguments_told_as_an_object_keep_what_is_wrong_with_them():
    raw = json.dumps(CALL).replace(json.dumps(CALL["arguments"]), '{"a": 1, "a": NaN, "n": 12345678901234567890123}')
    data = f'data: {{"type":"response.output_item.done","output_index":0,"item":{raw}}}\n\n'.encode()
    ((_, _, arguments),) = calls(data, completed())
    assert arguments == '{"a": 1, "a": NaN, "n": 12345678901234567890123}'


@pytest.mark.parametrize(
    "pieces",
    [
        (said("h"), said("i")),
        (said("h"), said("i"), done(MESSAGE), completed(MESSAGE)),
        (added({**MESSAGE, "content": []}), said("hi"), done(MESSAGE)),
        (said("h"), done(MESSAGE)),
        (done(MESSAGE),),
        (completed(MESSAGE),),
        (event("response.output_text.done", output_index=0, content_index=0, item_id="m1", text="hi"),),
        (said("hi"), event("response.output_text.done", output_index=0, content_index=0, text="hi")),
        (said("hi"), done({**MESSAGE, "content": []}), completed({**MESSAGE, "content": []})),
        (said("hi"), done({**MESSAGE, "content": [{"type": "output_text", "text": ""}]})),
        (event("response.output_text.delta", delta="h", named=False), event("response.output_text.delta", delta="i")),
        (event("response.content_part.done", output_index=0, content_index=0, part=MESSAGE["content"][0]),),
    ],
)
def test_words_are_told_once_however_often_the_server_tells_them(pieces):
    ends = () if pieces[-1].startswith(b"event: response.completed") else (completed(),)
    found = reply(*pieces, *ends)
    assert [part.text for part in found.parts] == ["hi"]
    assert found.finish is FinishReason.STOP


def test_the_last_word_is_that_of_the_whole():
    shown, outcome = decode(said("ho"), done(MESSAGE), completed())
    assert shown == {"TextDelta": "ho"}
    assert outcome.parts[0].text == "hi"


def test_half_a_character_waits_for_its_other_half():
    halves = (
        rb'{"type":"response.output_text.delta","delta":"\ud83c"}',
        rb'{"type":"response.output_text.delta","delta":"\udf0d"}',
    )
    found = reply(*(b"data: " + half + b"\n\n" for half in halves), completed())
    assert found.parts == (TextPart("🌍"),)
    whole = {**MESSAGE, "content": [{"type": "output_text", "text": "🌍!"}]}
    assert reply(b"data: " + halves[0] + b"\n\n", done(whole), completed()).parts[0].text == "🌍!"


def test_contents_of_one_message_are_parts_with_what_stands_beside_them():
    cited = {"type": "output_text", "text": "b", "annotations": [{"type": "url_citation", "url": "u"}]}
    message = {**MESSAGE, "phase": "final_answer", "content": [{"type": "output_text", "text": "a"}, cited]}
    found = reply(said("a"), said("b", content=1), done(message), completed())
    item = '"item":{"id":"m1","phase":"final_answer"}'
    assert found.parts == (
        TextPart("a", f"{{{item}}}"),
        TextPart("b", f'{{"annotations":[{{"type":"url_citation","url":"u"}}],{item}}}'),
    )


@pytest.mark.parametrize("streamed", [True, False])
def test_a_refusal_is_a_refusal_whatever_the_label(streamed):
    message = {**MESSAGE, "content": [{"type": "refusal", "refusal": "No."}]}
    pieces = [event("response.refusal.delta", output_index=0, content_index=0, delta="No.")] if streamed else []
    found = reply(*pieces, done(message), completed())
    assert (found.finish, found.label) == (FinishReason.REFUSAL, "completed")
    assert wire.told(found.parts)["refusal"] == "No."


@pytest.mark.parametrize(
    "pieces",
    [
        [
            event("response.reasoning_summary_text.delta", output_index=0, summary_index=0, delta="mm"),
            event("response.reasoning_summary_part.added", output_index=0, summary_index=1, part={"text": ""}),
            event("response.reasoning_summary_text.delta", output_index=0, summary_index=1, delta="nn"),
        ],
        [],
    ],
)
@pytest.mark.req("G-14")
def test_thinking_is_shown_and_its_item_kept_verbatim(pieces):
    parts = [{"type": "summary_text", "text": "mm"}, {"type": "summary_text", "text": "nn"}]
    item = {"id": "rs1", "type": "reasoning", "summary": parts, "encrypted_content": "ENC"}
    shown, outcome = decode(*pieces, done(item), done(MESSAGE, 1), completed(item, MESSAGE))
    assert shown == {"ReasoningDelta": "mm\n\nnn", "TextDelta": "hi"}
    assert outcome.parts[0].text == "mm\n\nnn"
    assert json.loads(outcome.parts[0].metadata) == {"item": item}


def test_thinking_in_words_of_its_own_needs_no_item():
    piece = event("response.reasoning_text.delta", item_id="rs1", content_index=0, delta="mm")
    shown, outcome = decode(piece, said("hi", index=1), completed())
    assert shown == {"ReasoningDelta": "mm", "TextDelta": "hi"}
    item = {"type": "reasoning", "id": "rs1", "summary": [], "content": [{"type": "reasoning_text", "text": "mm"}]}
    assert json.loads(outcome.parts[0].metadata) == {"item": item}
    assert isinstance(outcome.parts[0], ReasoningPart)


def test_a_cipher_that_is_told_at_the_very_end_only_is_kept():
    item = {"id": "rs1", "type": "reasoning", "summary": []}
    found = reply(added(item), done(item), said("hi", index=1), completed({**item, "encrypted_content": "E"}, MESSAGE))
    assert json.loads(found.parts[0].metadata)["item"]["encrypted_content"] == "E"


@pytest.mark.req("R-087")
def test_what_the_provider_ran_is_kept_whole_and_is_no_call_of_ours():
    search = {"id": "ws1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}
    progress = event("response.web_search_call.searching", output_index=0, item_id="ws1")
    found = reply(added({**search, "action": None}), progress, done(search), done(MESSAGE, 1), completed())
    call, text = found.parts
    assert (call.provider_executed, call.name, json.loads(call.arguments)) == (
        True,
        "web_search_call",
        search["action"],
    )
    assert json.loads(call.metadata) == {"item": search}
    assert (text.text, found.finish) == ("hi", FinishReason.STOP)


def test_an_image_that_the_provider_made_is_a_part_of_its_own():
    item = {
        "id": "ig1",
        "type": "image_generation_call",
        "status": "completed",
        "output_format": "webp",
        "result": "QUJD",
    }
    call, image = reply(done(item), completed()).parts
    assert isinstance(call, ToolCallPart)
    assert "QUJD" not in call.metadata
    assert image == MediaPart("image/webp", "QUJD", metadata='{"image_of":"ig1"}')


def test_items_and_contents_nobody_knows_are_kept_whole():
    item = {"id": "x1", "type": "new_thing", "deep": {"a": [1, None]}}
    message = {**MESSAGE, "content": [{"type": "output_text", "text": "hi"}, {"type": "new", "x": 1}]}
    found = reply(done(item), done(message, 1), completed())
    assert json.loads(found.parts[0].metadata) == item
    assert isinstance(found.parts[0], OpaquePart)
    assert json.loads(found.parts[2].metadata) == {"content": {"type": "new", "x": 1}, "item": {"id": "m1"}}


def test_a_tool_of_free_text_is_called_with_one_argument():
    item = {"id": "ct1", "type": "custom_tool_call", "call_id": "c1", "name": "shell", "input": 'echo "x"'}
    delta = event("response.custom_tool_call_input.delta", output_index=0, delta="echo")
    assert calls(added({**item, "input": ""}), delta, done(item), completed()) == [
        ("c1", "shell", '{"input":"echo \\"x\\""}')
    ]


def test_items_stand_in_the_order_of_their_indexes():
    found = reply(done(MESSAGE, 1), done({"id": "r", "type": "reasoning", "encrypted_content": "E"}, 0), completed())
    assert [type(part) for part in found.parts] == [ReasoningPart, TextPart]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("max_output_tokens", FinishReason.LENGTH),
        ("max_tokens", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("something_new", FinishReason.LENGTH),
        (None, FinishReason.LENGTH),
    ],
)
@pytest.mark.req("R-146", "D-15")
def test_an_incomplete_response_is_a_cut_one(reason, finish):
    details = {"incomplete_details": {"reason": reason} if reason else None}
    found = reply(done(CALL), completed(CALL, status="incomplete", **details))
    assert (found.finish, found.label) == (finish, reason or "incomplete")


@pytest.mark.req("D-15")
def test_an_incomplete_call_cuts_its_message_whatever_the_label():
    item = {**CALL, "status": "incomplete"}
    assert reply(done(item), completed(item)).finish is FinishReason.LENGTH


@pytest.mark.parametrize("end", [b"", event("response.in_progress"), done(MESSAGE), b": ping\n\n"])
@pytest.mark.req("D-14")
def test_a_stream_without_a_stated_end_is_no_message(end):
    _, outcome = decode(said("hi"), end)
    assert (outcome.fault, outcome.kind) == (Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE)


def test_the_terminator_of_other_dialects_states_an_end_without_a_label():
    found = reply(said("hi"), b"data: [DONE]\n\n")
    assert (found.finish, found.label) == (FinishReason.UNKNOWN, "")
    assert reply(said("hi"), completed(), b"data: [DONE]\n\n").finish is FinishReason.STOP


ERROR = {"code": "rate_limit_exceeded", "message": "slow down"}


@pytest.mark.parametrize(
    ("piece", "fault"),
    [
        (event("error", **ERROR), Fault.RATE_LIMITED),
        (event("error", named=False, **ERROR), Fault.RATE_LIMITED),
        (event("error", error=ERROR), Fault.RATE_LIMITED),
        (b'data: {"error":{"code":"rate_limit_exceeded","message":"x"}}\n\n', Fault.RATE_LIMITED),
        (b"event: error\ndata: overloaded\n\n", Fault.OVERLOADED),
        (event("response.failed", response={"status": "failed", "error": ERROR}), Fault.RATE_LIMITED),
        (event("response.failed", response={"status": "failed", "error": None}), Fault.SERVER),
        (event("response.failed"), Fault.SERVER),
        (event("response.completed", response={"status": "failed", "error": ERROR}), Fault.RATE_LIMITED),
        (event("response.completed", response={"status": "in_progress"}), Fault.MALFORMED_STREAM),
        (event("response.cancelled", response={"status": "cancelled"}), Fault.CANCELLED),
        (event("response.output_item.added", item=7), Fault.MALFORMED_STREAM),
        (b"data: {broken\n\n", Fault.MALFORMED_STREAM),
        (b"data: [1]\n\n", Fault.MALFORMED_STREAM),
    ],
)
@pytest.mark.req("D-14")
def test_a_fault_ends_the_answer_wherever_it_is_told(piece, fault):
    for before in ((), (said("hi"),)):
        shown, outcome = decode(*before, piece, said("more"), completed())
        assert outcome.fault is fault
        assert shown == ({"TextDelta": "hi"} if before else {})


@pytest.mark.parametrize(
    ("body", "finish"),
    [
        ({"status": "completed", "output": [MESSAGE, CALL]}, FinishReason.TOOL_CALLS),
        ({"output": [MESSAGE, CALL]}, FinishReason.TOOL_CALLS),
        ({"status": "incomplete", "output": [MESSAGE, CALL]}, FinishReason.LENGTH),
    ],
)
def test_a_request_for_a_stream_may_be_answered_with_one_body(body, finish):
    found = reply(json.dumps({"id": "r1", "object": "response", **body}).encode())
    assert [type(part) for part in found.parts] == [TextPart, ToolCallPart]
    assert found.finish is finish


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"error": ERROR}, Fault.RATE_LIMITED),
        ([{"error": ERROR}], Fault.RATE_LIMITED),
        ({"status": "failed", "output": [], "error": ERROR}, Fault.RATE_LIMITED),
        ({"status": "cancelled", "output": []}, Fault.CANCELLED),
        ({"status": "queued", "output": []}, Fault.MALFORMED_STREAM),
        ({"choices": []}, Fault.PROTOCOL),
        ([], Fault.PROTOCOL),
        ({}, Fault.PROTOCOL),
    ],
)
def test_a_body_may_tell_of_a_fault(body, fault):
    _, outcome = decode(json.dumps(body).encode())
    assert outcome.fault is fault


def test_usage_is_that_of_the_end_and_a_zero_erases_nothing():
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 6},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 1},
    }
    begun = event("response.created", response={"usage": None})
    assert reply(begun, said("x"), completed(usage=usage)).usage == Usage(10, 4, 6, None, 1)
    early = event("response.in_progress", response={"usage": usage})
    assert reply(early, completed(usage={"input_tokens": 0, "output_tokens": 5})).usage == Usage(10, 5, 6, None, 1)


def test_what_a_failed_response_consumed_is_counted():
    decoder = AnswerDecoder(DIALECTS["responses"].folder())
    decoder.feed(event("response.failed", response={"error": ERROR, "usage": {"input_tokens": 3}}))
    assert decoder.folder.usage.input_tokens == 3


def test_that_the_server_still_works_on_it_is_no_progress():
    decoder = AnswerDecoder(DIALECTS["responses"].folder())
    for piece in (event("response.created", response={}), event("keepalive"), b": ping\n\n", said("")):
        before = decoder.progress
        decoder.feed(piece)
        assert decoder.progress == before
    decoder.feed(said("x"))
    assert decoder.progress > before
