"""strands-agents, with its file session."""

from __future__ import annotations

import os
import sys

from book import PLACE, PROMPT, write
from strands import Agent, ToolContext, tool
from strands.models.openai import OpenAIModel
from strands.session.file_session_manager import FileSessionManager


@tool(context=True)
def record(entry: str, count: int, tool_context: ToolContext) -> str:
    """Write an entry into the book.

    Args:
        entry: What is written.
        count: How often it counts.
    """
    return write("record", entry, count, tool_context.tool_use["toolUseId"])


@tool(context=True)
def guarded(entry: str, count: int, tool_context: ToolContext) -> str:
    """Write an entry into the guarded book.

    Args:
        entry: What is written.
        count: How often it counts.
    """
    return write("guarded", entry, count, tool_context.tool_use["toolUseId"])


client = {"api_key": os.environ["OPENAI_API_KEY"], "base_url": os.environ["OPENAI_BASE_URL"]}
agent = Agent(
    model=OpenAIModel(client_args=client, model_id="m"),
    tools=[record, guarded],
    session_manager=FileSessionManager(session_id="checked", storage_dir=str(PLACE)),
    agent_id="a",
    callback_handler=None,
)
resumed = "--resume" in sys.argv and agent.messages
print(agent() if resumed else agent(PROMPT))
