"""One story told in every dialect: what the tests over kinds of answers are made of.

A *telling* is a list of events (name, JSON text or value) and, where the dialect has one, the whole body instead.
"""

from __future__ import annotations

import json
from typing import Any

import attrs


@attrs.frozen
class Story:
    """What a model says."""

    text: str = ""
    """Its words."""
    reasoning: str = ""
    """Its thinking."""
    calls: tuple[tuple[str, str, str], ...] = ()
    """Ids, names and argument texts."""
    stop: str = "end"
    """How it ends: end, tools, length, filtered."""
    usage: tuple[int, int] = (10, 4)
    """Tokens read and written."""


@attrs.frozen
class Telling:
    """A story in one dialect."""

    events: tuple[tuple[str, Any], ...]
    """Names and values; a value that is text stands as it is."""
    body: Any
    """The same as one JSON value."""
    ends_at: int
    """How many of the events there are before the end is stated."""


def cut(text: str) -> list[str]:
    """A text in three pieces, the middle one empty as a server's first or last often is."""
    return [text[: len(text) // 2], "", text[len(text) // 2 :]]


CHAT_LABELS = {"end": "stop", "tools": "tool_calls", "length": "length", "filtered": "content_filter"}
ANTHROPIC_LABELS = {"end": "end_turn", "tools": "tool_use", "length": "max_tokens", "filtered": "refusal"}


def chat(story: Story) -> Telling:
    """The story in chat-completions."""

    def chunk(delta: dict, finish: str | None = None, **fields) -> tuple[str, Any]:
        return "", {
            "id": "x",
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            **fields,
        }

    calls = [
        {"index": at, "id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (id_, name, arguments) in enumerate(story.calls)
    ]
    events = [chunk({"role": "assistant", "content": None})]
    events += [chunk({"reasoning_content": piece}) for piece in cut(story.reasoning)]
    events += [chunk({"content": piece}) for piece in cut(story.text)]
    for call in calls:
        first = {**call, "function": {**call["function"], "arguments": ""}}
        events.append(chunk({"tool_calls": [first]}))
        for piece in cut(call["function"]["arguments"]):
            events.append(chunk({"tool_calls": [{"index": call["index"], "function": {"arguments": piece}}]}))
    label = CHAT_LABELS[story.stop]
    usage = {"prompt_tokens": story.usage[0], "completion_tokens": story.usage[1]}
    ends_at = len(events)
    events += [chunk({}, label), ("", {"id": "x", "choices": [], "usage": usage}), ("", "[DONE]")]
    message = {"role": "assistant", "content": story.text or None, "tool_calls": calls or None}
    if story.reasoning:
        message["reasoning_content"] = story.reasoning
    body = {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": label}], "usage": usage}
    return Telling(tuple(events), body, ends_at)


def anthropic(story: Story) -> Telling:
    """The story in Anthropic messages."""
    blocks: list[tuple[dict, list[dict]]] = []
    content: list[dict] = []
    if story.reasoning:
        pieces = [{"type": "thinking_delta", "thinking": piece} for piece in cut(story.reasoning)]
        pieces.append({"type": "signature_delta", "signature": "S"})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, pieces))
        content.append({"type": "thinking", "thinking": story.reasoning, "signature": "S"})
    if story.text:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": one} for one in cut(story.text)]))
        content.append({"type": "text", "text": story.text})
    for id_, name, arguments in story.calls:
        pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in cut(arguments)]
        blocks.append(({"type": "tool_use", "id": id_, "name": name, "input": {}}, pieces))
        content.append({"type": "tool_use", "id": id_, "name": name, "input": _value(arguments)})
    told = {"id": "x", "type": "message", "role": "assistant", "model": "m"}
    usage = {"input_tokens": story.usage[0], "output_tokens": 1}
    events: list[dict] = [{"type": "message_start", "message": {**told, "content": [], "usage": usage}}]
    for at, (block, pieces) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": at, "content_block": block})
        events += [{"type": "content_block_delta", "index": at, "delta": piece} for piece in pieces]
        events.append({"type": "content_block_stop", "index": at})
    ends_at = len(events)
    label = ANTHROPIC_LABELS[story.stop]
    final = {"input_tokens": story.usage[0], "output_tokens": story.usage[1]}
    events += [
        {"type": "message_delta", "delta": {"stop_reason": label}, "usage": {"output_tokens": story.usage[1]}},
        {"type": "message_stop"},
    ]
    body = {**told, "content": content, "stop_reason": label, "usage": final}
    return Telling(tuple((event["type"], event) for event in events), body, ends_at)


def responses(story: Story) -> Telling:
    """The story in OpenAI Responses."""
    output: list[dict] = []
    events: list[dict] = [{"type": "response.created", "response": {"id": "x", "status": "in_progress", "output": []}}]

    def item(begun: dict, whole: dict, pieces: list[dict]) -> None:
        where = {"output_index": len(output), "item_id": whole["id"]}
        events.append({"type": "response.output_item.added", "output_index": len(output), "item": begun})
        events.extend({**where, **piece} for piece in pieces)
        events.append({"type": "response.output_item.done", "output_index": len(output), "item": whole})
        output.append(whole)

    if story.reasoning:
        kind = "response.reasoning_summary_text.delta"
        base = {"id": "rs", "type": "reasoning", "summary": []}
        whole = {**base, "summary": [{"type": "summary_text", "text": story.reasoning}], "encrypted_content": "S"}
        item(base, whole, [{"type": kind, "summary_index": 0, "delta": piece} for piece in cut(story.reasoning)])
    if story.text:
        base = {"id": "ms", "type": "message", "role": "assistant", "content": []}
        whole = {**base, "content": [{"type": "output_text", "text": story.text, "annotations": []}]}
        kind = "response.output_text.delta"
        item(base, whole, [{"type": kind, "content_index": 0, "delta": piece} for piece in cut(story.text)])
    for at, (id_, name, arguments) in enumerate(story.calls):
        whole = {"id": f"f{at}", "type": "function_call", "call_id": id_, "name": name, "arguments": arguments}
        kind = "response.function_call_arguments.delta"
        item({**whole, "arguments": ""}, whole, [{"type": kind, "delta": piece} for piece in cut(arguments)])
    reasons = {"length": "max_output_tokens", "filtered": "content_filter"}
    status = "incomplete" if story.stop in reasons else "completed"
    usage = {"input_tokens": story.usage[0], "output_tokens": story.usage[1]}
    final = {"id": "x", "object": "response", "model": "m", "status": status, "output": output, "usage": usage}
    if reason := reasons.get(story.stop):
        final["incomplete_details"] = {"reason": reason}
    ends_at = len(events)
    events.append({"type": f"response.{status}", "response": final})
    return Telling(tuple((event["type"], event) for event in events), final, ends_at)


def _value(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


DIALECTS = {"chat": chat, "anthropic": anthropic, "responses": responses}
"""How each dialect tells a story."""

ERRORS = {
    "chat": ("", lambda type_, message: {"error": {"message": message, "type": type_, "code": type_}}),
    "anthropic": ("error", lambda type_, message: {"type": "error", "error": {"type": type_, "message": message}}),
    "responses": ("error", lambda type_, message: {"type": "error", "code": type_, "message": message}),
}
"""How each dialect tells of a fault in mid-stream: the name of the event, and its value."""


def written(events, *, end: str = "\n", space: str = " ", before: str = "", fields: str = "") -> bytes:
    """Events as bytes: with a kind of line end, with or without a space, with what stands before each and inside."""
    found = []
    for name, value in events:
        data = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines = [*before.splitlines(), *([f"event:{space}{name}"] if name else []), *fields.splitlines()]
        found.append(end.join([*lines, f"data:{space}{data}", "", ""]))
    return "".join(found).encode()
