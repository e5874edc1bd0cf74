"""pydantic-ai, with the step persistence of its harness over SQLite."""

from __future__ import annotations

import asyncio
import sys

from book import PLACE, PROMPT, write
from pydantic_ai import Agent, RunContext
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai_harness import StepPersistence
from pydantic_ai_harness.step_persistence import SqliteStepStore, continue_run

STORE = SqliteStepStore(database=str(PLACE / "steps.db"))
agent = Agent(
    OpenAIChatModel("m"),
    capabilities=[StepPersistence(store=STORE, agent_name="a", capture_frontier=True)],
)


@agent.tool
async def record(ctx: RunContext, entry: str, count: int) -> str:
    """Write an entry into the book."""
    return await asyncio.to_thread(write, "record", entry, count, ctx.tool_call_id)


@agent.tool
async def guarded(ctx: RunContext, entry: str, count: int) -> str:
    """Write an entry into the guarded book."""
    return await asyncio.to_thread(write, "guarded", entry, count, ctx.tool_call_id)


async def main():
    runs = await STORE.list_runs() if "--resume" in sys.argv else []
    if runs:
        kept = await continue_run(STORE, run_id=runs[0].run_id, include_interrupted=True)
        messages = getattr(kept, "messages", kept)
        print((await agent.run(message_history=messages)).output)
    else:
        print((await agent.run(PROMPT)).output)


asyncio.run(main())
