"""An agent is killed at every moment at which it touches the disk, and goes on: each effect happens exactly once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter

import attrs
import pytest

from tests.kill.forks import TOP
from tests.kill.program import Job
from tests.kill.world import World

KINDS = {
    "side by side": Job(place=""),
    "one by one, with snapshots and new segments": Job(place="", policy="single_call", small=True),
    "nobody can ask": Job(place="", scene="opaque"),
}


def alone(world: World, port: int, **more: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, its kill points as the package has them."""
    return subprocess.run(
        [sys.executable, "-m", "tests.kill.program", world.place, str(port)],
        cwd=TOP,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.req("R-194")
def test_a_turn_of_two_tools_passes_more_than_thirty_points_and_dies_at_the_one_it_is_told_to(runs, report):
    whole, log = runs.world(), runs.base / "log"
    ran = alone(whole, runs.service.port, AGENTCORE_KILL_LOG=str(log))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    points = log.read_text().split("\n")[:-1]
    assert len(points) >= 30
    assert [int(line.split()[0]) for line in points] == list(range(1, len(points) + 1))
    report(f"kill points in a turn of two tools: {len(points)}")
    for number in (1, 30, 60, 90):
        world, log = runs.world(), runs.base / str(number)
        killed = alone(world, runs.service.port, AGENTCORE_KILL_AT=str(number), AGENTCORE_KILL_LOG=str(log))
        assert (killed.returncode, len(log.read_text().split("\n")[:-1])) == (-signal.SIGKILL, number)
        runs.run(world)
        runs.check_turn(world)


@pytest.mark.slow
@pytest.mark.req("R-161", "R-163", "R-194", "R-201", "R-213", "G-12")
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_any_point_the_turn_ends_with_each_effect_exactly_once(runs, kind, report):
    runs = attrs.evolve(runs, job=KINDS[kind])
    points = runs.points()

    def kill_at(point: str) -> set[str]:
        how = set()
        for _ in range(TRIES):
            world = runs.world()
            killed = runs.run(world, point)
            if killed:
                runs.run(world)
            how |= runs.found_out(world, runs.check(world))
            world.remove()
            if killed:
                return how | {"killed"}
        return how

    ends = runs.servers.each(kill_at, points)
    counted = Counter(how for end in ends for how in end)
    report(f"killed at {counted['killed']} of {len(points)} points; {dict(counted)}")
    assert counted["killed"] == len(points)
    assert set(counted) >= WAYS[runs.job.scene]


TRIES = 12
"""Runs until a point is passed: which of two works writes first, and so how often each point is passed, may differ."""

WAYS = {
    "pair": {"seen by an inspection", "done again after an inspection", "delivered again, done once", "nothing amiss"},
    "opaque": {"asked", "nothing amiss"},
}
"""How it must have been found out what had become of an effect, in some runs each, or the test shows nothing."""
