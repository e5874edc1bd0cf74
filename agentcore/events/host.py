"""Events of the host and its user: what somebody asked for or decided.

Every event has ``at``, integer milliseconds since the Unix epoch, stamped by the engine. Messages and acts carry an
id that the
client minted, so that sending one twice does nothing the second time.
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from agentcore.messages import Message, UserPart
from agentcore.policy import Config


@attrs.frozen(kw_only=True)
class PromptSubmitted:
    """The user began a turn. Legal in ``Idle`` only."""

    at: int
    """When, in milliseconds."""
    message_id: str
    """Minted by the client."""
    parts: tuple[UserPart, ...] = ()
    """What the user said; may be empty if queued messages are named."""
    queued: tuple[str, ...] = ()
    """Ids of queued messages that are delivered with it, in this order."""


@attrs.frozen(kw_only=True)
class SteeringQueued:
    """The user said something meant for the running turn."""

    at: int
    """When, in milliseconds."""
    message_id: str
    """Minted by the client."""
    parts: tuple[UserPart, ...]
    """What the user said."""


@attrs.frozen(kw_only=True)
class FollowUpQueued:
    """The user said something meant for after the running turn."""

    at: int
    """When, in milliseconds."""
    message_id: str
    """Minted by the client."""
    parts: tuple[UserPart, ...]
    """What the user said."""


@attrs.frozen(kw_only=True)
class MessageWithdrawn:
    """The user took a queued message back."""

    at: int
    """When, in milliseconds."""
    message_id: str
    """The queued message."""


class AbortScope(StrEnum):
    """What an abort reaches."""

    TURN = "turn"
    CALL = "call"
    TASK = "task"
    ALL = "all"
    AFTER_STEP = "after-step"


@attrs.frozen(kw_only=True)
class AbortRequested:
    """Somebody wants work to stop."""

    at: int
    """When, in milliseconds."""
    act_id: str
    """Minted by the client: the same act twice is one."""
    scope: AbortScope
    """What it reaches."""
    turn: int = 0
    """The turn meant by ``TURN`` and ``AFTER_STEP``."""
    call_id: str = ""
    """The call meant by ``CALL`` and ``TASK``."""


@attrs.frozen(kw_only=True)
class ApprovalGranted:
    """A person allowed a call, bound to the arguments that were shown (G-6)."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the question."""
    attempt: int
    """Number of the question."""
    arguments: str
    """The arguments that may run, canonical JSON; others than asked for send the call back to review."""
    digest: str
    """SHA-256 of ``arguments``."""
    by: str = "user"
    """Who allowed it."""


class DenialKind(StrEnum):
    """Why no permission came."""

    REFUSED = "refused"
    EXPIRED = "expired"
    NOBODY = "nobody"


@attrs.frozen(kw_only=True)
class ApprovalDenied:
    """A person refused a call, or nobody was there to ask."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the question."""
    attempt: int
    """Number of the question."""
    kind: DenialKind = DenialKind.REFUSED
    """Refused, expired, or nobody there."""
    feedback: str = ""
    """What the person wants instead; shown to the model."""
    by: str = "user"
    """Who refused."""


@attrs.frozen(kw_only=True)
class InspectionRequested:
    """Somebody wants an unknown effect looked at now."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call or task."""


@attrs.frozen(kw_only=True)
class RetryRequested:
    """Somebody wants a call run again; an act of its own, legal only after its absence was proved (R-243)."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call."""
    act_id: str = ""
    """Minted by the client: the same act twice is one. Without an id nothing tells a repetition from a new act."""


class Resolution(StrEnum):
    """A person's word about an unknown effect."""

    EXECUTED = "executed"
    FAILED = "failed"
    NOT_EXECUTED = "not-executed"
    ABANDONED = "abandoned"


@attrs.frozen(kw_only=True)
class EffectResolved:
    """A person said what became of an effect; an inspection in flight becomes stale."""

    at: int
    """When, in milliseconds."""
    call_id: str
    """The call or task."""
    resolution: Resolution
    """What the person says."""
    by: str = "user"
    """Who says so, or ``nobody`` where no one could be asked."""
    result: str = ""
    """The result or error, for the model."""
    retry: bool = False
    """With ``NOT_EXECUTED``: run it again."""
    act_id: str = ""
    """Minted by the client: the same act twice is one. A word about one attempt must not be taken for one
    about the next."""


@attrs.frozen(kw_only=True)
class SessionReopened:
    """The host wants to go on after an end; the session is ``Idle`` again."""

    at: int
    """When, in milliseconds."""


class DamageKind(StrEnum):
    """What is wrong with a journal."""

    TORN_TAIL = "torn-tail"
    MIDDLE = "middle"


@attrs.frozen(kw_only=True)
class Suspect:
    """A call that lines behind a damage show as started: nothing more is known of it."""

    call_id: str
    """Its id."""
    name: str
    """Its tool, if the lines say so."""
    arguments: str = ""
    """Its arguments, if the lines say so."""


@attrs.frozen(kw_only=True)
class Recovery:
    """What the store found when the session was opened."""

    last_seq: int = 0
    """The last event that could be read."""
    damage: DamageKind | None = None
    """What was wrong, if anything."""
    place: str = ""
    """File and byte offset of the damage."""
    kept_at: str = ""
    """Where the damaged bytes were set aside."""
    gap_accepted_by: str = ""
    """Who accepted that events are missing."""
    suspects: tuple[Suspect, ...] = ()
    """Calls that lines behind a damage show as started."""
    last_turn: int = 0
    """The highest turn that lines behind a damage name: its ids are used up."""
    last_step: int = 0
    """The highest step of that turn that they name."""
    last_epoch: int = 0
    """The highest epoch that they name or imply: its keys are used up."""


@attrs.frozen(kw_only=True)
class SessionResumed:
    """A process took the session up again; the old one is dead, what it did last is not known."""

    at: int
    """When, in milliseconds."""
    config: Config
    """The host's configuration, in force from here on."""
    recovery: Recovery = attrs.field(factory=Recovery)
    """What the store found."""


@attrs.frozen(kw_only=True)
class HistoryImported:
    """The host brought a history from elsewhere. Legal in ``Idle``; orphans are mended when it is taken in (D-35)."""

    at: int
    """When, in milliseconds."""
    messages: tuple[Message, ...]
    """Oldest first; calls are paired by provider id within a message and the results behind it."""


@attrs.frozen(kw_only=True)
class HistoryCleared:
    """The user wants the model to forget; the window moves, nothing is deleted. Legal in ``Idle``."""

    at: int
    """When, in milliseconds."""


@attrs.frozen(kw_only=True)
class ConfigChanged:
    """The host changed the configuration. Legal in ``Idle``."""

    at: int
    """When, in milliseconds."""
    config: Config
    """In force from here on."""
