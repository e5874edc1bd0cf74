"""The way out of a turn: one function ends it, one saves the end, one lets a stopped turn go.

The order of the reasons is D-28: abort, fault, then what the step says. Whatever was under way is ended, confirmed
or given up first;
every declared call gets its result before the turn is over.
"""

from __future__ import annotations

from agentcore.evolve import evolve
from agentcore.messages import AssistantMessage, DeniedCall, TextPart, ToolMessage
from agentcore.states import (
    END_OF,
    AwaitingModel,
    Batch,
    Because,
    Ending,
    Evidence,
    Request,
    RunningTools,
    Saving,
    Settled,
    State,
    Stopping,
    StopReason,
    Streaming,
)
from agentcore.steps.base import all_settled, in_phase, want_checkpoint, why
from agentcore.steps.results import result_of


def end_turn(state: State, ending: Ending, *, request: Request | None = None, batch: Batch | None = None) -> State:
    """End the turn for a reason; with work under way by way of ``Stopping``, else at once."""
    if request is None and batch is None:
        return save_end(state, ending)
    transition = why(Because.STOP_ENTERED, ("reason", ending.reason), *ending.evidence)
    if request is not None:
        request = evolve(request, due_at=state.at + state.config.limits.grace_ms)
    return in_phase(state, Stopping(transition, ending, request=request, batch=batch))


def stop_turn(state: State, ending: Ending) -> State:
    """End the turn from whatever it is doing: a request in flight and a running batch are taken along."""
    phase = state.phase
    request = phase.request if isinstance(phase, AwaitingModel | Streaming) else None
    batch = phase.batch if isinstance(phase, RunningTools) else None
    return end_turn(state, ending, request=request, batch=batch)


def save_end(state: State, ending: Ending, because: Because = Because.WORK_STOPPED) -> State:
    """Enter ``Saving``: the end stands when a checkpoint covers this event."""
    transition = why(because, ("reason", ending.reason), *ending.evidence)
    return want_checkpoint(in_phase(state, Saving(transition, ending, state.seq)))


def add_evidence(ending: Ending, *evidence: tuple[str, object]) -> Ending:
    """Keep a later reason beside the first one."""
    facts: Evidence = tuple((name, str(value)) for name, value in evidence if value not in ("", None))
    return evolve(ending, evidence=(*ending.evidence, *facts))


def write_results(state: State) -> State:
    """Write the model's message and all results into history, in one transition and in source order (R-134)."""
    batch = state.batch
    if batch is None:
        return state
    results = tuple(result_of(call, call.state) for call in batch.calls if isinstance(call.state, Settled))
    return evolve(state, history=state.history.append(batch.message, ToolMessage(batch.request_id, results)))


def keep_interrupted(state: State, message: AssistantMessage) -> State:
    """Keep the text of a reply that came while stopping; its calls are dropped."""
    parts = tuple(part for part in message.parts if isinstance(part, TextPart) and part.text.strip())
    if not parts:
        return state
    kept = evolve(message, parts=parts, interrupted=True)
    return evolve(state, history=state.history.append(kept))


def finish_stopping(state: State) -> State | None:
    """Let a stopped turn go when nothing of it is unsettled: write the results and save the end."""
    phase = state.phase
    if not isinstance(phase, Stopping) or phase.request is not None or not all_settled(state):
        return None
    return save_end(write_results(state), phase.ending)


def end_saved(state: State) -> State | None:
    """Enter the end once a checkpoint covers it."""
    phase = state.phase
    if not isinstance(phase, Saving) or state.storage.durable < phase.seq:
        return None
    return enter_end(state, phase, Because.END_SAVED)


def enter_end(state: State, phase: Saving, because: Because, *, unsaved: bool = False) -> State:
    """Enter the end that a reason leads to."""
    transition = why(because, ("reason", phase.ending.reason), *phase.ending.evidence)
    end = END_OF[phase.ending.reason](transition, phase.ending, phase.seq, unsaved)
    return in_phase(state, end)


def denied_ending(outcome: DeniedCall, call_id: str) -> Ending:
    """Build the ending for a refused permission; rule and reason are kept, also when a rule ended the turn."""
    return Ending(
        StopReason.PERMISSION_DENIED,
        rule=outcome.rule,
        message=outcome.reason,
        evidence=(("call", call_id), ("case", outcome.case.value)),
    )
