"""Worlds made by the dozen, and what has to be true of each when its turn has ended."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import attrs

from agentcore.messages import ProvedBy, Succeeded
from agentcore.states import State
from tests.kill.evidence import check_journal, results_of
from tests.kill.forks import Servers
from tests.kill.program import ANSWER, Job
from tests.kill.service import Service
from tests.kill.witness import Disk
from tests.kill.world import CONTENT, World


@attrs.frozen
class Runs:
    """Runs of one kind of job."""

    base: Path
    """Where their worlds are."""
    servers: Servers
    """Who runs them."""
    service: Service
    """What they deliver to."""
    job: Job
    """What they do."""
    _numbers: count = attrs.field(factory=count, init=False)

    def world(self, of: World | None = None) -> World:
        """Make a world in which nothing has happened, or one that goes on from another."""
        place = self.base / f"{self.base.name}-{next(self._numbers)}"
        if of is None:
            return World(place).make()
        self.service.copy(of.name, place.name)
        return of.copy(place)

    def run(self, world: World, kill_at: str = "", **more: object) -> bool:
        """Begin or go on in a world; whether it was killed. Nothing may be said on the way."""
        world.points.unlink(missing_ok=True)
        job = attrs.evolve(self.job, place=str(world.place), port=self.service.port, kill_at=kill_at, **more)
        ended = self.servers.run(job)
        assert ended.errors == ""
        assert ended.killed == (world.passed()[-1] == kill_at)
        return ended.killed

    def cut(self, world: World, *, files: bool) -> World:
        """Make the world that a power cut leaves of one whose run was killed; ``files`` are cut like the journal.

        Without ``files`` what the tools did has reached the disk by itself, and only the record of it is lost.
        """
        disk, left = Disk.of(world), self.world(world)
        disk.restore(world.store, left.store)
        if files:
            disk.restore(world.files, left.files)
            left.files.mkdir(exist_ok=True)
        return left

    def points(self, of: World | None = None, **more: object) -> list[str]:
        """The kill points of a run that nobody kills."""
        world = self.world(of)
        assert not self.run(world, **more)
        passed = world.passed()
        world.remove()
        return passed

    def check(self, world: World, *, deeds: int = 1) -> State:
        """The turn has ended with its answer, each effect happened exactly once, and the record is whole."""
        state = self.check_turn(world)
        assert len(world.deeds()) == deeds, world.deeds()
        return state

    def check_turn(self, world: World) -> State:
        """What ``check`` finds without the notes of a witness."""
        state = check_journal(world)
        said = world.said()
        assert (said["reason"], said["text"], said["unresolved"]) == ("final_answer", ANSWER, [])
        assert {type(each.outcome) for each in results_of(state).values()} == {Succeeded}
        if self.job.scene == "pair":
            account = self.service.account(world.name)
            assert world.target.read_text() == CONTENT
            assert dict(account.effects) == {"s/1.1.1/tea": 1}
            assert set(account.deliveries) == {"s/1.1.1/tea"}
        return state

    def found_out(self, world: World, state: State) -> set[str]:
        """Say in words how it became known what had become of the effects."""
        written = results_of(state).get("write_file")
        ways = {
            "asked": bool(world.said()["asked"]),
            "seen by an inspection": written is not None and written.outcome.proved_by is ProvedBy.INSPECTION,
            "done again after an inspection": written is not None and written.attempt > 1,
            "delivered again, done once": self.service.account(world.name).deliveries["s/1.1.1/tea"] > 1,
        }
        return {way for way, happened in ways.items() if happened} or {"nothing amiss"}
