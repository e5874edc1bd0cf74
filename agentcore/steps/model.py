"""Steps around a request: preparation, the stream's first byte, failures and their named loops, compaction.

A retry, a compaction after an overflow and a media downgrade return to the same step's request, each under its own
bound (D-13, D-34).
"""

from __future__ import annotations

from collections.abc import Mapping

from agentcore.events import (
    CompactionFailed,
    CompactionPurpose,
    CompletionAccepted,
    CompletionRefused,
    ContextCompacted,
    ModelFailed,
    ModelFailure,
    ModelReplied,
    ModelStopped,
    ModelStreamOpened,
    PreparationFailed,
    StepPrepared,
)
from agentcore.evolve import evolve
from agentcore.limits import allows, doubled
from agentcore.messages import AssistantMessage, ToolMessage, find_answer, step_of
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import (
    AwaitingModel,
    AwaitingRetry,
    Because,
    Compacting,
    Ending,
    Preparing,
    Request,
    State,
    Stopping,
    StopReason,
    Streaming,
    Window,
)
from agentcore.steps.base import consumed, counted, in_phase, why
from agentcore.steps.begin import order_compaction, request_model
from agentcore.steps.ending import add_evidence, end_turn, keep_interrupted
from agentcore.steps.sendable import sendable
from agentcore.steps.verdicts import Ignored, Refused, stale

Answer = (
    StepPrepared
    | PreparationFailed
    | ModelStreamOpened
    | ModelReplied
    | ModelFailed
    | ModelStopped
    | ContextCompacted
    | CompactionFailed
    | CompletionAccepted
    | CompletionRefused
)
"""Everything that answers an order about a step."""


def misdirected(state: State, event: Answer, attempt: int) -> Refused | None:
    """Check the whole key of an answer against the one that is awaited (G-3); ``None`` if it fits."""
    if event.request_id != state.request_id:
        step = step_of(event.request_id)
        known = step is not None and step < (state.turn.number, state.turn.step)
        code = RejectionCode.STALE_REQUEST if known else RejectionCode.FOREIGN_REQUEST
        return Refused(code, Blame.STALE if known else Blame.WORLD, event.request_id)
    given, wanted = (event.epoch, event.attempt), (state.epoch, attempt)
    if given > wanted or not attempt:
        return _never_ordered(event)
    return stale(RejectionCode.STALE_ATTEMPT, _number(event)) if given < wanted else None


def _number(event: Answer) -> str:
    return f"{event.request_id}#{event.epoch}.{event.attempt}"


def _never_ordered(event: Answer) -> Refused:
    """Refuse an answer to an order that was never given."""
    return Refused(RejectionCode.FOREIGN_ATTEMPT, Blame.WORLD, _number(event))


def answer_late(state: State, event: Answer) -> Ignored | Refused:
    """Judge an answer that nobody waits for: a repeated one is ignored if it agrees, everything else is refused."""
    if isinstance(event, ModelReplied):
        written = find_answer(state.history, event.request_id)
        if written is None and state.batch is not None and state.batch.request_id == event.request_id:
            written = state.batch.message
        if written is not None and (written.epoch, written.attempt) == (event.epoch, event.attempt):
            if repeats(written, event):
                return Ignored("repeats-what-was-answered")
            return stale(RejectionCode.ALREADY_ANSWERED, event.request_id)
    asked = getattr(state.turn, _COUNTERS[type(event)])
    if refused := misdirected(state, event, asked):
        return refused
    if isinstance(event, ModelStopped) and isinstance(state.phase, AwaitingModel | Streaming):
        return _never_ordered(event)
    known = _under_way(state) if isinstance(event, ModelStreamOpened) else None
    return known or stale(RejectionCode.ALREADY_ANSWERED, event.request_id)


def _under_way(state: State) -> Ignored | None:
    """Say that a first byte is nothing new, if its request is under way."""
    if isinstance(state.phase, Streaming):
        return Ignored("stream-already-open")
    if isinstance(state.phase, Stopping) and state.phase.request is not None:
        return Ignored("the-turn-is-stopping")
    return None


_COUNTERS: Mapping[type[Answer], str] = {
    StepPrepared: "preparations",
    PreparationFailed: "preparations",
    ModelStreamOpened: "requests",
    ModelReplied: "requests",
    ModelFailed: "requests",
    ModelStopped: "requests",
    ContextCompacted: "compactions",
    CompactionFailed: "compactions",
    CompletionAccepted: "reviews",
    CompletionRefused: "reviews",
}
"""Which counter of the turn minted the key that an answer names."""


