"""A simulated world around one session, and what the session says compared with what happened.

How to read this package: ``session`` is the world and the engine in it; ``disk`` is what a crash leaves, ``models`` are
what talks to it; ``claims`` are the invariants; ``calm`` lets every turn end. ``agentcore.testing.machine`` drives it
by Hypothesis. The ground truth of effects is ``agentcore.testing.world``, the same that the explorer has.
"""

from __future__ import annotations

from agentcore.testing.simulation.calm import calm, next_due, wake_everybody
from agentcore.testing.simulation.claims import CLAIMS, Check, problem_of
from agentcore.testing.simulation.disk import Disk, Restored
from agentcore.testing.simulation.models import MANNERS, Manner
from agentcore.testing.simulation.session import Letter, Simulation

__all__ = [
    "CLAIMS",
    "MANNERS",
    "Check",
    "Disk",
    "Letter",
    "Manner",
    "Restored",
    "Simulation",
    "calm",
    "next_due",
    "problem_of",
    "wake_everybody",
]
