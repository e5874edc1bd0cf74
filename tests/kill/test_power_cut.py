"""The power fails: whatever was not forced to the disk is gone, the newest lines of the journal first of all."""

from __future__ import annotations

from collections import Counter

import anyio
import attrs
import pytest

from agentcore import start
from agentcore.codec import decode_event, decode_header
from agentcore.events import CheckpointWritten, ToolStarted
from agentcore.messages import ProvedBy
from agentcore.projections import all_calls, replay
from agentcore.states import Released
from interpreters import FileStore
from tests.kill.evidence import load, results_of
from tests.kill.world import CONTENT, SESSION


def deed_undone(killed, left) -> int:
    """Say how many deeds on the disk the cut took back: one that was done and is not there any more."""
    there = left.target.exists() and left.target.read_text() == CONTENT
    return len(killed.deeds()) - int(there)


@pytest.mark.slow
@pytest.mark.req("R-161", "R-163", "R-201", "G-12")
@pytest.mark.parametrize("files", [False, True], ids=["only the record is lost", "files are lost with it"])
def test_after_a_power_cut_at_any_point_each_effect_is_there_once(runs, files, report):
    def cut_at(point: str) -> set[str]:
        killed = runs.world()
        if not runs.run(killed, point):
            # What goes on at once comes in another order now and then: this run never came by here.
            killed.remove()
            return set()
        left = runs.cut(killed, files=files)
        undone = deed_undone(killed, left) if files else 0
        runs.run(left)
        how = runs.found_out(left, runs.check(left, deeds=1 + undone))
        killed.remove()
        left.remove()
        return how | ({"a deed was taken back"} if undone else set())

    points = [point for at, point in enumerate(runs.points()) if at % 2 == 0 or "fence" in point or "deliver" in point]
    counted = Counter(how for found in runs.servers.each(cut_at, points) for how in found)
    report(f"power cut at {len(points)} points: {dict(counted)}")
    assert counted["delivered again, done once"] > 1
    assert counted["a deed was taken back" if files else "seen by an inspection"] > 0


@pytest.mark.slow
@pytest.mark.req("R-201")
def test_a_power_cut_while_a_killed_session_is_taken_up_again(runs):
    runs = attrs.evolve(runs, job=attrs.evolve(runs.job, patient=True))
    begun = ("rename:before fence._replace #1", "rename:after fence._replace #1", "deliver:after program.deliver #1")

    def cut_at(first: str, second: str) -> None:
        killed = runs.world()
        runs.run(killed, first)
        runs.run(killed, second)
        left = runs.cut(killed, files=False)
        runs.run(left)
        runs.check(left)
        killed.remove()
        left.remove()

    for first in begun:
        world = runs.world()
        runs.run(world, first)
        runs.servers.each(lambda second, first=first: cut_at(first, second), runs.points(world)[4::12])


@pytest.mark.req("R-161", "G-12")
@pytest.mark.parametrize(
    ("scene", "moment", "name", "proof"),
    [
        ("pair", "rename:after fence._replace #1", "write_file", ProvedBy.INSPECTION),
        ("pair", "deliver:after program.deliver #1", "deliver", ProvedBy.ATTEMPT),
        ("opaque", "write:after program.note #1", "note", ProvedBy.PERSON),
    ],
)
def test_a_deed_whose_covering_checkpoint_was_lost_is_not_done_again(runs, scene, moment, name, proof):
    """The intent was durable, the deed was done, and the record that it had been durable is gone with the rest."""
    runs = attrs.evolve(runs, job=attrs.evolve(runs.job, scene=scene, policy="single_call"))
    killed = runs.world()
    assert runs.run(killed, moment)
    whole, left = events_of(killed), runs.cut(killed, files=False)
    released = released_at(killed, name)
    covering = next(seq for seq, e in whole.items() if isinstance(e, CheckpointWritten) and e.seq >= released)
    assert any(isinstance(event, ToolStarted) for seq, event in whole.items() if seq > covering)
    assert released <= max(events_of(left)) < covering
    runs.run(left)
    result = results_of(runs.check(left))[name]
    assert result.outcome.proved_by is proof


def released_at(world, name: str) -> int:
    """Seq of the event at which a call was released."""
    header = decode_header(load(world).header)
    state = start(header.session_id, header.config, header.at).state
    for passage in replay(state, events_of(world).values()):
        if any(call.name == name and isinstance(call.state, Released) for call in all_calls(passage.after).values()):
            return passage.after.seq
    raise AssertionError(f"{name} was never released")


def events_of(world) -> dict:
    return {seq: decode_event(payload) for seq, payload in load(world).events}


@pytest.mark.req("R-201", "R-203")
def test_the_cut_is_real(runs):
    """Lines that were written and not synced are missing behind it, and no line that was synced is."""
    killed = runs.world()
    runs.run(killed, "write:after writer._write #9")
    left = runs.cut(killed, files=False)
    whole, rest = tuple(load(killed).events), tuple(load(left).events)
    assert 0 < len(rest) < len(whole)
    assert rest == whole[: len(rest)]
    durable = max(e.seq for e in events_of(killed).values() if isinstance(e, CheckpointWritten))
    assert len(rest) >= durable
    assert anyio.run(FileStore(left.store).read, SESSION).recovery.damage is None
