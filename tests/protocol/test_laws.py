"""Each law of agent loops catches a loop that breaks it, by a shortest way, and leaves a sound loop alone."""

from __future__ import annotations

import pytest

from agentcore.testing.protocol import explore_protocol, loop_laws, protocol_of
from agentcore.testing.protocol.loops import TEXTS
from tests.protocol import loops
from tests.protocol.loops import BROKEN, Sound

SHORTEST = {
    "duplicate-result": ["prompt", "calls a b", "result b", "result b"],
    "orphan-result": ["prompt", "calls a b", "result x"],
    "request-after-end": ["prompt", "answer", "tick"],
    "deed-after-end": ["prompt", "calls a b", "deny a", "result b", "answer", "tick"],
    "end-stays": ["prompt", "answer", "tick"],
    "open-call": ["prompt", "calls a b", "tick"],
    "deed-unasked": ["prompt", "calls a b", "tick"],
    "deed-twice": ["prompt", "calls a b", "tick"],
    "deed-after-denial": ["prompt", "calls a b", "deny a", "tick"],
    "result-lost": ["prompt", "calls a b", "deny a", "result b"],
    "two-results": ["prompt", "calls a b", "deny a"],
    "dead-end": ["deny a"],
    "no-way-out": ["prompt", "calls a b", "tick"],
    "reduce-returns": ["result a"],
}
"""What happens up to the break, worked out by hand."""


def test_a_sound_loop_breaks_no_law_and_everything_is_seen():
    findings = explore_protocol(protocol_of(Sound()))
    assert findings.broken == ()
    assert findings.holds
    assert {*TEXTS, "dead-end", "no-way-out"} <= set(findings.laws)


@pytest.mark.parametrize("law", BROKEN)
def test_a_law_catches_a_loop_that_breaks_it_by_a_shortest_way(law):
    findings = explore_protocol(protocol_of(BROKEN[law]()))
    found = findings.counterexample(law)
    assert found is not None, findings.summary()
    assert [step.event for step in found.steps] == SHORTEST[law]
    assert not findings.holds


def test_an_orphan_that_is_dropped_is_no_lost_result():
    findings = explore_protocol(protocol_of(BROKEN["orphan-result"]()))
    assert [each.law for each in findings.broken] == ["orphan-result"]


def test_every_law_has_a_loop_that_breaks_it():
    assert set(TEXTS) < set(BROKEN)


def test_a_loop_without_answered_is_not_held_to_what_the_model_is_shown():
    sound = Sound()
    names = {law.name for law in loop_laws(told=sound.told, ordered=sound.ordered, ended=sound.ended)}
    assert names == set(TEXTS) - {"result-lost", "two-results"}


def test_what_is_refused_is_not_accepted():
    """A second result is reported again and again; the loop that leaves it alone has accepted one."""
    findings = explore_protocol(protocol_of(Sound()))
    again = [
        edge.transition
        for edges in findings.graph.edges
        for edge in edges
        if edge.transition.event == "result b" and "b" in edge.transition.before.shown
    ]
    assert again
    assert all(transition.ignored for transition in again)


def test_a_new_turn_makes_all_calls_new():
    """After the end ``a`` and ``b`` are asked for again: neither is a second deed nor a second result."""
    findings = explore_protocol(protocol_of(Sound()))
    assert any(
        edge.transition.event == "prompt" and edge.transition.before.phase == "done"
        for edges in findings.graph.edges
        for edge in edges
        if edge.transition.changed
    )
    assert findings.broken == ()


def test_the_broken_loops_differ_from_the_sound_one_in_one_thing_each():
    for kind in BROKEN.values():
        own = [name for name in vars(kind) if not name.startswith("__")]
        assert len(own) == 1, kind
        assert issubclass(kind, loops.Sound)
