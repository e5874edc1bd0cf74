"""How long an answer is waited for: no bytes, no progress, and what is left once all was said."""

from __future__ import annotations

import anyio
import pytest

from agentcore.events import ModelFailure, ModelReplied
from agentcore.messages import Usage
from interpreters.models import HttpModel, Timeouts
from tests.models.byteserver import HANG, Answer, Pause, chunk, events, serving
from tests.models.runs import watched

pytestmark = pytest.mark.anyio

HI = events(chunk({"content": "hi"}), chunk({}, "stop"), chunk(usage={"prompt_tokens": 10, "completion_tokens": 2}))


async def ask(model: HttpModel):
    return await model.answer(watched().run)


async def test_silence_before_the_first_byte_is_an_idle_timeout():
    with serving(Answer((HANG,))) as server:
        event = await ask(HttpModel("m", base_url=server.url, timeouts=Timeouts(idle_s=0.2)))
    assert (event.code, event.kind, event.output_shown) == ("idle-timeout", ModelFailure.RETRYABLE, False)


async def test_silence_in_mid_stream_is_an_idle_timeout():
    with serving(Answer((HI[0], HANG))) as server:
        event = await ask(HttpModel("m", base_url=server.url, timeouts=Timeouts(idle_s=0.2)))
    assert (event.code, event.output_shown) == ("idle-timeout", True)


async def test_a_slow_answer_that_goes_on_is_no_timeout():
    steps = tuple(step for piece in HI for step in (Pause(0.15), piece))
    with serving(Answer(steps)) as server:
        event = await ask(HttpModel("m", base_url=server.url, timeouts=Timeouts(idle_s=0.4, progress_s=0.4)))
    assert isinstance(event, ModelReplied)


@pytest.mark.parametrize("noise", [b": keep-alive\n\n", *events(chunk({"content": ""}), done=False)])
async def test_bytes_that_say_nothing_do_not_keep_an_answer_alive(noise):
    steps = (HI[0], *(step for _ in range(100) for step in (Pause(0.05), noise)))
    with serving(Answer(steps)) as server, anyio.fail_after(3):
        event = await ask(HttpModel("m", base_url=server.url, timeouts=Timeouts(idle_s=3, progress_s=0.3)))
    assert event.code == "idle-timeout"


async def test_a_server_that_keeps_the_connection_open_behind_its_terminator_costs_no_time():
    with serving(Answer((*HI, HANG))) as server, anyio.fail_after(3):
        event = await ask(HttpModel("m", base_url=server.url))
    assert event.usage == Usage(10, 2)


@pytest.mark.parametrize(
    ("between", "said"),
    [(HANG, "no byte for 0.3 s"), (b": keep-alive\n\n", "nothing of the answer for 0.6 s, only signs of life")],
)
@pytest.mark.req("D-14")
async def test_a_silence_is_told_from_signs_of_life(between, said):
    steps = (HI[0], *(step for _ in range(100) for step in (Pause(0.05), between)))
    with serving(Answer(steps)) as server, anyio.fail_after(3):
        event = await ask(HttpModel("m", base_url=server.url, timeouts=Timeouts(idle_s=0.3, progress_s=0.6)))
    assert (event.code, event.kind) == ("idle-timeout", ModelFailure.RETRYABLE)
    assert said in event.message


async def test_signs_of_life_keep_a_connection_that_is_slow_to_begin():
    steps = (*(step for _ in range(12) for step in (Pause(0.05), b": keep-alive\n\n")), *HI)
    with serving(Answer(steps)) as server:
        event = await ask(HttpModel("m", base_url=server.url, timeouts=Timeouts(idle_s=0.3, progress_s=5)))
    assert isinstance(event, ModelReplied)
