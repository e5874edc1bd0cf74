"""BC-38: a client repeated its request while the first was still running; both wrote into one history.

A session has one turn at a time. A repeated message id is the same message; a new message is filed behind the turn and
seen to wait; what comes in the same instant as an abort waits for the end of what was aborted.
"""

from __future__ import annotations

import anyio
import pytest
from attrs import evolve

from agentcore import Verdict, reduce
from agentcore.commands import RequestModel
from agentcore.events import FollowUpQueued, ModelReplied, PromptSubmitted
from agentcore.messages import IdSet, MessageSource, TextPart, UserMessage
from agentcore.rejections import RejectionCode
from agentcore.states import AwaitingModel, Because, Cancelled, Idle, Preparing, Stopping
from agentcore.steps.begin import begin_turn
from interpreters import Agent
from interpreters.scripted import Say, ScriptedModel, Stall
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, patched


def running(reducer=reduce) -> Case:
    """r1 requests: q1 is outstanding."""
    case = Case(reduce=reducer)
    case.prompt("m1", message_id="key-1")
    return case


def check(case: Case) -> None:
    first = case.view().messages
    # A: the same key again is the same message.
    assert case.again().verdict in (Verdict.IGNORED, Verdict.REJECTED)
    same = FollowUpQueued(at=case.now + 1, message_id="key-1", parts=(TextPart("m1"),))
    assert case.quietly(same).verdict is Verdict.IGNORED
    # B: a new one is refused as a prompt, or queued.
    busy = PromptSubmitted(at=case.now + 1, message_id="key-2", parts=(TextPart("m2"),))
    assert case.quietly(busy).rejection.code is RejectionCode.TURN_IN_PROGRESS
    case.follow_up("m2", "key-2")
    assert case.view().messages == first
    assert outstanding_requests(case) == 1
    # C: the answer of q1 is taken as if nothing had been said; the follow-up begins behind the end.
    case.reply("answer 1")
    assert outstanding_requests(case) == 0
    assert said(case) == ["m1"]
    case.all_saved()
    assert case.state.turn.number == 2
    assert outstanding_requests(case) == 1
    assert said(case) == ["m1", "m2"]
    # An answer that arrives for the request of the previous turn starts nothing.
    old = next(line.event for line in case.trace if isinstance(line.event, ModelReplied))
    case.quietly(evolve(old, at=case.now + 1))
    other = evolve(old, at=case.now + 1, parts=(TextPart("another answer"),))
    assert case.quietly(other).verdict is Verdict.REJECTED
    case.answer("answer 2")
    assert said(case) == ["m1", "m2"]


def outstanding_requests(case: Case) -> int:
    return sum(isinstance(each, RequestModel) for each in case.work)


def said(case: Case) -> list[str]:
    """The user's messages, each once."""
    return [message.parts[0].text for message in case.history if isinstance(message, UserMessage)]


@pytest.mark.req("D-33", "R-063", "R-239", "R-245", "G-3")
def test_a_second_submit_neither_runs_beside_the_first_nor_twice():
    check(running())


def begin_beside(state, event):
    """The row as it was: whoever submits gets a run."""
    message = UserMessage(event.message_id, MessageSource.PROMPT, event.parts)
    return begin_turn(evolve(state, known=state.known.add(event.message_id)), (message,), Because.PROMPT_SUBMITTED)


def test_a_second_run_beside_the_first_is_found_out():
    twin = broken(instead(AwaitingModel, PromptSubmitted, begin_beside, to=(Preparing,)))
    fails(check, running(twin))


def test_not_knowing_a_repeated_message_is_found_out():
    with patched((IdSet, "__contains__", lambda *_: False)):
        fails(check, running())


# ---- the same against a real engine


async def check_engine() -> None:
    gate = anyio.Event()

    class Slow(ScriptedModel):
        async def answer(self, run):
            await gate.wait()
            return await super().answer(run)

    model = Slow([Say("answer 1"), Say("answer 2")])
    async with Agent(model=model).open("s", create=True) as session:
        first = await session.send("m1", message_id="key-1")
        again = await session.send("m1", message_id="key-1")
        assert (first.filed, again.receipt.verdict) == ("prompt", Verdict.IGNORED)
        # Two clients at the same instant.
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(_send, session, "m2", "key-2")
        assert len(session.state.queues.follow_ups) == 1
        gate.set()
        await session.wait()
        told = [message.parts[0].text for message in session.state.history]
    assert told == ["m1", "answer 1", "m2", "answer 2"]
    assert [len(view.messages) for _, view in model.requests] == [1, 3]


async def _send(session, words: str, name: str) -> None:
    await session.send(words, message_id=name)


@pytest.mark.anyio
@pytest.mark.req("D-33", "R-239")
async def test_two_clients_and_a_repetition_leave_one_history():
    await check_engine()


@pytest.mark.anyio
async def test_an_engine_without_known_ids_is_found_out():
    with patched((IdSet, "__contains__", lambda *_: False)):
        await fails_async(check_engine)


async def check_abort_and_submit() -> None:
    """D: cancel and submit at once; the new input waits for the end of r1."""
    model = ScriptedModel([Stall("partial"), Say("answer 2")])
    async with Agent(model=model).open("s", create=True) as session:
        views = session.views(0)
        await session.send("m1")
        async for shown in views:
            if shown.name == "text_delta":
                break
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.abort)
            tasks.start_soon(_send, session, "m2", "key-2")
        await session.wait()
        assert isinstance(session.state.phase, Cancelled)
        # It is kept, and begins only by an explicit act.
        queued = session.result.queued
        assert queued == ("key-2",)
        assert len(model.requests) == 1
        await session.send(queued=queued)
        await session.wait()
        told = [message.parts[0].text for message in session.state.history if isinstance(message, UserMessage)]
    assert told == ["m1", "m2"]
    assert len(model.requests) == 2


@pytest.mark.anyio
@pytest.mark.req("D-9", "D-10", "R-177")
async def test_what_is_said_together_with_an_abort_waits_for_the_end():
    await check_abort_and_submit()


@pytest.mark.req("D-10", "D-7")
def test_a_prompt_while_stopping_is_refused():
    case = running()
    case.opened()
    case.abort()
    assert case.phase is Stopping
    event = PromptSubmitted(at=case.now + 1, message_id="key-2", parts=(TextPart("m2"),))
    assert case.quietly(event).rejection.code is RejectionCode.TURN_IN_PROGRESS
    case.model_stops("partial")
    case.all_saved()
    case.reopen()
    assert case.phase is Idle
    case.prompt("m2", message_id="key-2")
    assert outstanding_requests(case) == 1
