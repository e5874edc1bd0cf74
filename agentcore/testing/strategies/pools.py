"""Sessions of every phase and call state, reached by walks: the same ones in every process.

A walk visits what is common over and over. So what a walk reaches is sorted into *cells* by what tells sessions apart
for the tables (``cell``), and each cell keeps only its first few. The simplest sessions of a class come first.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.commands import ANSWERS, Command, PersistCheckpoint, key_of
from agentcore.events import (
    EffectResolved,
    Event,
    InspectionRequested,
    MessageWithdrawn,
    RetryRequested,
    TaskSettled,
    ToolCancelled,
    ToolFailed,
    ToolSucceeded,
)
from agentcore.outstanding import outstanding
from agentcore.reduce import reduce
from agentcore.states import (
    Call,
    CallState,
    EffectUnknown,
    Phase,
    ReviewingCompletion,
    Settled,
    State,
    Stopping,
)
from agentcore.testing.passage import all_calls, find_call
from agentcore.testing.strategies.configs import roll_config
from agentcore.testing.strategies.dice import seeded
from agentcore.testing.strategies.session import Session
from agentcore.testing.strategies.walk import Walk

WALKS = 120
"""How many walks fill the pools."""
STEPS = 120
"""How long each of them is."""
ALIKE = 4
"""How many sessions of one cell are kept."""


@functools.cache
def pool() -> tuple[Session, ...]:
    """Return every kept session, those reached by fewer events first."""
    kept: list[Session] = []
    cells: Counter[Any] = Counter()
    for seed in range(WALKS):
        for session in _visited(seed):
            cells[cell(session.state)] += 1
            if cells[cell(session.state)] <= ALIKE:
                kept.append(session)
    return tuple(sorted(kept, key=lambda each: each.state.seq))


def _visited(seed: int) -> Iterator[Session]:
    dice = seeded(seed)
    walk = Walk(roll_config(dice), dice)
    yield walk.session
    for _ in range(STEPS):
        passage = walk.take(walk.next(), reduce)
        if passage is not None and passage.after is not passage.before:
            yield walk.session


def cell(state: State) -> tuple[Any, ...]:
    """Return what tells a state from others for the tables: where turn, calls, queues and storage stand."""
    phase, storage, queues = state.phase, state.storage, state.queues
    return (
        type(phase),
        isinstance(phase, Stopping) and (phase.quiet, phase.request is None),
        isinstance(phase, ReviewingCompletion) and phase.awaits_tasks,
        getattr(phase, "unsaved", False),
        storage.in_flight is None,
        storage.retry_at is None,
        bool(queues.steering or queues.follow_ups),
        state.turn.number > 1,
        state.epoch > 0,
        frozenset(_standing(call) for call in all_calls(state)),
    )


def _standing(call: Call) -> tuple[Any, ...]:
    """Return what tells a call from others."""
    own = call.state
    details: tuple[Any, ...] = ()
    if isinstance(own, EffectUnknown):
        inquiry = own.inquiry
        details = (own.live, own.cancel is None, own.proved_absent is None, inquiry.by, inquiry.resume_at is None)
    if isinstance(own, Settled):
        details = (type(own.outcome),)
    return type(own), call.contract.effect, call.registered, bool(call.unproved), call.aborted, *details


def awaited(state: State, call: Call | None = None) -> frozenset[type[Event]]:
    """Return the classes of events that can change something in a state, or at one call of it, being expected there."""
    commands = [each for each in outstanding(state) if call is None or _concerns(each, call)]
    kinds: set[type[Event]] = {answer for command in commands for answer in ANSWERS[type(command)]}
    for each in all_calls(state) if call is None else (call,):
        kinds.update(_open_to(each))
    if call is None and (state.queues.steering or state.queues.follow_ups):
        kinds.add(MessageWithdrawn)
    return frozenset(kinds)


def _concerns(command: Command, call: Call) -> bool:
    return isinstance(command, PersistCheckpoint) or key_of(command).id.rpartition("/")[2] == call.call_id


def _open_to(call: Call) -> Iterator[type[Event]]:
    """Yield what may be said of a call though nobody was asked."""
    if call.unproved or call.voided:
        yield from (ToolSucceeded, ToolFailed, ToolCancelled, TaskSettled)
    unknown = call.state if isinstance(call.state, EffectUnknown) else None
    if unknown is not None or call.registered:
        yield from (InspectionRequested, EffectResolved)
    if unknown is not None and unknown.proved_absent is not None:
        yield RetryRequested


def in_phase(kind: type[Phase], expecting: type[Event] | None = None) -> tuple[Session, ...]:
    """Return the kept sessions of a phase, the simplest first; only those that expect an event, if one is given."""
    return tuple(_phases().get((kind, expecting), ()))


def with_call(kind: type[CallState], expecting: type[Event] | None = None) -> tuple[tuple[Session, Call], ...]:
    """Return the kept sessions with a call in a state, the simplest first, and that call.

    The call is one that evidence speaks to: where a call stands in the register too, that entry. If an event is given,
    it is one that is expected about the call.
    """
    return tuple(_calls().get((kind, expecting), ()))


@functools.cache
def _phases() -> Mapping[tuple[type[Phase], type[Event] | None], list[Session]]:
    found = defaultdict(list)
    for session in pool():
        for expected in (None, *awaited(session.state)):
            found[type(session.state.phase), expected].append(session)
    return found


@functools.cache
def _calls() -> Mapping[tuple[type[CallState], type[Event] | None], list[tuple[Session, Call]]]:
    found = defaultdict(list)
    for session in pool():
        for call in all_calls(session.state):
            if find_call(session.state, call.call_id) is call:
                for expected in (None, *awaited(session.state, call)):
                    found[type(call.state), expected].append((session, call))
    return found
