"""From the bytes of an answer to a message or a failure, without any I/O: the same for every dialect.

1. What the body *is* is seen from its first bytes, not from its header: an event stream, one JSON value (a request for
   a stream may be answered with either), or a page of HTML.
2. A stream is a message only if its end was stated (``Folder.stated``). Otherwise it was cut, and may be tried again.
3. After a fault nothing more is read. A stream that breaks *after* its end was stated has still said everything.
4. Sizes are capped: one event, and the answer as a whole, unpacked.

``feed`` and ``close`` return what to show; the outcome is asked for once, at the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from typing import Any, Literal

from interpreters.models.assembly import Reply
from interpreters.models.dialects import Folder
from interpreters.models.failures import Failure, WireFault, classify
from interpreters.models.faults import Fault
from interpreters.models.inflate import Inflater
from interpreters.models.sse import EVENT_BYTES_MAX, EventTooLarge, ServerEvent, SseDecoder
from interpreters.models.verbatim import read_with_doubles
from interpreters.support.ports_model import ModelDelta

ANSWER_BYTES_MAX = 128 * 1024 * 1024
"""Default cap of a whole answer, decompressed."""

ERROR_BYTES_MAX = 256 * 1024
"""Bytes of an error's body that are read; what follows is dropped."""

Form = Literal["unseen", "events", "json", "other"]
"""What a body is: not seen yet, server-sent events, one JSON value, or something that is no answer."""

_FORMS: Mapping[bytes, Form] = {b"{": "json", b"[": "json", b"<": "other"}
_SHOWN_MAX = 300
_OK = range(200, 300)
_TOO_DEEP = "the answer is nested too deep to be read"
_EVENT_TOO_LARGE = "one event of the answer is larger than the cap"
_BOM = b"\xef\xbb\xbf"
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)


