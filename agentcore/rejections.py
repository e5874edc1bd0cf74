"""Why an event was refused: fields first, text derived from them.

A rejection is for an event that is not legal here. It never changes the state; it says who is at fault, and what
would have
been legal, so that the reader knows the next step. *Denied* is the other word: a permission that was refused.
"""

from __future__ import annotations

from enum import StrEnum

import attrs


class Blame(StrEnum):
    """Who is at fault."""

    HOST = "host"
    WORLD = "world"
    STALE = "stale"
    CORE = "core"


class RejectionCode(StrEnum):
    """What is wrong, as a fact."""

    NOT_EXPECTED_HERE = "not-expected-here"
    TURN_IN_PROGRESS = "turn-in-progress"
    TURN_ENDED = "turn-ended"
    UNKNOWN_MESSAGE = "unknown-message"
    ALREADY_DELIVERED = "already-delivered"
    FOREIGN_TURN = "foreign-turn"
    FOREIGN_REQUEST = "foreign-request"
    STALE_REQUEST = "stale-request"
    FOREIGN_CALL = "foreign-call"
    FOREIGN_ATTEMPT = "foreign-attempt"
    STALE_ATTEMPT = "stale-attempt"
    EARLIER_ATTEMPT_ACTED = "earlier-attempt-acted"
    CONTRADICTS_ABSENCE = "contradicts-absence"
    ALREADY_SETTLED = "already-settled"
    ALREADY_DECIDED = "already-decided"
    ALREADY_ANSWERED = "already-answered"
    ALREADY_STARTED = "already-started"
    DIGEST_MISMATCH = "digest-mismatch"
    NOT_DETACHED = "not-detached"
    NOT_UNKNOWN = "not-unknown"
    EFFECT_NOT_PROVED_ABSENT = "effect-not-proved-absent"
    RETRY_NOT_POSSIBLE = "retry-not-possible"
    FOREIGN_CHECKPOINT = "foreign-checkpoint"
    EMPTY_PROMPT = "empty-prompt"
    CORE_DEFECT = "core-defect"


@attrs.frozen
class Rejection:
    """One refused event."""

    code: RejectionCode
    """What is wrong."""
    blame: Blame
    """Who is at fault."""
    state: str
    """Name of the phase or call state it met."""
    event: str
    """Class name of the event."""
    offending: str = ""
    """The id that does not fit, if it is one."""
    legal: tuple[str, ...] = ()
    """Class names of the events that would have been legal there."""
    advice: str = ""
    """What to do instead."""

    def __str__(self) -> str:
        """Say what was found, where, and what would have been legal."""
        where = f" for {self.offending}" if self.offending else ""
        advice = f" {self.advice}" if self.advice else ""
        legal = f" Legal here: {', '.join(self.legal)}." if self.legal else ""
        said = f"{self.event}{where} is refused in {self.state}: {self.code.value} (at fault: {self.blame.value})."
        return said + advice + legal
