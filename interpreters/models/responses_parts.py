"""The output items of a Responses answer while they are being told, and what part of a message each becomes.

1. Pieces are shown as they come. What is told whole has the last word over pieces, unless it is empty or shorter.
2. Of what is told at once of an item, the later goes before the earlier, unless it says nothing.
3. An item of a kind that is not known is kept whole. So is a call that the provider runs.
4. What an item says beside its content stays with its parts, to be sent back with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from agentcore.messages import MediaPart, OpaquePart, ReasoningPart, TextPart, clean_text
from interpreters.models.assembly import Assembly, OpenCall, OpenWords, kept
from interpreters.models.reading import list_of, object_of, text_of
from interpreters.models.verbatim import argument_text
from interpreters.support.ports_model import ModelDelta, ReasoningDelta, TextDelta

CALL_KINDS = ("function_call", "custom_tool_call")
"""Kinds of items that ask for a tool of ours."""

EXECUTED_KINDS = (
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "tool_search_call",
)
"""Kinds of items that tell of a call which the provider runs."""

_PARAGRAPH = "\n\n"


@attrs.define
class Told:
    """Words that are told in pieces and then again whole."""

    words: OpenWords
    """The pieces."""
    refused: bool = False
    """They refuse."""
    beside: dict[str, Any] = attrs.field(factory=dict)
    """What is told beside them: citations."""

    @property
    def text(self) -> str:
        """The words so far."""
        return clean_text("".join(self.words.pieces))

    def add(self, piece: Any) -> str:
        """Take a piece; return what may be shown."""
        return self.words.add(piece) if isinstance(piece, str) and piece else ""

    def end(self, whole: Any) -> str:
        """Take the whole; return what of it was not shown yet."""
        text, said = clean_text(text_of(whole)), clean_text("".join(self.words.pieces))
        if self.words.carry:
            said = said[:-1]
        if not text or said.startswith(text):
            return ""
        shown = text.startswith(said)
        self.words.pieces, self.words.carry = [said] if shown and said else [], ""
        rest = self.words.add(text[len(said) :] if shown else text)
        return rest if shown else ""


@attrs.define
class OpenItem:
    """An item that is still being told; of a kind that is not known unless a subclass knows it."""

    kind: str
    """Its type."""
    fields: dict[str, Any] = attrs.field(factory=dict)
    """All that was told at once."""
    index: int | None = None
    """Its place in the answer, where that was told."""
    ended: bool = False
    """It was told whole."""

    @property
    def id(self) -> str:
        """The provider's name of it, or empty."""
        return text_of(self.fields.get("id"))

    @property
    def call_id(self) -> str:
        """What its result is to name, or empty."""
        return text_of(self.fields.get("call_id"))

    def take(self, item: Mapping[str, Any]) -> list[ModelDelta]:
        """Take the item as it is told at once; return what to show."""
        told = {key: value for key, value in item.items() if value not in (None, "", [], {})}
        self.fields |= told
        return []

    def text(self) -> str:
        """What it says for people."""
        return ""

    def put(self, assembly: Assembly) -> None:
        """Put it into a message."""
        text = kept(self.fields)
        if not text:
            return
        if self.kind not in EXECUTED_KINDS:
            assembly.add(OpaquePart(text))
            return
        fields = dict(self.fields)
        image = fields.pop("result", None) if self.kind == "image_generation_call" else None
        call = assembly.open_call()
        call.provider_id = self.id or self.call_id
        call.name = text_of(fields.get("name")) or self.kind
        call.pieces = [argument_text(fields.get("arguments") or fields.get("action"))]
        call.provider_executed = True
        call.extra = {"item": fields}
        if isinstance(image, str):
            media_type = f"image/{text_of(fields.get('output_format')) or 'png'}"
            assembly.add(MediaPart(media_type, clean_text(image), metadata=kept({"image_of": self.id})))


@attrs.define
class MessageItem(OpenItem):
    """Words, and refusals, meant to be read."""

    contents: dict[int, Told] = attrs.field(factory=dict)
    """By content index."""
    others: dict[int, dict[str, Any]] = attrs.field(factory=dict)
    """Content of kinds that are not known, by content index."""

    def content(self, index: Any, *, refused: bool) -> Told:
        """Return the content at an index, beginning it where it is new; without an index the newest of its kind."""
        known = self.contents.get(index) if isinstance(index, int) else None
        if known is not None and known.refused is refused:
            return known
        alike = [at for at, told in self.contents.items() if told.refused is refused]
        at = index if isinstance(index, int) else (alike[-1] if alike else len(self.contents))
        found = self.contents.get(at)
        if found is None or found.refused is not refused:
            at = at if found is None else max(self.contents) + 1
            found = self.contents[at] = Told(OpenWords(TextPart, {}), refused)
        return found

    def take(self, item: Mapping[str, Any]) -> list[ModelDelta]:
        """Take the item as it is told at once; return what to show."""
        super().take({key: value for key, value in item.items() if key != "content"})
        content = item.get("content")
        told = [{"type": "output_text", "text": content}] if isinstance(content, str) else list_of(content)
        return [delta for at, one in enumerate(told) for delta in self.part(at, one)]

    def part(self, index: Any, told: Any) -> list[ModelDelta]:
        """Take a content as it is told at once; return what to show."""
        part = object_of(told)
        kind = part.get("type")
        if kind not in ("output_text", "text", "refusal"):
            if part and isinstance(index, int):
                self.others[index] = part
            return []
        refused = kind == "refusal"
        found = self.content(index, refused=refused)
        if annotations := part.get("annotations"):
            found.beside["annotations"] = annotations
        rest = found.end(part.get("refusal" if refused else "text"))
        return [TextDelta(rest)] if rest else []

    @property
    def refuses(self) -> bool:
        """Whether it refuses."""
        return any(told.refused and told.words.pieces for told in self.contents.values())

    def text(self) -> str:
        """What it says."""
        return "".join(self.contents[at].text for at in sorted(self.contents))

    def put(self, assembly: Assembly) -> None:
        """Put it into a message: each content is a part that carries what the item says beside its content."""
        item = {key: value for key, value in self.fields.items() if key not in ("type", "role", "status")}
        places = sorted({*self.contents, *self.others})
        for place in places:
            told = self.contents.get(place)
            if told is None:
                assembly.add(OpaquePart(kept({"content": self.others[place], "item": item})))
                continue
            if told.text or (len(places) == 1 and self.id):
                beside = {**told.beside, **({"refusal": True} if told.refused else {}), "item": item}
                told.words.key = beside if item or len(beside) > 1 else {}
                assembly.add(told.words)


