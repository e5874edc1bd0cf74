"""Configurations under which sessions of every kind come about: tools of every effect, small limits, all readings."""

from __future__ import annotations

from typing import Any

import attrs
from attrs import evolve

from agentcore.limits import Limits
from agentcore.policy import Config, Effect, Policy, ToolContract
from agentcore.testing.strategies.dice import Dice
from agentcore.testing.strategies.kinds import roll

TOOLS = (
    ToolContract("reads", Effect.PURE),
    ToolContract("writes", Effect.FENCEABLE),
    ToolContract("sends", Effect.OPAQUE),
    ToolContract("puts", Effect.KEYED),
    ToolContract("posts", Effect.INSPECTABLE, acts_within_ms=1_500, absent_otherwise="retry"),
    ToolContract("locks", Effect.FENCEABLE, exclusive=True, absent_after_resume="report", timeout_ms=50),
    ToolContract("starts", Effect.OPAQUE, detached=True),
    ToolContract("builds", Effect.FENCEABLE, detached=True, required=True, on_failure="block"),
    ToolContract("fetches", Effect.KEYED, detached=True, required=True),
    ToolContract("must", Effect.OPAQUE, on_failure="block"),
    ToolContract("pays", Effect.OPAQUE, timeout_ms=2_000),
    ToolContract("rings", Effect.OPAQUE, exclusive=True),
    ToolContract("finishes", Effect.PURE, completes=True),
)
"""A tool of each effect, and one for each option of a contract."""

_OTHERS = ("_ms", "tokens", "cost_micros", "max_parallel")
_COUNTS = tuple(field.name for field in attrs.fields(Limits) if not field.name.endswith(_OTHERS))


def roll_config(dice: Dice) -> Config:
    """Return a configuration that a host could choose."""
    tools = TOOLS if not dice.once_in(3) else (*TOOLS[:3], *dice.some(TOOLS[3:]))
    completing = dice.once_in(8) and any(tool.completes for tool in tools)
    policy = roll(Policy, dice) if dice.once_in(2) else Policy()
    return Config(
        tools,
        _roll_limits(dice),
        evolve(policy, completion_required=completing, sequential=dice.once_in(6)),
        prepares_steps=dice.once_in(3),
        reviews_completion=dice.once_in(3),
    )


def _roll_limits(dice: Dice) -> Limits:
    """Bound a few counts tightly, so that what happens at a bound happens."""
    tight: dict[str, Any] = {name: dice.weighed({2: 3, 1: 3, None: 2, 0: 1}) for name in _COUNTS if dice.once_in(12)}
    measured = {"tokens": dice.weighed({None: 8, 300: 1, 60: 1}), "cost_micros": dice.weighed({None: 8, 40: 1})}
    return Limits(
        **{**tight, **measured},
        max_parallel=dice.pick((8, 1, 2)),
        turn_ms=dice.pick((None, None, None, 60_000)),
        approval_ms=dice.pick((None, 5_000)),
        compact_at_tokens=dice.pick((None, None, 30)),
    )
