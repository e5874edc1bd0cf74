"""Judging a reply: what the model wants comes from the content, never from the label (R-086)."""

from __future__ import annotations

import attrs

from agentcore.events import ModelReplied
from agentcore.evolve import evolve
from agentcore.limits import allows
from agentcore.messages import (
    ArgumentsState,
    AssistantMessage,
    FinishReason,
    InvalidCall,
    InvalidReason,
    ParsedArguments,
    ReasoningPart,
    ToolCallPart,
    clean_text,
    parse_arguments,
)
from agentcore.policy import ToolContract
from agentcore.states import (
    Batch,
    Because,
    Call,
    Ending,
    Proposed,
    RunningTools,
    Settled,
    State,
    StopReason,
    Tries,
)
from agentcore.steps.base import consumed, in_phase, recounted, want_checkpoint, why
from agentcore.steps.decide import complete, go_on, owed
from agentcore.steps.ending import end_turn, keep_interrupted
from agentcore.steps.model import answer_late, misdirected
from agentcore.steps.sendable import Sendable, says_something, sendable
from agentcore.steps.verdicts import Ignored, Refused


def judge_reply(state: State, event: ModelReplied) -> State | Ignored | Refused:
    """Take a complete message: propose its calls, or let its text lead towards the end."""
    if misdirected(state, event, state.turn.requests):
        return answer_late(state, event)
    state = want_checkpoint(consumed(state, event.usage))
    usage = event.usage
    if usage.input_tokens is not None:
        context = usage.input_tokens + (usage.output_tokens or 0)
        state = evolve(state, turn=evolve(state.turn, context_tokens=context))
    mended = sendable(event.parts, state.request_id)
    message = AssistantMessage(
        event.request_id,
        event.epoch,
        event.attempt,
        mended.parts,
        event.finish,
        model=event.model,
        metadata=event.metadata,
    )
    if event.finish is FinishReason.CONTENT_FILTER or (message.calls and event.finish is FinishReason.REFUSAL):
        return _withheld(state, message)
    if message.calls:
        return propose_calls(state, message, mended)
    if says_something(message):
        state = evolve(state, history=state.history.append(message))
    if event.finish is FinishReason.LENGTH:
        return cut_short(state)
    return judge_text(state, message)


def _withheld(state: State, message: AssistantMessage) -> State:
    """End the turn for an answer that a filter or a refusal cut: nothing of it runs, its text stays as interrupted."""
    facts = (("code", message.finish.value), ("discarded_calls", str(len(message.calls))))
    state = keep_interrupted(state, message)
    said = f"the provider withheld the answer: {message.finish.value}"
    return end_turn(state, Ending(StopReason.MODEL_ERROR, message=said, evidence=facts))


def propose_calls(state: State, message: AssistantMessage, mended: Sendable) -> State:
    """Make a batch of the calls. A cut message runs none of them, even those that can be read (L12)."""
    parsed = tuple(parse_arguments(raw) for raw in mended.raw)
    cut = message.finish is FinishReason.LENGTH or any(item.state is ArgumentsState.INCOMPLETE for item in parsed)
    calls = tuple(
        _propose(state, part, Asked(f"{message.request_id}.{index}", mended.raw[index], parsed[index], cut=cut))
        for index, part in enumerate(message.calls)
    )
    if not cut:
        state = recounted(state, empty_replies=0, think_only=0, unknown_finishes=0, missing_completions=0)
    transition = why(
        Because.CALLS_PROPOSED,
        ("calls", len(calls)),
        ("finish", message.finish.value),
        ("dropped", ", ".join(mended.dropped)),
    )
    return in_phase(state, RunningTools(transition, Batch(message.request_id, message, calls, truncated=cut)))


@attrs.frozen
class Asked:
    """What is known of a call before it is looked at."""

    call_id: str
    """Minted here."""
    raw: str
    """What the model wrote as arguments."""
    parsed: ParsedArguments
    """What reading them showed."""
    cut: bool = False
    """Its message was cut."""


