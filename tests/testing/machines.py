"""Machines that are broken on purpose: for each claim a session in which one row or one function is wrong.

A twin is as close to the true core as can be, and it is caught by its claim alone, with no law's help.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve

from agentcore import events
from agentcore.codec import CODEC
from agentcore.messages import (
    FailedCall,
    History,
    NotExecuted,
    NotExecutedReason,
    Succeeded,
    ToolMessage,
)
from agentcore.reduce import make_reduce
from agentcore.states import (
    CALL_STATES,
    PHASES,
    AwaitingRetry,
    Because,
    EffectUnknown,
    Executing,
    Proposed,
    Ready,
    Released,
    RunningTools,
    Settled,
    State,
)
from agentcore.steps import base, decide, queues
from agentcore.steps.calls import moves, stops
from agentcore.steps.verdicts import Advance, Ignored, StopEntered
from agentcore.table import TABLES, Kind, Row, Tables
from agentcore.testing.core import Core
from tests.laws.twins import TWINS


def twin(step: Callable[..., Any], *places: tuple[type, type], instead_of: Callable[..., Any] | None = None) -> Core:
    """A core in which the rows of some places have another step."""

    def changed(row: Row) -> Row:
        if (row.source, row.event) not in places or (instead_of is not None and row.step is not instead_of):
            return row
        kind = Kind.STEP if row.kind is Kind.GUARD else row.kind
        return evolve(row, step=step, to=(*PHASES, *CALL_STATES), kind=kind)

    tables = Tables(*(tuple(changed(row) for row in table) for table in (TABLES.turn, TABLES.call)))
    assert tables != TABLES
    return Core(examine=make_reduce(tables).examine)


def runs_again_unasked(state, call, event):
    """A resume runs an opaque call again instead of asking a person."""
    return evolve(call, state=Ready(base.why(Because.EFFECT_RETRIED)), reviewed_in=state.epoch)


def claims_success(state, call, event):
    """Somebody gave up finding out, and the call ends as a success."""
    return moves.settle(call, Succeeded("done"), Because.GIVEN_UP)


def denies_what_was_lost(state, call, event):
    """An attempt that is out of sight has failed."""
    return moves.settle(call, FailedCall("lost"), Because.TOOL_LOST)


def forgets_what_was_lost(state, call, event):
    """An attempt that is out of sight is settled in the words of a person who never spoke."""
    return moves.settle(call, NotExecuted(NotExecutedReason.PERSON_SAYS), Because.TOOL_LOST)


def drops_a_follow_up(state, event):
    after = queues.queue_follow_up(state, event)
    return evolve(after, queues=state.queues) if isinstance(after, State) else after


def loses_results(state):
    after = decide.close_batch(state)
    if after is None:
        return None
    kept = (message for message in after.history if not isinstance(message, ToolMessage))
    return evolve(after, history=History().append(*kept))


def starts_at_once(state, call, event):
    released = stops.release(state, call, event)
    run = getattr(released.state, "run", None)
    if not isinstance(released.state, Released):
        return released
    return evolve(released, state=Executing(base.why(Because.RELEASED), run))


def asks_nobody(state, call, event):
    return evolve(call, state=Ready(base.why(Because.POLICY_ALLOWED)), digest=event.digest, reviewed_in=state.epoch)


def stays_released(state, call, event):
    return Ignored("not-started")


def never_due(state, event):
    return Ignored("nobody-waits")


class Forgetful:
    """A codec whose snapshots forget which attempts were proved not to have acted."""

    def __getattr__(self, name):
        return getattr(CODEC, name)

    def decode_state(self, data):
        state = CODEC.decode_state(data)
        state = evolve(state, register=tuple(evolve(call, voided=()) for call in state.register))
        if state.batch is None:
            return state
        batch = evolve(state.batch, calls=tuple(evolve(call, voided=()) for call in state.batch.calls))
        return evolve(state, phase=evolve(state.phase, batch=batch))


BROKEN: dict[str, Core] = {
    "effects-happen-once": twin(runs_again_unasked, (Executing, events.SessionResumed)),
    "what-is-claimed-happened": twin(
        claims_success, *((kind, events.EffectResolved) for kind in (EffectUnknown, Settled))
    ),
    "what-is-denied-did-not-happen": twin(denies_what_was_lost, (Executing, events.ToolLost)),
    "no-deed-is-passed-over": twin(forgets_what_was_lost, (Executing, events.ToolLost)),
    "no-message-is-lost": twin(drops_a_follow_up, *((phase, events.FollowUpQueued) for phase in PHASES)),
    "calls-are-answered-once": twin(loses_results, (RunningTools, Advance), instead_of=decide.close_batch),
    "nothing-acts-before-it-is-recorded": twin(starts_at_once, (Ready, Advance)),
    "nothing-runs-without-leave": twin(asks_nobody, (Proposed, events.PolicyAsked)),
    "nothing-begins-in-a-stop": twin(stays_released, (Released, events.AbortRequested), (Released, StopEntered)),
    "what-was-recorded-comes-back": Core(codec=Forgetful()),
    "laws-hold": TWINS["L16"][0],
    "every-turn-ends": twin(never_due, (AwaitingRetry, events.TimerFired)),
}
"""For each claim a core that breaks it; the laws have twins of their own, of which one stands here for all."""
