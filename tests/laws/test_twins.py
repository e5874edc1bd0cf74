"""Each law can fail: a core in which one row or one function is wrong breaks it, and the true one does not."""

from __future__ import annotations

import pytest

from agentcore.testing.explorations import shipped
from agentcore.testing.explore import explore
from agentcore.testing.laws import LAWS
from agentcore.testing.scenario import parse, render, scenario_of
from tests.laws.twins import ALONE, MORE, TWINS

SHIPPED = {exploration.name: exploration for exploration in shipped()}


def test_every_law_has_a_twin():
    assert list(TWINS) == list(LAWS)
    assert list(LAWS) == [f"L{number}" for number in range(1, 23)]
    assert all(law.text for law in LAWS.values())


@pytest.mark.parametrize("name", LAWS)
def test_a_broken_twin_is_caught_with_only_that_law_and_the_true_core_passes(name):
    core, exploration = TWINS[name]
    laws = {name: LAWS[name]}
    broken = explore(SHIPPED[exploration], core=core, laws=laws).broken
    assert [each.law for each in broken] == [name]
    report = explore(SHIPPED[exploration], laws=laws)
    assert report.broken == ()
    assert not report.capped


@pytest.mark.parametrize("how", ALONE)
def test_only_one_law_notices_a_twin(how):
    name, core, exploration = ALONE[how]
    others = {other: law for other, law in LAWS.items() if other != name}
    assert [each.law for each in explore(SHIPPED[exploration], core=core).broken] == [name]
    assert explore(SHIPPED[exploration], core=core, laws=others).broken == ()


@pytest.mark.parametrize("how", MORE)
def test_a_law_is_broken_in_more_than_one_way_and_the_true_core_passes(how):
    name, core, exploration = MORE[how]
    laws = {name: LAWS[name]}
    assert [each.law for each in explore(SHIPPED[exploration], core=core, laws=laws).broken] == [name]
    report = explore(SHIPPED[exploration], laws=laws)
    assert report.broken == ()
    assert not report.capped


@pytest.mark.parametrize("name", ["L6", "L7", "L10"])
def test_a_counterexample_is_a_scenario_that_shows_the_broken_law(name):
    core, exploration = TWINS[name]
    laws = {name: LAWS[name]}
    found = explore(SHIPPED[exploration], core=core, laws=laws).broken[0]
    scenario = scenario_of(found, SHIPPED[exploration].config)
    text = render(scenario, core, laws)
    assert parse(text) == scenario
    assert f"broken {name}: {found.problem}" in text
    assert "broken" not in render(scenario, laws=laws)
