"""Situations of every phase and call state, reached by walks: the same ones in every process.

A walk visits what is common over and over. So what a walk reaches is sorted into *cells* by what tells situations apart
for the tables (``cell``), and each cell keeps only its first few. The simplest situations of a class come first.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.reduce import reduce
from agentcore.states import (
    CALL_STATES,
    PHASES,
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
from agentcore.testing.strategies.situation import Situation
from agentcore.testing.strategies.walk import Walk

WALKS = 120
"""How many walks fill the pools."""
STEPS = 120
"""How long each of them is."""
ALIKE = 4
"""How many situations of one cell are kept."""


@functools.cache
def pool() -> tuple[Situation, ...]:
    """Return every kept situation, those reached by fewer events first."""
    kept: list[Situation] = []
    cells: Counter[Any] = Counter()
    for seed in range(WALKS):
        for situation in _visited(seed):
            cells[cell(situation.state)] += 1
            if cells[cell(situation.state)] <= ALIKE:
                kept.append(situation)
    return tuple(sorted(kept, key=lambda each: each.state.seq))


def _visited(seed: int) -> Iterator[Situation]:
    dice = seeded(seed)
    walk = Walk(roll_config(dice), dice)
    yield walk.situation
    for _ in range(STEPS):
        passage = walk.take(walk.next(), reduce)
        if passage is not None and passage.after is not passage.before:
            yield walk.situation


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


def in_phase(kind: type[Phase]) -> tuple[Situation, ...]:
    """Return the kept situations of a phase, the simplest first."""
    return _phases()[kind]


def with_call(kind: type[CallState]) -> tuple[tuple[Situation, Call], ...]:
    """Return the kept situations with a call in a state, the simplest first, and that call.

    The call is one that evidence speaks to: where a call stands in the register too, that entry.
    """
    return _calls()[kind]


@functools.cache
def _phases() -> Mapping[type[Phase], tuple[Situation, ...]]:
    return {kind: tuple(each for each in pool() if type(each.state.phase) is kind) for kind in PHASES}


@functools.cache
def _calls() -> Mapping[type[CallState], tuple[tuple[Situation, Call], ...]]:
    found = [
        (situation, call)
        for situation in pool()
        for call in all_calls(situation.state)
        if find_call(situation.state, call.call_id) is call
    ]
    return {kind: tuple(each for each in found if type(each[1].state) is kind) for kind in CALL_STATES}
