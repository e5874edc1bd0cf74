"""BC-14: an interjection was acknowledged as delivered while the turn was ending, and its text was gone.

The queue is part of the state. An answer asks it before it ends the turn, and what comes after the end is decided
begins the next turn, or waits in sight. What "accepted" promises: docs/decisions/0104.
"""

from __future__ import annotations

import itertools

import anyio
import attrs
import pytest

from agentcore import Verdict, reduce
from agentcore.commands import RequestModel
from agentcore.events import ModelFailure, SteeringQueued
from agentcore.messages import MessageSource, UserMessage
from agentcore.projections import WithdrawMessage, pending_acts
from agentcore.states import Completed, Saving
from agentcore.steps import decide
from interpreters import Agent, FileStore
from interpreters.scripted import Say, ScriptedModel
from interpreters.support.ports_model import TextDelta
from tests.cases.helpers_a import Case, broken, crash_image, fails, fails_async, folded, instead, patched, shape

FINAL = "All done."


def check_ledger(case: Case, accepted: set[str]) -> None:
    """Ids accepted are ids in history and ids still queued: no loss, no duplicate."""
    said = [message.message_id for message in case.history if isinstance(message, UserMessage) and _theirs(message)]
    waiting = [each.message_id for each in (*case.state.queues.steering, *case.state.queues.follow_ups)]
    assert sorted((*said, *waiting)) == sorted(accepted)


def _theirs(message: UserMessage) -> bool:
    return message.source not in (MessageSource.NUDGE, MessageSource.NOTICE, MessageSource.FEEDBACK)


def requesting(reducer=reduce) -> Case:
    case = Case(reduce=reducer)
    case.prompt("U1", message_id="u1")
    return case


def check_a(*, streaming: bool, dies: bool, reducer=reduce) -> None:
    """A: accepted before the answer. C: with a crash in between."""
    case = requesting(reducer)
    if streaming:
        case.opened()
    case.steer("M1", "m1")
    if dies:
        case.restart()
        check_ledger(case, {"u1", "m1"})
    case.reply(FINAL)
    assert case.state.open
    assert shape(case.sent[-1]) == ["U1", (FINAL,), "M1"]
    check_ledger(case, {"u1", "m1"})
    case.answer("Noted.")
    assert case.phase is Completed
    check_ledger(case, {"u1", "m1"})
    assert case.quietly(SteeringQueued(at=case.now, message_id="m1", parts=())).verdict is Verdict.IGNORED


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.req("R-171", "R-172", "R-239", "D-28", "D-33")
def test_what_was_accepted_before_the_answer_is_answered_in_this_turn(streaming, dies):
    check_a(streaming=streaming, dies=dies)


def check_b(*, saved: bool, reducer=reduce) -> None:
    """B: after the answer. The end is decided, so the words begin the next turn by themselves."""
    case = requesting(reducer)
    case.reply(FINAL)
    assert case.phase is Saving
    if saved:
        case.all_saved()
    case.steer("M1", "m1")
    check_ledger(case, {"u1", "m1"})
    case.all_saved()
    assert (case.state.turn.number, case.count(RequestModel, "2.1")) == (2, 1)
    assert shape(case.sent[-1]) == ["U1", (FINAL,), "M1"]
    case.answer("Noted.")
    check_ledger(case, {"u1", "m1"})


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.req("R-173", "R-244", "R-239")
def test_what_comes_after_the_end_is_decided_begins_the_next_turn(saved):
    check_b(saved=saved)


def _cancelled(case: Case) -> None:
    case.abort()
    case.model_stops()


def _failed(case: Case) -> None:
    case.model_fails(ModelFailure.FATAL, "no key")


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("ends", [_cancelled, _failed])
@pytest.mark.req("D-9", "D-10")
def test_after_any_other_end_it_waits_in_sight_for_an_explicit_act(ends, late):
    case = requesting()
    if not late:
        case.steer("M1", "m1")
    ends(case)
    case.all_saved()
    if late:
        case.steer("M1", "m1")
    check_ledger(case, {"u1", "m1"})
    assert WithdrawMessage("m1") in pending_acts(case.state)
    assert case.count(RequestModel) == 1
    case.reopen()
    case.prompt("", queued=("m1",))
    assert shape(case.sent[-1])[-1] == "M1"
    check_ledger(case, {"u1", "m1"})


def only_notices(state) -> bool:
    """The last look at the queue as it was: before the final answer was known."""
    return bool(state.queues.notices)


def told_and_forgotten(state, event):
    """The row as it was: acknowledged on arrival, and nobody looks any more."""
    return attrs.evolve(state, known=state.known.add(event.message_id))


