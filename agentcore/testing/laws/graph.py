"""The law about everything that was explored: an end is always within reach (L17)."""

from __future__ import annotations

from agentcore.states import State
from agentcore.testing.core import Core
from agentcore.testing.graphs import first_circle, leading_to
from agentcore.testing.laws.base import Graph, Law, words
from agentcore.testing.moves import Source

_ALONE = (Source.WORLD, Source.GIVING_UP)
"""Who moves when no user does anything: the world, and whoever gives up on a question."""


def an_end_is_reachable(graph: Graph) -> tuple[int, str] | None:
    """From every state that waits for no person an end is reachable without a user's act; if every command is answered
    somehow and every question by giving up, every path reaches an end.

    So an open turn always waits for something. And what is left of the explored graph without users, persons and
    crashes has no circle outside of the ends, and no place but an end where nothing can happen. Somebody who gives up
    on a question is no user: an engine does it where nobody is there.
    """
    alone = [[target for target, source in edges if source in _ALONE] for edges in graph.edges]
    stuck = next((place for place, targets in enumerate(alone) if not targets and not graph.ends[place]), None)
    if stuck is not None:
        return stuck, "nothing can happen here any more, and the turn has not ended"
    reached = leading_to(graph.ends, alone)
    lost = next((place for place, asks in enumerate(graph.asks) if not reached[place] and not asks), None)
    if lost is not None:
        return lost, "no end can be reached from here without a user's act"
    around = first_circle([[] if end else targets for end, targets in zip(graph.ends, alone, strict=True)])
    return (around[0], "from here the turn can go round for ever, every command being answered") if around else None


def something_is_outstanding(state: State, core: Core) -> str | None:
    """Say that an open turn waits for nothing: from there no event leads on but a user's."""
    waits = not state.open or core.outstanding(state)
    return None if waits else f"{type(state.phase).__name__} is open, and nothing is outstanding"


L17 = Law("L17", words(an_end_is_reachable), state=something_is_outstanding, graph=an_end_is_reachable)
