"""The whole attack: the probe first, then every scenario, two at a time; what breaks is made short."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Unpack

import anyio

from interpreters.check.catalogue import NAMED, chosen
from interpreters.check.deeds import judge_deeds
from interpreters.check.judge import judge_requests
from interpreters.check.play import CannotStart, play
from interpreters.check.record import Record
from interpreters.check.report import Outcome, Report, reasons_of
from interpreters.check.rules import Finding, Rule
from interpreters.check.scenarios import Scenario
from interpreters.check.setup import Settings, Setup
from interpreters.check.shrink import shrink

Progress = Callable[[Outcome, int, int], None]
"""Told each outcome, how many there are by now, and how many there will be."""

_FATAL = (Rule.CONNECTS, Rule.ENDS, Rule.OUTPUT_BOUNDED)
_ALWAYS = (Rule.CONNECTS, Rule.ENDS, Rule.OUTPUT_BOUNDED, Rule.REQUESTS_BOUNDED)


def run(
    command: Sequence[str],
    *,
    resume_command: Sequence[str] = (),
    cancel_command: Sequence[str] = (),
    scenarios: Sequence[str | Scenario] | None = None,
    seed: int = 0,
    generated: int = 10,
    jobs: int = 2,
    shrinks: bool = True,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Report:
    """Attack a program and return what was found; ``settings`` are further fields of ``Setup``.

    ``scenarios`` are names, or scenarios of your own; without them all named ones and ``generated`` made from ``seed``.
    ``ValueError`` for a name that there is not, ``CannotStart`` if there is no such program. Runs an event loop of its
    own: from async code await ``attack``.
    """
    setup = Setup(
        command=tuple(command),
        resume_command=tuple(resume_command),
        cancel_command=tuple(cancel_command),
        **settings,
    )
    wanted = pick(scenarios, seed, generated)

    async def work() -> Report:
        return await attack(setup, wanted, seed=seed, jobs=jobs, shrinks=shrinks, progress=progress)

    return anyio.run(work)


def pick(scenarios: Sequence[str | Scenario] | None, seed: int, generated: int) -> tuple[Scenario, ...]:
    """Return the scenarios to play; ``ValueError`` names one that there is not."""
    if scenarios is None:
        return chosen((), seed, generated)
    known = {name: chosen((name,), seed, generated)[0] for name in scenarios if isinstance(name, str)}
    return tuple(known[each] if isinstance(each, str) else each for each in scenarios)


async def attack(
    setup: Setup,
    scenarios: Sequence[Scenario],
    *,
    seed: int = 0,
    jobs: int = 2,
    shrinks: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Play scenarios against a program, ``jobs`` at a time, and judge them.

    A program that does not get through the probe (no request, no end, a flood) is not asked for more. Raises
    ``CannotStart``.
    """
    with _alone(CannotStart):
        return await _attack(setup, scenarios, seed=seed, jobs=jobs, shrinks=shrinks, progress=progress)


async def _attack(
    setup: Setup, scenarios: Sequence[Scenario], *, seed: int, jobs: int, shrinks: bool, progress: Progress | None
) -> Report:
    began, attacker = time.monotonic(), _Attack(setup, seed, shrinks=shrinks)
    outcomes: dict[int, Outcome] = {}

    async def judge(place: int, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            outcomes[place] = await attacker.judge(scenarios[place])
        if progress is not None:
            progress(outcomes[place], len(outcomes), len(scenarios))

    probe = await attacker.probe(scenarios)
    if probe is None:
        limiter = anyio.CapacityLimiter(jobs)
        async with anyio.create_task_group() as tasks:
            for place in range(len(scenarios)):
                tasks.start_soon(judge, place, limiter)
        found = tuple(outcomes[place] for place in range(len(scenarios)))
    else:
        why = "the program does not get through the simplest turn"
        found = (probe, *(Outcome(each, lacking=(why,)) for each in scenarios if each != probe.scenario))
    return Report(setup.command, seed, found, time.monotonic() - began)


@contextlib.contextmanager
def _alone(kind: type[Exception]) -> Iterator[None]:
    """Let an error of this kind out of the groups that wrap whatever passes through tasks."""
    try:
        yield
    except BaseExceptionGroup as group:
        found: BaseException | None = group.subgroup(kind)
        while isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        raise found or group from None


def judge(record: Record, setup: Setup) -> tuple[frozenset[Rule], tuple[Finding, ...]]:
    """Judge a record: the rules it exercised, and what broke, each rule once for each thing that it says."""
    parts = [judge_requests(record, setup), judge_deeds(record, setup)]
    found = [*record.findings, *(finding for _, findings in parts for finding in findings)]
    # The same slip stands in every later request: the first one shows it.
    first = {(finding.rule, finding.what): finding for finding in reversed(found)}
    once = {finding.rule: finding for finding in sorted(first.values(), key=lambda each: -each.request)}
    ordered = tuple(sorted(once.values(), key=lambda finding: list(Rule).index(finding.rule)))
    return frozenset({*_ALWAYS, *(rule for rules, _ in parts for rule in rules)}), ordered


class _Attack:
    """The parts of one attack."""

    def __init__(self, setup: Setup, seed: int, *, shrinks: bool) -> None:
        self._setup = setup
        self._marks = _marks(seed)
        self._shrinks = shrinks

    async def probe(self, scenarios: Sequence[Scenario]) -> Outcome | None:
        """Return the outcome of the simplest turn if the program does not get through it."""
        if not scenarios:
            return None
        record, exercised, findings = await self._play(NAMED[0])
        fatal = tuple(finding for finding in findings if finding.rule in _FATAL)
        return Outcome(NAMED[0], exercised, fatal, record=record) if fatal else None

    async def judge(self, scenario: Scenario) -> Outcome:
        """Play a scenario and judge it; make it short if something broke."""
        record, exercised, findings = await self._play(scenario)
        shrunk = await shrink(scenario, record, findings, self._again) if findings and self._shrinks else None
        return Outcome(scenario, exercised, findings, reasons_of(record), record, shrunk)

    async def _again(self, scenario: Scenario) -> tuple[Record, tuple[Finding, ...]]:
        record, _, findings = await self._play(scenario)
        return record, findings

    async def _play(self, scenario: Scenario) -> tuple[Record, frozenset[Rule], tuple[Finding, ...]]:
        record = await play(scenario, self._setup, next(self._marks))
        return record, *judge(record, self._setup)


def _marks(seed: int) -> Iterator[str]:
    """Words of seven letters and digits, the same ones for a seed."""
    for number in itertools.count():
        yield "w" + hashlib.sha256(f"{seed}/{number}".encode()).hexdigest()[:6]
