"""Anthropic messages folded into one message: blocks, calls, ends, usage, and what servers leave out."""

from __future__ import annotations

import json

import pytest

from agentcore.events import ModelFailure
from agentcore.messages import (
    ArgumentsState,
    FinishReason,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    Usage,
    parse_arguments,
)
from interpreters.models import AnswerDecoder, Fault
from interpreters.models.anthropic_decode import AnthropicFolder
from interpreters.models.verbatim import argument_text
from tests.models import wire
from tests.models.anthropic_events import (
    OVER,
    USAGE,
    WORDS,
    args,
    call,
    calls,
    decode,
    end,
    failure,
    head,
    piece,
    reply,
    said,
    start,
    stop,
    stream,
    text,
)

# --- blocks ---


@pytest.mark.req("G-14")
def test_parts_keep_the_order_of_the_model_and_blocks_stay_apart():
    parts = said(
        start({"type": "thinking", "thinking": "", "signature": ""}),
        piece({"type": "thinking_delta", "thinking": "m"}),
        piece({"type": "thinking_delta", "thinking": "m"}),
        piece({"type": "signature_delta", "signature": "SIG=="}),
        stop(),
        start({"type": "redacted_thinking", "data": "ENC"}, 1),
        stop(1),
        start(WORDS, 2),
        text("a", 2),
        text("b", 2),
        stop(2),
        start(WORDS, 3),
        text("c", 3),
        stop(3),
        start(call(), 4),
        args("{}", 4),
        stop(4),
    )
    assert parts == (
        ReasoningPart("mm", '{"signature":"SIG==","type":"thinking"}'),
        ReasoningPart("", '{"data":"ENC","type":"redacted_thinking"}'),
        TextPart("ab"),
        TextPart("c"),
        ToolCallPart("t1", "now", "{}"),
    )


def test_words_are_shown_as_they_come_and_thinking_apart_from_text():
    shown, _ = decode(
        head(), piece({"type": "thinking_delta", "thinking": "m"}), text("h", 1), text("i", 1), end(), OVER
    )
    assert shown == {"ReasoningDelta": "m", "TextDelta": "hi"}


@pytest.mark.req("G-14")
def test_citations_and_unknown_fields_of_a_text_are_kept_beside_it():
    cited = {"type": "char_location", "cited_text": "x", "document_index": 0}
    parts = said(
        start({"type": "text", "text": "", "citations": []}),
        text("a"),
        piece({"type": "citations_delta", "citation": cited}),
        piece({"type": "citations_delta", "citation": cited | {"cited_text": "y"}}),
        piece({"type": "new_delta", "mood": "calm"}),
    )
    expected = {"citations": [cited, cited | {"cited_text": "y"}], "mood": "calm"}
    assert [part.text for part in parts] == ["a"]
    assert json.loads(parts[0].metadata) == expected


def test_a_text_without_words_is_no_part_and_null_fields_are_none():
    assert said(start(WORDS), stop(), start({"type": "text", "text": "", "citations": None}, 1), text("", 1)) == ()
    assert said(start({"type": "thinking", "thinking": "", "signature": ""})) == ()


@pytest.mark.parametrize(
    ("begins", "pieces"),
    [
        ("", ["SIG=="]),
        ("", ["SI", "G=="]),
        ("", ["SIG==", "SIG=="]),
        ("", ["SI", "SIG=="]),
        ("SI", ["G=="]),
        ("SIG==", ["SIG=="]),
        ("SIG==", []),
        ("SIG==", [""]),
    ],
)
def test_a_signature_comes_whole_or_whole_again_or_in_pieces(begins, pieces):
    deltas = [piece({"type": "signature_delta", "signature": one}) for one in pieces]
    parts = said(start({"type": "thinking", "thinking": "m", "signature": begins}), *deltas)
    assert parts == (ReasoningPart("m", '{"signature":"SIG==","type":"thinking"}'),)


@pytest.mark.req("R-087")
@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "some_future_tool_use"])
def test_what_the_provider_runs_itself_is_told_apart_and_kept_with_its_result(kind):
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "https://x", "n": 1}]}
    parts = said(
        start({"type": kind, "id": "s1", "name": "web_search", "input": {}, "server_name": "s"}),
        args('{"query":"x"}'),
        stop(),
        start(result, 1),
        stop(1),
    )
    executed = ToolCallPart("s1", "web_search", '{"query":"x"}', True, f'{{"server_name":"s","type":"{kind}"}}')
    assert parts[0] == executed
    assert isinstance(parts[1], OpaquePart)
    assert json.loads(parts[1].metadata) == result


