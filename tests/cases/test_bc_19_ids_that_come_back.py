"""BC-19: call ids came from a counter that restarted with every turn; ids of an earlier turn came back and collided.

A call is known by turn, step and place. The provider's id is an attribute of the wire; where it repeats, the wire
adapter makes it distinct on both sides (docs/decisions/0105).
"""

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest

from agentcore import Effect, Verdict, reduce
from agentcore.commands import AskApproval, ExecuteTool
from agentcore.events import ApprovalGranted, PolicyAsked, ToolStarted, ToolSucceeded
from agentcore.messages import AssistantMessage, ToolMessage
from agentcore.projections import request_messages
from agentcore.states import Because, Proposed, Ready
from agentcore.steps import reply
from agentcore.steps.calls import review
from interpreters import Agent, HttpModel, tool
from interpreters.models import chat_encode
from interpreters.models.chat_encode import encode_chat
from interpreters.scripted import ScriptedGate
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, patched, unknown_state
from tests.core.driver import call
from tests.core.driver import tool as contract
from tests.models.byteserver import Answer, chunk, events, serving

FIRST, SECOND = "1.1.0", "2.1.0"


def second_turn(reducer=reduce, env: str = "b") -> Case:
    """Turn 1 deployed under the id call_0, approved by a person; turn 2 wants to, under the same id."""
    case = Case(contract("deploy", Effect.OPAQUE), reduce=reducer)
    case.propose(call("deploy", "call_0", env="a"))
    case.ask()
    case.grant()
    case.all_saved()
    case.started()
    case.succeed(result="a is out")
    case.answer()
    case.reopen()
    case.propose(call("deploy", "call_0", env=env))
    return case


def check(env: str, reducer=reduce) -> None:
    case = second_turn(reducer, env)
    # 1: turn 2 waits for its own approval, also if it wants exactly the same again.
    case.ask(SECOND)
    assert case.calls == {SECOND: "AwaitingApproval"}
    assert case.count(AskApproval) == 2
    assert case.call(SECOND).grant is None
    # 2: what belongs to turn 1 says nothing to turn 2.
    for line in list(case.trace):
        if isinstance(line.event, ToolSucceeded | ToolStarted | ApprovalGranted):
            judged = case.quietly(attrs.evolve(line.event, at=case.now + 1))
            assert judged.verdict in (Verdict.IGNORED, Verdict.REJECTED)
    assert case.calls == {SECOND: "AwaitingApproval"}
    # 3: approved, started, crash, restored, and then the real outcome.
    case.grant(SECOND)
    case.all_saved()
    case.started(SECOND, "deployment 9")
    case.restart()
    unknown_state(case, SECOND)
    assert case.count(ExecuteTool, SECOND) == 1
    case.give(ToolSucceeded, call_id=SECOND, epoch=0, attempt=1, result="b is out")
    case.answer()
    outcomes = {result.call_id: result.content for result in case.results}
    assert outcomes == {FIRST: "a is out", SECOND: "b is out"}


@pytest.mark.parametrize("env", ["b", "a"])
@pytest.mark.req("R-027", "R-170", "G-1", "G-6", "R-213")
def test_a_call_of_another_turn_under_the_same_id_is_another_call(env):
    check(env)


def by_provider_id(state, part, asked):
    """Identity as it was: what the provider calls it."""
    return propose(state, part, attrs.evolve(asked, call_id=f"{part.provider_id}.0.0"))


propose = reply._propose


def remembered(state, called, event):
    """The row as it was: an approval is remembered under the provider's id, and found again."""
    known = any(isinstance(message, ToolMessage) for message in state.history)
    return ask_person(state, called, event) if not known else review.allow(state, called, event)


ask_person = review.ask_person


def test_ids_of_the_provider_as_identity_are_found_out():
    with patched((reply, "_propose", by_provider_id)):
        fails(check, "b")


def test_an_approval_remembered_for_the_next_turn_is_found_out():
    fails(check, "a", broken(instead(Proposed, PolicyAsked, remembered, to=(Ready,))))