def repeats(written: AssistantMessage, event: ModelReplied) -> bool:
    """Say whether a reply tells again what was taken from it: the same parts, less what was dropped or mended."""
    said = sendable(event.parts, event.request_id).parts
    return event.finish is written.finish and all(part in said for part in written.parts)


def prepare(state: State, event: StepPrepared) -> State | Refused:
    """Take the host's preparation; model settings change here, between steps, and nowhere inside one."""
    if refused := misdirected(state, event, state.turn.preparations):
        return refused
    phase = state.phase
    if not isinstance(phase, Preparing) or not phase.ordered:
        return stale(RejectionCode.ALREADY_ANSWERED, event.request_id)
    if event.settings is not None:
        state = evolve(state, config=evolve(state.config, settings=event.settings))
    return in_phase(state, evolve(phase, transition=why(Because.STEP_PREPARED), ordered=False, prepared=True))


def fail_preparation(state: State, event: PreparationFailed) -> State | Refused:
    """End the turn: without its preparation the step would not be the one the host wants."""
    if refused := misdirected(state, event, state.turn.preparations):
        return refused
    phase = state.phase
    if not isinstance(phase, Preparing) or not phase.ordered:
        return stale(RejectionCode.ALREADY_ANSWERED, event.request_id)
    ending = Ending(StopReason.MODEL_ERROR, message=event.reason, evidence=(("cause", "preparation-failed"),))
    return end_turn(state, ending)


def open_stream(state: State, event: ModelStreamOpened) -> State | Refused:
    """Note the first byte (R-077)."""
    if refused := misdirected(state, event, state.turn.requests):
        return refused
    assert isinstance(state.phase, AwaitingModel)
    return in_phase(state, Streaming(why(Because.STREAM_OPENED), state.phase.request))


def fail_model(state: State, event: ModelFailed) -> State | Refused:
    """Let a failed request lead to its named loop: retry, compaction, downgrade; or to the end."""
    if refused := misdirected(state, event, state.turn.requests):
        return refused
    state = consumed(state, event.usage)
    facts = (("status", event.status), ("code", event.code), ("message", event.message), ("attempt", event.attempt))
    match event.kind:
        case ModelFailure.RETRYABLE:
            return retry_model(state, event.retry_after_ms, event.message, facts)
        case ModelFailure.OVERFLOW:
            return _shrink(state, CompactionPurpose.OVERFLOW, event.message, facts)
        case ModelFailure.MEDIA_TOO_LARGE:
            return _shrink(state, CompactionPurpose.MEDIA, event.message, facts)
        case _:
            return model_error(state, event.message, facts)


Facts = tuple[tuple[str, object], ...]
"""Named facts for a transition."""


def retry_model(state: State, retry_after_ms: int | None, message: str, facts: Facts) -> State:
    """Wait for the next attempt, if one is left and the server does not ask for too long a wait (D-14)."""
    limits, used = state.config.limits, state.turn.counters.model_retries
    too_long = retry_after_ms is not None and retry_after_ms > limits.retry_after_cap_ms
    if too_long or not allows(limits.model_retries, used):
        return model_error(state, message, (*facts, ("retries", used)))
    own_ms = doubled(limits.retry_base_ms, used, limits.retry_cap_ms)
    delay_ms = own_ms if retry_after_ms is None else max(own_ms, retry_after_ms)
    limited = retry_after_ms is not None or ("code", "rate-limited") in facts or ("status", 429) in facts
    because = Because.RETRY_RATE_LIMITED if limited else Because.RETRY_TRANSPORT
    due_at, jitter = state.at + delay_ms, limits.retry_jitter_ms
    state = counted(state, model_retries=1)
    return in_phase(state, AwaitingRetry(why(because, *facts), state.request_id, due_at, jitter))


def _shrink(state: State, purpose: CompactionPurpose, message: str, facts: Facts) -> State:
    """Make the context smaller and ask again in the same step, within the turn's bound."""
    limits, used = state.config.limits, state.turn.counters
    if purpose is CompactionPurpose.OVERFLOW:
        fits, because = allows(limits.overflow_compactions, used.overflow_compactions), Because.CONTEXT_TOO_LARGE
        spent = counted(state, overflow_compactions=1)
    else:
        fits, because = allows(limits.media_downgrades, used.media_downgrades), Because.MEDIA_TOO_LARGE
        spent = counted(state, media_downgrades=1)
    if not fits:
        return model_error(state, message, facts)
    return order_compaction(spent, purpose, because, *facts, cause=message)


def model_error(state: State, message: str, facts: Facts) -> State:
    """End the turn with the model's last error."""
    ending = add_evidence(Ending(StopReason.MODEL_ERROR, message=message), *facts)
    return end_turn(state, ending)


