"""The dialect of chat-completions, written: the body of a request, made from our history.

1. Results are paired with calls by the provider's ids. Models count theirs anew now and then, and some providers want
   each id once in a whole request: a second one is replaced, in the call and its result alike, by one that depends on
   the message alone, so that it is the same in every later request. Nothing else about a call is changed, except that
2. arguments that are not one JSON object are wrapped into one, and a name no provider would accept is respelled. A
   provider refuses a request that holds either, so a model's one slip would end the session for good.
3. What a provider wants back verbatim goes back to the model that gave it, and to no other: thinking under the name it
   came by, and the signatures beside a call or message.
4. Parts that this dialect has no place for are left out: another provider's opaque parts and executed calls, and media
   in the model's own messages. A message without anything left is left out too.
5. ``settings.options`` are merged over the body last; ``null`` takes a field out, also one of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from agentcore.messages import (
    ArgumentsState,
    AssistantMessage,
    MediaPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolMessage,
    UserMessage,
    UserPart,
    canonical_json,
    parse_arguments,
)
from agentcore.policy import ToolContract
from agentcore.projections import RequestView
from interpreters.models.assembly import kept, minted_id

SUMMARY_HEAD = "Summary of the conversation so far, in place of its earlier messages:"
"""What stands above the summary, which is sent as the first message of the user's side."""

_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH_MAX = 64
_AUDIO_FORMATS: Mapping[str, str] = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)

Json = dict[str, Any]
"""A JSON object."""


def encode_chat(view: RequestView, model: str, *, stream: bool = True) -> Json:
    """Return the body of a request to ``model``; ``ValueError`` where ``settings.options`` is no JSON object."""
    body: Json = {"model": model, "messages": list(_messages(view, model))}
    if view.tools:
        body["tools"] = [_tool(contract) for contract in view.tools]
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    options = json.loads(view.settings.options)
    if not isinstance(options, dict):
        found = type(options).__name__
        raise ValueError(f"settings.options must be a JSON object, found {found}")  # noqa: TRY004 - the text is wrong
    return {key: value for key, value in (body | options).items() if value is not None}


def message_metadata(model: str, label: str, provider_id: str, extra: Mapping[str, Any]) -> str:
    """Return what is kept beside an answer: who was asked, the raw finish label, and what is to be sent back."""
    told = {"dialect": "chat", "asked": model, "label": label, "id": provider_id}
    said = {key: value for key, value in told.items() if value}
    return (kept(said | {"replay": dict(extra)}) if extra else "") or kept(said)


def _messages(view: RequestView, model: str) -> Iterator[Json]:
    if view.instructions:
        yield {"role": "system", "content": view.instructions}
    if view.summary:
        yield {"role": "user", "content": f"{SUMMARY_HEAD}\n\n{view.summary}"}
    ids: list[str] = []
    taken: set[str] = set()
    for message in view.messages:
        match message:
            case UserMessage():
                yield {"role": "user", "content": _user_content(message.parts)}
            case AssistantMessage():
                ids = _ids(message, taken)
                taken.update(ids)
                encoded = _assistant(message, ids, model)
                if len(encoded) > 1:
                    yield encoded
            case ToolMessage():
                yield from _results(message, ids)


def _user_content(parts: Iterable[UserPart]) -> str | list[Json]:
    """Plain text stays a string, which every server understands; media or provider metadata need the list."""
    parts = tuple(parts)
    if all(isinstance(part, TextPart) and not part.metadata for part in parts):
        return "\n\n".join(part.text for part in parts if isinstance(part, TextPart))
    return [_object(part.metadata) | _content(part) for part in parts]


def _content(part: UserPart) -> Json:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    address = part.data if _ADDRESS.match(part.data) else ""
    if part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": address or _inline(part)}}
    if address:
        return {"type": "text", "text": f"[{part.media_type} {part.name}: {address}]"}
    if form := _AUDIO_FORMATS.get(part.media_type):
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": form}}
    return {"type": "file", "file": {"filename": part.name or "file", "file_data": _inline(part)}}


