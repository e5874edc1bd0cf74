"""What a row is: a source, an event, a step, and the targets it may choose among.

``row`` is a transition, ``ignore`` a legal event that changes nothing, ``guard_each`` a step that never accepts but
says why, ``move`` a row of the pseudo-event ``Advance``. "From any phase" is a helper that *expands* into rows:
there is no other way to change state (D-11).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import attrs

from agentcore.states import Because
from agentcore.steps.verdicts import Advance, TimePassed


class Kind(StrEnum):
    """What a row can do."""

    STEP = "step"
    IGNORE = "ignore"
    GUARD = "guard"
    MOVE = "move"


Selection = Callable[..., tuple[str, ...]]
"""Which calls an event is offered to after the step of the turn: (state, event) or, for a move, (state)."""


@attrs.frozen
class Row:
    """One line of a table."""

    source: type[Any]
    """The phase or call state it leaves."""
    event: type[Any]
    """The event, or a pseudo-event."""
    kind: Kind
    """What it can do."""
    step: Callable[..., Any] | None
    """The step; ``None`` where the row only ignores, or only offers the event to calls."""
    to: tuple[type[Any], ...]
    """Phases or call states the step may choose among."""
    offers: Selection | None = None
    """Which calls are offered the event afterwards."""
    answered_by_call: bool = False
    """The verdict is that of the one call the event names."""
    because: Because | str = ""
    """Why it is ignored, or the name of a move in the trace."""

    @property
    def name(self) -> str:
        """How the row is called in documents and reports."""
        step = getattr(self.step, "__name__", "")
        what = f" {step}" if step and self.kind is not Kind.IGNORE else ""
        return f"{self.source.__name__} x {self.event.__name__}{what}"


def row(
    source: type[Any],
    event: type[Any],
    step: Callable[..., Any],
    *,
    to: tuple[type[Any], ...],
    offers: Selection | None = None,
) -> tuple[Row, ...]:
    """A transition."""
    return (Row(source, event, Kind.STEP, step, to, offers),)


def ignore(source: type[Any], event: type[Any], *, because: str) -> tuple[Row, ...]:
    """A legal event that changes nothing here."""
    return (Row(source, event, Kind.IGNORE, None, (), because=because),)


def move(
    source: type[Any],
    step: Callable[..., Any],
    *,
    to: tuple[type[Any], ...],
    because: Because,
    offers: Selection | None = None,
) -> tuple[Row, ...]:
    """What ``advance`` does by itself; rows of one source are tried in order."""
    return (Row(source, Advance, Kind.MOVE, step, to, offers, because=because),)


def before(
    sources: tuple[type[Any], ...], step: Callable[..., Any], *, to: tuple[type[Any], ...], because: Because
) -> tuple[Row, ...]:
    """What is looked at before any event is; rows of the pseudo-event ``TimePassed``."""
    return tuple(Row(source, TimePassed, Kind.MOVE, step, to, because=because) for source in sources)


def to_call(sources: tuple[type[Any], ...], *events: type[Any]) -> tuple[Row, ...]:
    """Events that speak of one call: the call machine decides, the phase stays."""
    return tuple(
        Row(source, event, Kind.STEP, None, (source,), named_call, answered_by_call=True)
        for source in sources
        for event in events
    )


def from_each(
    sources: tuple[type[Any], ...],
    event: type[Any],
    step: Callable[..., Any],
    *,
    also: tuple[type[Any], ...] = (),
    offers: Selection | None = None,
) -> tuple[Row, ...]:
    """The same transition from several phases, each of which it may also leave as it is."""
    return tuple(Row(source, event, Kind.STEP, step, (source, *also), offers) for source in sources)


def rows(
    sources: tuple[type[Any], ...],
    event: type[Any],
    step: Callable[..., Any],
    *,
    to: tuple[type[Any], ...],
    offers: Selection | None = None,
) -> tuple[Row, ...]:
    """The same transition from several sources to the same targets."""
    return tuple(Row(source, event, Kind.STEP, step, to, offers) for source in sources)


def guard_each(sources: tuple[type[Any], ...], event: type[Any], step: Callable[..., Any]) -> tuple[Row, ...]:
    """The same guard in several phases."""
    return tuple(Row(source, event, Kind.GUARD, step, ()) for source in sources)


def named_call(_state: Any, event: Any) -> tuple[str, ...]:
    """Return the one call an event names."""
    return (event.call_id,)


def table(*groups: tuple[Row, ...]) -> tuple[Row, ...]:
    """Join rows into one literal table."""
    return tuple(line for group in groups for line in group)


@attrs.frozen
class Tables:
    """Both machines."""

    turn: tuple[Row, ...]
    """Phases x events, and the moves of ``advance``."""
    call: tuple[Row, ...]
    """Call states x events."""
