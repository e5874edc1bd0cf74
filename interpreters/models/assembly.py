"""One message put together from pieces, in the model's order: the same for every dialect.

1. Pieces of one kind that follow each other are one part; what comes between them divides them.
2. A surrogate pair may be cut between two pieces: what is shown never holds half of it, and what is kept is healed.
3. Every call leaves with an id that is its own. Missing ones are minted, and so is the second of two *different* calls
   under one id. A call told twice word for word, id included, is one call.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Container, Iterator, Mapping
from typing import Any, Protocol

import attrs

from agentcore.messages import (
    AssistantPart,
    FinishReason,
    MediaPart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    Usage,
    canonical_json,
    clean_text,
    digest,
)
from interpreters.support.ports_model import ModelDelta, ReasoningDelta, TextDelta

MINTED_ID_LENGTH = 9
"""Letters and digits of an id of our own: the one form that also the strictest provider takes back."""


def kept(value: Mapping[str, Any]) -> str:
    """Return provider metadata as canonical JSON; empty for nothing, and for what is no JSON."""
    try:
        return canonical_json(dict(value)) if value else ""
    except (ValueError, RecursionError):
        return ""


@attrs.define
class OpenCall:
    """A call that is still being told."""

    provider_id: str = ""
    """The provider's id, once it is known."""
    name: str = ""
    """The tool, as far as it is told."""
    pieces: list[str] = attrs.field(factory=list)
    """Argument text so far."""
    provider_executed: bool = False
    """The provider runs it itself."""
    extra: dict[str, Any] = attrs.field(factory=dict)
    """What the provider wants back with it: signatures."""

    @property
    def arguments(self) -> str:
        """The raw argument text so far, healed."""
        return clean_text("".join(self.pieces))

    def part(self, provider_id: str) -> ToolCallPart:
        """Return it as a part of a message."""
        name = clean_text(self.name)
        return ToolCallPart(provider_id, name, self.arguments, self.provider_executed, kept(self.extra))


class OpenPart(Protocol):
    """A part that is still being told, in a way that its dialect knows."""

    def part(self) -> AssistantPart | None:
        """Return it as far as it is told; ``None`` where nothing of it is worth keeping."""


@attrs.define
class OpenWords:
    """Text or thinking that is still being told."""

    kind: type[TextPart | ReasoningPart]
    """Which of the two."""
    key: Mapping[str, Any]
    """Its metadata."""
    pieces: list[str] = attrs.field(factory=list)
    """The words so far, as they came."""
    carry: str = ""
    """Half a character that waits for its other half before it is shown."""

    def add(self, piece: str) -> str:
        """Take a piece that is not empty; return what may be shown, without half a character at its end."""
        self.pieces.append(piece)
        if not self.carry and piece.isascii():
            return piece
        ready, self.carry = self.carry + piece, ""
        if "\ud800" <= ready[-1] <= "\udbff":
            ready, self.carry = ready[:-1], ready[-1]
        return clean_text(ready)

    def part(self) -> TextPart | ReasoningPart:
        """Return it as a part of a message."""
        return self.kind(clean_text("".join(self.pieces)), kept(self.key))


@attrs.define
class OpenAudio:
    """Sound that is still being told, each piece in base64 of its own."""

    id: str = ""
    """Under which name the provider keeps it."""
    pieces: list[str] = attrs.field(factory=list)
    """What came so far."""

    def add(self, told: Mapping[str, Any]) -> None:
        """Take a piece, or its name."""
        if isinstance(found := told.get("id"), str):
            self.id = self.id or found
        if isinstance(data := told.get("data"), str):
            self.pieces.append(data)

    def part(self) -> MediaPart | None:
        """Return it as a part; ``None`` if there is no sound."""
        data = _joined(self.pieces)
        return MediaPart("audio/*", data, metadata=kept({"audio": self.id} if self.id else {})) if data else None


def _joined(pieces: list[str]) -> str:
    """Join base64 texts, each of which may be padded, into one; what is none is joined as it is."""
    try:
        return b64encode(b"".join(b64decode(piece, validate=True) for piece in pieces)).decode()
    except ValueError:
        return clean_text("".join(pieces))


