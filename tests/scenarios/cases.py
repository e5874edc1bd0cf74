"""The field cases as scenario files: what each of them does to a session, step by step.

A case is a check in ``tests/cases`` that drives a session and looks at it where its claims are. Here it is played and
recorded; ``test_cases.py`` compares the recording with a file that people can read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentcore.messages import EffectSeen, FinishReason
from agentcore.policy import Effect
from agentcore.states import State
from agentcore.testing.report import Step
from agentcore.testing.scenario import Scenario
from tests.cases.helpers_a import Case

FOLDER = Path(__file__).resolve().parents[1] / "cases"

PLAYS: Mapping[str, Callable[[ModuleType], Any]] = {
    "bc-01": lambda case: case.check(Effect.FENCEABLE, EffectSeen.UNPROVED),
    "bc-03": lambda case: case.check(case.requested, "another result"),
    "bc-04": lambda case: case.check(case.released),
    "bc-05": lambda case: case.check(case.dies),
    "bc-06": lambda case: case.check(Effect.FENCEABLE, case.inspected),
    "bc-07": lambda case: case.check(case.given_up, Effect.OPAQUE, reloads=True),
    "bc-09": lambda case: case.check(case.smaller_and_crash),
    "bc-10": lambda case: case.check("reply", streaming=True),
    "bc-11": lambda case: case.check(case.silent, Effect.FENCEABLE),
    "bc-12": lambda case: case.check_a(Effect.OPAQUE, EffectSeen.UNPROVED, dies=True),
    "bc-13": lambda case: case.check_cancel_first(),
    "bc-14": lambda case: case.check_a(streaming=True, dies=True),
    "bc-15": lambda case: case.check_run(FinishReason.STOP, Effect.OPAQUE),
    "bc-16": lambda case: case.check_twice("label"),
    "bc-19": lambda case: case.check("b"),
    "bc-20": lambda case: case.check(equal=False),
    "bc-21": lambda case: case.check(),
    "bc-22": lambda case: case.check_b(),
    "bc-23": lambda case: case.check(case.steer),
    "bc-27": lambda case: case.check_c(),
    "bc-28": lambda case: case.check(crash=True),
    "bc-29": lambda case: case.check(),
    "bc-31": lambda case: case.check(),
    "bc-32": lambda case: case.check_closing(),
    "bc-34": lambda case: case.check_waits(),
    "bc-36": lambda case: case.check_bound(),
}
"""What is played of a case. The others are about bytes, processes, files or screens, or walk through every order."""


def source(name: str) -> Path:
    """The module of a case."""
    return next(FOLDER.glob(f"test_{name.replace('-', '_')}_*.py"))


def scenario(name: str) -> Scenario:
    """The session that a case drives; the first one if it drives several."""
    module = import_module(f"tests.cases.{source(name).stem}")
    with recorded() as sessions:
        PLAYS[name](module)
    begun, steps = sessions[0]
    title = " ".join((module.__doc__ or "").split("\n\n")[0].split())
    return Scenario(begun.session_id, begun.at, begun.config, (f"# {title}", *steps))


@contextmanager
def recorded() -> Iterator[list[tuple[State, list[Step]]]]:
    """Yield a list that is filled while the block runs: each session as it began, and what happened to it."""
    sessions: list[tuple[State, list[Step]]] = []
    begin, give, restart = Case.__init__, Case.given, Case.restart

    def begun(case, *tools, **config):
        begin(case, *tools, **config)
        case.steps, case.crashed = [], False
        sessions.append((case.state, case.steps))

    def given(case, event):
        # The resume right behind a crash says how much of the journal the crash left.
        case.steps.append(Step(event, keeps=case.state.seq if case.crashed else None))
        case.crashed = False
        return give(case, event)

    def restarted(case, **options):
        case.crashed = True
        restart(case, **options)

    with pytest.MonkeyPatch.context() as patch:
        for method, wrapped in (("__init__", begun), ("given", given), ("restart", restarted)):
            patch.setattr(Case, method, wrapped)
        yield sessions
