"""BC-22: after save and reload the recorded approval was ignored, asked again, and the tool never ran.

A permission belongs to the call and to the digest of what may run, in the session's own state. Live objects of the host
are no part of it.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Effect, reduce
from agentcore.codec import decode_event, encode_state
from agentcore.commands import AskApproval, EvaluatePolicy, ExecuteTool, InspectEffect
from agentcore.events import ApprovalGranted, Finding, Inspector, Resolution, SessionResumed
from agentcore.states import AwaitingApproval, Because, Executing, Proposed, Ready, Released
from agentcore.steps.calls import moves
from agentcore.steps.calls.moves import review
from interpreters import Agent, FileStore, ManualClock, ToolContext, tool
from interpreters.engine import read_state
from interpreters.scripted import Ask, AskFirst, Say, ScriptedGate, ScriptedModel
from tests.cases.helpers_a import (
    Case,
    broken,
    crash_image,
    fails,
    fails_async,
    instead,
    journalled,
    patched,
    unknown_state,
)
from tests.core.driver import call
from tests.core.driver import tool as contract

C1 = "1.1.0"


def asked(reducer=reduce, effect: Effect = Effect.FENCEABLE) -> Case:
    """p1 is open for c1, and saved."""
    case = Case(contract("pay", effect), reduce=reducer)
    case.prompt()
    case.reply(call("pay", "c1", amount=5))
    case.ask(rule="ask-first")
    case.all_saved()
    return case


def reviewed_again(case: Case) -> None:
    """What a resume orders first: the same review under the new configuration."""
    case.ask(rule="ask-first")


def check_a(reducer=reduce) -> None:
    case = asked(reducer)
    before = case.the(AskApproval)
    case.restart()
    reviewed_again(case)
    after = case.the(AskApproval)
    assert (after.call_id, after.digest) == (before.call_id, before.digest)
    assert case.call(C1).arguments == '{"amount":5}'
    case.grant()
    assert not [each for each in case.work if isinstance(each, AskApproval)]
    check_runs_once(case)


def check_b(effect: Effect = Effect.FENCEABLE) -> None:
    """The grant is durable, the process dies before the execution was handed out: docs/decisions/0123."""
    case = asked(effect=effect)
    case.grant()
    assert case.count(ExecuteTool) == 0 or effect is Effect.PURE
    case.restart()
    if effect in (Effect.FENCEABLE, Effect.INSPECTABLE, Effect.OPAQUE):
        # Whether the order went out cannot be read from what may be lost with the page cache: one look comes first.
        assert case.executed == []
        find_nothing(case)
    while any(isinstance(each, EvaluatePolicy) for each in case.work):
        reviewed_again(case)
    assert not [each for each in case.work if isinstance(each, AskApproval)], "asked a second time"
    case.all_saved()
    assert [each.call_id for each in case.executed][-1:] == [C1]
    assert effect is Effect.PURE or len(case.executed) == 1
    case.succeed()
    assert case.outcome().result == "ok"


def find_nothing(case: Case) -> None:
    """Whoever has to look finds that nothing was done: the program, or a person."""
    if case.the(InspectEffect).by is Inspector.PERSON:
        case.resolve(Resolution.NOT_EXECUTED, retry=True)
        return
    case.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no such payment")
    if f"start-timer inquiry/{C1}" in case.waits:
        # What can still act is looked at again when it cannot any more.
        case.fire(f"inquiry/{C1}")
        case.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no such payment")


def check_c(reducer=reduce) -> None:
    case = asked(reducer)
    case.grant()
    case.all_saved()
    case.started()
    executed = len(case.executed)
    case.restart()
    unknown_state(case)
    kinds = [type(each) for each in case.work]
    assert InspectEffect in kinds
    assert AskApproval not in kinds
    assert len(case.executed) == executed == 1


def check_runs_once(case: Case) -> None:
    case.all_saved()
    assert [each.call_id for each in case.executed] == [C1]
    decided = [decode_event(line) for line in case.lines]
    grants = [each for each in decided if isinstance(each, ApprovalGranted)]
    assert [(each.by, each.digest) for each in grants] == [("user", case.call(C1).digest)]
    assert grants[0].at > 0
    case.succeed()
    assert case.outcome().result == "ok"


@pytest.mark.parametrize("check", [check_a, check_c])
@pytest.mark.req("G-6", "R-010", "R-187", "D-32")
def test_a_permission_outlives_the_process_that_took_it(check):
    check()


@pytest.mark.parametrize("effect", Effect)
@pytest.mark.req("G-6", "D-8", "R-163")
def test_a_granted_call_that_was_not_handed_out_runs_without_a_second_question(effect):
    check_b(effect)


def forget_the_grant(state, present, because, *facts):
    """Reviewing again as it was: what was granted is not kept."""
    return evolve(review(state, present, because, *facts), grant=None)


def let_it_run(state, present, event):
    """A resume as it was: an open question counts as answered."""
    ready = Ready(present.state.transition)
    return evolve(present, state=ready, reviewed_in=state.epoch)


def run_blindly(state, present, event):
    """A resume as it was: what was running is run again."""
    return review(state, present, Because.SESSION_RESUMED)


@pytest.mark.parametrize("effect", [Effect.FENCEABLE, Effect.KEYED, Effect.OPAQUE])
def test_a_resume_that_forgets_what_was_granted_is_found_out(effect):
    with patched((moves, "review", forget_the_grant)):
        fails(check_b, effect)


@pytest.mark.parametrize(
    ("check", "change"),
    [
        (check_a, instead(AwaitingApproval, SessionResumed, let_it_run, to=(Ready, Released))),
        (check_c, instead(Executing, SessionResumed, run_blindly, to=(Ready, Released, Proposed))),
    ],
)
def test_a_resume_that_asks_nobody_or_runs_blindly_is_found_out(check, change):
    fails(check, broken(change))


@pytest.mark.req("G-6")
def test_a_grant_that_waits_behind_an_open_question_stands_after_a_crash():
    """c1 is granted and ready, c2 still asked about: nothing was released, so c1 is not asked about again."""
    case = Case(contract("pay", Effect.FENCEABLE))
    case.prompt()
    case.reply(call("pay", "c1", amount=5), call("pay", "c2", amount=6))
    case.ask()
    case.grant()
    case.ask()
    case.all_saved()
    case.restart()
    case.ask()
    assert isinstance(case.call(C1).state, Ready)
    assert case.call(C1).state.transition.because is Because.GRANT_STANDS
    case.ask()
    case.grant("1.1.1")
    case.all_saved()
    assert [each.call_id for each in case.executed] == [C1, "1.1.1"]


# ---- real files, and live objects of the host


def agent_of(folder, paid: list, clock: ManualClock) -> Agent:
    @tool(effect="opaque")
    async def pay(amount: int, context: ToolContext) -> str:
        """Pay."""
        paid.append((amount, context.host))
        return "paid"

    return Agent(
        model=ScriptedModel([Say(calls=(Ask("pay", {"amount": 5}),)), Say("done")], by_history=True),
        tools=[pay],
        rules=ScriptedGate({"pay": [AskFirst()]}),
        store=FileStore(folder),
        clock=clock,
    )


async def until_asked(views) -> None:
    async for shown in views:
        if shown.name == "approval_asked":
            return


async def check_engine(tmp_path, contexts) -> None:
    paid, clock = [], ManualClock()
    async with agent_of(tmp_path / "one", paid, clock).open("s", create=True, context=contexts[0]) as session:
        views = session.views(0)
        await session.send("pay the bill")
        await until_asked(views)
        for name in ("two", "three"):
            crash_image(tmp_path / "one", tmp_path / name)
    states = []
    for name, context in zip(("two", "three"), contexts, strict=True):
        async with agent_of(tmp_path / name, paid, clock).open("s", context=context) as session:
            await until_asked(session.views(0))
            states.append(encode_state(session.state))
            if name == "two":
                assert (await session.approve(C1, by="anna")).accepted
                assert (await session.wait()).text == "done"
    assert paid == [(5, contexts[0])]
    assert states[0] == states[1], "the host's live object has got into the state"
    store = FileStore(tmp_path / "two")
    grants = [each for each in await journalled(store, "s") if isinstance(each, ApprovalGranted)]
    assert [each.by for each in grants] == ["anna"]
    assert not (await read_state(store, "s")).open


@pytest.mark.anyio
@pytest.mark.req("D-32", "G-6", "R-009")
async def test_a_question_is_there_again_in_another_process_and_its_answer_runs_the_call_once(tmp_path):
    await check_engine(tmp_path, ({"user": "anna"}, object()))


@pytest.mark.anyio
async def test_an_engine_that_lets_an_open_question_pass_is_found_out(tmp_path, monkeypatch):
    twin = broken(instead(AwaitingApproval, SessionResumed, let_it_run, to=(Ready, Released)))
    monkeypatch.setattr("interpreters.engine.engine.reduce", twin)
    monkeypatch.setattr("tests.cases.test_bc_22_an_approval_outlives_its_process.until_asked", _no_wait)
    await fails_async(check_engine, tmp_path, ({"user": "anna"}, object()))


async def _no_wait(views) -> None:
    """Wait for the first question only: the twin never asks again."""
    async for shown in views:
        if shown.name in ("approval_asked", "agent_end"):
            return
