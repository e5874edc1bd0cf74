"""Runs each test again with every living mutant of the rows that it took: the quickest way to ask a whole suite.

A test that takes long is not asked; one that a mutant keeps from ending is stopped, which is as good as a failure. Time
is that of the processor: a busy machine kills nobody.
"""

from __future__ import annotations

import signal
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from agentcore.table import Row
from tests.mutation.judging import installed, noting
from tests.mutation.rows import Mutant

ROOT = Path(__file__).resolve().parent.parent.parent
SUITE = ("tests/core", "tests/cases", "tests/scenarios")
"""What judges: examples of the core and the field cases; neither golden matrix nor generated pages."""
OPTIONS = ("-q", "--no-header", "--assert=plain", "-p", "no:cacheprovider", "-m", "not slow and not deep")
TEST_MAX = 0.1
"""Seconds that a test may take to be run again."""
TRIES_MAX = 40
"""Tests that are asked about one mutant: with the seconds above a bound of 4 seconds."""
HANGS_AFTER = 2.0
"""Seconds after which a test with a mutant in it is taken to hang."""


class Hangs(BaseException):
    """A test did not end; of no class that a test or a seam could catch by accident."""


class Replay:
    """A plugin of pytest that remembers who killed whom."""

    def __init__(self, mutants: list[Mutant]):
        self.killed: dict[str, str] = {}
        self.tried: dict[str, int] = defaultdict(int)
        self.of_row: dict[Row | None, list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            self.of_row[mutant.row].append(mutant)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        taken: set[Row] = set()
        began = time.process_time()
        with noting(taken):
            passed = self._passes(item, nextitem)
        if passed and time.process_time() - began < TEST_MAX:
            for row in (None, *taken):
                self._ask(item, nextitem, row)
        return True

    def _ask(self, item, nextitem, row):
        for mutant in list(self.of_row[row]):
            self.tried[mutant.name] += 1
            with installed(mutant):
                if not self._passes(item, nextitem):
                    self.killed[mutant.name] = item.nodeid
            if mutant.name in self.killed or self.tried[mutant.name] >= TRIES_MAX:
                self.of_row[row].remove(mutant)

    def _passes(self, item, nextitem):
        with suppress(AttributeError):
            item._initrequest()
        signal.setitimer(signal.ITIMER_PROF, HANGS_AFTER)
        try:
            return all(
                report.passed or report.skipped for report in runtestprotocol(item, nextitem=nextitem, log=False)
            )
        except Hangs:
            return False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def _hangs(_number, _frame):
    raise Hangs


def asked(mutants: list[Mutant], suite: tuple[str, ...] = SUITE) -> Replay:
    """Run the suite once for all mutants and return who killed whom."""
    replay = Replay(mutants)
    kept = signal.signal(signal.SIGPROF, _hangs)
    try:
        pytest.main([*OPTIONS, *suite], plugins=[replay])
    finally:
        signal.signal(signal.SIGPROF, kept)
    return replay
