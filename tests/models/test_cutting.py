"""How the bytes of an answer are cut decides nothing, and costs nothing."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpreters.models import DIALECTS, AnswerDecoder
from tests.models import wire
from tests.models.test_responses_decode import completed, event

CUTS = st.sets(st.integers(1, 20_000), max_size=12)


def pieces(data: bytes, cuts: set[int]) -> list[bytes]:
    """The data, cut at places that are counted round and round."""
    places = sorted({0, len(data), *(cut % (len(data) or 1) for cut in cuts)})
    return [data[begin:end] for begin, end in pairwise(places)]


@pytest.mark.parametrize("name", wire.names())
@settings(max_examples=12)
@given(cuts=CUTS)
def test_cutting_a_fixture_anywhere_changes_nothing(name, cuts):
    fixture = wire.load(name)
    data = wire.body(fixture)
    assert wire.decode_fixture(fixture, pieces(data, cuts)) == wire.decode_fixture(fixture)


@pytest.mark.parametrize("name", wire.captures())
@settings(max_examples=12)
@given(cuts=CUTS)
def test_cutting_a_recorded_stream_anywhere_changes_nothing(name, cuts):
    data, dialect = (wire.FIXTURES / name).read_bytes(), wire.dialect_of(name)
    assert wire.decode(pieces(data, cuts), dialect=dialect) == wire.decode([data], dialect=dialect)


@pytest.mark.parametrize("name", wire.captures())
def test_a_recorded_stream_says_the_same_in_pieces_of_one_seven_and_all_bytes(name):
    data, dialect = (wire.FIXTURES / name).read_bytes(), wire.dialect_of(name)
    alone, seven, whole = (wire.decode(wire.cut(data, size), dialect=dialect) for size in (1, 7, len(data)))
    assert alone == seven == whole


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("size", [1, 1000, 10**9])
def test_caps_are_where_they_are_however_the_bytes_are_cut(status, size):
    """Of an error so much is read, and of an answer so much; what came before is told."""
    good = b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'
    for data in (good + b"data: " + b"x" * 9000 + b"\n\n", good * 300, b": c\n" * 4000 + good):
        found = []
        for cut in (size, 7):
            decoder = AnswerDecoder(DIALECTS["chat"].folder(), status, event_bytes_max=5000, answer_bytes_max=12_000)
            shown = [delta for piece in wire.cut(data, cut) for delta in decoder.feed(piece)]
            found.append(("".join(delta.text for delta in [*shown, *decoder.close()]), decoder.outcome()))
        assert found[0] == found[1]


def chat(pad: str) -> bytes:
    call = {"index": 0, "id": "a", "function": {"name": "read", "arguments": json.dumps({"pad": pad})}}
    return b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "stop"}]}).encode()


def anthropic(pad: str) -> bytes:
    block = {"type": "tool_use", "id": "a", "name": "read", "input": {"pad": pad}}
    told = (
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    )
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in told)


def responses(pad: str) -> bytes:
    arguments = json.dumps({"pad": pad})
    item = {"type": "function_call", "call_id": "a", "name": "read", "arguments": arguments}
    return event("response.output_item.done", item=item, output_index=0) + completed()


def seconds(data: bytes, size: int, dialect: str) -> float:
    """The time of the processor that decoding takes, the least of some."""
    taken = []
    for _ in range(5):
        begun = time.process_time()
        _, outcome = wire.decode(wire.cut(data, size), dialect=dialect)
        taken.append(time.process_time() - begun)
        assert len(outcome.parts[0].arguments) > 1_000_000
    return min(taken)


@pytest.mark.parametrize("size", [64, 16_384, 10**9])
@pytest.mark.parametrize("made", [chat, anthropic, responses])
def test_one_event_of_two_megabytes_takes_about_twice_as_long_as_one_of_one(made, size):
    one, two = (seconds(made("x" * length), size, made.__name__) for length in (1_000_000, 2_000_000))
    # Were it quadratic, it would be four times as long.
    assert two < 3.2 * one + 0.005


def chat_piece(delta: dict) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


CALLED = {"index": 0, "id": "a", "function": {"name": "read", "arguments": "word "}}
WHERE = {"output_index": 0, "item_id": "i", "summary_index": 0, "content_index": 0, "delta": "word "}
DETAIL = {"type": "reasoning.text", "index": 0, "text": "word "}
BEGUN = b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text"}}\n\n'
WORD = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}\n\n'
PIECES = {
    "text": ("chat", b"", chat_piece({"content": "word "})),
    "thinking": ("chat", b"", chat_piece({"reasoning": "word "})),
    "details": ("chat", b"", chat_piece({"reasoning_details": [DETAIL]})),
    "a call that repeats its name": ("chat", b"", chat_piece({"tool_calls": [CALLED]})),
    "words": ("responses", b"", event("response.output_text.delta", **WHERE)),
    "summary": ("responses", b"", event("response.reasoning_summary_text.delta", **WHERE)),
    "arguments": ("responses", b"", event("response.function_call_arguments.delta", **WHERE)),
    "block": ("anthropic", BEGUN, WORD),
}


@pytest.mark.parametrize("kind", PIECES)
def test_twice_as_many_pieces_take_about_twice_as_long(kind):
    dialect, begun, piece = PIECES[kind]
    taken = []
    for count in (4_000, 8_000):
        times = []
        for _ in range(3):
            decoder = AnswerDecoder(DIALECTS[dialect].folder())
            start = time.process_time()
            decoder.feed(begun)
            for _ in range(count):
                decoder.feed(piece)
            times.append(time.process_time() - start)
        assert decoder.failure is None
        taken.append(min(times))
    assert taken[1] < 3.2 * taken[0] + 0.005