# ---- on the wire


def pairs(body) -> list[tuple[str, str]]:
    """Ids of calls, each with the id of the result that stands for it."""
    asked = [one["id"] for message in body for one in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in body if message["role"] == "tool"]
    return list(zip(asked, answered, strict=True))


def check_wire(turns: int) -> None:
    """Every request of a long session under one id: each id once, on both sides, and for ever the same."""
    case = Case(contract("look", Effect.PURE))
    bodies = []
    for number in range(turns):
        if number:
            case.reopen()
        case.propose(call("look", "call_0", n=number), call("look", "call_1", n=number))
        for index in range(2):
            case.allow(f"{number + 1}.1.{index}")
        for index in range(2):
            case.succeed(f"{number + 1}.1.{index}", f"saw {number}.{index}")
        bodies.append(encode_chat(case.view(), "m")["messages"])
        case.answer()
    found = pairs(bodies[-1])
    assert all(asked == answered for asked, answered in found)
    assert len({asked for asked, _ in found}) == len(found) == 2 * turns
    for earlier, later in pairwise(bodies):
        assert later[: len(earlier)] == earlier
    # A replay sends the same.
    assert encode_chat(request_messages(case.folded(), case.state.request_id), "m")["messages"] == bodies[-1]


@pytest.mark.req("G-1", "G-2", "R-213", "R-020")
def test_ids_that_repeat_are_distinct_on_the_wire_and_stay_the_same():
    check_wire(4)


def test_sending_the_providers_ids_as_they_came_is_found_out():
    def as_they_came(message: AssistantMessage, *_) -> list[str]:
        return [one.provider_id for one in message.calls]

    with patched((chat_encode, "call_ids", as_they_came)):
        fails(check_wire, 4)


def test_random_ids_are_found_out():
    count = iter(range(1000))

    def random_ids(message: AssistantMessage, *_) -> list[str]:
        return [f"call_{next(count)}" for _ in message.calls]

    with patched((chat_encode, "call_ids", random_ids)):
        fails(check_wire, 4)


async def check_bytes() -> None:
    deployed: list[str] = []

    @tool
    def deploy(env: str) -> str:
        """Deploy."""
        deployed.append(env)
        return f"{env} is out"

    def asks(env: str) -> Answer:
        piece = {"index": 0, "id": "call_0", "type": "function"}
        piece |= {"function": {"name": "deploy", "arguments": f'{{"env":"{env}"}}'}}
        return Answer(events(chunk({"tool_calls": [piece]}), chunk(finish="tool_calls")))

    final = Answer(events(chunk({"content": "done"}), chunk(finish="stop")))
    with serving(asks("a"), final, asks("b"), final) as server:
        agent = Agent(model=HttpModel("m", base_url=server.url), tools=[deploy], rules=ScriptedGate())
        async with agent.open() as session:
            for words in ("first", "second"):
                await session.send(words)
                await session.wait()
        body = server.received[-1].body["messages"]
    assert deployed == ["a", "b"]
    found = pairs(body)
    assert all(asked == answered for asked, answered in found)
    assert len({asked for asked, _ in found}) == 2
    assert [message["content"] for message in body if message["role"] == "tool"] == ["a is out", "b is out"]


@pytest.mark.anyio
@pytest.mark.req("G-1", "G-2")
async def test_a_provider_whose_ids_begin_anew_each_turn_is_sent_each_id_once():
    await check_bytes()


@pytest.mark.anyio
async def test_a_provider_that_is_sent_an_id_twice_is_found_out():
    with patched((chat_encode, "call_ids", lambda message, *_: [one.provider_id for one in message.calls])):
        await fails_async(check_bytes)


def test_why_a_grant_stands_is_only_said_where_it_was_given():
    case = second_turn()
    case.ask(SECOND)
    assert case.call(SECOND).state.transition.because is Because.APPROVAL_ASKED
