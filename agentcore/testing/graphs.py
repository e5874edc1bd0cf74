"""Questions to a graph of places, numbered from 0, each with the places that it leads to.

They are walked with lists, not with the stack, so a graph may be as deep as it likes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

Edges = Sequence[Sequence[int]]
"""For each place where it leads to; a place may be named twice."""


def leading_to(goals: Sequence[bool], edges: Edges) -> list[bool]:
    """Mark every place from which a goal can be reached, the goals included."""
    sources: list[list[int]] = [[] for _ in edges]
    for place, targets in enumerate(edges):
        for target in targets:
            sources[target].append(place)
    reached = list(goals)
    waiting = [place for place, is_goal in enumerate(goals) if is_goal]
    while waiting:
        for source in sources[waiting.pop()]:
            if not reached[source]:
                reached[source] = True
                waiting.append(source)
    return reached


def first_circle(edges: Edges) -> tuple[int, ...]:
    """Return the places of a shortest circle through the lowest place that lies on one, that place first; else nothing.

    A place that leads to itself is a circle of one.
    """
    on_one = [
        min(group)
        for group in components(edges)
        if len(group) > 1 or group[0] in edges[group[0]]  # a group of one is a circle only with an edge to itself
    ]
    return _around(min(on_one), edges) if on_one else ()


def components(edges: Edges) -> Iterator[list[int]]:
    """Yield the strongly connected components: groups of places each of which can be reached from all others."""
    order: dict[int, int] = {}
    lowest: dict[int, int] = {}
    held: list[int] = []
    is_held = [False] * len(edges)
    for root in range(len(edges)):
        if root in order:
            continue
        path: list[tuple[int, Iterator[int]]] = [(root, iter(edges[root]))]
        while path:
            place, targets = path[-1]
            if place not in order:
                order[place] = lowest[place] = len(order)
                held.append(place)
                is_held[place] = True
            for target in targets:
                if target not in order:
                    path.append((target, iter(edges[target])))
                    break
                if is_held[target]:
                    lowest[place] = min(lowest[place], order[target])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[place])
                if lowest[place] == order[place]:
                    yield _released(place, held, is_held)


def _released(place: int, held: list[int], is_held: list[bool]) -> list[int]:
    """Take a whole component from the top of what is held."""
    group: list[int] = []
    while not group or group[-1] != place:
        group.append(held.pop())
        is_held[group[-1]] = False
    return group


def _around(start: int, edges: Edges) -> tuple[int, ...]:
    """Return a shortest way from a place that lies on a circle back to it, without the return itself."""
    came: dict[int, int] = {}
    waiting = deque([start])
    while True:
        place = waiting.popleft()
        for target in edges[place]:
            if target == start:
                way = [place]
                while way[-1] != start:
                    way.append(came[way[-1]])
                return tuple(reversed(way))
            if target not in came:
                came[target] = place
                waiting.append(target)
