"""The two shipped loops: each gives a shortest counterexample in under a second, and mended none."""

from __future__ import annotations

import time

import pytest

from agentcore.testing.examples import approval, naive_loop
from agentcore.testing.protocol import Bounds, explore_protocol

FIRST = {
    naive_loop: {
        "duplicate-result": ["prompt", "calls a0 b0", "result a0", "result a0"],
        "orphan-result": ["result a0"],
        "request-after-end": ["prompt", "answer", "result a0"],
        "end-stays": ["prompt", "answer", "result a0"],
        "two-results": ["prompt", "calls a0 b0", "result a0", "result a0"],
    },
    approval: {"paid-as-approved": ["ask for approval", "change the draft", "approve", "deliver the approval"]},
}
BOTH = pytest.mark.parametrize("example", FIRST, ids=lambda module: module.__name__.rpartition(".")[2])


@BOTH
def test_each_gives_its_shortest_counterexamples_in_under_a_second(example):
    began = time.perf_counter()
    findings = explore_protocol(example.protocol())
    took = time.perf_counter() - began
    assert {each.law: [step.event for step in each.steps] for each in findings.broken} == FIRST[example]
    assert took < 1


@BOTH
def test_there_is_no_shorter_way(example):
    shortest = min(len(steps) for steps in FIRST[example].values())
    findings = explore_protocol(example.protocol(), Bounds(depth=shortest - 1))
    assert findings.broken == ()
    assert findings.capped == "depth"


@BOTH
def test_mended_they_hold_and_everything_is_seen(example):
    findings = explore_protocol(example.protocol(mended=True))
    assert findings.broken == ()
    assert findings.holds


def test_a_till_that_asks_again_for_ever_would_be_a_livelock():
    """The law about circles looks at this protocol: if changing the draft were no step forward, it would object."""
    import attrs

    protocol = attrs.evolve(approval.protocol(mended=True), progress=lambda transition: False)
    found = explore_protocol(protocol).counterexample("livelock")
    assert [step.event for step in found.around] == ["ask for approval", "lose the question"]
