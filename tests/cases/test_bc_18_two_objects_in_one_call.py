"""BC-18: parallel calls collapsed into one, two JSON objects glued together; one turn later that looked like a network
error.

Arguments that are not one object are run neither in part nor mended by guessing. The call is answered with what is
wrong and a look at the text, and what is sent back is valid.
"""

from __future__ import annotations

import json

import pytest

from agentcore import reduce
from agentcore.codec import decode_event
from agentcore.commands import EvaluatePolicy, ExecuteTool, RequestModel
from agentcore.events import ModelReplied
from agentcore.messages import FinishReason, InvalidCall, InvalidReason, TextPart, ToolCallPart
from agentcore.states import AwaitingModel, Because, Completed
from agentcore.steps import reply, sendable
from interpreters import Agent, HttpModel, tool
from interpreters.models.calls import CallFolder
from tests.cases.helpers_a import Case, fails, fails_async, patched
from tests.core.driver import call
from tests.core.driver import tool as contract
from tests.models.byteserver import Answer, chunk, events, serving

GLUED = {
    "two objects": '{"path":"a.txt"}{"path":"b.txt"}',
    "two objects on two lines": '{"path":"a.txt"}\n{"path":"b.txt"}',
    "three objects": '{"path":"a"}{"path":"b"}{"path":"c"}',
    "an object and a word": '{"path":"a.txt"} done',
    "a list of two": '[{"path":"a.txt"},{"path":"b.txt"}]',
    "a doubled key": '{"path":"a.txt","path":"b.txt"}',
    "an object in a string": '"{\\"path\\":\\"a.txt\\"}"',
    "very long": '{"path":"' + "a" * 5000 + '"}{"path":"b.txt"}',
}


def check(raw: str, reducer=reduce) -> None:
    case = Case(contract("read"), reduce=reducer)
    case.prompt()
    case.reply(call("read", "c1", raw=raw), call("read", "c2", path="c.txt"), finish=FinishReason.TOOL_CALLS)
    # The other call of the message is not spoiled by it.
    assert [type(each.state).__name__ for each in case.state.batch.calls] == ["Settled", "Proposed"]
    case.allow("1.1.1")
    case.all_saved()
    case.succeed("1.1.1")
    assert (case.count(ExecuteTool, "1.1.0"), case.count(EvaluatePolicy, "1.1.0")) == (0, 0)
    result = case.result("1.1.0")
    assert isinstance(result.outcome, InvalidCall)
    assert result.outcome.reason is InvalidReason.ARGUMENTS_MALFORMED
    assert "TOOL_INPUT_INVALID" in result.content
    # A bounded look at what was written.
    assert raw[:40] in result.content
    assert len(result.content) < 1200
    # What is stored and sent back is one JSON object; what was written is evidence, outside of the history.
    sent = case.sent[-1][1].calls[0]
    assert sent.arguments == "{}"
    assert raw not in repr(case.state.history) or len(raw) < 800
    said = [event for event in map(decode_event, case.lines) if isinstance(event, ModelReplied)]
    assert said[0].parts[0].arguments == raw
    assert case.count(RequestModel) == 2
    assert Because.ARGUMENTS_REPAIRED in case.hops
    case.answer()
    assert case.phase is Completed


@pytest.mark.parametrize("name", GLUED)
@pytest.mark.req("R-111", "R-130", "D-3", "R-242")
def test_arguments_that_are_not_one_object_are_answered_and_not_run(name):
    check(GLUED[name])


def first_object(raw):
    """Reading as it was: the first object counts, what follows is somebody else's."""
    try:
        value, _ = json.JSONDecoder().raw_decode(raw)
    except ValueError:
        return read(raw)
    return read(json.dumps(value)) if isinstance(value, dict) else read(raw)


read = reply.parse_arguments


@pytest.mark.parametrize("name", ["two objects", "three objects", "an object and a word"])
def test_running_the_first_object_is_found_out(name):
    with patched((reply, "parse_arguments", first_object)):
        fails(check, GLUED[name])


