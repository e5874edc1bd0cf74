"""The reducer of ``mistralai-vibe-protocol`` as a protocol; run inside its environment, it prints what was found.

What always may happen: the task starts; the model, when it is asked, answers or calls two tools (twice at most); the
results come in any order. Four worlds are explored: in the honest one nothing else happens, in the others one kind of
result that nobody waits for comes as well.
"""

from __future__ import annotations

import json
import time
from importlib.metadata import version

from mistralai.vibe.protocol import ToolTask
from mistralai.vibe.protocol.modules.sub_task import SpawnSubTask, SubTaskCompleted
from mistralai.vibe.protocol.patterns.agent import AgentModule, CallLLM, Initialize, LLMTurnComplete
from mistralai.vibe.protocol.types.state import (
    CompletedOutput,
    MessageEntry,
    MessageEntryPayload,
    PendingOutput,
    TaskCallEntry,
    TaskCallEntryPayload,
    TaskResultEntry,
    TaskState,
    TextContentBlock,
)

from agentcore.testing.protocol import (
    CallAsked,
    DeedDone,
    RequestMade,
    ResultGiven,
    explore_protocol,
    protocol_of,
    protocol_scenario,
)

ROUNDS_MAX = 2
WORLDS = ("honest", "duplicate", "orphan", "late")
"""A duplicate is a second result while the task runs, a late one comes after the end, an orphan is for no call."""


def charge(amount: int) -> str:
    """A tool that is never run here: the reducer only orders it."""
    return f"charged {amount}"


class VibeLoop:
    """The adapter: events are words, states are the package's own."""

    name = f"mistralai-vibe-protocol {version('mistralai-vibe-protocol')}"
    progress = staticmethod(lambda transition: transition.changed)
    initial = TaskState(id="task", output=PendingOutput(), input="Pay the bill.")

    def __init__(self, world="honest"):
        self.world = world
        tool = ToolTask(fn=charge, name="charge", description="Charge an amount.")
        self.module = AgentModule(
            completion=None, model_name="m", tasks={"charge": tool}, max_iterations=None, provider_name="mistral"
        )

    def enabled(self, state):
        if not state.history:
            yield "start"
        elif state.output.status == "running" and not self.open(state):
            yield "the model answers"
            turn = self.turns(state) + 1
            if turn <= ROUNDS_MAX:
                yield f"the model calls a{turn} b{turn}"
        yield from (f"result {entry.payload.id}" for entry in self.open(state))
        runs = state.output.status == "running"
        if self.world == ("duplicate" if runs else "late"):
            yield from (f"result {call}" for call in self.answered(state))
        if self.world == "orphan" and state.history and runs:
            yield "result ghost"

    def reduce(self, state, event):
        return self.module.reduce(state, self.action(event))

    def action(self, event):
        if event == "start":
            return Initialize()
        if event.startswith("result "):
            done = TaskState(id="child", output=CompletedOutput(value="ok"))
            return SubTaskCompleted(call_id=event.removeprefix("result "), final_state=done)
        calls = event.removeprefix("the model calls ").split() if "calls" in event else []
        text = [] if calls else [TextContentBlock(text="Done.")]
        asked = [
            TaskCallEntry(payload=TaskCallEntryPayload(id=name, name="charge", input={"amount": 5})) for name in calls
        ]
        response = MessageEntry(payload=MessageEntryPayload(role="assistant", content=text))
        return LLMTurnComplete(response=response, tool_calls=asked)

    def told(self, event):
        if event.startswith("result "):
            return [ResultGiven(event.removeprefix("result "))]
        return [CallAsked(name) for name in event.removeprefix("the model calls ").split()] if "calls" in event else []

    def ordered(self, command):
        if isinstance(command, CallLLM):
            return [RequestMade()]
        return [DeedDone(command.call.payload.id)] if isinstance(command, SpawnSubTask) else []

    def ended(self, state):
        return state.output.status != "running"

    def answered(self, state):
        return [entry.payload.id for entry in self.results(state) if entry.generation_status == "complete"]

    def normalise(self, state):
        return state.model_dump_json()

    def show(self, state):
        open_ = [entry.payload.id for entry in self.open(state)]
        waiting = f", waiting for {', '.join(open_)}" if open_ else ""
        return f"{state.output.status}, {len(state.history)} entries{waiting}"

    def show_command(self, command):
        about = f" {command.call.payload.id}" if isinstance(command, SpawnSubTask) else ""
        return f"{type(command).__name__}{about}"

    @staticmethod
    def results(state):
        return [entry for entry in state.history if isinstance(entry, TaskResultEntry)]

    def open(self, state):
        return [entry for entry in self.results(state) if entry.generation_status == "generating"]

    @staticmethod
    def turns(state):
        replies = (entry for entry in state.history if isinstance(entry, MessageEntry))
        return sum(entry.payload.role == "assistant" for entry in replies)


if __name__ == "__main__":
    found = {}
    for world in WORLDS:
        findings = explore_protocol(protocol_of(VibeLoop(world)), clock=time.monotonic)
        scenarios = {each.law: protocol_scenario(findings.protocol, each) for each in findings.broken}
        found[world] = {**findings.to_json(), "scenarios": scenarios}
    print(json.dumps(found))
