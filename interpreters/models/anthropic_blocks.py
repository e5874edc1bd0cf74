"""The blocks of an Anthropic message while they are being told: which piece belongs to which, and what each becomes.

An honest server numbers its blocks, starts each once, and stops it before the next. Real ones leave out numbers, starts
and stops, or start a block for every piece of it. Rules, in order:

1. A start begins a block, on whatever index. It continues one only if it names a call that is open on its index and
   whose arguments are not whole yet; what it tells is added then.
2. Without an index a piece belongs to the newest block. Words that no block is there for, or one of another kind, begin
   their own. Any other piece without a block of its kind cannot be used, and the stream is malformed.
3. A call's input stands in its start, in pieces, or in both. Pieces win, unless they tell of nothing.
4. What a block says beyond its words is kept beside them, as it came. A block of a kind that is not known is kept
   whole, pieces included. Both are sent back to the model that gave them.
5. A call that the provider runs itself is every kind of ``*_tool_use`` but the plain one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs

from agentcore.messages import (
    ArgumentsState,
    AssistantPart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    parse_arguments,
)
from interpreters.models.assembly import Assembly, OpenCall, OpenWords, kept
from interpreters.models.reading import index_of, list_of, malformed, text_of
from interpreters.models.verbatim import argument_text
from interpreters.support.ports_model import ModelDelta, ReasoningDelta, TextDelta

CALL_KIND = "tool_use"
"""The kind of block that asks for a tool of ours."""

EXECUTED_SUFFIX = "_tool_use"
"""How every kind of block ends that tells of a call which the provider runs."""

_WORDS: Mapping[str, str] = {"text_delta": "text", "thinking_delta": "thinking"}
_CALL_FIELDS = ("id", "name", "input")
_SHORT = 100
# Fields of a piece that holds nothing but its type and one thing more.
_PLAIN = 2


@attrs.define
class RawBlock:
    """A block kept whole: a result of the provider's own tool, or a kind that is not known yet."""

    fields: dict[str, Any]
    """What was told at once, without what is null."""
    grown: dict[str, list[str]] = attrs.field(factory=dict)
    """What was told in pieces of text, field by field."""

    def takes(self, words: str) -> bool:
        """Say whether words under this name can be a piece of it."""
        return bool(words)

    def add(self, delta: Mapping[str, Any]) -> list[ModelDelta]:
        """Take a piece; return what to show. Text grows, lists are extended, anything else replaces what was told."""
        for key, value in delta.items():
            if key == "type" or value is None:
                continue
            known = self.fields.get(key)
            if isinstance(value, str) and isinstance(known, str | None):
                self.grown.setdefault(key, [known] if known else []).append(value)
            elif isinstance(value, list) and isinstance(known, list):
                self.fields[key] = [*known, *value]
            else:
                self.fields[key] = value
        return []

    def whole(self) -> dict[str, Any]:
        """Return all that was told."""
        found = self.fields | {key: "".join(pieces) for key, pieces in self.grown.items()}
        told = found.pop("partial_json", "")
        return found | _input(told) if told else found

    def part(self) -> AssistantPart | None:
        """Return it as a part; ``None`` for what is no JSON."""
        text = kept(self.whole())
        return OpaquePart(text) if text else None


@attrs.define
class WordsBlock(RawBlock):
    """Text or thinking, and what is told beside the words: citations, a signature."""

    words: OpenWords = attrs.field(factory=lambda: OpenWords(TextPart, {}))
    """The words themselves."""
    field: str = "text"
    """Under which name they come."""

    def takes(self, words: str) -> bool:
        """Say whether words under this name can be a piece of it."""
        return words == self.field

    def add(self, delta: Mapping[str, Any]) -> list[ModelDelta]:
        """Take a piece; return what to show. ``WireFault`` for a piece of a call's input."""
        piece = delta.get(self.field)
        if len(delta) != _PLAIN or "type" not in delta or not isinstance(piece, str):
            self._keep(delta)
        shown = self.words.add(piece) if isinstance(piece, str) and piece else ""
        kind = TextDelta if self.words.kind is TextPart else ReasoningDelta
        return [kind(shown)] if shown else []

    def _keep(self, delta: Mapping[str, Any]) -> None:
        """Take what is told beside the words."""
        if delta.get("partial_json"):
            raise malformed("a piece of a call's input in a block that is no call")
        super().add({key: value for key, value in delta.items() if key not in (self.field, "signature", "citation")})
        if (citation := delta.get("citation")) is not None:
            self.fields["citations"] = [*list_of(self.fields.get("citations")), citation]
        self._sign(delta.get("signature"))

    def _sign(self, piece: Any) -> None:
        """A signature comes whole, whole again, or in pieces."""
        if isinstance(piece, str) and piece:
            known = text_of(self.fields.get("signature"))
            self.fields["signature"] = piece if piece.startswith(known) else known + piece

    def part(self) -> AssistantPart | None:
        """Return it as a part; ``None`` if it says nothing at all."""
        beside = {key: value for key, value in self.whole().items() if value != []}
        told = self.words.pieces or any(value for key, value in beside.items() if key != "type")
        if self.words.kind is TextPart:
            del beside["type"]
        self.words.key = beside
        return self.words.part() if told else None