@pytest.mark.parametrize("name", GLUED)
def test_sending_the_text_back_as_it_came_is_found_out(name):
    with patched((sendable, "_arguments", lambda raw: raw)):
        fails(check, GLUED[name])


# ---- the adapter: pieces of a stream that belong to different calls


def piece(index=None, id_="", name="", arguments=""):
    told = {"id": id_} if id_ else {}
    told |= {"index": index} if index is not None else {}
    return told | {"type": "function", "function": {"name": name, "arguments": arguments}}


A, B = '{"path":"a.txt"}', '{"path":"b.txt"}'
STREAMS = {
    # Deltas of a stream, and the calls they are, in the order in which they came.
    "one index, two ids": ([[piece(0, "c1", "read", A)], [piece(0, "c2", "read", B)]], [("c1", A), ("c2", B)]),
    "one index, two ids, in fragments": (
        [
            [piece(0, "c1", "read", A[:5])],
            [piece(0, "", "", A[5:])],
            [piece(0, "c2", "read", B[:5])],
            [piece(0, "", "", B[5:])],
        ],
        [("c1", A), ("c2", B)],
    ),
    "one index, no ids, named twice": ([[piece(0, "", "read", A)], [piece(0, "", "read", B)]], [("", A), ("", B)]),
    "one index, two names": ([[piece(0, "", "read", A)], [piece(0, "", "list", B)]], [("", A), ("", B)]),
    "no index, two ids": ([[piece(None, "c1", "read", A)], [piece(None, "c2", "read", B)]], [("c1", A), ("c2", B)]),
    "no index, one list": ([[piece(None, "", "read", A), piece(None, "", "read", B)]], [("", A), ("", B)]),
    "two indexes, interleaved": (
        [
            [piece(0, "c1", "read", A[:5]), piece(1, "c2", "read", B[:5])],
            [piece(1, "", "", B[5:])],
            [piece(0, "", "", A[5:])],
        ],
        [("c1", A), ("c2", B)],
    ),
}


async def check_stream(name: str) -> None:
    deltas, calls = STREAMS[name]
    ran: list[str] = []

    @tool(effect="pure")
    def read(path: str) -> str:
        """Read a file."""
        ran.append(path)
        return f"content of {path}"

    @tool(name="list", effect="pure")
    def list_(path: str) -> str:
        """List a folder."""
        return read(path)

    asked = Answer(events(*(chunk({"tool_calls": delta}) for delta in deltas), chunk(finish="tool_calls")))
    final = Answer(events(chunk({"content": "done"}), chunk(finish="stop")))
    with serving(asked, final) as server:
        result = await Agent(model=HttpModel("m", base_url=server.url), tools=[read, list_]).run("go")
        body = server.received[-1].body["messages"]
    assert result.text == "done"
    sent = body[1]["tool_calls"]
    assert [one["function"]["arguments"] for one in sent] == [arguments for _, arguments in calls]
    assert len({one["id"] for one in sent}) == len(calls)
    assert all(one["id"] == wanted for one, (wanted, _) in zip(sent, calls, strict=True) if wanted)
    assert sorted(ran) == ["a.txt", "b.txt"]
    assert [(one["tool_call_id"], one["content"]) for one in body[2:]] == [
        (one["id"], f"content of {json.loads(one['function']['arguments'])['path']}") for one in sent
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.req("R-079", "G-2")
async def test_pieces_of_different_calls_are_different_calls(name):
    await check_stream(name)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["one index, two ids", "one index, no ids, named twice", "one index, two names"])
async def test_joining_pieces_by_index_alone_is_found_out(name):
    def by_index(self, piece):
        return self._by_index.get(piece.index)

    with patched((CallFolder, "_call_of", by_index)):
        await fails_async(check_stream, name)


def test_a_call_the_provider_ran_is_no_call_of_ours():
    theirs = ToolCallPart("s1", "web_search", GLUED["two objects"], provider_executed=True)
    case = Case(contract("read"))
    case.prompt()
    case.reply(theirs, TextPart("found"))
    case.all_saved()
    assert case.phase is not AwaitingModel
    assert case.history[-1].parts[0] == theirs
