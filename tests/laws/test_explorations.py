"""Everything that can happen within the shipped bounds, judged by all laws."""

from __future__ import annotations

import os
import time

import attrs
import pytest

from agentcore.policy import Effect
from agentcore.testing.explorations import FAULTS, kinds, shipped, together
from agentcore.testing.explore import explore, explore_all
from agentcore.testing.laws import LAWS
from agentcore.testing.measure import TWO_CALLS, main, measure
from agentcore.testing.normalise import FIELDS
from agentcore.testing.passage import Passage
from agentcore.testing.scenario import render, scenario_of
from agentcore.testing.search import Search
from tests.laws.twins import TWINS


def told(result) -> str:
    """Every broken law as a scenario file."""
    return "\n".join(render(scenario_of(broken, report.config)) for report, broken in result.broken)


PROCESSES = 2
PROCESSOR_S_MAX = 300
"""Processor time that each of the two processes may take; on a busy machine as much more as there are more programs
than processors, since what they share makes each of them slower.
"""


@pytest.mark.slow
@pytest.mark.req("R-205", "R-206", "R-207", "R-208", "R-209", "R-210", "R-211", "R-213", "R-214", "R-222", "D-12")
def test_no_law_is_broken_and_everything_is_reached(record_property, loop_check):
    began = time.monotonic()
    result = explore_all(shipped(), jobs=PROCESSES)
    each_s = sum(report.seconds for report in result.reports) / PROCESSES
    for report, broken in result.broken:
        loop_check.save(f"{report.name}-{broken.law}", render(scenario_of(broken, report.config)))
    record_property("transitions", sum(report.transitions for report in result.reports))
    record_property("seconds", round(time.monotonic() - began))
    record_property("processor_seconds_of_each_process", round(each_s))
    assert told(result) == ""
    assert [report.name for report in result.reports if report.capped] == []
    assert result.unreached == {}
    assert each_s < PROCESSOR_S_MAX * max(1, os.getloadavg()[1] / PROCESSES)


@pytest.mark.deep
def test_no_three_faults_break_a_law_on_one_unsafe_call():
    result = explore_all(together(3, Effect.FENCEABLE, "writes"))
    assert told(result) == ""
    assert result.complete


def test_the_shipped_explorations_hold_every_pair_of_faults_and_each_alone():
    names = {exploration.name for exploration in shipped()}
    assert len(names) == len(shipped())
    for first in FAULTS:
        for second in FAULTS:
            pair = (first, second) if list(FAULTS).index(first) < list(FAULTS).index(second) else (second, first)
            if first != second and "second-crash" not in pair:
                assert "+".join(("fenceable", "writes", *pair)) in names
        if first != "second-crash":
            assert {f"fenceable+writes+reads+{first}", f"fenceable+writes+writes+{first}"} <= names
    assert "fenceable+writes+crash+second-crash" in names
    assert {each.config.tools[0].effect for each in kinds()} == set(Effect) - {Effect.PURE}


SHIPPED = {exploration.name: exploration for exploration in shipped()}
SMALLEST = ("exhausted-unsaved", "fenceable+writes+steering+zero-limit")
"""The two with the fewest states in which merging does something: unmerged they have half as many places again."""
ALSO_MERGED = (
    "overflow-crash",
    "stream",
    "fenceable+start+progress",
    "fenceable+writes+approval+denial",
    "idle",
    "prepared-aborted",
    "reviewed-crash",
    "strict",
)
"""Larger ones in which it does much: crashes, streams, reviews, questions, acts of a host."""


class Bare(Search):
    """A search that only walks."""

    def _check_state(self, place):
        """Look at nothing."""


def test_the_two_smallest_are_the_smallest():
    found = []
    for exploration in SHIPPED.values():
        merged = Bare(exploration, laws={}, cap=40).run()
        if not merged.capped:
            apart = Bare(exploration, laws={}, merge=False, cap=1_000).run()
            found += [(merged.states, exploration.name)] if apart.places > 1.5 * merged.places else []
    assert tuple(name for _, name in sorted(found, key=lambda each: each[0])[:2]) == SMALLEST


class Noting(Search):
    """A search that notes what it has seen: phase, call states, what became of which event."""

    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        self.seen = set()

    def _judge(self, place, step, passage: Passage, judgement, world):
        calls = tuple(type(call.state).__name__ for pair in passage.moved for call in pair[1:] if call is not None)
        phase = type(passage.after.phase).__name__
        self.seen.add((phase, calls, type(passage.event).__name__, judgement.verdict.value, judgement.reason))
        return super()._judge(place, step, passage, judgement, world)


@pytest.mark.parametrize("name", SMALLEST + ALSO_MERGED)
def test_merging_hides_nothing(name):
    merged, apart = Noting(SHIPPED[name]), Noting(SHIPPED[name], merge=False, cap=100_000)
    first, second = merged.run(), apart.run()
    assert not first.broken
    assert not second.broken
    assert not second.capped
    assert second.places > first.places
    assert merged.seen == apart.seen


def test_a_field_that_nobody_thought_about_splits_nothing_unseen():
    for kind, names in FIELDS.items():
        assert {field.name for field in attrs.fields(kind)} == set(names.split()), kind.__name__


def test_a_search_that_is_cut_short_says_so():
    report = explore(SHIPPED[SMALLEST[0]], cap=5)
    assert report.capped
    assert report.to_json()["capped"] is True


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no such option: flood"):
        attrs.evolve(SHIPPED[SMALLEST[0]], budget={"flood": 1})


def test_a_report_tells_progress_and_numbers():
    calls = []
    report = explore(SHIPPED[SMALLEST[0]], laws={"L1": LAWS["L1"]}, progress=lambda *numbers: calls.append(numbers))
    assert calls
    assert report.to_json()["states"] == report.states > 10


def test_speed_is_measured_with_and_without_laws():
    exploration = SHIPPED["one-step"]
    measured, whole = measure(exploration, runs=1), explore(exploration)
    assert (measured.places, measured.states, measured.transitions) == (whole.places, whole.states, whole.transitions)
    assert measured.without_laws > 0
    assert measured.with_laws > 0
    assert 0 < measured.accepted < measured.transitions
    assert 100 < measured.bytes_per_state < 1_000_000
    assert str(measured).startswith("one-step: ")


def test_what_is_measured_by_default_has_two_calls(capsys):
    for name in TWO_CALLS:
        assert [len(said.parts) for said in SHIPPED[name].replies[0]] == [2]
    main(["exhausted"])
    assert capsys.readouterr().out.startswith("exhausted: ")


def test_an_exploration_that_breaks_a_law_is_not_measured():
    core, name = TWINS["L2"]
    with pytest.raises(ValueError, match="breaks L2"):
        measure(SHIPPED[name], core=core, runs=1)
