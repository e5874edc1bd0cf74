"""The explorations that are shipped, as data.

1. ``pairs``: every two of the ``FAULTS`` on one unsafe call.
2. ``alone``: each fault on an unsafe call beside a pure one, and on two unsafe ones.
3. ``kinds``: each kind of effect with what happens to it; keyed, fenceable, inspectable, opaque.
4. ``features``: everything that the faults leave out, so that each row of the tables is taken at least once.
5. ``triples``: every three of the faults on one unsafe call, for those who have the time.

Bounds are small: one extra try of each loop is enough to see it, and one more to see it end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import attrs

from agentcore.limits import Limits
from agentcore.policy import Config, Effect, ToolContract
from agentcore.testing.script import ANSWER, Exploration, calling, tool

FEW = Limits(
    model_retries=1,
    resumes=1,
    denials=1,
    inspections=1,
    effect_retries=1,
    checkpoint_retries=1,
    observations=1,
    changed_grants=1,
)
"""Bounds that are reached soon."""

FAULTS: Mapping[str, Mapping[str, int]] = {
    "crash": {"crash": 1},
    "second-crash": {"crash": 1},
    "checkpoint-failure": {"checkpoint-failure": 2},
    "approval": {"approval": 1},
    "denial": {"denial": 1},
    "steering": {"steering": 1},
    "follow-up": {"follow-up": 1},
    "abort": {"abort": 2},
    "model-failure": {"model-failure": 1},
    "truncation": {"truncation": 1},
    "overflow": {"overflow": 1},
    "zero-limit": {},
    "timer": {"timer": 1},
    "detached-task": {"detach": 1},
    "resolution": {"person": 1},
}
"""What may happen, and what it adds to the budget. A second crash alone is a crash, so it is only taken after one."""


def with_faults(names: tuple[str, ...], calls: tuple[str, ...], effect: Effect) -> Exploration:
    """Return the exploration of faults on a message that calls tools: ``writes`` has the effect, ``reads`` is pure."""
    budget: dict[str, int] = {}
    for name in names:
        for option, times in FAULTS[name].items():
            budget[option] = budget.get(option, 0) + times
    limits = attrs.evolve(FEW, tool_calls=0) if "zero-limit" in names else FEW
    tools = (tool("writes", effect, detached="detached-task" in names), tool("reads", Effect.PURE))
    title = "+".join((effect.value, *calls, *names))
    return Exploration(title, Config(tools=tools, limits=limits), ((calling(*calls),), (ANSWER,)), budget)


def together(count: int, effect: Effect, *calls: str) -> Iterator[Exploration]:
    """Yield every so many faults on calls."""
    for names in combinations(FAULTS, count):
        if "second-crash" not in names or "crash" in names:
            yield with_faults(names, calls, effect)


def kinds() -> Iterator[Exploration]:
    """Yield for each kind of effect what happens to one call of it, until it is found out or given up."""
    for effect in (Effect.OPAQUE, Effect.KEYED, Effect.FENCEABLE, Effect.INSPECTABLE):
        for options in (
            {"inspection": 1, "inquiry": 2},
            {"retry": 1, "person": 1, "inquiry": 1},
            {"person": 1, "late-failure": 1, "crash": 1},
            {"abort-call": 1, "inquiry": 1, "crash": 1},
            {"abort": 2, "inquiry": 1, "inspection": 1},
            {"timer": 1, "abort": 1, "inquiry": 1},
            {"detach": 1, "abort-task": 1, "timer": 1},
            {"detach": 1, "crash": 1, "person": 1},
            {"detach": 1, "abort-all": 2, "inspection": 1},
            {"start": 1, "progress": 2, "crash": 1},
            {"crash": 1, "tool-gone": 1},
            {"crash": 1, "damage": 1},
        ):
            yield _on_one(effect, **options)


def _on_one(effect: Effect, **options: int) -> Exploration:
    budget = {name.replace("_", "-"): times for name, times in options.items()}
    tools = (tool("writes", effect, detached="detach" in budget),)
    title = "+".join((effect.value, *budget))
    return Exploration(title, Config(tools=tools, limits=FEW), ((calling("writes"),), (ANSWER,)), budget)
