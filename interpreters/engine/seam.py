"""The seam: whatever an interpreter does, one event comes back, and nothing is ever raised into the engine.

Exceptions of every kind, cancellations that nobody here asked for, silence past ``Limits.answer_ms``, answers to
another question: each becomes the failure event of the command, the first class of its row in ``ANSWERS``. Cancels and
timers have none: the first have a grace timer in the reducer, the second cannot fail.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import anyio
import attrs

from agentcore.commands import ANSWERS, Command, InspectEffect
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


async def ask(command: Command, work: Answer, also: Callable[[], tuple[type[Event], ...]] = tuple) -> Event | None:
    """Do the work and return one event for the command; ``None`` only where a command cannot fail.

    ``also`` gives the classes that may come back beside the command's own: those of its cancel, once that was ordered.
    """
    answer = await guarded(work)
    if isinstance(answer, Fault):
        return failure(command, answer.cause, passing=answer.passing)
    if answer is None:
        return failure(command, "it gave no answer")
    if type(answer) not in ANSWERS[type(command)] + also() or not names(command, answer):
        return failure(command, f"it answered something else: {type(answer).__name__}")
    return answer


def names(command: Command, event: Event) -> bool:
    """Say whether an event names the whole key of the command, as far as events of its class name one."""
    return all(getattr(event, name, value) == value for name, value in _key(command).items())


def failure(command: Command, cause: str, *, passing: bool = False) -> Event | None:
    """Return the event that says that a command failed, ``None`` if it cannot; ``passing``: another try may help."""
    if isinstance(command, InspectEffect) and command.by is Inspector.PERSON:
        # Whoever cannot be asked is nobody: asking again and again would never bring the prompt back.
        return EffectResolved(
            at=STAMPED, call_id=command.call_id, resolution=Resolution.ABANDONED, by=NOBODY, result=cause
        )
    make = _FAILURES.get(next(iter(ANSWERS[type(command)]), None))
    return make({"at": STAMPED, **_key(command)}, cause, passing) if make is not None else None


def _key(command: Command) -> dict[str, Any]:
    fields = ("request_id", "call_id", "seq", "epoch", "attempt")
    return {name: getattr(command, name) for name in fields if hasattr(command, name)}


def _model_failed(key: dict[str, Any], cause: str, passing: bool) -> Event:  # noqa: FBT001 - one signature for the table
    kind = ModelFailure.RETRYABLE if passing else ModelFailure.FATAL
    return ModelFailed(**key, kind=kind, message=cause, code="model-interpreter-failed")


_FAILURES: Mapping[type[Event] | None, Callable[[dict[str, Any], str, bool], Event]] = {
    PreparationFailed: lambda key, cause, _: PreparationFailed(**key, reason=cause),
    ModelFailed: _model_failed,
    CompactionFailed: lambda key, cause, _: CompactionFailed(**key, reason=cause),
    CompletionAccepted: lambda key, cause, _: CompletionAccepted(**key, warning=f"review-failed: {cause}"),
    PolicyBlocked: lambda key, cause, _: PolicyBlocked(**key, rule="policy-failed", reason=cause),
    ApprovalDenied: lambda key, _, __: ApprovalDenied(**key, kind=DenialKind.NOBODY, by=NOBODY),
    ToolLost: lambda key, cause, _: ToolLost(**key, cause=cause),
    EffectInspected: lambda key, cause, _: EffectInspected(**key, finding=Finding.UNAVAILABLE, evidence=cause),
    CheckpointFailed: lambda key, cause, _: CheckpointFailed(**key, reason=cause),
}
"""How each failure event is made: from the command's key, the cause, and whether it may pass."""
