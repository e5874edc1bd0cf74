"""The state machine: nothing is said that did not happen, and every broken twin is caught saying it."""

from __future__ import annotations

import contextlib
import io
import os
import time

import pytest

from agentcore.testing.core import CORE
from agentcore.testing.laws import LAWS
from agentcore.testing.machine import PROFILES, RULES, SessionMachine, new_census, run
from agentcore.testing.scenario import Run, parse, render
from agentcore.testing.simulation import CLAIMS
from agentcore.testing.simulation.calm import ENDS_IT
from tests.testing.machines import BROKEN

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
"""Which profile is run: few examples unless it is asked for."""

WANTED = {
    "dev": {"call states": 5, "effects": 1},
    "ci": {"rules": 15, "phases": 5, "call states": 100, "effects": 60},
}
"""How often each word of a group has to be visited, at least."""


def visits_of(profile, census, report, loop_check):
    """Run a profile and tell what it visited."""
    keep = staticmethod(lambda file: loop_check.save("state-machine", file))
    machine = type("Session", (SessionMachine,), {"keep": keep})
    began = time.process_time()
    for seed in profile:
        run(machine, examples=profile.examples, steps=profile.steps, seed=seed, census=census)
    seconds = time.process_time() - began
    tried = len(list(profile)) * profile.examples
    report(f"state machine, seeds {list(profile)}: {tried} examples of up to {profile.steps} steps in {seconds:.0f} s")
    for line in census.lines():
        report(f"state machine, {line}")


@pytest.mark.slow
@pytest.mark.req("R-221", "R-245")
def test_what_the_loop_says_is_what_happened(report, loop_check):
    name = PROFILE if PROFILE in WANTED else "dev"
    census = new_census()
    visits_of(PROFILES[name], census, report, loop_check)
    rare = {title: census.rarer_than(times, title) for title, times in WANTED[name].items()}
    assert {title: words for title, words in rare.items() if words} == {}


@pytest.mark.deep
def test_what_the_loop_says_is_what_happened_for_as_long_as_one_likes(report):
    profile, census = PROFILES["deep"], new_census()
    for seed in range(1, 21):
        run(examples=profile.examples, steps=profile.steps, seed=seed, census=census)
    for line in census.lines():
        report(f"state machine, deep, {line}")


SEEDS = range(1, 13)
"""Tried in turn: what Hypothesis draws for a seed depends on constants of the modules that are loaded by then."""


def run_all(machine, **more):
    for seed in SEEDS:
        run(machine, seed=seed, **more)


def caught(name, examples=300, keep=SessionMachine.keep, **more):
    """What the machine says of a broken core with only one claim to look after, and what it prints."""
    law = {"L16": LAWS["L16"]} if name == "laws-hold" else {}
    claims = {claim: check for claim, check in CLAIMS.items() if claim == name}
    machine = type(
        "Broken", (SessionMachine,), {"core": BROKEN[name], "laws": law, "claims": claims, "keep": staticmethod(keep)}
    )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(AssertionError) as problem:
        run_all(machine, examples=examples, **more)
    return str(problem.value), "\n".join((printed.getvalue(), *getattr(problem.value, "__notes__", ())))


def test_every_claim_has_a_twin_that_breaks_it():
    assert set(BROKEN) == {*CLAIMS, ENDS_IT}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_twin_is_caught_by_its_claim_alone(name):
    problem, _ = caught(name, shrinks=False)
    assert problem.startswith(f"{name}: ")


def test_a_counterexample_is_printed_as_steps_and_as_a_scenario_file():
    kept = []
    problem, printed = caught("no-message-is-lost", keep=kept.append)
    assert "state.begins(config=" in printed
    text = printed.split("As a scenario file:\n", 1)[1].split("\nstate.", 1)[0]
    assert kept[-1].startswith(f"{text}\n"), "the shortest one is kept last"
    told = parse(text[text.index("session ") :])
    events = [type(step.event).__name__ for step in told.steps if not isinstance(step, str)]
    assert len(events) <= 20
    assert "FollowUpQueued" in events
    assert text.startswith(f"# {problem}")


def test_one_seed_gives_the_same_examples_and_another_one_others():
    mine, again, other = (run(examples=6, steps=15, seed=seed).visited for seed in (5, 5, 6))
    assert mine == again != other


def test_a_census_of_the_machine_counts_its_rules():
    census = run(examples=6, steps=15, seed=5)
    assert set(census.groups["rules"]) == set(RULES)
    assert census.visited["begins"] >= 6


def test_a_scenario_of_an_example_is_told_again_with_the_same_outcome():
    scenarios = []

    class Kept(SessionMachine):
        def teardown(self):
            scenarios.append((self.sim.scenario, self.sim.state))

    run(Kept, examples=8, steps=25, seed=3)
    for scenario, state in scenarios:
        text = render(scenario, laws={})
        again = parse(text)
        assert again == scenario
        told = Run(again, CORE, {})
        for step in again.steps:
            list(told.take(step))
        assert told.state == state
