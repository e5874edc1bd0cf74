r"""A journal as bytes: the lines that a file store writes, to be made, cut, damaged and read again. No I/O.

Every line is one JSON object whose last member is the CRC-32 of all bytes before that member::

    {"schema":0,"session":"s1","segment":1,"header":{...},"crc":"0f3a5b77"}
    {"seq":1,"event":{...},"crc":"9c01d2e4"}

1. The first line names the schema, so that an old version refuses a newer journal instead of taking it for damage.
2. A line without its ``\n`` whose CRC is good is accepted; without, it is torn: the write was cut off by a crash.
3. A line that is not whole and has whole ones behind it is damage. What lies behind is never folded.
"""

from __future__ import annotations

import re
import zlib
from enum import StrEnum

import attrs

from agentcore.codec import SCHEMA

_CRC_LENGTH = len(',"crc":"00000000"}')
_OPENING = re.compile(rb'\{"schema":(\d+),"session":"[^"]*","segment":1,"header":')
_SEQ = re.compile(rb'\{"seq":(\d+),"event":')


class Found(StrEnum):
    """What a reader finds wrong with a journal."""

    NOTHING = "nothing"
    TORN_TAIL = "torn-tail"
    MIDDLE = "middle"
    HEADER = "header"
    NEWER = "newer"


@attrs.frozen
class Reading:
    """What is readable of a journal."""

    found: Found
    """What is wrong with it."""
    header: bytes = b""
    """The payload of its first line; empty if that cannot be read or follows a newer schema."""
    events: tuple[bytes, ...] = ()
    """Payloads of the events from the first on, up to where something is wrong."""
    behind: tuple[bytes, ...] = ()
    """Payloads of whole event lines behind a damage: evidence of what was started, never folded."""


def seal(body: bytes) -> bytes:
    """Make a line of a JSON object that lacks only its closing brace."""
    return b'%b,"crc":"%08x"}\n' % (body, zlib.crc32(body))


def unseal(line: bytes) -> bytes | None:
    r"""Return what ``seal`` was given, from a line without its ``\n``; ``None`` if the line is not whole."""
    body = line[:-_CRC_LENGTH]
    return body if line[-_CRC_LENGTH:] == b',"crc":"%08x"}' % zlib.crc32(body) else None


def opening_line(session_id: str, header: bytes, schema: int = SCHEMA) -> bytes:
    """Make the first line of a journal."""
    return seal(b'{"schema":%d,"session":"%b","segment":1,"header":%b' % (schema, session_id.encode(), header))


def event_line(seq: int, payload: bytes) -> bytes:
    """Make the line of one event."""
    return seal(b'{"seq":%d,"event":%b' % (seq, payload))


def read(data: bytes) -> Reading:
    """Read a journal as far as it can be read."""
    lines = data.split(b"\n")
    whole = [unseal(line) for line in lines if line]
    opening = _OPENING.match(whole[0]) if whole and whole[0] is not None else None
    if not whole or whole[0] is None or opening is None:
        return Reading(Found.HEADER, behind=_behind(whole))
    if int(opening[1]) > SCHEMA:
        return Reading(Found.NEWER)
    header = whole[0][opening.end() :]
    events: list[bytes] = []
    for seq, body in enumerate(whole[1:], 1):
        prefix = b'{"seq":%d,"event":' % seq
        if body is None or not body.startswith(prefix):
            torn = body is None and seq == len(whole) - 1 and lines[-1] != b""
            behind = _behind(whole[seq:])
            return Reading(Found.TORN_TAIL if torn else Found.MIDDLE, header, tuple(events), behind)
        events.append(body[len(prefix) :])
    return Reading(Found.NOTHING, header, tuple(events))


def _behind(bodies: list[bytes | None]) -> tuple[bytes, ...]:
    """Return the payload of every whole event line, whatever lies between them."""
    found = ((body, _SEQ.match(body)) for body in bodies if body is not None)
    return tuple(body[match.end() :] for body, match in found if match is not None)
