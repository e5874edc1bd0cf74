"""The law about what is shown of a state (L21)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentcore.messages import is_open
from agentcore.projections import UiStatus
from agentcore.states import (
    ENDS,
    AwaitingApproval,
    AwaitingModel,
    AwaitingRetry,
    CancellationRequested,
    Cancelled,
    Compacting,
    Completed,
    EffectUnknown,
    Executing,
    Idle,
    Preparing,
    Released,
    ReviewingCompletion,
    RunningTools,
    Saving,
    Settled,
    State,
    Stopping,
    Streaming,
)
from agentcore.testing.core import Core
from agentcore.testing.laws.base import state_law
from agentcore.testing.passage import all_calls

Fact = Callable[[State], bool]
"""Something that is true of a state or is not."""


def nothing_unproved(state: State) -> bool:
    """No effect is unknown, being cancelled, or given up without proof; tasks may run."""
    return not any(
        isinstance(call.state, EffectUnknown | CancellationRequested)
        or (call.registered and isinstance(call.state, Settled) and is_open(call.state.outcome))
        for call in all_calls(state)
    )


def saved(state: State) -> bool:
    """The end, if there is one, is durable."""
    return not getattr(state.phase, "unsaved", False)


def in_phase(*kinds: type) -> Fact:
    """Make the fact that the turn stands in one of some phases."""
    return lambda state: isinstance(state.phase, kinds)


def has_call(*kinds: type) -> Fact:
    """Make the fact that a call stands in one of some states."""
    return lambda state: any(isinstance(call.state, kinds) for call in all_calls(state))


WORK = in_phase(RunningTools, Stopping)
"""Calls are being dealt with."""

REQUIRED: Mapping[UiStatus, tuple[Fact, ...]] = {
    UiStatus.IDLE: (in_phase(Idle), nothing_unproved),
    UiStatus.PREPARING: (in_phase(Preparing),),
    UiStatus.THINKING: (in_phase(AwaitingModel),),
    UiStatus.ANSWERING: (in_phase(Streaming),),
    UiStatus.COMPACTING: (in_phase(Compacting),),
    UiStatus.RECOVERING: (in_phase(AwaitingRetry, RunningTools, Stopping),),
    UiStatus.CHECKING: (WORK,),
    UiStatus.STARTING_TOOL: (WORK, has_call(Released)),
    UiStatus.RUNNING_TOOL: (WORK, has_call(Executing)),
    UiStatus.WAITING_FOR_PERSON: (has_call(AwaitingApproval, EffectUnknown),),
    UiStatus.WAITING_FOR_TASK: (in_phase(ReviewingCompletion),),
    UiStatus.REVIEWING: (in_phase(ReviewingCompletion),),
    UiStatus.CANCELLING: (in_phase(RunningTools, Stopping),),
    UiStatus.STOPPING: (in_phase(Stopping),),
    UiStatus.SAVING: (in_phase(Saving),),
    UiStatus.UNRESOLVED: (in_phase(Idle, *ENDS), lambda state: not nothing_unproved(state)),
    UiStatus.UNSAVED: (in_phase(*ENDS), lambda state: not saved(state)),
    UiStatus.DONE: (in_phase(Completed), saved, nothing_unproved),
    UiStatus.CANCELLED: (in_phase(Cancelled), saved, nothing_unproved),
    UiStatus.STOPPED: (in_phase(*ENDS),),
    UiStatus.ERROR: (in_phase(*ENDS),),
}
"""What has to be true where a status is shown; the comforting ones want proof."""


@state_law("L21")
def shown_is_true(state: State, core: Core) -> str | None:
    """``projections`` are total; a literal table lists the facts each status requires ("cancelled" needs no unresolved
    effect, else "cancelled, N unresolved").

    ``REQUIRED`` is that table, written apart from the one by which the status is found. An effect is unresolved while
    it is unknown, being cancelled, or given up without proof; a background task that runs is none of these.
    """
    for projection in core.shown:
        projection(state)
    status = core.status(state)
    failed = [place for place, fact in enumerate(REQUIRED[status]) if not fact(state)]
    return (
        f"{status.value} is shown in {type(state.phase).__name__}, its facts {failed} do not hold" if failed else None
    )
