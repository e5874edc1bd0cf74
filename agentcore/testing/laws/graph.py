"""The law about everything that was explored: an end is always within reach (L17)."""

from __future__ import annotations

from collections.abc import Iterator

from agentcore.testing.laws.base import Graph, Law, words
from agentcore.testing.moves import Source

_ALONE = (Source.WORLD, Source.GIVING_UP)
"""Who moves when no user does anything: the world, and whoever gives up on a question."""


def an_end_is_reachable(graph: Graph) -> tuple[int, str] | None:
    """From every state that waits for no person an end is reachable without a user's act; if every command is answered
    somehow and every question by giving up, every path reaches an end.

    So what is left of the explored graph without users, persons and crashes has no circle outside of the ends, and no
    place but an end where nothing can happen. Somebody who gives up on a question is no user: an engine does it where
    nobody is there.
    """
    alone = [[target for target, source in edges if source in _ALONE] for edges in graph.edges]
    stuck = next((place for place, targets in enumerate(alone) if not targets and not graph.ends[place]), None)
    if stuck is not None:
        return stuck, "nothing can happen here any more, and the turn has not ended"
    reached = _leading_to(graph.ends, alone)
    lost = next((place for place, asks in enumerate(graph.asks) if not reached[place] and not asks), None)
    if lost is not None:
        return lost, "no end can be reached from here without a user's act"
    circle = _circle(graph.ends, alone)
    return (
        (circle, "from here the turn can go round for ever, every command being answered")
        if circle is not None
        else None
    )


def _leading_to(ends: list[bool], edges: list[list[int]]) -> list[bool]:
    """Mark every place from which an end can be reached."""
    sources: list[list[int]] = [[] for _ in edges]
    for place, targets in enumerate(edges):
        for target in targets:
            sources[target].append(place)
    reached = list(ends)
    waiting = [place for place, is_end in enumerate(ends) if is_end]
    while waiting:
        for source in sources[waiting.pop()]:
            if not reached[source]:
                reached[source] = True
                waiting.append(source)
    return reached


def _circle(ends: list[bool], edges: list[list[int]]) -> int | None:
    """Return a place on a circle outside of the ends, or ``None``; walks with a list, not with the stack."""
    new, open_, done = 0, 1, 2
    marks = [done if is_end else new for is_end in ends]
    for root in range(len(edges)):
        if marks[root] is not new:
            continue
        marks[root] = open_
        path: list[tuple[int, Iterator[int]]] = [(root, iter(edges[root]))]
        while path:
            place, targets = path[-1]
            target = next(targets, None)
            if target is None:
                marks[place] = done
                path.pop()
            elif marks[target] is open_:
                return target
            elif marks[target] is new:
                marks[target] = open_
                path.append((target, iter(edges[target])))
    return None


L17 = Law("L17", words(an_end_is_reachable), graph=an_end_is_reachable)
