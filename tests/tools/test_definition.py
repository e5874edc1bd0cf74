"""What a function tells about itself, and what is refused when a tool is made."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Annotated, Any

import pytest

from agentcore.policy import Effect
from interpreters.tools import Tool, Toolbox, ToolContext, ToolDefinitionError, ToolError, executed, tool


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


def look(arguments, context):
    return executed()


def make():
    @tool
    def plot(
        context: ToolContext,
        path: str,
        size: Annotated[int, "how large"] = 3,
        points: list[Point] | None = None,
        mode: Mode = Mode.FAST,
    ) -> str:
        """Draw points.

        They are drawn in order.

        Args:
            path: where to put
                the picture
            size (int): not read, the annotation is nearer
            mode: how to draw

        Returns:
            what was drawn
        """
        return f"{path} {size} {points} {mode}"

    return plot


def schema_of(made: Tool):
    return json.loads(made.contract.parameters)


def test_a_plain_function_is_opaque():
    assert make().contract.effect is Effect.OPAQUE


def test_name_and_description_come_from_the_function():
    contract = make().contract
    assert contract.name == "plot"
    assert contract.description == "Draw points.\n\nThey are drawn in order.\n\nReturns:\n    what was drawn"


def test_the_schema_is_read_from_signature_and_docstring():
    assert schema_of(make()) == {
        "type": "object",
        "additionalProperties": False,
        "required": ["path"],
        "properties": {
            "path": {"type": "string", "description": "where to put the picture"},
            "size": {"type": "integer", "description": "how large", "default": 3},
            "points": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Point"}}, {"type": "null"}]},
            "mode": {"$ref": "#/$defs/Mode", "description": "how to draw", "default": "fast"},
        },
        "$defs": {
            "Mode": {"title": "Mode", "enum": ["fast", "slow"]},
            "Point": {
                "title": "Point",
                "type": "object",
                "required": ["x"],
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
            },
        },
    }


def test_a_sphinx_docstring_describes_parameters_too():
    @tool
    def shout(words: str) -> str:
        """Shout.

        :param words: what to shout
        """
        return words

    assert schema_of(shout)["properties"]["words"]["description"] == "what to shout"
    assert shout.contract.description == "Shout."


def test_a_default_that_json_cannot_hold_is_not_told():
    @tool
    def guess(number: Any = dataclasses.MISSING) -> str:
        """Guess."""
        return str(number)

    assert schema_of(guess)["properties"] == {"number": {}}


def test_the_context_is_never_an_argument_of_the_model():
    assert "context" not in make().contract.parameters


def test_json_arguments_become_what_the_function_is_annotated_with():
    context = ToolContext("s", "1.1.0")
    bound = make().bind({"path": "p", "size": 2.0, "points": [{"x": 1.0}], "mode": "slow"}, context)
    assert bound == {"context": context, "path": "p", "size": 2, "points": [Point(1)], "mode": Mode.SLOW}


def test_an_argument_left_out_takes_the_default_of_the_function():
    assert make().bind({"path": "p"}, ToolContext("s", "1.1.0")).keys() == {"context", "path"}


def test_arguments_that_do_not_fit_are_an_error_before_anything_runs():
    with pytest.raises(ToolError, match="plot"):
        make().bind({"path": "p", "size": "three"}, ToolContext("s", "1.1.0"))


def test_a_decorated_function_can_still_be_called():
    @tool(effect="pure")
    def double(number: int) -> int:
        """Double it."""
        return number * 2

    assert double(number=4) == 8


def test_a_given_schema_passes_json_as_it_is():
    @tool(name="remote", parameters={"type": "object", "properties": {"a-b": {"type": "integer"}}})
    def forward(**arguments):
        """Forward."""
        return arguments

    assert forward.bind({"a-b": 1}, ToolContext("s", "1.1.0")) == {"a-b": 1}


def test_seconds_become_milliseconds_and_options_reach_the_contract():
    @tool(effect="inspectable", inspect=look, timeout=2.5, acts_within=30, exclusive=True, absent_otherwise="retry")
    def send(to: str) -> str:
        """Send."""
        return to

    contract = send.contract
    assert (contract.timeout_ms, contract.acts_within_ms, contract.exclusive) == (2500, 30_000, True)
    assert (contract.absent_otherwise, contract.absent_after_resume) == ("retry", "retry")


def plain(x: int) -> int:
    """Do nothing."""
    return x


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"effect": "inspectable", "inspect": look}, "'plain': acts_within= belongs to effect 'inspectable'"),
        ({"effect": "fenceable"}, "'plain': effect 'fenceable' needs inspect="),
        ({"effect": "inspectable", "acts_within": 1}, "'plain': effect 'inspectable' needs inspect="),
        ({"effect": "pure", "inspect": look}, "'plain': effect 'pure' is never inspected: it only reads"),
        ({"inspect": look}, "'plain': effect 'opaque' is never inspected: declare it"),
        ({"effect": "keyed"}, "'plain': effect 'keyed' is nothing without the key"),
        ({"effect": "harmless"}, "there is no effect 'harmless'; use one of pure, keyed, fenceable"),
        ({"acts_within": 3}, "acts_within= belongs to effect 'inspectable'"),
        ({"timeout": 0}, "timeout=0: expected a positive number of seconds"),
        ({"timeout": "5"}, "timeout='5': expected a positive number of seconds"),
        ({"required": True}, "only a detached tool can be required"),
        ({"name": "two words"}, "'two words' cannot name a tool"),
        ({"parameters": {"type": "string"}}, "no usable JSON schema: the schema must be one of an object"),
        ({"parameters": {"type": "objekt"}}, "no usable JSON schema"),
        ({"parameters": {"type": "object", "x": float("nan")}}, "'plain': its parameters are no usable JSON schema"),
    ],
)
def test_a_contradiction_is_refused_with_tool_and_advice(options, says):
    with pytest.raises(ToolDefinitionError) as error:
        tool(**options)(plain)
    assert says in str(error.value)


@pytest.mark.req("R-111")
@pytest.mark.parametrize("uri", ["http://127.0.0.1:1/schema.json", "file:///etc/passwd"])
def test_a_schema_that_refers_elsewhere_is_refused_and_nothing_is_fetched(uri):
    with pytest.raises(ToolDefinitionError, match="references to other documents are refused"):
        tool(parameters={"type": "object", "properties": {"x": {"$ref": uri}}})(plain)


def bare(x):
    """Nothing."""


def starred(*numbers: int):
    """Nothing."""


def strange(number: complex):
    """Nothing."""


def unresolved(number: Missing):  # noqa: F821 - the test is about a name that cannot be found
    """Nothing."""


def generating(number: int):
    """Nothing."""
    yield number


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (bare, "tool 'bare', parameter 'x': annotate it with a type"),
        (starred, "tool 'starred', parameter 'numbers': arguments are passed by name"),
        (strange, "tool 'strange', parameter 'number': "),
        (unresolved, "tool 'unresolved': an annotation cannot be resolved"),
        (generating, "tool 'generating': a generator has no one result"),
        (lambda x: x, "'<lambda>' cannot name a tool: give name="),
        (7, "@tool was given int, expected a function"),
    ],
)
def test_a_function_that_cannot_be_told_to_a_model_is_refused(function, says):
    with pytest.raises(ToolDefinitionError) as error:
        tool(function)
    assert says in str(error.value)


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ToolDefinitionError, match="two tools are named plain"):
        Toolbox([plain, tool(plain)])


def test_a_toolbox_takes_plain_functions_and_tells_their_contracts():
    assert [each.name for each in Toolbox([plain, make()]).contracts] == ["plain", "plot"]
