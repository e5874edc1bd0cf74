"""An exploration of this core as a protocol like any other, so that the general search can look at it too.

The search of our own knows crashes, probes and what is checked once for a state; it is what holds the core to its laws.
This is what it can be measured against, and what draws an exploration: ``to_mermaid(explore_protocol(…))``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentcore.states import ENDS, Idle, State
from agentcore.testing.acts import acts, workers
from agentcore.testing.core import CORE, Core
from agentcore.testing.laws import LAWS, Law, defect
from agentcore.testing.moves import Move, Scene, answers
from agentcore.testing.normalise import Normaliser, is_timed
from agentcore.testing.notation import fields_of
from agentcore.testing.passage import Passage
from agentcore.testing.protocol import LoopProtocol, Monitor, ProtocolLaw, Transition
from agentcore.testing.script import Exploration
from agentcore.testing.world import World

DEFECT = "core-defect"
"""The law that no step breaks its promise."""


@attrs.frozen(eq=False)
class Situation:
    """A session and the world around it."""

    state: State
    """What the session holds."""
    world: World
    """What is true."""
    left: Mapping[str, int]
    """What may still happen of the options."""
    passage: Passage | None = None
    """What led here; nothing where the session was told nothing."""


@attrs.frozen
class Held:
    """What a monitor remembers; two memories are one where what can still matter of them is the same."""

    value: Any = attrs.field(eq=False)
    """All of it."""
    shadow: Hashable
    """What can still matter."""


def core_protocol(exploration: Exploration, core: Core = CORE, laws: Mapping[str, Law] = LAWS) -> LoopProtocol:
    """Return an exploration as a protocol: everything but crashes, which a state alone cannot tell.

    ``ValueError`` for an exploration in which the process may crash.
    """
    if exploration.budget.get("crash"):
        raise ValueError(f"exploration {exploration.name!r}: what a crash leaves is no part of a state")
    keys = Normaliser(timed=is_timed(exploration.config))
    state = core.start("s", exploration.config, 0).state

    def enabled(place: Situation) -> Iterator[Move]:
        scene = Scene(place.state, place.world, exploration, place.left, core.outstanding(place.state))
        for moves in (answers, workers, acts):
            yield from moves(scene)

    def reduce(place: Situation, move: Move) -> tuple[Situation, Sequence[Any]]:
        if move.event is None:
            return Situation(place.state, move.world, place.left), ()
        passage = Passage(place.state, move.event, core.reduce(place.state, move.event), core)
        left = place.left
        if move.costs and passage.verdict == "accepted":
            left = {**left, move.costs: left[move.costs] - 1}
        return Situation(passage.after, move.world.after(passage), left, passage), passage.commands

    def normalise(place: Situation) -> Hashable:
        key = keys.key(place.state, place.world.now)
        return key, keys.world_key(place.world, place.state), tuple(place.left.values())

    return LoopProtocol(
        Situation(state, World(), dict(exploration.budget)),
        enabled,
        reduce,
        (ProtocolLaw(DEFECT, transition=_defect), *(_law(law, core) for law in laws.values())),
        normalise,
        name=exploration.name,
        accepting=lambda place: isinstance(place.state.phase, (Idle, *ENDS)),
        show=lambda place: f"{type(place.state.phase).__name__} at {place.state.seq}",
        show_event=_event,
        show_command=lambda command: type(command).__name__,
    )


def _defect(transition: Transition) -> str | None:
    passage = transition.after.passage
    return defect(passage) if passage is not None else None


def _law(law: Law, core: Core) -> ProtocolLaw:
    """Return a law of this core as one of a protocol."""
    check, world, state, monitor = law.transition, law.world, law.state, law.monitor

    def look(transition: Transition) -> str | None:
        passage: Passage | None = transition.after.passage
        problem = None
        if check is not None and passage is not None and (law.refusals or passage.verdict == "accepted"):
            problem = check(passage)
        return problem or (world(transition.after.world, passage) if world is not None else None)

    def step(held: Held, transition: Transition) -> tuple[Held, Sequence[tuple[str, str]]]:
        assert monitor is not None
        value, problem, passage = held.value, None, transition.after.passage
        if passage is not None and passage.verdict == "accepted":
            value, problem = monitor.step(value, passage)
        shadow = monitor.shadow(value, transition.after.state)
        return Held(value, shadow), ((law.name, problem),) if problem else ()

    return ProtocolLaw(
        law.name,
        law.text,
        state=(lambda place: state(place.state, core)) if state is not None else None,
        transition=look if check is not None or world is not None else None,
        monitor=Monitor(Held(monitor.start, None), step) if monitor is not None else None,
    )


def _event(move: Move) -> str:
    """Return a move as text: the event with its fields, or the attempt that acts."""
    told = move.event if move.event is not None else move.acts
    said = " ".join(fields_of(told, "at"))
    return f"{type(told).__name__} {said}" if move.event is not None else f"acts: {said}"
