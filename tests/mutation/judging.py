"""Who kills a mutant: a law at a passage of a walk, of the matrix or of a probe, else a case or an example.

Passages are collected once, with the rows that were taken in each; a mutant of a row is judged at passages through that
row. For what laws let pass, the tests that took the row are run again with the mutant in the place of the tables.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

from agentcore.events import EVENTS, Event
from agentcore.outstanding import outstanding
from agentcore.reduce import Judgement, Reducer, make_reduce, reduce
from agentcore.states import State
from agentcore.table import Row
from agentcore.testing.core import Core
from agentcore.testing.explorations import shipped
from agentcore.testing.laws import LAWS
from agentcore.testing.matrix import RELATIONS, related
from agentcore.testing.passage import Passage, all_calls
from agentcore.testing.probes import foreign_events, late_events, own_events
from agentcore.testing.search import Search
from agentcore.testing.situations import call_states, phases
from agentcore.testing.strategies import Walk, roll_config, seeded
from agentcore.testing.watch import broken, unsound
from tests.mutation.rows import Mutant
from tests.mutation.straining import strained

Met = tuple[State, Event]
"""An event with the state it met."""

REDUCING = sys.modules["agentcore.reduce"]
"""The module; the package has its function under the same name."""
KEPT = 3
"""Passages that are kept of each row and each thing that came of them."""
PROBED = 25
"""At every so many-th event of a walk it is tried what the explorer tries in each state."""
STRAINED = 50
"""At every so many-th it is tried what walks seldom reach."""
STATE_LAWS = {name: LAWS[name] for name in ("L5", "L17", "L18", "L19", "L21")}


class Through:
    """Passages by the rows that were taken in them; of those with the same outcome only a few."""

    def __init__(self) -> None:
        self.of: dict[Row, list[Met]] = defaultdict(list)
        self._count: Counter[tuple[Row, object]] = Counter()

    def note(self, state: State, event: Event) -> None:
        """Judge an event, and keep it for the rows that it took; what a law objects to anyway tells nothing."""
        judged = reduce.examine(state, event)
        after = judged.reduction.state
        calls = frozenset(type(call.state) for call in all_calls(after))
        outcome = type(event), judged.reason, type(after.phase), calls if after is not state else None
        rows = [row for row in judged.rows if self._count[row, outcome] < KEPT]
        if rows and broken(Passage(state, event, judged.reduction)) is None:
            for row in rows:
                self._count[row, outcome] += 1
                self.of[row].append((state, event))


def collected(walks: int, steps: int) -> tuple[dict[Row, list[Met]], list[Met]]:
    """Passages through each row, and some of everything: of the matrix, of explorations, of walks and beside them."""
    through = Through()
    some: list[Met] = []
    for situation in (*phases(), *call_states()):
        for kind, relation in product(EVENTS, RELATIONS):
            event = related(situation, kind, relation)
            if event is not None:
                through.note(situation.state, event)
    _explore(through)
    for seed in range(walks):
        dice = seeded(seed)
        walk = Walk(roll_config(dice), dice)
        for number in range(steps):
            happening = walk.next()
            walk.world = happening.world
            if happening.event is None:
                continue
            before = walk.states[min(happening.keeps, len(walk.states) - 1)]
            through.note(before, happening.event)
            if number % 40 == 7:
                some.append((before, happening.event))
            if number % PROBED == seed % PROBED:
                for event in (*probes(before), *walk.journal[: happening.keeps]):
                    through.note(before, event)
            if number % STRAINED == seed % STRAINED:
                for state, event in strained(before):
                    through.note(state, event)
            walk.take(happening, reduce)
    some.extend(met for kept in through.of.values() for met in kept[::3])
    return through.of, some


EXPLORED = ("blocking-reviewed", "required-given-up")
"""Explorations of what walks hardly ever reach: an end that waits for tasks."""


def _explore(through: Through) -> None:
    """Note every passage of some explorations."""

    def examine(state: State, event: Event) -> Judgement:
        through.note(state, event)
        return reduce.examine(state, event)

    for exploration in shipped():
        if exploration.name in EXPLORED:
            Search(exploration, Core(examine=examine), laws={}).run()


def probes(state: State) -> tuple[Event, ...]:
    """What the explorer tries in a state besides what was told before."""
    return (*late_events(state, outstanding(state)), *foreign_events(state), *own_events(state))


def core_of(mutant: Mutant) -> Core:
    """The functions with a mutant among them; what is ordered follows from what the mutant waits for."""
    reducer = make_reduce(mutant.tables)
    if mutant.outstanding is outstanding:
        return Core(examine=reducer.examine)

    def examine(state: State, event: Event):
        with installed(mutant):
            return reducer.examine(state, event)

    return Core(examine=examine, outstanding=mutant.outstanding)


def killed_by_law(mutant: Mutant, met: list[Met]) -> str:
    """The name of the first law that objects at one of the passages; empty if none does."""
    core = core_of(mutant)
    for before, event in met:
        judgement = core.examine(before, event)
        passage = Passage(before, event, judgement.reduction, core)
        problem = broken(passage)
        if problem is None and passage.after is not before:
            problem = unsound(passage.after, STATE_LAWS, core)
        if problem:
            return problem.partition(":")[0]
    return ""


@contextmanager
def installed(mutant: Mutant) -> Iterator[None]:
    """Put a mutant in the place of the tables and of what states wait for, everywhere in this process."""
    kept = reduce.tables, reduce._lookup, REDUCING.outstanding
    reduce.tables, reduce._lookup = mutant.tables, Reducer(mutant.tables)._lookup
    REDUCING.outstanding = mutant.outstanding
    try:
        yield
    finally:
        reduce.tables, reduce._lookup, REDUCING.outstanding = kept


@contextmanager
def noting(taken: set[Row]) -> Iterator[None]:
    """Note which rows are taken in this process."""
    examine = Reducer.examine

    def noted(self, state, event):
        judgement = examine(self, state, event)
        taken.update(judgement.rows)
        return judgement

    Reducer.examine = noted
    try:
        yield
    finally:
        Reducer.examine = examine
