"""What the tables promise about a pair of state and event, read from them without the reducer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from agentcore import TABLES, Judgement, Tables, Verdict
from agentcore.events import EVENTS, Event
from agentcore.messages import find_result
from agentcore.rejections import RejectionCode
from agentcore.states import CALL_STATES, PHASES, Call, EffectUnknown, Proposed, Settled, State
from agentcore.steps.verdicts import TimePassed
from agentcore.table import Kind, Row
from agentcore.testing.passage import Passage, all_calls, find_call

ANY = frozenset(Verdict)
NEVER_ACCEPTED = ANY - {Verdict.ACCEPTED}


def row_of(rows: Iterable[Row], source: type, event: type) -> Row | None:
    return next((row for row in rows if (row.source, row.event) == (source, event)), None)


def rows_for(meeting: Meeting, event: Event, tables: Tables = TABLES) -> tuple[Row, ...] | None:
    """The rows that decide: the turn's, and that of the one call an event is about; ``None`` if that call never was."""
    row = row_of(tables.turn, meeting.phase, type(event))
    if row is None or not row.answered_by_call:
        return (row,) if row is not None else ()
    if meeting.call is None:
        return None
    own = row_of(tables.call, meeting.call, type(event))
    return (row, own) if own is not None else (row,)


class Meeting(NamedTuple):
    """Where an event meets a session."""

    phase: type
    """Its phase."""
    call: type | None
    """The state of the call that is named, if it ever was."""
    before: tuple[Row, ...] = ()
    """Rows that were taken before the event was looked at, because the turn's time was up."""


def meeting_of(state: State, event: Event, rows: tuple[Row, ...] = ()) -> Meeting:
    """Where an event met a session, by the rows that were taken: time passes before anything else does."""
    call = find_call(state, getattr(event, "call_id", ""))
    written = call is None and find_result(state.history, getattr(event, "call_id", "")) is not None
    own = Settled if written else None if call is None else type(call.state)
    if not rows or rows[0].event is not TimePassed:
        return Meeting(type(state.phase), own)
    size = next((place for place, row in enumerate(rows) if row.event is type(event)), len(rows))
    before, rest = rows[:size], rows[size:]
    reached = closure({type(state.phase)}, moves_of(before))
    phase = rest[0].source if rest else rows[0].to[0]
    assert phase in reached, f"the event was looked at in {phase.__name__}, time leads to {named(reached)}"
    if own is not None and len(rest) > 1 and rest[1].source in closure({own}, moves_of(before)):
        own = rest[1].source
    return Meeting(phase, own, before)


def moves_of(rows: Iterable[Row]) -> list[tuple[type, tuple[type, ...]]]:
    return [(row.source, row.to) for row in rows]


def promised(rows: tuple[Row, ...] | None) -> tuple[frozenset[Verdict], str]:
    """The verdicts that are possible by some rows, and the reason if only one is."""
    if rows is None:
        return frozenset({Verdict.REJECTED}), RejectionCode.FOREIGN_CALL.value
    if not rows or (rows[-1].answered_by_call):
        return frozenset({Verdict.REJECTED}), RejectionCode.NOT_EXPECTED_HERE.value
    if rows[-1].kind is Kind.IGNORE:
        return frozenset({Verdict.IGNORED}), str(rows[-1].because)
    return (NEVER_ACCEPTED, "") if rows[-1].kind is Kind.GUARD else (ANY, "")


def breach(passage: Passage, judgement: Judgement, tables: Tables = TABLES) -> str | None:
    """What of the tables' promise is broken by what became of an event."""
    meeting = meeting_of(passage.before, passage.event, judgement.rows)
    rows = rows_for(meeting, passage.event, tables)
    verdicts, reason = promised(rows)
    if judgement.verdict not in verdicts:
        return f"{judgement.verdict} ({judgement.reason}), though the table promises {sorted(verdicts)}"
    if reason and judgement.reason != reason:
        return f"{judgement.verdict} because of {judgement.reason}, though the table says {reason}"
    if rows is not None and judgement.rows[: len(meeting.before) + len(rows)] != meeting.before + rows:
        return f"decided by {[row.name for row in judgement.rows]}, not by {[row.name for row in rows]}"
    if judgement.verdict is Verdict.ACCEPTED:
        return _strayed(passage, judgement)
    return None


def _strayed(passage: Passage, judgement: Judgement) -> str | None:
    """Which phase or call went where no row that was taken leads."""
    phases = {type(passage.before.phase)}
    for row in judgement.rows:
        if row.source in PHASES:
            if row.source not in phases:
                return f"{row.name} was taken in one of {named(phases)}"
            phases = set(row.to)
    if type(passage.after.phase) not in phases:
        return f"the phase is {type(passage.after.phase).__name__}, the rows lead to {named(phases)}"
    moves = moves_of(row for row in judgement.rows if row.source in CALL_STATES)
    for old, new in passage.moved:
        if new is not None and not _is_answered_in_batch(passage.after, new):
            places = closure(_origins(passage.before, old, new), moves)
            if type(new.state) not in places:
                return f"call {new.call_id} is {type(new.state).__name__}, the rows lead to {named(places)}"
    return None


def _is_answered_in_batch(state: State, call: Call) -> bool:
    """A call that lives on in the register has its answer in the batch; the rows are taken by the entry."""
    return not call.registered and any(entry.call_id == call.call_id for entry in state.register)


def _origins(before: State, old: Call | None, new: Call) -> set[type]:
    """Where a call came from: itself, the call that the entry was, or nothing, being proposed or suspected."""
    known = old or next((call for call in all_calls(before) if call.call_id == new.call_id), None)
    if known is not None:
        return {type(known.state)}
    return {EffectUnknown} if new.registered else {Proposed, Settled}


def closure(places: set[type], moves: list[tuple[type, tuple[type, ...]]]) -> set[type]:
    """Everything that can be reached from some places by some moves, each used as often as wanted."""
    reached = set(places)
    for _ in moves:
        reached.update(target for source, targets in moves if source in reached for target in targets)
    return reached


def named(kinds: Iterable[type]) -> str:
    return ", ".join(sorted(kind.__name__ for kind in kinds))


CALL_EVENTS = tuple(event for event in EVENTS if any(row.event is event for row in TABLES.call))
"""The events that the table of the call machine knows; the pseudo-events happen inside of a reduction."""
