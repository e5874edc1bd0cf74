"""The search itself: shortest ways, bounds that are owned up to, dead ends, circles, reducers that misbehave."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import attrs
import pytest

from agentcore.testing.protocol import (
    Bounds,
    Found,
    LoopProtocol,
    Monitor,
    ProtocolLaw,
    canonical,
    copying,
    explore_protocol,
    protocol_of,
    remembering,
)


def counter(top, **more):
    """Counts up and down between 0 and a top."""

    def reduce(state, event):
        return min(top, max(0, state + (1 if event == "up" else -1))), []

    return LoopProtocol(0, lambda state: ("up", "down"), reduce, **more)


def graph(edges, start="s", **more):
    """A protocol whose states are names, with the places that each leads to."""
    return LoopProtocol(start, lambda state: edges.get(state, ""), lambda state, event: (event, []), **more)


def events_of(found):
    return [step.event for step in found.steps]


def test_everything_is_seen_once():
    findings = explore_protocol(counter(9))
    assert (findings.states, findings.transitions, findings.depth, findings.capped) == (10, 20, 9, "")
    assert findings.holds


@pytest.mark.parametrize("wrong", range(1, 8))
def test_the_first_way_to_a_wrong_state_is_a_shortest_one(wrong):
    law = ProtocolLaw("not-there", state=lambda state: "here" if state == wrong else None)
    found = explore_protocol(counter(9, laws=(law,))).counterexample("not-there")
    assert events_of(found) == ["up"] * wrong


def test_a_way_ends_where_it_breaks_a_law():
    law = ProtocolLaw("below-three", state=lambda state: "three" if state == 3 else None)
    assert explore_protocol(counter(9, laws=(law,))).states == 3


def test_a_law_of_the_first_state_is_broken_without_any_step():
    law = ProtocolLaw("never-zero", state=lambda state: "zero" if state == 0 else None)
    assert explore_protocol(counter(2, laws=(law,))).counterexample("never-zero").steps == ()


def test_a_law_of_transitions_sees_those_that_change_nothing():
    law = ProtocolLaw("moves", transition=lambda transition: "stays" if transition.ignored else None)
    assert events_of(explore_protocol(counter(3, laws=(law,))).counterexample("moves")) == ["down"]


def test_a_law_may_remember():
    def step(downs, transition):
        downs += transition.event == "down"
        return min(downs, 2), "again" if downs == 2 else None

    law = remembering("two-downs", 0, step)
    assert events_of(explore_protocol(counter(3, laws=(law,))).counterexample("two-downs")) == ["down", "down"]


def test_states_with_other_memories_are_other_places():
    law = remembering("parity", 0, lambda turns, step: ((turns + 1) % 2, None))
    assert explore_protocol(counter(1)).states == 2
    assert explore_protocol(counter(1, laws=(law,))).states == 4


def test_laws_share_a_memory_and_report_under_their_own_names():
    asked = []

    def step(memory, transition):
        asked.append(transition)
        return memory, [("one", "1"), ("two", "2"), ("three", "3")]

    monitor = Monitor(None, step)
    findings = explore_protocol(counter(1, laws=[ProtocolLaw(name, monitor=monitor) for name in ("one", "two")]))
    assert [each.law for each in findings.broken] == ["one", "two"]
    assert len(asked) == findings.transitions


def test_what_a_monitor_reports_of_a_law_that_is_left_out_ends_no_way():
    monitor = Monitor(None, lambda memory, transition: (memory, [("another", "no")]))
    findings = explore_protocol(counter(3, laws=[ProtocolLaw("mine", monitor=monitor)]))
    assert findings.holds
    assert findings.states == 4


def test_where_a_way_was_ended_by_a_broken_law_nothing_is_claimed_about_the_end():
    """``a`` leads to ``b`` alone, and that way breaks a law: whether ``a`` can be left is not known."""
    law = ProtocolLaw("not-to-b", transition=lambda step: "b" if step.after == "b" else None)
    edges = {"s": "ae", "a": "b", "b": "e"}
    findings = explore_protocol(graph(edges, accepting=lambda state: state == "e", laws=(law,)))
    assert [each.law for each in findings.broken] == ["not-to-b"]
    assert findings.undecided == ("dead-end", "no-way-out")


def test_a_law_may_look_at_everything_that_was_explored():
    law = ProtocolLaw("few", graph=lambda graph: Found(4, "five states") if len(graph.states) > 4 else None)
    assert events_of(explore_protocol(counter(9, laws=(law,))).counterexample("few")) == ["up"] * 4


@pytest.mark.parametrize(
    ("bounds", "said"), [(Bounds(states=3), "states"), (Bounds(depth=2), "depth"), (Bounds(seconds=5), "seconds")]
)
def test_a_bound_that_ends_the_search_is_owned_up_to(bounds, said):
    now = iter(range(100))
    findings = explore_protocol(counter(9, accepting=lambda state: state == 9), bounds, clock=lambda: next(now))
    assert findings.capped == said
    assert not findings.holds
    assert findings.broken == ()
    assert set(findings.undecided) == {"dead-end", "no-way-out"}
    assert f"bound of {said}" in findings.summary()
    assert findings.to_json()["capped"] == said


def test_a_bound_that_is_not_met_is_none():
    findings = explore_protocol(counter(9), Bounds(states=10, depth=11, seconds=5), clock=lambda: 0)
    assert findings.capped == ""


def test_a_bound_of_time_needs_a_clock():
    with pytest.raises(ValueError, match="clock"):
        explore_protocol(counter(9), Bounds(seconds=1))


def test_a_dead_end_is_found_by_a_shortest_way():
    edges = {"s": "ab", "a": "bc", "b": "s", "c": "", "e": ""}
    findings = explore_protocol(graph({**edges, "b": "se"}, accepting=lambda state: state == "e"))
    assert events_of(findings.counterexample("dead-end")) == ["a", "c"]


def test_a_place_without_a_way_out_is_found_where_it_is_entered():
    findings = explore_protocol(graph({"s": "eax", "a": "b", "b": "a", "x": "e"}, accepting=lambda state: state == "e"))
    assert events_of(findings.counterexample("no-way-out")) == ["a"]
    assert findings.counterexample("dead-end") is None


def test_without_accepting_states_nothing_is_said_about_ends():
    assert explore_protocol(graph({"s": "a"})).holds


def test_a_circle_without_progress_is_found_with_the_way_to_it_and_the_way_round():
    edges = {"s": "ae", "a": "b", "b": "cs", "c": "ab", "e": "s"}
    protocol = graph(edges, accepting=lambda state: state == "e", progress=lambda step: step.after == "s")
    found = explore_protocol(protocol).counterexample("livelock")
    assert events_of(found) == ["a"]
    assert [step.event for step in found.around] == ["b", "c", "a"]
    assert explore_protocol(attrs.evolve(protocol, progress=lambda step: step.after == "c")).counterexample("livelock")
    assert explore_protocol(attrs.evolve(protocol, progress=lambda step: step.after in "cs")).holds


def test_a_circle_through_an_accepting_state_is_none():
    protocol = graph({"s": "e", "e": "s"}, accepting=lambda state: state == "e", progress=lambda step: False)
    assert explore_protocol(protocol).holds


def test_ordering_something_for_ever_without_moving_is_a_circle_and_ignoring_is_none():
    def protocol(commands):
        reduce = lambda state, event: (event if event == "e" else state, commands)  # noqa: E731 - one line says it all
        accepting = lambda state: state == "e"  # noqa: E731 - as above
        return LoopProtocol("s", lambda state: "we", reduce, accepting=accepting, progress=lambda step: False)

    found = explore_protocol(protocol(["ask the model"])).counterexample("livelock")
    assert (events_of(found), [step.event for step in found.around]) == ([], ["w"])
    assert explore_protocol(protocol([])).holds


def test_what_is_found_about_a_part_is_so_and_what_is_not_found_is_undecided():
    """A dead end within the bound is one whatever lies beyond; at the bound nothing is said."""
    edges = {"s": "ab", "a": "", "b": "c", "c": "d"}
    findings = explore_protocol(graph(edges, accepting=lambda state: state == "d"), Bounds(depth=2))
    assert [each.law for each in findings.broken] == ["dead-end", "no-way-out"]
    assert events_of(findings.counterexample("dead-end")) == ["a"]
    assert findings.capped == "depth"


def test_a_reducer_that_raises_is_a_finding_and_a_declared_refusal_is_none():
    def reduce(state, event):
        raise LookupError(f"no {event}")

    protocol = LoopProtocol("s", lambda state: ["x"], reduce)
    found = explore_protocol(protocol).counterexample("reduce-returns")
    assert found.problem == "reduce raised LookupError: no x"
    refusing = attrs.evolve(protocol, refusals=(LookupError,))
    findings = explore_protocol(refusing)
    assert findings.holds
    assert findings.graph.edges[0][0].transition.refusal == "no x"


@pytest.mark.parametrize("given", ["s", ("s",), ("s", (), ()), None])
def test_a_reducer_that_gives_no_pair_is_told_what_is_wanted(given):
    found = explore_protocol(LoopProtocol("s", lambda state: "x", lambda state, event: given)).broken[0]
    assert found.problem.endswith("and not a pair of state and commands")


def test_no_commands_may_be_none():
    assert explore_protocol(LoopProtocol("s", lambda state: "x", lambda state, event: (state, None))).holds


class Log:
    def __init__(self):
        self.lines = []


def test_a_reducer_that_changes_the_state_it_is_given_is_found_out_and_can_be_wrapped():
    def reduce(state, event):
        if len(state.lines) < 3:
            state.lines.append(event)
        return state, ()

    protocol = LoopProtocol(Log(), lambda state: "ab", reduce)
    assert explore_protocol(protocol).counterexample("state-untouched").problem.endswith("or mend it")
    findings = explore_protocol(LoopProtocol(Log(), lambda state: "ab", copying(reduce)))
    assert findings.holds
    assert findings.states == 1 + 2 + 4 + 8


def test_what_normalise_leaves_out_tells_no_states_apart():
    def reduce(state, event):
        return {"clock": state["clock"] + 1, "phase": event}, []

    protocol = LoopProtocol({"clock": 0, "phase": "a"}, lambda state: "abc", reduce, (), lambda state: state["phase"])
    assert explore_protocol(protocol).states == 3


@dataclasses.dataclass
class Point:
    x: object


@attrs.frozen
class Frozen:
    x: object


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class Plain(Slotted):
    pass


@pytest.mark.parametrize("make", [Point, Frozen, Slotted, Plain, lambda x: {"x": x}, lambda x: [x], lambda x: (x, {x})])
def test_values_that_are_built_alike_have_one_key(make):
    values = [None, 1, True, 1.0, 2, "1", b"1", (1,), (1, 2)]
    keys = [(canonical(make(value)), canonical(make(value))) for value in values]
    assert all(one == other for one, other in keys)
    if make is not Frozen:  # it says itself that 1 is True
        assert len({one for one, _ in keys}) == len(values)


class Told(Slotted):
    def __repr__(self):
        return "told"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Point({"b", "a"}), "Point(x={'a', 'b'})"),
        (Frozen([frozenset(), (1,)]), "Frozen(x=[frozenset(), (1,)])"),
        (({"b", "a"}, 1), "({'a', 'b'}, 1)"),
        (Slotted({"k": {2, 1}}), "Slotted(x={'k': {1, 2}})"),
        (Told(1), "told"),
        ("plain", "plain"),
        (None, "None"),
    ],
)
def test_a_value_is_shown_alike_in_every_run(value, text):
    """Sets are in order, and nothing is shown by its address."""
    protocol = LoopProtocol(value, lambda state: (), None)
    assert protocol.show(value) == text


def test_a_value_that_holds_itself_is_refused_with_the_way_out():
    value = []
    value.append(value)
    with pytest.raises(ValueError, match="normalise"):
        canonical(value)


def test_an_object_with_the_members_of_a_protocol_is_one():
    class Mine:
        initial = 0
        laws = (ProtocolLaw("low", state=lambda state: "high" if state > 1 else None),)

        def enabled(self, state):
            return ["up"]

        def reduce(self, state, event):
            return state + 1, []

    for adapter in (Mine, Mine()):
        protocol = protocol_of(adapter)
        assert protocol.name == "Mine"
        assert events_of(explore_protocol(protocol).counterexample("low")) == ["up", "up"]
    assert protocol_of(protocol) is protocol


@pytest.mark.parametrize(
    ("members", "missing"),
    [
        ({"initial": 0}, "no enabled, reduce"),
        ({"initial": 0, "enabled": 0, "reduce": 0, "told": 0}, "no ordered, ended"),
    ],
)
def test_what_an_adapter_lacks_is_named(members, missing):
    with pytest.raises(TypeError, match=missing):
        protocol_of(type("Mine", (), members))


@pytest.mark.slow
def test_the_generic_search_is_fast_enough(report):
    """A grid of 40,000 places; the figure is shown, and a tenth of what it usually is fails."""
    import time

    def reduce(state, event):
        x, y = state
        return ((min(199, x + 1), y) if event == "x" else (x, min(199, y + 1))), ()

    began = time.process_time()
    findings = explore_protocol(LoopProtocol((0, 0), lambda state: "xy", reduce), Bounds(states=50_000))
    speed = findings.transitions / (time.process_time() - began)
    report(f"generic search: {findings.states} states, {speed:,.0f} transitions/s without laws")
    assert findings.states == 40_000
    assert speed > 5_000


def test_distances_only_grow():
    findings = explore_protocol(counter(20))
    ways = [findings.graph.states[place] for place in range(findings.states)]
    assert all(later >= earlier for earlier, later in pairwise(ways))
