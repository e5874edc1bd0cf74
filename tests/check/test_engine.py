"""Our own engine under attack: every rule of the black box, kills included."""

from __future__ import annotations

import os

import pytest

from interpreters.check import NAMED, Rule, Verdict
from interpreters.models import DIALECTS
from tests.check.conftest import SLOWER
from tests.meta.tree import ROOT

SPOKEN = tuple(name for name in ("chat", "responses", "anthropic") if name in DIALECTS)
"""The dialects that the engine speaks."""

FIRST = (
    "duplicate-ids",
    "cut-call-that-parses",
    "kill-in-deed-of-two",
    "kill-after-a-round",
)
"""What is tried of the dialects that are not tried with everything."""


@pytest.fixture
def engine(attack):
    """Attack the engine as a program of its own."""

    def run(*scenarios, dialect="chat", backend="asyncio", **more):
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        env = {"AGENT_DIALECT": dialect, "AGENT_BACKEND": backend, "PYTHONPATH": path}
        return attack("engine", *scenarios, dialect=dialect, env=env, patience=SLOWER, **more)

    return run


@pytest.mark.req("R-022", "R-210", "D-7", "D-15")
def test_the_engine_keeps_every_rule_over_chat_completions(engine):
    report = engine(jobs=4, generated=2)
    assert report.held, report.to_text()
    assert set(report.rules.values()) == {Verdict.HELD}
    assert {each.verdict for each in report.outcomes} == {Verdict.HELD}


@pytest.mark.parametrize("dialect", [name for name in SPOKEN if name != "chat"])
def test_the_engine_keeps_the_rules_over_its_other_dialects(engine, dialect):
    report = engine(*FIRST, dialect=dialect, jobs=3)
    assert report.held, report.to_text()
    assert report.rules[Rule.EXECUTED_ONCE] is Verdict.HELD


@pytest.mark.deep
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("dialect", SPOKEN)
def test_the_engine_keeps_every_rule_over_every_dialect_and_loop(engine, dialect, backend):
    report = engine(dialect=dialect, backend=backend, generated=60, seed=5)
    assert report.held, report.to_text()


def test_what_is_tried_first_is_there():
    assert set(FIRST) <= {each.name for each in NAMED}
