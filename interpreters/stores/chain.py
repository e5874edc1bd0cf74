"""From the bytes of all segments to what the journal says. No I/O.

A segment is scanned up to its first flaw. Segments are then followed in the order of their numbers: each one after the
first names the position it continues from, and is part of the journal only if that position can be reached. So one
mechanism covers rotation, a sealed torn tail, an accepted gap and a write that failed:

1. What lies between the position and the segment that continues from it is not part of the journal; it stays on disk.
2. A segment whose position cannot be reached is *behind* a damage, and so is everything in a segment after its flaw.
3. A flaw is a *torn tail* if it is a last line without an end, and no later segment says anything. Else it is damage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

import attrs

from interpreters.stores.lines import (
    Continuation,
    First,
    Opening,
    Position,
    Unusable,
    payloads_in,
    read_event,
    read_opening,
    unseal,
)
from interpreters.support.ports_store import Damage, DamageKind, Recovery


def segment_name(number: int) -> str:
    """Name of the file that holds segment ``number``."""
    return f"segment-{number:06d}.ndjson"


@attrs.frozen
class Flaw:
    """Bytes of a segment behind which nothing can be trusted."""

    offset: int
    length: int
    found: str
    torn: bool = False
    """The bytes are a last line without an end, as a write leaves behind that was cut off."""


@attrs.frozen
class Segment:
    """One file of the journal, read up to its first flaw."""

    number: int
    data: bytes
    opening: Opening | None
    """``None`` if the first line cannot be used."""
    start: int
    """Where the first event begins."""
    payloads: list[bytes]
    ends: list[int]
    """Where each event's line ends, one entry for each payload."""
    flaw: Flaw | None
    healed: Flaw | None = None
    """The first line was unusable and the copy of it was used."""

    @property
    def base(self) -> int:
        """Seq of the event before the first one of this segment."""
        return self.opening.position.seq if isinstance(self.opening, Continuation) else 0

    @property
    def silent(self) -> bool:
        """True if no line of it is complete: its creation was cut off, and nothing was ever recorded in it."""
        return self.opening is None and b"\n" not in self.data


def scan(session_id: str, number: int, data: bytes, header_copy: bytes | None = None) -> Segment:
    """Read a segment. ``header_copy`` is the copy of its first line, used if that line cannot be.

    Raises ``Newer`` if the segment, or the copy, was written under a newer schema.
    """
    opening, start, flaw = _opening(session_id, number, data)
    healed = None
    if opening is None and header_copy is not None:
        opening, start, _ = _opening(session_id, number, header_copy)
        healed = flaw and Flaw(0, min(start, len(data)), flaw.found)
    if opening is None:
        return Segment(number, data, None, 0, [], [], flaw)
    if start > len(data):
        # The copy is made when the header is durable, so this is no creation cut off: what was recorded is gone.
        return Segment(number, data, opening, 0, [], [], healed, healed)
    payloads, ends, events_flaw = _events(data, start, opening)
    return Segment(number, data, opening, start, payloads, ends, events_flaw, healed)


def _opening(session_id: str, number: int, data: bytes) -> tuple[Opening | None, int, Flaw | None]:
    """Return what the first line says, where the second begins, and what is wrong with the first."""
    line = _line_at(data, 0)
    if isinstance(line, Flaw):
        return None, 0 if line.torn else line.length, line
    body, end = line
    try:
        return read_opening(body, session_id, number), end, None
    except Unusable as error:
        return None, end, Flaw(0, end, str(error))


def _line_at(data: bytes, at: int) -> tuple[bytes, int] | Flaw:
    """Return the unsealed line that begins at ``at``, and where it ends; a flaw if there is no whole one."""
    stop = data.find(b"\n", at)
    if stop >= 0:
        body = unseal(data[at:stop])
        if body is None:
            return Flaw(at, stop + 1 - at, "a line that does not match its checksum")
        return body, stop + 1
    # The newline alone may be missing, or be the byte that was damaged: the event before it is whole all the same.
    for end in (len(data), len(data) - 1):
        body = unseal(data[at:end])
        if body is not None:
            return body, end
    return Flaw(at, len(data) - at, "a line without an end", torn=True)


def _events(data: bytes, start: int, opening: Opening) -> tuple[list[bytes], list[int], Flaw | None]:
    """Return the payloads and ends of the events from ``start`` up to the first flaw, and that flaw."""
    payloads: list[bytes] = []
    ends: list[int] = []
    seq = opening.position.seq if isinstance(opening, Continuation) else 0
    at = start
    while at < len(data):
        seq += 1
        line = _line_at(data, at)
        if isinstance(line, Flaw):
            return payloads, ends, line
        body, end = line
        try:
            payloads.append(read_event(body, seq))
        except Unusable as error:
            return payloads, ends, Flaw(at, end - at, str(error))
        ends.append(end)
        at = end
    return payloads, ends, None


@attrs.frozen
class Piece:
    """The part of a segment that belongs to the journal: its first ``count`` events."""

    segment: Segment
    count: int

    @property
    def end(self) -> Position:
        """The position behind its last event."""
        offset = self.segment.ends[self.count - 1] if self.count else self.segment.start
        return Position(self.segment.number, offset, self.segment.base + self.count)

    def up_to(self, position: Position) -> Piece | None:
        """Return the part of it before a position; ``None`` if the position is not in it."""
        count = position.seq - self.segment.base
        if not 0 <= count <= self.count:
            return None
        part = Piece(self.segment, count)
        return part if part.end == position else None


