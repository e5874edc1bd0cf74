"""Judging a reply: what the model wants comes from the content, never from the label (R-086)."""

from __future__ import annotations

from attrs import evolve

from agentcore.events import ModelReplied
from agentcore.limits import allows
from agentcore.messages import (
    ArgumentsState,
    AssistantMessage,
    AssistantPart,
    FinishReason,
    InvalidCall,
    InvalidReason,
    MediaPart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
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
from agentcore.steps.ending import end_turn
from agentcore.steps.model import misdirected
from agentcore.steps.verdicts import Refused


def judge_reply(state: State, event: ModelReplied) -> State | Refused:
    """Take a complete message: propose its calls, or let its text lead towards the end."""
    if refused := misdirected(state, event, state.turn.requests):
        return refused
    state = want_checkpoint(consumed(state, event.usage))
    usage = event.usage
    if usage.input_tokens is not None:
        context = usage.input_tokens + (usage.output_tokens or 0)
        state = evolve(state, turn=evolve(state.turn, context_tokens=context))
    parts, dropped = _without_doubles(event.parts, state.request_id)
    message = AssistantMessage(
        event.request_id, event.epoch, event.attempt, parts, event.finish, model=event.model, metadata=event.metadata
    )
    if event.finish is FinishReason.CONTENT_FILTER:
        return _filtered(state, message)
    if message.calls:
        return propose_calls(state, message, dropped)
    state = evolve(state, history=state.history.append(message)) if parts else state
    if event.finish is FinishReason.LENGTH:
        return cut_short(state)
    return judge_text(state, message)


def _without_doubles(
    parts: tuple[AssistantPart, ...], request_id: str
) -> tuple[tuple[AssistantPart, ...], tuple[str, ...]]:
    """Drop the second call of one provider id (G-2), and give a call without one an id of ours."""
    kept: list[AssistantPart] = []
    dropped: list[str] = []
    seen: set[str] = set()
    index = 0
    for part in parts:
        if not isinstance(part, ToolCallPart) or part.provider_executed:
            kept.append(part)
            continue
        named = part if part.provider_id else evolve(part, provider_id=f"call-{request_id}.{index}")
        index += 1
        if named.provider_id in seen:
            dropped.append(named.provider_id)
        else:
            seen.add(named.provider_id)
            kept.append(named)
    return tuple(kept), tuple(dropped)


def _filtered(state: State, message: AssistantMessage) -> State:
    """A content filter cut the answer: nothing of it runs, what text there is stays as interrupted."""
    text = tuple(part for part in message.parts if isinstance(part, TextPart) and part.text)
    if text:
        state = evolve(state, history=state.history.append(evolve(message, parts=text, interrupted=True)))
    ending = Ending(
        StopReason.MODEL_ERROR,
        message="the provider's content filter stopped the answer",
        evidence=(("code", "content-filter"),),
    )
    return end_turn(state, ending)


def propose_calls(state: State, message: AssistantMessage, dropped: tuple[str, ...]) -> State:
    """Make a batch of the calls. A cut message runs none of them, even those that can be read (L12)."""
    parsed = [parse_arguments(part.arguments) for part in message.calls]
    cut = message.finish is FinishReason.LENGTH or any(item.state is ArgumentsState.INCOMPLETE for item in parsed)
    calls = tuple(
        _propose(state, part, f"{message.request_id}.{index}", cut=cut) for index, part in enumerate(message.calls)
    )
    state = recounted(state, empty_replies=0, think_only=0, unknown_finishes=0, missing_completions=0)
    transition = why(
        Because.CALLS_PROPOSED,
        ("calls", len(calls)),
        ("finish", message.finish.value),
        ("truncated", "yes" if cut else ""),
        ("dropped", ", ".join(dropped)),
    )
    return in_phase(state, RunningTools(transition, Batch(message.request_id, message, calls, truncated=cut)))


def _propose(state: State, part: ToolCallPart, call_id: str, *, cut: bool) -> Call:
    """Build one call: proposed for review, or settled at once as invalid."""
    contract = state.config.tool(part.name)
    parsed = parse_arguments(part.arguments)
    complete = parsed.state is ArgumentsState.COMPLETE
    call = Call(
        call_id=call_id,
        provider_id=part.provider_id,
        name=part.name,
        raw_arguments=part.arguments,
        proposed=parsed.text if complete else "",
        arguments=parsed.text if complete else "",
        contract=contract or ToolContract(part.name or "unnamed"),
        state=Proposed(why(Because.CALL_PROPOSED, ("tool", part.name))),
        tries=Tries(reviews=1),
    )
    if cut:
        return _invalid(call, InvalidReason.TRUNCATED, "the message was cut", Because.MESSAGE_TRUNCATED)
    if contract is None:
        names = ", ".join(tool.name for tool in state.config.tools) or "none"
        problem = f"there is no tool {part.name!r}. Available tools: {names}"
        return _invalid(call, InvalidReason.TOOL_NOT_FOUND, problem, Because.TOOL_NOT_FOUND)
    if not complete:
        return _invalid(call, InvalidReason.ARGUMENTS_MALFORMED, parsed.text, Because.ARGUMENTS_MALFORMED)
    return call


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
    state = recounted(state, truncation_reissues=0)
    if (onward := owed(state)) is not None:
        return onward
    if not _says_something(message):
        return _said_nothing(state, message)
    limits, used = state.config.limits, state.turn.counters
    warning = ""
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


def _says_something(message: AssistantMessage) -> bool:
    """Say whether there is anything for the user: text, media, or something only the provider understands."""
    lasting = any(isinstance(part, MediaPart | OpaquePart | ToolCallPart) for part in message.parts)
    return lasting or bool(without_thinking(message.text))


_THINKING = (("<think>", "</think>"), ("<thinking>", "</thinking>"))


def without_thinking(text: str) -> str:
    """Take thinking that stands in the text, and closing tags that some models leave behind, out of it (R-092)."""
    for opening, closing in _THINKING:
        kept = []
        while (start := text.find(opening)) >= 0 and (end := text.find(closing, start)) >= 0:
            kept.append(text[:start])
            text = text[end + len(closing) :]
        text = "".join((*kept, text)).replace(closing, "")
    return text.strip()