_COMPACTED: Mapping[CompactionPurpose, Because] = {
    CompactionPurpose.THRESHOLD: Because.THRESHOLD_COMPACTED,
    CompactionPurpose.OVERFLOW: Because.OVERFLOW_COMPACTED,
    CompactionPurpose.MEDIA: Because.MEDIA_DOWNGRADED,
}


def compacted(state: State, event: ContextCompacted) -> State | Refused:
    """Move the window; one that is not smaller, or that parts calls from their results, has failed (G-8)."""
    if refused := misdirected(state, event, state.turn.compactions):
        return refused
    state = consumed(state, event.usage)
    assert isinstance(state.phase, Compacting)
    purpose = state.phase.purpose
    problem = _objection(state, event, purpose)
    if problem:
        return _not_compacted(state, state.phase, problem)
    window = _moved(state.window, event, purpose)
    state = evolve(state, window=window, turn=evolve(state.turn, context_tokens=event.tokens_after))
    sizes = (("tokens_before", event.tokens_before), ("tokens_after", event.tokens_after))
    return request_model(state, _COMPACTED[purpose], *sizes)


def _moved(window: Window, event: ContextCompacted, purpose: CompactionPurpose) -> Window:
    if purpose is CompactionPurpose.MEDIA:
        return evolve(window, media_to=max(window.media_to, event.covers_to))
    return evolve(window, start=event.covers_to, summary=event.summary)


def _objection(state: State, event: ContextCompacted, purpose: CompactionPurpose) -> str:
    """Say why a compaction is not taken, or nothing."""
    history, covers_to = state.history, event.covers_to
    if event.purpose is not purpose:
        return f"it answers for {event.purpose.value}, ordered was {purpose.value}"
    if event.tokens_after >= event.tokens_before:
        return f"it is not smaller: {event.tokens_before} tokens before, {event.tokens_after} after"
    if not state.window.start <= covers_to <= len(history):
        return f"position {covers_to} is outside of the window, {state.window.start} to {len(history)}"
    if covers_to < len(history) and isinstance(history[covers_to], ToolMessage):
        return f"position {covers_to} parts calls from their results"
    return ""


def fail_compaction(state: State, event: CompactionFailed) -> State | Refused:
    """Go on without it after a threshold; end the turn where the request cannot be sent as it is."""
    if refused := misdirected(state, event, state.turn.compactions):
        return refused
    state = consumed(state, event.usage)
    assert isinstance(state.phase, Compacting)
    return _not_compacted(state, state.phase, event.reason)


def _not_compacted(state: State, phase: Compacting, reason: str) -> State:
    """Go on after a threshold; after an overflow the turn ends with the provider's error, not with ours."""
    if phase.purpose is CompactionPurpose.THRESHOLD:
        return request_model(state, Because.COMPACTION_SKIPPED, ("reason", reason))
    facts = (("cause", f"compaction-failed: {phase.purpose.value}"), ("reason", reason))
    return model_error(state, phase.cause, facts)


def reply_while_stopping(state: State, event: ModelReplied) -> State | Ignored | Refused:
    """End the request: usage counts, text is kept as interrupted, calls are dropped."""
    message = AssistantMessage(
        event.request_id,
        event.epoch,
        event.attempt,
        event.parts,
        event.finish,
        model=event.model,
        metadata=event.metadata,
    )
    return _end_request(state, event, message)


def stop_model(state: State, event: ModelStopped) -> State | Ignored | Refused:
    """Take the confirmation that a cancelled request has ended, with what it had said."""
    message = AssistantMessage(event.request_id, event.epoch, event.attempt, event.parts)
    return _end_request(state, event, message)


def fail_while_stopping(state: State, event: ModelFailed) -> State | Ignored | Refused:
    """End the request; its failure changes nothing any more."""
    return _end_request(state, event, None)


def _end_request(
    state: State, event: ModelReplied | ModelStopped | ModelFailed, message: AssistantMessage | None
) -> State | Ignored | Refused:
    phase = state.phase
    if not isinstance(phase, Stopping) or not isinstance(phase.request, Request):
        return answer_late(state, event)
    if misdirected(state, event, phase.request.attempt):
        return answer_late(state, event)
    state = consumed(state, event.usage)
    dropped = len(message.calls) if message is not None else 0
    if message is not None:
        state = keep_interrupted(state, message)
    ending = add_evidence(phase.ending, ("discarded_calls", dropped or ""))
    return in_phase(state, evolve(phase, ending=ending, request=None))
