"""The same turn as in ``by_hand.py``, with the engine: an agent of a model and a tool. The model follows a script."""
# ruff: noqa: INP001, T201 - a script on its own, which prints

from __future__ import annotations

from interpreters import Agent, tool
from interpreters.scripted import Ask, Say, ScriptedModel

MODEL = ScriptedModel([Say(calls=(Ask("add", {"x": 2, "y": 3}),)), Say("The sum is 5.")])


@tool(effect="pure")
def add(x: int, y: int) -> int:
    """Add two numbers."""
    return x + y


if __name__ == "__main__":
    result = Agent(model=MODEL, tools=[add]).run_sync("What is 2 + 3?")
    print(f"{result.reason}: {result.text}")
