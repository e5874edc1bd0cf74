"""Runs of the state machine: how many examples, from which seeds, and what they have to visit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

import attrs
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded_by
from hypothesis.stateful import RULE_MARKER, run_state_machine_as_test

from agentcore.policy import Effect
from agentcore.testing.census import Census
from agentcore.testing.machine.rules import SessionMachine

RULES = tuple(name for name, value in vars(SessionMachine).items() if hasattr(value, RULE_MARKER))
"""Names of the rules; with ``begins`` they are everything that can happen."""

EFFECTS = tuple(f"{effect.value} begun" for effect in Effect)
"""Words by which executions are counted."""


@attrs.frozen
class Profile:
    """How much is tried."""

    examples: int
    """Examples of one seed."""
    seeds: int | None
    """Seeds from 1 on, each of which is run; ``None`` for no end."""
    steps: int = 60
    """Steps of an example, at most."""

    def __iter__(self) -> Iterator[int]:
        """Iterate over the seeds."""
        return iter(range(1, self.seeds + 1)) if self.seeds is not None else count(1)


PROFILES: Mapping[str, Profile] = {
    "dev": Profile(examples=100, seeds=2),
    "ci": Profile(examples=250, seeds=8),
    "deep": Profile(examples=1_000, seeds=None),
}
"""The profiles by name; the same one tries the same examples every time, whatever the machine."""


def new_census() -> Census:
    """Return a census that also counts rules and kinds of effects."""
    return Census({"rules": RULES, "effects": EFFECTS})


def run(
    machine: type[SessionMachine] = SessionMachine,
    *,
    examples: int,
    steps: int = 60,
    seed: int = 0,
    shrinks: bool = True,
    census: Census | None = None,
) -> Census:
    """Run so many examples of up to so many steps and return what they visited, added to a census if one is given.

    The same seed gives the same examples. A failure raises ``AssertionError`` with the broken claim; Hypothesis prints
    the steps and, as a note, the scenario file. ``shrinks=False`` fails with the first example that was found.
    """
    census = census if census is not None else new_census()
    tried = seeded_by(seed)(type(machine.__name__, (machine,), {"census": census}))
    profile = settings(
        max_examples=examples,
        stateful_step_count=steps,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink] if shrinks else [Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(tried, settings=profile)
    return census
