"""Explore: everything that can happen within bounds, and which law it breaks, by the shortest way.

``explore`` runs one exploration, ``explore_all`` many on several processors. A report is data: ``Report.to_json`` for
programs, ``scenario_of`` in ``scenario`` for people. Nothing here needs Hypothesis.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import attrs

from agentcore.testing.core import CORE, Core
from agentcore.testing.laws import LAWS, Law
from agentcore.testing.report import Broken, Report, unreached
from agentcore.testing.script import Exploration
from agentcore.testing.search import CAP, Memory, Search

CHUNKS_A_JOB = 6
"""Portions each processor gets: few enough to share what was checked, enough to end together."""


def explore(
    exploration: Exploration,
    *,
    core: Core = CORE,
    laws: Mapping[str, Law] = LAWS,
    merge: bool = True,
    cap: int = CAP,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Run one exploration to its end, to the first broken law, or to ``cap`` places.

    ``progress(places, waiting)`` is called now and then. Without ``merge`` every way is followed apart, which only
    small explorations can afford.
    """
    return Search(exploration, core, laws, merge=merge, cap=cap).run(progress)


@attrs.frozen
class Result:
    """What many explorations found together."""

    reports: tuple[Report, ...]
    """One for each, in the order given."""
    unreached: Mapping[str, Sequence[str]]
    """What none of them reached, by kind."""

    @property
    def broken(self) -> tuple[tuple[Report, Broken], ...]:
        """Every broken law with the exploration that broke it."""
        return tuple((report, broken) for report in self.reports for broken in report.broken)

    @property
    def complete(self) -> bool:
        """Whether no law broke and no search was cut short."""
        return not self.broken and not any(report.capped for report in self.reports)

    def to_json(self) -> dict[str, Any]:
        """Return everything but the ways as JSON values."""
        return {
            "complete": self.complete,
            "places": sum(report.places for report in self.reports),
            "transitions": sum(report.transitions for report in self.reports),
            "explorations": [report.to_json() for report in self.reports],
            "unreached": {kind: list(names) for kind, names in self.unreached.items()},
        }


def explore_all(
    explorations: Iterable[Exploration],
    *,
    laws: Sequence[str] = tuple(LAWS),
    jobs: int = 2,
    cap: int = CAP,
    progress: Callable[[Report, int, int], None] | None = None,
) -> Result:
    """Run explorations on ``jobs`` processors; ``progress(report, done, total)`` is told of each that has ended."""
    scripts = tuple(explorations)
    size = -(-len(scripts) // (jobs * CHUNKS_A_JOB)) or 1
    run = partial(_run, names=tuple(laws), cap=cap)
    found: dict[str, Report] = {}

    def take(reports: Iterable[Report]) -> None:
        for report in reports:
            found[report.name] = report
            if progress is not None:
                progress(report, len(found), len(scripts))

    if jobs == 1:
        memory = Memory()
        for script in scripts:
            take(run((script,), memory=memory))
    else:
        portions = [scripts[first : first + size] for first in range(0, len(scripts), size)]
        # The heaviest first, or one processor would end long before the other.
        portions.sort(key=lambda portion: -sum(map(_weight, portion)))
        with multiprocessing.get_context("spawn").Pool(jobs) as pool:
            for reports in pool.imap_unordered(run, portions):
                take(reports)
    ordered = tuple(found[script.name] for script in scripts)
    return Result(ordered, unreached(ordered))


def _weight(script: Exploration) -> int:
    """Guess how large an exploration is: each thing that may happen multiplies, and each call."""
    happens = prod(times + 1 for times in script.budget.values())
    calls = max((len(reply.parts) for reply in script.replies[0]), default=0)
    return happens * 4 * calls * calls + happens


def _run(
    scripts: Sequence[Exploration], *, names: Sequence[str], cap: int, memory: Memory | None = None
) -> list[Report]:
    """Run some explorations one after the other; what was checked of a state in one is not checked again."""
    memory, laws = memory or Memory(), {name: LAWS[name] for name in names}
    return [Search(script, laws=laws, cap=cap, memory=memory).run() for script in scripts]
