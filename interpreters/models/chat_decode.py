"""The dialect of chat-completions, read: chunks, or one whole body, folded into a message.

1. Only choice 0 counts; a chunk without choices may carry usage, or nothing.
2. An ``error`` wherever it stands ends the answer as a fault, and so does a finish label of ``FINISH_FAULTS``.
3. A whole ``message`` in a stream fills in what the deltas did not tell, kind by kind; nothing is told twice. The same
   goes for the old ``function_call`` beside ``tool_calls``.
4. Thinking comes under several names; one of them is read per delta, and which one is kept, to be sent back under it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.messages import MediaPart, OpaquePart, Usage
from interpreters.models.assembly import Assembly, OpenAudio, Reply, kept
from interpreters.models.calls import CallFolder, Piece, read_piece
from interpreters.models.failures import Failure, WireFault, told_fault
from interpreters.models.faults import FINISH_FAULTS, Fault
from interpreters.models.reading import (
    event_value,
    finish_of,
    is_terminator,
    list_of,
    malformed,
    tells_of_error,
    text_of,
)
from interpreters.models.usage import chat_usage, later, timings_usage
from interpreters.support.ports_model import ModelDelta

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""Names under which thinking comes as text, in the order in which they are looked at."""

_REPLAYED_KEYS = ("extra_content",)
_ORDINARY = frozenset({"role", "content"})
_COUNTS = frozenset({"usage", "x_groq", "timings"})
_EMPTY_KINDS = ("text", "output_text", "thinking", "image_url")


