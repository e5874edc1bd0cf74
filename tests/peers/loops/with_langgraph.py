"""LangGraph: ``create_agent`` with a SQLite checkpointer that writes before each step goes on."""

from __future__ import annotations

import sys
from typing import Annotated

from book import PLACE, PROMPT, write
from langchain.agents import create_agent
from langchain_core.tools import InjectedToolCallId, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver


@tool
def record(entry: str, count: int, call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Write an entry into the book."""
    return write("record", entry, count, call_id)


@tool
def guarded(entry: str, count: int, call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Write an entry into the guarded book."""
    return write("guarded", entry, count, call_id)


config = {"configurable": {"thread_id": "checked"}, "recursion_limit": 60}
with SqliteSaver.from_conn_string(str(PLACE / "checkpoints.db")) as saver:
    agent = create_agent(model=ChatOpenAI(model="m"), tools=[record, guarded], checkpointer=saver)
    resumed = "--resume" in sys.argv and agent.get_state(config).next
    given = None if resumed else {"messages": [("user", PROMPT)]}
    print(agent.invoke(given, config, durability="sync")["messages"][-1].content)
