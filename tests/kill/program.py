"""The program that is killed: an agent with one session, which does one task, from wherever an earlier run left it."""

from __future__ import annotations

import hashlib
import json
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import attrs

from agentcore import Limits
from agentcore.codec import encode_state
from agentcore.events import EffectResolved, Resolution
from interpreters import (
    Agent,
    FileStore,
    ScriptedModel,
    SessionUnknown,
    ToolContext,
    allow,
    file_tools,
    not_executed,
    tool,
)
from interpreters.scripted import Ask, Say
from interpreters.stores import rules
from interpreters.stores.writer import Writer
from interpreters.support import osio
from interpreters.tools import Found
from tests.kill.service import post
from tests.kill.witness import Witness
from tests.kill.world import CONTENT, SESSION, TARGET, World

TASK = "Write the file and order the delivery."
ANSWER = "Both are done."


@attrs.frozen(kw_only=True)
class Job:
    """One run."""

    place: str
    """Directory of the world."""
    scene: str = "pair"
    """Which tools: ``pair`` is one fenceable and one keyed, ``opaque`` one that nobody can ask."""
    kill_at: str = ""
    """The kill point at which it ends, as the witness names it; nothing for none."""
    port: int = 0
    """Where the service listens."""
    backend: str = "asyncio"
    """The event loop."""
    policy: str = "recommended"
    """Preset; ``single_call`` runs one call at a time."""
    patient: bool = False
    """Whether the bounds on resumes and retries are raised, for runs that are killed more than once."""
    twin: str = ""
    """Which promise is broken, to see that it is missed: one of ``TWINS``, or none."""
    small: bool = False
    """Whether segments and the space between snapshots are so small that both happen within a turn."""


TWINS = ("an inspection lies", "the key changes", "nothing is synced")


def agent(job: Job, world: World, approver: object = None) -> Agent:
    """The agent of a job, and who is asked."""

    @tool(effect="keyed")
    def deliver(context: ToolContext, item: str) -> str:
        """Have something delivered."""
        key = context.attempt_key if job.twin == "the key changes" else context.effect_key
        with osio.around("deliver"):
            return post(job.port, world.name, f"{key}/{item}")

    @tool
    def note(context: ToolContext, line: str) -> str:
        """Add a line to a list; nobody can tell afterwards who did."""
        descriptor = osio.open_shared(world.sink)
        try:
            osio.write_all(descriptor, f"{line}\n".encode())
        finally:
            osio.close(descriptor)
        return "noted"

    files = file_tools(world.files)
    if job.twin == "an inspection lies":
        files = [attrs.evolve(each, inspect=lie) if each.inspect else each for each in files]
    write = Ask("write_file", {"path": TARGET, "content": CONTENT})
    asked = {"pair": (write, Ask("deliver", {"item": "tea"})), "opaque": (Ask("note", {"line": "tea"}),)}
    return Agent(
        model=ScriptedModel([Say("At once.", calls=asked[job.scene]), Say(ANSWER)], by_history=True),
        tools=[*files, deliver, note],
        rules=[allow()],
        policy=job.policy,
        limits=Limits(resumes=9, effect_retries=9) if job.patient else None,
        approver=approver,
        store=FileStore(world.store, segment_max=900 if job.small else 1 << 22),
    )


def lie(*_) -> Found:
    """Say that nothing was done, whatever was."""
    return not_executed("I did not look", conclusive=True)


class Person:
    """Looks whether the line is on the list, and says so."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.asked: list[str] = []

    async def ask(self, session_id, order, call):
        """Nothing here needs a permission."""
        raise AssertionError(f"asked about {call.name}")

    async def ask_effect(self, session_id, order, call):
        """Answer for the one tool that no program can ask."""
        self.asked.append(call.name)
        done = bool(self._world.deeds())
        found = Resolution.EXECUTED if done else Resolution.NOT_EXECUTED
        return EffectResolved(at=0, call_id=call.call_id, resolution=found, by="ann", result="", retry=not done)


async def work(job: Job, world: World) -> None:
    """Begin the session or go on with it, and report how its turn ended."""
    person = Person(world)
    working = agent(job, world, person)
    for create in (False, True):
        with suppress(SessionUnknown):
            async with working.open(SESSION, create=create) as session:
                if not session.state.turn.number:
                    await session.send(TASK, message_id="task")
                result = await session.wait()
                report = {
                    "reason": str(result.reason),
                    "text": result.text,
                    "unresolved": result.unresolved,
                    "asked": person.asked,
                    "state": hashlib.sha256(encode_state(session.state)).hexdigest(),
                }
            world.report.write_text(json.dumps(report))
            return


def run(job: Job) -> None:
    """Do a job in this process, which must have done nothing before, with the witness looking on."""
    world = World(Path(job.place))
    if job.small:
        rules.SNAPSHOT_MIN = 600
    if job.twin == "nothing is synced":
        Writer.sync = lambda writer: writer.last_seq
    Witness(world, job.kill_at).install()
    anyio.run(work, job, world, backend=job.backend)


if __name__ == "__main__":  # PLACE PORT: with the kill points as they are, ordered through the environment
    alone = Job(place=sys.argv[1], port=int(sys.argv[2]))
    anyio.run(work, alone, World(Path(alone.place)))