def test_what_the_provider_runs_keeps_its_id_though_a_call_of_ours_has_the_same():
    parts = said(start(call(provider_id="x")), start(call("search", "x", type="server_tool_use"), 1))
    assert parts[1].provider_id == "x"
    assert parts[0].provider_id not in ("", "x")


@pytest.mark.req("G-14")
def test_a_block_of_a_kind_that_is_not_known_is_kept_with_its_pieces():
    parts = said(
        start({"type": "compaction", "content": None, "list": [1]}),
        piece({"type": "compaction_delta", "content": "a", "list": [2], "number": 1}),
        piece({"type": "compaction_delta", "content": "b", "number": 2}),
        stop(),
        start({"type": "new", "input": {}}, 1),
        args('{"a":', 1),
        args("1}", 1),
        start({"type": "new", "words": "a"}, 2),
        piece({"words": "b", "text": "c", "more": [1]}, 2),
    )
    assert [json.loads(part.metadata) for part in parts] == [
        {"type": "compaction", "content": "ab", "list": [1, 2], "number": 2},
        {"type": "new", "input": {"a": 1}},
        {"type": "new", "words": "ab", "text": "c", "more": [1]},
    ]


@pytest.mark.parametrize("odd", [7, [1], {"a": 1}, True])
def test_fields_of_another_type_than_they_should_be_break_nothing(odd):
    fields = dict.fromkeys(("text", "thinking", "signature", "citations", "id", "name", "data", "partial_json"), odd)
    parts = said(
        start(fields | {"type": "thinking"}),
        piece({"thinking": "m", "signature": "S"}),
        start(fields | {"type": "text"}, 1),
        piece({"text": "a", "citation": odd}, 1),
        start(fields | {"type": "tool_use"}, 2),
        start(fields | {"type": "new"}, 3),
        args("7", 3),
        piece({"partial_json": odd, "data": "x"}, 3),
    )
    assert [part.text for part in parts[:2]] == ["m", "a"]
    assert (parts[2].name, bool(parts[2].provider_id)) == ("", True)
    assert isinstance(parts[3], OpaquePart)


def test_what_an_unknown_block_names_twice_breaks_nothing():
    block = '{"type":"new","input":{"a":{},"a":{"b":1},"c":[1],"c":{}}}'
    (part,) = said(f'data: {{"type":"content_block_start","index":0,"content_block":{block}}}\n\n')
    assert json.loads(part.metadata)["type"] == "new"


def test_a_block_that_is_no_json_is_not_kept():
    assert said('data: {"type":"content_block_start","index":0,"content_block":{"type":"new","x":NaN}}\n\n') == ()
    assert said(start({"type": "new", "x": 1}), args("{")) == (OpaquePart('{"type":"new","x":1}'),)


def test_a_surrogate_pair_cut_between_two_pieces_is_healed_and_never_shown_in_halves():
    shown, outcome = decode(head(), text("a\ud83c"), text("\udf0db"), end(), OVER)
    assert shown == {"TextDelta": "a🌍b"}
    assert outcome.parts == (TextPart("a🌍b"),)


def test_lone_surrogates_are_replaced_before_anything_is_stored():
    parts = said(
        text("a\ud83cb"),
        start({"type": "thinking", "thinking": "\ud800", "signature": "\ud800"}, 1),
        start(call("n\ud800", "t\ud800"), 2),
        args('{"a":"\ud800"}', 2),
        start({"type": "new", "x": "\ud800"}, 3),
    )
    repr(parts).encode()
    json.dumps([part.metadata for part in parts if not isinstance(part, TextPart)]).encode()
    assert [part for part in parts if "\ud800" in repr(part)] == []


# --- calls, and what servers make of them ---


