"""openai-agents, with its SQLite session."""

from __future__ import annotations

import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.tool_context import ToolContext
from book import PLACE, PROMPT, write
from openai import AsyncOpenAI

set_tracing_disabled(disabled=True)


@function_tool
async def record(ctx: ToolContext, entry: str, count: int) -> str:
    """Write an entry into the book."""
    return await asyncio.to_thread(write, "record", entry, count, ctx.tool_call_id)


@function_tool
async def guarded(ctx: ToolContext, entry: str, count: int) -> str:
    """Write an entry into the guarded book."""
    return await asyncio.to_thread(write, "guarded", entry, count, ctx.tool_call_id)


async def main():
    session = SQLiteSession("checked", str(PLACE / "session.db"))
    model = OpenAIChatCompletionsModel("m", AsyncOpenAI())
    agent = Agent(name="a", model=model, tools=[record, guarded])
    kept = await session.get_items() if "--resume" in sys.argv else []
    result = await Runner.run(agent, [] if kept else PROMPT, session=session, max_turns=30)
    print(result.final_output)


asyncio.run(main())
