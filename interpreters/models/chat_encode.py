"""The dialect of chat-completions, written: the body of a request, made from our history.

``writing`` has the rules that hold for every dialect. Of this one:

1. Thinking goes back to the model that gave it under the name it came by, and signatures with the call or message.
2. Content is plain text, which every server understands, unless a list says more: media, metadata, thinking chunks.
3. Parts that this dialect has no place for are left out: another provider's opaque parts and executed calls, and media
   in the model's own messages. A message without anything left is left out too.
4. Instructions, the newest words of the user, and results behind them are marked for a cache where that is asked for
   and understood, unless the host marked something itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from agentcore.messages import (
    AssistantMessage,
    MediaPart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolMessage,
    UserMessage,
    UserPart,
)
from agentcore.policy import ToolContract
from agentcore.projections import RequestView
from interpreters.models.profiles import DEFAULT, Profile
from interpreters.models.writing import (
    AUDIO_FORMATS,
    SUMMARY_HEAD,
    Json,
    Options,
    address_of,
    call_ids,
    inline,
    metadata_of,
    read_options,
    result_ids,
    same_model,
    wire_arguments,
    wire_name,
    with_rest,
)

DIALECT = "chat"
"""The name of the dialect."""

BRIDGE = "Understood."
"""What the assistant says between a result and the user where a provider wants that."""

_NAMED_FIELDS = ("reasoning_content", "reasoning")


def encode_chat(view: RequestView, model: str, profile: Profile = DEFAULT) -> Json:
    """Return the body of a request to ``model``; ``ValueError`` where ``settings.options`` is no JSON object."""
    options = read_options(view.settings)
    body: Json = {"model": model, "messages": _Writer(model, profile, options).messages(view)}
    if view.tools:
        body["tools"] = [_tool(contract) for contract in view.tools]
        body["tool_choice"] = _choice(options, profile)
        body["parallel_tool_calls"] = options.parallel if profile.parallel_switch else None
    body[profile.max_tokens_field] = options.max_tokens
    if options.rest.get("stream", True):
        body["stream"] = True
        body["stream_options"] = {"include_usage": True} if profile.stream_options else None
    return with_rest(body, options)


@attrs.define
class _Writer:
    """Writes the messages of one request."""

    model: str
    profile: Profile
    options: Options
    written: list[Json] = attrs.field(factory=list)
    ids: list[str] = attrs.field(factory=list)
    taken: set[str] = attrs.field(factory=set)

    hint: Json | None = None
    """What marks the end of what stays the same."""

    def messages(self, view: RequestView) -> list[Json]:
        self.hint = self._hint(view)
        if view.instructions:
            self.written.append({"role": self.profile.role, "content": self._hinted(view.instructions)})
        if view.summary:
            self._user(f"{SUMMARY_HEAD}\n\n{view.summary}")
        turn = max((at for at, message in enumerate(view.messages) if isinstance(message, UserMessage)), default=-1)
        spans = {"all": 0, "turn": turn, "none": len(view.messages)}
        thinks_from = spans[self.profile.reasoning_span]
        for at, message in enumerate(view.messages):
            match message:
                case UserMessage():
                    content = self._user_content(message.parts)
                    self._user(self._hinted(content) if at == turn else content)
                case AssistantMessage():
                    self._assistant(message, thinks=at >= thinks_from)
                case ToolMessage():
                    self.written += _results(message, self.ids)
        last = self.written[-1] if self.written else {}
        if last.get("role") == "tool":
            last["content"] = self._hinted(last["content"])
        return self.written

    def _hint(self, view: RequestView) -> Json | None:
        """Return the mark, if it is wanted, understood, and the host has set none itself."""
        users = (message for message in view.messages if isinstance(message, UserMessage))
        own = any("cache_control" in part.metadata for message in users for part in message.parts)
        return self.options.cache_control if self.profile.cache_hints and not own else None

    def _hinted(self, content: str | list[Json]) -> str | list[Json]:
        """Mark the end of a content for the cache, if that is wanted."""
        if self.hint is None or not content:
            return content
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return [*parts[:-1], {**parts[-1], "cache_control": self.hint}]

    def _user(self, content: str | list[Json]) -> None:
        if not self.profile.user_after_tool and self.written and self.written[-1]["role"] == "tool":
            self.written.append({"role": "assistant", "content": BRIDGE})
        self.written.append({"role": "user", "content": content})

    def _user_content(self, parts: Iterable[UserPart]) -> str | list[Json]:
        said = [(part, self._allowed(part.metadata)) for part in parts]
        if all(isinstance(part, TextPart) and not told for part, told in said):
            return "\n\n".join(part.text for part, _ in said if isinstance(part, TextPart))
        return [told | _content(part) for part, told in said]

    def _allowed(self, metadata: str) -> Json:
        told = metadata_of(metadata)
        if not self.profile.cache_hints:
            told.pop("cache_control", None)
        return told

    def _assistant(self, message: AssistantMessage, *, thinks: bool) -> None:
        self.ids = call_ids(message, self.taken, self.profile.id_pattern)
        self.taken.update(self.ids)
        replay = same_model(message, DIALECT, self.model)
        encoded: Json = {"role": "assistant", **(replay or {})}
        if replay is not None and thinks:
            encoded |= _reasoning(message, self.profile.reasoning_field)
        said = [part for part in message.parts if isinstance(part, TextPart) and part.text]
        if refusal := "".join(part.text for part in said if metadata_of(part.metadata).get("refusal")):
            encoded["refusal"] = refusal
        if replay is not None and (audio := _audio(message)):
            encoded["audio"] = audio
        if message.calls:
            encoded["tool_calls"] = [
                _call(call, provider_id, own=replay is not None)
                for call, provider_id in zip(message.calls, self.ids, strict=True)
            ]
        content = _said(message, own=replay is not None, thinks=thinks)
        if content or len(encoded) > 1:
            self.written.append({**encoded, "content": content or None})


def _content(part: UserPart) -> Json:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    address = address_of(part)
    if part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": address or inline(part)}}
    if part.media_type.startswith("video/"):
        return {"type": "video_url", "video_url": {"url": address or inline(part)}}
    if address:
        return {"type": "text", "text": f"[{part.media_type} {part.name}: {address}]"}
    if form := AUDIO_FORMATS.get(part.media_type):
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": form}}
    return {"type": "file", "file": {"filename": part.name or "file", "file_data": inline(part)}}


def _said(message: AssistantMessage, *, own: bool, thinks: bool) -> str | list[Json]:
    """Return the content: text, or a list where thinking, or something we do not know, came inside it."""
    chunks: list[Json] = []
    spoken = own and bool(_audio(message))
    for part in message.parts:
        told = metadata_of(part.metadata)
        match part:
            case TextPart():
                if part.text and not told.get("refusal") and not (spoken and told.get("transcript")):
                    chunks.append({"type": "text", "text": part.text})
            case ReasoningPart():
                if own and thinks and isinstance(chunk := told.get("chunk"), dict):
                    chunks.append({**chunk, "thinking": [{"type": "text", "text": part.text}]})
            case OpaquePart():
                if own:
                    chunks.append(told)
    if all(chunk.get("type") == "text" for chunk in chunks):
        return "".join(chunk["text"] for chunk in chunks)
    return chunks


def _reasoning(message: AssistantMessage, name: str) -> Json:
    """Return thinking under the name it came by; whole details, where there are any, say all that the words say."""
    found: Json = {}
    for part in message.parts:
        if isinstance(part, ReasoningPart):
            told = metadata_of(part.metadata)
            if details := told.get("reasoning_details"):
                return {"reasoning_details": details}
            if isinstance(field := told.get("field"), str):
                field = name if name and field in _NAMED_FIELDS else field
                found[field] = found.get(field, "") + part.text
    return found


def _audio(message: AssistantMessage) -> Json:
    """Return the name under which the provider keeps what the model spoke."""
    told = (metadata_of(part.metadata) for part in message.parts if isinstance(part, MediaPart))
    return next(({"id": found["audio"]} for found in told if found.get("audio")), {})


def _call(call: ToolCallPart, provider_id: str, *, own: bool) -> Json:
    extra = metadata_of(call.metadata) if own else {}
    function = {"name": wire_name(call.name), "arguments": wire_arguments(call.arguments)}
    return {**extra, "id": provider_id, "type": "function", "function": function}


def _results(message: ToolMessage, ids: list[str]) -> Iterator[Json]:
    for result, provider_id in zip(message.results, result_ids(message, ids), strict=True):
        yield {"role": "tool", "tool_call_id": provider_id, "name": wire_name(result.name), "content": result.content}


def _choice(options: Options, profile: Profile) -> Any:
    if options.forced:
        return {"type": "function", "function": {"name": options.forced}}
    return (profile.forced_choice or None) if options.tool_choice == "required" else options.tool_choice


def _tool(contract: ToolContract) -> Json:
    function: Json = {"name": contract.name, "parameters": json.loads(contract.parameters)}
    if contract.description:
        function["description"] = contract.description
    return {"type": "function", "function": function}
