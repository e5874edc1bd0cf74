"""The same turn can be driven by hand, without the engine; the README shows this very file."""

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


def test_the_example_says_what_came_of_it_when_it_is_run(capsys):
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert capsys.readouterr().out == "Completed after 8 events: The sum is 5.\n"
