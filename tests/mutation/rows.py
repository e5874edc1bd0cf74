"""Every mutant of the tables: one row gone, turned, led astray or given another's step; one kind of command wrong.

1. *Delete*: the row is not listed, so its event is rejected; a move is not made.
2. *Ignore*: what the row accepted or refused is ignored.
3. *Retarget*: the row may lead to one of its declared targets only.
4. *Swap*: the row has the step of another one, of the same event, or of the same source where there is none.
5. *Drop* and *add*: ``outstanding`` lacks one kind of command, or has one more of it under a number nobody minted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
from attrs import evolve

from agentcore.commands import COMMANDS, Command, RecordRejection
from agentcore.outstanding import outstanding
from agentcore.states import CALL_STATES, PHASES, State
from agentcore.steps.verdicts import Advance, TimePassed
from agentcore.table import TABLES, Kind, Row, Tables

ANYWHERE = (*PHASES, *CALL_STATES)


@attrs.frozen
class Mutant:
    """One thing that is wrong."""

    kind: str
    """Which of the five kinds."""
    name: str
    """Unique among the mutants."""
    row: Row | None = None
    """The row that is changed, if it is one."""
    tables: Tables = TABLES
    """The tables with it."""
    outstanding: Callable[[State], tuple[Command, ...]] = outstanding
    """What states wait for with it."""


def mutants() -> Iterator[Mutant]:
    """Every mutant of both tables and of ``outstanding``."""
    for machine in ("turn", "call"):
        rows = getattr(TABLES, machine)
        for place, row in enumerate(rows):
            for kind, detail, changed in _changes(rows, place, row):
                tables = (*rows[:place], *changed, *rows[place + 1 :])
                name = f"{kind} {row.name}{detail} ({machine} {place})"
                yield Mutant(kind, name, row, evolve(TABLES, **{machine: tables}))
    for kind in COMMANDS:
        if kind is not RecordRejection:
            yield Mutant("drop", f"drop {kind.__name__}", outstanding=_without(kind))
            yield Mutant("add", f"add {kind.__name__}", outstanding=_with(kind))


def _changes(rows: tuple[Row, ...], place: int, row: Row) -> Iterator[tuple[str, str, tuple[Row, ...]]]:
    yield "delete", "", ()
    if row.kind is not Kind.MOVE and row.kind is not Kind.IGNORE:
        ignored = Row(row.source, row.event, Kind.IGNORE, None, (), because="a-mutant-ignores-it")
        yield "ignore", "", (ignored,)
    if row.kind in (Kind.STEP, Kind.MOVE) and len(row.to) > 1:
        for target in row.to:
            yield "retarget", f" to {target.__name__}", (evolve(row, to=(target,)),)
    other = _another(rows, place, row)
    if other is not None:
        yield "swap", f" for {other.name}", (evolve(row, step=other.step, to=ANYWHERE),)


def _another(rows: tuple[Row, ...], place: int, row: Row) -> Row | None:
    """The next row whose step could stand in its place: of the same event first, else of the same source."""
    if row.step is None:
        return None
    behind = (*rows[place + 1 :], *rows[:place])
    fitting = [each for each in behind if each.step not in (None, row.step) and each.kind is row.kind]
    alike = [each for each in fitting if each.event is row.event and row.event not in (Advance, TimePassed)]
    near = [each for each in fitting if each.source is row.source]
    return next(iter((*alike, *near)), None)


def _without(kind: type[Command]) -> Callable[[State], tuple[Command, ...]]:
    return lambda state: tuple(command for command in outstanding(state) if not isinstance(command, kind))


def _with(kind: type[Command]) -> Callable[[State], tuple[Command, ...]]:
    def more(state: State) -> tuple[Command, ...]:
        found = outstanding(state)
        first = next((command for command in found if isinstance(command, kind)), None)
        return found if first is None else (*found, evolve(first, attempt=first.attempt + 1))

    return more
