"""A second process takes the session up."""

from __future__ import annotations

import anyio
import attrs
import pytest

from agentcore import Effect, reduce, start
from agentcore.codec import Header, encode_event, encode_header
from agentcore.events import (
    AbortRequested,
    AbortScope,
    ApprovalGranted,
    CheckpointWritten,
    DamageKind,
    Finding,
    HistoryCleared,
    ModelReplied,
    PolicyAllowed,
    Recovery,
    Resolution,
    RetryRequested,
    SessionResumed,
    Suspect,
    ToolStarted,
)
from agentcore.messages import digest
from agentcore.states import EffectUnknown, StopReason
from interpreters.engine.resume import JournalUnreadable, begin, fold, read_state, recovery_of, suspects_of, take_up
from interpreters.stores import FileStore, MemoryStore
from interpreters.support import ports_store
from interpreters.support.ports_store import Damage, Loaded, SessionLocked, SessionUnknown
from tests.engine.rig import (
    Allow,
    Rig,
    ScriptedModel,
    ScriptedTools,
    calls,
    collect,
    config,
    contract,
    names,
    settle,
    text,
)
from tests.laws import forging

KILLED = 1_000
"""A process that is killed loses nothing that it has written; a power cut loses what was not synced."""


async def crash_in(rig, model, tools, ready, *, surviving=KILLED, **more):
    """Run a session until ``ready``, then lose the process, and events beyond ``surviving`` that were not synced."""
    with anyio.CancelScope() as scope:
        async with rig.open(model, tools, **more) as session:
            await session.send("go")
            await ready.wait()
            await settle()
            rig.store.crash(surviving=surviving)
            scope.cancel()
    return session


@pytest.mark.anyio
@pytest.mark.req("R-153", "R-163", "G-12")
async def test_an_execution_that_was_under_way_is_unknown_and_a_person_settles_it():
    running, deeds = anyio.Event(), []

    async def writes(run):
        deeds.append("written")
        running.set()
        await anyio.sleep_forever()

    rig = Rig(config(contract("write")))
    await crash_in(rig, ScriptedModel(calls(("write", {}))), ScriptedTools(write=writes), running)
    model = ScriptedModel(text("done"))
    async with rig.open(model, ScriptedTools(write=writes), resume=True) as session:
        await settle()
        assert isinstance(session.state.batch.calls[0].state, EffectUnknown)
        refused = await session.retry("1.1.0")
        assert refused.rejection.code == "effect-not-proved-absent"
        await session.resolve("1.1.0", Resolution.EXECUTED, "it is there")
        result = await session.wait()
    assert result.text == "done"
    assert deeds == ["written"]
    assert model.seen[0].messages[-1].results[0].content.startswith("it is there")


@pytest.mark.anyio
@pytest.mark.req("R-157", "R-163")
@pytest.mark.parametrize("surviving", [0, 1, KILLED])
async def test_an_effect_proved_absent_is_run_again_and_happens_once(surviving):
    running, deeds = anyio.Event(), []

    async def dies(run):
        running.set()
        await anyio.sleep_forever()

    async def writes(run):
        deeds.append("written")
        return "ok"

    rig = Rig(config(contract("write", "fenceable")))
    await crash_in(rig, ScriptedModel(calls(("write", {}))), ScriptedTools(write=dies), running, surviving=surviving)
    tools = ScriptedTools(write=writes)
    tools.findings.append(Finding.NOT_EXECUTED)
    async with rig.open(ScriptedModel(text("done")), tools, resume=True) as session:
        assert (await session.wait()).text == "done"
    assert deeds == ["written"]


@pytest.mark.anyio
async def test_a_request_that_was_under_way_is_sent_again_as_the_next_attempt():
    running = anyio.Event()

    async def dies(run):
        running.set()
        await anyio.sleep_forever()

    rig = Rig(config())
    await crash_in(rig, ScriptedModel(dies), None, running)
    async with rig.open(ScriptedModel(text("done")), resume=True) as session:
        result = await session.wait()
        told = names(await collect(session))
    assert result.text == "done"
    assert told[:2] == ["state", "recovery"]
    resumed = [event for event in await rig.journal() if isinstance(event, SessionResumed)]
    assert len(resumed) == 1
    assert resumed[0].config == rig.config


@pytest.mark.anyio
async def test_a_resume_is_durable_before_it_is_acted_on():
    """Otherwise a power cut could bring the same epoch, and so the same keys, a second time."""
    running, durable = anyio.Event(), []

    async def dies(run):
        running.set()
        await anyio.sleep_forever()

    async def looks(run):
        durable.append(rig.store._sessions["s"].durable)
        return run.replied(text("done"))

    rig = Rig(config())
    await crash_in(rig, ScriptedModel(dies), None, running)
    async with rig.open(ScriptedModel(looks), resume=True) as session:
        await session.wait()
        events = await rig.journal()
    place = next(seq for seq, event in enumerate(events, 1) if isinstance(event, SessionResumed))
    assert durable[0] >= place


