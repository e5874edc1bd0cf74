"""The dialect of Anthropic messages, read: events, or one whole body, folded into a message.

1. Blocks are ``anthropic_blocks``. An event of a kind that is not known is left out, as the interface asks for; one
   without a kind is malformed.
2. The end is stated by a stop reason, wherever it stands, or by ``message_stop``, behind which nothing comes.
3. A message that begins anew is the same one if it has the same id, or if nothing was told yet. Otherwise two answers
   came in one stream, and neither can be trusted.
4. Input that a cache was about is told apart from the rest and counted in.
5. An ``error`` wherever it stands ends the answer as a fault, and so does a stop reason of ``FINISH_FAULTS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcore.messages import Usage
from interpreters.models.anthropic_blocks import Blocks
from interpreters.models.assembly import Assembly, Reply
from interpreters.models.failures import Failure, WireFault, told_fault
from interpreters.models.faults import FINISH_FAULTS, Fault
from interpreters.models.reading import event_value, finish_of, is_terminator, list_of, malformed, object_of, text_of
from interpreters.models.usage import anthropic_usage, merged
from interpreters.support.ports_model import ModelDelta

REPLAYED_KEYS = ("container",)
"""Fields of a message that a later request may have to name."""


class AnthropicFolder:
    """Folds one answer of Anthropic messages. Raises ``WireFault``."""

    def __init__(self) -> None:
        self.stated = False
        self.terminated = False
        self.progress = 0
        self._assembly = Assembly()
        self._blocks = Blocks(self._assembly)
        self._counted: dict[str, Any] = {}
        self._label = ""
        self._id = ""
        self._model = ""
        self._extra: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """What was said so far."""
        return self._assembly.text

    @property
    def usage(self) -> Usage:
        """What is known to have been consumed so far."""
        return anthropic_usage(self._counted)

    def fold_event(self, name: str, data: str) -> list[ModelDelta]:
        """Take one server-sent event; return what to show."""
        if not data or data.isspace():
            return []
        if is_terminator(data):
            self.stated = self.terminated = True
            return []
        value = event_value(name, data)
        kind = text_of(value.get("type")) or name
        if kind == "error" or value.get("error"):
            raise told_fault(value)
        if usage := value.get("usage"):
            self._take_usage(usage)
        match kind:
            case "content_block_delta":
                return self._add(value)
            case "message_start":
                return self._start_message(object_of(value.get("message")))
            case "content_block_start":
                return self._begin(value.get("index"), value.get("content_block"))
            case "content_block_stop":
                self._blocks.stop(value.get("index"))
            case "message_delta":
                self._take_end(object_of(value.get("delta")))
            case "message_stop":
                self.stated = self.terminated = True
            case "":
                raise malformed("an event without a type")
        return []

    def fold_body(self, value: Any) -> list[ModelDelta]:
        """Take a whole answer that came as one JSON value; return what to show."""
        body = object_of(value)
        if body.get("type") == "error" or body.get("error"):
            raise told_fault(body)
        if not isinstance(body.get("content"), list | str):
            told = "the answer is JSON but no message of Anthropic's interface; is the base URL right?"
            raise WireFault(Failure(Fault.PROTOCOL, told))
        shown = self._start_message(body)
        self.stated = self.terminated = True
        return shown

    def reply(self) -> Reply:
        """Return the message; to be asked only when its end was stated."""
        parts = self._assembly.parts(self._id)
        finish = finish_of(self._label)
        return Reply(parts, finish, self._label, self._id, self.usage, self._model, self._extra)

    def _start_message(self, message: Mapping[str, Any]) -> list[ModelDelta]:
        """Take the head of a message; a whole one is told in the same form, and some gateways tell one in a stream."""
        provider_id = text_of(message.get("id"))
        if self._blocks.any and provider_id != self._id:
            raise malformed("a second message began before the first had ended")
        told = self._blocks.any
        self._id = provider_id
        self._model = text_of(message.get("model")) or self._model
        self._take_usage(message.get("usage"))
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
        shown: list[ModelDelta] = []
        for index, block in enumerate(() if told else blocks):
            shown += self._begin(index, block)
            self._blocks.stop(index)
        self._take_end(message)
        return shown

    def _begin(self, index: Any, block: Any) -> list[ModelDelta]:
        if not isinstance(block, dict):
            raise malformed(f"expected a block, found {type(block).__name__}")
        self.progress += 1
        return self._blocks.start(index, block)

    def _add(self, value: Mapping[str, Any]) -> list[ModelDelta]:
        delta = value.get("delta")
        if not isinstance(delta, dict):
            raise malformed(f"expected a piece of a block, found {type(delta).__name__}")
        shown = self._blocks.add(value.get("index"), delta)
        self.progress += bool(shown) or any(told for key, told in delta.items() if key != "type")
        return shown

    def _take_end(self, told: Mapping[str, Any]) -> None:
        self._extra.update({key: told[key] for key in REPLAYED_KEYS if told.get(key)})
        label = text_of(told.get("stop_reason"))
        if not label:
            return
        fault = FINISH_FAULTS.get(label.lower())
        if fault:
            raise WireFault(Failure(fault, f"the provider ended the answer with {label!r}"))
        self._label = label
        self.stated = True
        self.progress += 1

    def _take_usage(self, told: Any) -> None:
        known = merged(self._counted, told) if told else self._counted
        self.progress += known != self._counted
        self._counted = known
