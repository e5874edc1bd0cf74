"""Makes a failing scenario shorter, one thing at a time, for as long as it breaks the same rule.

The search ends after 25 runs or 60 seconds. It is *minimal* only if every shorter form of the last one was tried.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator

import attrs

from interpreters.check.record import Record
from interpreters.check.report import Shrunk
from interpreters.check.rules import Finding, Rule
from interpreters.check.scenarios import Behaviour, Call, Form, Ids, Scenario, Step

RUNS_MAX = 25
SECONDS_MAX = 60.0
"""Where the search stops, with ``RUNS_MAX``."""

Try = Callable[[Scenario], Awaitable[tuple[Record, tuple[Finding, ...]]]]
"""Plays a scenario and judges it."""


async def shrink(scenario: Scenario, record: Record, findings: tuple[Finding, ...], again: Try) -> Shrunk:
    """Return the shortest form of a failure; its first finding names the rule that must stay broken."""
    rule, runs, began = findings[0].rule, 0, time.monotonic()
    best = Shrunk(record, _first(findings, rule), 0, minimal=False)
    tried = {scenario}
    while True:
        shorter = next((each for each in simpler(best.record.scenario) if each not in tried), None)
        if shorter is None:
            return attrs.evolve(best, runs=runs, minimal=True)
        if runs >= RUNS_MAX or time.monotonic() - began > SECONDS_MAX:
            return attrs.evolve(best, runs=runs)
        tried.add(shorter)
        runs += 1
        played, found = await again(shorter)
        if any(finding.rule is rule for finding in found):
            best = Shrunk(played, _first(found, rule), runs, minimal=False)


def _first(findings: tuple[Finding, ...], rule: Rule) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.rule is not rule))


def simpler(scenario: Scenario) -> Iterator[Scenario]:
    """Return the forms that lack one thing, the largest things first."""
    for place in range(len(scenario.steps)):
        yield _without_step(scenario, place)
    if scenario.act is not None:
        yield attrs.evolve(scenario, act=None)
        if scenario.act.step:
            yield attrs.evolve(scenario, act=attrs.evolve(scenario.act, step=0))
    if scenario.endless:
        yield attrs.evolve(scenario, endless=False)
    for place, step in enumerate(scenario.steps):
        for each in _simpler_step(step):
            yield attrs.evolve(scenario, steps=(*scenario.steps[:place], each, *scenario.steps[place + 1 :]))


def _without_step(scenario: Scenario, place: int) -> Scenario:
    steps = (*scenario.steps[:place], *scenario.steps[place + 1 :])
    act = scenario.act
    if act is not None:
        act = attrs.evolve(act, step=max(0, min(act.step - (place < act.step), len(steps) - 1)))
    return attrs.evolve(scenario, steps=steps, act=act, endless=scenario.endless and bool(steps))


def _simpler_step(step: Step) -> Iterator[Step]:
    for place in range(len(step.instead)):
        yield attrs.evolve(step, instead=(*step.instead[:place], *step.instead[place + 1 :]))
    for place in range(len(step.calls)):
        if len(step.calls) > 1:
            yield attrs.evolve(step, calls=(*step.calls[:place], *step.calls[place + 1 :]))
    if step.labelled_stop:
        yield attrs.evolve(step, labelled_stop=False)
    if step.ids is not Ids.FRESH:
        yield attrs.evolve(step, ids=Ids.FRESH)
    for place, call in enumerate(step.calls):
        for each in _simpler_call(call):
            yield attrs.evolve(step, calls=(*step.calls[:place], each, *step.calls[place + 1 :]))


def _simpler_call(call: Call) -> Iterator[Call]:
    if call.tool != Call().tool:
        yield attrs.evolve(call, tool=Call().tool)
    if call.form is not Form.GOOD:
        yield attrs.evolve(call, form=Form.GOOD)
    if call.behaviour is not Behaviour.QUICK:
        yield attrs.evolve(call, behaviour=Behaviour.QUICK)
