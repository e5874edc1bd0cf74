"""The ranking of a state: naturals that fall with every event of the world, so that turns end (L15).

Compared from left to right. It is computed only from limits and what is left of them, and from how far things have
come:

1. messages that can still begin a turn of their own;
2. where the turn stands: steps that are left while it works, then stopping, saving, over;
3. tries of this step's request that are left, and how far the step has come;
4. for the calls of the batch, summed part by part: executions left, changed grants left, the stage, then what is
   left of
   finding out and of being observed;
5. the same for the register;
6. what has to become durable, and the tries that are left for it.

Each part may rise only when one before it falls. What a call leaves behind, an entry of the register, is ranked after
the batch, and what any event makes worth saving is ranked last.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from agentcore.events import Inspector
from agentcore.limits import Limits
from agentcore.messages import Abandoned, is_open
from agentcore.states import (
    AwaitingApproval,
    AwaitingModel,
    AwaitingRetry,
    Call,
    CancellationRequested,
    Compacting,
    EffectUnknown,
    Executing,
    Phase,
    Preparing,
    Proposed,
    Ready,
    Released,
    ReviewingCompletion,
    RunningTools,
    Saving,
    Settled,
    State,
    Stopping,
    Streaming,
)
from agentcore.testing.passage import Latest

_bounds = attrgetter(
    "steps",
    "model_retries",
    "overflow_compactions",
    "media_downgrades",
    "effect_retries",
    "changed_grants",
    "inspections",
    "observations",
    "checkpoint_retries",
)
"""Reads the bounds of the loops that a ranking counts down."""
_STAGES = (
    Settled,
    Abandoned,
    EffectUnknown,
    CancellationRequested,
    Executing,
    Released,
    Ready,
    AwaitingApproval,
    Proposed,
)
"""How far a call is from its answer; one step above an answer stands one that leaves the effect open."""
_ROOM = 3
"""Places a working turn ranks above one that is over: stopping and saving lie between."""


@Latest
def ranking(state: State) -> tuple[int, ...] | None:
    """Return the ranking, or ``None`` where a loop is unbounded: then nothing says that a turn ends by itself."""
    limits = state.config.limits
    if None in _bounds(limits):
        return None
    waiting = len(state.queues.follow_ups) + len(state.queues.steering)
    batch = state.batch.calls if state.batch is not None else ()
    return (
        waiting,
        _turn(state, limits),
        _tries(state, limits),
        _progress(state.phase),
        *_calls(batch, limits),
        *_calls(state.register, limits),
        *_storage(state, limits),
    )


def left(limit: int | None, used: int) -> int:
    """Return what is left of a bound that is set; one more than the bound counts as nothing left."""
    return max((limit or 0) - used, 0)


def _turn(state: State, limits: Limits) -> int:
    match state.phase:
        case Stopping():
            return _ROOM - 1
        case Saving():
            return _ROOM - 2
    return _ROOM + left(limits.steps, state.turn.steps) if state.open else 0


def _tries(state: State, limits: Limits) -> int:
    """Count the ways left for this step to ask the model again; a turn that stops asks no more."""
    if not state.open or isinstance(state.phase, Stopping | Saving):
        return 0
    used = state.turn.counters
    names = ("model_retries", "overflow_compactions", "media_downgrades")
    return sum(left(getattr(limits, name), getattr(used, name)) for name in names)


def _progress(phase: Phase) -> int:
    """Say how far a step is from its end."""
    match phase:
        case Preparing(prepared=True):
            return 7
        case Preparing(ordered=ordered):
            return 8 if ordered else 9
        case Compacting() | AwaitingRetry():
            return 6
        case AwaitingModel():
            return 5
        case Streaming():
            return 4
        case RunningTools():
            return 3
        case ReviewingCompletion(awaits_tasks=awaits_tasks):
            return 2 if awaits_tasks else 1
        case Stopping(request=request):
            return int(request is not None)
        case _:
            return 0


def _calls(calls: Sequence[Call], limits: Limits) -> tuple[int, ...]:
    """Sum the vectors of calls: where one falls lexicographically and the others stay, so does the sum."""
    if not calls:
        return (0,) * 7
    return tuple(map(sum, zip((0,) * 7, *(_call(call, limits) for call in calls), strict=True)))


def _call(call: Call, limits: Limits) -> tuple[int, ...]:
    if isinstance(call.state, Settled):
        return (0, 0, int(call.registered and is_open(call.state.outcome)), 0, 0, 0, 0)
    tries, run = call.tries, call.run
    unknown = call.state if isinstance(call.state, EffectUnknown) else None
    return (
        left(limits.effect_retries, tries.retries_used),
        left(limits.changed_grants, tries.changes_used),
        _STAGES.index(type(call.state)),
        len(call.unproved),
        left(limits.inspections, tries.inspections_used) + left(limits.inspections, tries.asks_used),
        left(limits.observations, tries.observations_used) + (run is not None and not run.started),
        _loose_ends(call, unknown) if unknown is not None else 0,
    )


def _loose_ends(call: Call, unknown: EffectUnknown) -> int:
    """Count what can still be heard about an unknown attempt without a bound being spent.

    1. A program that looks may find the attempt still running: then it pauses, and the attempt is told to stop.
    2. An attempt that is told to stop, or not seen to end, may be heard to have ended: then somebody looks at once.
    3. Each earlier attempt may report once.
    """
    inquiry, paused = unknown.inquiry, unknown.inquiry.resume_at is not None
    looking = (1 if paused else 4) if inquiry.by is Inspector.PROGRAM else int(not paused)
    told = unknown.live + (unknown.cancel is not None)
    silent = left(len(call.unproved) + len(call.voided), len(unknown.reports))
    return silent + 16 * (unknown.proved_absent is None or unknown.rechecked) + 2 * told + looking


def _storage(state: State, limits: Limits) -> tuple[int, ...]:
    """Rank a wish beyond the checkpoint in flight above one that it covers or that waits for its next try."""
    storage = state.storage
    # A step that waits for a mended import wants it saved as well.
    wanted = max(storage.wanted, storage.barrier) if isinstance(state.phase, Preparing) else storage.wanted
    due = 0 if wanted <= storage.durable else 2 if storage.in_flight is not None and wanted > storage.in_flight else 1
    return due, left(limits.checkpoint_retries, storage.failures), storage.retry_at is not None
