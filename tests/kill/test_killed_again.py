"""The process that takes the session up is killed too, and so may be the next: still exactly once."""

from __future__ import annotations

from itertools import product

import attrs
import pytest

from tests.kill.evidence import check_laws

KINDS = ("pair", "opaque")
PARTS = 12


def patient(runs, kind):
    """Runs that may be taken up more often than the defaults allow: what is shown is not where they stop."""
    return attrs.evolve(runs, job=attrs.evolve(runs.job, scene=kind, patient=True))


def kill_twice(runs, first: str, seconds) -> int:
    """Kill a run at its first point, then what goes on from there at each of the others; how many were killed twice.

    The laws of the core, which are searched for in a simulated world, are held against each real journal too.
    """
    begun = runs.world()
    assert runs.run(begun, first)

    def again(second: str) -> bool:
        world = runs.world(begun)
        killed = runs.run(world, second)
        if killed:
            runs.run(world)
        runs.check(world)
        check_laws(world)
        world.remove()
        return killed

    return sum(runs.servers.each(again, seconds(runs.points(begun))))


@pytest.mark.slow
@pytest.mark.req("R-163", "R-194", "G-12")
@pytest.mark.parametrize("kind", KINDS)
def test_killed_a_second_time_while_it_finds_out_about_the_first(runs, kind, report):
    """A sample: every fifteenth first point, each with other second points."""
    runs = patient(runs, kind)
    firsts = runs.points()[3::15]
    twice = [kill_twice(runs, first, lambda points, at=at: points[at % 5 :: 5]) for at, first in enumerate(firsts)]
    report(f"{kind}: killed twice {sum(twice)} times, at {len(firsts)} first points")
    assert min(twice) > 5


@pytest.mark.deep
@pytest.mark.req("R-163", "R-194", "G-12")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_killed_twice_at_every_pair_of_points(runs, kind, part, report):
    """All of them together take half an hour, so each test takes one first point in twelve."""
    runs = patient(runs, kind)
    firsts = runs.points()[part::PARTS]
    twice = [kill_twice(runs, first, lambda points: points) for first in firsts]
    report(f"{kind}: killed twice {sum(twice)} times, at {len(firsts)} first points")
    assert min(twice) > 5


@pytest.mark.slow
@pytest.mark.req("R-194")
def test_killed_three_times_in_the_middle_of_the_same_deed(runs):
    runs = patient(runs, "pair")
    moments = ("rename:before fence._replace #1", "rename:after fence._replace #1", "deliver:after program.deliver #1")

    def kill_thrice(order: tuple[str, ...]) -> None:
        world = runs.world()
        for moment in order:
            runs.run(world, moment)
        runs.run(world)
        runs.check(world)
        check_laws(world)
        world.remove()

    runs.servers.each(kill_thrice, product(moments, repeat=3))


@pytest.mark.slow
@pytest.mark.req("R-194")
def test_on_the_other_event_loop_it_is_the_same(runs, report):
    """A sample of every fifth point: what touches the disk does not know which loop it is called from."""
    runs = attrs.evolve(runs, job=attrs.evolve(runs.job, backend="trio"))

    def kill_at(point: str) -> bool:
        world = runs.world()
        killed = runs.run(world, point)
        runs.run(world)
        runs.check(world)
        world.remove()
        return killed

    points = runs.points()[::5]
    report(f"trio: killed at {sum(runs.servers.each(kill_at, points))} of {len(points)} points")