@pytest.mark.parametrize("dies", [False, True])
def test_an_end_that_does_not_ask_the_queue_is_found_out(dies):
    with patched((decide, "pending", only_notices)):
        fails(check_a, streaming=True, dies=dies)


def test_an_acknowledgement_without_delivery_is_found_out():
    fails(check_b, saved=False, reducer=broken(instead(Saving, SteeringQueued, told_and_forgotten)))
    fails(check_b, saved=True, reducer=broken(instead(Completed, SteeringQueued, told_and_forgotten)))


ACTS = ("steer", "follow", "reply", "abort", "fail", "save", "restart", "power-cut")


def check_interleavings(length: int, reducer=reduce) -> int:
    """In every reachable state the ledger of words is even; returns how many states were looked at."""
    seen = 0
    for acts in itertools.product(ACTS, repeat=length):
        case, accepted = requesting(reducer), {"u1"}
        for act in acts:
            _act(case, act, accepted)
            check_ledger(case, accepted)
            seen += 1
    return seen


def _act(case: Case, act: str, accepted: set[str]) -> None:
    waits = any(isinstance(each, RequestModel) for each in case.work)
    if act in ("steer", "follow"):
        name = (case.steer if act == "steer" else case.follow_up)()
        accepted.add(name)
    elif act == "reply" and waits and case.state.phase.__class__.__name__ != "Stopping":
        case.reply(FINAL)
    elif act == "fail" and waits:
        case.model_fails(ModelFailure.FATAL, "no key")
    elif act == "abort" and case.state.open:
        case.abort()
    elif act == "save":
        case.all_saved()
    elif act == "restart":
        case.restart()
    elif act == "power-cut":
        _cut(case, accepted)


def _cut(case: Case, accepted: set[str]) -> None:
    """What was not durable is lost; the client, who knows its ids, says it again, and it counts once."""
    words = [line.event for line in case.trace if hasattr(line.event, "message_id")]
    case.restart(lose=case.volatile)
    if case.state.turn.number == 0:
        case.prompt("U1", message_id="u1")
    for event in words:
        if not hasattr(event, "queued") and event.message_id in accepted:
            case.given(attrs.evolve(event, at=case.now + 1))


@pytest.mark.req("R-239", "D-9")
def test_in_every_order_of_events_no_word_is_lost_or_doubled():
    assert check_interleavings(3) == 3 * len(ACTS) ** 3


def test_an_order_that_loses_words_is_found_out():
    fails(check_interleavings, 3, broken(instead(Saving, SteeringQueued, told_and_forgotten)))


# ---- a real engine, a real journal, and words that arrive while the answer streams


class Streams:
    """Streams until it may go on, then says its last words; afterwards as scripted."""

    def __init__(self, then) -> None:
        self.begun, self.goes_on, self.then = anyio.Event(), anyio.Event(), then

    async def answer(self, run):
        if self.begun.is_set():
            return await self.then.answer(run)
        run.opened()
        run.show(TextDelta(FINAL))
        self.begun.set()
        await self.goes_on.wait()
        return run.replied(Say(FINAL).parts("x"))


async def check_engine(folder, image) -> None:
    then = ScriptedModel([Say("Noted.")])
    model = Streams(then)
    async with Agent(model=model, store=FileStore(folder)).open("s", create=True) as session:
        await session.send("U1", message_id="u1")
        await model.begun.wait()
        sent = await session.steer("M1", message_id="m1")
        assert (sent.filed, sent.receipt.accepted) == ("steering", True)
        left = crash_image(folder, image)
        model.goes_on.set()
        result = await session.wait()
        assert (result.turn, result.text) == (1, "Noted.")
    assert shape(then.requests[0][1].messages) == ["U1", (FINAL,), "M1"]

    # C: the process died right after the acknowledgement.
    again = ScriptedModel([Say(FINAL), Say("Noted.")])
    async with Agent(model=again, store=FileStore(left)).open("s") as session:
        result = await session.wait()
        assert (result.turn, result.text) == (1, "Noted.")
        known = await session.steer("M1", message_id="m1")
        assert known.receipt.verdict is Verdict.IGNORED
    assert shape(again.requests[-1][1].messages) == ["U1", (FINAL,), "M1"]
    assert shape((await folded(FileStore(left), "s")).history).count("M1") == 1


@pytest.mark.anyio
@pytest.mark.req("R-171", "R-239", "R-194")
async def test_an_acknowledged_interjection_is_delivered_once_also_after_a_crash(tmp_path):
    await check_engine(tmp_path / "a", tmp_path / "b")


@pytest.mark.anyio
async def test_an_engine_that_ends_without_asking_the_queue_is_found_out(tmp_path):
    with patched((decide, "pending", only_notices)):
        await fails_async(check_engine, tmp_path / "a", tmp_path / "b")