@pytest.mark.anyio
async def test_a_question_that_was_open_is_asked_again():
    asked = anyio.Event()

    class Gate(Allow):
        async def evaluate(self, session_id, order, call):
            answer = await super().evaluate(session_id, order, call)
            asked.set()
            return answer

    async def tool(run):
        return "ran"

    rig = Rig(config(contract("work")))
    await crash_in(rig, ScriptedModel(calls(("work", {}))), None, asked, gate=Gate("work"))
    tools = ScriptedTools(work=tool)
    async with rig.open(ScriptedModel(text("done")), tools, resume=True, gate=Allow("work")) as session:
        await settle()
        assert "approval_asked" in names(await collect(session))
        assert (await session.approve("1.1.0")).accepted
        assert (await session.wait()).text == "done"


@pytest.mark.anyio
async def test_a_finished_session_is_at_rest_when_it_is_resumed():
    rig = Rig(config())
    async with rig.open(ScriptedModel(text("one"))) as session:
        await session.send("go")
        await session.wait()
    async with rig.open(ScriptedModel(text("two")), resume=True) as session:
        assert (await session.wait()).text == "one"
        await session.send("on")
        result = await session.wait()
    assert (result.turn, result.text) == (2, "two")
    assert session.recovery == Recovery(last_seq=4)


@pytest.mark.anyio
async def test_a_store_that_cannot_sync_the_resume_stops_the_engine():
    from interpreters.engine.recorder import StorageUnavailable

    rig = Rig(config())
    async with rig.open(ScriptedModel(text("one"))) as session:
        await session.send("go")
        await session.wait()
    rig.store.fail_next("sync", 10)
    async with rig.open(resume=True) as session:
        with pytest.raises(StorageUnavailable):
            await session.wait()


@pytest.mark.anyio
async def test_only_one_engine_may_have_a_session():
    rig = Rig(config())
    async with rig.open(ScriptedModel()):
        with pytest.raises(SessionLocked):
            await take_up(rig.store, "s")
    with pytest.raises(SessionUnknown):
        await take_up(rig.store, "other")


@pytest.mark.anyio
async def test_a_journal_that_cannot_be_followed_is_refused_and_its_lock_is_given_back():
    store = MemoryStore()
    opened = await begin(store, "s", config(), 1)
    await opened.journal.append(((1, b'{"what":"is this"}'),))
    await opened.journal.close()
    for _ in range(2):
        with pytest.raises(JournalUnreadable, match="event 1 cannot be followed"):
            await take_up(store, "s")
    with pytest.raises(JournalUnreadable):
        await read_state(store, "s")


def loaded(*events, header=None, snapshot=None):
    made = header or encode_header(Header("s", config(), 1))
    lines = tuple((seq, encode_event(event)) for seq, event in enumerate(events, 1))
    return Loaded("s", made, snapshot, lines, ports_store.Recovery(len(lines)))


def test_an_event_that_was_never_accepted_is_no_part_of_a_journal():
    with pytest.raises(JournalUnreadable, match="RetryRequested is not accepted"):
        fold(loaded(RetryRequested(at=1, call_id="1.1.0")))


def test_a_header_that_cannot_be_read_is_said_to_be_one():
    with pytest.raises(JournalUnreadable, match="the header"):
        fold(loaded(header=b"{}"))


@pytest.mark.anyio
@pytest.mark.req("R-199")
async def test_a_snapshot_that_cannot_be_read_costs_only_time():
    store = MemoryStore()
    opened = await begin(store, "s", config(), 1)
    await opened.journal.append(((1, encode_event(HistoryCleared(at=1))),))
    await opened.journal.snapshot(1, b"{}")
    await opened.journal.close()
    assert (await read_state(store, "s")).seq == 1


def test_damage_is_told_in_the_words_of_the_core():
    state = start("s", config(), 1).state
    torn = ports_store.Recovery(3, Damage("torn-tail", "segment-1", 99, 5, "half a line", "kept/1"))
    assert recovery_of(torn, state) == Recovery(
        last_seq=3, damage=DamageKind.TORN_TAIL, place="segment-1:99", kept_at="kept/1"
    )
    header = ports_store.Recovery(3, Damage("header", "segment-1", 0, 5, "noise"))
    assert recovery_of(header, state).damage is None


@pytest.mark.req("R-201")
def test_calls_that_lines_behind_a_damage_show_as_started_become_suspects():
    state = start("s", config(contract("write"), contract("read", "pure")), 1).state
    named = {"at": 1, "epoch": 0, "attempt": 1}
    reply = ModelReplied(**named, request_id="1.1", parts=calls(("write", {}), ("read", {}), ("write", {"b": 1})))
    doubled = attrs.evolve(reply, parts=(reply.parts[0], *reply.parts))
    behind = [
        doubled,
        PolicyAllowed(**named, call_id="1.1.0", arguments='{"a":1}', digest=digest('{"a":1}')),
        ToolStarted(**named, call_id="1.1.0"),
        ToolStarted(**named, call_id="1.1.1"),
        ApprovalGranted(**named, call_id="1.1.2", arguments="{}", digest=digest("{}")),
        ToolStarted(**named, call_id="9.9.9"),
    ]
    found = suspects_of(behind, state)
    assert [(each.call_id, each.name, each.arguments) for each in found] == [
        ("1.1.0", "write", '{"a":1}'),
        ("1.1.2", "write", "{}"),
        ("9.9.9", "", ""),
    ]
    resumed = SessionResumed(at=2, config=state.config, recovery=Recovery(suspects=found))
    assert [call.call_id for call in reduce(state, resumed).state.register] == ["1.1.0", "1.1.2", "9.9.9"]


