"""``EvaluatePolicy``: the schema, the host's before-tool hook, the rules; serial and in this order.

1. Arguments that do not fit the schema are refused before anybody else sees them.
2. The hook may block the call, or change its arguments: what it changed has to fit the schema too, and is what the
   rules and any person judge. A hook that fails blocks the call.
3. The decision says that the hook was there: its name stands before the rule's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs

from agentcore.commands import EvaluatePolicy
from agentcore.events import ArgumentsRefused, PolicyAllowed, PolicyAsked, PolicyBlocked
from agentcore.messages import canonical_json
from agentcore.states import Call
from interpreters.engine.hooks import Block, Change, Hooks, HookTrace
from interpreters.engine.seam import Fault, guarded
from interpreters.support.arguments import problems_of, refusal
from interpreters.support.ports import STAMPED, Gate

BEFORE_TOOL = "before-tool"
"""Rule id of what the hook decides."""

Decision = PolicyAllowed | PolicyAsked | PolicyBlocked | ArgumentsRefused


@attrs.frozen(eq=False)
class Reviewer:
    """Performs ``EvaluatePolicy``."""

    gate: Gate
    """The rules."""
    hooks: Hooks
    """The host's."""
    trace: HookTrace
    """Is told of them."""

    async def review(self, session_id: str, order: EvaluatePolicy, call: Call) -> Decision:
        """Decide about a call."""
        if problem := _problem(call):
            return ArgumentsRefused(
                at=STAMPED, call_id=order.call_id, epoch=order.epoch, attempt=order.attempt, problem=problem
            )
        wanted = await self._before_tool(call)
        if isinstance(wanted, Block):
            return _blocked(order, wanted)
        decided = await self.gate.evaluate(session_id, order, wanted)
        if wanted is not call:
            return attrs.evolve(decided, rule=f"{BEFORE_TOOL}, {decided.rule}" if decided.rule else BEFORE_TOOL)
        return decided

    async def _before_tool(self, call: Call) -> Call | Block:
        """Return the call as the hook wants it to run, or its refusal."""
        hook = self.hooks.before_tool
        if hook is None:
            return call
        said = await guarded(lambda: self.trace.call(BEFORE_TOOL, call.call_id, lambda: hook(call), _told))
        match said:
            case None:
                return call
            case Block():
                return said
            case Change(arguments=arguments):
                return _changed(call, arguments)
            case Fault(cause=cause):
                return Block(f"the host's before-tool hook failed: {cause}")
        return Block(f"the host's before-tool hook returned {type(said).__name__}, expected None, Block or Change")


def _problem(call: Call) -> str:
    problems = problems_of(call.contract.parameters, json.loads(call.arguments))
    return refusal(call.name, call.contract.parameters, problems) if problems else ""


def _changed(call: Call, arguments: Mapping[str, Any]) -> Call | Block:
    try:
        changed = attrs.evolve(call, arguments=canonical_json(dict(arguments)))
        problem = _problem(changed)
    except (TypeError, ValueError) as error:
        problem = str(error)
    if problem:
        return Block(f"the host's before-tool hook changed the arguments, and they do not fit: {problem}")
    return changed


def _blocked(order: EvaluatePolicy, block: Block) -> PolicyBlocked:
    return PolicyBlocked(
        at=STAMPED,
        call_id=order.call_id,
        epoch=order.epoch,
        attempt=order.attempt,
        rule=BEFORE_TOOL,
        reason=block.reason,
        dangerous=block.dangerous,
    )


def _told(said: Block | Change | None) -> str:
    match said:
        case Block(reason=reason):
            return f"blocked: {reason}"
        case Change(arguments=arguments):
            return f"changed the arguments {', '.join(sorted(map(str, arguments)))}"
        case _:
            return "nothing"
