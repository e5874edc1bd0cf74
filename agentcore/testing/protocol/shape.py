"""What a loop is to the exploration, whoever wrote it: where it starts, what can happen, and what comes of it.

1. ``reduce(state, event)`` gives the next state and the commands that it orders. It may be anything: an adapter of two
   lines makes it out of a method, a graph node or a class. It must not change the state that it is given; ``copying``
   wraps one that does.
2. ``enabled(state)`` says what may happen in a state. The more hostile it is, the more is found: late, repeated and
   foreign events belong to it.
3. A law looks at a state, at a transition, at a transition with a memory, or at everything that was explored.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import attrs

from agentcore.testing.graphs import Edges
from agentcore.testing.protocol.plain import canonical, label


@attrs.frozen(eq=False)
class Transition:
    """One event that was given to ``reduce``, and what it did."""

    before: Any
    """The state it met."""
    event: Any
    """What happened."""
    after: Any
    """The state it led to; the same one where the event was refused."""
    commands: tuple[Any, ...] = ()
    """What was ordered, in order."""
    changed: bool = True
    """Whether the state is another one afterwards, after normalising."""
    refusal: str | None = None
    """Why the event was refused, where ``reduce`` said so by raising one of the ``refusals``."""

    @property
    def ignored(self) -> bool:
        """Whether nothing came of it."""
        return self.refusal is None and not self.changed and not self.commands


@attrs.frozen(eq=False)
class Edge:
    """A transition between two explored places."""

    target: int
    """The place it leads to."""
    transition: Transition
    """What happened."""
    progress: bool
    """Whether the protocol counts it as progress."""


@attrs.frozen(eq=False)
class StateGraph:
    """Everything that was explored, by place: numbers from 0, the start, in the order of their distance from it."""

    states: Sequence[Any]
    """The state at each place; two places may hold one state with different memories of laws."""
    accepting: Sequence[bool]
    """Whether a loop may rest there for ever."""
    unseen: Sequence[bool]
    """Whether not everything that can happen there was looked at: a limit was met, or a law broke."""
    edges: Sequence[Sequence[Edge]]
    """What can happen at each place, as far as it broke no law; what was ignored leads to the place itself."""

    def targets(self) -> Edges:
        """Return for each place where it leads to."""
        return [[edge.target for edge in edges] for edges in self.edges]


@attrs.frozen
class Found:
    """A place where the explored whole breaks a law."""

    place: int
    """Its number."""
    problem: str
    """What is wrong there."""
    around: tuple[int, ...] = ()
    """A circle of places that begins there, if that is what is wrong."""


@attrs.frozen(eq=False)
class Monitor:
    """A memory that laws carry along a way. Its values are hashable, and two of them apart are two places."""

    start: Hashable
    """What is remembered before anything has happened."""
    step: Callable[[Any, Transition], tuple[Hashable, Sequence[tuple[str, str]]]]
    """What is remembered after a transition, and which laws it broke: name and problem."""


@attrs.frozen(eq=False)
class ProtocolLaw:
    """One law; it may look in more than one way. A check answers with a problem in words, or with ``None``."""

    name: str
    """Kebab-case."""
    text: str = ""
    """What must hold, in words."""
    state: Callable[[Any], str | None] | None = None
    """Looks at each distinct state."""
    transition: Callable[[Transition], str | None] | None = None
    """Looks at each transition, those that change nothing included."""
    monitor: Monitor | None = None
    """Remembers, and reports under the name of the law. Laws that share a monitor share its memory."""
    graph: Callable[[StateGraph], Found | None] | None = None
    """Looks at everything that was explored."""


def remembering(
    name: str, start: Hashable, step: Callable[[Any, Transition], tuple[Hashable, str | None]], text: str = ""
) -> ProtocolLaw:
    """Return a law with a memory of its own: ``step(memory, transition)`` gives the next memory and a problem."""

    def named(memory: Any, transition: Transition) -> tuple[Hashable, Sequence[tuple[str, str]]]:
        after, problem = step(memory, transition)
        return after, ((name, problem),) if problem else ()

    return ProtocolLaw(name, text, monitor=Monitor(start, named))


@attrs.frozen(eq=False)
class LoopProtocol:
    """A reducer, the world around it, and what has to hold."""

    initial: Any
    """The state before anything happened."""
    enabled: Callable[[Any], Iterable[Any]]
    """What may happen in a state, in the order in which it is tried."""
    reduce: Callable[[Any, Any], tuple[Any, Iterable[Any]]]
    """The next state and the commands; what it raises, other than ``refusals``, breaks the law ``reduce-returns``."""
    laws: Sequence[ProtocolLaw] = ()
    """What has to hold."""
    normalise: Callable[[Any], Hashable] = canonical
    """The key of a state; states of one key are taken for one. Leave out of it what cannot matter, such as a clock."""
    name: str = attrs.field(default="loop", kw_only=True)
    """What it is called, on one line."""
    accepting: Callable[[Any], bool] | None = attrs.field(default=None, kw_only=True)
    """Whether a loop may rest in a state for ever; with it dead ends and places without a way out are looked for."""
    progress: Callable[[Transition], bool] | None = attrs.field(default=None, kw_only=True)
    """Whether a transition can happen only so often; with it circles without progress are looked for."""
    refusals: tuple[type[Exception], ...] = attrs.field(default=(), kw_only=True)
    """What ``reduce`` raises to refuse an event: the state stays and nothing is ordered."""
    show: Callable[[Any], str] = attrs.field(default=label, kw_only=True)
    """A state as text; each line of it is a line of a scenario."""
    show_event: Callable[[Any], str] = attrs.field(default=label, kw_only=True)
    """An event as text: what stands in a scenario, and tells it from others that are enabled with it."""
    show_command: Callable[[Any], str] = attrs.field(default=label, kw_only=True)
    """A command as text."""


def copying(reduce: Callable[[Any, Any], tuple[Any, Iterable[Any]]]) -> Callable[[Any, Any], tuple[Any, Iterable[Any]]]:
    """Return a reducer that works on a deep copy, for one that changes the state that it is given."""

    def copied(state: Any, event: Any) -> tuple[Any, Iterable[Any]]:
        return reduce(deepcopy(state), event)

    return copied
