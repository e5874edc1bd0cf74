"""How an attempt ended, as an event.

A task that went into the background has answered its call already: its end is ``TaskSettled``, the second answer. An
attempt that stopped because it was told to is ``ToolCancelled``, which answers the order to stop.
"""

from __future__ import annotations

import asyncio

import anyio

from agentcore.events import Event, TaskSettled, ToolCancelled, ToolFailed, ToolLost, ToolSucceeded
from agentcore.messages import Artifact, EffectSeen, clean_text
from interpreters.tools.attempt import OBSERVATION_MAX, Attempt
from interpreters.tools.errors import OutcomeUnknown, ToolError, ToolStopped, describe, why_lost
from interpreters.tools.results import Returned

ERROR_MAX = 4_000
"""Characters of an exception's message that are recorded."""

_SUMMARY_MAX = 200
_KIND_MAX = 200


def ended_well(attempt: Attempt, returned: Returned, text: str) -> Event:
    """The tool returned; ``text`` is what the model is told of it."""
    artifacts = (*(_storable(each) for each in returned.artifacts), *attempt.artifacts)
    if attempt.detached:
        return TaskSettled(**attempt.stamp, succeeded=True, result=text, artifacts=artifacts)
    return ToolSucceeded(
        **attempt.stamp,
        result=text,
        summary=attempt.clean(returned.summary or text.strip().split("\n", 1)[0], _SUMMARY_MAX),
        duration_ms=attempt.duration_ms,
        resource_version=attempt.clean(returned.resource_version, OBSERVATION_MAX),
        artifacts=artifacts,
        terminate=returned.terminate,
    )


def _storable(artifact: Artifact) -> Artifact:
    return Artifact(clean_text(artifact.id), clean_text(artifact.place), clean_text(artifact.sha256))


def ended_badly(attempt: Attempt, error: BaseException) -> Event:
    """The tool raised: what it says counts, else the table of losses and the tool's effect decide."""
    if isinstance(error, ToolError):
        return _failed(attempt, error)
    if isinstance(error, ToolStopped) and not attempt.cancel_requested:
        told = error.effect is EffectSeen.NONE
        return _failed(attempt, error) if told else _lost(attempt, error, "it stopped without being told to")
    if attempt.cancel_requested and not isinstance(error, OutcomeUnknown):
        return stopped(attempt, error.effect if isinstance(error, ToolStopped) else EffectSeen.UNPROVED)
    why = "" if attempt.pure else why_lost(error)
    return _lost(attempt, error, why) if why else _failed(attempt, error)


def stopped(attempt: Attempt, effect: EffectSeen) -> ToolCancelled:
    """The tool was told to stop and has ended."""
    return ToolCancelled(**attempt.stamp, effect=EffectSeen.NONE if attempt.pure else effect)


def _lost(attempt: Attempt, error: BaseException, why: str) -> ToolLost:
    cause = attempt.clean(describe(error), ERROR_MAX)
    target = attempt.clean(getattr(error, "target", ""), OBSERVATION_MAX)
    observation = attempt.clean(getattr(error, "observation", ""), OBSERVATION_MAX) or attempt.observation
    return ToolLost(**attempt.stamp, cause=f"{cause} ({why})", target=target, observation=observation)


def _failed(attempt: Attempt, error: BaseException) -> ToolFailed | TaskSettled:
    own = error if isinstance(error, ToolError) else None
    # What a tool words itself (a command's output with its exit status) is a result like any other in length.
    text = attempt.clean(describe(error), attempt.output_max if own else ERROR_MAX)
    if attempt.detached:
        return TaskSettled(**attempt.stamp, succeeded=False, result=text, artifacts=tuple(attempt.artifacts))
    return ToolFailed(
        **attempt.stamp,
        error=text,
        kind=attempt.clean((own.kind if own else "") or type(error).__name__, _KIND_MAX),
        fatal=own is not None and own.fatal,
        duration_ms=attempt.duration_ms,
    )


def is_from_outside(error: BaseException) -> bool:
    """Say whether an exception is the cancellation of the caller, which must pass, and not one the tool made itself.

    asyncio lets anything raise ``CancelledError``, and raises it in whoever awaits a task that was cancelled; only the
    task knows whether it is meant. In trio nobody else can raise ``Cancelled``.
    """
    if not isinstance(error, anyio.get_cancelled_exc_class()):
        return False
    if not isinstance(error, asyncio.CancelledError):
        return True
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
