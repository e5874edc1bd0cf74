"""Makes what went wrong short: leaves out events as long as the same thing goes wrong.

Without an event, those behind it would name turns, epochs and checkpoints that are no more. So an event is *retold*:
what it names is moved by as much as the session differs from the one it was told to first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from attrs import evolve

from agentcore import reduce
from agentcore.events import AbortRequested, CheckpointFailed, CheckpointWritten, Event
from agentcore.states import State

Told = tuple[State, Event]
"""An event with the state it was told to first."""


def shortest(origin: State, told: Sequence[Told], fails: Callable[[State, Event], bool]) -> tuple[Event, ...]:
    """Return events of which none can be left out; the last one of them is what fails.

    First halves are left out, then quarters, at last single events.
    """
    kept, size = list(told), max(1, len(told) // 2)
    while size:
        place, before = 0, len(kept)
        while place < len(kept) - 1:
            shorter = kept[:place] + kept[min(place + size, len(kept) - 1) :]
            if _still_fails(origin, shorter, fails):
                kept = shorter
            else:
                place += size
        size = size if size == 1 and len(kept) < before else size // 2
    return tuple(event for _, event in _retold(origin, kept))


def _still_fails(origin: State, told: Sequence[Told], fails: Callable[[State, Event], bool]) -> bool:
    state, event = _retold(origin, told)[-1]
    return fails(state, event)


def _retold(origin: State, told: Sequence[Told]) -> list[Told]:
    """The same events for a session in which some of those before were left out."""
    state, again = origin, []
    for first, event in told:
        retold = _moved(event, first, state)
        again.append((state, retold))
        state = reduce(state, retold).state
    return again


_TURN = re.compile(r"(?<![^/])\d+(?=$|\.)")
"""The number of the turn in an id: ``1`` in ``1.2.0``, ``model/1.2`` and ``turn/1``."""


def _moved(event: Event, first: State, now: State) -> Event:
    if first is now:
        return event
    turns = now.turn.number - first.turn.number
    named = (name for name in ("request_id", "call_id", "timer_id") if hasattr(event, name))
    changes = {name: _TURN.sub(lambda found: str(int(found[0]) + turns), getattr(event, name)) for name in named}
    if hasattr(event, "epoch"):
        changes["epoch"] = event.epoch + now.epoch - first.epoch
    if hasattr(event, "request_id") and event.attempt == first.turn.requests:
        changes["attempt"] = now.turn.requests
    if isinstance(event, AbortRequested):
        changes["turn"] = event.turn + turns
    if isinstance(event, CheckpointWritten | CheckpointFailed) and event.seq == first.storage.in_flight:
        changes |= {"seq": now.storage.in_flight or 0, "attempt": now.storage.attempt}
    return evolve(event, **changes)
