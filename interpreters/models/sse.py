"""Server-sent events, read from bytes as the WHATWG HTML standard says, section 9.2, with what model servers need.

1. Lines end at CR, LF or CRLF, also when cut between CR and LF; nothing else ends a line.
2. The bytes are UTF-8 whatever a header claims; a broken sequence becomes U+FFFD. One leading byte order mark goes.
3. ``data`` lines of an event join with LF; one space behind the colon is stripped; comments, ``id`` and ``retry`` are
   not events, and a blank line without data before it is none either.
4. The standard drops an event that no blank line ends. Model servers end their streams so: ``close`` gives it out.
5. An event larger than the cap is an error, not a hang and not a growing buffer.

Cutting the bytes anywhere changes nothing; the cost is linear in their number.
"""

from __future__ import annotations

import re

import attrs

EVENT_BYTES_MAX = 32 * 1024 * 1024
"""Default cap of one event; real ones, with arguments or images inside, reach some megabytes."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"[\r\n]")


class EventTooLarge(ValueError):
    """An event grew beyond the cap."""


@attrs.frozen
class ServerEvent:
    """One dispatched event."""

    name: str
    """The ``event`` field; empty if there was none."""
    data: str
    """All data lines, joined with LF."""
    cut: bool = False
    """The stream ended before the blank line that should have ended it."""


class SseDecoder:
    """Takes bytes as they come and gives out whole events. Raises ``EventTooLarge`` at the cap."""

    def __init__(self, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        self._event_bytes_max = event_bytes_max
        self._line: list[bytes] = []
        self._first = True
        self._skip_lf = False
        self._size = 0
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take the next bytes; return the events they complete."""
        events: list[ServerEvent] = []
        at = 1 if self._skip_lf and chunk.startswith(b"\n") else 0
        if chunk:
            self._skip_lf = False
        while end := _LINE_END.search(chunk, at):
            self._keep(chunk[at : end.start()])
            self._end_line(events)
            at = end.end()
            if end.group() == b"\r":
                self._skip_lf = at == len(chunk)
                at += chunk.startswith(b"\n", at)
        self._keep(chunk[at:])
        return events

    def close(self) -> list[ServerEvent]:
        """Take the end of the stream; return what it leaves complete."""
        events: list[ServerEvent] = []
        if self._line:
            self._end_line(events)
        return [*events, *self._dispatch(cut=True)]

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._line.append(piece)
            self._size += len(piece)
            if self._size > self._event_bytes_max:
                raise EventTooLarge(f"one event is larger than {self._event_bytes_max} bytes")

    def _end_line(self, events: list[ServerEvent]) -> None:
        line = b"".join(self._line)
        self._line.clear()
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if line:
            self._take_field(line)
        else:
            events += self._dispatch(cut=False)

    def _take_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        else:
            self._size -= len(line)
            if name == b"event":
                self._name = value.decode("utf-8", "replace")

    def _dispatch(self, *, cut: bool) -> list[ServerEvent]:
        name, data = self._name, self._data
        self._name, self._data, self._size = "", [], 0
        return [ServerEvent(name, b"\n".join(data).decode("utf-8", "replace"), cut)] if data else []
