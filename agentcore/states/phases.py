"""The turn machine: where a turn stands. Each phase is a class with only its own data.

``Idle`` → ``Preparing`` → ``AwaitingModel`` → ``Streaming`` → ``RunningTools`` → ``Preparing`` … → ``Saving`` → an
end. ``Stopping`` is the
one way out of work that is still going on; ``Saving`` waits until the end is durable.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import attrs

from agentcore.events import CompactionPurpose
from agentcore.states.because import Evidence, Transition
from agentcore.states.calls import Batch


class StopReason(StrEnum):
    """Why a turn ended; machine-readable, in the final view, the trace and evaluations (R-094)."""

    FINAL_ANSWER = "final_answer"
    TERMINATED = "terminated"
    STOPPED_BY_HOST = "stopped_by_host"
    PERMISSION_DENIED = "permission_denied"
    USER_ABORT = "user_abort"
    MAX_STEPS = "max_steps"
    MAX_TOOL_CALLS = "max_tool_calls"
    MAX_TOKENS = "max_tokens"
    MAX_COST = "max_cost"
    TIMEOUT = "timeout"
    LOOP_LIMIT = "loop_limit"
    MODEL_ERROR = "model_error"
    TOOL_ERROR = "tool_error"
    TRUNCATED = "truncated"
    NO_ANSWER = "no_answer"
    STORAGE = "storage"
    RESUMES = "resumes"


@attrs.frozen
class Ending:
    """How a turn ends, decided once; what comes later is added to the evidence."""

    reason: StopReason
    """Why."""
    loop: str = ""
    """The bound that tripped, for ``LOOP_LIMIT``."""
    rule: str = ""
    """Id of the rule, for ``PERMISSION_DENIED`` by a rule."""
    message: str = ""
    """Cause in words: the model's error, the refusal's reason."""
    warning: str = ""
    """Something to be said with a completed turn."""
    evidence: Evidence = ()
    """Facts it rests on."""


@attrs.frozen
class Request:
    """A model request in flight."""

    request_id: str
    """``turn.step``."""
    attempt: int
    """Which try; grows within the step."""
    due_at: int | None
    """Its deadline, or the end of its grace once it was told to end, in milliseconds."""


@attrs.frozen
class Idle:
    """No turn is open; the next prompt begins one."""

    transition: Transition
    """How it was reached."""


@attrs.frozen
class Preparing:
    """A step was begun and its request is not ready."""

    transition: Transition
    """How it was reached."""
    request_id: str
    """The step."""
    ordered: bool = False
    """The host is preparing; the answer to ``PrepareStep`` is awaited."""
    prepared: bool = False
    """The host has prepared, or installed nothing."""


@attrs.frozen
class AwaitingModel:
    """The request was ordered; nothing was received."""

    transition: Transition
    """How it was reached."""
    request: Request
    """The request."""


@attrs.frozen
class Streaming:
    """The first byte was seen; the message is not complete."""

    transition: Transition
    """How it was reached."""
    request: Request
    """The request."""


@attrs.frozen
class AwaitingRetry:
    """An attempt failed in a way that may pass; the next one waits for its time."""

    transition: Transition
    """How it was reached."""
    request_id: str
    """The step."""
    due_at: int
    """When the next attempt begins, in milliseconds."""
    jitter_max_ms: int
    """What the interpreter may add, in milliseconds."""


@attrs.frozen
class Compacting:
    """The context is being made smaller before a request of the same step."""

    transition: Transition
    """How it was reached."""
    request_id: str
    """The step."""
    purpose: CompactionPurpose
    """Why."""
    cause: str = ""
    """The provider's error that made it necessary; what the turn ends with if it fails."""


@attrs.frozen
class RunningTools:
    """The model asked for calls; each gets exactly one result, and all are written together."""

    transition: Transition
    """How it was reached."""
    batch: Batch
    """The calls."""


@attrs.frozen
class ReviewingCompletion:
    """An answer was given; a review, or a required background task, stands between it and the end."""

    transition: Transition
    """How it was reached."""
    request_id: str
    """The step of the answer."""
    ending: Ending
    """How the turn ends if nothing objects."""
    awaits_tasks: bool = False
    """Required tasks are still running; the review comes after them."""


