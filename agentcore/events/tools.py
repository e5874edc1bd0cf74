"""Events around a call: review, execution, background task, inspection.

Evidence is part of the fact: what an interpreter saw is in the event, because nobody can look again later.
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from agentcore.messages import Artifact, EffectSeen, Usage


@attrs.frozen(kw_only=True)
class PolicyAllowed:
    """The rules let the call run with exactly these arguments."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the review."""
    attempt: int
    """Number of the review."""
    arguments: str
    """What will run, canonical JSON."""
    digest: str
    """SHA-256 of ``arguments``."""
    rule: str = ""
    """Id of the rule."""


@attrs.frozen(kw_only=True)
class PolicyAsked:
    """The rules want a person to decide about exactly these arguments."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the review."""
    attempt: int
    """Number of the review."""
    arguments: str
    """What would run, canonical JSON."""
    digest: str
    """SHA-256 of ``arguments``."""
    rule: str = ""
    """Id of the rule."""
    reason: str = ""
    """Why a person is asked."""


@attrs.frozen(kw_only=True)
class PolicyBlocked:
    """The rules, a hook, or a fault of either refused the call."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the review."""
    attempt: int
    """Number of the review."""
    rule: str
    """Id of the rule, or ``policy-failed``."""
    reason: str
    """Why."""
    dangerous: bool = False
    """The rule guards against something dangerous."""


@attrs.frozen(kw_only=True)
class ArgumentsRefused:
    """The arguments do not fit the tool's schema."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the review."""
    attempt: int
    """Number of the review."""
    problem: str
    """Which argument, what was found, what was expected."""


@attrs.frozen(kw_only=True)
class ToolStarted:
    """An attempt began; accepted once."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the attempt."""
    attempt: int
    """The attempt."""
    handle: str = ""
    """What an inspection can ask about: process, child session, remote task."""


@attrs.frozen(kw_only=True)
class ToolProgressed:
    """Something new is known of the remote state; progress meant for reading is a view, not this."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the attempt."""
    attempt: int
    """The attempt."""
    observation: str
    """What is known now."""


@attrs.frozen(kw_only=True)
class ToolSucceeded:
    """The effect happened."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the attempt."""
    attempt: int
    """The attempt."""
    result: str
    """What the model is told, bounded."""
    summary: str = ""
    """One line for people."""
    duration_ms: int | None = None
    """How long it ran, in milliseconds."""
    resource_version: str = ""
    """Version of what was changed."""
    artifacts: tuple[Artifact, ...] = ()
    """What was made."""
    terminate: bool = False
    """The tool suggests to end the turn."""
    usage: Usage = attrs.field(factory=Usage)
    """What a child consumed."""


@attrs.frozen(kw_only=True)
class ToolFailed:
    """The attempt ended in an error, and claims that it has ended."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the attempt."""
    attempt: int
    """The attempt."""
    error: str
    """Type, message, exit status: the real cause, bounded."""
    kind: str = ""
    """Machine-readable class."""
    fatal: bool = False
    """No other arguments can mend it."""
    duration_ms: int | None = None
    """How long it ran, in milliseconds."""
    usage: Usage = attrs.field(factory=Usage)
    """What a child consumed."""


@attrs.frozen(kw_only=True)
class ToolCancelled:
    """The attempt has ended because it was told to."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the attempt."""
    attempt: int
    """The attempt (of the execution, not of the cancel)."""
    effect: EffectSeen
    """What is proved about the effect."""
    usage: Usage = attrs.field(factory=Usage)
    """What a child consumed."""


@attrs.frozen(kw_only=True)
class ToolLost:
    """The attempt is out of sight: timeout, connection error, cancellation, fault of an interpreter."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the attempt."""
    attempt: int
    """The attempt."""
    cause: str
    """What was seen."""
    target: str = ""
    """What was being acted on: the request id the other side knows, or an address."""
    observation: str = ""
    """The last known remote state."""


@attrs.frozen(kw_only=True)
class TaskStarted:
    """A detached tool goes on in the background; the call has its answer, the task belongs to the session."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the attempt."""
    attempt: int
    """The attempt."""
    handle: str
    """What an inspection can ask about."""
    result: str = ""
    """What the model is told meanwhile."""


@attrs.frozen(kw_only=True)
class TaskSettled:
    """A detached task ended: the second answer to its ``ExecuteTool``."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call that started it."""
    epoch: int
    """Epoch of the attempt."""
    attempt: int
    """The attempt."""
    succeeded: bool
    """Whether it did what it was for."""
    result: str
    """Result or error."""
    artifacts: tuple[Artifact, ...] = ()
    """What was made."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed."""


class Inspector(StrEnum):
    """Who is to look at an effect."""

    PROGRAM = "program"
    PERSON = "person"


class Finding(StrEnum):
    """What an inspection found."""

    EXECUTED = "executed"
    FAILED = "failed"
    NOT_EXECUTED = "not-executed"
    STILL_RUNNING = "still-running"
    UNAVAILABLE = "unavailable"


@attrs.frozen(kw_only=True)
class EffectInspected:
    """Somebody looked. The tool says found or not found; the reducer decides what is conclusive."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call or task."""
    epoch: int
    """Epoch of the inspection."""
    attempt: int
    """Number of the inspection."""
    finding: Finding
    """What was found."""
    by: str = "tool"
    """Who looked."""
    conclusive: bool = False
    """With ``NOT_EXECUTED``: the attempt was voided, or nothing can act any more, as far as the tool can tell."""
    result: str = ""
    """Result or error that was found, or the state of what still runs."""
    question: str = ""
    """What was asked of whom."""
    evidence: str = ""
    """The answer in the other side's words."""
    retry_safe: bool = False
    """Whether the tool holds a retry for safe."""
