"""Facts that can be read off a state, each by one small test. A status word stands on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from agentcore.projections.calls import asks_person, in_state, is_unresolved, unresolved
from agentcore.states import (
    ENDS,
    AwaitingModel,
    AwaitingRetry,
    CancellationRequested,
    Cancelled,
    Compacting,
    Completed,
    Denied,
    EffectUnknown,
    End,
    Executing,
    Exhausted,
    Failed,
    Idle,
    Preparing,
    Released,
    ReviewingCompletion,
    RunningTools,
    Saving,
    State,
    Stopping,
    StopReason,
    Streaming,
)


class Fact(StrEnum):
    """Something that is so; the test of each stands in ``TESTS``."""

    NO_TURN = "no-turn"
    STEP_PREPARES = "step-prepares"
    MODEL_ASKED = "model-asked"
    MODEL_ANSWERS = "model-answers"
    RETRY_WAITS = "retry-waits"
    CONTEXT_SHRINKS = "context-shrinks"
    CALLS_OPEN = "calls-open"
    START_RECORDED = "start-recorded"
    TOOL_RUNS = "tool-runs"
    CANCEL_UNCONFIRMED = "cancel-unconfirmed"
    EFFECT_UNKNOWN = "effect-unknown"
    PERSON_ASKED = "person-asked"
    ANSWER_REVIEWED = "answer-reviewed"
    TASKS_AWAITED = "tasks-awaited"
    END_DECIDED = "end-decided"
    USER_ABORTED = "user-aborted"
    END_BEING_SAVED = "end-being-saved"
    ANSWER_GIVEN = "answer-given"
    STOPPED_EARLY = "stopped-early"
    CANCELLED = "cancelled"
    FAILED = "failed"
    END_SAVED = "end-saved"
    END_UNSAVED = "end-unsaved"
    NOTHING_UNRESOLVED = "nothing-unresolved"
    SOMETHING_UNRESOLVED = "something-unresolved"


def facts_of(state: State) -> frozenset[Fact]:
    """Return every fact that holds in the state."""
    return frozenset(fact for fact, holds in TESTS.items() if holds(state))


def _phase(*kinds: type[object]) -> Callable[[State], bool]:
    return lambda state: isinstance(state.phase, kinds)


def _some(*kinds: type[object]) -> Callable[[State], bool]:
    return lambda state: bool(in_state(state, *kinds))


def _ends_for(state: State, reason: StopReason) -> bool:
    phase = state.phase
    return isinstance(phase, Stopping | Saving | End) and phase.ending.reason is reason


def _is_answered(state: State) -> bool:
    return isinstance(state.phase, Completed) and not _ends_for(state, StopReason.STOPPED_BY_HOST)


def _is_stopped_early(state: State) -> bool:
    return isinstance(state.phase, Denied | Exhausted | Completed) and not _is_answered(state)


TESTS: Mapping[Fact, Callable[[State], bool]] = {
    Fact.NO_TURN: _phase(Idle),
    Fact.STEP_PREPARES: _phase(Preparing),
    Fact.MODEL_ASKED: _phase(AwaitingModel),
    Fact.MODEL_ANSWERS: _phase(Streaming),
    Fact.RETRY_WAITS: _phase(AwaitingRetry),
    Fact.CONTEXT_SHRINKS: _phase(Compacting),
    Fact.CALLS_OPEN: _phase(RunningTools),
    Fact.START_RECORDED: _some(Released),
    Fact.TOOL_RUNS: _some(Executing),
    Fact.CANCEL_UNCONFIRMED: _some(CancellationRequested),
    Fact.EFFECT_UNKNOWN: lambda state: any(is_unresolved(call) for call in in_state(state, EffectUnknown)),
    Fact.PERSON_ASKED: lambda state: any(asks_person(call) for call in in_state(state, object)),
    Fact.ANSWER_REVIEWED: lambda state: isinstance(state.phase, ReviewingCompletion) and not state.phase.awaits_tasks,
    Fact.TASKS_AWAITED: lambda state: isinstance(state.phase, ReviewingCompletion) and state.phase.awaits_tasks,
    Fact.END_DECIDED: _phase(Stopping),
    Fact.USER_ABORTED: lambda state: _ends_for(state, StopReason.USER_ABORT),
    Fact.END_BEING_SAVED: _phase(Saving),
    Fact.ANSWER_GIVEN: _is_answered,
    Fact.STOPPED_EARLY: _is_stopped_early,
    Fact.CANCELLED: _phase(Cancelled),
    Fact.FAILED: _phase(Failed),
    Fact.END_SAVED: lambda state: isinstance(state.phase, ENDS) and not state.phase.unsaved,
    Fact.END_UNSAVED: lambda state: isinstance(state.phase, ENDS) and state.phase.unsaved,
    Fact.NOTHING_UNRESOLVED: lambda state: not unresolved(state),
    Fact.SOMETHING_UNRESOLVED: lambda state: bool(unresolved(state)),
}
"""How each fact is told."""
