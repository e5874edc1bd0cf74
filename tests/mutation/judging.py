"""Who kills a mutant: a law at a passage that a walk went through, else a case or an example of the core's tests.

Passages are collected once, with the rows that were taken in each; a mutant of a row is judged at passages through that
row. For what laws let pass, the tests that took the row are run again with the mutant in the place of the tables.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import evolve

from agentcore.events import Event
from agentcore.outstanding import outstanding
from agentcore.reduce import Reducer, make_reduce, reduce
from agentcore.states import State
from agentcore.table import Row
from agentcore.testing.core import Core
from agentcore.testing.laws import LAWS, defect
from agentcore.testing.passage import Passage
from agentcore.testing.strategies import Walk, roll_config, seeded
from agentcore.testing.watch import broken, unsound
from tests.mutation.refusals import wrongly_refused
from tests.mutation.rows import Mutant

Met = tuple[State, Event, bool]
"""An event with the state it met, and whether the very same was accepted before."""

REDUCING = sys.modules["agentcore.reduce"]
"""The module; the package has its function under the same name."""
KEPT = 6
"""Passages that are kept of each row, of events that are new and of events that are told again."""
STATE_LAWS = {name: LAWS[name] for name in ("L5", "L18", "L19", "L21")}


def collected(walks: int, steps: int) -> tuple[dict[Row, list[Met]], list[Met]]:
    """Passages through each row, and some of everything, from walks of many seeds."""
    through: dict[Row, list[Met]] = defaultdict(list)
    some: list[Met] = []
    for seed in range(walks):
        dice = seeded(seed)
        walk = Walk(roll_config(dice), dice)
        for number in range(steps):
            happening = walk.next()
            walk.world = happening.world
            if happening.event is None:
                continue
            before = walk.states[min(happening.keeps, len(walk.states) - 1)]
            met = before, happening.event, is_repeated(happening.event, walk.journal[: happening.keeps])
            for row in reduce.examine(before, happening.event).rows:
                if sum(kept[2] is met[2] for kept in through[row]) < KEPT:
                    through[row].append(met)
            if number % 40 == 7:
                some.append(met)
            walk.take(happening, reduce)
    some.extend(met for kept in through.values() for met in kept[::3])
    return through, some


def is_repeated(event: Event, journal: list[Event]) -> bool:
    """Say whether an event was accepted before, stamped then or now."""
    stamped = evolve(event, at=0)
    return any(type(told) is type(event) and evolve(told, at=0) == stamped for told in journal)


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
    for before, event, repeated in met:
        judgement = core.examine(before, event)
        passage = Passage(before, event, judgement.reduction, core)
        problem = defect(passage) or broken(passage) or wrongly_refused(passage, repeated=repeated)
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