@attrs.define
class ReasoningItem(OpenItem):
    """Thinking: summaries of it, the words themselves, or a cipher of them."""

    channels: dict[tuple[str, int], Told] = attrs.field(factory=dict)
    """By the field in which they stand, and the index there."""

    @property
    def shown(self) -> str:
        """The field that is shown: the one that spoke first."""
        return next((field for (field, _), told in self.channels.items() if told.words.pieces), "")

    def channel(self, field: str, index: Any) -> Told:
        """Return the words of one place, beginning them where they are new."""
        at = index if isinstance(index, int) else 0
        return self.channels.setdefault((field, at), Told(OpenWords(ReasoningPart, {})))

    def say(self, field: str, index: Any, piece: Any, *, whole: bool = False) -> list[ModelDelta]:
        """Take a piece, or the whole, of one place; return what to show."""
        told = self.channel(field, index)
        # Asked for at the beginning of a paragraph only: looking at all the words at each of them would add up.
        divides = not told.words.pieces and self.shown == field and bool(self.text())
        rest = told.end(piece) if whole else told.add(piece)
        if self.shown != field or not rest:
            return []
        return [ReasoningDelta(f"{_PARAGRAPH}{rest}" if divides else rest)]

    def take(self, item: Mapping[str, Any]) -> list[ModelDelta]:
        """Take the item as it is told at once; return what to show."""
        super().take(item)
        shown: list[ModelDelta] = []
        for field in ("summary", "content"):
            for at, part in enumerate(list_of(item.get(field))):
                shown += self.say(field, at, object_of(part).get("text"), whole=True)
        return shown

    def text(self) -> str:
        """The thinking so far."""
        field = self.shown
        return _PARAGRAPH.join(told.text for (where, _), told in self.channels.items() if where == field and told.text)

    def put(self, assembly: Assembly) -> None:
        """Put it into a message, the item itself kept beside its words."""
        kinds = {"summary": "summary_text", "content": "reasoning_text"}
        item = {"type": "reasoning", "summary": [], **self.fields}
        for field, kind in kinds.items():
            told = [one.text for (where, _), one in self.channels.items() if where == field and one.text]
            if told and not item.get(field):
                item[field] = [{"type": kind, "text": text} for text in told]
        assembly.add(OpenWords(ReasoningPart, {"item": item}, [self.text()]))


@attrs.define
class CallItem(OpenItem):
    """A call that asks for a tool of ours."""

    pieces: list[str] = attrs.field(factory=list)
    """Argument text, as it came in pieces."""
    whole: str = ""
    """Argument text, as it was told at once."""

    @property
    def custom(self) -> bool:
        """Whether its input is free text and not JSON."""
        return self.kind == "custom_tool_call"

    def take(self, item: Mapping[str, Any]) -> list[ModelDelta]:
        """Take the item as it is told at once; nothing of a call is shown."""
        super().take({key: value for key, value in item.items() if key not in ("arguments", "input")})
        self.end(item.get("input" if self.custom else "arguments"))
        return []

    def end(self, arguments: Any) -> None:
        """Take the arguments as they are told at once."""
        self.whole = argument_text(arguments) or self.whole

    @property
    def arguments(self) -> str:
        """What is to be believed: the whole, unless it says nothing, or less than the pieces."""
        told = "".join(self.pieces)
        less = self.whole.strip() in ("", "{}") or told.startswith(self.whole)
        return told if told.strip() and less else self.whole

    def put(self, assembly: Assembly) -> None:
        """Put it into a message."""
        call: OpenCall = assembly.open_call()
        call.provider_id = self.call_id
        call.name = text_of(self.fields.get("name"))
        call.pieces = [kept({"input": self.arguments}) if self.custom else self.arguments]
        left = ("type", "call_id", "name", "status")
        call.extra = {key: value for key, value in self.fields.items() if key not in left}
        if self.custom:
            call.extra["custom"] = True


def open_item(kind: str, index: int | None = None) -> OpenItem:
    """Begin an item of a kind."""
    known: dict[str, type[OpenItem]] = {
        "message": MessageItem,
        "reasoning": ReasoningItem,
        **dict.fromkeys(CALL_KINDS, CallItem),
    }
    return known.get(kind, OpenItem)(kind, index=index)
