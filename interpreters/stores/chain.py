"""From the bytes of all segments to what the journal says.

A segment is scanned line by line up to its first flaw; where its lines end is kept, the lines are not. Segments are
then followed in the order of their numbers: each one after the first names the position it continues from, and is part
of the journal only if that position can be reached. So one mechanism covers rotation, a sealed torn tail, an accepted
gap and a write that failed:

1. What lies between the position and the segment that continues from it is not part of the journal; it stays on disk.
2. A segment whose position cannot be reached is *behind* a damage, and so is everything in a segment after its flaw.
3. A flaw is a *torn tail* if it is a last line without an end, and no later segment says anything. Else it is damage.
"""

from __future__ import annotations

import errno
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

import attrs

from interpreters.stores.content import Content, Held, Line, lines, read
from interpreters.stores.lines import (
    Continuation,
    First,
    Opening,
    Position,
    Unusable,
    payload_of,
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
    content: Content
    """Its bytes."""
    opening: Opening | None
    """``None`` if the first line cannot be used."""
    start: int
    """Where the first event begins."""
    ends: array[int]
    """Where each event's line ends."""
    flaw: Flaw | None
    healed: Flaw | None = None
    """The first line was unusable and the copy of it was used."""
    silent: bool = False
    """No line of it is complete: its creation was cut off, and nothing was ever recorded in it."""

    @property
    def base(self) -> int:
        """Seq of the event before the first one of this segment."""
        return self.opening.position.seq if isinstance(self.opening, Continuation) else 0

    def place(self, count: int) -> int:
        """Where the line of its ``count``-th event ends."""
        return self.ends[count - 1] if count else self.start

    def events(self, skipped: int, count: int) -> Iterator[tuple[int, bytes]]:
        """Read its events up to the ``count``-th again, but not the first ones. Raises ``OSError``."""
        seq = self.base + skipped
        for line in islice(lines(self.content, self.place(skipped)), count - skipped):
            seq += 1
            whole = _unsealed(line)
            if isinstance(whole, Flaw) or whole[1] != self.place(seq - self.base):
                raise self._changed(seq)
            yield seq, read_event(whole[0], seq)
        if seq != self.base + count:
            raise self._changed(seq + 1)

    def _changed(self, seq: int) -> OSError:
        """Say that an event is not where it was when the segment was scanned: a shorter journal is no answer."""
        return OSError(errno.EIO, f"event {seq} changed while it was read", segment_name(self.number))


def scan(session_id: str, number: int, content: Content, header_copy: bytes | None = None) -> Segment:
    """Read a segment. ``header_copy`` is the copy of its first line, used if that line cannot be.

    Raises ``Newer`` if the segment, or the copy, was written under a newer schema; ``OSError``.
    """
    opening, start, flaw = _opening(session_id, number, content)
    silent = opening is None and not any(line.ended for line in islice(lines(content), 1))
    nothing = array("Q")
    healed = None
    if opening is None and header_copy is not None:
        opening, start, _ = _opening(session_id, number, Held(header_copy))
        healed = flaw and Flaw(0, min(start, content.size), flaw.found)
    if opening is None:
        return Segment(number, content, None, 0, nothing, flaw, silent=silent)
    if start > content.size:
        # The copy is made when the header is durable, so this is no creation cut off: what was recorded is gone.
        return Segment(number, content, opening, 0, nothing, healed, healed)
    ends, events_flaw = _events(content, start, opening)
    return Segment(number, content, opening, start, ends, events_flaw, healed)


def _opening(session_id: str, number: int, content: Content) -> tuple[Opening | None, int, Flaw | None]:
    """Return what the first line says, where the second begins, and what is wrong with the first."""
    line = _unsealed(next(lines(content), Line(0, b"", ended=False)))
    if isinstance(line, Flaw):
        return None, 0 if line.torn else line.length, line
    body, end = line
    try:
        return read_opening(body, session_id, number), end, None
    except Unusable as error:
        return None, end, Flaw(0, end, str(error))


def _unsealed(line: Line) -> tuple[bytes, int] | Flaw:
    """Return what was sealed in a line, and where it ends; a flaw if it is not whole."""
    if line.ended:
        body = unseal(line.text)
        return (body, line.end) if body is not None else _flaw(line, "a line that does not match its checksum")
    # The newline alone may be missing, or be the byte that was damaged: the event before it is whole all the same.
    for text in (line.text, line.text[:-1]):
        body = unseal(text)
        if body is not None:
            return body, line.at + len(text)
    return _flaw(line, "a line without an end", torn=True)


def _flaw(line: Line, found: str, *, torn: bool = False) -> Flaw:
    return Flaw(line.at, line.end - line.at, found, torn)


def _events(content: Content, start: int, opening: Opening) -> tuple[array[int], Flaw | None]:
    """Return where the events from ``start`` end, up to the first flaw, and that flaw."""
    ends = array("Q")
    seq = opening.position.seq if isinstance(opening, Continuation) else 0
    at = start
    for line in lines(content, start):
        seq += 1
        whole = _unsealed(line)
        if isinstance(whole, Flaw):
            return ends, whole
        body, at = whole
        try:
            read_event(body, seq)
        except Unusable as error:
            return ends, Flaw(line.at, at - line.at, str(error))
        ends.append(at)
    return ends, _left_over(content, at)


def _left_over(content: Content, at: int) -> Flaw | None:
    """Find the byte that stands where the last line's newline should be: it cost no event, but nothing follows it."""
    left = content.size - at
    return Flaw(at, left, "a line without an end", torn=True) if left > 0 else None


@attrs.frozen
class Piece:
    """The part of a segment that belongs to the journal: its first ``count`` events."""

    segment: Segment
    count: int

    @property
    def end(self) -> Position:
        """The position behind its last event."""
        return Position(self.segment.number, self.segment.place(self.count), self.segment.base + self.count)

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
        content = last.segment.content
        whole = last.segment is self.segments[-1] and last.end.offset == content.size
        return self.stopped is None and whole and read(content, content.size - 1, content.size) == b"\n"

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
        return read(self.stopped.content, flaw.offset, flaw.offset + flaw.length) if self.stopped and flaw else b""

    def events(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Seq and payload of every event behind event ``after``, read as they are wanted. Raises ``OSError``."""
        for piece in self.pieces:
            skipped = min(max(after - piece.segment.base, 0), piece.count)
            yield from piece.segment.events(skipped, piece.count)

    def length(self, after: int = 0) -> int:
        """Bytes of the lines of the events behind event ``after``."""
        skipped = ((piece, min(max(after - piece.segment.base, 0), piece.count)) for piece in self.pieces)
        return sum(piece.segment.place(piece.count) - piece.segment.place(count) for piece, count in skipped)

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
                begin = position.offset if segment.number == position.segment else 0
                payloads = (payload_of(line.text) for line in lines(segment.content, begin))
                found += (payload for payload in payloads if payload is not None)
        return tuple(found)


def follow(segments: Sequence[Segment]) -> Chain:
    """Follow the segments, ordered by number, from the first one, whose header must be known."""
    pieces = [Piece(segments[0], len(segments[0].ends))]
    stopped = segments[0] if segments[0].flaw else None
    for segment in segments[1:]:
        before = _before(pieces, segment)
        if before:
            pieces = [*before, Piece(segment, len(segment.ends))]
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
