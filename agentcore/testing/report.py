"""What an exploration found: how much was seen, what was reached, what broke, and how to get there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from agentcore.events import Event
from agentcore.limits import BOUNDS
from agentcore.messages import Outcome
from agentcore.policy import Config
from agentcore.rejections import RejectionCode
from agentcore.states import CALL_STATES, PHASES, StopReason
from agentcore.table import TABLES
from agentcore.testing.reached import KINDS


@attrs.frozen
class Step:
    """One step of a way: an event, a deed that nobody is told of, or a crash."""

    event: Event | None = None
    """What the session was told."""
    acts: tuple[str, int, int] | None = None
    """The attempt that acted: call, epoch, number."""
    keeps: int | None = None
    """With a crash: how many events of the journal survived; ``event`` is the resume."""


@attrs.frozen
class Broken:
    """One broken law, with the shortest way there."""

    law: str
    """Its name."""
    problem: str
    """What is wrong."""
    way: tuple[Step, ...]
    """From the start of the session to the event that breaks it."""


@attrs.frozen
class Report:
    """What one exploration found."""

    name: str
    """The exploration."""
    places: int
    """Situations that were told apart: state, world, what is left of the options, what monitors remember."""
    states: int
    """States that were told apart."""
    transitions: int
    """Events that were given to ``reduce`` and judged by laws, accepted or not."""
    seconds: float
    """Processor time."""
    capped: bool
    """The search was ended by its cap before everything was seen."""
    broken: tuple[Broken, ...]
    """Broken laws, each once, by the shortest way."""
    reached: Mapping[str, frozenset[str]]
    """What was reached, by kind."""
    config: Config
    """What the session was run under; with a way it makes a scenario."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values; the ways are left to scenario files."""
        return {
            "name": self.name,
            "places": self.places,
            "states": self.states,
            "transitions": self.transitions,
            "seconds": round(self.seconds, 2),
            "capped": self.capped,
            "broken": [{"law": each.law, "problem": each.problem, "steps": len(each.way)} for each in self.broken],
            "reached": {kind: sorted(names) for kind, names in self.reached.items()},
        }


def everything() -> Mapping[str, frozenset[str]]:
    """Return all that there is to be reached, by kind."""
    return {
        "rows": frozenset(row.name for row in (*TABLES.turn, *TABLES.call)),
        "rejection codes": frozenset(code.value for code in RejectionCode) - {RejectionCode.CORE_DEFECT.value},
        "phases": frozenset(kind.__name__ for kind in PHASES),
        "call states": frozenset(kind.__name__ for kind in CALL_STATES),
        "outcomes": frozenset(kind.__name__ for kind in Outcome.__args__),
        "stop reasons": frozenset(reason.value for reason in StopReason),
        "limits tripped": frozenset(bound.name for bound in BOUNDS),
    }


def unreached(reports: Iterable[Report]) -> dict[str, list[str]]:
    """Return what none of the reports reached, by kind; a kind of which all was reached is left out."""
    found: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for report in reports:
        for kind, names in report.reached.items():
            found[kind] |= names
    missing = {kind: sorted(names - found[kind]) for kind, names in everything().items()}
    return {kind: names for kind, names in missing.items() if names}
