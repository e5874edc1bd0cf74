"""One turn driven by hand: ``reduce``, a ``match`` over commands, and nothing else.

The ``match`` is the whole interpreter. A real one waits for a model and for tools; what comes back is an event either
way. The store is a list here, so a checkpoint is written at once.
"""
# ruff: noqa: INP001, T201 - a script on its own, which prints

from __future__ import annotations

from typing import Any

from agentcore import Config, Effect, ToolContract, reduce, start
from agentcore.commands import EvaluatePolicy, ExecuteTool, PersistCheckpoint, RequestModel
from agentcore.events import CheckpointWritten, Event, ModelReplied, PolicyAllowed, PromptSubmitted, ToolSucceeded
from agentcore.messages import TextPart, ToolCallPart, digest
from agentcore.states import State

REPLIES = [(ToolCallPart("a", "add", '{"x":2,"y":3}'),), (TextPart("The sum is 5."),)]
ARGUMENTS = '{"x":2,"y":3}'
ADD = ToolContract("add", Effect.PURE)


def named(command: RequestModel | EvaluatePolicy | ExecuteTool) -> dict[str, Any]:
    """Return what an answer has to name: the whole key of its command."""
    about = {"request_id": command.request_id} if isinstance(command, RequestModel) else {"call_id": command.call_id}
    return {"at": 0, "epoch": command.epoch, "attempt": command.attempt, **about}


def turn(words: str) -> State:
    """Run one turn and return the state at its end."""
    state, _ = start("by-hand", Config(tools=(ADD,)), at=0)
    events: list[Event] = [PromptSubmitted(at=0, message_id="m1", parts=(TextPart(words),))]
    while events:
        state, commands = reduce(state, events.pop(0))
        for command in commands:
            match command:
                case RequestModel():
                    events.append(ModelReplied(**named(command), parts=REPLIES.pop(0)))
                case EvaluatePolicy():
                    events.append(PolicyAllowed(**named(command), arguments=ARGUMENTS, digest=digest(ARGUMENTS)))
                case ExecuteTool():
                    events.append(ToolSucceeded(**named(command), result="5"))
                case PersistCheckpoint(seq, epoch, attempt):
                    events.append(CheckpointWritten(at=0, seq=seq, epoch=epoch, attempt=attempt))
    return state


if __name__ == "__main__":
    end = turn("What is 2 + 3?")
    print(f"{type(end.phase).__name__} after {end.seq} events: {[*end.history][-1].text}")
