"""The seam: whatever an interpreter does, one event comes back, and nothing is ever raised into the engine.

Exceptions of every kind, cancellations that nobody here asked for, silence past ``Limits.answer_ms``, answers to
another question: each becomes the failure event of the command, the first class of its row in ``ANSWERS``. Cancels and
timers have none: the first have a grace timer in the reducer, the second cannot fail.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import attrs

from agentcore.commands import (
    ANSWERS,
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
    RecordRejection,
    RequestModel,
    ReviewCompletion,
    StartTimer,
)
from agentcore.events import (
    ApprovalDenied,
    CheckpointFailed,
    CompactionFailed,
    CompletionAccepted,
    DenialKind,
    EffectInspected,
    EffectResolved,
    Event,
    Finding,
    Inspector,
    ModelFailed,
    ModelFailure,
    PolicyBlocked,
    PreparationFailed,
    Resolution,
    ToolLost,
)
from agentcore.messages import clean_text
from interpreters.support.ports import STAMPED

T = TypeVar("T")

Answer = Callable[[], Awaitable[Event | None]]
"""Work whose result answers a command."""

NOBODY = "nobody"
"""Who resolves an effect when there is no person to ask."""

CAUSE_LENGTH_MAX = 2_000
"""Characters of a cause that are kept."""

_MAY_PASS = (OSError, TimeoutError)
"""What a request may be tried again after, if a model raises it although it must not: trouble on the way."""


_WHEN_STOPPED: dict[type[Command], tuple[type[Event], ...]] = {
    RequestModel: ANSWERS[CancelModel],
    ExecuteTool: ANSWERS[CancelTool],
}
"""What may come instead of the ordinary end when a unit was told to stop."""


def describe(error: BaseException) -> str:
    """Name an exception and what it says, bounded and storable; for a group, everything in it."""
    if isinstance(error, BaseExceptionGroup):
        text = "; ".join(describe(inner) for inner in error.exceptions)
    else:
        said = _said(error)
        text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return clean_text(text[:CAUSE_LENGTH_MAX])


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as worse:  # noqa: BLE001 - the text of a foreign exception is foreign code too
        return f"(its text cannot be read: {type(worse).__name__})"


def silence(limit_ms: int) -> str:
    """Say that no answer came in time."""
    return f"no answer within {limit_ms} ms"


def never() -> bool:
    """Nobody asked for an end."""
    return False


@attrs.frozen
class Fault:
    """Work that broke."""

    cause: str
    """What was seen."""
    passing: bool = False
    """Another try may help."""


async def guarded(work: Callable[[], Awaitable[T]]) -> T | Fault:
    """Return what the work returns, or how it broke. Raises nothing but a cancellation that was asked for."""
    try:
        return await work()
    except BaseException as error:
        # Only a scope around us can have asked for a cancellation; one from anywhere else is a fault like any other.
        if anyio.current_effective_deadline() == -math.inf and isinstance(error, anyio.get_cancelled_exc_class()):
            raise
        return Fault(describe(error), isinstance(error, _MAY_PASS))


async def ask(command: Command, work: Answer, stopped: Callable[[], bool] = never) -> Event | None:
    """Do the work and return one event for the command; ``None`` only where a command cannot fail.

    ``stopped`` says whether the work was told to end: then the answers of its cancel count too.
    """
    answer = await guarded(work)
    if isinstance(answer, Fault):
        return failure(command, answer.cause, passing=answer.passing)
    if answer is None:
        return failure(command, "it gave no answer")
    expected = ANSWERS[type(command)] + (_WHEN_STOPPED.get(type(command), ()) if stopped() else ())
    if type(answer) not in expected or not names(command, answer):
        return failure(command, f"it answered something else: {type(answer).__name__}")
    return answer


def names(command: Command, event: Event) -> bool:
    """Say whether an event names the whole key of the command that it is to answer."""
    wanted: dict[str, object]
    match command:
        case PersistCheckpoint():
            wanted = {"seq": command.seq, "epoch": command.epoch, "attempt": command.attempt}
        case PrepareStep() | RequestModel() | CancelModel() | CompactContext() | ReviewCompletion():
            wanted = {"request_id": command.request_id, "epoch": command.epoch, "attempt": command.attempt}
        case InspectEffect() if isinstance(event, EffectResolved):
            wanted = {"call_id": command.call_id}
        case EvaluatePolicy() | AskApproval() | ExecuteTool() | InspectEffect():
            wanted = {"call_id": command.call_id, "epoch": command.epoch, "attempt": command.attempt}
        case CancelTool() | StartTimer() | RecordRejection():
            return False
    return all(getattr(event, name, None) == value for name, value in wanted.items())


def failure(command: Command, cause: str, *, passing: bool = False) -> Event | None:
    """Return the event that says that a command failed; ``passing`` says that another try may help."""
    match command:
        case PrepareStep(request_id=request_id, epoch=epoch, attempt=attempt):
            return PreparationFailed(at=STAMPED, request_id=request_id, epoch=epoch, attempt=attempt, reason=cause)
        case RequestModel(request_id=request_id, epoch=epoch, attempt=attempt):
            kind = ModelFailure.RETRYABLE if passing else ModelFailure.FATAL
            return ModelFailed(
                at=STAMPED,
                request_id=request_id,
                epoch=epoch,
                attempt=attempt,
                kind=kind,
                message=cause,
                code="model-interpreter-failed",
            )
        case CompactContext(request_id=request_id, epoch=epoch, attempt=attempt):
            return CompactionFailed(at=STAMPED, request_id=request_id, epoch=epoch, attempt=attempt, reason=cause)
        case ReviewCompletion(request_id=request_id, epoch=epoch, attempt=attempt):
            return CompletionAccepted(
                at=STAMPED, request_id=request_id, epoch=epoch, attempt=attempt, warning=f"review-failed: {cause}"
            )
        case PersistCheckpoint(seq=seq, epoch=epoch, attempt=attempt):
            return CheckpointFailed(at=STAMPED, seq=seq, epoch=epoch, attempt=attempt, reason=cause)
        case EvaluatePolicy() | AskApproval() | ExecuteTool() | InspectEffect():
            return _failure_of_call(command, cause)
        case CancelModel() | CancelTool() | StartTimer() | RecordRejection():
            return None


def _failure_of_call(command: EvaluatePolicy | AskApproval | ExecuteTool | InspectEffect, cause: str) -> Event:
    call_id, epoch, attempt = command.call_id, command.epoch, command.attempt
    match command:
        case EvaluatePolicy():
            return PolicyBlocked(
                at=STAMPED, call_id=call_id, epoch=epoch, attempt=attempt, rule="policy-failed", reason=cause
            )
        case AskApproval():
            return ApprovalDenied(
                at=STAMPED, call_id=call_id, epoch=epoch, attempt=attempt, kind=DenialKind.NOBODY, by=NOBODY
            )
        case ExecuteTool():
            return ToolLost(at=STAMPED, call_id=call_id, epoch=epoch, attempt=attempt, cause=cause)
        case InspectEffect(by=Inspector.PERSON):
            # Whoever cannot be asked is nobody: asking again and again would never bring the prompt back.
            return EffectResolved(at=STAMPED, call_id=call_id, resolution=Resolution.ABANDONED, by=NOBODY, result=cause)
        case InspectEffect():
            return EffectInspected(
                at=STAMPED,
                call_id=call_id,
                epoch=epoch,
                attempt=attempt,
                finding=Finding.UNAVAILABLE,
                evidence=cause,
            )