@attrs.frozen
class Chain:
    """The journal as its segments tell it."""

    segments: tuple[Segment, ...]
    """Every file, by number."""
    pieces: tuple[Piece, ...]
    """What belongs to the journal, in order."""
    stopped: Segment | None
    """The segment whose flaw ends the journal, or the first that could not be reached; ``None`` if nothing is amiss."""

    @property
    def header(self) -> bytes:
        """The session's header."""
        first = self.pieces[0].segment.opening
        return first.header if isinstance(first, First) else b""

    @property
    def end(self) -> Position:
        """The position behind the last good event."""
        return self.pieces[-1].end

    @property
    def appendable(self) -> bool:
        """True if the next line can follow in the last file; else a new segment has to be started."""
        last = self.pieces[-1]
        whole = last.segment is self.segments[-1] and last.end.offset == len(last.segment.data)
        return self.stopped is None and whole and last.segment.data.endswith(b"\n")

    @property
    def damage(self) -> Damage | None:
        """What is amiss now, healed headers aside; ``None`` also for a file in which nothing was ever written."""
        if self.stopped is None:
            return None
        flaw = self.stopped.flaw or Flaw(0, 0, "what it continues cannot be reached")
        later = [segment for segment in self.segments if segment.number > self.stopped.number]
        torn = flaw.torn and all(segment.silent for segment in later)
        if torn and not flaw.length:
            return None
        kind: DamageKind = "torn-tail" if torn else "middle"
        return Damage(kind, segment_name(self.stopped.number), flaw.offset, flaw.length, flaw.found)

    @property
    def damaged_bytes(self) -> bytes:
        """The bytes that ``damage`` speaks of."""
        flaw = self.stopped.flaw if self.stopped else None
        return self.stopped.data[flaw.offset : flaw.offset + flaw.length] if self.stopped and flaw else b""

    def events(self) -> Iterator[tuple[int, bytes]]:
        """Seq and payload of every event."""
        for piece in self.pieces:
            yield from enumerate(piece.segment.payloads[: piece.count], piece.segment.base + 1)

    def reaches(self, segment: int, seq: int) -> bool:
        """True if event ``seq`` is part of the journal and stands in that segment."""
        return any(p.segment.number == segment and p.segment.base < seq <= p.end.seq for p in self.pieces)

    def holds(self, position: Position) -> bool:
        """True if the journal passes through a position."""
        return any(piece.up_to(position) for piece in self.pieces)

    def recovery(self) -> Recovery:
        """Report what was found; an accepted gap or a sealed tail is reported until an event follows it."""
        damage = self.damage
        if damage is not None and damage.kind == "middle":
            return Recovery(self.end.seq, damage, None, self._behind(self.end, self.segments[-1].number + 1))
        sealed = self._sealed()
        for segment, opening in sealed:
            if opening.accepted_by is not None:
                behind = self._behind(opening.position, segment.number)
                return Recovery(self.end.seq, opening.damage, opening.accepted_by, behind)
        earlier = next((opening.damage for _, opening in sealed if opening.damage is not None), None)
        return Recovery(self.end.seq, damage or earlier or self._healed())

    def _sealed(self) -> list[tuple[Segment, Continuation]]:
        """The continuations after which no event was recorded yet, latest first."""
        eventless = (piece.segment for piece in takewhile(lambda piece: not piece.count, reversed(self.pieces)))
        return [(each, each.opening) for each in eventless if isinstance(each.opening, Continuation)]

    def _healed(self) -> Damage | None:
        flaw = self.segments[0].healed
        return Damage("header", segment_name(1), flaw.offset, flaw.length, flaw.found) if flaw else None

    def _behind(self, position: Position, before: int) -> tuple[bytes, ...]:
        """Payloads of all whole event lines from a position on, in segments below ``before``."""
        found: list[bytes] = []
        for segment in self.segments:
            if position.segment <= segment.number < before:
                found += payloads_in(segment.data[position.offset if segment.number == position.segment else 0 :])
        return tuple(found)


def follow(segments: Sequence[Segment]) -> Chain:
    """Follow the segments, ordered by number, from the first one, whose header must be known."""
    pieces = [Piece(segments[0], len(segments[0].payloads))]
    stopped = segments[0] if segments[0].flaw else None
    for segment in segments[1:]:
        before = _before(pieces, segment)
        if before:
            pieces = [*before, Piece(segment, len(segment.payloads))]
            stopped = segment if segment.flaw else None
        else:
            stopped = stopped or segment
    return Chain(tuple(segments), tuple(pieces), stopped)


def _before(pieces: list[Piece], segment: Segment) -> list[Piece]:
    """Return the pieces up to where a segment continues; empty if it cannot be reached."""
    if isinstance(segment.opening, Continuation):
        for index in reversed(range(len(pieces))):
            part = pieces[index].up_to(segment.opening.position)
            if part:
                return [*pieces[:index], part]
    return []
