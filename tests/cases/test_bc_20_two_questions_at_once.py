"""BC-20: two parallel tools waited for a person, both questions had one id, and the answers reached the wrong tool.

A question is known by its call, its number and the digest of what would run. Reviews are serial, so one question is
open at a time and the answer to another is refused (docs/decisions/0106).
"""

from __future__ import annotations

import itertools

import anyio
import pytest

from agentcore import Effect, reduce
from agentcore.commands import AskApproval, ExecuteTool, key_of
from agentcore.events import ApprovalDenied, ApprovalGranted
from agentcore.messages import DenialCase, DeniedCall, Succeeded, digest
from agentcore.rejections import RejectionCode
from agentcore.states import AwaitingApproval, Proposed, Ready, Settled
from agentcore.steps.calls import review
from interpreters import Agent
from interpreters.scripted import (
    Ask,
    AskFirst,
    Say,
    ScriptedGate,
    ScriptedModel,
    ScriptedToolBox,
    Succeed,
    scripted_tool,
)
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, patched
from tests.core.driver import call, tool

A, B = "1.1.0", "1.1.1"
ADVICE = "use other path"


def asking(reducer=reduce, *, equal: bool = False) -> Case:
    """One response with two calls, both of which a person has to allow."""
    case = Case(tool("tool_a", Effect.OPAQUE), tool("tool_b", Effect.OPAQUE), reduce=reducer)
    if equal:
        case.propose(call("tool_a", "c1", path="x"), call("tool_a", "c2", path="x"))
    else:
        case.propose(call("tool_a", "c1", path="x"), call("tool_b", "c2", path="y"))
    case.ask(A)
    return case


def granted(case: Case, call_id: str, **change) -> ApprovalGranted:
    """An answer as a frontend gives it that was shown the call: its own arguments, and their digest."""
    shown = case.call(call_id)
    named = {"call_id": call_id, "epoch": case.state.epoch, "attempt": 1}
    sealed = {"arguments": shown.proposed, "digest": digest(shown.proposed)}
    return ApprovalGranted(at=case.now + 1, **(named | sealed | change))


def check(*, equal: bool, reducer=reduce) -> None:
    case = asking(reducer, equal=equal)
    first = case.the(AskApproval)
    assert first.call_id == A
    # An answer to B before B was asked settles nothing, and is not kept for later.
    judged = case.quietly(granted(case, B))
    assert judged.rejection.code is RejectionCode.FOREIGN_ATTEMPT
    # 2: A is denied, with feedback.
    case.deny(A, feedback=ADVICE)
    assert case.calls == {A: "Settled", B: "Proposed"}
    case.ask(B)
    second = case.the(AskApproval)
    assert (key_of(first), first.call_id) != (key_of(second), second.call_id)
    # 3: A's question named for B, and B's for A.
    crossed = [
        granted(case, B, arguments=case.call(A).proposed, digest=first.digest, attempt=first.attempt + 1),
        ApprovalGranted(at=case.now, call_id=A, epoch=0, attempt=second.attempt, arguments="{}", digest=digest("{}")),
        granted(case, B, digest=digest("another")),
    ]
    for event in crossed:
        assert case.quietly(event).rejection is not None
    assert case.calls == {A: "Settled", B: "AwaitingApproval"}
    # 1: B is approved.
    case.grant(B)
    case.all_saved()
    # 4: B is denied after that, A approved after that.
    late = [
        ApprovalDenied(at=case.now, call_id=B, epoch=0, attempt=1, feedback="no"),
        granted(case, A),
    ]
    for event in late:
        assert case.quietly(event).rejection.code is RejectionCode.ALREADY_DECIDED
    assert [command.call_id for command in case.executed] == [B]
    case.succeed(B, "done")
    results = case.sent[-1][2].results
    assert [result.call_id for result in results] == [A, B]
    assert results[0].outcome == DeniedCall(DenialCase.FEEDBACK, "", ADVICE, "user")
    assert ADVICE in results[0].content
    assert isinstance(results[1].outcome, Succeeded)
    assert case.count(ExecuteTool) == 1


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.req("R-120", "R-127", "R-114", "G-6", "D-1")
def test_each_answer_reaches_the_call_it_was_asked_about(equal):
    check(equal=equal)