def behind(*events):
    """What the core is told of a gap behind which these lines can be read."""
    state = start("s", config(contract("write")), 1).state
    lines = (b"not json", *map(encode_event, events))
    return recovery_of(ports_store.Recovery(0, Damage("middle", "segment-1", 9, 5, "noise"), "ann", lines), state)


def started(call_id, epoch=0):
    return ToolStarted(at=1, call_id=call_id, epoch=epoch, attempt=1)


def gap_accepted(**recovery):
    return SessionResumed(at=1, config=config(), recovery=Recovery(**recovery))


RESUMED = SessionResumed(at=1, config=config())


@pytest.mark.parametrize(
    ("events", "used"),
    [
        ((), (0, 0, 0)),
        ((gap_accepted(last_turn=4, last_step=2, last_epoch=7),), (4, 2, 8)),
        ((started("2.7.0", epoch=3), CheckpointWritten(at=1, seq=4, epoch=3, attempt=1)), (2, 7, 3)),
        ((ModelReplied(at=1, request_id="3.2", epoch=0, attempt=1, parts=()),), (3, 2, 0)),
        ((started("2.11.0"), started("2.9.0"), started("1.12.0")), (2, 11, 0)),
        ((AbortRequested(at=1, act_id="a", scope=AbortScope.TURN, turn=5),), (5, 0, 0)),
        ((RESUMED, RESUMED), (0, 0, 2)),
        ((CheckpointWritten(at=1, seq=4, epoch=3, attempt=1), RESUMED), (0, 0, 4)),
    ],
)
@pytest.mark.req("R-201")
def test_lines_behind_a_damage_say_which_ids_and_keys_are_used_up(events, used):
    told, unread = behind(*events), 2
    assert (told.last_turn, told.last_step) == used[:2]
    # Each line that cannot be read may have been a resume, which began an epoch.
    assert told.last_epoch == used[2] + unread


@pytest.mark.req("R-201")
def test_what_an_earlier_gap_left_to_be_found_out_is_found_out_after_a_later_one():
    lost = (Suspect(call_id="1.1.0", name="write", arguments="{}"), Suspect(call_id="1.1.1", name="read"))
    told = behind(gap_accepted(suspects=lost), started("1.1.2"))
    assert [each.call_id for each in told.suspects] == ["1.1.0", "1.1.1", "1.1.2"]


@pytest.mark.req("R-201")
def test_a_call_whose_permission_may_be_the_line_that_cannot_be_read_is_a_suspect():
    made = forging.asked(Effect.FENCEABLE, Effect.PURE)
    gap = ports_store.Recovery(made.state.seq, Damage("middle", "segment-1", 9, 5, "noise"), "ann")
    told = recovery_of(gap, made.state)
    assert [(each.call_id, each.arguments) for each in told.suspects] == [("1.1.0", "{}")]
    state = reduce(made.state, SessionResumed(at=9, config=made.state.config, recovery=told)).state
    # It is not run a second time: a person is asked what became of it.
    assert isinstance(state.batch.calls[0].state, EffectUnknown)
    whole = attrs.evolve(gap, damage=None, gap_accepted_by=None)
    assert recovery_of(whole, made.state).suspects == ()


@pytest.mark.anyio
@pytest.mark.req("R-068")
async def test_resuming_over_and_over_ends_the_turn():
    rig = Rig(config())
    for round_ in range(6):
        running = anyio.Event()

        async def dies(run, running=running):
            running.set()
            await anyio.sleep_forever()

        with anyio.CancelScope() as scope:
            async with rig.open(ScriptedModel(dies), resume=round_ > 0) as session:
                if round_ == 0:
                    await session.send("go")
                await settle()
                if not session.state.open:
                    break
                rig.store.crash(surviving=KILLED)
                scope.cancel()
    assert session.result.reason is StopReason.RESUMES


@pytest.mark.anyio
async def test_a_session_on_the_disk_is_taken_up_where_it_was(tmp_path):
    running = anyio.Event()

    async def dies(run):
        running.set()
        await anyio.sleep_forever()

    rig = Rig(config(contract("write")), store=FileStore(tmp_path))
    with anyio.CancelScope() as scope:
        async with rig.open(ScriptedModel(calls(("write", {}))), ScriptedTools(write=dies)) as session:
            await session.send("go")
            await running.wait()
            scope.cancel()
    async with rig.open(ScriptedModel(text("done")), resume=True) as session:
        async for shown in session.views(0):
            if shown.name == "state" and isinstance(shown.view.state.batch.calls[0].state, EffectUnknown):
                break
        await session.resolve("1.1.0", Resolution.NOT_EXECUTED)
        assert (await session.wait()).text == "done"
    assert await read_state(rig.store, "s") == session.state
