"""What the other tests would miss if they could not fail: a promise is broken, and the runs show it."""

from __future__ import annotations

import attrs
import pytest

from tests.kill.program import TWINS


def broken(runs, twin: str):
    return attrs.evolve(runs, job=attrs.evolve(runs.job, twin=twin, policy="single_call"))


def finish(runs, point: str):
    world = runs.world()
    assert runs.run(world, point)
    runs.run(world)
    return world


@pytest.mark.req("R-153", "R-157")
def test_an_inspection_that_lies_does_the_deed_twice(runs):
    world = finish(broken(runs, "an inspection lies"), "rename:after fence._replace #1")
    assert len(world.deeds()) == 2
    with pytest.raises(AssertionError):
        runs.check(world)


def test_a_key_that_changes_with_the_attempt_delivers_twice(runs):
    world = finish(broken(runs, "the key changes"), "deliver:after program.deliver #1")
    assert sorted(runs.service.account(world.name).effects) == ["s/1.1.1/0.1/tea", "s/1.1.1/1.2/tea"]
    with pytest.raises(AssertionError):
        runs.check(world)


@pytest.mark.req("G-12")
def test_an_intent_that_was_not_synced_is_forgotten_by_a_power_cut_and_its_deed_is_done_twice(runs):
    """A file would be written once all the same: the notes of the attempt are synced by the tool itself."""
    runs = broken(runs, "nothing is synced")
    runs = attrs.evolve(runs, job=attrs.evolve(runs.job, scene="opaque"))
    killed = runs.world()
    assert runs.run(killed, "write:after program.note #1")
    left = runs.cut(killed, files=False)
    runs.run(left)
    assert left.deeds() == ["tea", "tea"]
    with pytest.raises(AssertionError):
        runs.check(left)


def test_every_twin_is_shown():
    assert set(TWINS) == {"an inspection lies", "the key changes", "nothing is synced"}
