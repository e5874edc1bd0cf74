"""Anthropic messages, from the provider's side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from interpreters.check.wire import (
    Asked,
    Dialect,
    Item,
    Json,
    Reader,
    Refusal,
    Reply,
    WireCall,
    WireResult,
    event,
    names_of,
    pieces,
    words_of,
)


def read(body: Json) -> Asked:
    """Read a request."""
    reader = Reader()
    reader.word(body.get("model"), "model")
    if not isinstance(body.get("max_tokens"), int):
        reader.complain("max_tokens is missing")
    messages = reader.list(body.get("messages"), "messages")
    for number, value in enumerate(messages):
        message, where = reader.object(value, f"messages[{number}]"), f"messages[{number}]"
        role = message.get("role")
        if role not in ("user", "assistant") or (number == 0 and role != "user"):
            reader.complain(f"{where}.role is {role!r:.40}")
        if not message.get("content"):
            reader.complain(f"{where}.content is empty")
        if role == "assistant":
            _read_assistant(reader, message.get("content"), where)
        else:
            _read_user(reader, message.get("content"), where)
    return Asked(
        items=tuple(reader.items),
        tools=names_of(body.get("tools")),
        stream=body.get("stream") is True,
        complaints=tuple(reader.complaints),
    )


def _blocks(content: Any) -> list[Json]:
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def _read_assistant(reader: Reader, content: Any, where: str) -> None:
    calls = []
    for block in _blocks(content):
        if block.get("type") == "tool_use":
            arguments = reader.object(block.get("input"), f"{where} tool_use.input")
            named = reader.word(block.get("name"), f"{where} tool_use.name")
            calls.append(WireCall(reader.word(block.get("id"), f"{where} tool_use.id"), named, json.dumps(arguments)))
        elif block.get("type") == "text" and not block.get("text"):
            reader.complain(f"{where} holds an empty text")
    reader.add(Item("assistant", words_of(content), tuple(calls)))


def _read_user(reader: Reader, content: Any, where: str) -> None:
    """Results are told by the user's side, and stand before anything else that it says.

    Each part counts as a message of its own: to this provider, one message of two parts and two messages are the same.
    """
    results: list[WireResult] = []
    said: list[str] = [content] if isinstance(content, str) else []
    for block in _blocks(content):
        if block.get("type") == "tool_result":
            if said:
                reader.complain(f"{where} holds a tool_result behind something else")
            called = reader.word(block.get("tool_use_id"), f"{where} tool_result.tool_use_id")
            results.append(WireResult(called, words_of(block.get("content"))))
        else:
            said.append(words_of([block]))
    if results:
        reader.add(Item("tool", results=tuple(results)))
    for words in said:
        reader.add(Item("user", words))


def stream(reply: Reply) -> list[bytes]:
    """Write a reply as events."""
    started = {**_message(reply), "content": [], "stop_reason": None}
    found = [event({"type": "message_start", "message": started}, "message_start")]
    for index, (block, deltas) in enumerate(_streamed(reply)):
        start = {"type": "content_block_start", "index": index, "content_block": block}
        found.append(event(start, "content_block_start"))
        for delta in deltas:
            told = {"type": "content_block_delta", "index": index, "delta": delta}
            found.append(event(told, "content_block_delta"))
        found.append(event({"type": "content_block_stop", "index": index}, "content_block_stop"))
    ended = {"stop_reason": _label(reply), "stop_sequence": None}
    found.append(event({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}}, "message_delta"))
    return [*found, event({"type": "message_stop"}, "message_stop")]


def _streamed(reply: Reply) -> Iterator[tuple[Json, list[Json]]]:
    if reply.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(reply.text)]
    for call in reply.calls:
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(call.arguments)]
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, deltas


def whole(reply: Reply) -> Json:
    """Write a reply as one value; arguments that are no object come as an empty one."""
    content: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call.arguments)} for call in reply.calls
    ]
    return {**_message(reply), "content": content, "stop_reason": _label(reply)}


def refuse(refusal: Refusal) -> Json:
    """Write an error."""
    return {"type": "error", "error": {"type": refusal.kind, "message": refusal.words}}


def _message(reply: Reply) -> Json:
    usage = {"input_tokens": 10, "output_tokens": 5}
    head = {"id": reply.id, "type": "message", "role": "assistant", "model": "check"}
    return {**head, "stop_sequence": None, "usage": usage}


def _object(arguments: str) -> Json:
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _label(reply: Reply) -> str:
    if reply.cut:
        return "max_tokens"
    return "tool_use" if reply.calls and not reply.labelled_stop else "end_turn"


ANTHROPIC = Dialect("anthropic", "/messages", read, stream, whole, refuse, ending=2)
"""Anthropic messages."""
