"""What the model reads about a call: true sentences derived from the outcome, never the other way round."""

from __future__ import annotations

from collections.abc import Mapping

from agentcore.messages import (
    CancelledCall,
    DeniedCall,
    EffectSeen,
    FailedCall,
    InvalidCall,
    InvalidReason,
    NotExecuted,
    NotExecutedReason,
    Outcome,
    ProvedBy,
    Succeeded,
    ToolResult,
)
from agentcore.states import Call, Settled

_INVALID: Mapping[InvalidReason, str] = {
    InvalidReason.TOOL_NOT_FOUND: "TOOL_NOT_FOUND: {problem}",
    InvalidReason.ARGUMENTS_MALFORMED: "TOOL_INPUT_INVALID: the arguments are not usable JSON: {problem}",
    InvalidReason.ARGUMENTS_REFUSED: "TOOL_INPUT_INVALID: {problem}",
    InvalidReason.TRUNCATED: (
        "Not executed: your message was cut off by the output limit, so none of its calls ran. "
        "Ask again with shorter arguments, or in several steps.{problem}"
    ),
}
_NOT_EXECUTED: Mapping[NotExecutedReason, str] = {
    NotExecutedReason.USER_ABORT: "Not executed: the user stopped it before it started.",
    NotExecutedReason.TURN_STOPPED: "Not executed: the turn was stopped before it started.",
    NotExecutedReason.MAX_TOOL_CALLS: "Not executed: the limit of tool calls for this turn is reached.",
    NotExecutedReason.STORAGE: "Not executed: the session could not be saved, so nothing new was started.",
    NotExecutedReason.PROVED_ABSENT: "Not executed: an inspection proved that the effect did not happen.",
    NotExecutedReason.PERSON_SAYS: "Not executed: a person says that the effect did not happen.",
    NotExecutedReason.TOOL_GONE: "Not executed again: the tool is no longer available.",
    NotExecutedReason.PERMISSION_GONE: "Not executed again: it is no longer allowed.",
}
_CANCELLED: Mapping[EffectSeen, str] = {
    EffectSeen.NONE: "Stopped after it had started; it had no effect.",
    EffectSeen.DONE: "Stopped after it had started; its effect did happen.",
    EffectSeen.UNPROVED: "Stopped after it had started; its effect may have happened. Check before doing it again.",
}


NOBODY = "nobody"
"""Who gives up where no person can be asked."""


def describe(outcome: Outcome) -> str:
    """Say in words what became of a call."""
    match outcome:
        case Succeeded(result="", proved_by=witness) if witness is not ProvedBy.ATTEMPT:
            return "It happened, as was found out afterwards; nothing more is known of its result."
        case Succeeded(result=result):
            return result
        case FailedCall(error=error):
            return f"Error: {error}"
        case InvalidCall(reason=reason, problem=problem):
            return _INVALID[reason].format_map({"problem": problem})
        case DeniedCall(reason=reason, rule=rule):
            by = f" by rule {rule}" if rule else ""
            because = f": {reason}" if reason else "."
            return f"Denied{by}{because}"
        case NotExecuted(reason=why_not, evidence=evidence, retryable=retryable):
            proof = f" Evidence: {evidence}." if evidence else ""
            again = " Asking for it again is safe." if retryable and evidence else ""
            return _NOT_EXECUTED[why_not] + proof + again
        case CancelledCall(effect=effect):
            return _CANCELLED[effect]
        case _:
            who = "there was nobody to ask" if outcome.by == NOBODY else f"{outcome.by} gave up finding out"
            return f"Unknown: the effect may have happened; {who}. Check before doing it again."


def result_of(call: Call, settled: Settled) -> ToolResult:
    """Return the one answer to a settled call as it stands in history."""
    run = settled.run
    return ToolResult(
        call_id=call.call_id,
        provider_id=call.provider_id,
        name=call.name,
        content=describe(settled.outcome),
        outcome=settled.outcome,
        arguments=call.arguments if run is not None else "",
        epoch=run.epoch if run is not None else 0,
        attempt=run.attempt if run is not None else 0,
    )


def describe_late(call: Call, outcome: Outcome) -> str:
    """Say what became of an effect that had been left behind."""
    return f"Notice about {call.name} (call {call.call_id}): {describe(outcome)}"
