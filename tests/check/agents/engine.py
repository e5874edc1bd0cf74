"""Our own engine as a program under attack: a session on disk, keyed tools, a person who is asked, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import sys

import anyio
import httpx

from agentcore import Limits
from interpreters import Agent, FileStore, ToolContext, ToolError, allow, ask, tool
from interpreters.approvals.answers import denied, granted
from interpreters.models.http import HttpModel

DIALECT = os.environ["AGENT_DIALECT"]
TOOLS_URL = os.environ["AGENTCORE_CHECK_TOOLS_URL"]
SESSION = "checked"


async def post(path, body):
    async with httpx.AsyncClient(timeout=30, trust_env=False) as client:
        return await client.post(TOOLS_URL + path, json=body)


async def call(name, entry, count, context):
    """The key is the same for every attempt of a call, so that the other side can drop the second."""
    body = {"name": name, "arguments": {"entry": entry, "count": count}, "key": context.effect_key}
    answer = await post("/call", body)
    if answer.status_code != httpx.codes.OK:
        raise ToolError(answer.json()["error"])
    return answer.json()["result"]


@tool(effect="keyed")
async def record(context: ToolContext, entry: str, count: int) -> str:
    """Write an entry into the book, once for each call."""
    return await call("record", entry, count, context)


@tool(effect="keyed")
async def guarded(context: ToolContext, entry: str, count: int) -> str:
    """Write an entry into the guarded book; somebody has to allow it first."""
    return await call("guarded", entry, count, context)


class Owner:
    """Asks over the tools URL."""

    async def ask(self, session_id, order, call):
        body = {"name": call.name, "arguments": json.loads(call.arguments)}
        answer = (await post("/approvals", body)).json()
        if answer["approved"]:
            return granted(order, call, by="owner")
        return denied(order, by="owner", feedback=answer["reason"])

    async def ask_effect(self, session_id, order, call):
        raise AssertionError("a keyed tool is never asked about")


def agent():
    base = os.environ["ANTHROPIC_BASE_URL"] + "/v1" if DIALECT == "anthropic" else os.environ["OPENAI_BASE_URL"]
    return Agent(
        model=HttpModel("check", base_url=base, dialect=DIALECT, api_key="sk-check-not-a-key"),
        tools=[record, guarded],
        rules=[ask("guarded"), allow()],
        approver=Owner(),
        limits=Limits(steps=30, tool_calls=60, retry_base_ms=50, retry_jitter_ms=50, inspect_base_ms=100),
        store=FileStore(os.environ["AGENTCORE_CHECK_DIR"]),
    )


async def abort_on_interrupt(session):
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            await session.abort()


async def main():
    resumed = "--resume" in sys.argv
    async with agent().open(SESSION, create=not resumed) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(abort_on_interrupt, session)
        if not session.state.turn.number:
            await session.send(os.environ["AGENTCORE_CHECK_PROMPT"], message_id="prompt")
        result = await session.wait()
        print(result.reason, result.text)
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, backend=os.environ.get("AGENT_BACKEND", "asyncio"))
