"""What a step may answer besides a new state, and the pseudo-events that only the reducer itself makes."""

from __future__ import annotations

import attrs

from agentcore.rejections import Blame, RejectionCode


@attrs.frozen
class Ignored:
    """The event is legal and changes nothing."""

    because: str
    """Why, kebab-case."""


@attrs.frozen
class Refused:
    """The event is not legal here."""

    code: RejectionCode
    """What is wrong."""
    blame: Blame
    """Who is at fault."""
    offending: str = ""
    """The id that does not fit."""
    advice: str = ""
    """What to do instead."""


@attrs.frozen
class Advance:
    """Pseudo-event: after each accepted event the session goes as far as it can without hearing anything new."""


@attrs.frozen
class TimePassed:
    """Pseudo-event: before each event of the world, the turn's time is looked at (R-056)."""


@attrs.frozen
class StopEntered:
    """Pseudo-event: the turn entered ``Stopping``; offered to each of its calls."""


def stale(code: RejectionCode, offending: str, advice: str = "") -> Refused:
    """Refuse something that comes too late."""
    return Refused(code, Blame.STALE, offending, advice)
