"""Scenario files as judges: a mutant is killed by the file whose text it changes.

A file is run again only for mutants that change what it tells of one of its passages; then the whole text decides.
"""

from __future__ import annotations

import signal
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from agentcore.events import Event
from agentcore.reduce import Judgement, reduce, start
from agentcore.states import State
from agentcore.testing.core import Core
from agentcore.testing.scenario import Scenario, parse, render
from tests.mutation.mutated import calling

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
HANGS_AFTER = 1.0
"""Seconds of processor time after which a mutant is taken to hang, which is as good as another text."""

Examine = Callable[[State, Event], Judgement]
Place = Hashable
"""A row of the tables, or a function of the steps by its module and name."""


class Hangs(BaseException):
    """A mutant did not come to an end."""


def _hangs(_number: int, _frame: Any) -> None:
    raise Hangs


@contextmanager
def watched() -> Iterator[None]:
    """Let what hangs be stopped."""
    kept = signal.signal(signal.SIGVTALRM, _hangs)
    try:
        yield
    finally:
        signal.signal(signal.SIGVTALRM, kept)


def otherwise(ask: Callable[[], Any], expected: Any) -> bool:
    """Say whether something is not what is expected; what raises or hangs is not."""
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, HANGS_AFTER)
        return bool(ask() != expected)
    except (Hangs, Exception):
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def shown(judgement: Judgement) -> Any:
    """What a file that tells everything shows of a judgement."""
    said, reduction = judgement.rejection, judgement.reduction
    if said is not None:
        return judgement.reason, said.blame, said.offending, said.advice
    return judgement.verdict, judgement.reason, reduction.state, reduction.commands, judgement.hops


@attrs.frozen(eq=False)
class Page:
    """One scenario file."""

    name: str
    """From the folder of all scenarios."""
    scenario: Scenario
    """What happens in it."""
    text: str
    """What stands in it."""


@attrs.frozen(eq=False)
class Passed:
    """One event of a file, with the state it met and what came of it."""

    page: Page
    before: State
    event: Event
    expected: Any
    through: frozenset[Place]


def read(folder: Path = SCENARIOS) -> Iterator[Passed]:
    """Yield every passage of every file that is not told briefly."""
    for path in sorted(folder.rglob("*.txt")):
        text = path.read_text(encoding="utf-8")
        page = Page(str(path.relative_to(folder)), parse(text), text)
        states, briefly = [start(page.scenario.session_id, page.scenario.config, page.scenario.at).state], False
        for step in page.scenario.steps:
            if isinstance(step, str):
                briefly = step == "briefly" or (briefly and step != "whole")
                continue
            if step.keeps is not None:
                del states[step.keeps + 1 :]
            if step.event is None:
                continue
            before = states[-1]
            with calling() as called:
                judgement = reduce.examine(before, step.event)
            if judgement.reduction.state is not before:
                states.append(judgement.reduction.state)
            if not briefly:
                yield Passed(page, before, step.event, shown(judgement), frozenset((*called, *judgement.rows)))


class Suite:
    """All files, by the rows and functions that their passages go through."""

    def __init__(self, passages: Iterable[Passed]) -> None:
        self._of: dict[Place, list[Passed]] = defaultdict(list)
        files = set[str]()
        for each in passages:
            files.add(each.page.name)
            for place in each.through:
                self._of[place].append(each)
        self.files = len(files)
        """How many files tell anything."""

    def killer(self, place: Place, examine: Examine) -> str:
        """Return the first file that a mutant of a row or a function changes; empty if there is none."""
        asked = set[Page]()
        for each in self._of[place]:
            page = each.page
            if page not in asked and otherwise(partial(_told, each, examine), each.expected):
                asked.add(page)
                if otherwise(partial(render, page.scenario, Core(examine=examine)), page.text):
                    return page.name
        return ""


def _told(each: Passed, examine: Examine) -> Any:
    return shown(examine(each.before, each.event))
