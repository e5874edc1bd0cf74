"""Two searches, written apart, look at this core: they see the same places and the same shortest counterexamples."""

from __future__ import annotations

import pytest

from agentcore.testing.core_protocol import core_protocol
from agentcore.testing.explorations import shipped
from agentcore.testing.explore import explore
from agentcore.testing.laws import LAWS
from agentcore.testing.protocol import explore_protocol, protocol_scenario, replay, to_mermaid
from tests.laws.twins import TWINS

SHIPPED = {exploration.name: exploration for exploration in shipped()}
SMALL = (
    "fenceable+writes+checkpoint-failure+denial",
    "fenceable+writes+checkpoint-failure+zero-limit",
    "fenceable+writes+approval+denial",
)
WITHOUT_A_CRASH = [name for name, (_, place) in TWINS.items() if not SHIPPED[place].budget.get("crash")]
OTHERWISE = {"L9": (), "L17": ("dead-end", "no-way-out")}
"""Only a probe shows L9; what L17 forbids the general search has laws of its own for."""


@pytest.mark.parametrize("laws", [{}, LAWS], ids=["without laws", "with all laws"])
@pytest.mark.parametrize("name", SMALL)
def test_both_searches_tell_the_same_places_apart(name, laws):
    ours = explore(SHIPPED[name], laws=laws)
    general = explore_protocol(core_protocol(SHIPPED[name], laws=laws))
    assert general.holds
    assert general.states == ours.places


@pytest.mark.parametrize("name", WITHOUT_A_CRASH)
def test_both_searches_find_a_broken_law_by_ways_of_one_length(name):
    core, place = TWINS[name]
    laws = {name: LAWS[name]}
    ours = explore(SHIPPED[place], core=core, laws=laws).broken[0]
    general = explore_protocol(core_protocol(SHIPPED[place], core, laws))
    assert tuple(each.law for each in general.broken) == OTHERWISE.get(name, (name,))
    if name not in OTHERWISE:
        assert len(general.broken[0].steps) == len(ours.way)


def test_most_twins_are_found_by_both():
    assert len(WITHOUT_A_CRASH) >= 10


def test_a_session_is_drawn_and_its_counterexample_is_a_scenario():
    core, place = TWINS["L10"]
    protocol = core_protocol(SHIPPED[place], core, {"L10": LAWS["L10"]})
    findings = explore_protocol(protocol)
    assert "ToolSucceeded" in to_mermaid(findings, most=1_000)
    text = protocol_scenario(protocol, findings.counterexample("L10"))
    assert replay(protocol, text) == text


def test_a_crash_is_left_to_the_search_of_our_own():
    with pytest.raises(ValueError, match="crash"):
        core_protocol(SHIPPED["fenceable+writes+reads+crash"])
