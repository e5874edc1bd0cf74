"""OpenAI Responses, from the provider's side."""

from __future__ import annotations

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

_KEPT_ASIDE = ("reasoning", "item_reference", "compaction")


def read(body: Json) -> Asked:
    """Read a request; what a former answer held is not in it where ``previous_response_id`` names that."""
    reader, open_message = Reader(), False
    reader.word(body.get("model"), "model")
    told = body.get("input")
    entries = [{"role": "user", "content": told}] if isinstance(told, str) else reader.list(told, "input")
    for number, value in enumerate(entries):
        entry, where = reader.object(value, f"input[{number}]"), f"input[{number}]"
        open_message = _read_entry(reader, entry, where, open_message=open_message)
    previous = body.get("previous_response_id")
    return Asked(
        items=tuple(reader.items),
        tools=names_of(body.get("tools"), "function"),
        stream=body.get("stream") is True,
        complaints=tuple(reader.complaints),
        previous=previous if isinstance(previous, str) else "",
    )


def _read_entry(reader: Reader, entry: Json, where: str, *, open_message: bool) -> bool:
    """Take one entry; return whether what the model says next still belongs to the same message."""
    kind, role = entry.get("type", "message"), entry.get("role")
    if kind == "function_call":
        _speak(reader, Item("assistant", calls=(_read_call(reader, entry, where),)), open_message=open_message)
        return True
    if kind == "function_call_output":
        called = reader.word(entry.get("call_id"), f"{where}.call_id")
        reader.add(Item("tool", results=(WireResult(called, words_of(entry.get("output"))),)))
    elif kind == "message" and role == "assistant":
        _speak(reader, Item("assistant", words_of(entry.get("content"))), open_message=open_message)
        return True
    elif kind == "message" and role == "user":
        reader.add(Item("user", words_of(entry.get("content"))))
    elif kind in _KEPT_ASIDE or role in ("system", "developer"):
        return open_message
    else:
        reader.complain(f"{where} is of type {kind!r:.40} and role {role!r:.40}")
    return False


def _speak(reader: Reader, item: Item, *, open_message: bool) -> None:
    if open_message:
        last = reader.items.pop()
        item = Item("assistant", last.text + item.text, (*last.calls, *item.calls))
    reader.items.append(item)


def _read_call(reader: Reader, entry: Json, where: str) -> WireCall:
    return WireCall(
        reader.word(entry.get("call_id"), f"{where}.call_id"),
        reader.word(entry.get("name"), f"{where}.name"),
        reader.arguments(entry.get("arguments"), f"{where}.arguments"),
    )


class _Stream:
    """The events of one answer, numbered."""

    def __init__(self) -> None:
        self.found: list[bytes] = []

    def tell(self, kind: str, **data: Any) -> None:
        """Add an event."""
        self.found.append(event({"type": kind, "sequence_number": len(self.found), **data}, kind))


def stream(reply: Reply) -> list[bytes]:
    """Write a reply as events."""
    told, output = _Stream(), _output(reply)
    for kind in ("response.created", "response.in_progress"):
        told.tell(kind, response=_response(reply, "in_progress", []))
    for index, entry in enumerate(output):
        place = {"item_id": entry["id"], "output_index": index}
        emptied: Json = {"arguments": ""} if "arguments" in entry else {"content": []}
        begun = {**entry, "status": "in_progress", **emptied}
        told.tell("response.output_item.added", output_index=index, item=begun)
        if "arguments" in entry:
            for piece in pieces(entry["arguments"]):
                told.tell("response.function_call_arguments.delta", **place, delta=piece)
            told.tell("response.function_call_arguments.done", **place, arguments=entry["arguments"])
        else:
            _tell_text(told, place, entry["content"][0]["text"])
        told.tell("response.output_item.done", output_index=index, item=entry)
    end = "response.incomplete" if reply.cut else "response.completed"
    told.tell(end, response=whole(reply))
    return told.found


def _tell_text(told: _Stream, place: Json, text: str) -> None:
    inner = {**place, "content_index": 0}
    told.tell("response.content_part.added", **inner, part=_text(""))
    for piece in pieces(text):
        told.tell("response.output_text.delta", **inner, delta=piece, logprobs=[])
    told.tell("response.output_text.done", **inner, text=text, logprobs=[])
    told.tell("response.content_part.done", **inner, part=_text(text))


def whole(reply: Reply) -> Json:
    """Write a reply as one value."""
    return _response(reply, "incomplete" if reply.cut else "completed", _output(reply))


def refuse(refusal: Refusal) -> Json:
    """Write an error."""
    return {"error": {"message": refusal.words, "type": refusal.kind, "code": refusal.kind, "param": None}}


def _text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _output(reply: Reply) -> list[Json]:
    status = "incomplete" if reply.cut else "completed"
    found: list[Json] = []
    if reply.text:
        head = {"type": "message", "id": f"msg_{reply.id}", "role": "assistant", "status": status}
        found.append({**head, "content": [_text(reply.text)]})
    for number, call in enumerate(reply.calls):
        head = {"type": "function_call", "id": f"fc_{reply.id}_{number}", "status": status}
        found.append({**head, "call_id": call.id, "name": call.name, "arguments": call.arguments})
    return found


def _response(reply: Reply, status: str, output: list[Json]) -> Json:
    ended = status in ("completed", "incomplete")
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }
    return {
        "id": reply.id,
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": "check",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "metadata": {},
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": usage if ended else None,
    }


RESPONSES = Dialect("responses", "/responses", read, stream, whole, refuse, ending=1)
"""OpenAI Responses."""
