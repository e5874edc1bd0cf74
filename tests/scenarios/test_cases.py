"""The field cases that drive one session stand as scenario files, and every law holds at each of their steps."""

from __future__ import annotations

import pytest

from agentcore.testing.scenario import parse, render
from tests.scenarios.cases import PLAYS, scenario

WITH_A_CRASH = ("bc-04", "bc-05", "bc-09", "bc-12", "bc-14", "bc-22", "bc-28")


@pytest.mark.parametrize("name", PLAYS)
def test_a_case_is_the_scenario_that_is_kept(name, golden):
    played = scenario(name)
    text = render(played)
    assert parse(text) == played
    assert "    broken" not in text
    golden(f"tests/scenarios/cases/{name}.txt", text)


def test_crashes_are_recorded_with_what_they_left():
    crashed = [name for name in PLAYS if any(each.keeps is not None for each in scenario(name).steps[1:])]
    assert set(WITH_A_CRASH) <= set(crashed)
