"""Server-sent events, read from bytes as the WHATWG HTML standard says, section 9.2, with what model servers need.

1. Lines end at CR, LF or CRLF, also when cut between CR and LF; nothing else ends a line.
2. The bytes are UTF-8 whatever a header claims; a broken sequence becomes U+FFFD. One leading byte order mark goes.
3. ``data`` lines of an event join with LF; one space behind the colon is stripped; comments, ``id`` and ``retry`` are
   not events, and a blank line without data before it is none either.
4. The standard drops an event that no blank line ends. Model servers end their streams so: ``close`` gives it out.
5. An event larger than the cap is an error, not a hang and not a growing buffer.

Cutting the bytes anywhere changes nothing; the cost is linear in their number. Line ends are made one and the text is
cut at blank lines, both by the bulk operations of ``bytes``: looking at every line by itself would take most of the
time that a whole answer takes.
"""

from __future__ import annotations

from typing import NamedTuple

EVENT_BYTES_MAX = 32 * 1024 * 1024
"""Default cap of one event; real ones, with arguments or images inside, reach some megabytes."""

_BOM = b"\xef\xbb\xbf"
_LF = 10
_PLAIN = b"data: "


class EventTooLarge(ValueError):
    """An event grew beyond the cap."""


class ServerEvent(NamedTuple):
    """One dispatched event."""

    name: str
    """The ``event`` field; empty if there was none."""
    data: str
    """All data lines, joined with LF."""
    cut: bool = False
    """The stream ended before the blank line that should have ended it."""


class SseDecoder:
    """Takes bytes as they come and gives out whole events. Raises ``EventTooLarge`` once nothing came before it."""

    def __init__(self, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        self._cap = event_bytes_max
        self._rest: list[bytes] = []
        self._size = 0
        self._look_at = event_bytes_max
        self._first = True
        self._skip_lf = False
        self.too_large = False
        """The event that comes now is beyond the cap: nothing more will be read."""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take the next bytes; return the events they complete."""
        self._refuse()
        if chunk and self._skip_lf:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            # CR at the end may be the half of CRLF; it ends its line now, and the other half is dropped later.
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not chunk:
            return []
        rest = self._rest
        if not rest and not self._first and chunk.startswith(_PLAIN) and _single(chunk) and len(chunk) <= self._cap:
            # What most servers write at once, and what arrives so while nothing is late.
            return [ServerEvent("", chunk[6:-2].decode("utf-8", "replace"))]
        ends = b"\n\n" in chunk or (chunk[0] == _LF and bool(rest) and rest[-1][-1] == _LF)
        rest.append(chunk)
        self._size += len(chunk)
        return self._cut() if ends else self._wait([])

    def close(self) -> list[ServerEvent]:
        """Take the end of the stream; return what it leaves complete."""
        self._refuse()
        block = self._without_bom(b"".join(self._rest))
        self._rest.clear()
        return self._events([block], cut=True)

    def _refuse(self) -> None:
        if self.too_large:
            raise EventTooLarge(f"one event is larger than {self._cap} bytes")

    def _cut(self) -> list[ServerEvent]:
        """Give out what blank lines end, and keep the rest."""
        blocks = self._without_bom(b"".join(self._rest)).split(b"\n\n")
        tail = blocks.pop()
        self._rest[:] = [tail] if tail else []
        self._size = len(tail)
        self._look_at = self._cap
        return self._wait(self._events(blocks, cut=False))

    def _wait(self, events: list[ServerEvent]) -> list[ServerEvent]:
        """Return the events, having made sure that what waits for its end does not wait for ever."""
        if self._size > self._look_at and not self.too_large:
            *lines, last = self._without_bom(b"".join(self._rest)).split(b"\n")
            text = b"\n".join([*filter(_counts, lines), last])
            self._rest[:] = [text] if text else []
            self._size = len(text)
            # Looked at again only when it has grown: what comes in small pieces must not be joined at each.
            self._look_at = max(self._cap, self._size + self._cap // 2)
            self.too_large = self._weighs_too_much([*lines, last])
        if self.too_large and not events:
            self._refuse()
        return events

    def _without_bom(self, text: bytes) -> bytes:
        if self._first:
            self._first = False
            return text.removeprefix(_BOM)
        return text

    def _events(self, blocks: list[bytes], *, cut: bool) -> list[ServerEvent]:
        events: list[ServerEvent] = []
        for block in blocks:
            if len(block) > self._cap and self._weighs_too_much(block.split(b"\n")):
                self.too_large = True
                if not events:
                    self._refuse()
                break
            if block.startswith(_PLAIN) and b"\n" not in block:
                events.append(ServerEvent("", block[6:].decode("utf-8", "replace"), cut))
            elif block:
                events += _read(block, cut=cut)
        return events

    def _weighs_too_much(self, lines: list[bytes]) -> bool:
        """Say whether an event, as far as it came, is too large: comments do not add up, but each line has to end."""
        return max(sum(len(line) + 1 for line in lines if _counts(line)) - 1, *map(len, lines)) > self._cap


def _single(chunk: bytes) -> bool:
    """Say whether the bytes are one line and the blank one behind it."""
    return chunk.endswith(b"\n\n") and chunk.find(b"\n") == len(chunk) - 2


def _counts(line: bytes) -> bool:
    return line.startswith((b"data:", b"event:"))


def _read(block: bytes, *, cut: bool) -> list[ServerEvent]:
    """Read the lines of one event; nothing if they hold no data."""
    name = b""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        if line.startswith(_PLAIN):
            data.append(line[6:])
            continue
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ")
    if not data:
        return []
    joined = data[0] if len(data) == 1 else b"\n".join(data)
    return [ServerEvent(name.decode("utf-8", "replace"), joined.decode("utf-8", "replace"), cut)]
