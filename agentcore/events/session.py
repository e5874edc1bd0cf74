"""Events of the store and the clock."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class CheckpointWritten:
    """The store holds everything up to ``seq``."""

    at: int
    """When, in milliseconds."""
    seq: int
    """The last event that is covered."""
    epoch: int
    """Epoch of the order."""
    attempt: int
    """Number of the order."""


@attrs.frozen(kw_only=True)
class CheckpointFailed:
    """The store could not make the session durable."""

    at: int
    """When, in milliseconds."""
    seq: int
    """The last event that was to be covered."""
    epoch: int
    """Epoch of the order."""
    attempt: int
    """Number of the order."""
    reason: str
    """Why."""


@attrs.frozen(kw_only=True)
class TimerFired:
    """A due time came."""

    at: int
    """When, in milliseconds."""
    timer_id: str
    """Which timer."""
    epoch: int
    """Epoch of the timer."""
    attempt: int
    """Number of the timer."""
