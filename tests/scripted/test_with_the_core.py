"""The scripted interpreters against the real reducer, driven by hand: what one orders the others answer."""

from __future__ import annotations

import attrs
import pytest

from agentcore.commands import (
    AskApproval,
    CompactContext,
    EvaluatePolicy,
    ExecuteTool,
    InspectEffect,
    Inspector,
    PersistCheckpoint,
    RequestModel,
)
from agentcore.events import CheckpointWritten, ModelFailure, PromptSubmitted
from agentcore.limits import Limits
from agentcore.messages import AssistantMessage, TextPart, ToolMessage, Usage
from agentcore.policy import Config, Effect
from agentcore.projections import all_calls, request_messages
from agentcore.reduce import reduce, start
from agentcore.states import Completed, StopReason
from interpreters.scripted import (
    Ask,
    AskFirst,
    Break,
    Detach,
    Grant,
    Lose,
    Say,
    ScriptedApprover,
    ScriptedCompactor,
    ScriptedGate,
    ScriptedModel,
    ScriptedToolBox,
    Succeed,
    scripted_tool,
    sub_agent,
)
from tests.models.runs import watched

pytestmark = pytest.mark.anyio


class Hand:
    """Performs each command when it is ordered, one at a time."""

    def __init__(self, model, *tools, gate=None, approver=None, **limits):
        self.model = ScriptedModel(model)
        self.box = ScriptedToolBox(tools)
        self.gate = gate or ScriptedGate()
        self.approver = approver or ScriptedApprover()
        self.compactor = ScriptedCompactor()
        self.state, _ = start("s1", Config(self.box.contracts, Limits(**limits)), 0)
        self.refused = []

    async def run(self, words: str):
        prompt = PromptSubmitted(at=1, message_id="m1", parts=(TextPart(words),))
        queue = [*self.take(prompt)]
        while queue:
            command = queue.pop(0)
            for event in await self.perform(command):
                queue += self.take(event)
        return self.state.phase

    def take(self, event):
        """Reduce an event, stamped as an engine stamps it."""
        self.state, commands = reduce(self.state, attrs.evolve(event, at=self.state.at + 1))
        self.refused += [command for command in commands if type(command).__name__ == "RecordRejection"]
        return commands

    async def perform(self, command) -> list:
        said = []
        match command:
            case RequestModel():
                view = request_messages(self.state, command.request_id)
                run = attrs.evolve(watched(view).run, order=command, emit=said.append)
                return [*said, await self.model.answer(run)]
            case EvaluatePolicy():
                return [await self.gate.evaluate("s1", command, self.call(command))]
            case AskApproval():
                return [await self.approver.ask("s1", command, self.call(command))]
            case ExecuteTool():
                call = self.call(command)
                end = await self.box.execute("s1", command, call, emit=said.append, show=lambda _: None)
                return [*said, end]
            case InspectEffect(by=Inspector.PERSON):
                return [await self.approver.ask_effect("s1", command, self.call(command))]
            case InspectEffect():
                return [await self.box.inspect("s1", command, self.call(command))]
            case CompactContext():
                return [await self.compactor.compact(command, self.state)]
            case PersistCheckpoint(seq=seq, epoch=epoch, attempt=attempt):
                return [CheckpointWritten(at=0, seq=seq, epoch=epoch, attempt=attempt)]
        return []

    def call(self, command):
        return all_calls(self.state)[command.call_id]

    @property
    def results(self) -> list[str]:
        """Classes of the written outcomes, in order."""
        written = [message for message in self.state.history if isinstance(message, ToolMessage)]
        return [type(result.outcome).__name__ for message in written for result in message.results]


def answered(phase) -> bool:
    return isinstance(phase, Completed) and phase.ending.reason is StopReason.FINAL_ANSWER


async def test_a_turn_of_two_tools_and_a_question():
    hand = Hand(
        [Say("looking", calls=(Ask("read"), Ask("write", {"a": 1}))), Say("done", usage=Usage(5, 2))],
        scripted_tool("read"),
        scripted_tool("write", effect=Effect.KEYED),
        gate=ScriptedGate({"write": [AskFirst()]}),
        approver=ScriptedApprover([Grant("ada")]),
    )
    assert answered(await hand.run("go"))
    assert hand.results == ["Succeeded", "Succeeded"]
    assert [deed.tool for deed in hand.box.deeds] == ["read", "write"]
    assert (len(hand.approver.questions), hand.state.usage.tokens, hand.refused) == (1, 7, [])


@pytest.mark.req("R-157", "D-8")
async def test_a_lost_effect_is_inspected_and_never_done_twice():
    hand = Hand(
        [Say(calls=(Ask("write"),)), Say("done")],
        scripted_tool("write", Lose(did=True), effect=Effect.FENCEABLE),
    )
    assert answered(await hand.run("go"))
    assert (hand.results, hand.box.count("write")) == (["Succeeded"], 1)


async def test_an_opaque_effect_that_was_lost_is_asked_of_a_person():
    hand = Hand([Say(calls=(Ask("send"),)), Say("done")], scripted_tool("send", Lose(did=True), effect=Effect.OPAQUE))
    assert answered(await hand.run("go"))
    assert (len(hand.approver.inquiries), hand.box.count("send")) == (1, 1)


@pytest.mark.req("R-145", "G-8")
async def test_a_context_that_is_too_large_is_compacted_once_and_asked_again():
    hand = Hand([Say(calls=(Ask("read"),)), Break(kind=ModelFailure.OVERFLOW), Say("done")], scripted_tool("read"))
    assert answered(await hand.run("go"))
    assert len(hand.compactor.orders) == 1
    assert hand.model.requests[-1][1].summary == "what was said before"
    assert hand.refused == []


async def test_a_detached_task_settles_into_the_session():
    hand = Hand(
        [Say(calls=(Ask("job"),)), Say("waiting"), Say("it is done")],
        scripted_tool("job", Detach(then=Succeed(result="42")), effect=Effect.KEYED, detached=True),
    )
    assert answered(await hand.run("go"))
    assert (hand.results, hand.refused) == (["Succeeded"], [])
    said = [message.text for message in hand.state.history if isinstance(message, AssistantMessage)]
    assert said[1] == "waiting"


async def test_the_usage_of_a_sub_agent_counts():
    hand = Hand([Say(calls=(Ask("helper"),)), Say("done")], sub_agent("helper", "42", usage=Usage(50, 7)))
    assert answered(await hand.run("go"))
    assert hand.state.usage.tokens == 57


async def test_an_inspection_finds_an_attempt_that_did_nothing_and_the_model_is_told():
    hand = Hand(
        [Say(calls=(Ask("write"),)), Say("sorry")],
        scripted_tool("write", Lose(did=False), effect=Effect.FENCEABLE),
    )
    assert answered(await hand.run("go"))
    assert (hand.results, hand.box.deeds) == (["NotExecuted"], [])
