"""BC-05: a late failure made a framework go back to its last checkpoint and run earlier tools again.

Each outcome is an event of its own, and no call starts before everything up to its release is durable. So a crash can
only leave the newest attempts in doubt, and those are inspected before anything runs again.
"""

from __future__ import annotations

import attrs
import pytest

from agentcore import Effect, Policy, Verdict, reduce
from agentcore.codec import decode_event
from agentcore.commands import (
    EvaluatePolicy,
    ExecuteTool,
    InspectEffect,
    PersistCheckpoint,
    RequestModel,
    key_of,
)
from agentcore.events import Finding, ModelFailure, SessionResumed, ToolSucceeded
from agentcore.states import Because, Executing, Failed, Ready, Released, StopReason
from agentcore.steps.calls import stops
from agentcore.steps.calls.moves import review
from agentcore.steps.verdicts import Advance
from interpreters import Agent, FileStore
from interpreters.scripted import (
    Ask,
    Hang,
    Say,
    ScriptedGate,
    ScriptedModel,
    ScriptedToolBox,
    Succeed,
    scripted_tool,
)
from tests.cases.helpers_a import (
    Case,
    broken,
    crash_image,
    evidence_between,
    fails,
    instead,
    shape,
    unknown_state,
    until_started,
)
from tests.core.driver import call, tool

NAMES = ("charge", "mark_refunded", "notify")
C1, C2, C3 = "1.1.0", "1.1.1", "1.1.2"


def refund(reducer=reduce, **contract) -> Case:
    """c1 and c2 are done, one after the other; c3 has started."""
    tools = (tool(name, Effect.FENCEABLE, **contract) for name in NAMES)
    case = Case(*tools, policy=Policy(sequential=True), reduce=reducer)
    case.execute(*NAMES)
    for call_id in (C1, C2):
        case.started(call_id)
        case.succeed(call_id, f"did {call_id}")
        case.all_saved()
    case.started(C3)
    return case


def dies(case: Case) -> None:
    case.restart()


def breaks(case: Case) -> None:
    case.lose(C3, "connection reset")


def check(happens, reducer=reduce, **contract) -> None:
    case = refund(reducer, **contract)
    executed = len(case.executed)
    happens(case)
    # c3 is in doubt, and all that is wanted is to look; what is done is done.
    assert case.calls == {C1: "Settled", C2: "Settled", C3: "EffectUnknown"}
    assert len(case.executed) == executed
    about = [command for command in case.work if not isinstance(command, PersistCheckpoint)]
    assert [type(command) for command in about] == [InspectEffect]
    assert about[0].call_id == C3

    case.inspected(Finding.NOT_EXECUTED, C3, conclusive=True, evidence="not there")
    if any(isinstance(each, EvaluatePolicy) for each in case.work):
        case.allow()
    case.all_saved()
    case.succeed(C3, "did it")
    case.all_saved()

    order = [command.call_id for command in case.executed]
    assert order == [C1, C2, C3, C3]
    assert evidence_between(case, C3)
    keys = {command.call_id for command in case.executed[2:]}
    assert keys == {C3}, "the effect key is session and call: the same for both attempts"
    assert shape(case.sent[-1])[2] == [(C1, "Succeeded"), (C2, "Succeeded"), (C3, "Succeeded")]
    assert len(case.requested) == 2


@pytest.mark.req("R-010", "R-163", "R-213", "D-8", "D-19", "G-12")
def test_a_crash_in_the_last_tool_leaves_the_earlier_ones_alone():
    check(dies)


@pytest.mark.req("R-153", "R-157", "D-8")
def test_a_transport_error_in_the_last_tool_does_the_same_where_the_tool_wants_a_retry():
    check(breaks, absent_otherwise="retry")


@pytest.mark.req("D-8", "R-243")
def test_without_that_wish_the_proved_absence_is_told_to_the_model():
    case = refund()
    breaks(case)
    case.inspected(Finding.NOT_EXECUTED, C3, conclusive=True, evidence="not there")
    assert [command.call_id for command in case.executed] == [C1, C2, C3]
    assert shape(case.sent[-1])[2] == [(C1, "Succeeded"), (C2, "Succeeded"), (C3, "NotExecuted")]


def run_blindly(state, call, event):
    """A resume as it was: what was running is run again."""
    return review(state, call, Because.SESSION_RESUMED)


def test_a_resume_that_runs_again_without_looking_is_found_out():
    fails(check, dies, reducer=broken(instead(Executing, SessionResumed, run_blindly, to=(Ready, Released))))


@pytest.mark.req("R-084", "R-010")
def test_a_fatal_model_error_after_the_tools_runs_nothing_again():
    case = Case(*(tool(name) for name in NAMES), policy=Policy(sequential=True))
    case.execute(*NAMES[:2])
    for call_id in (C1, C2):
        case.succeed(call_id)
        case.all_saved()
    case.model_fails(ModelFailure.FATAL, "invalid key")
    case.restart()
    case.all_saved()
    assert (case.phase, case.stop) == (Failed, StopReason.MODEL_ERROR)
    case.reopen()
    case.prompt("again")
    case.answer()
    assert [command.call_id for command in case.executed] == [C1, C2]


# ---- every crash point, with a world that counts deeds


