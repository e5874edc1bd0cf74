"""Our history as pydantic-ai's messages, and its answers as our parts.

1. What only a provider understands (ids, signatures, encrypted thinking, calls it ran itself) is kept beside each part
   as pydantic-ai writes it, and goes back to the model that gave it, and to no other.
2. Messages of one side that follow each other are one request: text, media and results in our order.
3. Ids, names and arguments are made fit to be sent as for every other dialect (``writing``).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic_ai import messages as theirs
from pydantic_ai.tools import ToolDefinition

from agentcore.messages import (
    AssistantMessage,
    AssistantPart,
    DeniedCall,
    FailedCall,
    InvalidCall,
    MediaPart,
    OpaquePart,
    Outcome,
    ReasoningPart,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    UserMessage,
    clean_text,
)
from agentcore.policy import ToolContract
from agentcore.projections import RequestView
from interpreters.models.assembly import Reply, kept
from interpreters.models.writing import (
    SUMMARY_HEAD,
    address_of,
    call_ids,
    message_metadata,
    metadata_of,
    result_ids,
    same_model,
    wire_arguments,
    wire_name,
)

DIALECT = "pydantic-ai"
"""The name under which answers are kept."""

_CONTENT: Mapping[str, tuple[str, ...]] = {
    "text": ("content", "part_kind"),
    "thinking": ("content", "part_kind"),
    "tool-call": ("tool_name", "args", "tool_call_id", "part_kind"),
}
"""What of each kind of part stands in ours; the rest is metadata."""

_BESIDE = ("provider_name", "provider_url", "canonical_system", "provider_details", "provider_response_id")
"""What of an answer belongs to no part and is sent back with it."""


# From us to them


def requests_of(view: RequestView, asked: str) -> list[theirs.ModelMessage]:
    """Return the messages of a request to the model ``asked``; the last one is a request and has the instructions."""
    found: list[theirs.ModelMessage] = []
    waiting: list[theirs.ModelRequestPart] = []
    if view.summary:
        waiting.append(theirs.UserPromptPart(f"{SUMMARY_HEAD}\n\n{view.summary}"))
    ids: list[str] = []
    taken: set[str] = set()
    for message in view.messages:
        match message:
            case UserMessage():
                waiting.append(theirs.UserPromptPart(_words(message)))
            case ToolMessage():
                waiting += _results(message, ids)
            case AssistantMessage():
                ids = call_ids(message, taken)
                taken.update(ids)
                if answer := _answer(message, ids, asked):
                    found += [theirs.ModelRequest(waiting), answer] if waiting else [answer]
                    waiting = []
    return [*found, theirs.ModelRequest(waiting, instructions=view.instructions or None)]


def tools_of(contracts: Iterable[ToolContract]) -> list[ToolDefinition]:
    """Return tools as pydantic-ai declares them."""
    return [
        ToolDefinition(
            name=each.name,
            parameters_json_schema=json.loads(each.parameters),
            description=each.description or None,
            strict=False,
        )
        for each in contracts
    ]


def _words(message: UserMessage) -> str | list[theirs.UserContent]:
    if all(isinstance(part, TextPart) for part in message.parts):
        return "\n\n".join(part.text for part in message.parts if isinstance(part, TextPart))
    return [part.text if isinstance(part, TextPart) else _media(part) for part in message.parts]


def _media(part: MediaPart) -> theirs.UserContent:
    address = address_of(part)
    if not address:
        try:
            data = base64.b64decode(part.data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"{part.media_type} {part.name!r} is not base64: {error}") from error
        return theirs.BinaryContent(data, media_type=part.media_type)
    kinds: Mapping[str, type[theirs.ImageUrl | theirs.AudioUrl | theirs.VideoUrl]] = {
        "image": theirs.ImageUrl,
        "audio": theirs.AudioUrl,
        "video": theirs.VideoUrl,
    }
    family = part.media_type.partition("/")[0]
    return kinds.get(family, theirs.DocumentUrl)(address, media_type=part.media_type)


def _results(message: ToolMessage, ids: list[str]) -> Iterator[theirs.ToolReturnPart]:
    for result, provider_id in zip(message.results, result_ids(message, ids), strict=True):
        yield theirs.ToolReturnPart(
            wire_name(result.name), result.content, provider_id, outcome=_outcome(result.outcome)
        )


def _outcome(outcome: Outcome) -> Any:
    """Return the word for how a call ended; what may have happened is told by the content, not by a label."""
    match outcome:
        case Succeeded():
            return "success"
        case FailedCall() | InvalidCall():
            return "failed"
        case DeniedCall():
            return "denied"
        case _:
            return "interrupted"


def _answer(message: AssistantMessage, ids: list[str], asked: str) -> theirs.ModelResponse | None:
    replay = same_model(message, DIALECT, asked)
    waiting = iter(ids)
    parts = [found for part in message.parts if (found := _part(part, waiting, same=replay is not None))]
    if not parts:
        return None
    written = {"kind": "response", "parts": parts, "timestamp": "1970-01-01T00:00:00Z"} | (replay or {})
    read = theirs.ModelMessagesTypeAdapter.validate_python([written])[0]
    return read if isinstance(read, theirs.ModelResponse) else None


def _part(part: AssistantPart, ids: Iterator[str], *, same: bool) -> dict[str, Any] | None:
    """Return a part as pydantic-ai writes it, with what it had beside it where the same model is asked."""
    match part:
        case TextPart(text=text, metadata=told) if text:
            return {"part_kind": "text", "content": text} | (metadata_of(told) if same else {})
        case ReasoningPart(text=text, metadata=told) if same:
            return {"part_kind": "thinking", "content": text} | metadata_of(told)
        case ToolCallPart(provider_executed=False, name=name, arguments=raw, metadata=told):
            call = {"part_kind": "tool-call", "tool_name": wire_name(name), "args": wire_arguments(raw)}
            return call | {"tool_call_id": next(ids)} | (metadata_of(told) if same else {})
        case OpaquePart(metadata=told) if same:
            return metadata_of(told) or None
        case _:
            return None


# From them to us


def reply_of(answer: theirs.ModelResponse, finish: Any) -> Reply:
    """Return an answer as our dialects do; ``finish`` is what its label means."""
    written = theirs.ModelMessagesTypeAdapter.dump_python([answer], mode="json", exclude_none=True)[0]
    parts = tuple(_ours(part, told) for part, told in zip(answer.parts, written["parts"], strict=True))
    return Reply(
        parts=parts,
        finish=finish,
        label=clean_text(label_of(answer) or answer.finish_reason or ""),
        id=clean_text(answer.provider_response_id or ""),
        model=clean_text(answer.model_name or ""),
        extra={key: written[key] for key in _BESIDE if written.get(key)},
    )


def label_of(answer: theirs.ModelResponse) -> str:
    """Return the provider's own word for why it finished; empty where pydantic-ai does not pass it on."""
    told = (answer.provider_details or {}).get("finish_reason")
    return told if isinstance(told, str) else ""


def metadata_for(asked: str, reply: Reply) -> str:
    """Return what is kept beside an answer."""
    return message_metadata(DIALECT, asked, reply)


def _ours(part: Any, written: Mapping[str, Any]) -> AssistantPart:
    beside = kept({key: value for key, value in written.items() if key not in _CONTENT.get(part.part_kind, ())})
    match part:
        case theirs.TextPart(content=text):
            return TextPart(clean_text(text), beside)
        case theirs.ThinkingPart(content=text):
            return ReasoningPart(clean_text(text), beside)
        case theirs.ToolCallPart(tool_name=name, tool_call_id=provider_id):
            return ToolCallPart(clean_text(provider_id), clean_text(name), _raw(part.args), metadata=beside)
        case _:
            return OpaquePart(kept(written))


def _raw(arguments: str | Mapping[str, Any] | None) -> str:
    """Return arguments as text: the text that came, or that of the object which some providers send."""
    if isinstance(arguments, str):
        return clean_text(arguments)
    return clean_text(json.dumps(dict(arguments or {}), ensure_ascii=False))
