"""A Hypothesis state machine that drives a session and a simulated world together.

Each rule is something that can happen: an answer, early or late; a letter that comes twice; an act of a user; a worker
that wakes up; a disk that fails; a crash. After each of them every invariant of ``simulation.claims`` compares what the
session says with what happened; at the end the world calms down and the turn has to end.

``run(examples=..., seed=...)`` runs it and returns what was visited; ``python -m agentcore.testing.machine`` does so
without an end. To try other tables, a broken reducer, or configurations of one's own, subclass ``SessionMachine`` and
set ``core`` or ``configs``; a subclass may add rules.
"""

from __future__ import annotations

from agentcore.testing.machine.rules import SessionMachine
from agentcore.testing.machine.runs import EFFECTS, PROFILES, RULES, Profile, new_census, run

__all__ = ["EFFECTS", "PROFILES", "RULES", "Profile", "SessionMachine", "new_census", "run"]
