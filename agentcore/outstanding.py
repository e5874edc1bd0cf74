"""What a state waits for, derived from the state alone.

Commands are the difference of outstanding work and come from nowhere else: for an accepted event they are
``outstanding(after)`` without ``outstanding(before)``, by key. So no command can be forgotten or doubled, and a
resumed session orders exactly what a live one would. The order is a promise: checkpoint, model, calls in source
order, register, each followed by its timers.
"""

from __future__ import annotations

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
    Cancel,
    CancellationRequested,
    Compacting,
    EffectUnknown,
    Executing,
    Preparing,
    Proposed,
    Request,
    ReviewingCompletion,
    Run,
    RunningTools,
    State,
    Stopping,
    Streaming,
)


def outstanding(state: State) -> tuple[Command, ...]:
    """Return every command the state is waiting for, in order."""
    found: list[Command] = []
    _of_storage(state, found)
    _of_turn(state, found)
    for call in state.register:
        _of_call(call, state.epoch, found, reviewed=False)
    return tuple(found)


def difference(before: tuple[Command, ...], after: tuple[Command, ...]) -> tuple[Command, ...]:
    """Return what is newly ordered: commands of ``after`` whose key is not in ``before``, in order."""
    if not before:
        return after
    known = {key_of(command) for command in before}
    return tuple(command for command in after if key_of(command) not in known)


def of_turn(state: State) -> tuple[Command, ...]:
    """Return what belongs to the turn: its model work, its clock, its calls."""
    found: list[Command] = []
    _of_turn(state, found)
    return tuple(found)


def waits_for_person(state: State) -> bool:
    """Say whether all that is outstanding of an open turn are questions to a person (D-27)."""
    if not isinstance(state.phase, RunningTools):
        return False
    found: list[Command] = []
    _of_batch(state, found)
    waiting = [command for command in found if not _is_expiry(command)]
    return bool(waiting) and all(is_question(command) for command in waiting)


def is_question(command: Command) -> bool:
    """Say whether a command asks a person."""
    return isinstance(command, AskApproval) or (isinstance(command, InspectEffect) and command.by is Inspector.PERSON)


def reviewee(calls: tuple[Call, ...]) -> Call | None:
    """Return the call whose review is due: one after the other, in source order; one under way is finished (R-120)."""
    first, since = None, 0
    for call in calls:
        if isinstance(call.state, AwaitingApproval):
            return call
        if isinstance(call.state, Proposed) and (first is None or call.state.since < since):
            first, since = call, call.state.since
    return first


def _is_expiry(command: Command) -> bool:
    return isinstance(command, StartTimer) and command.timer_id.startswith("expiry/")


def _of_storage(state: State, found: list[Command]) -> None:
    storage = state.storage
    if storage.in_flight is not None:
        found.append(PersistCheckpoint(storage.in_flight, state.epoch, storage.attempt))
    if storage.retry_at is not None:
        found.append(StartTimer("checkpoint", state.epoch, storage.attempt, storage.retry_at))


def _of_turn(state: State, found: list[Command]) -> None:
    _of_phase(state, found)
    _of_clock(state, found)
    _of_batch(state, found)


def _of_phase(state: State, found: list[Command]) -> None:
    """Add what is waited for in a phase besides its calls; phases that wait for nothing stand in no case."""
    turn, epoch, phase = state.turn, state.epoch, state.phase
    match phase:
        case Preparing():
            if phase.ordered:
                found.append(PrepareStep(phase.request_id, epoch, turn.preparations))
        case AwaitingModel() | Streaming():
            _of_request(phase.request, epoch, found, "model")
        case AwaitingRetry():
            timer = f"retry/{phase.request_id}"
            found.append(StartTimer(timer, epoch, turn.requests, phase.due_at, phase.jitter_max_ms))
        case Compacting():
            found.append(CompactContext(phase.request_id, epoch, turn.compactions, phase.purpose))
        case ReviewingCompletion():
            if not phase.awaits_tasks:
                found.append(ReviewCompletion(phase.request_id, epoch, turn.reviews))
        case Stopping():
            request = phase.request
            if request is not None:
                _of_request(request, epoch, found, "grace", CancelModel(request.request_id, epoch, request.attempt))
        case _:
            pass


def _of_request(request: Request, epoch: int, found: list[Command], timer: str, *beside: Command) -> None:
    found.append(RequestModel(request.request_id, epoch, request.attempt))
    found.extend(beside)
    _add_timer(found, f"{timer}/{request.request_id}", epoch, request.attempt, request.due_at)


def _of_clock(state: State, found: list[Command]) -> None:
    turn = state.turn
    if turn.due_at is not None and isinstance(state.phase, WORKING):
        found.append(StartTimer(f"turn/{turn.number}", state.epoch, turn.clocks, turn.due_at))


def _of_batch(state: State, found: list[Command]) -> None:
    batch = state.batch
    if batch is None:
        return
    reviewed = reviewee(batch.calls) if isinstance(state.phase, RunningTools) else None
    for call in batch.calls:
        _of_call(call, state.epoch, found, reviewed=call is reviewed)


def _of_call(call: Call, epoch: int, found: list[Command], *, reviewed: bool) -> None:
    """Add what is waited for of a call; one that is ready, released or settled waits for others."""
    present = call.state
    match present:
        case Proposed():
            if reviewed:
                found.append(EvaluatePolicy(call.call_id, epoch, call.tries.reviews))
        case AwaitingApproval():
            number = call.tries.questions
            found.append(AskApproval(call.call_id, epoch, number, call.digest, present.reason))
            _add_timer(found, f"expiry/{call.call_id}", epoch, number, present.due_at)
        case Executing(run=run):
            found.append(ExecuteTool(call.call_id, epoch, run.attempt))
            _add_timer(found, f"deadline/{call.call_id}", epoch, run.attempt, run.due_at)
        case CancellationRequested(run=run, cancel=cancel):
            found.append(ExecuteTool(call.call_id, epoch, run.attempt))
            _add_cancel(call, epoch, found, run, cancel)
        case EffectUnknown():
            _of_unknown(call, present, epoch, found)
        case _:
            pass


def _of_unknown(call: Call, unknown: EffectUnknown, epoch: int, found: list[Command]) -> None:
    run, inquiry, cancel = unknown.run, unknown.inquiry, unknown.cancel
    if unknown.live:
        found.append(ExecuteTool(call.call_id, epoch, run.attempt))
    if unknown.live and cancel is None:
        _add_timer(found, f"deadline/{call.call_id}", epoch, run.attempt, run.due_at)
    if cancel is not None:
        _add_cancel(call, epoch, found, run, cancel)
    if unknown.looking:
        found.append(InspectEffect(call.call_id, epoch, inquiry.attempt, inquiry.by, run.id))
    elif unknown.proved_absent is None:
        _add_timer(found, f"inquiry/{call.call_id}", epoch, inquiry.attempt, inquiry.resume_at)


def _add_cancel(call: Call, epoch: int, found: list[Command], run: Run, cancel: Cancel) -> None:
    found.append(CancelTool(call.call_id, epoch, cancel.attempt, run.id))
    _add_timer(found, f"grace/{call.call_id}", epoch, cancel.attempt, cancel.grace_at)


def _add_timer(found: list[Command], timer_id: str, epoch: int, attempt: int, due_at: int | None) -> None:
    if due_at is not None:
        found.append(StartTimer(timer_id, epoch, attempt, due_at))
