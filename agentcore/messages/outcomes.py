"""How a call ended: typed, truthful, never inferred from text.

``NotExecuted`` says that the effect did not happen; ``CancelledCall`` that the call was started and is confirmed to
have
stopped; ``Abandoned`` that somebody gave up finding out. The last, and a cancel whose effect is unproved, leave an
*open* effect behind: it stays in the session's register until evidence or a person settles it.
"""

from __future__ import annotations

from enum import StrEnum

import attrs


class EffectSeen(StrEnum):
    """What is proved about the effect of a call that was stopped."""

    NONE = "none"
    DONE = "done"
    UNPROVED = "unproved"


class ProvedBy(StrEnum):
    """Where the proof of an outcome comes from."""

    ATTEMPT = "attempt"
    EARLIER_ATTEMPT = "earlier-attempt"
    INSPECTION = "inspection"
    PERSON = "person"


class DenialCase(StrEnum):
    """Why a permission was refused; each case has its own consequence in the policy (D-1)."""

    STATIC = "static"
    REFUSED = "refused"
    FEEDBACK = "feedback"
    DANGEROUS = "dangerous"
    UNANSWERED = "unanswered"


class InvalidReason(StrEnum):
    """Why a call could not be run at all."""

    TOOL_NOT_FOUND = "tool-not-found"
    ARGUMENTS_MALFORMED = "arguments-malformed"
    ARGUMENTS_REFUSED = "arguments-refused"
    TRUNCATED = "truncated"


class NotExecutedReason(StrEnum):
    """Why an effect did not happen."""

    USER_ABORT = "user-abort"
    TURN_STOPPED = "turn-stopped"
    MAX_TOOL_CALLS = "max-tool-calls"
    STORAGE = "storage"
    PROVED_ABSENT = "proved-absent"
    PERSON_SAYS = "person-says"
    TOOL_GONE = "tool-gone"
    PERMISSION_GONE = "permission-gone"


@attrs.frozen
class Artifact:
    """A lasting thing a tool made."""

    id: str
    """The tool's name for it."""
    place: str
    """Where it lies: a path or an address, meant for people and hosts, never opened by the core."""
    sha256: str
    """Digest of its content, hexadecimal."""


@attrs.frozen
class Succeeded:
    """The effect happened and this is what came of it."""

    result: str
    """What the model is told."""
    summary: str = ""
    """One line for people."""
    duration_ms: int | None = None
    """How long the attempt ran, in milliseconds, where it is known."""
    resource_version: str = ""
    """The version of what was changed, as the other side names it."""
    artifacts: tuple[Artifact, ...] = ()
    """What was made."""
    timed_out: bool = False
    """The proof came after the effect had been unknown."""
    proved_by: ProvedBy = ProvedBy.ATTEMPT
    """Whose word this is."""
    terminate: bool = False
    """The tool suggests to end the turn; taken only if every result of the batch says so."""


@attrs.frozen
class FailedCall:
    """The attempt ended in an error and claims that it has ended."""

    error: str
    """Cause for the model and people: type, message, exit status."""
    kind: str = ""
    """Machine-readable class of the error, as the tool names it."""
    fatal: bool = False
    """A fault that no other arguments can mend: credentials, configuration, a security boundary (D-2)."""
    duration_ms: int | None = None
    """How long the attempt ran, in milliseconds, where it is known."""
    timed_out: bool = False
    """The proof came after the effect had been unknown."""
    proved_by: ProvedBy = ProvedBy.ATTEMPT
    """Whose word this is."""


@attrs.frozen
class InvalidCall:
    """The call could not be run: the model has to ask differently."""

    reason: InvalidReason
    """Which kind of problem."""
    problem: str
    """What was found, where, and what was expected."""


@attrs.frozen
class DeniedCall:
    """A rule or a person refused the permission."""

    case: DenialCase
    """Which of the five cases."""
    rule: str = ""
    """Id of the rule, empty where a person refused."""
    reason: str = ""
    """Why, in words."""
    by: str = ""
    """Who refused, empty for a rule."""


@attrs.frozen
class NotExecuted:
    """The effect did not happen: never started, or proved absent."""

    reason: NotExecutedReason
    """Why."""
    evidence: str = ""
    """The proof of absence, where the call had been started."""
    retryable: bool = True
    """Whether asking again is safe."""


@attrs.frozen
class CancelledCall:
    """The call was started and is confirmed to have stopped."""

    effect: EffectSeen
    """What is proved about its effect."""


@attrs.frozen
class Abandoned:
    """Somebody gave up finding out whether the effect happened."""

    by: str
    """A person, ``nobody`` where no one could be asked, or a policy."""


Outcome = Succeeded | FailedCall | InvalidCall | DeniedCall | NotExecuted | CancelledCall | Abandoned
"""Every way a call can end."""


def is_open(outcome: Outcome) -> bool:
    """Say whether the effect may have happened without proof: such an outcome belongs into the register."""
    if isinstance(outcome, CancelledCall):
        return outcome.effect is EffectSeen.UNPROVED
    return isinstance(outcome, Abandoned)


def is_error(outcome: Outcome) -> bool:
    """Say whether the model should be told that the call went wrong: everything but a success."""
    return not isinstance(outcome, Succeeded)