@pytest.mark.parametrize(
    ("events", "arguments"),
    [
        ([start(call())], ""),
        ([start(call()), args("")], ""),
        ([start(call(input=None)), args(None)], ""),
        ([start({"type": "tool_use", "id": "t1", "name": "now"})], ""),
        ([start(call(input={"a": 1}))], '{"a": 1}'),
        ([start(call(input='{"a":1}'))], '{"a":1}'),
        ([start(call(input=[1]))], "[1]"),
        ([start(call(input=7))], "7"),
        ([start(call()), args({"a": 1})], '{"a": 1}'),
        ([start(call(input={"a": 1})), args('{"a":1}')], '{"a":1}'),
        ([start(call(input={"a": 1})), args('{"a":'), args("2}")], '{"a":2}'),
        ([start(call(input={"a": 1})), args(""), args("{"), args(" "), args("}")], '{"a": 1}'),
        ([start(call(input={"a": 1})), args("{}")], '{"a": 1}'),
        ([start(call(input={"a": 1})), args("{")], "{"),
        ([start(call(input={"a": 1})), args('{"a":')], '{"a":'),
        ([start(call()), start(call()), args('{"a":1}')], '{"a":1}'),
        ([start(call()), args('{"a"'), start(call()), args(":1}")], '{"a":1}'),
        ([start(call()), args('{"a":1}'), start(call(input={"a": 1}))], '{"a":1}'),
        ([start(call(), None), args('{"a":1}', None), stop(None)], '{"a":1}'),
        ([start(call(), 5), args('{"a":1}', 5), stop(5)], '{"a":1}'),
        ([start(call(), True), args('{"a":1}', 1.5)], '{"a":1}'),
        ([start(call(), "3"), start(call("b", "t2"), 4), args('{"a":1}', 3)], '{"a":1}'),
        ([stop(3), start(call()), stop(), args('{"a":1}'), stop()], '{"a":1}'),
    ],
)
def test_one_call_is_one_call_wherever_its_input_stands(events, arguments):
    found = calls(*events)
    if len(found) == 2:
        # The second telling, spaced otherwise, is a call of its own under a minted id, and no argument is lost.
        found = found[:1]
    assert found == [("t1", "now", arguments)]


def test_input_that_is_no_object_is_an_argument_error_and_no_crash():
    for raw in ('"Tokyo"', "[1]", "7", '{"a":NaN}', '{"a":1,"a":2}', '{"a":Infinity}'):
        (found,) = calls(start(call()), args(raw))
        assert parse_arguments(found[2]).state is ArgumentsState.MALFORMED


@pytest.mark.parametrize("inside", ['"a":1,"a":2', '"a":NaN', '"a":{"b":[{"c":1,"c":1}]}', '"a":-Infinity'])
@pytest.mark.parametrize("body", [False, True])
def test_what_is_wrong_with_an_input_told_as_an_object_is_an_argument_error_too(inside, body):
    block = f'{{"type":"tool_use","id":"t1","name":"now","input":{{{inside}}}}}'
    if body:
        _, outcome = wire.decode(
            [f'{{"type":"message","content":[{block}],"stop_reason":"tool_use"}}'.encode()], dialect="anthropic"
        )
        (part,) = outcome.parts
    else:
        (part,) = said(f'data: {{"type":"content_block_start","index":0,"content_block":{block}}}\n\n')
    assert parse_arguments(part.arguments).state is ArgumentsState.MALFORMED


def test_an_input_nested_too_deep_is_an_argument_error_and_no_crash():
    value = 7
    for _ in range(100_000):
        value = [value]
    assert parse_arguments(argument_text(value)).state is ArgumentsState.MALFORMED


def test_parallel_calls_interleave_by_index_also_with_gaps():
    found = calls(
        start(call("a", "t1"), 2),
        start(call("b", "t2"), 7),
        args('{"x"', 2),
        args('{"y"', 7),
        args(":1}", 2),
        args(":2}", 7),
        stop(7),
        stop(2),
    )
    assert found == [("t1", "a", '{"x":1}'), ("t2", "b", '{"y":2}')]


@pytest.mark.req("G-2", "D-3")
@pytest.mark.parametrize("index", [0, 1, None])
@pytest.mark.parametrize("ids", [("t1", "t2"), ("t1", "t1"), ("", ""), (None, None), ("t1", "")])
def test_two_calls_are_two_calls_whatever_their_ids_and_indexes(index, ids):
    found = calls(start(call("a", ids[0])), args('{"x":1}'), start(call("a", ids[1]), index), args('{"x":2}', index))
    assert [one[1:] for one in found] == [("a", '{"x":1}'), ("a", '{"x":2}')]
    assert len({one[0] for one in found}) == 2
    assert all(one[0] for one in found)


def test_a_call_told_twice_word_for_word_is_one_call():
    assert len(calls(start(call()), args('{"x":1}'), stop(), start(call(), 1), args('{"x":1}', 1))) == 1


def test_an_empty_id_is_minted_the_same_way_each_time():
    told = [start(call("a", "")), start(call("b", ""), 1)]
    assert calls(*told) == calls(*told)


def test_fields_beside_a_call_are_kept():
    parts = said(start(call(caller={"type": "direct"})), piece({"type": "note_delta", "note": "x"}))
    assert json.loads(parts[0].metadata) == {"caller": {"type": "direct"}, "note": "x"}


