"""smolagents' agent that calls tools; its documentation shows no way to go on in another process."""

from __future__ import annotations

import os

from book import PROMPT, write
from smolagents import OpenAIServerModel, ToolCallingAgent, tool


@tool
def record(entry: str, count: int) -> str:
    """Write an entry into the book.

    Args:
        entry: What is written.
        count: How often it counts.
    """
    return write("record", entry, count)


@tool
def guarded(entry: str, count: int) -> str:
    """Write an entry into the guarded book.

    Args:
        entry: What is written.
        count: How often it counts.
    """
    return write("guarded", entry, count)


model = OpenAIServerModel(model_id="m", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
agent = ToolCallingAgent(tools=[record, guarded], model=model, max_steps=30, verbosity_level=0)
print(agent.run(PROMPT))
