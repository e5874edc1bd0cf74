"""Calls and orders as the engine hands them to a toolbox, and one place that records what a tool says."""

from __future__ import annotations

import json
import sys

from agentcore.commands import CancelTool, ExecuteTool, InspectEffect
from agentcore.events import Inspector
from agentcore.states import Because, Call, Executing, Run, Transition
from interpreters.tools import Toolbox

SESSION = "session-1"
CALL = "1.1.0"


def call_of(tool, arguments=None, *, attempt=1, handle=""):
    """A call of a tool, executing."""
    state = Executing(Transition(Because.RELEASE_COVERED), Run(0, attempt, 1, 0, handle=handle))
    return Call(
        call_id=CALL,
        provider_id="p",
        name=tool.name,
        raw_arguments="",
        proposed=json.dumps(arguments or {}),
        arguments=json.dumps(arguments or {}),
        contract=tool.contract,
        state=state,
    )


def execute_order(attempt=1):
    return ExecuteTool(CALL, 0, attempt)


def cancel_order(attempt=1):
    return CancelTool(CALL, 0, 1, (0, attempt))


def inspect_order(attempt=1):
    return InspectEffect(CALL, 0, 1, Inspector.PROGRAM, (0, attempt))


class Bench:
    """A toolbox with one tool, and everything it said."""

    def __init__(self, tool, **options):
        self.kept = {}
        self.tool = tool
        self.box = Toolbox([tool], keep=self._keep, **options)
        self.events = []
        self.shown = []

    async def _keep(self, session_id, name, data):
        self.kept[name] = data
        return f"kept/{name}"

    async def execute(self, arguments=None, attempt=1):
        call = call_of(self.tool, arguments, attempt=attempt)
        return await self.box.execute(
            SESSION, execute_order(attempt), call, emit=self.events.append, show=self.shown.append
        )

    def cancel(self, attempt=1):
        self.box.cancel(SESSION, cancel_order(attempt))

    async def inspect(self, arguments=None, attempt=1, handle=""):
        call = call_of(self.tool, arguments, attempt=attempt, handle=handle)
        return await self.box.inspect(SESSION, inspect_order(attempt), call)


def peak_memory_kib():
    """The largest resident size this process has had."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak
