"""Everything that one event changed in a state, a line each: what a scenario file shows that leaves nothing out.

1. A line names a place and what stands there now: ``turn.counters.denials=1``. What was added to the end of a tuple, a
   history or a set of ids is written behind ``+=``.
2. Calls have their places by id, ``calls.1.1.0`` and ``register.1.1.0``; one that is gone is written as ``null``.
3. Left out are the number of events and the time, where they are what every event makes of them, and what the line of
   the phase says. The evidence of a phase follows the word ``since``; digests are shortened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import attrs

from agentcore.messages import History, IdSet
from agentcore.states import Batch, Call, Phase, State
from agentcore.testing.notation import default_of, kebab, write

_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")

Difference = tuple[str, str]
"""A place, and what is there now with the sign before it."""


def changes(before: State, after: State, at: int) -> Iterator[str]:
    """Yield what is different after an event that happened at a time, in the order of the fields."""
    expected = attrs.evolve(before, seq=before.seq + 1, at=max(before.at, at), phase=after.phase)
    found = (*_of_phases(before.phase, after.phase), *_differences("", expected, after))
    for place, said in found:
        yield f"{place}{_DIGEST.sub(_shortened, said)}"


def _shortened(found: re.Match[str]) -> str:
    """Show of a digest what tells it from another one."""
    return f"{found[0][:12]}…"


def _of_phases(before: Phase, after: Phase) -> Iterator[Difference]:
    """Yield what is new of the phase: its evidence, its own data, its batch."""
    evidence = after.transition.evidence
    if evidence and evidence != before.transition.evidence:
        yield "since", "".join(f" {name}={write(value)}" for name, value in evidence)
    for field in attrs.fields(type(after)):
        now = getattr(after, field.name)
        if field.name == "batch":
            yield from _of_batches(getattr(before, "batch", None), now)
        elif field.name != "transition":
            old = getattr(before, field.name, None) if type(before) is type(after) else default_of(field)
            yield from _differences(f"phase.{kebab(field.name)}", old, now)


def _of_batches(before: Batch | None, after: Batch | None) -> Iterator[Difference]:
    if after is None:
        return
    for field in attrs.fields(Batch):
        old = getattr(before, field.name) if before is not None else () if field.name == "calls" else default_of(field)
        yield from _differences(kebab(field.name), old, getattr(after, field.name))


def _differences(place: str, before: Any, after: Any) -> Iterator[Difference]:
    """Yield each place that differs with what stands there now."""
    if before is after or before == after:
        return
    if isinstance(before, History) and isinstance(after, History):
        yield _added(place, tuple(before.since(0)), tuple(after.since(0)))
    elif isinstance(before, IdSet) and isinstance(after, IdSet):
        yield place, f"+={write(tuple(sorted(_ids(after) - _ids(before))))}"
    elif isinstance(before, tuple) and isinstance(after, tuple):
        yield from _of_tuples(place, before, after)
    elif attrs.has(type(after)) and type(before) is type(after):
        for field in attrs.fields(type(after)):
            name = f"{place}.{kebab(field.name)}" if place else kebab(field.name)
            yield from _differences(name, getattr(before, field.name), getattr(after, field.name))
    else:
        yield place, f"={write(after)}"


def _of_tuples(place: str, before: tuple[Any, ...], after: tuple[Any, ...]) -> Iterator[Difference]:
    if not all(isinstance(each, Call) for each in (*before, *after)):
        yield _added(place, before, after)
        return
    old, new = ({call.call_id: call for call in calls} for calls in (before, after))
    for call_id in {**old, **new}:
        yield from _differences(f"{place}.{call_id}", old.get(call_id), new.get(call_id))


def _added(place: str, before: tuple[Any, ...], after: tuple[Any, ...]) -> Difference:
    if after[: len(before)] == before:
        return place, f"+={write(after[len(before) :])}"
    return place, f"={write(after)}"


def _ids(held: IdSet) -> frozenset[str]:
    return frozenset[str]().union(*held.levels)
