"""BC-35: a tool returned NaN; what was stored is no JSON, which only strict parsers notice.

What is not finite is written as null, and the result says so; as an argument it is refused, as usage it was not told,
as a limit it is an error of configuration. Everything that is stored or sent passes a strict parser.
"""

from __future__ import annotations

import json
import math

import pytest

from agentcore import Effect, Limits
from agentcore.codec import decode_state, encode_state
from agentcore.messages import InvalidCall, InvalidReason, Succeeded
from agentcore.steps import reply, sendable
from interpreters import Agent, FileStore, HttpModel, Returned, tool
from interpreters.models import usage
from interpreters.models.chat_encode import encode_chat
from interpreters.scripted import ScriptedGate
from interpreters.tools import results
from tests.cases.helpers_a import Case, fails, fails_async, patched
from tests.cases.helpers_b import lines_of, strict
from tests.core.driver import call
from tests.core.driver import tool as contract
from tests.models.byteserver import Answer, chunk, events, serving

VALUES = {"mean": math.nan, "max": math.inf, "n": 3, "deep": [{"low": -math.inf}]}


def asks(arguments: str) -> Answer:
    function = {"name": "stats", "arguments": arguments}
    called = chunk({"tool_calls": [{"index": 0, "id": "c0", "type": "function", "function": function}]})
    return Answer(events(called, chunk({}, "tool_calls")))


DONE = Answer(events(chunk({"content": "done"}), chunk({}, "stop")))


async def check(tmp_path, value, arguments: str = "{}") -> None:
    """A real tool, a real journal, a real request."""

    @tool(effect="pure")
    async def stats() -> object:
        """Compute."""
        return value

    store = FileStore(tmp_path)
    with serving(asks(arguments), DONE) as server:
        agent = Agent(model=HttpModel("m", base_url=server.url), tools=[stats], rules=ScriptedGate(), store=store)
        async with agent.open("s", create=True) as session:
            await session.send("go")
            assert (await session.wait()).text == "done"
            state = session.state
        sent = [request.body for request in server.received]
    result = state.history[2].results[0]
    if arguments == "{}":
        assert isinstance(result.outcome, Succeeded)
        first, _, note = result.content.partition("\n")
        assert strict(first) == {"mean": None, "max": None, "n": 3, "deep": [{"low": None}]}
        assert "not finite" in note, "a silent null"
    else:
        assert result.outcome.reason is InvalidReason.ARGUMENTS_MALFORMED
        assert "NaN is not JSON" in result.content
    # Every line, the state and every request pass a strict parser.
    for line in lines_of(tmp_path / "s"):
        strict(line)
    body = encode_state(state)
    strict(body)
    assert decode_state(body) == state
    for request in sent:
        strict(json.dumps(request))
        for message in request["messages"]:
            for asked in message.get("tool_calls", ()):
                assert isinstance(strict(asked["function"]["arguments"]), dict)


@pytest.mark.anyio
@pytest.mark.parametrize("wrap", [lambda value: value, Returned])
@pytest.mark.req("R-242", "R-200")
async def test_a_result_that_is_not_finite_is_replaced_and_says_so(tmp_path, wrap):
    await check(tmp_path, wrap(VALUES))


def lenient(value) -> str:
    """The serializer as it was, with its default settings."""
    return json.dumps(value)


def silent(value) -> str:
    """The serializer of others: null, without a word."""
    return json.dumps(results._finite(value))


@pytest.mark.anyio
@pytest.mark.parametrize("twin", [lenient, silent])
async def test_a_serializer_that_writes_nan_or_a_silent_null_is_found_out(tmp_path, twin):
    with patched((results, "_json", twin)):
        await fails_async(check, tmp_path, VALUES)


@pytest.mark.anyio
@pytest.mark.parametrize("raw", ['{"x": NaN}', '{"x": [Infinity]}', '{"x": -Infinity}'])
@pytest.mark.req("R-111")
async def test_an_argument_that_is_not_finite_is_invalid(tmp_path, raw):
    if "NaN" in raw:
        await check(tmp_path, VALUES, raw)
    check_arguments(raw)


def check_arguments(raw: str) -> None:
    case = Case(contract("stats", Effect.PURE))
    case.prompt()
    case.reply(call("stats", "c1", raw=raw))
    assert case.results, "it is taken for usable"
    assert isinstance(case.results[0].outcome, InvalidCall)
    body = encode_chat(case.view(), "m")
    for message in body["messages"]:
        for asked in message.get("tool_calls", ()):
            assert strict(asked["function"]["arguments"]) == {}
    strict(json.dumps(body))


def trusting(raw: str):
    """Reading arguments as it was: whatever Python's parser takes."""
    value = json.loads(raw)
    return reply.ParsedArguments(reply.ArgumentsState.COMPLETE, json.dumps(value))


def test_taking_arguments_that_only_python_reads_is_found_out():
    with patched((reply, "parse_arguments", trusting), (sendable, "parse_arguments", trusting)):
        fails(check_arguments, '{"x": NaN}')


def check_usage() -> None:
    told = usage.chat_usage({"prompt_tokens": math.nan, "completion_tokens": math.inf, "cost": math.nan})
    assert (told.input_tokens, told.output_tokens, told.cost_micros) == (None, None, None)
    assert usage.chat_usage({"prompt_tokens": 3.0, "completion_tokens": 2.5}).output_tokens is None


@pytest.mark.req("R-235")
def test_usage_that_is_not_finite_was_not_told():
    check_usage()


def test_taking_any_number_for_usage_is_found_out():
    with patched((usage, "_whole", lambda value: value)):
        fails(check_usage)


@pytest.mark.parametrize("name", ["steps", "tokens", "cost_micros", "turn_ms", "max_parallel", "answer_ms"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 1.5, -1, True])
@pytest.mark.req("R-109", "D-5")
def test_a_limit_that_is_no_whole_number_is_an_error_of_configuration(name, value):
    with pytest.raises(ValueError, match=f"limits.{name} is"):
        Limits(**{name: value})
