"""BC-21: one "no" in a batch removed the approved calls too: neither executed nor answered, and saved like that.

A denial is the result of the one call it is about. The message stands as the model wrote it, every call has its answer
in source order, and a denial that ends the turn says so in the results of the others.

Questions are asked one after the other, in source order (docs/decisions/0106): an answer that comes before its question
is refused and leaves the question to come untouched.
"""

from __future__ import annotations

import itertools

import pytest
from attrs import evolve

from agentcore import Policy, Verdict
from agentcore.commands import AskApproval, EvaluatePolicy, ExecuteTool, RequestModel
from agentcore.events import ApprovalDenied, ApprovalGranted
from agentcore.messages import AssistantMessage, DeniedCall, NotExecuted, Succeeded, ToolMessage, digest
from agentcore.rejections import RejectionCode
from agentcore.states import Denied, Settled
from agentcore.steps import decide, ending
from agentcore.steps.results import result_of
from tests.cases.helpers_a import Case, fails, patched
from tests.core.driver import call, tool

C1, C2, C3 = "1.1.0", "1.1.1", "1.1.2"
FEEDBACK = "not on a Friday"


def three_asked(policy: Policy | None = None) -> Case:
    case = Case(tool("write"), policy=policy)
    case.prompt()
    case.reply("I will.", *(call("write", f"c{n}", n=n) for n in (1, 2, 3)))
    return case


def answered(case: Case, call_id: str) -> bool:
    """Give a person's answer to a call, asked about or not; say whether it was taken."""
    while any(isinstance(each, EvaluatePolicy) for each in case.work):
        case.ask(rule="ask-first")
    assert call_id in case.calls, f"{call_id} can no longer be answered"
    key = {"at": case.now + 1, "call_id": call_id, "epoch": 0, "attempt": 1}
    if call_id == C2:
        event = ApprovalDenied(**key, feedback=FEEDBACK)
    else:
        text = case.call(call_id).arguments
        event = ApprovalGranted(**key, arguments=text, digest=digest(text))
    asked = [each.call_id for each in case.work if isinstance(each, AskApproval)]
    if asked == [call_id]:
        return case.given(event).verdict is Verdict.ACCEPTED
    case.quietly(event)
    return False


def answer_all(case: Case, order: tuple[str, ...]) -> None:
    """A person who goes through the list again and again, in an order of their own."""
    left = list(order)
    while left:
        left = [call_id for call_id in left if not answered(case, call_id)]


def check(order: tuple[str, ...] = (C1, C2, C3), policy: Policy | None = None) -> None:
    case = three_asked(policy)
    written = case.state.batch.message
    answer_all(case, order)
    assert case.count(ExecuteTool) == 0, "nothing starts before it is durable"
    case.all_saved()
    assert sorted(each.call_id for each in case.executed) == [C1, C3]
    case.succeed(C3, "third")
    assert case.count(RequestModel) == 1, "c1 still runs"
    case.succeed(C1, "first")
    assert case.count(RequestModel) == 2
    assert case.history[1] == written
    assert [each.provider_id for each in case.history[1].calls] == ["c1", "c2", "c3"]
    assert [(each.provider_id, each.content) for each in case.history[2].results] == [
        ("c1", "first"),
        ("c2", f"Denied by rule ask-first: {FEEDBACK}"),
        ("c3", "third"),
    ]
    # The next call of the same kind is asked about again.
    case.reply(call("write", "c2", n=2))
    case.ask()
    assert case.the(AskApproval).call_id == "1.2.0"
    case.grant()
    case.all_saved()
    assert [each.call_id for each in case.executed][2:] == ["1.2.0"]


@pytest.mark.parametrize("order", list(itertools.permutations((C1, C2, C3))))
@pytest.mark.req("D-1", "R-120", "R-127", "R-128", "R-134", "G-6")
def test_each_call_gets_its_own_answer_in_whatever_order_a_person_answers(order):
    check(order)


def only_the_approved(state):
    """Writing results as it was: the denied call is cut out of the message, with whatever else is not done."""
    batch = state.batch
    kept = [each for each in batch.calls if isinstance(each.state.outcome, Succeeded)]
    names = {each.provider_id for each in kept}
    parts = tuple(part for part in batch.message.parts if getattr(part, "provider_id", "") in names)
    results = ToolMessage(batch.request_id, tuple(result_of(each, each.state) for each in kept))
    return evolve(state, history=state.history.append(evolve(batch.message, parts=parts), results))


def test_rewriting_the_message_of_the_model_is_found_out():
    with patched((decide, "write_results", only_the_approved)):
        fails(check)


def test_a_denial_that_takes_the_others_along_is_found_out():
    fails(check, policy=Policy(denied_feedback="stop_turn"))


# ---- the other reading: a denial ends the turn


def check_terminal() -> None:
    case = three_asked(Policy(denied_feedback="stop_turn"))
    answer_all(case, (C1, C2))
    case.all_saved()
    assert case.phase is Denied
    assert (case.ending.rule, case.ending.message) == ("ask-first", FEEDBACK)
    assert case.executed == []
    message, results = case.history[1], case.history[2]
    assert isinstance(message, AssistantMessage)
    assert [each.provider_id for each in message.calls] == ["c1", "c2", "c3"]
    assert [type(each.outcome) for each in results.results] == [NotExecuted, DeniedCall, NotExecuted]
    # A later prompt works, with every id answered: ``check_sendable`` looks at each request.
    case.reopen()
    case.prompt("Then without.")
    assert case.count(RequestModel) == 2


@pytest.mark.req("D-1", "R-115", "R-117")
def test_where_a_denial_ends_the_turn_the_others_are_answered_as_not_executed():
    check_terminal()


def without_the_others(state):
    """Writing results as it was: only what a person had decided is answered."""
    batch = state.batch
    decided = [each for each in batch.calls if isinstance(each.state, Settled)]
    denied = [each for each in decided if isinstance(each.state.outcome, DeniedCall)]
    results = ToolMessage(batch.request_id, tuple(result_of(each, each.state) for each in denied))
    return evolve(state, history=state.history.append(batch.message, results))


def test_leaving_the_others_unanswered_is_found_out():
    with patched((ending, "write_results", without_the_others)):
        fails(check_terminal)


@pytest.mark.req("R-120")
def test_an_answer_before_its_question_is_refused():
    case = three_asked()
    case.ask()
    text = case.call(C3).arguments
    early = ApprovalGranted(at=case.now, call_id=C3, epoch=0, attempt=1, arguments=text, digest=digest(text))
    assert case.quietly(early).rejection.code is RejectionCode.FOREIGN_ATTEMPT