@attrs.define
class CallBlock(RawBlock):
    """A call, ours to run or run by the provider."""

    call: OpenCall = attrs.field(factory=OpenCall)
    """Where it is put together."""
    told: str | None = None
    """The input that stood in the start, while no piece has outdone it."""
    said: str = ""
    """Pieces that did not outdo it yet."""

    def begin(self) -> None:
        """Take what stands in a start, the first or another one."""
        fields = self.fields
        self.call.provider_id = self.call.provider_id or text_of(fields.get("id"))
        self.call.name = self.call.name or text_of(fields.get("name"))
        self.call.extra.update({key: value for key, value in fields.items() if key not in _CALL_FIELDS})
        if self.call.extra.get("type") == CALL_KIND:
            del self.call.extra["type"]
        text = argument_text(fields.get("input"))
        if _squeezed(text) not in ("", "{}") and not self.call.pieces:
            self.told = text
            self.call.pieces.append(text)

    def takes(self, words: str) -> bool:
        """Say whether words under this name can be a piece of it: they cannot."""
        return not words

    def add(self, delta: Mapping[str, Any]) -> list[ModelDelta]:
        """Take a piece; nothing of a call is shown."""
        piece = argument_text(delta.get("partial_json"))
        if self.told is None:
            if piece:
                self.call.pieces.append(piece)
        elif piece.strip():
            self._outdo(piece)
        if len(delta) != _PLAIN or "partial_json" not in delta:
            beside = {key: value for key, value in delta.items() if key not in ("type", "partial_json")}
            self.call.extra.update({key: value for key, value in beside.items() if value is not None})
        return []

    def _outdo(self, piece: str) -> None:
        """Put pieces in the place of the input of the start, unless they tell of nothing."""
        self.said += piece
        squeezed = _squeezed(self.said)
        self.call.pieces[:] = [self.told or "" if squeezed == "{}" else self.said]
        if squeezed not in ("{", "{}"):
            self.told = None


class Blocks:
    """Sorts the pieces of one message into its blocks, in the order in which they began."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._by_index: dict[int, RawBlock] = {}
        self._open: set[int] = set()
        self._newest: RawBlock | None = None

    @property
    def any(self) -> bool:
        """Whether a block began."""
        return self._newest is not None

    def start(self, index: Any, told: Mapping[str, Any]) -> list[ModelDelta]:
        """Begin a block; return what to show of it. ``WireFault`` for a block without a kind."""
        fields = {key: value for key, value in told.items() if value is not None}
        place = index_of(index)
        continued = self._continued(place, fields)
        if continued is not None:
            continued.fields = fields
            continued.begin()
            return []
        block, shown = self._begin(fields)
        self._newest = block
        if place is not None:
            self._by_index[place] = block
            self._open.add(place)
        return shown

    def add(self, index: Any, delta: Mapping[str, Any]) -> list[ModelDelta]:
        """Take a piece of a block; return what to show. ``WireFault`` where it belongs to none."""
        place = index_of(index)
        block = self._newest if place is None else self._by_index.get(place)
        words = _words_of(delta)
        if block is not None and (not words or block.takes(words)):
            return block.add(delta)
        if not words:
            raise malformed(f"a piece of block {place}, which never began")
        return self.start(index, {"type": words, words: delta[words]})

    def stop(self, index: Any) -> None:
        """Take the end of a block."""
        place = index_of(index)
        if place is not None:
            self._open.discard(place)

    def _continued(self, place: int | None, fields: Mapping[str, Any]) -> CallBlock | None:
        """Return the open call that a start tells more of, if it does."""
        block = self._by_index.get(place) if place is not None and place in self._open else None
        if not isinstance(block, CallBlock) or not fields.get("id") or fields["id"] != block.call.provider_id:
            return None
        return None if _whole(block.call.arguments) else block

    def _begin(self, fields: dict[str, Any]) -> tuple[RawBlock, list[ModelDelta]]:
        kind = fields.get("type")
        if not isinstance(kind, str):
            raise malformed("a block without a kind")
        if kind == CALL_KIND or kind.endswith(EXECUTED_SUFFIX):
            call = self._assembly.open_call()
            call.provider_executed = kind != CALL_KIND
            block = CallBlock(fields, call=call)
            block.begin()
            return block, []
        return self._add(_block(kind, fields), fields)

    def _add(self, block: RawBlock, fields: Mapping[str, Any]) -> tuple[RawBlock, list[ModelDelta]]:
        self._assembly.add(block)
        if not isinstance(block, WordsBlock):
            return block, []
        block.fields = {key: value for key, value in fields.items() if key != block.field}
        return block, block.add({block.field: fields.get(block.field)})


def _block(kind: str, fields: dict[str, Any]) -> RawBlock:
    if kind == "text":
        return WordsBlock(fields)
    if kind in ("thinking", "redacted_thinking"):
        return WordsBlock(fields, words=OpenWords(ReasoningPart, {}), field="thinking")
    return RawBlock(fields)


def _words_of(delta: Mapping[str, Any]) -> str:
    """Return under which name a piece holds words; empty if it holds none."""
    name = _WORDS.get(text_of(delta.get("type")), "")
    if name:
        return name if isinstance(delta.get(name), str) else ""
    return next((name for name in _WORDS.values() if isinstance(delta.get(name), str)), "")


def _input(told: Any) -> dict[str, Any]:
    """Return the input that came in pieces, if it can be read."""
    try:
        return {"input": json.loads(argument_text(told))}
    except (ValueError, RecursionError):
        return {}


def _squeezed(text: str) -> str:
    return "".join(text.split()) if len(text) < _SHORT else text


def _whole(text: str) -> bool:
    return text.rstrip().endswith("}") and parse_arguments(text).state is ArgumentsState.COMPLETE
