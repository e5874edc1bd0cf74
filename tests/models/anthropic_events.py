"""Events of Anthropic messages, honest ones and others, and what comes of them."""

from __future__ import annotations

import json

from interpreters.models import Failure
from tests.models import wire

USAGE = {"input_tokens": 10, "output_tokens": 1}


def head(**told) -> dict:
    """The beginning of a message."""
    message = {"id": "m1", "type": "message", "role": "assistant", "content": [], "model": "m", "stop_reason": None}
    return {"type": "message_start", "message": message | {"usage": USAGE} | told}


def start(block: dict, index: int | None = 0) -> dict:
    """The start of a block."""
    return {"type": "content_block_start", "content_block": block} | ({} if index is None else {"index": index})


def piece(delta: dict, index: int | None = 0) -> dict:
    """A piece of a block."""
    return {"type": "content_block_delta", "delta": delta} | ({} if index is None else {"index": index})


def text(words: str, index: int | None = 0) -> dict:
    """A piece of text."""
    return piece({"type": "text_delta", "text": words}, index)


def args(raw, index: int | None = 0) -> dict:
    """A piece of a call's input."""
    return piece({"type": "input_json_delta", "partial_json": raw}, index)


def stop(index: int | None = 0) -> dict:
    """The end of a block."""
    return {"type": "content_block_stop"} | ({} if index is None else {"index": index})


def end(label: str | None = "end_turn", **usage) -> dict:
    """The event that states why the model stopped."""
    return {"type": "message_delta", "delta": {"stop_reason": label}, "usage": {"output_tokens": 4} | usage}


def call(name: str = "now", provider_id: str = "t1", **fields) -> dict:
    """A block that asks for a tool."""
    return {"type": "tool_use", "id": provider_id, "name": name, "input": {}} | fields


WORDS = {"type": "text", "text": ""}
OVER = {"type": "message_stop"}


def stream(*events) -> bytes:
    """Events as they are sent; text goes as it is."""
    written = (
        event if isinstance(event, str) else f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
        for event in events
    )
    return "".join(written).encode()


def decode(*events, **how):
    """Decode events; return what was shown and the outcome."""
    return wire.decode([stream(*events)], dialect="anthropic", **how)


def reply(*events):
    """The message that events make."""
    _, outcome = decode(*events)
    assert not isinstance(outcome, Failure), outcome
    return outcome


def failure(*events, **how) -> Failure:
    """The failure that events make."""
    _, outcome = decode(*events, **how)
    assert isinstance(outcome, Failure), outcome
    return outcome


def body(told, **how):
    """Decode one JSON value, or bytes, in place of a stream."""
    raw = told if isinstance(told, bytes) else json.dumps(told).encode()
    return wire.decode([raw], dialect="anthropic", **how)


def said(*events):
    """The parts of an answer that has a head and a stated end around these events."""
    return reply(head(), *events, end(), OVER).parts


def calls(*events) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call in a message of these events."""
    return [(part.provider_id, part.name, part.arguments) for part in said(*events)]
