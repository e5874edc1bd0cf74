"""A turn can be driven by hand, without the engine; the README shows these very files."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

from agentcore.messages import AssistantMessage, ToolMessage, UserMessage
from agentcore.states import Completed

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/by_hand.py"


@pytest.mark.req("R-007", "R-009", "R-015", "R-022")
def test_a_turn_driven_by_hand_reaches_its_answer():
    state = runpy.run_path(str(EXAMPLE))["turn"]("What is 2 + 3?")
    assert isinstance(state.phase, Completed)
    assert [type(message) for message in state.history] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        AssistantMessage,
    ]
    assert [*state.history][-1].text == "The sum is 5."


def test_the_loop_is_fifteen_lines():
    functions = {node.name: node for node in ast.parse(EXAMPLE.read_text()).body if isinstance(node, ast.FunctionDef)}
    body = functions["turn"].body[1:]
    assert body[-1].end_lineno - body[0].lineno + 1 <= 16


@pytest.mark.parametrize(
    ("name", "says"),
    [("by_hand", "Completed after 8 events: The sum is 5."), ("with_agent", "final_answer: The sum is 5.")],
)
@pytest.mark.req("R-022")
def test_both_examples_say_what_came_of_it_when_they_are_run(name, says, capsys):
    runpy.run_path(str(EXAMPLE.with_name(f"{name}.py")), run_name="__main__")
    assert capsys.readouterr().out == f"{says}\n"
