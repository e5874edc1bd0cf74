"""Attacks on the decoders: what is fed, and what has to hold of whatever comes out. Hypothesis and atheris use both."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from agentcore.messages import ToolCallPart
from interpreters.models import DIALECTS, AnswerDecoder, Failure
from interpreters.models.assembly import Reply
from interpreters.models.faults import RULES, Fault
from tests.models import wire

STATUSES = (200, 200, 200, 201, 204, 302, 400, 401, 413, 429, 500, 529)
HEADERS = ({}, {}, {"content-encoding": "gzip"}, {"content-encoding": "br"}, {"retry-after": "x"})

CORPUS = {
    dialect: [wire.body(wire.load(name)) for name in wire.names(dialect) if name != "A13"]
    + [(wire.FIXTURES / name).read_bytes() for name in wire.captures() if wire.dialect_of(name) == dialect]
    for dialect in DIALECTS
}
"""Real answers, by dialect."""

TOKENS = (
    *(b"\n", b"\r", b"\n\n", b"\r\n\r\n", b"data: ", b"data:", b"event: error\n", b": c\n", b"\xef\xbb\xbf", b"\xff"),
    *(b"null", b"NaN", b"-1", b"1e999", b"1" * 5000, b'"\\ud800"', b"{}", b"[]", b'"x"', b"[" * 2000, b'{"a":' * 2000),
    *(b'"index":0', b'"id":"a"', b'"error":{}', b"[DONE]", b"data: [DONE]\n\n", b"<html>", b"\x00", b"\x1f\x8b"),
)
"""Bytes that mean something to one of the layers."""


@st.composite
def mutated(draw, dialect: str) -> bytes:
    """A real answer with pieces taken out, doubled, moved, or put in."""
    data = bytearray(draw(st.sampled_from(CORPUS[dialect])))
    for _ in range(draw(st.integers(1, 6))):
        begin = draw(st.integers(0, len(data)))
        end = min(len(data), begin + draw(st.integers(0, 40)))
        piece = bytes(data[begin:end])
        data[begin:end] = draw(
            st.one_of(
                st.just(b""),
                st.just(piece * 2),
                st.just(piece[::-1]),
                st.sampled_from(TOKENS),
                st.binary(max_size=8),
            )
        )
    return bytes(data)


SCALARS = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        -1,
        2**70,
        1.5,
        "",
        "x",
        "a",
        "\ud83c",
        "text",
        "message",
        "function_call",
        "error",
        "stop",
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "id", "index", "text", "error", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _places(value, path=()) -> list[tuple]:
    found = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found += _places(inner, (*path, key))
    return found


def _values(data: bytes) -> list[tuple[bytes, object]]:
    """The events of a stream: what stands before the JSON, and the JSON."""
    found = []
    for block in data.replace(b"\r\n", b"\n").split(b"\n\n"):
        head, mark, told = block.partition(b"data:")
        try:
            found.append((head, json.loads(told if mark else block)))
        except ValueError:
            found.append((block, None))
    return found


@st.composite
def retold(draw, dialect: str) -> bytes:
    """A real answer in which values of the JSON are others, gone, or elsewhere; still well-formed."""
    events = _values(draw(st.sampled_from(CORPUS[dialect])))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(events) - 1))
        value = events[at][1]
        places = _places(value)
        if not places:
            continue
        path = draw(st.sampled_from(places))
        inner = value
        for key in path[:-1]:
            inner = inner[key]
        if draw(st.booleans()):
            inner[path[-1]] = draw(VALUES)
        else:
            del inner[path[-1]]
        if draw(st.booleans()):
            events.insert(draw(st.integers(0, len(events))), events[at])
    return b"".join(
        head if value is None else head + b"data: " + json.dumps(value).encode() + b"\n\n" for head, value in events
    )


def attack(dialect: str, data: bytes, sizes: list[int], status: int = 200, headers: dict | None = None) -> None:
    """Feed bytes in pieces of the given sizes, again and again, and check what comes of it."""
    decoder = AnswerDecoder(
        DIALECTS[dialect].folder(), status, headers or {}, event_bytes_max=100_000, answer_bytes_max=1_000_000
    )
    shown, at, turn = [], 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)] if sizes else len(data)
        shown += decoder.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    shown += decoder.close()
    for delta in shown:
        delta.text.encode()
    assert decoder.progress >= 0
    decoder.folder.text.encode()
    outcome = decoder.outcome()
    if isinstance(outcome, Failure):
        judge_failure(outcome)
    else:
        judge_reply(outcome)


def judge_failure(failure: Failure) -> None:
    """A failure says what was broken, in words that can be stored."""
    assert isinstance(failure.fault, Fault)
    assert failure.rule is RULES[failure.fault]
    assert failure.message
    failure.message.encode()


def judge_reply(reply: Reply) -> None:
    """A message can be stored, and each call has an id of its own."""
    for text in (reply.label, reply.id, reply.model):
        assert isinstance(text, str)
    for part in reply.parts:
        for name in part.__slots__:
            if isinstance(value := getattr(part, name, None), str):
                value.encode()
        if part.metadata:
            assert isinstance(json.loads(part.metadata), dict)
    ids = [part.provider_id for part in reply.parts if isinstance(part, ToolCallPart) and not part.provider_executed]
    assert all(ids)
    assert len(set(ids)) == len(ids)
