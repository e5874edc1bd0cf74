"""What came of it: a verdict for each scenario, a standing for each rule, and both as JSON, JUnit and text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import attrs

from interpreters.check.record import Record
from interpreters.check.rules import MEANINGS, WITHOUT, Finding, Rule
from interpreters.check.scenarios import Scenario
from interpreters.check.script import script_of, shown
from interpreters.support import osio

SCHEMA = 1
"""Version of the JSON report."""


class Verdict(StrEnum):
    """What a scenario, or a rule, comes to."""

    HELD = "held"
    BROKEN = "broken"
    NOT_APPLICABLE = "not applicable"


@attrs.frozen
class Shrunk:
    """The shortest scenario that was found to break the same rule."""

    record: Record
    """Its run."""
    findings: tuple[Finding, ...]
    """What it breaks; the first is the rule that was looked for."""
    runs: int
    """How many runs it took."""
    minimal: bool
    """Every shorter one was tried, and held."""


@attrs.frozen
class Outcome:
    """One scenario, played and judged."""

    scenario: Scenario
    """What was played."""
    exercised: frozenset[Rule] = frozenset()
    """Rules about which it says something."""
    findings: tuple[Finding, ...] = ()
    """What broke."""
    lacking: tuple[str, ...] = ()
    """Why it says nothing, in words, where the program lacks the means."""
    record: Record | None = None
    """The run; ``None`` if it was not even begun."""
    shrunk: Shrunk | None = None
    """The shortest form of a failure."""

    @property
    def verdict(self) -> Verdict:
        """Broken if anything is; not applicable where the means are missing."""
        if self.findings:
            return Verdict.BROKEN
        return Verdict.NOT_APPLICABLE if self.lacking or self.record is None else Verdict.HELD

    @property
    def script(self) -> str:
        """The failure as a script to read: what was played, what happened, and the request that shows it."""
        if self.shrunk is not None:
            return script_of(self.shrunk.record, self.shrunk.findings, _shrinking(self.shrunk))
        return script_of(self.record, self.findings, "") if self.record else ""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        found = [{"rule": each.rule, "what": shown(each.what), "request": each.request} for each in self.findings]
        return {
            "scenario": self.scenario.name,
            "verdict": self.verdict,
            "exercised": sorted(self.exercised) if self.verdict is not Verdict.NOT_APPLICABLE else [],
            "findings": found,
            "lacking": list(self.lacking),
            "requests": len(self.record.askings) if self.record else 0,
            "deeds": len(self.record.deeds) if self.record else 0,
            "minimal": self.shrunk.minimal if self.shrunk else None,
            "script": self.script if self.findings else "",
        }


@attrs.frozen
class Report:
    """Everything that one check found."""

    command: tuple[str, ...]
    """The program."""
    seed: int
    """What the scenarios were generated from."""
    outcomes: tuple[Outcome, ...]
    """One for each scenario, in order."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def held(self) -> bool:
        """Whether nothing is broken."""
        return not self.broken

    @property
    def broken(self) -> tuple[Outcome, ...]:
        """The scenarios in which something broke."""
        return tuple(each for each in self.outcomes if each.findings)

    @property
    def rules(self) -> Mapping[Rule, Verdict]:
        """Return how each rule stands, over all scenarios."""
        broken = {finding.rule for each in self.outcomes for finding in each.findings}
        judged = [each for each in self.outcomes if each.verdict is not Verdict.NOT_APPLICABLE]
        exercised = {rule for each in judged for rule in each.exercised}
        return {
            rule: Verdict.BROKEN if rule in broken else Verdict.HELD if rule in exercised else Verdict.NOT_APPLICABLE
            for rule in Rule
        }

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "schema": SCHEMA,
            "command": list(self.command),
            "seed": self.seed,
            "held": self.held,
            "seconds": round(self.seconds, 1),
            "rules": dict(self.rules),
            "scenarios": [each.to_json() for each in self.outcomes],
        }

    def to_junit(self) -> str:
        """Return it as a JUnit XML document: one test case for each scenario."""
        counts = {verdict: sum(each.verdict is verdict for each in self.outcomes) for verdict in Verdict}
        suite = ET.Element(
            "testsuite",
            name="agentcore check",
            tests=str(len(self.outcomes)),
            failures=str(counts[Verdict.BROKEN]),
            skipped=str(counts[Verdict.NOT_APPLICABLE]),
            time=f"{self.seconds:.1f}",
        )
        for each in self.outcomes:
            case = ET.SubElement(suite, "testcase", classname="agentcore.check", name=each.scenario.name)
            if each.findings:
                told = "; ".join(f"{finding.rule}: {finding.what}" for finding in each.findings)
                ET.SubElement(case, "failure", message=shown(told)).text = each.script
            elif each.verdict is Verdict.NOT_APPLICABLE:
                ET.SubElement(case, "skipped", message=shown("; ".join(each.lacking)))
        return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"

    def to_text(self) -> str:
        """Return it as a page to read."""
        lines = []
        for outcome in self.broken:
            lines += [outcome.script, ""]
        width = max(len(rule) for rule in Rule)
        lines += [f"{rule:<{width}}  {verdict:<14}  {MEANINGS[rule]}" for rule, verdict in self.rules.items()]
        counts = [sum(each.verdict is verdict for each in self.outcomes) for verdict in Verdict]
        told = ", ".join(f"{count} {verdict}" for count, verdict in zip(counts, Verdict, strict=True))
        return "\n".join(
            [*lines, "", f"{len(self.outcomes)} scenarios: {told} ({self.seconds:.0f} s, seed {self.seed})"]
        )


def reasons_of(record: Record) -> tuple[str, ...]:
    """Return why a record says nothing, in words."""
    return tuple(WITHOUT[means] for means in sorted(record.lacking))


def write_report(path: Path, text: str) -> None:
    """Write a report, in place of what was there; ``OSError`` if that cannot be done."""
    descriptor = osio.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        osio.write_all(descriptor, text.encode())
    finally:
        osio.close(descriptor)


def _shrinking(shrunk: Shrunk) -> str:
    state = "minimal" if shrunk.minimal else "perhaps not minimal: the search was cut short"
    return f"shortest form after {shrunk.runs} runs, {state}"
