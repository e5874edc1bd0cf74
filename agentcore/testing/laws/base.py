"""What a law is, and how it is checked.

1. A *transition* check sees one event: the state before, the event, what ``reduce`` gave. It answers with a problem in
   words, or with ``None``.
2. A *monitor* carries a value along a path. Its ``shadow`` is the part of the value that can still matter; the explorer
   merges two situations only if the shadows are equal too.
3. A *state* check is made once for each distinct state, a *world* check whenever something was done in the world, a
   *graph* check once for everything that was explored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from agentcore.events import Event
from agentcore.reduce import Reduction
from agentcore.states import State
from agentcore.testing.core import CORE, Core
from agentcore.testing.passage import Passage
from agentcore.testing.world import World


@attrs.frozen
class Graph:
    """Everything that was explored, by place: numbers from 0, in the order in which they were reached."""

    ends: list[bool]
    """Whether no turn is open there."""
    asks: list[bool]
    """Whether a person is waited for there."""
    edges: list[list[tuple[int, str]]]
    """Where a move leads, and who makes it; moves that change nothing are left out."""


@attrs.frozen
class Monitor:
    """A law with a memory of its own."""

    start: Any
    """Its value before anything happened."""
    step: Callable[[Any, Passage], tuple[Any, str | None]]
    """The value after an accepted event, and a problem if there is one."""
    shadow: Callable[[Any, State], Any]
    """What of the value can still matter in a state; hashable."""
    of_world: bool = False
    """It knows what the world saw, so a crash that loses events does not take it back."""


@attrs.frozen
class Law:
    """One law: its number, its text, and how it is checked; it may be checked in more than one way."""

    name: str
    """``L1`` to ``L22``."""
    text: str
    """What must hold, in words."""
    transition: Callable[[Passage], str | None] | None = None
    """Looks at one event; asked about every one that is accepted."""
    refusals: bool = False
    """The look at one event is for refused and ignored ones too."""
    monitor: Monitor | None = None
    """Looks at one accepted event with a memory."""
    state: Callable[[State, Core], str | None] | None = None
    """Looks at a state, once for each distinct one."""
    world: Callable[[World, Passage | None], str | None] | None = None
    """Looks at the simulated world, whenever something was done in it, with the event if there was one."""
    graph: Callable[[Graph], tuple[int, str] | None] | None = None
    """Looks at everything that was explored, and names a place and what is wrong there."""

    def check(self, before: State, event: Event, reduction: Reduction, core: Core = CORE) -> str | None:
        """Say what one event breaks, as far as that can be seen from it alone."""
        return self.transition(Passage(before, event, reduction, core)) if self.transition is not None else None


Check = Callable[[Passage], str | None]


def transition_law(name: str, *, refusals: bool = False) -> Callable[[Check], Law]:
    """Make a law of a check of one event; its text is the check's docstring."""
    return lambda check: Law(name, words(check), transition=check, refusals=refusals)


def state_law(name: str) -> Callable[[Callable[[State, Core], str | None]], Law]:
    """Make a law of a check of one state; its text is the check's docstring."""
    return lambda check: Law(name, words(check), state=check)


def words(check: Callable[..., Any]) -> str:
    """Return the docstring as one paragraph a line."""
    return "\n".join(" ".join(each.split()) for each in (check.__doc__ or "").split("\n\n"))
