"""Scenario files judge mutants: the true core changes the text of none, a wrong row that of one that says so."""

from __future__ import annotations

import pytest

from agentcore import reduce
from agentcore.events import AbortRequested, ModelReplied, ToolLost
from agentcore.outstanding import outstanding
from agentcore.reduce import make_reduce
from agentcore.states import AwaitingModel, Executing, RunningTools
from tests.mutation.pages import Suite, otherwise, read, watched
from tests.mutation.rows import mutants


@pytest.fixture(scope="module")
def suite():
    return Suite(read())


def test_the_true_core_changes_no_file(suite):
    rows = {mutant.row for mutant in mutants() if mutant.row is not None}
    assert all(suite.killer(row, reduce.examine) == "" for row in rows)
    assert suite.files > 20


@pytest.mark.parametrize(
    ("kind", "source", "event"),
    [
        ("delete", Executing, ToolLost),
        ("ignore", AwaitingModel, ModelReplied),
        ("retarget", RunningTools, AbortRequested),
        ("swap", Executing, ToolLost),
    ],
)
def test_a_wrong_row_changes_one(suite, kind, source, event):
    found = [
        each for each in mutants() if each.row and (each.kind, each.row.source, each.row.event) == (kind, source, event)
    ]
    assert found
    for mutant in found:
        assert mutant.outstanding is outstanding
        assert suite.killer(mutant.row, make_reduce(mutant.tables).examine).endswith(".txt")


def test_a_mutant_that_does_not_end_or_raises_is_another_one():
    def endless():
        while True:
            pass

    with watched():
        assert otherwise(endless, None)
        assert otherwise(lambda: 1 // 0, None)
        assert not otherwise(lambda: 1, 1)
