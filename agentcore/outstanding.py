"""What a state waits for, derived from the state alone.

Commands are the difference of outstanding work and come from nowhere else: for an accepted event they are
``outstanding(after)`` without ``outstanding(before)``, by key. So no command can be forgotten or doubled, and a
resumed session orders exactly what a live one would. The order is a promise: checkpoint, model, calls in source
order, register, each followed by its timers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from agentcore.commands import (
    AskApproval,
    CancelModel,
    CancelTool,
    Command,
    CompactContext,
    EvaluatePolicy,
    ExecuteTool,
    InspectEffect,
    PersistCheckpoint,
    PrepareStep,
    RequestModel,
    ReviewCompletion,
    StartTimer,
    key_of,
)
from agentcore.events import Inspector
from agentcore.states import (
    WORKING,
    AwaitingApproval,
    AwaitingModel,
    AwaitingRetry,
    Call,
    CancellationRequested,
    Compacting,
    EffectUnknown,
    Executing,
    Preparing,
    Proposed,
    Request,
    ReviewingCompletion,
    RunningTools,
    State,
    Stopping,
    Streaming,
)


def outstanding(state: State) -> tuple[Command, ...]:
    """Return every command the state is waiting for, in order."""
    return (*_of_storage(state), *of_turn(state), *_of_register(state))


def difference(before: tuple[Command, ...], after: tuple[Command, ...]) -> tuple[Command, ...]:
    """Return what is newly ordered: commands of ``after`` whose key is not in ``before``, in order."""
    known = {key_of(command) for command in before}
    return tuple(command for command in after if key_of(command) not in known)


def of_turn(state: State) -> tuple[Command, ...]:
    """Return what belongs to the turn: its model work, its clock, its calls."""
    return (*_of_phase(state), *_of_clock(state), *_of_batch(state))


def waits_for_person(state: State) -> bool:
    """Say whether all that is outstanding of an open turn are questions to a person (D-27)."""
    if not isinstance(state.phase, RunningTools):
        return False
    waiting = [command for command in _of_batch(state) if not _is_expiry(command)]
    return bool(waiting) and all(is_question(command) for command in waiting)


def is_question(command: Command) -> bool:
    """Say whether a command asks a person."""
    return isinstance(command, AskApproval) or (isinstance(command, InspectEffect) and command.by is Inspector.PERSON)


def reviewee(calls: tuple[Call, ...]) -> Call | None:
    """Return the call whose review is due: one after the other, in source order; one under way is finished (R-120)."""
    asked = next((call for call in calls if isinstance(call.state, AwaitingApproval)), None)
    waiting = [call for call in calls if isinstance(call.state, Proposed)]
    return asked or min(waiting, key=_waits_since, default=None)


def _waits_since(call: Call) -> int:
    return call.state.since if isinstance(call.state, Proposed) else 0


def _is_expiry(command: Command) -> bool:
    return isinstance(command, StartTimer) and command.timer_id.startswith("expiry/")


def _of_storage(state: State) -> Iterator[Command]:
    storage = state.storage
    if storage.in_flight is not None:
        yield PersistCheckpoint(storage.in_flight, state.epoch, storage.attempt)
    if storage.retry_at is not None:
        yield StartTimer("checkpoint", state.epoch, storage.attempt, storage.retry_at)


def _of_phase(state: State) -> Iterator[Command]:
    turn, epoch = state.turn, state.epoch
    match state.phase:
        case Preparing(request_id=request_id, ordered=True):
            yield PrepareStep(request_id, epoch, turn.preparations)
        case AwaitingModel(request=request) | Streaming(request=request):
            yield from _of_request(request, epoch, "model")
        case AwaitingRetry(request_id=request_id, due_at=due_at, jitter_max_ms=jitter):
            yield StartTimer(f"retry/{request_id}", epoch, turn.requests, due_at, jitter)
        case Compacting(request_id=request_id, purpose=purpose):
            yield CompactContext(request_id, epoch, turn.compactions, purpose)
        case ReviewingCompletion(request_id=request_id, awaits_tasks=False):
            yield ReviewCompletion(request_id, epoch, turn.reviews)
        case Stopping(request=Request() as request):
            yield from _of_request(request, epoch, "grace", CancelModel(request.request_id, epoch, request.attempt))
        case _:
            pass


def _of_request(request: Request, epoch: int, timer: str, *beside: Command) -> Iterator[Command]:
    yield RequestModel(request.request_id, epoch, request.attempt)
    yield from beside
    if request.due_at is not None:
        yield StartTimer(f"{timer}/{request.request_id}", epoch, request.attempt, request.due_at)


def _of_clock(state: State) -> Iterator[Command]:
    turn = state.turn
    if turn.due_at is not None and isinstance(state.phase, WORKING):
        yield StartTimer(f"turn/{turn.number}", state.epoch, turn.clocks, turn.due_at)


def _of_batch(state: State) -> Iterator[Command]:
    batch = state.batch
    if batch is None:
        return
    reviewed = reviewee(batch.calls) if isinstance(state.phase, RunningTools) else None
    for call in batch.calls:
        yield from _of_call(call, state.epoch, reviewed=call is reviewed)


def _of_register(state: State) -> Iterator[Command]:
    for call in state.register:
        yield from _of_call(call, state.epoch, reviewed=False)


def _of_call(call: Call, epoch: int, *, reviewed: bool) -> Iterator[Command]:
    timer = partial(_timer, call, epoch)
    match call.state:
        case Proposed() if reviewed:
            yield EvaluatePolicy(call.call_id, epoch, call.tries.reviews)
        case AwaitingApproval(due_at=due_at, reason=reason):
            yield AskApproval(call.call_id, epoch, call.tries.questions, call.digest, reason)
            yield from timer("expiry", call.tries.questions, due_at)
        case Executing(run=run):
            yield ExecuteTool(call.call_id, epoch, run.attempt)
            yield from timer("deadline", run.attempt, run.due_at)
        case CancellationRequested(run=run, cancel=cancel):
            yield ExecuteTool(call.call_id, epoch, run.attempt)
            yield CancelTool(call.call_id, epoch, cancel.attempt, run.id)
            yield from timer("grace", cancel.attempt, cancel.grace_at)
        case EffectUnknown() as unknown:
            yield from _of_unknown(call, unknown, epoch)
        case _:
            pass


def _of_unknown(call: Call, unknown: EffectUnknown, epoch: int) -> Iterator[Command]:
    timer = partial(_timer, call, epoch)
    run, inquiry, cancel = unknown.run, unknown.inquiry, unknown.cancel
    if unknown.live:
        yield ExecuteTool(call.call_id, epoch, run.attempt)
    if unknown.live and cancel is None:
        yield from timer("deadline", run.attempt, run.due_at)
    if cancel is not None:
        yield CancelTool(call.call_id, epoch, cancel.attempt, run.id)
        yield from timer("grace", cancel.attempt, cancel.grace_at)
    if unknown.looking:
        yield InspectEffect(call.call_id, epoch, inquiry.attempt, inquiry.by, run.id)
    elif unknown.proved_absent is None:
        yield from timer("inquiry", inquiry.attempt, inquiry.resume_at)


def _timer(call: Call, epoch: int, kind: str, attempt: int, due_at: int | None) -> Iterator[Command]:
    if due_at is not None:
        yield StartTimer(f"{kind}/{call.call_id}", epoch, attempt, due_at)