class World:
    """Does what is ordered, and knows what was done."""

    def __init__(self, dies_at: int, *, did: bool, loses: bool) -> None:
        self.deeds: list[str] = []
        self.dies_at, self.did, self.loses = dies_at, did, loses
        # A slow disk: what is written is durable as late as the session lets it be.
        self.order = (EvaluatePolicy, InspectEffect, ExecuteTool, RequestModel, PersistCheckpoint)
        self.crashed = False

    def play(self, case: Case) -> None:
        """Answer what is outstanding until the turn is over; die once on the way."""
        for step in range(200):
            if case.state.turn.number == 0:
                case.prompt()
            elif not case.state.open:
                return
            elif step == self.dies_at:
                self.die(case)
            else:
                self.answer(case, self.next(case))
        raise AssertionError("the turn does not end")

    def next(self, case: Case):
        ready = [each for kind in self.order for each in case.work if isinstance(each, kind)]
        assert ready, f"stuck in {case.phase.__name__}: {case.waits}"
        return ready[0]

    def answer(self, case: Case, order) -> None:
        about = key_of(order).id
        if isinstance(order, PersistCheckpoint):
            case.saved()
        elif isinstance(order, EvaluatePolicy):
            case.allow(about)
        elif isinstance(order, InspectEffect):
            found = Finding.EXECUTED if about in self.deeds else Finding.NOT_EXECUTED
            case.inspected(found, about, conclusive=True, result=f"did {about}", evidence="looked")
        elif isinstance(order, ExecuteTool):
            self.deeds.append(about)
            case.succeed(about, f"did {about}")
        elif case.state.turn.step == 1:
            case.reply(*map(call, NAMES))
        else:
            case.reply("done")

    def die(self, case: Case) -> None:
        """Leave an attempt that was ordered half done, or done, and go on in another process."""
        self.crashed = True
        if self.did:
            self.deeds += [each.call_id for each in case.work if isinstance(each, ExecuteTool)]
        case.restart(lose=case.volatile if self.loses else 0)


def check_crash(dies_at: int, *, did: bool, loses: bool, reducer=reduce) -> bool:
    """Return whether the crash happened before the turn was over."""
    case = Case(*(tool(name) for name in NAMES), policy=Policy(sequential=True), reduce=reducer)
    world = World(dies_at, did=did, loses=loses)
    world.play(case)
    assert sorted(world.deeds) == [C1, C2, C3]
    assert shape(case.history)[2] == [(C1, "Succeeded"), (C2, "Succeeded"), (C3, "Succeeded")]
    return world.crashed


@pytest.mark.parametrize("loses", [False, True])
@pytest.mark.parametrize("did", [False, True])
@pytest.mark.req("R-010", "R-194", "G-12")
def test_a_crash_at_any_point_leaves_each_effect_done_once(did, loses):
    crashes = [check_crash(step, did=did, loses=loses) for step in range(24)]
    assert crashes.count(True) >= 14
    assert crashes[-1] is False


def start_at_once(state, proposed, event):
    """A release as it was: the effect starts before its intent is durable."""
    freed = stops.release(state, proposed, event)
    if not isinstance(freed.state, Released):
        return freed
    return attrs.evolve(freed, state=Executing(freed.state.transition, attrs.evolve(freed.state.run, covered_at=0)))


def test_an_effect_before_its_record_is_found_out():
    def check_all(reducer) -> None:
        for step in range(24):
            check_crash(step, did=True, loses=True, reducer=reducer)

    fails(check_all, broken(instead(Ready, Advance, start_at_once)))


# ---- with files: a process dies while the last tool runs


@pytest.mark.anyio
@pytest.mark.parametrize("did", [False, True])
@pytest.mark.req("R-194", "R-163", "R-010")
async def test_the_same_with_files_and_an_inspection_that_looks(did, tmp_path):
    def box(*last) -> ScriptedToolBox:
        acts = {"charge": (Succeed(result="charged"),), "mark_refunded": (Succeed(result="marked"),), "notify": last}
        return ScriptedToolBox(scripted_tool(name, *acts[name], effect=Effect.FENCEABLE) for name in NAMES)

    first = box(Hang(did=did, handle="mail 7"))
    asks = tuple(Ask(name) for name in NAMES)
    told = {"rules": ScriptedGate(), "policy": Policy(sequential=True)}
    agent = Agent(model=ScriptedModel([Say(calls=asks)]), tools=first, store=FileStore(tmp_path / "a"), **told)
    async with agent.open("s", create=True) as session:
        views = session.views()
        await session.send("refund")
        await until_started(views, C3)
        left = crash_image(tmp_path / "a", tmp_path / "b")

    second = box(Succeed(result="mailed"))
    second.deeds += first.deeds
    model = ScriptedModel([Say("done")])
    agent = Agent(model=model, tools=second, store=FileStore(left), **told)
    async with agent.open("s") as session:
        assert (await session.wait()).text == "done"
    assert [second.count(name) for name in NAMES] == [1, 1, 1]
    assert shape(model.requests[0][1].messages)[2] == [(C1, "Succeeded"), (C2, "Succeeded"), (C3, "Succeeded")]
    assert len(model.requests) == 1


def test_the_outcomes_stand_in_the_journal_one_by_one():
    case = refund()
    done = [decode_event(line) for line in case.lines]
    assert [event.call_id for event in done if isinstance(event, ToolSucceeded)] == [C1, C2]
    assert unknown_after_crash(case).run.resumed


def unknown_after_crash(case: Case):
    case.restart()
    assert case.trace[-1].judged.verdict is Verdict.ACCEPTED
    return unknown_state(case, C3)
