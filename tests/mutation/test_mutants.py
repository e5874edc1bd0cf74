"""Mutants are what they say, true tables offend nobody, and laws kill what the laws are there for."""

from __future__ import annotations

from collections import Counter

import pytest
from attrs import evolve

from agentcore import TABLES, reduce
from agentcore.events import PolicyAllowed, SteeringQueued, StepPrepared, ToolSucceeded
from agentcore.outstanding import outstanding
from agentcore.states import Executing, Preparing, Ready, RunningTools, Settled
from agentcore.steps.verdicts import Advance
from agentcore.testing.passage import Passage
from agentcore.testing.watch import broken
from tests.mutation.judging import collected, installed, killed_by_law, noting
from tests.mutation.rows import mutants

ALL = list(mutants())


@pytest.fixture(scope="module")
def passages():
    return collected(walks=20, steps=100)


def of(kind, source, event):
    return next(
        each for each in ALL if each.row and (each.kind, each.row.source, each.row.event) == (kind, source, event)
    )


def test_each_mutant_is_wrong_in_one_thing_and_has_a_name_of_its_own():
    assert len({each.name for each in ALL}) == len(ALL)
    for each in ALL:
        assert (each.tables != TABLES) == (each.row is not None)
        assert (each.outstanding is not outstanding) == (each.row is None)


def test_there_are_mutants_of_every_kind_and_of_every_row():
    assert set(Counter(each.kind for each in ALL)) == {"delete", "ignore", "retarget", "swap", "drop", "add"}
    assert {each.row for each in ALL if each.kind == "delete"} == {*TABLES.turn, *TABLES.call}


def test_the_true_tables_offend_no_law_at_any_passage(passages):
    through, some = passages
    for before, event in (*some, *(met for kept in through.values() for met in kept)):
        assert broken(Passage(before, event, reduce(before, event))) is None


@pytest.mark.parametrize(
    ("kind", "source", "event"),
    [
        ("delete", Executing, ToolSucceeded),
        ("ignore", Preparing, StepPrepared),
        ("swap", Preparing, SteeringQueued),
        ("delete", RunningTools, PolicyAllowed),
        ("delete", Settled, PolicyAllowed),
        ("retarget", Ready, Advance),
    ],
)
def test_a_mutant_is_killed_by_a_law(passages, kind, source, event):
    mutant = of(kind, source, event)
    assert killed_by_law(mutant, passages[0][mutant.row])


def test_a_mutant_stands_in_the_place_of_the_tables_only_while_it_is_installed():
    mutant = of("delete", Executing, ToolSucceeded)
    with installed(mutant):
        assert reduce.tables == mutant.tables
    assert reduce.tables == TABLES


def test_rows_that_are_taken_are_noted(passages):
    before, event = passages[1][0]
    taken = set()
    with noting(taken):
        judgement = reduce.examine(before, event)
    assert taken == set(judgement.rows)
    reduce.examine(evolve(before), event)


@pytest.mark.deep
def test_laws_alone_kill_most_mutants(report):
    through, some = collected(walks=300, steps=150)
    killers = Counter(killed_by_law(each, through.get(each.row, []) if each.row else some) for each in ALL)
    report(f"row mutants by the law that kills them: {dict(killers.most_common())}")
    assert killers[""] < len(ALL) // 3
