"""How fast the explorer is: ``python -m agentcore.testing.measure [EXPLORATION …]`` prints a line for each.

1. A *transition* is an event that was given to the reducer and judged, accepted or not: every move, every crash, and
   every event that nobody honest would send. How many of them were accepted is said beside it, since those cost most.
2. Speed is transitions by second of processor time of one process, the best of a few runs: once with no law at all,
   once with all of them, those about one event at every event and those about a state once for each state.
3. Bytes are those of everything a search without laws holds at its widest, divided by its states.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Mapping, Sequence

import attrs

from agentcore.events import Event
from agentcore.reduce import Judgement, Verdict
from agentcore.states import State
from agentcore.testing.core import CORE, Core
from agentcore.testing.explorations import shipped
from agentcore.testing.laws import LAWS, Law
from agentcore.testing.report import Report
from agentcore.testing.script import Exploration
from agentcore.testing.search import Search

TWO_CALLS = ("fenceable+writes+reads+resolution", "fenceable+writes+writes+approval")
"""What is measured unless told otherwise: an unsafe call beside a pure one, and two unsafe ones."""


@attrs.frozen
class Measured:
    """What running one exploration costs."""

    name: str
    """The exploration."""
    places: int
    """Situations that were told apart, with all laws."""
    states: int
    """States that were told apart."""
    transitions: int
    """Events that were given to the reducer, with all laws."""
    accepted: int
    """How many of them were accepted, without laws."""
    without_laws: float
    """Transitions by second of processor time, no law being on."""
    with_laws: float
    """The same with all laws on."""
    bytes_per_state: float
    """Memory of a search without laws at its widest, for each of its states."""

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.without_laws:,.0f} transitions/s without laws, {self.with_laws:,.0f} with all; "
            f"{self.states:,} states, {self.places:,} places, {self.transitions:,} transitions "
            f"({self.accepted:,} accepted), {self.bytes_per_state:,.0f} bytes a state"
        )


def measure(exploration: Exploration, *, core: Core = CORE, runs: int = 3) -> Measured:
    """Run an exploration some times without laws and with all; ``ValueError`` if a law breaks."""
    counting = _Counting(core)
    tracemalloc.start()
    try:
        states = Search(exploration, attrs.evolve(core, examine=counting.examine), laws={}).run().states
        widest = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    bare, judged = _fastest(exploration, core, {}, runs), _fastest(exploration, core, LAWS, runs)
    if judged.broken:
        raise ValueError(f"{exploration.name} breaks {judged.broken[0].law}: {judged.broken[0].problem}")
    return Measured(
        exploration.name,
        judged.places,
        judged.states,
        judged.transitions,
        counting.accepted,
        bare.transitions / bare.seconds,
        judged.transitions / judged.seconds,
        widest / states,
    )


class _Counting:
    """Counts what is accepted."""

    def __init__(self, core: Core) -> None:
        self._core, self.accepted = core, 0

    def examine(self, state: State, event: Event) -> Judgement:
        judgement = self._core.examine(state, event)
        self.accepted += judgement.verdict is Verdict.ACCEPTED
        return judgement


def _fastest(exploration: Exploration, core: Core, laws: Mapping[str, Law], runs: int) -> Report:
    reports = (Search(exploration, core, laws).run() for _ in range(runs))
    return min(reports, key=lambda report: report.seconds)


def main(names: Sequence[str]) -> None:
    """Measure the named explorations, or those of two calls, and print a line for each."""
    known = {exploration.name: exploration for exploration in shipped()}
    for name in names or TWO_CALLS:
        sys.stdout.write(f"{measure(known[name])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
