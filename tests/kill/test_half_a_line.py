"""A log whose last three records are *effect started*, *abort requested*, and half a line (R-224)."""

from __future__ import annotations

from pathlib import Path

import anyio
import attrs
import pytest

from agentcore.codec import decode_event
from agentcore.events import AbortRequested, DamageKind, Resolution, SessionResumed, ToolStarted
from agentcore.messages import Abandoned, NotExecuted, Succeeded
from agentcore.states import EffectUnknown, Stopping, StopReason
from interpreters import Agent, FileStore, ScriptedModel, allow, executed, not_executed, tool
from interpreters.scripted import Ask, Say
from tests.kill.evidence import check_ledger, results_of

SESSION = "s"


@attrs.define
class Scene:
    """A store, and a tool that hangs after it has, or has not, done its deed."""

    place: Path
    effect: str
    does: bool
    deeds: list[str] = attrs.Factory(list)
    looked: int = 0

    def agent(self, started: anyio.Event | None = None) -> Agent:
        """An agent whose tool says when it is under way, and then never ends."""

        async def look(*_):
            self.looked += 1
            return executed("it is done") if self.deeds else not_executed("it is not there", conclusive=True)

        looks = {"inspect": look} if self.effect == "fenceable" else {}

        @tool(effect=self.effect, **looks)
        async def send() -> str:
            """Send it."""
            self.deeds += ["sent"] if self.does else []
            started.set()
            await anyio.sleep_forever()

        model = ScriptedModel([Say(calls=(Ask("send"),)), Say("done")], by_history=True)
        return Agent(model=model, tools=[send], rules=[allow()], store=FileStore(self.place))

    @property
    def journal(self) -> Path:
        """The file with the lines."""
        return self.place / SESSION / "segment-000001.ndjson"


async def leave_half_a_line(scene: Scene) -> bytes:
    """Start the effect, ask for the abort, lose the process while it writes the next line; return what is torn."""
    started = anyio.Event()
    async with scene.agent(started).open(SESSION, create=True) as session:
        await session.send("go")
        await started.wait()
        # A durable journal, so that nothing but these two records stands behind the start.
        await anyio.wait_all_tasks_blocked()
        assert (await session.abort()).accepted
        await anyio.wait_all_tasks_blocked()
    lines = scene.journal.read_bytes().split(b"\n")
    abort = next(at for at, line in enumerate(lines) if b'"abort-requested' in line)
    torn = lines[abort][: len(lines[abort]) // 2]
    scene.journal.write_bytes(b"\n".join([*lines[: abort + 1], torn]))
    scene.looked = 0  # what was looked at behind the abort is part of what is lost
    return torn


async def events_of(scene: Scene) -> list:
    loaded = await FileStore(scene.place).read(SESSION, from_start=True)
    return [decode_event(payload) for _, payload in loaded.events]


@pytest.fixture(params=[("fenceable", True), ("fenceable", False), ("opaque", True)], ids=lambda p: f"{p[0]}-{p[1]}")
def scene(request, tmp_path):
    return Scene(tmp_path, *request.param)


async def first_unknown(session) -> None:
    async for shown in session.views(0):
        batch = shown.view.state.batch if shown.name == "state" else None
        if batch and isinstance(batch.calls[0].state, EffectUnknown):
            return


@pytest.mark.anyio
@pytest.mark.req("R-201", "R-202", "R-203", "R-224")
async def test_the_last_records_are_as_they_should_be_and_the_half_is_kept(scene):
    torn = await leave_half_a_line(scene)
    whole = scene.journal.read_bytes()
    assert [type(event) for event in await events_of(scene)][-2:] == [ToolStarted, AbortRequested]
    async with scene.agent().open(SESSION) as session:
        assert session.recovery.damage is DamageKind.TORN_TAIL
        assert (scene.place / SESSION / session.recovery.kept_at).read_bytes() == torn
        assert session.recovery.place == f"segment-000001.ndjson:{len(whole) - len(torn)}"
    assert scene.journal.read_bytes() == whole
    assert any(isinstance(event, SessionResumed) for event in await events_of(scene))


@pytest.mark.anyio
@pytest.mark.req("R-153", "R-161", "R-163", "R-201", "R-224", "D-7")
async def test_what_a_program_can_ask_about_is_asked_and_the_turn_ends_with_the_truth(tmp_path):
    for does, outcome in ((True, Succeeded), (False, NotExecuted)):
        scene = Scene(tmp_path / str(does), "fenceable", does)
        await leave_half_a_line(scene)
        async with scene.agent().open(SESSION) as session:
            result = await session.wait()
            assert isinstance(results_of(session.state)["send"].outcome, outcome)
            check_ledger(tuple(session.state.history))
        assert (result.reason, result.unresolved) == (StopReason.USER_ABORT, ())
        assert (len(scene.deeds), scene.looked) == (int(does), 1)


@pytest.mark.anyio
@pytest.mark.req("R-178", "R-201", "R-224", "D-7")
async def test_an_abort_that_was_only_asked_for_is_not_taken_for_a_cancelled_turn(tmp_path):
    """Nobody can say what became of the effect: the turn waits for a person, until it is told to stop waiting."""
    scene = Scene(tmp_path, "opaque", does=True)
    await leave_half_a_line(scene)
    async with scene.agent().open(SESSION) as session:
        await first_unknown(session)
        assert isinstance(session.state.phase, Stopping)
        assert (await session.abort()).accepted
        result = await session.wait()
        assert isinstance(results_of(session.state)["send"].outcome, Abandoned)
        assert result.unresolved == ("1.1.0",)
        await session.resolve("1.1.0", Resolution.EXECUTED)
        assert session.result.unresolved == ()
    assert result.reason is StopReason.USER_ABORT
    assert scene.deeds == ["sent"]
