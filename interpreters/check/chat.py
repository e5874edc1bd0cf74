"""OpenAI chat-completions, from the provider's side."""

from __future__ import annotations

from collections.abc import Mapping
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

_USAGE: Mapping[str, int] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
_SYSTEM = ("system", "developer")


def read(body: Json) -> Asked:
    """Read a request."""
    reader = Reader()
    reader.word(body.get("model"), "model")
    for number, message in enumerate(reader.list(body.get("messages"), "messages")):
        _read_message(reader, reader.object(message, f"messages[{number}]"), f"messages[{number}]")
    return Asked(
        items=tuple(reader.items),
        tools=names_of(body.get("tools"), "function"),
        stream=body.get("stream") is True,
        complaints=tuple(reader.complaints),
    )


def _read_message(reader: Reader, message: Json, where: str) -> None:
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        called = reader.word(message.get("tool_call_id"), f"{where}.tool_call_id")
        reader.add(Item("tool", results=(WireResult(called, words_of(content)),)))
    elif role == "assistant":
        calls = reader.list(message.get("tool_calls") or [], f"{where}.tool_calls")
        found = tuple(_read_call(reader, each, f"{where}.tool_calls[{number}]") for number, each in enumerate(calls))
        if not found and not words_of(content) and not message.get("refusal"):
            reader.complain(f"{where} is an assistant's message with neither words nor calls")
        reader.add(Item("assistant", words_of(content) or str(message.get("refusal") or ""), found))
    elif role == "user":
        reader.add(Item("user", words_of(content)))
    elif role not in _SYSTEM:
        reader.complain(f"{where}.role is {role!r:.40}")


def _read_call(reader: Reader, value: Any, where: str) -> WireCall:
    call = reader.object(value, where)
    function = reader.object(call.get("function"), f"{where}.function")
    return WireCall(
        reader.word(call.get("id"), f"{where}.id"),
        reader.word(function.get("name"), f"{where}.function.name"),
        reader.arguments(function.get("arguments"), f"{where}.function.arguments"),
    )


def stream(reply: Reply) -> list[bytes]:
    """Write a reply as chunks."""
    found = [_chunk(reply, {"role": "assistant", "content": ""})]
    found += [_chunk(reply, {"content": piece}) for piece in pieces(reply.text)]
    for index, call in enumerate(reply.calls):
        head = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        found.append(_chunk(reply, {"tool_calls": [head]}))
        for piece in pieces(call.arguments):
            found.append(_chunk(reply, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    found.append(_chunk(reply, {}, _label(reply)))
    found.append(event({**_head(reply, "chat.completion.chunk"), "choices": [], "usage": _USAGE}))
    return [*found, b"data: [DONE]\n\n"]


def whole(reply: Reply) -> Json:
    """Write a reply as one value."""
    message: Json = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _label(reply)}
    return {**_head(reply, "chat.completion"), "choices": [choice], "usage": _USAGE}


def refuse(refusal: Refusal) -> Json:
    """Write an error."""
    return {"error": {"message": refusal.words, "type": refusal.kind, "code": refusal.kind, "param": None}}


def _head(reply: Reply, kind: str) -> Json:
    return {"id": reply.id, "object": kind, "created": 1, "model": "check"}


def _chunk(reply: Reply, delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({**_head(reply, "chat.completion.chunk"), "choices": [choice]})


def _label(reply: Reply) -> str:
    if reply.cut:
        return "length"
    return "tool_calls" if reply.calls and not reply.labelled_stop else "stop"


CHAT = Dialect("chat", "/chat/completions", read, stream, whole, refuse, ending=3)
"""OpenAI chat-completions."""
