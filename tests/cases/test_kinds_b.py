"""More kinds of fault that no list named before, with tests that are generated or enumerated.

A crash during a recovery, and during the recovery from that; a journal that a newer version wrote; ten thousand steps
in one session; a session resumed under changed tools. Each check is shown to fail on a broken twin.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore import Config, Effect, Limits, outstanding, reduce, start
from agentcore.codec import Header, encode_event, encode_header, encode_state
from agentcore.commands import (
    AskApproval,
    CancelTool,
    EvaluatePolicy,
    ExecuteTool,
    InspectEffect,
    PersistCheckpoint,
    RequestModel,
    StartTimer,
)
from agentcore.events import (
    CheckpointWritten,
    Finding,
    Inspector,
    ModelReplied,
    PolicyAllowed,
    PromptSubmitted,
    Resolution,
    SessionResumed,
    ToolSucceeded,
)
from agentcore.messages import EffectSeen, FinishReason, TextPart, digest
from agentcore.states import Because, Executing, Proposed, Released
from agentcore.steps.calls import moves, stops
from interpreters import Agent, FileStore, JournalUnreadable, SchemaTooNew, tool
from interpreters.engine import read_state, resume
from interpreters.scripted import Ask, Say, ScriptedGate, ScriptedModel
from interpreters.stores.lines import event_line, seal
from tests.cases.helpers_a import Case, broken, crash_image, fails, instead, patched
from tests.core.driver import call
from tests.core.driver import tool as contract

C1 = "1.1.0"
ACTING = [Effect.FENCEABLE, Effect.INSPECTABLE, Effect.OPAQUE, Effect.KEYED]
UNBOUNDED = Limits(resumes=None, inspections=None, effect_retries=None)

# ---- a crash during a recovery, and during the recovery from that


class World:
    """Does what is ordered and knows what was done; a person who is asked looks, and tells the truth."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.deeds: list[str] = []
        self.acts = 0

    def act(self, *, dies: bool, did: bool) -> bool:
        """Perform one outstanding command, or die over it; say whether there was one."""
        case, order = self.case, self._next()
        if order is None:
            return False
        self.acts += 1
        if isinstance(order, ExecuteTool):
            if not dies or did:
                self._do(order)
            if not dies:
                case.succeed(order.call_id, "done")
        elif not dies:
            self._answer(order)
        return True

    def _do(self, order: ExecuteTool) -> None:
        keyed = self.case.call(order.call_id).contract.effect is Effect.KEYED
        # The other side of a keyed effect drops what it has seen under the same key.
        if not (keyed and order.call_id in self.deeds):
            self.deeds.append(order.call_id)

    def _next(self):
        kinds = (EvaluatePolicy, InspectEffect, PersistCheckpoint, ExecuteTool, RequestModel, CancelTool, StartTimer)
        timers = ("deadline", "model", "turn")
        work = [each for each in self.case.work if not getattr(each, "timer_id", "").startswith(timers)]
        return next((each for kind in kinds for each in work if isinstance(each, kind)), None)

    def _answer(self, order) -> None:
        case = self.case
        match order:
            case EvaluatePolicy():
                case.allow()
            case PersistCheckpoint():
                case.saved()
            case RequestModel():
                asked = [message for message in case.history if getattr(message, "calls", ())]
                case.reply("Done.") if asked else case.reply(call("pay", "c1"))
            case InspectEffect(call_id=call_id) if order.by is Inspector.PROGRAM:
                done = call_id in self.deeds
                finding = Finding.EXECUTED if done else Finding.NOT_EXECUTED
                case.inspected(finding, call_id, conclusive=True, result="done" if done else "", evidence="looked")
            case InspectEffect(call_id=call_id):
                done = call_id in self.deeds
                word = Resolution.EXECUTED if done else Resolution.NOT_EXECUTED
                case.resolve(word, call_id, retry=not done, result="done" if done else "")
            case CancelTool():
                case.stopped(EffectSeen.UNPROVED)
            case StartTimer(timer_id=timer_id):
                case.fire(timer_id)