# --- pieces without a block ---


def test_words_without_a_start_begin_a_block_and_words_of_another_kind_their_own():
    assert said(text("a"), text("b"), piece({"type": "thinking_delta", "thinking": "m"}), text("c", 4)) == (
        TextPart("ab"),
        ReasoningPart("m", '{"type":"thinking"}'),
        TextPart("c"),
    )
    assert said(start(call()), args("{}"), text("after")) == (ToolCallPart("t1", "now", "{}"), TextPart("after"))
    assert said(text("a", None), text("b", None)) == (TextPart("ab"),)


def test_words_after_their_block_was_stopped_still_belong_to_it():
    assert said(start(WORDS), text("a"), stop(), start(WORDS, 1), text("c", 1), stop(1), text("b")) == (
        TextPart("ab"),
        TextPart("c"),
    )


def test_a_start_may_hold_the_first_words():
    shown, outcome = decode(head(), start({"type": "text", "text": "h"}), text("i"), end(), OVER)
    assert (shown, outcome.parts) == ({"TextDelta": "hi"}, (TextPart("hi"),))


@pytest.mark.parametrize(
    "wrong",
    [
        args('{"a":1}'),
        args('{"a":1}', 3),
        piece({"type": "signature_delta", "signature": "S"}, 9),
        piece({"type": "new_delta"}, 9),
        {"type": "content_block_delta", "index": 0},
        {"type": "content_block_delta", "index": 0, "delta": "hi"},
        {"type": "content_block_start", "index": 0},
        start({"text": "no kind"}),
        start({"type": 7}),
        "data: {}\n\n",
        'data: {"type":7}\n\n',
        "data: [1]\n\n",
        "data: 7\n\n",
        "data: null\n\n",
        "data: {oops\n\n",
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_del\n\n',
        head(id="m2"),
        head(id=""),
    ],
)
@pytest.mark.req("R-086")
def test_what_is_malformed_in_mid_stream_is_an_error_and_never_skipped(wrong):
    shown, outcome = decode(head(), start(WORDS), text("hi"), wrong, text(" there"), end(), OVER)
    assert outcome.fault is Fault.MALFORMED_STREAM
    assert outcome.kind is ModelFailure.RETRYABLE
    assert shown == {"TextDelta": "hi"}


# --- beginnings and ends ---


def test_a_message_that_begins_again_under_the_same_id_is_the_same_message():
    assert said(text("a"), head(), text("b")) == (TextPart("ab"),)
    assert reply(head(id="m0"), head(), text("hi"), end()).id == "m1"


def test_a_head_that_is_repeated_with_content_tells_nothing_twice():
    whole = head(content=[{"type": "text", "text": "hi"}])
    assert said(whole, whole) == (TextPart("hi"),)


def test_pings_comments_and_kinds_of_events_that_are_not_known_change_nothing():
    noise = (
        ": hello\n\n",
        'event: ping\ndata: {"type":"ping"}\n\n',
        "event: ping\ndata:\n\n",
        {"type": "vnew", "x": 1},
    )
    for place in range(6):
        events = [head(), start(WORDS), text("hi"), stop(), end(), OVER]
        events[place:place] = noise
        assert reply(*events) == reply(head(), start(WORDS), text("hi"), stop(), end(), OVER)


def test_an_event_is_known_by_its_name_where_its_data_does_not_say():
    bare = [f"event: {event['type']}\ndata: {json.dumps(event | {'type': None})}\n\n" for event in (head(), text("hi"))]
    assert reply(*bare, end(), OVER).parts == (TextPart("hi"),)


def test_only_what_is_of_the_answer_is_progress():
    decoder = AnswerDecoder(AnthropicFolder())
    seen = []
    idle = [{"type": "ping"}, ": c\n\n", text(""), args("", 1), {"type": "vnew"}, stop(), end(None, output_tokens=1)]
    for event in (head(), start(WORDS), text("a"), start(call(), 1), args("{", 1), *idle, end()):
        before = decoder.progress
        decoder.feed(stream(event))
        seen.append(decoder.progress > before)
    assert seen == [True] * 5 + [False] * 7 + [True]


@pytest.mark.parametrize(
    ("label", "finish"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("tool_use", FinishReason.TOOL_CALLS),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("pause_turn", FinishReason.PAUSE),
        ("refusal", FinishReason.REFUSAL),
        ("something_new", FinishReason.UNKNOWN),
    ],
)
@pytest.mark.req("R-086", "R-089", "D-16")
def test_a_stop_reason_is_read_and_kept_as_it_was(label, finish):
    outcome = reply(head(), text("hi"), end(label), OVER)
    assert (outcome.finish, outcome.label) == (finish, label)


