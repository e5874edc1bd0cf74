"""The dialect of OpenAI Responses, read: events, or one whole body, folded into a message.

1. The end is stated by ``response.completed`` or ``response.incomplete``, by a body with such a status, or by the
   terminator of other dialects, which some servers send in this one too.
2. A response that failed or was cancelled, and an ``error`` wherever it stands, end the answer as a fault.
3. An incomplete response is a cut one, whatever its reason, unless a filter cut it; so is one with an incomplete call.
4. An event of a kind that is not known changes nothing: what it tells stands in its item, too.
5. That the server still works on it is no progress.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcore.messages import FinishReason, Usage
from interpreters.models.assembly import Assembly, Reply
from interpreters.models.failures import Failure, WireFault, told_fault
from interpreters.models.faults import Fault
from interpreters.models.reading import (
    event_value,
    finish_of,
    is_terminator,
    malformed,
    object_of,
    tells_of_error,
    text_of,
)
from interpreters.models.responses_items import Items
from interpreters.models.responses_parts import CALL_KINDS, CallItem, MessageItem, OpenItem, ReasoningItem
from interpreters.models.usage import later, responses_usage, timings_usage
from interpreters.models.verbatim import argument_text
from interpreters.support.ports_model import ModelDelta, TextDelta

_WAITING = ("response.created", "response.in_progress", "response.queued")
_COUNTS = frozenset({"usage", "response", "timings"})
_ENDS: Mapping[str, str] = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
"""The event that ends an answer, and the status it stands for where none is told."""


class ResponsesFolder:
    """Folds one answer of OpenAI Responses. Raises ``WireFault``."""

    def __init__(self) -> None:
        self.stated = False
        self.terminated = False
        self.progress = 0
        self.usage = Usage()
        self._counted = False
        self._items = Items()
        self._label = ""
        self._finish = FinishReason.UNKNOWN
        self._id = ""
        self._model = ""

    @property
    def text(self) -> str:
        """What was said so far."""
        return "".join(item.text() for item in self._items.all if isinstance(item, MessageItem))

    def fold_event(self, name: str, data: str) -> list[ModelDelta]:
        """Take one server-sent event; return what to show."""
        if is_terminator(data):
            self.stated = self.terminated = True
            return []
        if not data or data.isspace():
            return []
        value = event_value(name, data)
        kind = text_of(value.get("type")) or name
        if kind == "response.output_text.delta":
            # What almost every piece of an answer is.
            return self._say(value, value.get("delta"), refused=False, whole=False)
        if kind in ("error", "response.error") or (value.get("error") and kind not in _ENDS):
            raise told_fault(value)
        self._count(value)
        if kind in _ENDS:
            return self._end(object_of(value.get("response")) or value, _ENDS[kind])
        if kind in _WAITING:
            self._take_head(object_of(value.get("response")))
            return []
        return self._fold(kind, value)

    def fold_body(self, value: Any) -> list[ModelDelta]:
        """Take a whole answer that came as one JSON value; return what to show."""
        body = object_of(value)
        if not isinstance(body.get("output"), list):
            if tells_of_error(body, "output"):
                raise told_fault(body)
            told = "the answer is JSON but no response; is the base URL right?"
            raise WireFault(Failure(Fault.PROTOCOL, told))
        self._count(body)
        return self._end(body, "completed")

    def reply(self) -> Reply:
        """Return the message; to be asked only when its end was stated."""
        assembly = Assembly()
        items = self._items.all
        for item in items:
            item.put(assembly)
        refused = any(isinstance(item, MessageItem) and item.refuses for item in items)
        finish = self._finish
        if any(isinstance(item, CallItem) and item.fields.get("status") == "incomplete" for item in items):
            finish = FinishReason.LENGTH
        elif refused and finish in (FinishReason.STOP, FinishReason.UNKNOWN):
            finish = FinishReason.REFUSAL
        elif finish is FinishReason.STOP and any(isinstance(item, CallItem) for item in items):
            finish = FinishReason.TOOL_CALLS
        return Reply(assembly.parts(self._id), finish, self._label, self._id, self.usage, self._model)

    def _take_head(self, response: Mapping[str, Any]) -> None:
        self._id = self._id or text_of(response.get("id"))
        self._model = text_of(response.get("model")) or self._model

    def _count(self, value: Mapping[str, Any]) -> None:
        if _COUNTS.isdisjoint(value):
            return
        for told in (value.get("usage"), object_of(value.get("response")).get("usage")):
            found = responses_usage(told)
            self._counted = self._counted or found != Usage()
            self.usage = later(self.usage, found)
        if not self._counted:
            self.usage = later(self.usage, timings_usage(value.get("timings")))

    def _end(self, response: Mapping[str, Any], status: str) -> list[ModelDelta]:
        """Take the whole response as it is told at the end."""
        status = text_of(response.get("status")) or status
        if status == "failed" or response.get("error"):
            raise told_fault({"error": response.get("error") or "the response failed without a reason"})
        if status == "cancelled":
            raise WireFault(Failure(Fault.CANCELLED, "the response was cancelled at the provider"))
        if status not in ("completed", "incomplete"):
            raise malformed(f"a response that has ended is {status!r}")
        self._take_head(response)
        shown: list[ModelDelta] = []
        for item, told in self._items.last(response.get("output")):
            shown += item.take(told)
        reason = text_of(object_of(response.get("incomplete_details")).get("reason"))
        self._label = reason or status
        self._finish = finish_of(self._label)
        if status == "incomplete" and self._finish is not FinishReason.CONTENT_FILTER:
            self._finish = FinishReason.LENGTH
        self.stated = self.terminated = True
        self.progress += 1
        return shown

    def _fold(self, kind: str, value: Mapping[str, Any]) -> list[ModelDelta]:
        match kind:
            case "response.output_item.added":
                return self._take_item(value, ends=False)
            case "response.output_item.done":
                return self._take_item(value, ends=True)
            case "response.content_part.added" | "response.content_part.done":
                return self._take_content(value)
            case "response.refusal.delta":
                return self._say(value, value.get("delta"), refused=True, whole=False)
            case "response.output_text.done":
                return self._say(value, value.get("text"), refused=False, whole=True)
            case "response.refusal.done":
                return self._say(value, value.get("refusal"), refused=True, whole=True)
            case _ if kind.startswith("response.reasoning"):
                return self._think(kind, value)
            case _ if kind.startswith(("response.function_call_arguments.", "response.custom_tool_call_input.")):
                return self._call(kind, value)
            case _:
                self.progress += kind.startswith("response.")
                return []

    def _take_item(self, value: Mapping[str, Any], *, ends: bool) -> list[ModelDelta]:
        told = value.get("item")
        if not isinstance(told, dict):
            raise malformed(f"expected an item, found {type(told).__name__}")
        index = value.get("output_index")
        item = self._items.end(index, told) if ends else self._items.begin(index, told)
        self.progress += 1
        shown = item.take(told)
        item.ended = item.ended or ends
        return shown

    def _take_content(self, value: Mapping[str, Any]) -> list[ModelDelta]:
        part = object_of(value.get("part"))
        if part.get("type") == "reasoning_text":
            return self._think("response.reasoning_text.done", {**value, "text": part.get("text")})
        item = self._item(("message",), value)
        self.progress += 1
        return item.part(value.get("content_index"), part) if isinstance(item, MessageItem) else []

    def _say(self, value: Mapping[str, Any], words: Any, *, refused: bool, whole: bool) -> list[ModelDelta]:
        item = self._item(("message",), value)
        if not isinstance(item, MessageItem) or not words:
            return []
        self.progress += 1
        told = item.content(value.get("content_index"), refused=refused)
        shown = told.end(words) if whole else told.add(words)
        return [TextDelta(shown)] if shown else []

    def _think(self, kind: str, value: Mapping[str, Any]) -> list[ModelDelta]:
        field = "summary" if "summary" in kind else "content"
        whole = not kind.endswith(".delta")
        told = value.get("delta") if not whole else value.get("text") or object_of(value.get("part")).get("text")
        words = text_of(told) or text_of(object_of(told).get("text"))
        item = self._item(("reasoning",), value)
        if not isinstance(item, ReasoningItem) or not words:
            return []
        self.progress += 1
        return item.say(field, value.get(f"{field}_index"), words, whole=whole)

    def _call(self, kind: str, value: Mapping[str, Any]) -> list[ModelDelta]:
        kinds = CALL_KINDS if "function" in kind else CALL_KINDS[::-1]
        item = self._item(kinds, value)
        if isinstance(item, CallItem):
            self.progress += 1
            if kind.endswith(".delta"):
                item.pieces.append(argument_text(value.get("delta")))
            else:
                item.end(value.get("arguments", value.get("input")))
                item.fields |= {"name": name} if (name := value.get("name")) else {}
        return []

    def _item(self, kinds: tuple[str, ...], value: Mapping[str, Any]) -> OpenItem:
        return self._items.at(kinds, value.get("output_index"), value.get("item_id"))
