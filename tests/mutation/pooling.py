"""A pool of passages: an event, the place it met with the way there, and what came of it.

They come from random sessions, from what tests do with the reducer, and from trying everything around a place. All
mutants are off meanwhile, and the functions that are called are noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest
from attrs import evolve

from agentcore.commands import StartTimer
from agentcore.events import EVENTS, Event, SessionResumed
from agentcore.outstanding import outstanding
from agentcore.reduce import Judgement, Reducer, reduce, start
from agentcore.states import State
from agentcore.table import TABLES
from agentcore.testing.report import Step
from agentcore.testing.scenario import Scenario
from agentcore.testing.strategies import Walk, roll_config, seeded
from agentcore.testing.strategies.aims import Aim
from agentcore.testing.strategies.contents import roll_event
from agentcore.testing.strategies.session import Session
from agentcore.testing.strategies.walk import SESSION_ID
from agentcore.testing.world import DEAD_MS
from tests.mutation.mutated import Function, calling

__all__ = ["SESSION_ID", "Met", "Node", "around", "from_tests", "from_walks", "scenario_of"]


@attrs.frozen(eq=False)
class Node:
    """A place that a session came to, and how."""

    state: State
    parent: Node | None = None
    event: Event | None = None
    keeps: int | None = None
    """With a crash before it: how many events of the journal survived."""
    depth: int = 0

    def then(self, state: State, event: Event, keeps: int | None = None) -> Node:
        """Return the place behind an event."""
        return Node(state, self, event, keeps, self.depth + 1)

    def way(self) -> list[Node]:
        """Return the places behind each event, from the first one on."""
        nodes: list[Node] = []
        node: Node = self
        while node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    @property
    def origin(self) -> State:
        """The state that ``start`` gave."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node.state


@attrs.frozen(eq=False)
class Met:
    """One passage."""

    at: Node
    event: Event
    judged: Judgement
    called: frozenset[Function]
    keeps: int | None = None

    @property
    def cost(self) -> int:
        """How many events it takes."""
        return self.at.depth + 1


def _judged(node: Node, event: Event, keeps: int | None = None) -> Met:
    with calling() as called:
        judgement = reduce.examine(node.state, event)
    return Met(node, event, judgement, frozenset(called), keeps)


def scenario_of(met: Met, title: str) -> Scenario:
    """Return the way to a passage, told briefly, and the passage, told whole."""
    origin = met.at.origin
    steps = (Step(node.event, keeps=node.keeps) for node in met.at.way())
    last = Step(met.event, keeps=met.keeps)
    return Scenario(origin.session_id, origin.at, origin.config, (f"# {title}", "briefly", *steps, "whole", last))


def from_walks(seeds: range, length: int) -> Iterator[Met]:
    """Yield passages of random sessions."""
    for seed in seeds:
        dice = seeded(seed)
        walk = Walk(roll_config(dice), dice)
        nodes = [Node(walk.states[0])]
        for _ in range(length):
            happening = walk.next()
            if happening.event is None:
                walk.world = happening.world
                continue
            del nodes[happening.keeps + 1 :]
            crashed = isinstance(happening.event, SessionResumed)
            met = _judged(nodes[-1], happening.event, happening.keeps if crashed else None)
            yield met
            walk.take(happening, reduce)
            if walk.state is not nodes[-1].state:
                nodes.append(nodes[-1].then(walk.state, happening.event, met.keeps))


def around(node: Node, seed: int) -> Iterator[Met]:
    """Yield passages from one place: every kind of event, aimed at everything, now and when something is due."""
    dice, state = seeded(seed), node.state
    journal = [each.event for each in node.way() if each.event is not None]
    due = sorted({command.due_at for command in outstanding(state) if isinstance(command, StartTimer)})
    for kind in EVENTS:
        for aim in Aim if kind is not SessionResumed else (Aim.OWN,):
            event = roll_event(kind, Session(state, journal), dice, aim=aim)
            at = state.at + dice.pick((0, 1, DEAD_MS)) if kind is SessionResumed else max(event.at, state.at)
            yield _judged(node, evolve(event, at=at))
        for at in due[:3]:
            event = roll_event(kind, Session(state, journal), dice, aim=Aim.OWN)
            yield _judged(node, evolve(event, at=max(at - dice.below(2), state.at)))


class _Recorder:
    """Notes every passage of sessions that tests begin, and the places they come to."""

    def __init__(self) -> None:
        self.met: list[Met] = []
        self._nodes: dict[int, Node] = {}
        self._seen: set[tuple[int, Event]] = set()

    def note(self, examine: Callable[..., Judgement], reducer: Reducer, state: State, event: Event) -> Judgement:
        """Judge an event as usual."""
        node = self._nodes.get(id(state))
        if node is None and state == start(state.session_id, state.config, state.at).state:
            node = self._nodes[id(state)] = Node(state)
        if node is None or reducer.tables is not TABLES:
            return examine(reducer, state, event)
        with calling() as called:
            judgement = examine(reducer, state, event)
        after = judgement.reduction.state
        if after is not state and id(after) not in self._nodes:
            self._nodes[id(after)] = node.then(after, event)
        if (id(state), event) not in self._seen:
            self._seen.add((id(state), event))
            self.met.append(Met(node, event, judgement, frozenset(called)))
        return judgement


@contextmanager
def _recording() -> Iterator[_Recorder]:
    recorder, examine = _Recorder(), Reducer.examine

    def noted(self: Reducer, state: State, event: Any) -> Judgement:
        return recorder.note(examine, self, state, event)

    Reducer.examine = noted
    try:
        yield recorder
    finally:
        Reducer.examine = examine


def from_tests(*chosen: str) -> list[Met]:
    """Run tests, and return every passage of the sessions they drive."""
    with _recording() as recorder:
        # What pytest would rewrite is imported already; that is no fault here.
        options = ("-q", "--no-header", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
        pytest.main([*options, *chosen])
    return recorder.met
