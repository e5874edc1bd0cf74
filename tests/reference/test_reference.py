from __future__ import annotations

import pytest

from agentcore.events import EVENTS
from agentcore.reduce import Verdict
from agentcore.states import CALL_STATES, PHASES
from agentcore.testing.matrix import FOREIGN, OWN, SAME, cells, render
from agentcore.testing.reference import diagrams, transitions, vocabulary
from agentcore.testing.situations import call_states, phases


@pytest.fixture(scope="module")
def matrix():
    return tuple(cells())


@pytest.mark.req("R-062", "R-219", "D-30")
def test_the_matrix_is_what_the_tables_say(golden, matrix):
    golden("docs/reference/matrix.txt", render(matrix))


def test_the_diagrams_are_drawn_from_the_tables(golden):
    golden("docs/reference/machines.md", diagrams())


def test_the_rows_are_listed_from_the_tables(golden):
    golden("docs/reference/transitions.md", transitions())


def test_the_vocabulary_is_listed_from_the_classes(golden):
    golden("docs/reference/vocabulary.md", vocabulary())


def test_the_matrix_holds_every_phase_and_call_state_with_every_event(matrix):
    assert {type(situation.state.phase) for situation in phases()} == set(PHASES)
    found = {situation.name.split(",")[0].split(" ")[0] for situation in call_states()}
    assert found == {kind.__name__ for kind in CALL_STATES}
    pairs = {(cell.situation, cell.event) for cell in matrix}
    assert {(phase.__name__, event.__name__) for phase in PHASES for event in EVENTS} <= pairs


@pytest.mark.req("R-061")
def test_every_rejection_says_what_would_have_been_legal(matrix):
    refused = [cell.judgement.rejection for cell in matrix if cell.judgement.verdict is Verdict.REJECTED]
    assert refused
    assert all(rejection is not None and rejection.legal and rejection.code.value for rejection in refused)


@pytest.mark.req("R-066")
def test_nothing_that_names_a_foreign_id_is_accepted(matrix):
    foreign = [cell for cell in matrix if cell.relation == FOREIGN]
    assert len(foreign) > 400
    assert not [str(cell) for cell in foreign if cell.judgement.verdict is Verdict.ACCEPTED]


@pytest.mark.req("R-245")
def test_what_is_delivered_again_is_never_accepted_unless_it_is_asked_again(matrix):
    repeatable = {"SessionReopened"}
    again = [cell for cell in matrix if cell.relation == SAME and cell.judgement.verdict is Verdict.ACCEPTED]
    assert {cell.event for cell in again} <= repeatable


def test_what_is_awaited_is_accepted_somewhere_for_every_event(matrix):
    accepted = {cell.event for cell in matrix if cell.relation == OWN and cell.judgement.verdict is Verdict.ACCEPTED}
    assert {event.__name__ for event in EVENTS} - accepted <= {"MessageWithdrawn", "RetryRequested", "TaskStarted"}
