"""The scripted model beyond what every model promises (see ``tests/models/test_contract.py``)."""

from __future__ import annotations

import anyio
import pytest

from agentcore.events import ModelFailed, ModelFailure
from agentcore.messages import AssistantMessage, TextPart
from interpreters.scripted import Ask, Break, Say, ScriptedModel, Stall
from tests.models.runs import user, view_of, watched

pytestmark = pytest.mark.anyio


async def said(model, *messages, attempt=1):
    event = await model.answer(watched(view_of(*messages), attempt=attempt).run)
    return event.message if isinstance(event, ModelFailed) else event.parts[0].text


ANSWERED = AssistantMessage("1.1", 0, 1, (TextPart("x"),))


async def test_replies_come_in_order_and_then_the_script_has_ended():
    model = ScriptedModel([Say("a"), Say("b")])
    assert [await said(model), await said(model)] == ["a", "b"]
    event = await model.answer(watched().run)
    assert (event.kind, event.code) == (ModelFailure.FATAL, "script")
    assert event.message == "the script has 2 replies, and number 3 was asked for"


async def test_by_history_a_script_goes_on_where_it_was_in_another_process():
    script = [Say("a"), Say("b"), Say("c")]
    model = ScriptedModel(script, by_history=True)
    assert await said(model, user("x")) == "a"
    assert await said(model, user("x")) == "a"
    assert await said(ScriptedModel(script, by_history=True), user("x"), ANSWERED, user("y"), ANSWERED) == "c"


async def test_a_function_answers_what_is_asked():
    model = ScriptedModel(lambda view, order: Say(f"{order.attempt} {view.messages[0].parts[0].text}"))
    assert await said(model, user("hello"), attempt=7) == "7 hello"


@pytest.mark.req("R-082")
async def test_a_function_that_breaks_is_a_failure_of_the_request():
    def broken(view, order):
        raise RuntimeError("a bug in the script")

    event = await ScriptedModel(broken).answer(watched().run)
    assert (event.kind, event.message) == (ModelFailure.FATAL, "the script failed: RuntimeError: a bug in the script")


async def test_what_was_asked_is_remembered():
    model = ScriptedModel([Say("a")])
    await said(model, user("hello"))
    ((order, view),) = model.requests
    assert (order.request_id, view.messages) == ("1.1", (user("hello"),))


async def test_two_runs_of_one_script_say_exactly_the_same():
    script = [Say("a b", "t", (Ask("x"), Ask("y"))), Break(text="c"), Say("d")]

    async def everything():
        model = ScriptedModel(script)
        runs = [watched(attempt=attempt) for attempt in (1, 2, 3)]
        return [(await model.answer(one.run), one.emitted, one.shown) for one in runs]

    assert await everything() == await everything()


async def test_nothing_sleeps_unless_it_is_asked_to(monkeypatch):
    slept = []
    real = anyio.sleep

    async def sleep(seconds):
        slept.append(seconds)
        await real(0)

    monkeypatch.setattr(anyio, "sleep", sleep)
    await said(ScriptedModel([Say("one two")]))
    assert set(slept) == {0.0}
    slept.clear()
    await said(ScriptedModel([Say("one two")], pace_s=0.5))
    assert set(slept) == {0.5}


async def test_others_get_a_turn_between_two_words():
    model = ScriptedModel(lambda *_: Say("a b c d"))
    order = []

    async def one(name: str) -> None:
        await model.answer(watched(show=lambda _: order.append(name)).run)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one, "left")
        tasks.start_soon(one, "right")
    assert order != sorted(order)


async def test_a_stall_that_does_not_confirm_ends_only_with_its_task():
    stop = anyio.Event()
    stop.set()
    with anyio.move_on_after(0.05) as scope:
        await ScriptedModel([Stall("half", confirms=False)]).answer(watched(stop=stop).run)
    assert scope.cancelled_caught


def test_it_says_what_it_is():
    assert repr(ScriptedModel([Say("a")])) == "ScriptedModel(1 replies)"
    assert repr(ScriptedModel(lambda *_: Say())) == "ScriptedModel(a function)"
