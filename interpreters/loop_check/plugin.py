"""What pytest loads: three options, the fixture ``loop_check``, and lines at the end of the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from interpreters.loop_check.checks import LoopCheck

_LINES = pytest.StashKey[list[str]]()


@pytest.hookimpl
def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("loop-check", "exploration of agent loops")
    group.addoption("--loop-check-save", metavar="DIR", help="save every counterexample as a scenario file below DIR")
    group.addoption("--loop-check-deep", action="store_true", help="search fifty times as many states")
    group.addoption(
        "--loop-check-rewrite", action="store_true", help="write scenario files anew instead of comparing with them"
    )


# It holds nothing of a test, so tests that Hypothesis runs many times may share it.
@pytest.fixture(scope="module")
def loop_check(request: pytest.FixtureRequest) -> LoopCheck:
    """Explore a loop: ``loop_check.run(adapter)`` fails with the shortest way to break each law."""
    from interpreters.loop_check.checks import LoopCheck  # noqa: PLC0415 - loaded when a test asks for it, not before

    config = request.config
    folder = config.getoption("--loop-check-save")
    return LoopCheck(
        here=request.path.parent,
        save_to=Path(config.invocation_params.dir, folder) if folder else None,
        deep=config.getoption("--loop-check-deep"),
        rewrite=config.getoption("--loop-check-rewrite"),
        tell=config.stash.setdefault(_LINES, []).append,
    )


@pytest.hookimpl
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was explored and what was saved: a search that was cut short must not look like a proof."""
    lines: list[str] = config.stash.get(_LINES, [])
    if lines:
        terminalreporter.section("loop check")
    # What Hypothesis makes short is saved again with each step.
    for line in dict.fromkeys(lines):
        terminalreporter.write_line(line)
