"""BC-23: instead of answering a question the user typed a correction, and a request went out with a call unanswered.

A message waits for its place, and says so, until the open question is answered: docs/decisions/0122. So the call has
its result before the message, and the question that is shown is the one that can be answered.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Effect, Verdict, reduce
from agentcore.commands import AskApproval, RequestModel
from agentcore.events import PromptSubmitted, SteeringQueued
from agentcore.messages import MessageSource, TextPart, UserMessage
from agentcore.projections import Said, WithdrawMessage, pending_acts, transcript
from agentcore.rejections import RejectionCode
from agentcore.states import AwaitingModel, Because, RunningTools
from agentcore.steps.begin import request_model
from interpreters import Agent
from interpreters.scripted import Ask, AskFirst, Say, ScriptedGate, ScriptedModel, ScriptedToolBox, scripted_tool
from tests.cases.helpers_a import Case, broken, fails, instead, shape
from tests.core.driver import call, tool

C1, WORDS = "1.1.0", "use 50 instead"


def steer(case: Case) -> None:
    case.steer(WORDS, "m1")


def follow_up(case: Case) -> None:
    case.follow_up(WORDS, "m1")


def submit(case: Case) -> None:
    """A bare prompt is refused; the same message is then filed."""
    event = PromptSubmitted(at=case.now + 1, message_id="m1", parts=(TextPart(WORDS),))
    assert case.quietly(event).rejection.code is RejectionCode.TURN_IN_PROGRESS
    case.follow_up(WORDS, "m1")


def check(say, reducer=reduce) -> None:
    case = Case(tool("transfer", Effect.OPAQUE), reduce=reducer)
    case.prompt("Pay them.")
    case.reply(call("transfer", "c1", amount=500))
    case.ask()
    case.all_saved()
    say(case)
    # 1: nothing goes out; the question stays; the message is seen to wait.
    assert case.count(RequestModel) == 1
    assert case.the(AskApproval).call_id == C1
    waiting = [each.text for each in transcript(case.state) if isinstance(each, Said) and each.waiting]
    assert waiting == [WORDS]
    assert [act.message_id for act in pending_acts(case.state) if isinstance(act, WithdrawMessage)] == ["m1"]
    # 2: the answer is to the question that was shown.
    case.grant()
    case.all_saved()
    assert [each.call_id for each in case.executed] == [C1]
    assert case.call(C1).arguments == '{"amount":500}'
    case.succeed()
    if say is not steer:
        case.answer("Paid 500.")
    told = shape(case.history)
    assert told.index(("", "transfer")) + 1 == told.index([(C1, "Succeeded")])
    assert told.index([(C1, "Succeeded")]) < told.index(WORDS)
    assert case.count(RequestModel) == (2 if say is steer else 3)
    assert WORDS in shape(case.sent[-1])
    # A question that is not shown any more cannot be answered.
    grant = next(index for index, line in enumerate(case.trace) if type(line.event).__name__ == "ApprovalGranted")
    case.again(grant)
    other = evolve(case.trace[grant].event, by="somebody else", at=case.now)
    assert case.quietly(other).verdict is Verdict.REJECTED


@pytest.mark.parametrize("say", [steer, follow_up, submit])
@pytest.mark.req("R-134", "R-063", "D-33", "R-172", "R-173")
def test_what_is_said_while_a_question_is_open_comes_after_the_result(say):
    check(say)


def say_at_once(state, event):
    """The row as it was: a message goes into history and to the model at once."""
    message = UserMessage(event.message_id, MessageSource.STEERING, event.parts)
    state = evolve(state, history=state.history.append(state.batch.message, message))
    return request_model(state, Because.STEERING_DELIVERED)


def test_a_message_that_goes_out_at_once_is_found_out():
    fails(check, steer, broken(instead(RunningTools, SteeringQueued, say_at_once, to=(AwaitingModel,))))


@pytest.mark.anyio
@pytest.mark.req("D-33")
@pytest.mark.parametrize("steering", [True, False])
async def test_a_user_who_types_instead_of_answering_is_told_that_it_waits(steering):
    box = ScriptedToolBox([scripted_tool("transfer", effect=Effect.OPAQUE)])
    model = ScriptedModel([Say(calls=(Ask("transfer", {"amount": 500}),)), Say("paid"), Say("then 50")])
    agent = Agent(model=model, tools=box, rules=ScriptedGate({"transfer": [AskFirst()]}))
    async with agent.open("s", create=True) as session:
        views = session.views(0)
        await session.send("pay them")
        async for shown in views:
            if shown.name == "approval_asked":
                break
        sent = await session.send(WORDS, steer=steering)
        assert sent.filed == ("steering" if steering else "follow-up")
        assert len(model.requests) == 1
        assert (await session.approve(C1)).accepted
        await session.wait()
        told = shape(session.state.history)
        assert not (await session.approve(C1)).accepted
    assert box.count("transfer") == 1
    assert told[:3] == ["pay them", ("", "transfer"), [(C1, "Succeeded")]]
    assert told.index(WORDS) == (3 if steering else 4)
