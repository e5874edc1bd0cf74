"""What every model promises, kept by the scripted one and by the one over HTTP alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest

from agentcore.events import ModelFailed, ModelFailure, ModelReplied, ModelStopped, ModelStreamOpened
from agentcore.messages import FinishReason, ReasoningPart, TextPart, ToolCallPart, Usage
from interpreters.models import HttpModel
from interpreters.scripted import Ask, Break, ModelReply, Say, ScriptedModel, Stall
from interpreters.support.ports_model import Model, ReasoningDelta, TextDelta
from tests.models.byteserver import HANG, RESET, Answer, chunk, events, serving
from tests.models.runs import NOW, in_time, watched

pytestmark = pytest.mark.anyio

LABELS = {FinishReason.STOP: "stop", FinishReason.TOOL_CALLS: "tool_calls", FinishReason.LENGTH: "length"}


def spoken(reply: Say | Break | Stall) -> list[dict]:
    """The chunks that tell a reply."""
    thought = [chunk({"reasoning": reply.reasoning})] if isinstance(reply, Say) and reply.reasoning else []
    return thought + [chunk({"content": word}) for word in reply.text.split(" ") if word]


def used(usage: Usage) -> list[dict]:
    return [chunk(usage={"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens})] * (
        usage != Usage()
    )


def over_http(reply: ModelReply) -> Answer:
    """What a server writes to make a client say the same as the script."""
    if isinstance(reply, Say):
        calls = [
            {"index": i, "id": f"t{i}", "function": {"name": ask.tool, "arguments": ask.raw}}
            for i, ask in enumerate(reply.calls)
        ]
        asked = [chunk({"tool_calls": calls})] if calls else []
        return Answer(events(*spoken(reply), *asked, chunk({}, LABELS[reply.label]), *used(reply.usage)))
    if isinstance(reply, Stall):
        return Answer((*events(*spoken(reply), *used(reply.usage), done=False), HANG) if reply.opens else (HANG,))
    if reply.text:
        return Answer((*events(*spoken(reply), *used(reply.usage), done=False), RESET))
    return Answer((), reply.status or 400)


@contextmanager
def scripted(*replies: ModelReply) -> Iterator[Model]:
    yield ScriptedModel(replies)


@contextmanager
def real(*replies: ModelReply) -> Iterator[Model]:
    with serving(*(over_http(reply) for reply in replies)) as server:
        yield HttpModel("m", base_url=server.url)


@pytest.fixture(params=[scripted, real])
def playing(request):
    """Return a model that gives the replies, one for each request."""
    return request.param


def key(event) -> tuple:
    return event.at, event.request_id, event.epoch, event.attempt


@pytest.mark.req("R-075", "R-078")
@in_time
async def test_an_answer_is_shown_as_it_comes_and_returned_whole(playing):
    seen = watched(attempt=2)
    with playing(Say("one two three", reasoning="hm", usage=Usage(5, 3))) as model:
        event = await model.answer(seen.run)
    assert isinstance(event, ModelReplied)
    assert [type(part) for part in event.parts] == [ReasoningPart, TextPart]
    assert event.parts[0].text == "hm" == seen.text(ReasoningDelta)
    assert event.parts[1].text == seen.text(TextDelta)
    assert sum(isinstance(delta, TextDelta) for delta in seen.shown) == 3
    assert (event.finish, event.usage) == (FinishReason.STOP, Usage(5, 3))
    assert key(event) == (NOW, "1.1", 0, 2)


@pytest.mark.req("R-077")
@in_time
async def test_the_first_byte_is_told_once_and_names_its_request(playing):
    seen = watched(attempt=2)
    with playing(Say("one two")) as model:
        await model.answer(seen.run)
    assert seen.emitted == [ModelStreamOpened(at=NOW, request_id="1.1", epoch=0, attempt=2)]


@pytest.mark.req("D-6")
@in_time
async def test_calls_come_with_their_raw_arguments_and_ids_of_their_own(playing):
    calls = (Ask("read", {"path": "a"}), Ask("read", '{"path":'), Ask("now"))
    with playing(Say("looking", calls=calls)) as model:
        event = await model.answer(watched().run)
    found = [part for part in event.parts if isinstance(part, ToolCallPart)]
    assert [(part.name, part.arguments) for part in found] == [
        ("read", '{"path":"a"}'),
        ("read", '{"path":'),
        ("now", "{}"),
    ]
    assert len({part.provider_id for part in found}) == 3
    assert event.finish is FinishReason.TOOL_CALLS


@pytest.mark.req("R-086")
@in_time
async def test_the_label_is_passed_on_even_where_it_lies(playing):
    with playing(Say(calls=(Ask("now"),), finish=FinishReason.STOP)) as model:
        event = await model.answer(watched().run)
    assert (event.finish, len(event.parts)) == (FinishReason.STOP, 1)


@pytest.mark.req("R-082")
@in_time
async def test_a_failure_before_the_first_byte_is_an_event_alone(playing):
    seen = watched(attempt=2)
    with playing(Break(kind=ModelFailure.FATAL, status=400)) as model:
        event = await model.answer(seen.run)
    assert isinstance(event, ModelFailed)
    assert (event.kind, event.status, event.output_shown) == (ModelFailure.FATAL, 400, False)
    assert key(event) == (NOW, "1.1", 0, 2)
    assert (seen.emitted, seen.shown) == ([], [])


@pytest.mark.req("R-082", "D-14")
@in_time
async def test_a_failure_in_mid_answer_says_that_something_was_shown_and_what_was_consumed(playing):
    seen = watched()
    with playing(Break(text="half a", usage=Usage(5, 1))) as model:
        event = await model.answer(seen.run)
    assert (event.kind, event.output_shown, event.usage) == (ModelFailure.RETRYABLE, True, Usage(5, 1))
    assert len(seen.emitted) == 1
    assert seen.text(TextDelta).replace(" ", "") == "halfa"


@pytest.mark.req("D-13")
@in_time
async def test_a_failure_is_not_tried_again_by_the_model_itself(playing):
    with playing(Break(kind=ModelFailure.FATAL, status=400), Say("second")) as model:
        first = await model.answer(watched(attempt=1).run)
        second = await model.answer(watched(attempt=2).run)
    assert isinstance(first, ModelFailed)
    assert second.parts == (TextPart("second"),)


@pytest.mark.req("R-175", "D-7")
@in_time
async def test_a_request_that_is_told_to_stop_returns_what_had_come(playing):
    stop = anyio.Event()
    shown = []

    def show(delta):
        shown.append(delta.text)
        if "".join(shown).replace(" ", "") == "halfa":
            stop.set()

    with playing(Stall(text="half a", usage=Usage(5, 1))) as model:
        event = await model.answer(watched(stop=stop, show=show).run)
    assert isinstance(event, ModelStopped)
    assert event.parts == (TextPart("".join(shown)),)
    assert key(event) == (NOW, "1.1", 0, 1)


@pytest.mark.req("R-175")
@pytest.mark.parametrize("opens", [True, False])
@in_time
async def test_a_request_that_hangs_before_any_word_can_be_stopped(playing, opens):
    seen = watched()
    with playing(Stall(opens=opens)) as model:
        async with anyio.create_task_group() as tasks:

            async def stop_it() -> None:
                await anyio.sleep(0.05)
                seen.run.stop.set()

            tasks.start_soon(stop_it)
            event = await model.answer(seen.run)
    assert event == ModelStopped(at=NOW, request_id="1.1", epoch=0, attempt=1)


@in_time
async def test_cancelling_the_task_ends_it_without_an_event(playing):
    seen = watched()
    with playing(Stall(text="half a")) as model, anyio.move_on_after(0.1) as scope:
        await model.answer(seen.run)
        raise AssertionError("it returned")
    assert scope.cancelled_caught


@in_time
async def test_requests_at_the_same_time_do_not_meet(playing):
    found = {}
    with playing(*(Say(str(n)) for n in range(4))) as model:

        async def one(attempt: int) -> None:
            found[attempt] = await model.answer(watched(attempt=attempt).run)

        async with anyio.create_task_group() as tasks:
            for attempt in range(4):
                tasks.start_soon(one, attempt)
    assert sorted(event.parts[0].text for event in found.values()) == ["0", "1", "2", "3"]
    assert all(event.attempt == attempt for attempt, event in found.items())