def _propose(state: State, part: ToolCallPart, asked: Asked) -> Call:
    """Build one call: proposed for review, or settled at once as invalid."""
    contract, parsed = state.config.tool(part.name), asked.parsed
    complete = parsed.state is ArgumentsState.COMPLETE
    call = Call(
        call_id=asked.call_id,
        provider_id=part.provider_id,
        name=part.name,
        raw_arguments=asked.raw,
        proposed=parsed.text if complete else "",
        arguments=parsed.text if complete else "",
        contract=contract or ToolContract(part.name or "unnamed"),
        state=Proposed(why(Because.CALL_PROPOSED, ("tool", part.name))),
        tries=Tries(reviews=1),
    )
    if asked.cut:
        incomplete = parsed.state is ArgumentsState.INCOMPLETE
        where = f" {parsed.text}. You wrote: {preview(asked.raw)}" if incomplete else ""
        return _invalid(call, InvalidReason.TRUNCATED, where, Because.MESSAGE_TRUNCATED)
    if contract is None:
        names = ", ".join(tool.name for tool in state.config.tools) or "none"
        problem = f"there is no tool {part.name!r}. Available tools: {names}"
        return _invalid(call, InvalidReason.TOOL_NOT_FOUND, problem, Because.TOOL_NOT_FOUND)
    if not complete:
        problem = f"{parsed.text}. You wrote: {preview(asked.raw)}"
        return _invalid(call, InvalidReason.ARGUMENTS_MALFORMED, problem, Because.ARGUMENTS_MALFORMED)
    return call


PREVIEW = 800
"""Characters of wrong arguments that a model is shown again."""


def preview(text: str) -> str:
    """Return a text, or its beginning and its length."""
    text = clean_text(text)
    return text if len(text) <= PREVIEW else f"{text[:PREVIEW]} … ({len(text)} characters)"


def _invalid(call: Call, reason: InvalidReason, problem: str, because: Because) -> Call:
    return evolve(call, state=Settled(why(because, ("problem", problem)), InvalidCall(reason, problem)))


def cut_short(state: State) -> State:
    """Ask again after an answer that the output limit cut, within the bound of re-issues (D-15)."""
    used = state.turn.counters.truncation_reissues
    if not allows(state.config.limits.truncation_reissues, used):
        return end_turn(state, Ending(StopReason.TRUNCATED, evidence=(("reissues", str(used)),)))
    text = "Your answer was cut off by the output limit. Say it again, shorter or in parts."
    return go_on(state, Because.TRUNCATION_REISSUED, "truncation_reissues", text)


def judge_text(state: State, message: AssistantMessage) -> State:
    """Sort an answer without calls: what is owed, then nothing, only thinking, an unstated end, an answer."""
    if (onward := owed(state)) is not None:
        return onward
    if not says_something(message):
        return _said_nothing(state, message)
    limits, used = state.config.limits, state.turn.counters
    warning = "the model announced tool calls and made none" if message.finish is FinishReason.TOOL_CALLS else ""
    if message.finish in (FinishReason.UNKNOWN, FinishReason.PAUSE):
        if allows(limits.unknown_finishes, used.unknown_finishes):
            text = "It is unclear whether you were done. Go on, or say that you are."
            return go_on(state, Because.UNKNOWN_FINISH_NUDGED, "unknown_finishes", text)
        if not message.text.strip():
            return end_turn(state, Ending(StopReason.MODEL_ERROR, message="the model never stated an end"))
        warning = "the model did not state an end"
    return complete(state, Ending(StopReason.FINAL_ANSWER, warning=warning))


def _said_nothing(state: State, message: AssistantMessage) -> State:
    """Nudge a model that only thought, or said nothing at all, within the bound of each (R-092)."""
    limits, used = state.config.limits, state.turn.counters
    if message.text.strip() or any(isinstance(part, ReasoningPart) for part in message.parts):
        if allows(limits.think_only, used.think_only):
            return go_on(state, Because.THINK_ONLY_NUDGED, "think_only", "You only thought. Answer, or call a tool.")
    elif allows(limits.empty_replies, used.empty_replies):
        return go_on(
            state, Because.EMPTY_REPLY_NUDGED, "empty_replies", "Your reply was empty. Answer, or call a tool."
        )
    return end_turn(state, Ending(StopReason.NO_ANSWER))
