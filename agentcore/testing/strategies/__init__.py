"""Hypothesis strategies for every value of the vocabulary, alone or fitting a state that was reached.

Three kinds:

- ``values(kind)`` is any value of a type of the vocabulary: a state, an event, a command, a message, a configuration,
  or a union of them. Its parts need not fit each other. This is what a codec or a projection has to bear.
- ``sessions``, ``calls`` and ``events`` fit together: a state that the reducer really reached, in the phase or with a
  call in the state that is wanted, and an event aimed at it. ``Aim`` says whether its ids are those that are waited
  for, repeated, of an earlier attempt, epoch, step or turn, or of nothing that ever was. Here the laws hold.
- ``journals`` are the bytes of such a session as a file store writes them, whole or with a ``Flaw``; ``collisions`` are
  states that no events lead to, because one thing was broken in them that the reducer never breaks.

Everything is built by ``Dice``, so a ``Walk``, which needs a thousand choices quickly, is the same thing rolled by a
seed. How to read this package: ``dice``, ``kinds`` and ``configs`` make values; ``aims``, ``replies`` and ``contents``
make events; ``walk`` goes on from them, ``pools`` keeps what walks reach, ``journals`` and ``collisions`` break that.
"""

from __future__ import annotations

from agentcore.testing.strategies.aims import Aim, address
from agentcore.testing.strategies.collisions import COLLISIONS, roll_collision
from agentcore.testing.strategies.configs import TOOLS, roll_config
from agentcore.testing.strategies.contents import AIMS, roll_event
from agentcore.testing.strategies.dice import Dice, seeded, spent
from agentcore.testing.strategies.drawn import (
    calls,
    collisions,
    configs,
    events,
    journals,
    rolled,
    sessions,
    states,
    values,
)
from agentcore.testing.strategies.journals import Flaw, Journal, roll_journal
from agentcore.testing.strategies.kinds import roll
from agentcore.testing.strategies.session import Session
from agentcore.testing.strategies.walk import Happening, Walk

__all__ = [
    "AIMS",
    "COLLISIONS",
    "TOOLS",
    "Aim",
    "Dice",
    "Flaw",
    "Happening",
    "Journal",
    "Session",
    "Walk",
    "address",
    "calls",
    "collisions",
    "configs",
    "events",
    "journals",
    "roll",
    "roll_collision",
    "roll_config",
    "roll_event",
    "roll_journal",
    "rolled",
    "seeded",
    "sessions",
    "spent",
    "states",
    "values",
]
