"""Our history as turns of an Anthropic conversation, valid by construction.

1. Turns alternate, and the user's side is first: what one side says in a row is one turn. Results stand before anything
   else of theirs, in the order of their calls.
2. Nothing empty is sent: blank text is left out, and a turn that would be left without content says so in words.
3. Thinking, redacted thinking, calls that the provider ran and what came of them go back to the model that gave them,
   as they were, and to no other. A turn does not end in thinking: no model takes that back.
4. A call that the provider ran goes with its result, and a result with its call. Without one it is only sent while it
   may still be answered: as long as the user has not spoken since. It may be run beside calls of ours, and its result
   told in the next answer.
5. An answer that the provider paused is continued by being sent back as the last turn. The loop's nudge behind it is
   left out.
6. Images and documents go as such in the forms that are taken; of anything else the name is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import attrs

from agentcore.messages import (
    AssistantMessage,
    AssistantPart,
    FinishReason,
    MessageSource,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolMessage,
    UserMessage,
    UserPart,
    is_error,
)
from agentcore.projections import RequestView
from interpreters.models.anthropic_blocks import CALL_KIND, EXECUTED_SUFFIX
from interpreters.models.anthropic_media import media_block
from interpreters.models.profiles import DEFAULT, Profile
from interpreters.models.writing import (
    SUMMARY_HEAD,
    Json,
    call_ids,
    metadata_of,
    result_ids,
    same_model,
    wire_arguments,
    wire_name,
)

DIALECT = "anthropic"
"""The name of the dialect."""

BEGINNING = "(The conversation goes on.)"
"""What the user's side is made to say where the history begins with the model, or not at all."""

NO_WORDS = "(empty message)"
"""What stands for a message of the user in which there is nothing to send."""

NO_OUTPUT = "(no output)"
"""What stands for a result without text."""

THINKING_KINDS = ("thinking", "redacted_thinking")
"""The kinds of blocks that hold thinking."""

RESULT_KIND = "tool_result"
"""The kind of block that answers a call of ours."""

_RESULT_SUFFIX = "_tool_result"
_USER_FIELDS = ("cache_control", "citations", "title", "context", "source")


@attrs.define
class Turns:
    """The turns of one request while they are being written."""

    written: list[Json] = attrs.field(factory=list)
    """Turns so far."""
    container: str | None = None
    """Where the provider's own tools have been working, if it said so last."""
    marked: bool = False
    """Whether the host marked a part for the cache."""

    def say(self, role: str, blocks: list[Json]) -> None:
        """Add what one side says; nothing where that is nothing."""
        if not blocks:
            return
        if self.written and self.written[-1]["role"] == role:
            self.written[-1]["content"] += blocks
        else:
            self.written.append({"role": role, "content": blocks})

    def finished(self) -> list[Json]:
        """Return the turns as they can be sent."""
        settled = _paired(self.written)
        whole = Turns()
        for turn in settled:
            whole.say(turn["role"], _ordered(turn))
        turns = whole.written
        if not turns or turns[0]["role"] != "user":
            turns.insert(0, {"role": "user", "content": [{"type": "text", "text": BEGINNING}]})
        last = turns[-1]["content"][-1]
        if turns[-1]["role"] == "assistant" and last["type"] == "text":
            last["text"] = last["text"].rstrip()
        return turns


