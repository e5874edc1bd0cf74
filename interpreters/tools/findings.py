"""What the ``inspect`` of a tool may answer. It says what it saw; the reducer decides what is conclusive."""

from __future__ import annotations

from typing import Any

import attrs

from agentcore.events import Finding


@attrs.frozen
class Found:
    """One answer. Made by the functions below."""

    finding: Finding
    """Which answer."""
    result: Any = None
    """What the effect gave, what went wrong with it, or how far it is."""
    evidence: str = ""
    """What was seen, in the other side's words."""
    conclusive: bool = False
    """With ``not_executed``: the attempt cannot act any more either."""
    retry_safe: bool = False
    """Whether a retry would be safe."""


def executed(result: Any = None, *, evidence: str = "") -> Found:
    """The effect happened; ``result`` is what the tool would have returned."""
    return Found(Finding.EXECUTED, result, evidence)


def failed(error: str, *, evidence: str = "") -> Found:
    """The attempt ended in an error and did not do what it was for."""
    return Found(Finding.FAILED, error, evidence)


def not_executed(evidence: str, *, conclusive: bool = False) -> Found:
    """Nothing of the effect was found; ``conclusive`` promises that this attempt can never act from now on."""
    return Found(Finding.NOT_EXECUTED, None, evidence, conclusive=conclusive, retry_safe=conclusive)


def still_running(observation: str = "") -> Found:
    """The attempt is under way."""
    return Found(Finding.STILL_RUNNING, observation)


def unavailable(reason: str) -> Found:
    """Nobody could be asked."""
    return Found(Finding.UNAVAILABLE, None, reason)
