"""``check``: attack a program from outside and report which rules it breaks.

Ends with 0 if nothing is broken, 1 if something is, 2 if there is no such program or scenario, 130 after Ctrl-C.
"""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path

import attrs

from interpreters.check import CannotStart, Outcome, Patience, Report, Scenario, Verdict, pick, run
from interpreters.check.report import write_report
from interpreters.check.script import describe
from interpreters.check.setup import Settings
from interpreters.cli.exits import Exit, Problem
from interpreters.cli.output import Output


def check(arguments: Namespace, output: Output) -> int:
    """Attack the program, show what came of it, and say so in the exit code."""
    names = [name.strip() for name in arguments.scenarios.split(",") if name.strip()]
    try:
        chosen = pick(names or None, arguments.seed, arguments.generated)
    except ValueError as error:
        raise Problem(str(error)) from error
    if arguments.only_list:
        _list(chosen, output)
        return Exit.COMPLETED
    if not arguments.program:
        raise Problem("no program was given: agentcore check [options] -- python my_agent.py")
    try:
        report = run(
            arguments.program,
            resume_command=_words(arguments.resume_command, "--resume-command"),
            cancel_command=_words(arguments.cancel_command, "--cancel-command"),
            scenarios=chosen,
            seed=arguments.seed,
            jobs=arguments.jobs,
            shrinks=not arguments.no_shrink,
            progress=_Progress(output).show,
            **_settings(arguments),
        )
    except CannotStart as error:
        raise Problem(str(error)) from error
    _tell(report, arguments, output)
    return Exit.COMPLETED if report.held else Exit.FAILED


def _list(chosen: tuple[Scenario, ...], output: Output) -> None:
    for scenario in chosen:
        lines = list(describe(scenario))
        if output.as_json:
            output.value({"name": scenario.name, "script": lines})
        else:
            output.page("\n".join([scenario.name, *(f"    {line}" for line in lines)]))


def _settings(arguments: Namespace) -> Settings:
    given = {"connect_s": arguments.connect, "quiet_s": arguments.idle, "requests_max": arguments.max_requests}
    patience = attrs.evolve(Patience(), **{name: value for name, value in given.items() if value is not None})
    settings = Settings(
        cancels=not arguments.no_cancel, compacts=arguments.compacts, dialect=arguments.dialect, patience=patience
    )
    if arguments.prompt:
        settings["prompt"] = arguments.prompt
    return settings


def _words(command: str, flag: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise Problem(f"{flag} cannot be read: {error}") from error


class _Progress:
    """A line for each scenario that has been judged."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def show(self, outcome: Outcome, done: int, total: int) -> None:
        style = self._output.style
        broken = ", ".join(finding.rule for finding in outcome.findings)
        marks = {
            Verdict.HELD: "held",
            Verdict.BROKEN: style.bad(f"broken: {broken}"),
            Verdict.NOT_APPLICABLE: style.unsure("not applicable"),
        }
        self._output.note(f"{done:>4}/{total} {outcome.scenario.name}  {marks[outcome.verdict]}")


def _tell(report: Report, arguments: Namespace, output: Output) -> None:
    if arguments.junit:
        try:
            write_report(Path(arguments.junit), report.to_junit())
        except OSError as error:
            raise Problem(f"--junit {arguments.junit} cannot be written: {error}") from error
    if output.as_json:
        output.value(report.to_json())
    else:
        output.page(report.to_text())
