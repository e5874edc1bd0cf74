"""Journals as a file store writes them: whole, torn, damaged, of a newer version; with what was lived beside them.

A journal is made of a session that was reached, so that whoever reads it can be asked for the very state. What is wrong
with it is one ``Flaw``, put where the dice say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

import attrs

from agentcore.codec import CODEC, SCHEMA, Header
from agentcore.testing.lines import event_line, opening_line
from agentcore.testing.strategies.dice import Dice
from agentcore.testing.strategies.session import Session


class Flaw(StrEnum):
    """What is wrong with a journal."""

    NONE = "none"
    UNTERMINATED = "unterminated"
    TORN = "torn"
    DAMAGED = "damaged"
    MISSING = "missing"
    DOUBLED = "doubled"
    HEADER = "header"
    NEWER_SCHEMA = "newer-schema"
    NEWER_EVENT = "newer-event"


@attrs.frozen
class Journal:
    """The bytes of a journal, and the truth about them."""

    session: Session
    """What was lived; its journal holds every event that was written."""
    flaw: Flaw
    """What is wrong."""
    data: bytes
    """What stands on the disk."""
    readable: int
    """How many of the events can be read, in order from the first."""


@attrs.frozen
class _Lines:
    """What the makers of flaws work on."""

    session_id: str
    header: bytes
    events: tuple[bytes, ...]
    """Payloads."""

    @property
    def opening(self) -> bytes:
        return opening_line(self.session_id, self.header)

    @property
    def lines(self) -> list[bytes]:
        return [event_line(seq, payload) for seq, payload in enumerate(self.events, 1)]


Made = tuple[list[bytes], int]
"""Lines, and how many events of them are readable."""


def roll_journal(session: Session, dice: Dice, flaw: Flaw | None = None) -> Journal:
    """Return the journal of a session with a flaw; one that the session is too short for becomes ``NONE``.

    The session has to know its origin, as those of ``sessions`` do.
    """
    assert session.origin is not None, "a journal begins with the header of a session that was started"
    begun = session.origin
    header = CODEC.encode_header(Header(begun.session_id, begun.config, begun.at))
    written = _Lines(begun.session_id, header, tuple(CODEC.encode_event(event) for event in session.journal))
    flaw = flaw or dice.pick(tuple(Flaw))
    if len(written.events) < _SHORTEST.get(flaw, 1):
        flaw = Flaw.NONE
    lines, readable = _MADE[flaw](written, dice)
    return Journal(session, flaw, b"".join(lines), readable)


def _whole(written: _Lines, _dice: Dice) -> Made:
    return [written.opening, *written.lines], len(written.events)


def _unterminated(written: _Lines, _dice: Dice) -> Made:
    """Lose the newline of the last line and nothing else."""
    *lines, last = written.lines
    return [written.opening, *lines, last[:-1]], len(written.events)


def _torn(written: _Lines, dice: Dice) -> Made:
    """Cut the last line off anywhere in it."""
    *lines, last = written.lines
    return [written.opening, *lines, last[: 1 + dice.below(len(last) - 2)]], len(lines)


def _damaged(written: _Lines, dice: Dice) -> Made:
    """Change one bit of a line that has others behind it."""
    lines = written.lines
    place = dice.below(len(lines) - 1)
    lines[place] = _flipped(lines[place], dice)
    return [written.opening, *lines], place


def _flipped(line: bytes, dice: Dice) -> bytes:
    """Change one of the three lowest bits, which makes no newline: JSON has nothing below a space within a line."""
    at, mask = dice.below(len(line) - 1), 1 << dice.below(3)
    return line[:at] + bytes((line[at] ^ mask,)) + line[at + 1 :]


def _missing(written: _Lines, dice: Dice) -> Made:
    """Leave a line out: every line is whole, and the numbers do not follow."""
    lines = written.lines
    place = dice.below(len(lines) - 1)
    del lines[place]
    return [written.opening, *lines], place


def _doubled(written: _Lines, dice: Dice) -> Made:
    """Write a line twice."""
    lines = written.lines
    place = dice.below(len(lines))
    lines.insert(place, lines[place])
    return [written.opening, *lines], place + 1


def _without_header(written: _Lines, dice: Dice) -> Made:
    return [_flipped(written.opening, dice), *written.lines], 0


def _of_newer_schema(written: _Lines, dice: Dice) -> Made:
    """Follow a schema that is not known here."""
    newer = opening_line(written.session_id, written.header, SCHEMA + 1 + dice.below(2))
    return [newer, *written.lines], 0


def _with_newer_event(written: _Lines, dice: Dice) -> Made:
    """Hold an event of a version that is not known here."""
    place = dice.below(len(written.events))
    newer = written.events[place].replace(b'"v":1', b'"v":99', 1)
    lines = written.lines
    lines[place] = event_line(place + 1, newer)
    return [written.opening, *lines], place


_SHORTEST: Mapping[Flaw, int] = {Flaw.NONE: 0, Flaw.DAMAGED: 2, Flaw.MISSING: 2, Flaw.HEADER: 0, Flaw.NEWER_SCHEMA: 0}
"""How many events a session needs for a flaw; one where it is not named."""

_MADE: Mapping[Flaw, Callable[[_Lines, Dice], Made]] = {
    Flaw.NONE: _whole,
    Flaw.UNTERMINATED: _unterminated,
    Flaw.TORN: _torn,
    Flaw.DAMAGED: _damaged,
    Flaw.MISSING: _missing,
    Flaw.DOUBLED: _doubled,
    Flaw.HEADER: _without_header,
    Flaw.NEWER_SCHEMA: _of_newer_schema,
    Flaw.NEWER_EVENT: _with_newer_event,
}
