"""BC-33: the connection closed in the middle of an answer, and the turn was completed with the cut-off text.

A reply is complete when the provider says so. A stream that just ends is a failure that may be tried again, from the
same history; what had been shown is withdrawn and never becomes an answer.
"""

from __future__ import annotations

import anyio
import pytest

from agentcore import Effect, Limits
from agentcore.commands import RequestModel, StartTimer
from agentcore.events import ModelFailed
from agentcore.messages import ToolMessage
from agentcore.states import AwaitingRetry, Completed, StopReason
from interpreters import Agent, HttpModel, ManualClock, MemoryStore
from interpreters.models.decoder import AnswerDecoder
from interpreters.scripted import Say, ScriptedGate, ScriptedModel, ScriptedToolBox, Stall, scripted_tool
from tests.cases.helpers_a import Case, fails, fails_async, journalled, patched
from tests.cases.helpers_b import until
from tests.models.byteserver import Answer, chunk, events, serving

PARTIAL = "The result of"
HALF = '{"path": "no'


def asked(index: int, name: str, arguments: str) -> dict:
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": index, "id": f"c{index}", "type": "function", "function": function}]})


CUT_TEXT = Answer(events(chunk({"content": PARTIAL}), done=False))
CUT_CALLS = Answer(events(asked(0, "read", '{"path": "a"}'), asked(1, "read", HALF), done=False))
WHOLE = Answer(events(chunk({"content": "Forty-two."}), chunk({}, "stop")))
CALL = Answer(events(asked(0, "read", '{"path": "a"}'), chunk({}, "tool_calls")))
LIMITS = Limits(model_retries=2, retry_base_ms=0, retry_jitter_ms=0)


async def run(*answers: Answer):
    """A turn against a server that answers so; the result, what was sent, the tools, and the journal."""
    store, box = MemoryStore(), ScriptedToolBox([scripted_tool("read", effect=Effect.PURE)])
    with serving(*answers) as server:
        model = HttpModel("m", base_url=server.url)
        agent = Agent(model=model, tools=box, rules=ScriptedGate(), limits=LIMITS, store=store)
        async with agent.open("s", create=True) as session:
            views = session.views(0)
            await session.send("Compute it.")
            with anyio.fail_after(10):
                result = await session.wait()
            shown = []
            async for each in views:
                shown.append(each.name)
                if each.name == "agent_end":
                    break
            return result, server.received, box, await journalled(store, "s"), session.state, shown


async def check_recovers() -> None:
    result, received, box, journal, state, shown = await run(CUT_TEXT, CUT_CALLS, WHOLE)
    assert (result.reason, result.text) == (StopReason.FINAL_ANSWER, "Forty-two.")
    # 1 and 2: tried again from the same history; nothing of either attempt ran or stayed.
    histories = [request.body["messages"] for request in received]
    assert histories == [histories[0]] * 3
    assert box.deeds == []
    failed = [event for event in journal if isinstance(event, ModelFailed)]
    assert [event.code for event in failed] == ["truncated-stream"] * 2
    assert failed[0].output_shown
    assert shown.count("partial_discarded") >= 1
    # 3: completed with that answer only.
    assert [message.parts[0].text for message in state.history] == ["Compute it.", "Forty-two."]


@pytest.mark.anyio
@pytest.mark.req("R-141", "G-9", "D-13", "D-14", "R-085", "R-138")
async def test_a_stream_that_ends_without_an_end_is_tried_again_from_the_same_history():
    await check_recovers()


async def check_gives_up() -> None:
    result, received, box, _, state, _ = await run(CALL, CUT_TEXT, CUT_TEXT, CUT_TEXT)
    assert result.reason is StopReason.MODEL_ERROR
    assert result.text == ""
    assert len(received) == 4
    # Earlier results stay; the partial text is no answer.
    assert box.count("read") == 1
    assert isinstance(list(state.history)[-1], ToolMessage)
    assert PARTIAL not in str(list(state.history))


@pytest.mark.anyio
@pytest.mark.req("R-141", "R-143", "D-14")
async def test_past_the_bound_the_turn_fails_and_earlier_results_stay():
    await check_gives_up()


def synthesised(decoder: AnswerDecoder):
    """The end of a stream as it was: whatever had come is the answer."""
    return decoder.failure or decoder.folder.reply()


@pytest.mark.anyio
@pytest.mark.parametrize("check", [check_recovers, check_gives_up])
async def test_making_an_answer_of_whatever_had_come_is_found_out(check):
    with patched((AnswerDecoder, "outcome", synthesised)):
        await fails_async(check)


# ---- S: the stream stalls and does not close


def check_stall(model_ms: int | None = 60_000) -> None:
    case = Case(limits=Limits(model_ms=model_ms))
    case.prompt()
    case.opened()
    first = case.view().messages
    case.fire("model/1.1")
    # The request is not waited for any more, which stops it; the next attempt waits for its time.
    assert case.phase is AwaitingRetry
    assert not [each for each in case.work if isinstance(each, RequestModel)]
    assert [each.timer_id for each in case.work if isinstance(each, StartTimer)] == ["retry/1.1"]
    case.fire("retry/1.1")
    assert case.view().messages == first
    case.answer("T")
    assert case.phase is Completed
    assert case.count(RequestModel) == 2


@pytest.mark.req("R-143", "D-26", "G-11")
def test_a_request_that_stalls_ends_at_its_deadline_and_is_tried_again():
    check_stall()


def test_a_request_without_a_deadline_is_found_out():
    fails(check_stall, None)


@pytest.mark.anyio
@pytest.mark.req("G-11", "R-143")
async def test_a_stream_that_stalls_for_real_is_stopped_and_asked_again():
    clock, model = ManualClock(), ScriptedModel([Stall("The res"), Say("T")])
    limits = Limits(model_ms=60_000, retry_base_ms=1_000, retry_jitter_ms=0)
    async with Agent(model=model, limits=limits, clock=clock).open("s", create=True) as session:
        await session.send("go")
        await until(session, clock, lambda state: not state.open, step_ms=10_000)
        assert (await session.wait()).text == "T"
        assert [message.parts[0].text for message in session.state.history] == ["go", "T"]
    views = [view.messages for _, view in model.requests]
    assert views == [views[0]] * 2
