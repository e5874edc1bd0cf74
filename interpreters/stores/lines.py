r"""The journal's lines as bytes: how one is made, and how a whole one is told from a damaged one. No I/O.

Every line is one JSON object whose last member is the CRC-32 of all bytes of the line before that member::

    {"schema":0,"session":"s1","segment":1,"header":{...},"crc":"0f3a5b77"}
    {"seq":1,"event":{...},"crc":"9c01d2e4"}
    {"schema":0,"session":"s1","segment":2,"position":{...},"because":"rotated",...,"crc":"5b0c7a10"}

1. ``,"crc":"xxxxxxxx"}`` has a fixed width and is compared byte for byte, so a flipped bit cannot hide in its spelling.
2. The first line of a segment begins with its schema and ends with its CRC in every schema to come; so an old version
   recognises a newer journal and refuses it, instead of taking it for a damaged one.
3. Lines end with ``\n`` and nothing else ends one. Payloads are single-line JSON, so none contains it.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Literal

import attrs

from interpreters.support.ports_store import Damage

SCHEMA = 0
"""The newest journal schema this version reads, and the one it writes; 0 until the first release."""

Because = Literal["rotated", "unterminated", "torn-tail", "gap-accepted", "write-failed"]
"""Why a segment was started after the one before it."""

_CRC_LENGTH = len(',"crc":"00000000"}')
_SCHEMA = re.compile(rb'\{"schema":(\d+),')
_HEADER = b',"header":'
_SEQ = re.compile(rb'\{"seq":(\d+),"event":')


class Unusable(Exception):
    """A line is whole but does not belong here. The argument says what was found and what was expected."""


class Newer(Exception):
    """A line has a schema that this version does not know. The argument is that schema."""


@attrs.frozen(order=True)
class Position:
    """A place in the journal: behind event ``seq``, which ends at byte ``offset`` of a segment."""

    segment: int
    offset: int
    seq: int


@attrs.frozen
class First:
    """The journal begins here."""

    header: bytes


@attrs.frozen
class Continuation:
    """The journal goes on here from a position; whatever lies between the two is not part of it."""

    position: Position
    because: Because
    damage: Damage | None = None
    """What made it necessary to start a segment, if it was a damage."""
    accepted_by: str | None = None
    """Who accepted that recorded events are lost; only with ``gap-accepted``."""


Opening = First | Continuation


def seal(body: bytes) -> bytes:
    """Make a line of a JSON object that lacks only its closing brace."""
    return b'%b,"crc":"%08x"}\n' % (body, zlib.crc32(body))


def unseal(line: bytes) -> bytes | None:
    r"""Return what ``seal`` was given, from a line without its ``\n``; ``None`` if the line is not whole."""
    body = line[:-_CRC_LENGTH]
    return body if line[-_CRC_LENGTH:] == b',"crc":"%08x"}' % zlib.crc32(body) else None


def event_line(seq: int, payload: bytes) -> bytes:
    """Make the line of one event."""
    return seal(b'{"seq":%d,"event":%b' % (seq, payload))


def read_event(body: bytes, seq: int) -> bytes:
    """Return the payload of an unsealed event line. Raises ``Unusable`` unless it is event ``seq``."""
    prefix = b'{"seq":%d,"event":' % seq
    if body.startswith(prefix):
        return body[len(prefix) :]
    other = _SEQ.match(body)
    raise Unusable(f"seq {int(other[1])} where {seq} was expected" if other else "a line that records no event")


def payload_of(line: bytes) -> bytes | None:
    """Return the payload of a whole event line, whatever its number; ``None`` of any other line."""
    body = unseal(line)
    match = _SEQ.match(body) if body is not None else None
    return body[match.end() :] if body is not None and match else None


def opening_line(session_id: str, number: int, opening: Opening) -> bytes:
    """Make the first line of segment ``number``."""
    start = _opening_prefix(session_id, number)
    if isinstance(opening, First):
        return seal(start + _HEADER + opening.header)
    rest = json.dumps(attrs.asdict(opening), separators=(",", ":"))
    return seal(start + b"," + rest[1:-1].encode())


def read_opening(body: bytes, session_id: str, number: int) -> Opening:
    """Understand an unsealed first line. Raises ``Newer``, or ``Unusable`` if it opens no or another segment."""
    schema = _SCHEMA.match(body)
    if schema and int(schema[1]) > SCHEMA:
        raise Newer(int(schema[1]))
    prefix = _opening_prefix(session_id, number)
    if not body.startswith(prefix + b","):
        raise Unusable(f"a line that does not open segment {number} of session {session_id}")
    rest = body[len(prefix) :]
    if number > 1:
        return _read_continuation(rest)
    if not rest.startswith(_HEADER):
        raise Unusable("a first line without a header")
    return First(rest[len(_HEADER) :])


def _opening_prefix(session_id: str, number: int) -> bytes:
    return b'{"schema":%d,"session":"%b","segment":%d' % (SCHEMA, session_id.encode(), number)


def _read_continuation(rest: bytes) -> Continuation:
    try:
        record = json.loads(b"{" + rest[1:] + b"}")
        damage = record["damage"]
        return Continuation(
            Position(**record["position"]),
            record["because"],
            None if damage is None else Damage(**damage),
            record["accepted_by"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Unusable("a first line that does not say what it continues") from error
