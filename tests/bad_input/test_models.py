"""A model that cannot be had: the turn ends and says what to do, and the session waits for a better one."""

from __future__ import annotations

import json
import socket
from itertools import pairwise

import pytest

from agentcore.states import StopReason
from interpreters import HttpModel
from interpreters.engine import read_state
from tests.bad_input.sessions import IMPATIENT, agent, echo, goes_on, results
from tests.models.byteserver import Answer, chunk, events, serving


async def failing(place, model, **more):
    """Run a turn with a model that cannot be had, and return how it ended, having found that nothing is lost."""
    working = agent(place, model=model, limits=IMPATIENT, **more)
    async with working.open("s", create=True) as session:
        await session.send("What is the time?")
        result = await session.wait()
    state = await read_state(working.store, "s")
    assert [message.parts[0].text for message in state.history] == ["What is the time?"]
    await goes_on(place, "s")
    return result


@pytest.mark.anyio
async def test_an_unreachable_model_is_named_with_its_address(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    result = await failing(tmp_path, HttpModel("m", base_url=f"http://127.0.0.1:{port}/v1"))
    assert result.reason is StopReason.MODEL_ERROR
    for piece in (
        f"http://127.0.0.1:{port}/v1/chat/completions",
        "the server cannot be reached",
        "base URL",
        "address",
    ):
        assert piece in result.explanation


@pytest.mark.anyio
@pytest.mark.parametrize("key", ["", "sk-wrong-wrong-wrong-wrong"])
async def test_a_missing_or_wrong_key_is_said_and_never_shown(tmp_path, key):
    refusal = {"error": {"message": f"Incorrect API key provided: {key}", "code": "invalid_api_key"}}
    answer = Answer((json.dumps(refusal).encode(),), 401, {"content-type": "application/json"})
    with serving(answer) as server:
        result = await failing(tmp_path, HttpModel("m", base_url=server.url, api_key=key))
        assert len(server.received) == 1  # a key does not become right by asking again
    assert result.reason is StopReason.MODEL_ERROR
    for piece in (server.url, "401", "Incorrect API key", "no API key was given" if not key else "[redacted]"):
        assert piece in result.explanation
    journal = (tmp_path / "s" / "segment-000001.ndjson").read_bytes().decode()
    assert not key or key not in result.explanation + journal


JSON, PAGE = {"content-type": "application/json"}, {"content-type": "text/html"}
NO_ANSWERS = {
    "a web page": (
        Answer((b"<title>Welcome</title>",), 200, {"content-type": "text/html"}),
        ("Welcome", "is the base URL right?"),
    ),
    "no such model": (Answer((b'{"error":{"message":"no model m"}}',), 404, JSON), ("404", "no model m")),
    "a broken stream": (Answer((b"data: {not json\n\n",)), ("JSON",)),
    "nothing": (Answer(()), ("the stream ended before",)),
}


@pytest.mark.anyio
@pytest.mark.parametrize("what", NO_ANSWERS)
async def test_what_is_no_answer_of_a_model_is_told_as_it_was_found(tmp_path, what):
    answer, pieces = NO_ANSWERS[what]
    with serving(answer, answer, answer) as server:
        result = await failing(tmp_path, HttpModel("m", base_url=server.url))
    assert result.reason is StopReason.MODEL_ERROR
    for piece in (server.url, *pieces):
        assert piece in result.explanation


def test_an_address_that_is_none_is_refused_when_the_model_is_made():
    for address in ("", "localhost:8080", "ftp://host/v1", "http://"):
        with pytest.raises(ValueError, match=r"http"):
            HttpModel("m", base_url=address)


@pytest.mark.anyio
async def test_half_surrogates_and_odd_numbers_from_the_wire_are_stored_as_something_readable(tmp_path):
    """The raw bytes of a stream can hold what no journal could: escapes of half a pair, in text and in arguments."""
    call = {"index": 0, "id": "c", "function": {"name": "echo", "arguments": '{"text": "\\ud83d and \ud83d"}'}}
    first = events(chunk({"content": "half \ud83d here", "tool_calls": [call]}), chunk(finish="tool_calls"))
    second = events(chunk({"content": "done"}), chunk(finish="stop"))
    with serving(Answer(first), Answer(second)) as server:
        working = agent(tmp_path, model=HttpModel("m", base_url=server.url), tools=[echo])
        async with working.open("s", create=True) as session:
            await session.send("go")
            assert (await session.wait()).text == "done"
            assert results(session.state) == ["\ufffd and \ufffd"]
    assert all(left != right for left, right in pairwise(server.received))
    await goes_on(tmp_path, "s")
