"""``explore``: search everything that can happen within the shipped bounds for a broken law."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from agentcore import Effect
from agentcore.testing.explorations import shipped, together
from agentcore.testing.explore import Result, explore_all
from agentcore.testing.report import Report
from agentcore.testing.scenario import render, scenario_of
from agentcore.testing.script import Exploration
from interpreters.cli.exits import Exit, Problem
from interpreters.cli.output import Output


def explore(arguments: Namespace, output: Output) -> int:
    """Run explorations and report. The exit code is 0 only if no law broke, nothing was cut short, all was reached."""
    chosen = _chosen(arguments)
    if arguments.only_list:
        for exploration in chosen:
            output.value({"name": exploration.name}) if output.as_json else output.page(exploration.name)
        return Exit.COMPLETED
    result = explore_all(chosen, jobs=arguments.jobs, progress=_Progress(output).show)
    whole = not arguments.names
    if output.as_json:
        output.value(result.to_json() | {"scenarios": _scenarios(result)})
    else:
        _page(result, output, whole=whole)
    return outcome_of(result, whole=whole)


def outcome_of(result: Result, *, whole: bool) -> Exit:
    """Return the exit code; what nothing reached is a failure only where everything shipped was searched."""
    kept = result.complete and not (whole and result.unreached)
    return Exit.COMPLETED if kept else Exit.FAILED


def _chosen(arguments: Namespace) -> Sequence[Exploration]:
    known = {each.name: each for each in _all(deep=arguments.deep)}
    if unknown := [name for name in arguments.names if name not in known]:
        raise Problem(f"there is no exploration {unknown[0]!r}: agentcore explore --list names them")
    return [known[name] for name in arguments.names] or list(known.values())


def _all(*, deep: bool) -> Sequence[Exploration]:
    triples = together(3, Effect.FENCEABLE, "writes") if deep else ()
    return (*shipped(), *triples)


class _Progress:
    """A line for each exploration that has ended."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def show(self, report: Report, done: int, total: int) -> None:
        style = self._output.style
        mark = style.bad("broken") if report.broken else style.unsure("cut short") if report.capped else "ok"
        told = f"{report.places:>7} places {report.transitions:>8} transitions {report.seconds:>6.1f} s"
        self._output.note(f"{done:>4}/{total} {told}  {mark}  {report.name}")


def _page(result: Result, output: Output, *, whole: bool) -> None:
    places = sum(report.places for report in result.reports)
    transitions = sum(report.transitions for report in result.reports)
    output.page(f"{len(result.reports)} explorations, {places:,} places, {transitions:,} transitions")
    for report in result.reports:
        if report.capped:
            output.page(f"cut short: {report.name}")
    for kind, names in result.unreached.items() if whole else ():
        output.page(f"{kind} that nothing reached: {', '.join(names)}")
    for text in _scenarios(result):
        output.page(f"\n{text}")
    if result.complete:
        output.page("No law was broken.")


def _scenarios(result: Result) -> list[str]:
    """Return each counterexample as the text of a scenario file."""
    return [render(scenario_of(broken, report.config)) for report, broken in result.broken]
