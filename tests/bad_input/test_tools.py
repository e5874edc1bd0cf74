"""Tools that are declared wrongly, and tools that return, say or are asked for what cannot be written down."""

from __future__ import annotations

import decimal
import math
import threading

import pytest

from agentcore import Limits
from agentcore.messages import Artifact
from agentcore.states import StopReason
from interpreters import (
    Change,
    FileStore,
    Hooks,
    OutcomeUnknown,
    Returned,
    ToolContext,
    ToolDefinitionError,
    ToolError,
    file_tools,
    tool,
)
from interpreters.engine import read_state
from interpreters.scripted import Ask
from tests.bad_input.sessions import agent, calling, echo, goes_on, results


@tool(effect="pure")
def half(number: float) -> float:
    """Divide by two."""
    return number / 2


async def told(place, tools, *calls: Ask, **more) -> list[str]:
    """What the model was told of its calls; the turn has its answer, the journal folds, the session goes on."""
    working = agent(place, *calling(*calls), tools=tools, **more)
    async with working.open("s", create=True) as session:
        await session.send("go")
        result = await session.wait()
        assert (result.reason, result.text) == (StopReason.FINAL_ANSWER, "done")
        state = session.state
    assert await read_state(FileStore(place), "s") == state
    await goes_on(place, "s")
    return results(state)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "nonsense"}, '"nonsense" is not valid'),
        ({"type": "object", "properties": {"x": {"minimum": "low"}}}, '"low" is not of type "number"'),
        ({"$ref": "http://example.com/schema.json"}, "references to other documents are refused"),
        ({"$ref": "file:///etc/passwd"}, "references to other documents are refused"),
        ({"type": "object", "maximum": math.nan}, "not JSON compliant"),
        ({"pattern": object()}, "object"),
    ],
    ids=["type", "bound", "remote", "file", "nan", "object"],
)
def test_a_schema_that_is_none_is_refused_where_the_tool_is_made(schema, problem):
    with pytest.raises(ToolDefinitionError) as caught:

        @tool(parameters=schema)
        def broken():
            """Never made."""

    assert str(caught.value).startswith("tool 'broken': its parameters are no usable JSON schema: ")
    assert problem in str(caught.value)


def test_a_function_that_cannot_be_told_to_a_model_is_refused_with_its_parameter(tmp_path):
    def wait(until: threading.Event) -> None:
        """Wait."""

    with pytest.raises(
        ToolDefinitionError, match=r"tool 'wait', parameter 'until': type .* is not supported: use types"
    ):
        agent(tmp_path, tools=[wait])
    with pytest.raises(ToolDefinitionError, match="two tools are named echo: give one of them another name"):
        agent(tmp_path, tools=[echo, echo])
    with pytest.raises(ToolDefinitionError, match=r"@tool was given int, expected a function"):
        agent(tmp_path, tools=[7])
    assert list(tmp_path.iterdir()) == []


class Odd:
    """Nothing that JSON knows."""


def loop() -> list:
    """A list that holds itself."""
    items: list = []
    items.append(items)
    return items


@pytest.mark.anyio
@pytest.mark.req("R-131", "R-242")
@pytest.mark.parametrize("effect", ["pure", "opaque"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Odd(), "The tool has done its work, but its result cannot be shown: it returned Odd, which is not JSON"),
        (loop(), "The tool has done its work, but its result cannot be shown: it returned list"),
        ({"a": math.nan, "b": [math.inf, 1.5]}, '{"a": null, "b": [null, 1.5]}\n[numbers that are not finite'),
        (decimal.Decimal("1.10"), '"1.10"'),
        ("half \ud83d here", "half \ufffd here"),
        ({"\ud83d": "\ud83d"}, '{"\ufffd": "\ufffd"}'),
        (b"\xff\x00", '"/wA="'),
        ((), "[]"),
        ("", ""),
        (None, "done"),
    ],
    ids=["object", "loop", "nan", "decimal", "surrogate", "surrogate key", "bytes", "tuple", "empty", "none"],
)
async def test_a_result_that_is_not_json_is_a_success_that_says_so(tmp_path, effect, value, shown):
    @tool(effect=effect)
    def give() -> object:
        """Give it."""
        return value

    (said,) = await told(tmp_path, [give], Ask("give"))
    assert said.startswith(shown)