class AnswerDecoder:
    """Reads one HTTP answer whose status and header fields (names in lower case) are known, from its raw bytes."""

    def __init__(
        self,
        folder: Folder,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        *,
        now_ms: int = 0,
        codes: Mapping[str, Fault] | None = None,
        event_bytes_max: int = EVENT_BYTES_MAX,
        answer_bytes_max: int = ANSWER_BYTES_MAX,
    ) -> None:
        self.folder = folder
        self.failure: Failure | None = None
        self.shown = False
        self.ok = status in _OK
        """Whether the status promises an answer."""
        self._status = status
        self._headers = headers or {}
        self._now_ms = now_ms
        self._codes = codes or {}
        self._inflater = Inflater(self._headers.get("content-encoding", ""))
        self._sse = SseDecoder(event_bytes_max)
        self._answer_bytes_max = answer_bytes_max
        self._size = 0
        self._kept: list[bytes] = []
        self._form: Form = "unseen"

    @property
    def done(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.failure is not None or self.folder.terminated

    @property
    def progress(self) -> int:
        """Grows whenever something of the answer came; comments and pings of a stream do not count."""
        return self.folder.progress if self._form == "events" else self._size

    def feed(self, chunk: bytes) -> Sequence[ModelDelta]:
        """Take the next bytes of the body; return what to show."""
        if self.failure is not None or self.folder.terminated:
            return ()
        return self._guard(self._take, chunk)

    def _take(self, packed: bytes) -> Sequence[ModelDelta]:
        chunk = packed if self._inflater.plain else self._inflater.feed(packed, self._answer_bytes_max)
        left = (self._answer_bytes_max if self.ok else ERROR_BYTES_MAX) - self._size
        self._size += len(chunk)
        if len(chunk) > left:
            return self._take_last(chunk[: max(left, 0)])
        return self._sort(chunk)

    def _sort(self, chunk: bytes) -> Sequence[ModelDelta]:
        if self._form == "events":
            return self._fold(self._sse.feed(chunk))
        self._kept.append(chunk)
        return self._look() if self.ok and self._form == "unseen" else ()

    def _take_last(self, chunk: bytes) -> Sequence[ModelDelta]:
        """Take what is left below the cap: of an error that is enough, of an answer it is not."""
        shown = self._sort(chunk)
        if self.ok and not self.done:
            self._fail(Failure(Fault.TOO_LARGE, f"the answer is larger than {self._answer_bytes_max} bytes"))
        return shown

    def _take_end(self) -> Sequence[ModelDelta]:
        return self._fold(self._sse.close())

    def close(self) -> Sequence[ModelDelta]:
        """Take the end of the body; return what to show."""
        if self.done:
            return ()
        if not self.ok:
            told = _readable(b"".join(self._kept))
            return self._fail(self._classify(told))
        match self._form:
            case "events":
                return self._guard(self._take_end)
            case "json":
                return self._guard(self._fold_body)
            case "other":
                return self._fail(_not_an_answer(b"".join(self._kept)))
            case "unseen":
                return ()

    def lose(self, failure: Failure) -> None:
        """Take the news that nothing more will come: a reset, a timeout. Told too late, it changes nothing."""
        if not self.done and not self.folder.stated:
            self.failure = failure

    def outcome(self) -> Reply | Failure:
        """Return what became of the request, after ``close`` or ``lose``."""
        if self.failure is not None:
            return self.failure
        if not self.folder.stated:
            return Failure(Fault.TRUNCATED_STREAM, "the stream ended before the model said that it had finished")
        return self.folder.reply()

    def _look(self) -> Sequence[ModelDelta]:
        """See what the body is, once a byte of it came that tells."""
        head = b"".join(self._kept)
        body = head.removeprefix(_BOM).lstrip()
        if not body or (len(head) < len(_BOM) and _BOM.startswith(head)):
            return ()
        self._form = _FORMS.get(body[:1], "events")
        if self._form != "events":
            return ()
        self._kept.clear()
        return self._fold(self._sse.feed(head))

    def _fold(self, events: list[ServerEvent]) -> list[ModelDelta]:
        shown: list[ModelDelta] = []
        for event in events:
            if self.folder.terminated:
                break
            try:
                found = self.folder.fold_event(event.name, event.data)
            except WireFault as fault:
                # An event that the end of the stream cut in two says nothing; whether all was told was said before.
                if not event.cut or fault.failure.fault is not Fault.MALFORMED_STREAM:
                    self.failure = self._failure_of(fault)
                break
            except RecursionError:
                # The parser bears more depth than what works on its values.
                self.failure = Failure(Fault.MALFORMED_STREAM, _TOO_DEEP)
                break
            shown += found
        if self._sse.too_large and not self.done:
            self.failure = Failure(Fault.TOO_LARGE, _EVENT_TOO_LARGE)
        return shown

    def _fold_body(self) -> Sequence[ModelDelta]:
        text = b"".join(self._kept).decode("utf-8-sig", "replace")
        try:
            value = read_with_doubles(text)
            if isinstance(value, list) and len(value) == 1:
                # So some gateways send their errors.
                value = value[0]
        except json.JSONDecodeError as error:
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
                return self._fail(Failure(Fault.TRUNCATED_STREAM, "the answer ended in the middle of its JSON"))
            return self._fail(_not_an_answer(text.encode()))
        except (ValueError, RecursionError) as error:
            return self._fail(Failure(Fault.PROTOCOL, f"the answer is JSON that cannot be read: {error}"))
        return self.folder.fold_body(value)

    def _guard(self, work: Callable[..., Sequence[ModelDelta]], *pieces: bytes) -> Sequence[ModelDelta]:
        """Turn what the layers below raise into the failure of this answer."""
        try:
            shown = work(*pieces)
        except WireFault as fault:
            return self._fail(self._failure_of(fault))
        except EventTooLarge:
            return self._fail(Failure(Fault.TOO_LARGE, _EVENT_TOO_LARGE))
        except RecursionError:
            return self._fail(Failure(Fault.PROTOCOL, _TOO_DEEP))
        self.shown = self.shown or bool(shown)
        return shown

    def _failure_of(self, fault: WireFault) -> Failure:
        """Return what went wrong; only here header fields and the provider's own codes are known."""
        return fault.failure if fault.told is None else self._classify(fault.told)

    def _classify(self, told: Any) -> Failure:
        return classify(told, self._status, self._headers, self._now_ms, self._codes)

    def _fail(self, failure: Failure) -> Sequence[ModelDelta]:
        self.failure = failure
        self._kept.clear()
        return ()


def _readable(body: bytes) -> Any:
    """Return an error's body as the JSON value it is, or as the text a person would see."""
    text = body.decode("utf-8-sig", "replace").strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _visible(text)


def _visible(text: str) -> str:
    """Return the title of a page, or the beginning of a text."""
    if not text.lstrip().startswith("<"):
        return text[:_SHOWN_MAX]
    title = _TITLE.search(text)
    return f"a page titled {unescape(title.group(1).strip())!r}" if title else "a page without a title"


def _not_an_answer(body: bytes) -> Failure:
    found = _visible(body[: 64 * 1024].decode("utf-8-sig", "replace"))
    return Failure(Fault.PROTOCOL, f"expected a model's answer, found: {found}; is the base URL right?")