def check_crashes(effect: Effect, plan: tuple[tuple[int, bool, bool], ...], reducer=reduce) -> None:
    """``plan``: acts until each death, whether the deed under way was done, whether unsynced events are lost."""
    case = Case(contract("pay", effect), limits=UNBOUNDED, reduce=reducer)
    world = World(case)
    case.prompt()
    left = list(plan)
    countdown = left[0][0] if left else -1
    for _ in range(300):
        dies = bool(left) and countdown == 0
        acted = world.act(dies=dies, did=bool(left) and left[0][1])
        if dies:
            case.restart(lose=case.volatile if left[0][2] else 0)
            if case.state.turn.number == 0:
                case.prompt()
            left.pop(0)
            countdown = left[0][0] if left else -1
        elif not acted:
            break
        else:
            countdown -= 1
    assert not case.state.open, f"it does not end: {case.waits}"
    assert len(world.deeds) == 1, f"{effect} acted {len(world.deeds)} times under {plan}"
    assert [result.call_id for result in case.results][-1].endswith(".0")
    assert case.results[-1].content == "done"


deaths = st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.booleans()), min_size=2, max_size=4).map(tuple)


@pytest.mark.parametrize("effect", ACTING)
@settings(max_examples=60)
@given(plan=deaths)
@pytest.mark.req("R-163", "R-010", "G-5", "G-12")
def test_crashes_during_recoveries_leave_one_deed_and_one_result(effect, plan):
    check_crashes(effect, plan)


@pytest.mark.parametrize("effect", ACTING)
@pytest.mark.parametrize("second", range(4))
@pytest.mark.parametrize("third", range(4))
@pytest.mark.req("R-163")
def test_three_deaths_in_a_row_around_the_same_deed(effect, second, third):
    for did in (True, False):
        check_crashes(effect, ((4, did, False), (second, did, True), (third, did, False)))


def run_blindly(state, present, event):
    """A resume as it was: what was running is run again."""
    return moves.review(state, evolve(present, unproved=()), Because.SESSION_RESUMED)


def test_a_recovery_that_runs_again_without_looking_is_found_out():
    changes = [instead(source, SessionResumed, run_blindly, to=(Proposed,)) for source in (Executing, Released)]

    def check_all() -> None:
        for first in range(8):
            check_crashes(Effect.FENCEABLE, ((first, True, False), (1, True, False)), broken(*changes))

    fails(check_all)


# ---- a journal that a newer version wrote


def written(folder: Path) -> Path:
    """A session with a call, on the disk; its directory."""

    @tool(effect="pure")
    async def read() -> str:
        """Read."""
        return "text"

    async def work() -> None:
        model = ScriptedModel([Say(calls=(Ask("read"),)), Say("done")])
        agent = Agent(model=model, tools=[read], rules=ScriptedGate(), store=FileStore(folder))
        async with agent.open("s", create=True) as session:
            await session.send("go")
            await session.wait()

    anyio.run(work)
    return folder / "s"


def files(root: Path) -> dict[str, bytes]:
    """Everything but the lock, which says who looked last."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def from_the_future(line: bytes, **changes) -> bytes:
    """An event's line as a version to come would write it."""
    line = line.rstrip(b"\n")
    seq = int(line.split(b",")[0].partition(b":")[2])
    payload = json.loads(line[line.index(b'"event":') + 8 : -len(b',"crc":"00000000"}')])
    return event_line(seq, json.dumps({**payload, **changes}, separators=(",", ":")).encode())


CHANGES = ({"v": 99}, {"type": "something-new"}, {"v": 99, "more": [1]})


def check_newer(folder: Path, opens, changes) -> None:
    """Each event in turn is one that this version does not know."""
    session = written(folder / "one")
    lines = (session / "segment-000001.ndjson").read_bytes().splitlines(keepends=True)
    for place in range(1, len(lines)):
        image = crash_image(folder / "one", folder / f"{place}")
        newer = [*lines[:place], from_the_future(lines[place], **changes), *lines[place + 1 :]]
        (image / "s" / "segment-000001.ndjson").write_bytes(b"".join(newer))
        before = files(image)
        try:
            opens(FileStore(image))
        except JournalUnreadable as error:
            assert error.seq == place
            assert "newer one" in str(error)
        else:
            raise AssertionError(f"event {place} was guessed at")
        assert files(image) == before, "something was written"