class ChatFolder:
    """Folds one answer of chat-completions. Raises ``WireFault``."""

    def __init__(self) -> None:
        self.stated = False
        self.terminated = False
        self.progress = 0
        self.usage = Usage()
        self._counted = False
        self._assembly = Assembly()
        self._calls = CallFolder(self._assembly.open_call)
        self._old_call: list[Piece] = []
        self._audio: OpenAudio | None = None
        self._told: set[str] = set()
        self._details: list[dict[str, Any]] = []
        self._label = ""
        self._id = ""
        self._model = ""
        self._extra: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """What was said so far."""
        return self._assembly.text

    def fold_event(self, name: str, data: str) -> list[ModelDelta]:
        """Take one server-sent event; return what to show."""
        if is_terminator(data):
            self.stated = self.terminated = True
            return []
        return self._fold(event_value(name, data)) if data and not data.isspace() else []

    def fold_body(self, value: Any) -> list[ModelDelta]:
        """Take a whole answer that came as one JSON value; return what to show."""
        choices = value.get("choices") if isinstance(value, dict) else None
        if not choices and not (isinstance(value, dict) and tells_of_error(value, "choices")):
            told = "the answer is JSON but no chat completion; is the base URL right?"
            raise WireFault(Failure(Fault.PROTOCOL, told))
        shown = self._fold(value)
        self.stated = self.terminated = True
        return shown

    def reply(self) -> Reply:
        """Return the message; to be asked only when its end was stated."""
        if self._old_call and not self._calls.any:
            self._calls.fold(self._old_call)
        if self._details:
            self._assembly.keep_reasoning({"reasoning_details": self._details})
        parts = self._assembly.parts(self._id)
        finish = finish_of(self._label, refused="refusal" in self._told)
        return Reply(parts, finish, self._label, self._id, self.usage, self._model, self._extra)

    def _fold(self, value: Mapping[str, Any]) -> list[ModelDelta]:
        if tells_of_error(value, "choices"):
            raise told_fault(value)
        if not self._id:
            self._id = text_of(value.get("id"))
        self._model = text_of(value.get("model")) or self._model
        if not _COUNTS.isdisjoint(value):
            self._count(value)
        choices = value.get("choices")
        if choices is not None and not isinstance(choices, list):
            raise malformed(f"expected a list of choices, found {type(choices).__name__}")
        shown: list[ModelDelta] = []
        for choice in choices or ():
            if isinstance(choice, dict) and not choice.get("index"):
                shown += self._fold_choice(choice)
        return shown

    def _fold_choice(self, choice: Mapping[str, Any]) -> list[ModelDelta]:
        if choice.get("error"):
            raise told_fault(choice["error"])
        if "usage" in choice:
            self._take_usage(choice["usage"])
        shown: list[ModelDelta] = []
        delta = choice.get("delta")
        if isinstance(delta, dict) and delta:
            shown += self._fold_message(delta, frozenset())
        if isinstance(message := choice.get("message"), dict):
            shown += self._fold_message(_numbered(message), frozenset(self._told))
        if label := choice.get("finish_reason"):
            self._take_label(text_of(label))
        return shown

    def _count(self, value: Mapping[str, Any]) -> None:
        grok = value.get("x_groq")
        self._take_usage(value.get("usage"), grok.get("usage") if isinstance(grok, dict) else None)
        if not self._counted:
            # Sent beside the usage, too, which is the better telling.
            self.usage = later(self.usage, timings_usage(value.get("timings")))

    def _take_usage(self, *told: Any) -> None:
        for one in filter(None, told):
            found = chat_usage(one)
            self._counted = self._counted or found != Usage()
            known = later(self.usage, found)
            self.progress += known != self.usage
            self.usage = known

    def _take_label(self, label: str) -> None:
        if not label:
            return
        fault = FINISH_FAULTS.get(label.lower())
        if fault:
            raise WireFault(Failure(fault, f"the provider ended the answer with {label!r}"))
        self._label = label
        self.stated = True
        self.progress += 1

    def _fold_message(self, message: Mapping[str, Any], told: frozenset[str]) -> list[ModelDelta]:
        """Take a delta, or a whole message except for the kinds that are told already."""
        content = message.get("content")
        if isinstance(content, str) and content and not told and message.keys() <= _ORDINARY:
            # What almost every piece of an answer is.
            self._told.add("content")
            self.progress += 1
            return self._assembly.add_text(content)
        shown: list[ModelDelta] = []
        if "reasoning" not in told:
            shown += self._fold_reasoning(message)
        if "content" not in told:
            shown += self._fold_content(content)
        if "refusal" not in told and (refusal := text_of(message.get("refusal"))):
            self._tell("refusal")
            shown += self._assembly.add_text(refusal, refusal=True)
        if "audio" not in told and isinstance(audio := message.get("audio"), dict):
            shown += self._fold_audio(audio)
        if "media" not in told:
            self._fold_images(list_of(message.get("images")))
        if "calls" not in told:
            self._fold_calls(message)
        self._extra.update({key: message[key] for key in _REPLAYED_KEYS if message.get(key)})
        return shown

    def _fold_reasoning(self, message: Mapping[str, Any]) -> list[ModelDelta]:
        details = [dict(one) for one in list_of(message.get("reasoning_details")) if isinstance(one, dict)]
        if details:
            self._tell("reasoning")
            self._details += details[_continue_detail(self._details, details[0]) :]
        for field in REASONING_FIELDS:
            if words := text_of(message.get(field)):
                self._tell("reasoning")
                return self._assembly.add_reasoning(words, field=field)
        words = "".join(text_of(one.get("text")) or text_of(one.get("summary")) for one in details)
        return self._assembly.add_reasoning(words)

    def _fold_content(self, content: Any) -> list[ModelDelta]:
        if isinstance(content, str):
            content = [{"text": content}] if content else []
        shown: list[ModelDelta] = []
        for item in list_of(content):
            if not isinstance(item, dict):
                continue
            if item.get("thinking"):
                shown += self._fold_thinking(item)
            elif words := text_of(item.get("text")):
                self._tell("content")
                shown += self._assembly.add_text(words)
            elif item.get("image_url"):
                self._fold_images([item])
            elif item.get("type") not in (None, *_EMPTY_KINDS) and (text := kept(item)):
                self._tell("content")
                self._assembly.add(OpaquePart(text))
        return shown

    def _fold_thinking(self, item: Mapping[str, Any]) -> list[ModelDelta]:
        """Take thinking that stands in the content; it goes back there."""
        self._tell("reasoning")
        shown = self._assembly.add_reasoning(_words(item["thinking"]), chunk={"type": "thinking"})
        if signature := item.get("signature"):
            self._assembly.keep_reasoning({"chunk": {"type": "thinking", "signature": signature}})
        return shown

    def _fold_images(self, images: Sequence[Any]) -> None:
        for image in images:
            told = image.get("image_url") if isinstance(image, dict) else None
            url = text_of(told.get("url")) if isinstance(told, dict) else text_of(told)
            if url:
                self._tell("media")
                self._assembly.add(_media(url))

    def _fold_audio(self, told: Mapping[str, Any]) -> list[ModelDelta]:
        """Take what the model spoke: its sound is collected, its words are text."""
        if self._audio is None:
            self._audio = OpenAudio()
            self._assembly.add(self._audio)
        self._audio.add(told)
        self._tell("audio")
        return self._assembly.add_text(text_of(told.get("transcript")), transcript=True)

    def _fold_calls(self, message: Mapping[str, Any]) -> None:
        pieces = [piece for entry in list_of(message.get("tool_calls")) if (piece := read_piece(entry))]
        self._calls.fold([piece for piece in pieces if not piece.empty])
        old = read_piece({"index": 0, "function": message.get("function_call")})
        if old and not old.empty:
            self._old_call.append(old)
        if any(not piece.empty for piece in (*pieces, *([old] if old else []))):
            self._tell("calls")

    def _tell(self, kind: str) -> None:
        self._told.add(kind)
        self.progress += 1


def _numbered(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a whole message whose calls are told apart by their places: each entry is a call of its own."""
    calls = [entry for entry in list_of(message.get("tool_calls")) if isinstance(entry, dict)]
    return {**message, "tool_calls": [{**entry, "index": place} for place, entry in enumerate(calls)]}


def _words(value: Any) -> str:
    """Return thinking that comes as text, or as a list of texts."""
    if isinstance(value, str):
        return value
    return "".join(text_of(item.get("text")) for item in list_of(value) if isinstance(item, dict))


def _media(url: str) -> MediaPart:
    head, comma, data = url.partition(",")
    if head.startswith("data:") and comma:
        return MediaPart(head.removeprefix("data:").partition(";")[0] or "image/png", data)
    return MediaPart("image/*", url)


def _continue_detail(details: list[dict[str, Any]], piece: dict[str, Any]) -> bool:
    """Join a piece to the last detail if it continues that: words are appended, anything else replaces what was told.

    Return whether it did. Details of one list are never joined with each other.
    """
    last = details[-1] if details else {}
    if piece.get("index") is None or (last.get("type"), last.get("index")) != (piece.get("type"), piece["index"]):
        return False
    for key, value in piece.items():
        grows = key in ("text", "summary", "data") and isinstance(value, str) and isinstance(last.get(key), str)
        if value is not None:
            last[key] = last[key] + value if grows else value
    return True