@attrs.define
class Writer:
    """Writes the turns of one request to a model."""

    model: str
    """Who is asked."""
    profile: Profile = DEFAULT
    """How the family deviates."""
    ids: list[str] = attrs.field(factory=list)
    """Ids of the calls of the message before, as they were sent."""
    taken: set[str] = attrs.field(factory=set)
    """Every id that was sent."""

    def turns(self, view: RequestView) -> Turns:
        """Return what is said in a request."""
        turns = Turns()
        if view.summary.strip():
            turns.say("user", [_text(f"{SUMMARY_HEAD}\n\n{view.summary}")])
        paused = False
        for message in view.messages:
            match message:
                case UserMessage():
                    if not (paused and message.source is MessageSource.NUDGE):
                        blocks = [block for part in message.parts for block in self._said(part)] or [_text(NO_WORDS)]
                        turns.marked = turns.marked or any("cache_control" in block for block in blocks)
                        turns.say("user", blocks)
                case ToolMessage():
                    turns.say("user", list(_results(message, self.ids)))
                case AssistantMessage():
                    replay = same_model(message, DIALECT, self.model)
                    turns.say("assistant", self._answered(message, own=replay is not None))
                    turns.container = (replay or {}).get("container")
            paused = isinstance(message, AssistantMessage) and self._paused(message)
        return turns

    def _paused(self, message: AssistantMessage) -> bool:
        own = same_model(message, DIALECT, self.model) is not None
        return own and message.finish is FinishReason.PAUSE and not message.interrupted

    def _said(self, part: UserPart) -> Iterator[Json]:
        told = {key: value for key, value in metadata_of(part.metadata).items() if key in _USER_FIELDS}
        if not self.profile.cache_hints:
            told.pop("cache_control", None)
        if not isinstance(part, TextPart):
            yield media_block(part) | told
        elif part.text.strip():
            yield _text(part.text) | {key: value for key, value in told.items() if key == "cache_control"}

    def _answered(self, message: AssistantMessage, *, own: bool) -> list[Json]:
        self.ids = call_ids(message, self.taken, self.profile.id_pattern)
        self.taken.update(self.ids)
        ids = iter(self.ids)
        return [block for part in message.parts if (block := _block(part, ids, own=own))]


def _block(part: AssistantPart, ids: Iterator[str], *, own: bool) -> Json | None:
    """Return a part of an answer as a block; ``None`` for what is not to be sent."""
    told = metadata_of(part.metadata) if own else {}
    match part:
        case TextPart():
            return told | _text(part.text) if part.text.strip() else None
        case ReasoningPart():
            words = {"thinking": part.text} if told.get("type") == "thinking" else {}
            return told | words if told.get("type") in THINKING_KINDS else None
        case ToolCallPart(provider_executed=False):
            return told | {"type": CALL_KIND, **_call(part, next(ids), wire_name(part.name))}
        case ToolCallPart():
            return told | _call(part, part.provider_id, part.name) if told.get("type") else None
        case OpaquePart():
            return told if told.get("type") else None
        case _:
            return None


def _call(part: ToolCallPart, provider_id: str, name: str) -> Json:
    return {"id": provider_id, "name": name, "input": json.loads(wire_arguments(part.arguments))}


def _results(message: ToolMessage, ids: list[str]) -> Iterator[Json]:
    for result, provider_id in zip(message.results, result_ids(message, ids), strict=True):
        content = result.content if result.content.strip() else NO_OUTPUT
        failed = {"is_error": True} if is_error(result.outcome) else {}
        yield {"type": RESULT_KIND, "tool_use_id": provider_id, "content": content, **failed}


def _text(words: str) -> Json:
    return {"type": "text", "text": words}


def _ordered(turn: Json) -> list[Json]:
    """Return a turn's content as it may stand: results first, no thinking last."""
    content: list[Json] = list(turn["content"])
    if turn["role"] == "user":
        return sorted(content, key=lambda block: block["type"] != RESULT_KIND)
    while content and content[-1]["type"] in THINKING_KINDS:
        content.pop()
    return content


def _paired(turns: list[Json]) -> list[Json]:
    """Return the turns without calls of the provider's that nothing answers any more, and answers without a call."""
    blocks = [block for turn in turns if turn["role"] == "assistant" for block in turn["content"]]
    asked = {block["id"] for block in blocks if _executed(block)}
    answered = {block.get("tool_use_id") for block in blocks if _answers(block)}
    spoken = max((at for at, turn in enumerate(turns) if _speaks(turn)), default=-1)
    return [
        turn | {"content": [block for block in turn["content"] if _stays(block, asked, answered, open_=at > spoken)]}
        for at, turn in enumerate(turns)
    ]


def _stays(block: Json, asked: set[str], answered: set[str], *, open_: bool) -> bool:
    if _executed(block):
        return open_ or block["id"] in answered
    return not _answers(block) or block.get("tool_use_id") in asked


def _speaks(turn: Json) -> bool:
    """Say whether a turn holds words of the user's side."""
    return turn["role"] == "user" and any(block["type"] != RESULT_KIND for block in turn["content"])


def _executed(block: Json) -> bool:
    return str(block["type"]).endswith(EXECUTED_SUFFIX)


def _answers(block: Json) -> bool:
    return str(block["type"]).endswith(_RESULT_SUFFIX)
