"""Exhaustive search of a protocol, breadth first, so the first way to break a law is a shortest one.

A *place* is a normalised state with what the laws remember there. A way ends where it breaks a law: what lies behind
is looked at once that is mended. So a loop that accepts what it should not is not followed into all that comes of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

import attrs

from agentcore.testing.protocol.judging import RETURNS, UNTOUCHED, Judge, take
from agentcore.testing.protocol.liveness import liveness_laws
from agentcore.testing.protocol.report import Counterexample, Findings
from agentcore.testing.protocol.shape import Edge, Found, LoopProtocol, StateGraph, Transition


@attrs.frozen
class Bounds:
    """Where a search is given up. The report says so; nothing is claimed about what was not seen."""

    states: int = 20_000
    """Places that are told apart."""
    depth: int | None = None
    """Events on one way."""
    seconds: float | None = None
    """Time by the clock that is handed in."""


def explore_protocol(
    protocol: LoopProtocol, bounds: Bounds | None = None, *, clock: Callable[[], float] | None = None
) -> Findings:
    """Search everything that can happen, to the end or to a bound.

    ``clock`` gives seconds from any origin. ``ValueError`` if there is a bound of time and no clock.
    """
    bounds = bounds or Bounds()
    if bounds.seconds is not None and clock is None:
        raise ValueError("a bound of seconds needs a clock, for example time.monotonic")
    return _Search(protocol, bounds, clock or (lambda: 0.0)).run()


class _Search:
    """One search while it runs."""

    def __init__(self, protocol: LoopProtocol, bounds: Bounds, clock: Callable[[], float]) -> None:
        self._protocol, self._bounds, self._clock = protocol, bounds, clock
        self._laws = (RETURNS, UNTOUCHED, *protocol.laws, *liveness_laws(protocol))
        self._judge = Judge(self._laws)
        self._numbers: dict[Hashable, int] = {}
        self._states: list[Any] = []
        self._keys: list[Hashable] = []
        self._memories: list[tuple[Any, ...]] = []
        self._ways: list[tuple[int, Transition | None]] = []
        self._depths: list[int] = []
        self._edges: list[list[Edge]] = []
        self._unseen: list[bool] = []
        self._waiting: deque[int] = deque()
        self._broken: dict[str, Counterexample] = {}
        self._transitions = 0

    def run(self) -> Findings:
        began = self._clock()
        self._arrive(
            -1, None, self._protocol.initial, self._protocol.normalise(self._protocol.initial), self._judge.start
        )
        capped = self._look(began)
        graph = self._graph()
        for law in self._laws:
            if law.graph is not None and (found := law.graph(graph)) is not None:
                self._note_found(law.name, found)
        judged_whole = [law.name for law in self._laws if law.graph is not None and law.name not in self._broken]
        partly = bool(capped) or any(self._unseen)
        return Findings(
            protocol=self._protocol,
            laws=tuple(law.name for law in self._laws),
            states=len(self._states),
            transitions=self._transitions,
            depth=max(self._depths),
            seconds=self._clock() - began,
            capped=capped,
            broken=tuple(self._broken[law.name] for law in self._laws if law.name in self._broken),
            undecided=tuple(judged_whole) if partly else (),
            graph=graph,
        )

    def _look(self, began: float) -> str:
        """Look at one place after the other; return the bound that ended it, or nothing."""
        bounds, capped = self._bounds, ""
        while self._waiting:
            if bounds.seconds is not None and self._clock() - began > bounds.seconds:
                return "seconds"
            if len(self._states) > bounds.states:
                return "states"
            place = self._waiting.popleft()
            if bounds.depth is not None and self._depths[place] >= bounds.depth:
                capped = "depth"
                continue
            self._unseen[place] = False
            self._leave(place)
        return capped

    def _leave(self, place: int) -> None:
        """Let everything happen that can happen at a place."""
        state, key, memories = self._states[place], self._keys[place], self._memories[place]
        for event in self._protocol.enabled(state):
            self._transitions += 1
            transition, after, problem = take(self._protocol, state, event, key)
            told, problems = self._judge.transition(memories, transition)
            if problem is not None:
                problems = [problem]
            for law, words in problems:
                self._note(law, words, place, transition)
            target = None if problems else self._arrive(place, transition, transition.after, after, told)
            if target is None:
                self._unseen[place] = True
                continue
            progress = self._protocol.progress
            self._edges[place].append(Edge(target, transition, bool(progress and progress(transition))))

    def _arrive(
        self, origin: int, transition: Transition | None, state: Any, key: Hashable, memories: tuple[Any, ...]
    ) -> int | None:
        """Return the number of a place, noting it if it is new; ``None`` where its state breaks a law."""
        number = self._numbers.get((key, memories))
        if number is not None:
            return number
        problems = self._judge.state(state)
        for law, words in problems:
            self._note(law, words, origin, transition)
        if problems and transition is not None:
            return None
        number = self._numbers[key, memories] = len(self._states)
        self._states.append(state)
        self._keys.append(key)
        self._memories.append(memories)
        self._ways.append((origin, transition))
        self._depths.append(self._depths[origin] + 1 if transition is not None else 0)
        self._edges.append([])
        self._unseen.append(True)
        self._waiting.append(number)
        return number

    def _graph(self) -> StateGraph:
        accepting = self._protocol.accepting
        goals = [accepting is not None and accepting(state) for state in self._states]
        return StateGraph(self._states, goals, self._unseen, self._edges)

    def _note(self, law: str, problem: str, origin: int, last: Transition | None) -> None:
        if law not in self._broken:
            steps = (*self._way(origin), last) if last is not None else ()
            self._broken[law] = Counterexample(law, problem, steps)

    def _note_found(self, law: str, found: Found) -> None:
        circle = []
        for place, target in zip(found.around, (*found.around[1:], *found.around[:1]), strict=True):
            edges = (edge for edge in self._edges[place] if edge.target == target and not edge.progress)
            circle.append(next(edge.transition for edge in edges if target != place or edge.transition.commands))
        self._broken[law] = Counterexample(law, found.problem, self._way(found.place), tuple(circle))

    def _way(self, place: int) -> tuple[Transition, ...]:
        """Return what happened from the start to a place."""
        steps: list[Transition] = []
        while place >= 0:
            place, transition = self._ways[place]
            if transition is not None:
                steps.append(transition)
        return tuple(reversed(steps))