@attrs.frozen
class Stopping:
    """The end is decided; work that was under way is being ended or found out."""

    transition: Transition
    """How it was reached."""
    ending: Ending
    """The reason that entered; later ones are added to its evidence."""
    request: Request | None = None
    """A model request that was told to end, until that is confirmed or its grace is over."""
    batch: Batch | None = None
    """Calls that are not all settled."""
    quiet: bool = False
    """Resumed too often: only questions, timers and checkpoints are ordered."""


@attrs.frozen
class Saving:
    """The turn is over; its end is not durable yet."""

    transition: Transition
    """How it was reached."""
    ending: Ending
    """How the turn ended."""
    seq: int
    """The event at which this was entered; the end stands when a checkpoint covers it."""


@attrs.frozen
class Completed:
    """The turn reached its answer, or its host or a tool stopped it at a boundary."""

    transition: Transition
    """How it was reached."""
    ending: Ending
    """How the turn ended."""
    seq: int
    """The event at which the end was decided."""
    unsaved: bool = False
    """The end is not durable: when reopened, the turn continues from its last saved point."""


@attrs.frozen
class Denied:
    """A refused permission ended the turn."""

    transition: Transition
    """How it was reached."""
    ending: Ending
    """How the turn ended."""
    seq: int
    """The event at which the end was decided."""
    unsaved: bool = False
    """The end is not durable: when reopened, the turn continues from its last saved point."""


@attrs.frozen
class Cancelled:
    """Somebody stopped the turn; a normal end, not an error."""

    transition: Transition
    """How it was reached."""
    ending: Ending
    """How the turn ended."""
    seq: int
    """The event at which the end was decided."""
    unsaved: bool = False
    """The end is not durable: when reopened, the turn continues from its last saved point."""


@attrs.frozen
class Exhausted:
    """A limit was reached."""

    transition: Transition
    """How it was reached."""
    ending: Ending
    """How the turn ended."""
    seq: int
    """The event at which the end was decided."""
    unsaved: bool = False
    """The end is not durable: when reopened, the turn continues from its last saved point."""


@attrs.frozen
class Failed:
    """A fault that could not be recovered ended the turn."""

    transition: Transition
    """How it was reached."""
    ending: Ending
    """How the turn ended."""
    seq: int
    """The event at which the end was decided."""
    unsaved: bool = False
    """The end is not durable: when reopened, the turn continues from its last saved point."""


End = Completed | Denied | Cancelled | Exhausted | Failed
Phase = (
    Idle
    | Preparing
    | AwaitingModel
    | Streaming
    | AwaitingRetry
    | Compacting
    | RunningTools
    | ReviewingCompletion
    | Stopping
    | Saving
    | Completed
    | Denied
    | Cancelled
    | Exhausted
    | Failed
)
ENDS: tuple[type[End], ...] = End.__args__
"""Classes of the ends."""
PHASES: tuple[type[Phase], ...] = Phase.__args__
"""Classes of all phases."""
WORKING = (Preparing, AwaitingModel, Streaming, AwaitingRetry, Compacting, RunningTools, ReviewingCompletion)
"""Phases in which a turn is open and its end not decided."""

END_OF: Mapping[StopReason, type[End]] = {
    StopReason.FINAL_ANSWER: Completed,
    StopReason.TERMINATED: Completed,
    StopReason.STOPPED_BY_HOST: Completed,
    StopReason.PERMISSION_DENIED: Denied,
    StopReason.USER_ABORT: Cancelled,
    StopReason.MAX_STEPS: Exhausted,
    StopReason.MAX_TOOL_CALLS: Exhausted,
    StopReason.MAX_TOKENS: Exhausted,
    StopReason.MAX_COST: Exhausted,
    StopReason.TIMEOUT: Exhausted,
    StopReason.LOOP_LIMIT: Exhausted,
    StopReason.MODEL_ERROR: Failed,
    StopReason.TOOL_ERROR: Failed,
    StopReason.TRUNCATED: Failed,
    StopReason.NO_ANSWER: Failed,
    StopReason.STORAGE: Failed,
    StopReason.RESUMES: Failed,
}
"""Which end each reason leads to."""
