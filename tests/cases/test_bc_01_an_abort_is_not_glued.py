"""BC-01: after an abort the retried answer was glued into the message that still had an open call.

Here an aborted call has its result in the same transition as its message, and every answer is a message of its own.
"""

from __future__ import annotations

import anyio
import attrs
import pytest

from agentcore import Effect, reduce
from agentcore.messages import (
    AssistantMessage,
    CancelledCall,
    EffectSeen,
    FinishReason,
    MessageSource,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    UserMessage,
    is_error,
)
from agentcore.states import Completed, StopReason
from agentcore.steps import ending, reply
from agentcore.steps.sendable import Sendable
from interpreters import Agent, HttpModel, tool
from tests.cases.helpers_a import Case, check_parts, fails, fails_async, patched, seal, shape
from tests.core.driver import call
from tests.core.driver import tool as contract
from tests.models.byteserver import Answer, chunk, events, serving

A1 = ("checking", "read")


def check(effect: Effect, seen: EffectSeen, reducer=reduce) -> None:
    """The four steps of the case, for a tool of any effect and any way in which it stops."""
    case = Case(contract("read", effect), reduce=reducer)
    case.prompt("U1", message_id="u1")
    case.reply("checking", call("read", "c1", path="a.txt"), finish=FinishReason.TOOL_CALLS)
    case.allow()
    case.all_saved()
    case.started()
    first = seal(case.state.batch.message)
    case.abort()
    case.stopped(seen)
    if seen is EffectSeen.UNPROVED and effect not in (Effect.OPAQUE, Effect.PURE):
        case.abort()  # the attempt has ended, nobody knows how; the person does not wait for the inspection
    case.all_saved()
    assert case.stop is StopReason.USER_ABORT

    case.reopen()
    case.prompt("try again", message_id="u2")
    sent = case.sent[-1]
    assert shape(sent)[:2] == ["U1", A1]
    assert shape(sent)[3:] == ["try again"]
    result = sent[2].results[0]
    assert (result.call_id, is_error(result.outcome)) == ("1.1.0", True)
    assert seal(sent[1]) == first

    case.reply(ReasoningPart("now it works"), "ok")
    case.all_saved()
    stored = [message for message in case.history if isinstance(message, AssistantMessage)]
    assert [seal(stored[0]), stored[0] is stored[1]] == [first, False]
    assert stored[1].text == "ok"
    for message in stored:
        check_parts(message)
    assert case.phase is Completed
    assert case.stop is StopReason.FINAL_ANSWER
    assert case.work == ()
    assert not [each for each in case.state.register if each.run is None]


@pytest.mark.parametrize("seen", EffectSeen)
@pytest.mark.parametrize("effect", Effect)
@pytest.mark.req("R-176", "R-180", "R-128", "D-7")
def test_an_aborted_call_is_answered_and_the_next_answer_is_a_message_of_its_own(effect, seen):
    check(effect, seen)


def test_the_kind_of_the_result_is_what_was_confirmed():
    case = Case(contract("read", Effect.PURE))
    case.execute("read")
    case.abort()
    case.stopped()
    assert case.outcome() == CancelledCall(EffectSeen.NONE)


def only_the_message(state):
    """Writing results as it was: what the model said is kept, and its calls stay open."""
    batch = state.batch
    return state if batch is None else attrs.evolve(state, history=state.history.append(batch.message))


def test_a_turn_that_stops_without_writing_the_result_is_found_out():
    with patched((ending, "write_results", only_the_message)):
        fails(check, Effect.PURE, EffectSeen.NONE)


def check_order_of_parts(*parts) -> None:
    """A model that speaks on behind its call: what is stored and sent has the calls last, everything else as it was."""
    case = Case(contract("read", Effect.PURE))
    case.prompt()
    case.reply(*parts)
    check_parts(case.state.batch.message)
    said = [part.text for part in case.state.batch.message.parts if not isinstance(part, ToolCallPart)]
    assert said == [getattr(part, "text", part) for part in parts if not isinstance(part, ToolCallPart)]
    for _ in case.state.batch.calls:
        case.allow()
    for each in case.state.batch.calls:
        case.succeed(each.call_id)
    check_parts(case.sent[-1][1])


GLUED = [
    ("before", call("read", "c1"), "behind"),
    (call("read", "c1"), ReasoningPart("behind"), "last"),
    (call("read", "c1"), "between", call("read", "c2", x=1), ReasoningPart("behind")),
]


@pytest.mark.parametrize("parts", GLUED)
@pytest.mark.req("R-134")
def test_words_behind_a_call_are_put_before_it(parts):
    check_order_of_parts(*parts)


@pytest.mark.parametrize("parts", GLUED)
def test_leaving_words_behind_a_call_is_found_out(parts):
    def as_it_came(given, request_id):
        raw = tuple(part.arguments for part in given if isinstance(part, ToolCallPart))
        return Sendable(given, raw, ())

    with patched((reply, "sendable", as_it_came)):
        fails(check_order_of_parts, *parts)


def test_an_imported_history_that_was_glued_is_mended():
    glued = AssistantMessage("", 0, 0, (TextPart("checking"), ToolCallPart("c1", "read", "{}"), TextPart("ok")))
    case = Case(contract("read", Effect.PURE))
    case.bring(UserMessage("u1", MessageSource.PROMPT, (TextPart("U1"),)), glued)
    case.all_saved()
    case.prompt("try again")
    assert shape(case.sent[-1]) == ["U1", ("checkingok", "read"), [("1.1.0", "Abandoned")], "try again"]


# ---- over a real connection: what a provider is sent


def streams(name: str, words: str):
    asked = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": '{"path":"a.txt"}'}}
    return (
        Answer(events(chunk({"content": words}), chunk({"tool_calls": [asked]}), chunk(finish="tool_calls"))),
        Answer(events(chunk({"content": "ok"}), chunk(finish="stop"))),
    )


async def check_bytes(answers) -> None:
    """Abort while the tool runs, ask again: the second body holds the pair, closed, and nothing glued."""
    running = anyio.Event()

    @tool(effect="pure")
    async def read(path: str) -> str:
        """Read a file."""
        running.set()
        await anyio.sleep_forever()
        return path

    with serving(*answers) as server:
        agent = Agent(model=HttpModel("m", base_url=server.url), tools=[read])
        async with agent.open() as session:
            await session.send("U1")
            await running.wait()
            await session.abort()
            assert (await session.wait()).reason is StopReason.USER_ABORT
            await session.send("try again")
            assert (await session.wait()).text == "ok"
        body = server.received[1].body["messages"]
    assert [message["role"] for message in body] == ["user", "assistant", "tool", "user"]
    assert (body[1]["content"], [one["id"] for one in body[1]["tool_calls"]]) == ("checking", ["c1"])
    assert body[2]["tool_call_id"] == "c1"
    assert "Stopped" in body[2]["content"] or "Not executed" in body[2]["content"]
    assert body[3]["content"] == "try again"


@pytest.mark.anyio
@pytest.mark.req("R-176", "R-180")
async def test_a_provider_is_sent_a_closed_pair_after_an_abort():
    await check_bytes(streams("read", "checking"))


@pytest.mark.anyio
async def test_a_provider_that_is_sent_an_open_pair_is_found_out():
    with patched((ending, "write_results", only_the_message)):
        await fails_async(check_bytes, streams("read", "checking"))