def opened(store) -> None:
    async def work() -> None:
        async with Agent(model=ScriptedModel([]), store=store).open("s"):
            """It must not come so far."""

    anyio.run(work)


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.req("R-190", "R-191", "R-198")
def test_an_event_of_a_newer_version_is_named_and_nothing_is_written(tmp_path, changes):
    check_newer(tmp_path, opened, changes)


def test_guessing_at_a_newer_event_is_found_out(tmp_path):
    real = resume.decode_event

    def guessing(payload: bytes):
        return real(payload.replace(b'"v":99', b'"v":1'))

    with patched((resume, "decode_event", guessing)):
        fails(check_newer, tmp_path, opened, {"v": 99})


@pytest.mark.req("R-190", "R-191")
def test_a_journal_of_a_newer_schema_is_left_alone(tmp_path):
    session = written(tmp_path / "one")
    segment = session / "segment-000001.ndjson"
    first, *rest = segment.read_bytes().splitlines(keepends=True)
    body = first[: -len(b',"crc":"00000000"}\n')].replace(b'{"schema":0,', b'{"schema":7,')
    segment.write_bytes(b"".join((seal(body), *rest)))
    before = files(tmp_path)
    with pytest.raises(SchemaTooNew, match="schema 7"):
        opened(FileStore(tmp_path / "one"))
    assert files(tmp_path) == before


# ---- ten thousand steps in one session


def steps(count: int, folder: Path) -> tuple[float, float]:
    """So many steps through the reducer and a store on the disk; seconds of work in the first and in the last tenth."""
    return anyio.run(_steps, count, folder)


async def _steps(count: int, folder: Path) -> tuple[float, float]:
    none = dict.fromkeys(("steps", "tool_calls", "identical_calls", "failing_rounds"))
    config = Config(tools=(contract("read", Effect.PURE),), limits=Limits(**none))
    store = FileStore(folder)
    journal = await store.create("s", encode_header(Header("s", config, 0)))
    state = start("s", config, 0).state
    times, tenth = [], count // 10
    arguments = '{"x":1}'

    async def happens(event) -> None:
        nonlocal state
        seq = state.seq
        state = reduce(state, event).state
        assert state.seq == seq + 1
        await journal.append([(state.seq, encode_event(event))])

    await happens(PromptSubmitted(at=0, message_id="m", parts=(TextPart("go"),)))
    for number in range(1, count + 1):
        if number % tenth == 1:
            times.append(time.process_time())
        key = {"at": number, "epoch": 0, "attempt": 1}
        parts = (call("read", f"c{number}", raw=arguments),)
        await happens(ModelReplied(**key, request_id=f"1.{number}", parts=parts, finish=FinishReason.TOOL_CALLS))
        call_id = f"1.{number}.0"
        await happens(PolicyAllowed(**key, call_id=call_id, arguments=arguments, digest=digest(arguments)))
        await happens(ToolSucceeded(**key, call_id=call_id, result=f"result {number}"))
        if number % tenth == 0:
            await _saved(state, journal, happens)
    times.append(time.process_time())
    assert len(state.history) == 1 + 2 * count
    assert state.turn.steps == count + 1
    await journal.snapshot(state.seq, encode_state(state))
    await happens(ModelReplied(at=count, epoch=0, attempt=1, request_id=f"1.{count + 1}", parts=(TextPart("end"),)))
    await journal.sync()
    await journal.close()
    again = await read_state(store, "s")
    assert (again.seq, len(again.history)) == (state.seq, len(state.history))
    assert outstanding(again) == outstanding(state)
    spans = [end - begin for begin, end in pairwise(times)]
    return spans[0], spans[-1]


async def _saved(state, journal, happens) -> None:
    """The outstanding checkpoint becomes durable."""
    order = next(each for each in outstanding(state) if isinstance(each, PersistCheckpoint))
    await journal.sync()
    await happens(CheckpointWritten(at=state.at, seq=order.seq, epoch=order.epoch, attempt=order.attempt))


def check_steps(count: int, folder: Path) -> None:
    first, last = steps(count, folder)
    assert last < 2.5 * first + 0.05, f"the first tenth took {first:.2f} s, the last one {last:.2f} s"


