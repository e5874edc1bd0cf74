"""Calls and orders, as the engine hands them to the interpreters of tools."""

from __future__ import annotations

from agentcore.commands import AskApproval, CancelTool, EvaluatePolicy, ExecuteTool, InspectEffect
from agentcore.events import Inspector
from agentcore.messages import digest
from agentcore.states import Because, Call, Executing, Run, Transition

SESSION = "s1"


def call_of(tool, call_id="1.1.0", arguments="{}") -> Call:
    """A call of a scripted tool, executing."""
    return Call(
        call_id=call_id,
        provider_id="p",
        name=tool.contract.name,
        raw_arguments=arguments,
        proposed=arguments,
        arguments=arguments,
        contract=tool.contract,
        state=Executing(Transition(Because.RELEASE_COVERED), Run(0, 1, 1, 0)),
    )


def execute(call_id="1.1.0", attempt=1) -> ExecuteTool:
    return ExecuteTool(call_id, 0, attempt)


def cancel(call_id="1.1.0", attempt=1) -> CancelTool:
    return CancelTool(call_id, 0, 1, (0, attempt))


def inspect(call_id="1.1.0", attempt=1) -> InspectEffect:
    return InspectEffect(call_id, 0, 1, Inspector.PROGRAM, (0, attempt))


def evaluate(call_id="1.1.0") -> EvaluatePolicy:
    return EvaluatePolicy(call_id, 0, 1)


def ask(call, reason="") -> AskApproval:
    return AskApproval(call.call_id, 0, 1, digest(call.arguments), reason)