@pytest.mark.anyio
@pytest.mark.req("R-242")
async def test_whatever_a_tool_says_beside_its_result_is_made_storable(tmp_path):
    """Otherwise a deed that was done would count as lost for a letter in its summary."""
    broken = "a \ud83d b"

    @tool
    def succeed(context: ToolContext) -> Returned:
        """Say much."""
        context.progress(broken)
        context.observe(broken)
        return Returned(broken, broken, broken, (Artifact(broken, broken, broken),))

    @tool
    def fail() -> None:
        """Fail."""
        raise ToolError(broken, kind=broken)

    @tool(effect="fenceable", inspect=lambda *_: None)
    def lose() -> None:
        """Get lost; the one that looks gives nothing usable either."""
        raise OutcomeUnknown(broken, target=broken, observation=broken)

    @tool(announces=True)
    def announce(context: ToolContext) -> str:
        """Begin."""
        context.started(broken)
        return "begun"

    names = ("succeed", "fail", "announce")
    said = await told(tmp_path / "a", [succeed, fail, announce], *map(Ask, names))
    assert said == ["a \ufffd b", "Error: a \ufffd b", "begun"]
    working = agent(
        tmp_path / "b", *calling(Ask("lose")), tools=[lose], limits=Limits(inspections=1, inspect_base_ms=1)
    )
    result = await working.run("go")
    assert (result.reason, result.unresolved) == (StopReason.FINAL_ANSWER, ("1.1.0",))
    await goes_on(tmp_path / "b", result.session_id)


@pytest.mark.anyio
@pytest.mark.req("R-111", "R-242")
@pytest.mark.parametrize(
    ("name", "raw", "shown"),
    [
        ("half", '{"number": NaN}', "NaN is not JSON"),
        ("half", '{"number": -Infinity}', "-Infinity is not JSON"),
        ("half", '{"number": 1e999}', "not JSON compliant"),
        ("half", '{"number": "four"}', "number"),
        ("half", "[4]", "expected a JSON object, found list"),
        ("half", "{", "cut off by the output limit"),
        ("half", '{"number": 1, "number": 2}', "the key 'number' stands twice"),
        ("half", '{"number": 1, "colour": "red"}', "colour"),
        ("echo", '{"text": "\x00"}', "control character"),
        ("nothing", "{}", "nothing"),
    ],
)
async def test_arguments_that_cannot_be_used_are_told_to_the_model_with_the_reason(tmp_path, name, raw, shown):
    (said,) = await told(tmp_path, [echo, half], Ask(name, raw))
    assert shown in said


@pytest.mark.anyio
async def test_half_a_surrogate_pair_in_arguments_becomes_a_letter_that_can_be_stored(tmp_path):
    assert await told(tmp_path, [echo], Ask("echo", '{"text": "\\ud83d"}')) == ["\ufffd"]


@pytest.mark.anyio
@pytest.mark.parametrize("value", [math.nan, "\ud83d", Odd()], ids=["nan", "surrogate", "object"])
async def test_a_hook_that_puts_in_what_is_not_json_blocks_the_call_and_says_why(tmp_path, value):
    hooks = Hooks(before_tool=lambda _: Change({"text": value}))
    (said,) = await told(tmp_path, [echo], Ask("echo", {"text": "x"}), hooks=hooks)
    assert "before-tool hook" in said or said == "\ufffd"


@pytest.mark.anyio
async def test_names_and_texts_of_files_that_are_no_text_harm_nothing(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    (files / "latin").write_bytes(b"caf\xe9\n")
    calls = (
        Ask("read_file", {"path": "latin"}),
        Ask("read_file", '{"path": "\\ud83d"}'),
        Ask("write_file", '{"path": "out", "content": "\\ud83d"}'),
    )
    latin, missing, written = await told(tmp_path / "store", file_tools(files), *calls)
    assert "caf" in latin
    assert "there is no" in missing
    assert written.startswith("created out")