def whoever_asks(*_) -> None:
    """The check of an answer as it was: one id for the questions of a batch."""


def early(state, called, event):
    """The row as it was: an answer is taken for a call that nobody was asked about."""
    return review._ready(state, called, event.arguments, event.digest, Ready(called.state.transition), rule="")


def test_one_id_for_two_questions_is_found_out():
    with patched((review, "misdirected", whoever_asks)):
        fails(check, equal=False)


@pytest.mark.parametrize(
    "change",
    [
        instead(Proposed, ApprovalGranted, early, to=(Ready,)),
        instead(Settled, ApprovalGranted, early, to=(Ready,)),
    ],
)
def test_taking_an_answer_before_or_after_its_question_is_found_out(change):
    fails(check, equal=False, reducer=broken(change))


def check_answers(reducer=reduce) -> None:
    """Property: of all answers to either question in all orders, each settles at most the call that it names."""
    for answers in itertools.product(("grant A", "deny A", "grant B", "deny B"), repeat=3):
        case = asking(reducer)
        for answer in answers:
            verb, about = answer.split()
            call_id = A if about == "A" else B
            other = B if about == "A" else A
            before = _of(case, other)
            event = granted(case, call_id) if verb == "grant" and call_id in case.calls else _denied(case, call_id)
            case.given(event)
            assert _of(case, other) == before
            if case.state.batch and case.calls.get(B) == "Proposed" and case.calls[A] != "AwaitingApproval":
                case.ask(B)


def _of(case: Case, call_id: str) -> str:
    """What is decided about a call; that it starts once its siblings are decided is no decision."""
    name = case.calls.get(call_id, "Settled")
    return "allowed" if name in ("Ready", "Released", "Executing") else name


def _denied(case: Case, call_id: str) -> ApprovalDenied:
    return ApprovalDenied(at=case.now + 1, call_id=call_id, epoch=0, attempt=1, feedback=ADVICE)


@pytest.mark.req("R-120", "G-6")
def test_an_answer_settles_no_other_call_than_the_one_it_names():
    check_answers()


# ---- a person at an open session


async def check_session() -> None:
    box = ScriptedToolBox(
        scripted_tool(name, Succeed(result=f"{name} did"), effect=Effect.OPAQUE) for name in ("tool_a", "tool_b")
    )
    gate = ScriptedGate({"tool_a": [AskFirst()], "tool_b": [AskFirst()]})
    model = ScriptedModel([Say(calls=(Ask("tool_a", {"p": 1}), Ask("tool_b", {"p": 1}))), Say("done")])
    async with Agent(model=model, tools=box, rules=gate).open() as session:
        views = session.views()
        await session.send("go")
        shown = await _asked(views)
        assert shown.call_id == A
        assert not (await session.approve(B)).accepted
        assert (await session.deny(A, ADVICE)).accepted
        assert (await _asked(views)).call_id == B
        assert not (await session.approve(A)).accepted
        assert not (await session.approve(B, shown="0" * 64)).accepted
        assert (await session.approve(B)).accepted
        assert not (await session.deny(B)).accepted
        with anyio.fail_after(10):
            assert (await session.wait()).text == "done"
    assert [deed.tool for deed in box.deeds] == ["tool_b"]
    assert [answer.content for answer in model.requests[1][1].messages[-1].results] == [
        f"Denied by rule scripted-ask: {ADVICE}",
        "tool_b did",
    ]


async def _asked(views):
    async for shown in views:
        if shown.name == "approval_asked":
            return shown.view
    raise AssertionError("nobody was asked")


@pytest.mark.anyio
@pytest.mark.req("R-114", "R-120", "G-6")
async def test_a_person_is_asked_one_after_the_other_and_answers_only_what_is_asked():
    await check_session()


@pytest.mark.anyio
async def test_a_session_that_takes_any_answer_for_any_question_is_found_out(monkeypatch):
    twin = broken(instead(Proposed, ApprovalGranted, early, to=(Ready,)))
    monkeypatch.setattr("interpreters.engine.engine.reduce", twin)
    await fails_async(check_session)


def test_the_question_is_bound_to_the_digest_of_what_would_run():
    case = asking()
    assert case.the(AskApproval).digest == digest(case.call(A).arguments)
    assert isinstance(case.call(A).state, AwaitingApproval)
