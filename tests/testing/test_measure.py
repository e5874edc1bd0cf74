"""What is run from a command line: how fast the explorer is, and seeds of the state machine."""

from __future__ import annotations

import runpy
import sys

import pytest

from agentcore.testing import machine, measure
from agentcore.testing.core import Core
from agentcore.testing.explorations import shipped
from agentcore.testing.explore import explore
from agentcore.testing.machine import __main__ as command
from agentcore.testing.machine.runs import PROFILES, Profile

SHIPPED = {exploration.name: exploration for exploration in shipped()}


def test_what_is_measured_is_what_is_explored():
    exploration = SHIPPED["exhausted-unsaved"]
    measured, whole = measure.measure(exploration, runs=1), explore(exploration)
    assert (measured.places, measured.states, measured.transitions) == (whole.places, whole.states, whole.transitions)
    assert 0 < measured.accepted < measured.transitions


def test_what_breaks_a_law_is_not_measured():
    with pytest.raises(ValueError, match=r"^exhausted breaks L3: ordered was "):
        measure.measure(SHIPPED["exhausted"], core=Core(outstanding=lambda _: ()), runs=1)


def test_a_named_exploration_is_measured_from_the_command_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["measure", "exhausted", "exhausted-crash"])
    runpy.run_path(measure.__file__, run_name="__main__")
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["exhausted", "exhausted-crash"]


def test_a_profile_is_run_seed_by_seed_and_its_census_told(capsys, monkeypatch):
    monkeypatch.setitem(PROFILES, "tiny", Profile(examples=2, seeds=2, steps=3))
    monkeypatch.setattr(sys, "argv", ["machine", "tiny"])
    runpy.run_path(command.__file__, run_name="__main__")
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("seed")] == [
        f"seed {seed}: 2 examples of up to 3 steps" for seed in (1, 2)
    ]
    told = [int(line.split()[0]) for line in said if " events: " in line]
    assert len(told) == 2
    assert told == sorted(told), "one census counts all seeds"
    assert {f"  {title}" for title in machine.new_census().groups} <= {line.partition(":")[0] for line in said}


def test_the_deep_profile_has_no_end():
    seeds = iter(PROFILES["deep"])
    assert [next(seeds) for _ in range(4)] == [1, 2, 3, 4]


def test_where_nothing_waits_all_goes_on_and_nothing_happens():
    session = machine.SessionMachine()
    session.begins(config=0, manner="")
    assert session.waiting == ()
    session.all_goes_on(way=0)
    assert session.sim.told == []