@attrs.frozen
class Reply:
    """A complete answer, as the provider gave it."""

    parts: tuple[AssistantPart, ...]
    """Content in the model's order."""
    finish: FinishReason = FinishReason.UNKNOWN
    """What the label means."""
    label: str = ""
    """The raw finish label; empty if none was sent."""
    id: str = ""
    """The provider's name for the answer."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed."""
    model: str = ""
    """Which model answered, in its own words."""
    extra: Mapping[str, Any] = attrs.field(factory=dict)
    """What belongs to the message and is to be kept beside it, JSON values."""


class Assembly:
    """Collects the content of one message."""

    def __init__(self) -> None:
        self._segments: list[OpenWords | OpenCall | OpenPart | MediaPart | OpaquePart] = []

    @property
    def calls(self) -> list[OpenCall]:
        """The calls so far, in order."""
        return [segment for segment in self._segments if isinstance(segment, OpenCall)]

    @property
    def text(self) -> str:
        """What was said so far, without the thinking."""
        return "".join(part.text for part in self.parts() if isinstance(part, TextPart))

    def add_text(self, piece: str, **key: Any) -> list[ModelDelta]:
        """Take a piece of the answer; ``key`` is its metadata. Return what to show."""
        shown = self._words(TextPart, key).add(piece) if piece else ""
        return [TextDelta(shown)] if shown else []

    def add_reasoning(self, piece: str, **key: Any) -> list[ModelDelta]:
        """Take a piece of thinking; ``key`` is its metadata. Return what to show."""
        shown = self._words(ReasoningPart, key).add(piece) if piece else ""
        return [ReasoningDelta(shown)] if shown else []

    def keep_reasoning(self, key: Mapping[str, Any]) -> None:
        """Put metadata on the thinking so far, making an empty part where there is none to carry it."""
        found = [one for one in self._segments if isinstance(one, OpenWords) and one.kind is ReasoningPart]
        if found:
            found[-1].key = {**found[-1].key, **key}
        else:
            self._segments.insert(0, OpenWords(ReasoningPart, key))

    def open_call(self) -> OpenCall:
        """Begin a call at this place of the message."""
        call = OpenCall()
        self._segments.append(call)
        return call

    def add(self, part: MediaPart | OpaquePart | OpenPart) -> None:
        """Take a whole part, or one that its dialect goes on telling, at this place of the message."""
        self._segments.append(part)

    def parts(self, seed: str = "") -> tuple[AssistantPart, ...]:
        """Return the content; ``seed`` makes minted ids differ between messages."""
        return tuple(self._parts(seed))

    def _words(self, kind: type[TextPart | ReasoningPart], key: Mapping[str, Any]) -> OpenWords:
        last = self._segments[-1] if self._segments else None
        if type(last) is OpenWords and last.kind is kind and last.key == key:
            return last
        words = OpenWords(kind, key)
        self._segments.append(words)
        return words

    def _parts(self, seed: str) -> Iterator[AssistantPart]:
        told: set[tuple[str, str, str]] = set()
        used = {call.provider_id for call in self.calls} - {""}
        # What the provider runs itself is named by results of its own, so it keeps its id.
        taken = {call.provider_id for call in self.calls if call.provider_executed}
        for place, segment in enumerate(self._segments):
            if isinstance(segment, MediaPart | OpaquePart):
                yield segment
            elif isinstance(segment, OpenCall) and segment.provider_executed:
                yield segment.part(clean_text(segment.provider_id))
            elif not isinstance(segment, OpenCall):
                if (part := segment.part()) is not None:
                    yield part
            elif (identity := (segment.provider_id, segment.name, segment.arguments)) not in told or not identity[0]:
                told.add(identity)
                provider_id = segment.provider_id
                if not provider_id or provider_id in taken:
                    provider_id = minted_id(f"{seed}/{place}", used, taken)
                taken.add(provider_id)
                yield segment.part(clean_text(provider_id))


def minted_id(seed: str, *used: Container[str]) -> str:
    """Return an id for a call that depends on the seed alone and is not in use."""
    turn = 0
    while any((minted := digest(f"{seed}/{turn}")[:MINTED_ID_LENGTH]) in each for each in used):
        turn += 1
    return minted
