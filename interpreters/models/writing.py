"""What the encoders of every dialect share: ids, names and arguments that are taken back, options, metadata.

1. Results are paired with calls by the provider's ids. Models count theirs anew now and then, and some providers want
   each id once in a whole request, or in one form only: another one is replaced, in the call and its result alike, by
   one that depends on the message alone, so that it is the same in every later request.
2. Arguments that are not one JSON object are wrapped into one, and a name no provider would accept is respelled. A
   provider refuses a request that holds either, so a model's one slip would end the session for good.
3. What a provider wants back verbatim goes back to the model that gave it, in the dialect it came by, and to no other.
4. ``settings.options`` are merged over the body last; ``null`` takes a field out, also one of ours. A few of them mean
   the same everywhere and are brought to what each dialect and family calls them: see ``Options``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from typing import Any

import attrs

from agentcore.messages import (
    ArgumentsState,
    AssistantMessage,
    MediaPart,
    ToolMessage,
    canonical_json,
    parse_arguments,
)
from agentcore.policy import ModelSettings
from interpreters.models.assembly import Reply, kept, minted_id
from interpreters.models.profiles import ANY_ID

SUMMARY_HEAD = "Summary of the conversation so far, in place of its earlier messages:"
"""What stands above the summary, which is sent as the first message of the user's side."""

AUDIO_FORMATS: Mapping[str, str] = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
"""What providers call the sounds that they take, by media type."""

_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH_MAX = 64
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)

Json = dict[str, Any]
"""A JSON object."""


@attrs.frozen
class Options:
    """``settings.options``, taken apart: what means the same everywhere, and the rest."""

    max_tokens: Any = None
    """``max_tokens``: the bound of the answer's tokens."""
    tool_choice: Any = None
    """``tool_choice``: ``auto``, ``none``, ``required``, or ``{"name": NAME}``. Any other value goes as it is."""
    parallel: bool | None = None
    """``parallel_tool_calls``: whether one answer may hold several calls; ``None`` leaves it to the provider."""
    cache: Any = None
    """``cache``: ``true``, or a lifetime such as ``"1h"``: marks what stays the same, for families that take hints."""
    rest: Mapping[str, Any] = attrs.field(factory=dict)
    """Fields of the body, as the provider calls them."""

    @property
    def forced(self) -> str:
        """The one tool that has to be used; empty if no single one has."""
        choice = self.tool_choice
        if not isinstance(choice, dict) or set(choice) - {"name"}:
            return ""
        return choice["name"] if isinstance(choice.get("name"), str) else ""

    @property
    def cache_control(self) -> Json | None:
        """What marks a part for the cache; ``None`` if nothing is to be marked."""
        if not self.cache:
            return None
        return {"type": "ephemeral"} | ({"ttl": self.cache} if isinstance(self.cache, str) else {})


def read_options(settings: ModelSettings) -> Options:
    """Take the options of a request apart; ``ValueError`` where they are no JSON object."""
    options = json.loads(settings.options)
    if not isinstance(options, dict):
        found = type(options).__name__
        raise ValueError(f"settings.options must be a JSON object, found {found}")  # noqa: TRY004 - the text is wrong
    parallel = options.get("parallel_tool_calls")
    taken = {"max_tokens", "tool_choice", "cache"} | ({"parallel_tool_calls"} if isinstance(parallel, bool) else set())
    return Options(
        options.get("max_tokens"),
        options.get("tool_choice"),
        parallel if isinstance(parallel, bool) else None,
        options.get("cache"),
        {key: value for key, value in options.items() if key not in taken},
    )


def with_rest(body: Json, options: Options) -> Json:
    """Return the body with the provider's own fields over it, and without what is ``null``."""
    return {key: value for key, value in (body | dict(options.rest)).items() if value is not None}


def message_metadata(dialect: str, asked: str, reply: Reply) -> str:
    """Return what is kept beside an answer: who was asked, the raw finish label, and what is to be sent back."""
    told = {"dialect": dialect, "asked": asked, "label": reply.label, "id": reply.id}
    said = {key: value for key, value in told.items() if value}
    return (kept(said | {"replay": dict(reply.extra)}) if reply.extra else "") or kept(said)


def same_model(message: AssistantMessage, dialect: str, model: str) -> Json | None:
    """Return what an answer of this very model wants back beside its parts; ``None`` for an answer of another one."""
    told = metadata_of(message.metadata)
    if told.get("dialect") != dialect or told.get("asked") != model:
        return None
    replay = told.get("replay")
    return replay if isinstance(replay, dict) else {}


def metadata_of(text: str) -> Json:
    """Return provider metadata as an object; anything else counts as none."""
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def wire_name(name: str) -> str:
    """Return a tool's name as every provider accepts it: letters, digits, ``_`` and ``-``, at most 64."""
    return _NAME.sub("_", name)[:_NAME_LENGTH_MAX] or "unnamed"


def wire_arguments(raw: str) -> str:
    """Return the text of one JSON object: the arguments, or what wraps them if they are none."""
    if not raw.strip():
        return "{}"
    if parse_arguments(raw).state is ArgumentsState.COMPLETE:
        return raw
    return canonical_json({"not_a_json_object": raw})


def call_ids(message: AssistantMessage, taken: Container[str], pattern: str = ANY_ID) -> list[str]:
    """Return an id for each call of a message that we run, all distinct, also from those of earlier messages."""
    wanted = [call.provider_id for call in message.calls]
    ids: list[str] = []
    for place, provider_id in enumerate(wanted):
        fresh = re.fullmatch(pattern, provider_id) and provider_id not in taken and provider_id not in ids
        seed = f"{message.request_id}/{place}"
        ids.append(provider_id if fresh else minted_id(seed, {*wanted, *ids}, taken))
    return ids


def result_ids(message: ToolMessage, ids: list[str]) -> list[str]:
    """Return the ids of results: they stand in the order of their calls, so each takes what its call was sent as."""
    return ids if len(ids) == len(message.results) else [result.provider_id for result in message.results]


def address_of(part: MediaPart) -> str:
    """Return where the content of a part lies; empty if the part holds it."""
    return part.data if _ADDRESS.match(part.data) else ""


def inline(part: MediaPart) -> str:
    """Return the content of a part as one ``data:`` address."""
    return f"data:{part.media_type};base64,{part.data}"