def _inline(part: MediaPart) -> str:
    return f"data:{part.media_type};base64,{part.data}"


def _assistant(message: AssistantMessage, ids: list[str], model: str) -> Json:
    told = _object(message.metadata)
    same_model = told.get("dialect") == "chat" and told.get("asked") == model
    encoded: Json = {"role": "assistant"}
    if same_model:
        encoded |= told.get("replay") or {}
        encoded |= _reasoning(message)
    said = [part for part in message.parts if isinstance(part, TextPart) and part.text]
    refusal = "".join(part.text for part in said if _object(part.metadata).get("refusal"))
    text = "".join(part.text for part in said if not _object(part.metadata).get("refusal"))
    if refusal:
        encoded["refusal"] = refusal
    if message.calls:
        encoded["tool_calls"] = [
            _call(call, provider_id, same_model=same_model)
            for call, provider_id in zip(message.calls, ids, strict=True)
        ]
    if text or len(encoded) > 1:
        encoded["content"] = _with_thinking(encoded.pop("thinking", ""), text) or None
    return encoded


def _reasoning(message: AssistantMessage) -> Json:
    """Return thinking under the name it came by; whole details, where there are any, say all that the words say."""
    found: Json = {}
    for part in message.parts:
        if isinstance(part, ReasoningPart):
            told = _object(part.metadata)
            if details := told.get("reasoning_details"):
                found["reasoning_details"] = details
            if field := told.get("field"):
                found[field] = found.get(field, "") + part.text
    if "reasoning_details" in found:
        return {"reasoning_details": found["reasoning_details"]}
    return found


def _with_thinking(thinking: str, text: str) -> str | list[Json]:
    """Return the content; where thinking came inside it, as a list that holds both."""
    if not thinking:
        return text
    inner = {"type": "thinking", "thinking": [{"type": "text", "text": thinking}]}
    return [inner, {"type": "text", "text": text}] if text else [inner]


def _call(call: ToolCallPart, provider_id: str, *, same_model: bool) -> Json:
    extra = _object(call.metadata) if same_model else {}
    function = {"name": wire_name(call.name), "arguments": _arguments(call.arguments)}
    return {**extra, "id": provider_id, "type": "function", "function": function}


def _arguments(raw: str) -> str:
    if not raw.strip():
        return "{}"
    if parse_arguments(raw).state is ArgumentsState.COMPLETE:
        return raw
    return canonical_json({"not_a_json_object": raw})


def wire_name(name: str) -> str:
    """Return a tool's name as every provider accepts it: letters, digits, ``_`` and ``-``, at most 64."""
    return _NAME.sub("_", name)[:_NAME_LENGTH_MAX] or "unnamed"


def _ids(message: AssistantMessage, taken: Container[str]) -> list[str]:
    """Return an id for each call of a message, all distinct, also from those of earlier messages."""
    wanted = [call.provider_id for call in message.calls]
    ids: list[str] = []
    for place, provider_id in enumerate(wanted):
        fresh = provider_id and provider_id not in taken and provider_id not in ids
        seed = f"{message.request_id}/{place}"
        ids.append(provider_id if fresh else minted_id(seed, {*wanted, *ids}, taken))
    return ids


def _results(message: ToolMessage, ids: list[str]) -> Iterator[Json]:
    """Results stand in the order of their calls, so each takes the id that its call was sent with."""
    paired = ids if len(ids) == len(message.results) else [result.provider_id for result in message.results]
    for result, provider_id in zip(message.results, paired, strict=True):
        yield {"role": "tool", "tool_call_id": provider_id, "name": wire_name(result.name), "content": result.content}


def _tool(contract: ToolContract) -> Json:
    function: Json = {"name": contract.name, "parameters": json.loads(contract.parameters)}
    if contract.description:
        function["description"] = contract.description
    return {"type": "function", "function": function}


def _object(metadata: str) -> Json:
    """Return provider metadata as an object; anything else counts as none."""
    value = json.loads(metadata) if metadata else {}
    return value if isinstance(value, dict) else {}
