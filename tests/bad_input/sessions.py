"""What the tests of bad input share: agents with little around them, and the proof that a session goes on."""

from __future__ import annotations

from pathlib import Path

from agentcore import Limits
from agentcore.messages import AssistantMessage, ToolMessage
from interpreters import Agent, FileStore, ScriptedModel, allow, tool
from interpreters.scripted import Ask, Say

IMPATIENT = Limits(model_retries=1, retry_base_ms=1, retry_jitter_ms=0)
"""Limits under which a failing model has failed after milliseconds."""


@tool(effect="pure")
def echo(text: str) -> str:
    """Say it again."""
    return text


def agent(place: Path, *replies, tools=(), **more) -> Agent:
    """An agent whose model says these things one after the other, and which allows everything."""
    model = more.pop("model", None) or ScriptedModel(replies or [Say("done")])
    return Agent(model=model, tools=tools, rules=[allow()], store=FileStore(place), **more)


def calling(*calls: Ask) -> tuple[Say, Say]:
    """What a model says that makes calls and then is done."""
    return Say(calls=calls), Say("done")


async def goes_on(place: Path, session_id: str, *, accept_gap: str | None = None) -> None:
    """Find the session usable: another turn is asked for, and gets its answer."""
    willing = ScriptedModel(lambda *_: Say("here I am"))
    async with agent(place, model=willing).open(session_id, accept_gap=accept_gap) as session:
        await session.wait()
        before = session.state.turn.number
        await session.send("Are you there?")
        result = await session.wait()
    assert (result.text, result.completed, result.turn > before) == ("here I am", True, True)


def results(state) -> list[str]:
    """What the model was told of its calls, oldest first."""
    written = (message for message in state.history if isinstance(message, ToolMessage))
    return [result.content for message in written for result in message.results]


def answers(state) -> list[str]:
    """What the model said, oldest first."""
    return [message.text for message in state.history if isinstance(message, AssistantMessage)]


def contents(place: Path) -> dict[str, bytes]:
    """Every file of a session but the lock, to show that nothing was changed."""
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name != "lock"
    }
