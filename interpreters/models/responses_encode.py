"""The dialect of OpenAI Responses, written: the body of a request, made from our history.

``writing`` has the rules that hold for every dialect. Of this one:

1. Nothing is kept at the provider: thinking comes as a cipher, and goes back with all the other items it stood among.
2. Items of the model that gave them go back whole, with their ids; what another model said goes back as plain words.
3. Thinking that has neither cipher nor words of its own cannot go back where nothing was kept. The items of its
   message then lose their ids, for a provider misses the thinking that belongs to them. Thinking at the end of a
   message, behind which nothing stands any more, is left out: a provider wants what followed.
4. An id of an item stands once in a request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
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
from interpreters.models.reading import list_of, object_of, text_of
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

DIALECT = "responses"
"""The name of the dialect."""

CIPHER = "reasoning.encrypted_content"
"""What is asked for besides the answer, so that thinking can be sent back."""


def encode_responses(view: RequestView, model: str, profile: Profile = DEFAULT) -> Json:
    """Return the body of a request to ``model``; ``ValueError`` where ``settings.options`` is no JSON object."""
    options = read_options(view.settings)
    thinks = bool(re.match(profile.thinking_models, model)) or "reasoning" in options.rest
    body: Json = {
        "model": model,
        "instructions": view.instructions or None,
        "input": _Writer(model, profile, kept=options.rest.get("store") is True).items(view),
        "store": False,
        "include": [CIPHER] if thinks else None,
        "max_output_tokens": options.max_tokens,
        "stream": True,
    }
    if view.tools:
        body["tools"] = [_tool(contract) for contract in view.tools]
        body["tool_choice"] = _choice(options)
        body["parallel_tool_calls"] = options.parallel if profile.parallel_switch else None
    return with_rest(body, options)


@attrs.define
class _Writer:
    """Writes the items of one request."""

    model: str
    profile: Profile
    kept: bool
    """The provider keeps what it said, so that naming it is enough."""
    written: list[Json] = attrs.field(factory=list)
    ids: list[str] = attrs.field(factory=list)
    custom: list[bool] = attrs.field(factory=list)
    taken: set[str] = attrs.field(factory=set)
    item_ids: set[str] = attrs.field(factory=set)

    def items(self, view: RequestView) -> list[Json]:
        if view.summary:
            self.written.append({"role": "user", "content": f"{SUMMARY_HEAD}\n\n{view.summary}"})
        for message in view.messages:
            match message:
                case UserMessage():
                    self.written.append({"role": "user", "content": self._user_content(message.parts)})
                case AssistantMessage():
                    self._assistant(message)
                case ToolMessage():
                    self.written += self._results(message)
        return self.written

    def _user_content(self, parts: Iterable[UserPart]) -> str | list[Json]:
        said = [(part, self._allowed(part.metadata)) for part in parts]
        if all(isinstance(part, TextPart) and not told for part, told in said):
            return "\n\n".join(part.text for part, _ in said if isinstance(part, TextPart))
        return [told | _content(part) for part, told in said]

    def _allowed(self, metadata: str) -> Json:
        return {key: value for key, value in metadata_of(metadata).items() if key != "cache_control"}

    def _assistant(self, message: AssistantMessage) -> None:
        self.ids = call_ids(message, self.taken, self.profile.id_pattern)
        self.taken.update(self.ids)
        own = same_model(message, DIALECT, self.model) is not None
        ids = iter(self.ids)
        self.custom = []
        items: list[Json] = []
        for part in message.parts:
            match part:
                case TextPart():
                    _say(items, part, own=own)
                case ToolCallPart() if not part.provider_executed:
                    told = metadata_of(part.metadata) if own else {}
                    self.custom.append(bool(told.pop("custom", False)))
                    items.append(_call(part, next(ids), told, custom=self.custom[-1]))
                case ReasoningPart() | ToolCallPart() | OpaquePart() | MediaPart() if own:
                    _keep(items, part)
        self.written += self._fit(items)

    def _fit(self, items: list[Json]) -> list[Json]:
        """Leave out what the provider could not place, and ids that it would miss something behind."""
        whole = [item for item in items if self.kept or item.get("type") != "reasoning" or _sayable(item)]
        while whole and whole[-1].get("type") == "reasoning":
            whole.pop()
        nameless = len([item for item in items if item.get("type") == "reasoning" and not _sayable(item)])
        named = self.kept or not nameless
        return [_spelled_out(self._named(item) if named else _anonymous(item)) for item in whole]

    def _named(self, item: Json) -> Json:
        name = item.get("id")
        if not isinstance(name, str):
            return item
        if name in self.item_ids:
            return _anonymous(item)
        self.item_ids.add(name)
        return item

    def _results(self, message: ToolMessage) -> Iterator[Json]:
        custom = self.custom if len(self.custom) == len(message.results) else [False] * len(message.results)
        for result, call_id, free in zip(message.results, result_ids(message, self.ids), custom, strict=True):
            kind = "custom_tool_call_output" if free else "function_call_output"
            yield {"type": kind, "call_id": call_id, "output": result.content}


def _content(part: UserPart) -> Json:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    address = address_of(part)
    if part.media_type.startswith("image/"):
        return {"type": "input_image", "image_url": address or inline(part)}
    if (form := AUDIO_FORMATS.get(part.media_type)) and not address:
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": form}}
    if address:
        return {"type": "input_file", "file_url": address}
    return {"type": "input_file", "filename": part.name or "file", "file_data": inline(part)}


def _say(items: list[Json], part: TextPart, *, own: bool) -> None:
    """Add words: to the message item they stood in, if it is the last one, or as an item of their own."""
    told = metadata_of(part.metadata)
    item = told.get("item") if own and isinstance(told.get("item"), dict) else None
    if item is None:
        if part.text:
            _plainly(items, part.text)
        return
    if told.get("refusal"):
        content: Json = {"type": "refusal", "refusal": part.text}
    else:
        content = {"type": "output_text", "text": part.text, "annotations": told.get("annotations") or []}
    _into(items, item, content)


def _into(items: list[Json], item: Mapping[str, Any], content: Json) -> None:
    """Add a content to the message item it stood in."""
    last = items[-1] if items else {}
    if last.get("type") == "message" and item.get("id") and last.get("id") == item["id"] and "content" in last:
        last["content"] = [*list_of(last["content"]), content]
        return
    items.append({**item, "type": "message", "role": "assistant", "status": "completed", "content": [content]})


def _plainly(items: list[Json], text: str) -> None:
    last = items[-1] if items else {}
    if last.get("role") == "assistant" and "type" not in last:
        last["content"] += text
    else:
        items.append({"role": "assistant", "content": text})


def _spelled_out(item: Json) -> Json:
    """Return words of the assistant in the one form that every server takes: llama.cpp knows no shorter one."""
    if item.get("role") != "assistant" or "type" in item:
        return item
    return {"type": "message", **item, "content": [{"type": "output_text", "text": item["content"]}]}


def _keep(items: list[Json], part: ReasoningPart | ToolCallPart | OpaquePart | MediaPart) -> None:
    """Add an item as it came."""
    told = metadata_of(part.metadata)
    item = told.get("item")
    if isinstance(part, MediaPart):
        # The image that the item before it made.
        if items and items[-1].get("type") == "image_generation_call" and "result" not in items[-1]:
            items[-1]["result"] = part.data
    elif isinstance(part, OpaquePart) and isinstance(told.get("content"), dict) and isinstance(item, dict):
        _into(items, item, told["content"])
    elif isinstance(part, OpaquePart):
        items += [told] if told else []
    elif isinstance(item, dict) and item:
        items.append(dict(item))


def _sayable(item: Mapping[str, Any]) -> bool:
    return bool(item.get("encrypted_content") or item.get("content"))


def _anonymous(item: Json) -> Json:
    """Return an item without its id; words that have none are words like any others."""
    content = [object_of(one) for one in list_of(item.get("content"))]
    if item.get("type") == "message" and all(one.get("type") == "output_text" for one in content):
        return {"role": "assistant", "content": "".join(text_of(one.get("text")) for one in content)}
    return {key: value for key, value in item.items() if key != "id"}


def _call(call: ToolCallPart, call_id: str, told: Json, *, custom: bool) -> Json:
    base = {**told, "call_id": call_id, "name": wire_name(call.name)}
    if custom:
        return {**base, "type": "custom_tool_call", "input": str(metadata_of(call.arguments).get("input", ""))}
    return {**base, "type": "function_call", "arguments": wire_arguments(call.arguments)}


def _choice(options: Options) -> Any:
    return {"type": "function", "name": options.forced} if options.forced else options.tool_choice


def _tool(contract: ToolContract) -> Json:
    tool: Json = {"type": "function", "name": contract.name, "parameters": json.loads(contract.parameters)}
    # Without a word on it the provider would rewrite the schema so that it can be kept strictly.
    tool["strict"] = False
    if contract.description:
        tool["description"] = contract.description
    return tool
