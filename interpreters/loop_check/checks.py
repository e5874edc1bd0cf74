"""What a test does with the fixture ``loop_check``: explore, play a scenario, attack a program, save."""

from __future__ import annotations

import difflib
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from agentcore.testing.protocol import (
    Bounds,
    Findings,
    ScenarioError,
    explain,
    explore_protocol,
    protocol_of,
    protocol_scenario,
    replay,
)
from interpreters.support import osio

if TYPE_CHECKING:
    from interpreters.check import Report

DEEPER = 50
"""How many times as many states are searched under ``--loop-check-deep``."""
NAME_MAX = 120
"""Letters of a file name."""


@attrs.frozen(kw_only=True)
class LoopCheck:
    """The fixture ``loop_check``."""

    here: Path
    """The folder of the test; scenario files are looked for from there."""
    save_to: Path | None = None
    """Where counterexamples are saved: ``--loop-check-save``."""
    deep: bool = False
    """Whether searches may take long: ``--loop-check-deep``."""
    rewrite: bool = False
    """Whether scenario files are written anew: ``--loop-check-rewrite``."""
    tell: Callable[[str], None] = print
    """Takes a line for the end of the run."""

    def run(
        self,
        adapter: Any,
        *,
        states: int = Bounds().states,
        depth: int | None = None,
        seconds: float | None = None,
        whole: bool = False,
    ) -> Findings:
        """Explore a loop; the test fails with a shortest way to break each law that was broken.

        ``adapter`` is a ``LoopProtocol`` or an object with its members (see ``protocol_of``). A search that is ended by
        a bound of states, depth or seconds is told of at the end of the run; with ``whole`` it fails. Returns what was
        found, for tests that look at more.
        """
        protocol = protocol_of(adapter)
        bounds = Bounds(states * DEEPER, depth) if self.deep else Bounds(states, depth, seconds)
        findings = explore_protocol(protocol, bounds, clock=time.monotonic)
        self.tell(findings.summary())
        for broken in findings.broken:
            self.save(f"{protocol.name}-{broken.law}", protocol_scenario(protocol, broken))
        if findings.broken:
            pytest.fail(explain(findings), pytrace=False)
        if whole and findings.capped:
            pytest.fail(f"not everything was seen: {findings.summary()}", pytrace=False)
        return findings

    def scenario(self, adapter: Any, path: Path | str) -> None:
        """Play a scenario file, which has to come out as it is written and break no law.

        ``path`` is taken from the folder of the test. ``--loop-check-rewrite`` writes the file anew first.
        """
        file = self.here / path
        kept = osio.read_file(file).decode("utf-8")
        try:
            now = replay(protocol_of(adapter), kept)
        except ScenarioError as error:
            pytest.fail(f"{file.name}: {error}", pytrace=False)
        if now != kept and self.rewrite:
            _write(file, now)
            self.tell(f"rewritten: {file}")
        elif now != kept:
            lines = difflib.unified_diff(kept.splitlines(True), now.splitlines(True), "kept", "now")  # noqa: FBT003 - its own signature
            pytest.fail(
                f"{file.name} comes out otherwise (--loop-check-rewrite renews it)\n{''.join(lines)}", pytrace=False
            )
        broken = [line.strip() for line in now.split("\n") if line.startswith("    broken ")]
        if broken:
            pytest.fail(f"{file.name}: {broken[0]}\n\n{now}", pytrace=False)

    def black_box(self, command: Sequence[str], **options: Any) -> Report:
        """Attack a program from outside, as ``agentcore check`` does; the test fails with what it broke.

        ``options`` are those of ``interpreters.check.run``: ``resume_command``, ``scenarios``, ``seed`` and others.
        """
        from interpreters import check  # noqa: PLC0415 - the server and its tools are loaded by those who attack a program

        report = check.run(command, **options)
        self.tell(f"black box: {' '.join(command)}: {'held' if report.held else 'broken'}")
        if not report.held:
            self.save("black-box", report.to_text())
            pytest.fail(report.to_text(), pytrace=False)
        return report

    def save(self, name: str, text: str) -> Path | None:
        """Save the text of a scenario as ``NAME.txt`` where ``--loop-check-save`` says; without it nothing is done.

        Whatever else than letters, digits, points and dashes is in the name becomes a dash. Returns where it is.
        """
        if self.save_to is None:
            return None
        osio.make_directory(self.save_to, 0o777)
        plain = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip(".-")[:NAME_MAX] or "scenario"
        file = self.save_to / f"{plain}.txt"
        _write(file, text)
        self.tell(f"saved: {file}")
        return file


def _write(file: Path, text: str) -> None:
    descriptor = osio.open_file(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        osio.write_all(descriptor, text.encode("utf-8"))
    finally:
        osio.close(descriptor)