@pytest.mark.parametrize(
    "ending", [[end()], [OVER], [end(), OVER], [head(stop_reason="end_turn")], ["data: [DONE]\n\n"]]
)
def test_an_end_is_stated_by_a_stop_reason_or_by_the_terminator(ending):
    outcome = reply(head(), text("hi"), *ending)
    assert outcome.parts == (TextPart("hi"),)
    assert (outcome.finish is FinishReason.UNKNOWN) is (not outcome.label)


@pytest.mark.parametrize("ending", [[], [stop()], [end(None)], [end("")], [end(7)], [{"type": "message_delta"}]])
def test_a_stream_without_a_stated_end_was_cut(ending):
    found = failure(head(), text("hi"), *ending)
    assert (found.fault, found.kind) == (Fault.TRUNCATED_STREAM, ModelFailure.RETRYABLE)


@pytest.mark.parametrize("last", ["data: {", 'data: {"type":"message_st', "event: message_stop", "da", "data: {}"])
def test_an_event_that_the_end_cut_in_two_says_nothing_behind_a_stated_end(last):
    assert reply(head(), text("hi"), end(), last).parts == (TextPart("hi"),)


def test_the_last_event_counts_though_no_blank_line_ends_it():
    assert reply(head(), text("hi"), stream(end()).decode().rstrip()).finish is FinishReason.STOP


def test_nothing_is_read_after_the_terminator():
    shown, outcome = decode(head(), text("hi"), end(), OVER, text("more"), {"type": "error"}, "data: {oops\n\n")
    assert (shown, outcome.parts) == ({"TextDelta": "hi"}, (TextPart("hi"),))


def test_content_behind_the_stop_reason_still_belongs_to_the_message():
    assert reply(head(), text("a"), end(), text("b"), OVER).parts == (TextPart("ab"),)


@pytest.mark.parametrize("label", ["end_turn", "tool_use", "max_tokens", "model_context_window_exceeded"])
@pytest.mark.req("D-15")
def test_nothing_of_a_truncated_message_may_run(label):
    outcome = reply(head(), start(call()), args('{"a":'), stop(), end(label), OVER)
    assert not wire.runnable(outcome.parts, outcome.finish)
    whole = reply(head(), start(call()), args('{"a":1}'), stop(), end(label), OVER)
    assert wire.runnable(whole.parts, whole.finish) is (whole.finish is not FinishReason.LENGTH)


@pytest.mark.parametrize(("label", "fault"), [("error", Fault.SERVER), ("network_error", Fault.SERVER)])
def test_a_stop_reason_may_tell_of_a_fault(label, fault):
    assert failure(head(), text("hi"), end(label), OVER).fault is fault


def test_the_container_of_the_providers_tools_is_kept():
    told = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "container": {"id": "c1"}}}
    assert reply(head(), text("hi"), told).extra == {"container": {"id": "c1"}}


# --- usage ---


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ([USAGE, {"output_tokens": 4}], Usage(10, 4)),
        ([USAGE, {"output_tokens": 2}, {"output_tokens": 4}], Usage(10, 4)),
        ([{"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 10, "output_tokens": 4}], Usage(10, 4)),
        ([USAGE, {"input_tokens": 0, "output_tokens": 0}], Usage(10, 1)),
        (
            [USAGE | {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}, {"output_tokens": 4}],
            Usage(130, 4, 100, 20),
        ),
        (
            [USAGE, {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 4}],
            Usage(110, 4, 100),
        ),
        ([USAGE, {"output_tokens": 4, "output_tokens_details": {"thinking_tokens": 3}}], Usage(10, 4, None, None, 3)),
        ([{"input_tokens": -1, "output_tokens": "4"}, None, [1]], Usage()),
        ([], Usage()),
    ],
)
@pytest.mark.req("R-074", "R-235")
def test_the_last_number_wins_nothing_is_summed_and_cached_input_is_counted_in(told, usage):
    first = head(usage=told[0] if told else None)
    later = [{"type": "message_delta", "delta": {}, "usage": one} for one in told[1:]]
    last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    assert reply(first, text("hi"), *later, last, OVER).usage == usage


def test_what_a_failed_answer_consumed_is_known_too():
    decoder = AnswerDecoder(AnthropicFolder())
    decoder.feed(stream(head(), text("hi"), {"type": "error", "error": {"type": "overloaded_error"}}))
    assert decoder.folder.usage == Usage(10, 1)
    assert decoder.folder.text == "hi"