@pytest.mark.req("R-194", "R-006", "D-17")
def test_ten_thousand_steps_cost_the_same_from_the_first_to_the_last(tmp_path):
    check_steps(10_000, tmp_path)


def test_a_step_that_walks_the_history_is_found_out(tmp_path):
    module = sys.modules["agentcore.reduce"]
    real = module.keep_clock

    def walking(state):
        for _ in range(200):
            assert len(tuple(state.history)) == len(state.history)
        return real(state)

    with patched((module, "keep_clock", walking)):
        fails(check_steps, 600, tmp_path)


# ---- resumed under changed tools


def waiting(effect: Effect, reach: str, reducer=reduce) -> Case | None:
    """A session with a call in a state; ``None`` where a call of that kind is never in it."""
    case = Case(contract("pay", effect), contract("other", Effect.PURE), limits=UNBOUNDED, reduce=reducer)
    case.prompt()
    case.reply(call("pay", "c1"), *((call("other", "c2"),) if reach == "Ready" else ()))
    steps_to = {
        "Proposed": (),
        "AwaitingApproval": (case.ask,),
        "Ready": (lambda: case.allow(C1),),
        "Released": (case.allow,),
        "Executing": (case.allow, case.all_saved),
        "CancellationRequested": (case.allow, case.all_saved, case.abort),
        "EffectUnknown": (case.allow, case.all_saved, case.lose),
    }
    for step in steps_to[reach]:
        step()
    return case if case.calls.get(C1) == reach else None


REACHED = ("Proposed", "AwaitingApproval", "Ready", "Released", "Executing", "CancellationRequested", "EffectUnknown")


def check_changed(effect: Effect, reach: str, *, retry: bool = True) -> None:
    """The tool is gone; whatever is asked of it, it is not run, and the call has its one answer."""
    case = waiting(effect, reach)
    if case is None:
        return
    executed = len(case.executed)
    case.restart(tools=(contract("other", Effect.PURE),))
    for _ in range(60):
        work = case.work
        assert not [each for each in work if isinstance(each, ExecuteTool) and each.call_id == C1], "it runs"
        if not case.state.open:
            break
        if asked := [each for each in work if isinstance(each, InspectEffect)]:
            assert asked[0].by is Inspector.PERSON, "a tool that is gone cannot look"
            case.resolve(Resolution.NOT_EXECUTED, retry=retry)
        elif any(isinstance(each, AskApproval) for each in work):
            case.grant()
        elif any(isinstance(each, EvaluatePolicy) for each in work):
            assert case.the(EvaluatePolicy).call_id != C1, "a tool that is gone is not reviewed"
            case.allow()
        elif running := [each for each in work if isinstance(each, ExecuteTool)]:
            case.succeed(running[0].call_id)
        elif any(isinstance(each, RequestModel) for each in work):
            assert "pay" not in [each.name for each in case.view().tools]
            case.reply("Done.")
        else:
            case.all_saved()
    assert not case.state.open, f"it does not end: {case.waits}"
    assert len([each for each in case.executed if each.call_id == C1]) == executed
    assert [result.call_id for result in case.results].count(C1) == 1


@pytest.mark.parametrize("retry", [True, False])
@pytest.mark.parametrize("reach", REACHED)
@pytest.mark.parametrize("effect", Effect)
@pytest.mark.req("R-112", "R-128", "D-8")
def test_a_call_of_a_tool_that_is_gone_is_answered_and_never_run(effect, reach, retry):
    check_changed(effect, reach, retry=retry)


def test_every_call_state_is_reached_here():
    reached = {reach for reach in REACHED for effect in Effect if waiting(effect, reach) is not None}
    assert reached == set(REACHED)


def test_running_what_the_config_no_longer_has_is_found_out():
    real = moves.review

    def as_if_it_were_there(state, present, because, *facts):
        if state.config.tool(present.name) is None:
            state = evolve(state, config=evolve(state.config, tools=(*state.config.tools, present.contract)))
        return real(state, present, because, *facts)

    def check_all() -> None:
        for reach in ("Proposed", "Ready"):
            check_changed(Effect.FENCEABLE, reach)

    with patched((moves, "review", as_if_it_were_there), (stops, "review", as_if_it_were_there)):
        fails(check_all)
