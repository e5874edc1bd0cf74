"""``explore``: what was found is reported, and only a search without a finding ends well."""

from __future__ import annotations

import attrs
import pytest

from agentcore.events import AbortRequested, AbortScope, PromptSubmitted
from agentcore.messages import TextPart
from agentcore.testing.explore import Result, explore_all
from agentcore.testing.report import Broken, Step
from interpreters.cli.exits import Exit
from interpreters.cli.explore import outcome_of


@pytest.fixture
def small():
    """The name of an exploration that takes no time."""
    return "exhausted"


def test_the_shipped_explorations_are_listed_and_deep_has_more(cli):
    names = cli("explore", "--list").out.split()
    deep = cli("explore", "--list", "--deep").out.split()
    assert len(names) == len(set(names)) > 100
    assert set(names) < set(deep)


def test_an_exploration_that_does_not_exist_is_named(cli):
    ran = cli("explore", "nothing-like-that")
    assert (ran.code, "no exploration 'nothing-like-that'" in ran.err) == (Exit.USAGE, True)


@pytest.mark.req("R-022")
def test_one_exploration_is_searched_and_counted(cli, small):
    ran = cli("explore", small, "--jobs", "1")
    assert ran.code == Exit.COMPLETED
    assert ran.out.startswith("1 explorations, ")
    assert ran.out.endswith("No law was broken.\n")
    (value,) = cli("explore", small, "--jobs", "1", "--json").lines
    assert (value["complete"], value["scenarios"]) == (True, [])
    assert value["explorations"][0]["name"] == small


@pytest.fixture
def result(small):
    from agentcore.testing.explorations import shipped

    return explore_all([each for each in shipped() if each.name == small], jobs=1)


def test_what_was_not_reached_counts_only_where_everything_was_searched(result):
    assert result.unreached
    assert outcome_of(result, whole=False) == Exit.COMPLETED
    assert outcome_of(result, whole=True) == Exit.FAILED
    assert outcome_of(attrs.evolve(result, unreached={}), whole=True) == Exit.COMPLETED


def test_a_search_that_was_cut_short_does_not_end_well(result):
    cut = attrs.evolve(result, reports=(attrs.evolve(result.reports[0], capped=True),))
    assert outcome_of(cut, whole=False) == Exit.FAILED


@pytest.mark.req("R-237")
def test_a_broken_law_is_written_as_the_scenario_that_breaks_it(cli, small, result, monkeypatch):
    way = (
        Step(PromptSubmitted(at=1, message_id="m", parts=(TextPart("go"),))),
        Step(AbortRequested(at=2, act_id="a", scope=AbortScope.TURN, turn=1)),
    )
    report = attrs.evolve(result.reports[0], broken=(Broken("L8", "it went on", way),))
    found = Result((report,), {})
    monkeypatch.setattr("interpreters.cli.explore.explore_all", lambda *_, **__: found)
    ran = cli("explore", small)
    assert ran.code == Exit.FAILED
    assert "# L8: it went on" in ran.out
    assert "abort-requested @2" in ran.out
    assert "No law was broken" not in ran.out
    assert "L8" in cli("explore", small, "--json").lines[0]["scenarios"][0]
