"""Exhaustive search of everything that can happen within the bounds of an exploration.

A *place* is a state, a world, what is left of the options, what the monitors remember, and, while the process may
still crash, what may survive. Places are visited in the order of their distance from the start, so the first way to
break a law is a shortest one. From each place every move of the world, the users and the workers is made; every law
looks at every one. In each new state the laws about states are checked, and events are tried that must change
nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

import attrs

from agentcore.commands import Command
from agentcore.events import Event
from agentcore.evolve import evolve
from agentcore.outstanding import is_question
from agentcore.reduce import Judgement
from agentcore.states import ENDS, Idle, State
from agentcore.testing.acts import acts, resumes, workers
from agentcore.testing.core import CORE, Core
from agentcore.testing.laws import LAWS, Graph, Law, defect
from agentcore.testing.laws.totality import is_said_again
from agentcore.testing.moves import Move, Scene, Source, answers
from agentcore.testing.normalise import Normaliser, is_timed
from agentcore.testing.passage import Passage
from agentcore.testing.probes import foreign_events, late_events, own_events
from agentcore.testing.reached import Reached
from agentcore.testing.report import Broken, Report, Step
from agentcore.testing.script import Exploration
from agentcore.testing.world import World

CAP = 400_000
"""Places after which a search is given up, unless told otherwise."""


@attrs.frozen
class Journal:
    """The accepted events that survived so far, newest first."""

    event: Event
    """The newest."""
    before: Journal | None
    """The others."""

    def __iter__(self) -> Iterator[Event]:
        entry: Journal | None = self
        while entry is not None:
            yield entry.event
            entry = entry.before


@attrs.frozen
class Kept:
    """A prefix of the journal that a crash may leave."""

    state: State
    """What folding it gives."""
    key: int
    """The key of that state."""
    values: tuple[Any, ...]
    """What the monitors of the journal remembered there."""
    journal: Journal | None
    """Its events."""
    resumed: dict[tuple[int, tuple[str, ...]], Passage] = attrs.field(factory=dict, eq=False)
    """How it was taken up, by the time and the options: the same from every place that may still lose so much."""


@attrs.frozen
class Place:
    """A situation that has to be looked at."""

    number: int
    """Position in the order of discovery."""
    state: State
    """What the session holds."""
    outstanding: tuple[Command, ...]
    """What it waits for."""
    world: World
    """What is true."""
    left: Mapping[str, int]
    """What is left of the options."""
    values: tuple[Any, ...]
    """What each monitor remembers."""
    kept: tuple[Kept, ...]
    """What may survive a crash, the present state last; empty once no crash may come."""
    journal: Journal | None
    """What has been accepted."""


class Memory:
    """What searches in one process share: keys of parts, and the states whose laws were checked already."""

    def __init__(self) -> None:
        self._normalisers = {timed: Normaliser(timed=timed) for timed in (False, True)}
        self._checked: set[tuple[tuple[str, ...], int]] = set()

    def normaliser(self, script: Exploration) -> Normaliser:
        """Return the one that suits an exploration."""
        return self._normalisers[is_timed(script.config)]

    def is_new(self, laws: tuple[str, ...], key: int) -> bool:
        """Say whether a state has not been checked for these laws, and note that it is now."""
        new = (laws, key) not in self._checked
        self._checked.add((laws, key))
        return new


class Search:
    """One exploration while it runs."""

    def __init__(
        self,
        script: Exploration,
        core: Core = CORE,
        laws: Mapping[str, Law] = LAWS,
        *,
        merge: bool = True,
        cap: int = CAP,
        memory: Memory | None = None,
    ) -> None:
        self.script, self.core, self.laws, self.merge, self.cap = script, core, laws, merge, cap
        self.memory = memory or Memory()
        self.keys = self.memory.normaliser(script)
        self.reached = Reached()
        self.broken: dict[str, Broken] = {}
        self.transitions = 0
        self._transition_laws = [(law.name, law.transition) for law in laws.values() if law.transition is not None]
        refusing = {law.name for law in laws.values() if law.refusals}
        self._refusal_laws = [(name, check) for name, check in self._transition_laws if name in refusing]
        self._monitors = [(law.name, law.monitor) for law in laws.values() if law.monitor is not None]
        self._world_laws = [(law.name, law.world) for law in laws.values() if law.world is not None]
        self._state_laws = [(law.name, law.state) for law in laws.values() if law.state is not None]
        self._numbers: dict[Any, int] = {}
        self._states: set[int] = set()
        self._ways: list[tuple[int, Step]] = []
        self._graph = Graph([], [], [])
        self._waiting: deque[Place] = deque()

    def run(self, progress: Callable[[int, int], None] | None = None) -> Report:
        """Search until all was seen, a law is broken, or the cap is reached; tell ``progress(places, waiting)``."""
        began = time.process_time()
        self._begin()
        while self._waiting and len(self._ways) < self.cap:
            place = self._waiting.popleft()
            self._visit(place)
            if self.broken:
                break
            if progress is not None and place.number % 1000 == 0:
                progress(len(self._ways), len(self._waiting))
        capped = bool(self._waiting) and not self.broken
        if not capped and not self.broken:
            self._check_graph()
        return Report(
            self.script.name,
            len(self._ways),
            len(self._states),
            self.transitions,
            time.process_time() - began,
            capped,
            tuple(self.broken.values()),
            self.reached.names(),
            self.script.config,
        )

    def _begin(self) -> None:
        state = self.core.start("s", self.script.config, 0).state
        values = tuple(monitor.start for _, monitor in self._monitors)
        key = self.keys.key(state, 0)
        left = dict(self.script.budget)
        kept = (Kept(state, key, values, None),) if left.get("crash") else ()
        self._arrive(-1, Step(), Place(0, state, self.core.outstanding(state), World(), left, values, kept, None), key)

    def _arrive(self, origin: int, step: Step, place: Place, key: int) -> int:
        """Note a place, if it is a new one, and return its number."""
        mark = self._mark(place, key)
        number = self._numbers.get(mark)
        if number is not None:
            return number
        number = len(self._ways)
        self._numbers[mark] = number
        self._ways.append((origin, step))
        self._graph.ends.append(isinstance(place.state.phase, (Idle, *ENDS)))
        self._graph.asks.append(any(is_question(command) for command in place.outstanding))
        self._graph.edges.append([])
        self._states.add(key)
        self._waiting.append(evolve(place, number=number))
        return number

    def _mark(self, place: Place, key: int) -> Any:
        """Return what tells a place from others; without merging, everything that led there."""
        if not self.merge:
            return len(self._ways)
        state = place.state
        shadows = tuple(
            monitor.shadow(value, state) for (_, monitor), value in zip(self._monitors, place.values, strict=True)
        )
        kept = tuple(sorted({self._kept_mark(each, place.world) for each in place.kept}))
        return hash((key, self.keys.world_key(place.world, state), shadows, kept, tuple(place.left.values())))

    def _kept_mark(self, kept: Kept, world: World) -> int:
        """Return a number for what may survive; how long ago it was matters only where time does."""
        shadows = tuple(
            monitor.shadow(value, kept.state)
            for (_, monitor), value in zip(self._monitors, kept.values, strict=True)
            if not monitor.of_world
        )
        age = world.now - kept.state.at if self.keys.timed else 0
        return hash((kept.key, shadows, age))

    def _visit(self, place: Place) -> None:
        """Make every move from a place, and check what has to hold in its state."""
        key = self.keys.key(place.state, place.world.now)
        if self.memory.is_new(tuple(self.laws), key):
            self._check_state(place)
        scene = Scene(place.state, place.world, self.script, place.left, place.outstanding)
        for move in self._moves(scene):
            self._make(place, move)
        if place.left.get("crash") and place.state.seq:
            self._crash(place, scene)

    @staticmethod
    def _moves(scene: Scene) -> Iterator[Move]:
        yield from answers(scene)
        yield from workers(scene)
        yield from acts(scene)

    def _make(self, place: Place, move: Move) -> None:
        """Make one move and arrive where it leads."""
        if move.event is None:
            self._let_act(place, move)
            return
        passage, judgement = self._pass(place.state, move.event, place.outstanding)
        step = Step(move.event)
        world = move.world.after(passage)
        if not self._judge(place, step, passage, judgement, world):
            return
        if passage.after is place.state and world == place.world:
            return
        left = _spent(place.left, move.costs) if passage.verdict == "accepted" else place.left
        self._go(place, step, move.source, passage, world=world, left=left)

    def _pass(self, before: State, event: Event, outstanding: tuple[Command, ...] | None) -> tuple[Passage, Judgement]:
        self.transitions += 1
        judgement = self.core.examine(before, event)
        return Passage(before, event, judgement.reduction, self.core, outstanding), judgement

    def _go(
        self, place: Place, step: Step, source: Source, passage: Passage, *, world: World, left: Mapping[str, int]
    ) -> None:
        """Arrive behind an event that was accepted, or that at least changed the world."""
        values, journal, kept, state = place.values, place.journal, place.kept, passage.after
        key = self.keys.key(state, world.now)
        if passage.verdict == "accepted":
            stepped = self._remember(place, step, passage, values)
            if stepped is None:
                return
            values, journal = stepped, Journal(passage.event, journal)
            kept = self._surviving(kept, Kept(state, key, values, journal), world) if left.get("crash") else ()
        there = Place(0, state, passage.outstanding_after, world, left, values, kept, journal)
        number = self._arrive(place.number, step, there, key)
        self._graph.edges[place.number].append((number, source))

    @staticmethod
    def _surviving(kept: tuple[Kept, ...], newest: Kept, world: World) -> tuple[Kept, ...]:
        """Drop the prefixes that a crash can no longer leave, because more than they hold is durable."""
        return (*(each for each in kept if each.state.seq >= world.durable), newest)

    def _remember(self, place: Place, step: Step, passage: Passage, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Let each monitor see an accepted event; ``None`` if one of them objects."""
        after = []
        for (name, monitor), value in zip(self._monitors, values, strict=True):
            new, problem = monitor.step(value, passage)
            if problem:
                self._break(name, problem, place.number, step)
                return None
            after.append(new)
        return tuple(after)

    def _let_act(self, place: Place, move: Move) -> None:
        """Let a worker act that nobody waits for: the session is told nothing."""
        assert move.acts is not None
        step = Step(acts=(move.acts.call_id, move.acts.epoch, move.acts.attempt))
        if self._object_to_world(place, step, move.world, None):
            return
        key = self.keys.key(place.state, move.world.now)
        number = self._arrive(place.number, step, evolve(place, world=move.world), key)
        self._graph.edges[place.number].append((number, move.source))

    def _crash(self, place: Place, scene: Scene) -> None:
        """Let the process die with each prefix that may survive, and be taken up again."""
        tried = set()
        for kept in place.kept:
            if kept.key in tried:
                continue
            tried.add(kept.key)
            for event, options in resumes(scene, kept.state):
                step = Step(event, keeps=kept.state.seq)
                passage = self._take_up(place, kept, step, options)
                if passage is None:
                    return
                world = scene.world.after(passage)
                if self._object_to_world(place, step, world, passage):
                    return
                values = tuple(
                    now if monitor.of_world else then
                    for (_, monitor), now, then in zip(self._monitors, place.values, kept.values, strict=True)
                )
                left = place.left
                for option in options:
                    left = _spent(left, option)
                resumed = evolve(place, values=values, journal=kept.journal, kept=())
                self._go(resumed, step, Source.CRASH, passage, world=world, left=left)

    def _take_up(self, place: Place, kept: Kept, step: Step, options: tuple[str, ...]) -> Passage | None:
        """Resume from what survived; ``None`` if a law objects. The first time stands for all that are the same."""
        assert step.event is not None
        known = kept.resumed.get((step.event.at, options))
        if known is not None:
            self.transitions += 1
            return known
        passage, judgement = self._pass(kept.state, step.event, None)
        if not self._judge(place, step, passage, judgement, None):
            return None
        kept.resumed[step.event.at, options] = passage
        return passage

    def _judge(
        self, place: Place, step: Step | Event, passage: Passage, judgement: Judgement, world: World | None
    ) -> bool:
        """Let every law look at an event; say whether none objects."""
        self.reached.note(passage, judgement)
        if problem := defect(passage):
            self._break(next(iter(self.laws)), problem, place.number, step)
            return False
        for name, check in self._transition_laws if passage.after is not passage.before else self._refusal_laws:
            if problem := check(passage):
                self._break(name, problem, place.number, step)
                return False
        return world is None or not self._object_to_world(place, step, world, passage)

    def _object_to_world(self, place: Place, step: Step | Event, world: World, passage: Passage | None) -> bool:
        for name, check in self._world_laws:
            if problem := check(world, passage):
                self._break(name, problem, place.number, step)
                return True
        return False

    def _check_state(self, place: Place) -> None:
        """Check what has to hold once in each distinct state, and try what must change nothing there."""
        state = place.state
        for name, check in self._state_laws:
            if problem := check(state, self.core):
                self._break(name, problem, place.number, None)
                return
        for event in place.journal or ():
            self._probe(place, event, repeated=True)
        for event in chain(late_events(state, place.outstanding), foreign_events(state), own_events(state)):
            self._probe(place, event, repeated=False)

    def _probe(self, place: Place, event: Event, *, repeated: bool) -> None:
        """Try an event that nobody honest would send; the world knows nothing of it, so the laws of one event look."""
        passage, judgement = self._pass(place.state, event, place.outstanding)
        if not self._judge(place, event, passage, judgement, None):
            return
        if repeated and "L2" in self.laws and (problem := is_said_again(passage)):
            self._break("L2", problem, place.number, event)

    def _check_graph(self) -> None:
        for law in self.laws.values():
            found = law.graph(self._graph) if law.graph is not None else None
            if found is not None:
                self._break(law.name, found[1], found[0], None)

    def _break(self, law: str, problem: str, place: int, step: Step | Event | None) -> None:
        if law not in self.broken:
            step = step if step is None or isinstance(step, Step) else Step(step)
            way = (*self.way(place), *((step,) if step is not None else ()))
            self.broken[law] = Broken(law, problem, way)

    def way(self, place: int) -> tuple[Step, ...]:
        """Return the steps from the start to a place."""
        steps: list[Step] = []
        while place > 0:
            place, step = self._ways[place]
            steps.append(step)
        return tuple(reversed(steps))


def _spent(left: Mapping[str, int], option: str) -> Mapping[str, int]:
    """Return what is left of the options after one of them."""
    return {**left, option: left[option] - 1} if option else left
