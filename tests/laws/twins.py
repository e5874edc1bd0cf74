"""Broken twins: for each law a core in which one row or one function is wrong, and where that is seen.

A twin is as close to the true core as can be: what is replaced does nearly the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import attrs
from attrs import evolve

from agentcore import events
from agentcore.codec import CODEC
from agentcore.commands import StartTimer
from agentcore.messages import FailedCall, FinishReason, History, ToolMessage
from agentcore.outstanding import outstanding
from agentcore.policy import Effect
from agentcore.projections import UiStatus, ui_status
from agentcore.reduce import Reduction, make_reduce, reduce
from agentcore.rejections import RejectionCode
from agentcore.states import (
    CALL_STATES,
    ENDS,
    PHASES,
    AwaitingApproval,
    AwaitingModel,
    AwaitingRetry,
    Because,
    Completed,
    EffectUnknown,
    Executing,
    Idle,
    Proposed,
    Ready,
    Released,
    RunningTools,
    Settled,
    State,
    Stopping,
)
from agentcore.steps import base, batch, decide, ending, model, queues, reply, resume
from agentcore.steps.calls import inquiry, moves, runs, stops
from agentcore.steps.verdicts import Advance, Ignored, StopEntered, TimePassed, stale
from agentcore.table import TABLES, Kind, Row, Tables
from agentcore.testing.core import Core


def twin(
    step: Callable[..., Any] | None, *places: tuple[type, type], instead_of: Callable[..., Any] | None = None
) -> Core:
    """Return a core in which the rows of some places have another step, or are gone where there is none."""

    def changed(row: Row) -> tuple[Row, ...]:
        if (row.source, row.event) not in places or (instead_of is not None and row.step is not instead_of):
            return (row,)
        anywhere = (*PHASES, *CALL_STATES)
        kind = Kind.STEP if row.kind is Kind.GUARD else row.kind
        return (evolve(row, step=step, to=anywhere, kind=kind),) if step is not None else ()

    tables = (tuple(new for row in table for new in changed(row)) for table in (TABLES.turn, TABLES.call))
    reducer = make_reduce(Tables(*tables))
    assert reducer.tables != TABLES
    return Core(examine=reducer.examine)


def _never_the_same() -> Core:
    count = itertools.count()

    def lost(state, call, event):
        return runs.lost(state, call, evolve(event, cause=f"lost {next(count)}"))

    return twin(lost, (Executing, events.ToolLost))


def _starts_again(state, call, event):
    run = evolve(call.run, handle=event.handle)
    return evolve(call, state=evolve(call.state, run=run, transition=base.why(Because.TOOL_STARTED)))


def _forgets_timers(state, event):
    judged = reduce.examine(state, event)
    commands = tuple(command for command in judged.reduction.commands if not isinstance(command, StartTimer))
    return evolve(judged, reduction=Reduction(judged.reduction.state, commands))


def _waits_after_the_end(state):
    late = StartTimer(f"turn/{state.turn.number}", state.epoch, 1, 0)
    return (*outstanding(state), late) if isinstance(state.phase, ENDS) else outstanding(state)


def _starts_at_once(state, call, event):
    released = stops.release(state, call, event)
    run = getattr(released.state, "run", None)
    if not isinstance(released.state, Released):
        return released
    return evolve(released, state=Executing(base.why(Because.RELEASED), run))


def _believes_at_once(state, call, event):
    if event.finding is events.Finding.NOT_EXECUTED:
        return moves.conclude_absent(state, call, call.state, "nothing found", retry_safe=True)
    return inquiry.inspected(state, call, event)


def _stays_released(state, call, event):
    return Ignored("not-started")


def _fails_after_all(state, call, event):
    return moves.settle(call, FailedCall(event.error), Because.TOOL_FAILED)


def _asks_nobody(state, call, event):
    return evolve(call, state=Ready(base.why(Because.POLICY_ALLOWED)), digest=event.digest, reviewed_in=state.epoch)


def _loses_results(state):
    after = decide.close_batch(state)
    if after is None:
        return None
    kept = tuple(message for message in after.history if not isinstance(message, ToolMessage))
    return evolve(after, history=History().append(*kept))


def _takes_cut_calls(state, event):
    after = reply.judge_reply(state, evolve(event, finish=FinishReason.TOOL_CALLS))
    if not isinstance(after, State) or after.batch is None:
        return after
    message = evolve(after.batch.message, finish=event.finish)
    return evolve(after, phase=evolve(after.phase, batch=evolve(after.batch, message=message)))


def _takes_any_attempt(state, call, event):
    epoch, attempt = call.run.id
    return runs.succeed(state, call, evolve(event, epoch=epoch, attempt=attempt))


def _drops_steering(state, event):
    after = queues.queue_steering(state, event)
    return evolve(after, queues=state.queues) if isinstance(after, State) else after


def _retries_for_ever(state, event):
    after = model.fail_model(state, event)
    return base.recounted(after, model_retries=0) if isinstance(after, State) else after


def _counts_twice(state, event):
    after = model.fail_model(state, event)
    return base.consumed(after, event.usage) if isinstance(after, State) else after


def _never_due(state, event):
    return Ignored("nobody-waits")


class _Forgetful:
    """A codec that reads a state without what it has reached."""

    def __getattr__(self, name):
        return getattr(CODEC, name)

    def decode_state(self, data):
        state = CODEC.decode_state(data)
        return evolve(state, storage=evolve(state.storage, durable=0))


def _forgets_history(state, event):
    return evolve(resume.resume(state, event), history=History())


def _ignores_the_abort(state, call, event):
    return Ignored("not-now")


def _comforts(state):
    return UiStatus.DONE if isinstance(state.phase, Completed) else ui_status(state).ui


def _runs_again_unasked(state, call, event):
    return evolve(call, state=Ready(base.why(Because.EFFECT_RETRIED)))


FENCEABLE = Effect.FENCEABLE.value


def _goes_on(state, event):
    after = reply.judge_reply(state, event)
    if not isinstance(after, State) or after.batch is None:
        return after
    return evolve(after, batch=evolve(after.batch, message=evolve(after.batch.message, parts=event.parts)))


def _drops_the_request(state):
    phase = state.phase
    if not isinstance(phase, Stopping) or not ending.all_settled(state):
        return None
    return ending.save_end(ending.write_results(state), phase.ending)


def _says_stale(state, call, event):
    return stale(RejectionCode.STALE_ATTEMPT, f"{call.call_id}#{event.epoch}.{event.attempt}")


def _says_nothing(*_):
    return Ignored("not-now")


TWINS: dict[str, tuple[Core, str]] = {
    "L1": (_never_the_same(), f"{FENCEABLE}+crash"),
    "L2": (twin(_starts_again, (Executing, events.ToolStarted)), f"{FENCEABLE}+start+progress"),
    "L3": (Core(examine=_forgets_timers), f"{FENCEABLE}+crash"),
    "L4": (Core(outstanding=_waits_after_the_end), f"{FENCEABLE}+crash"),
    "L5": (twin(None, (EffectUnknown, events.InspectionRequested)), f"{FENCEABLE}+crash"),
    "L6": (twin(_starts_at_once, (Ready, Advance)), f"{FENCEABLE}+crash"),
    "L7": (twin(_believes_at_once, (EffectUnknown, events.EffectInspected)), f"{Effect.INSPECTABLE.value}+crash"),
    "L8": (
        twin(_stays_released, (Released, events.AbortRequested), (Released, StopEntered)),
        f"{FENCEABLE}+writes+steering+abort",
    ),
    "L9": (twin(_fails_after_all, (Settled, events.ToolFailed)), f"{FENCEABLE}+writes+reads+approval"),
    "L10": (twin(_asks_nobody, (Proposed, events.PolicyAsked)), f"{FENCEABLE}+writes+approval+steering"),
    "L11": (twin(_loses_results, (RunningTools, Advance), instead_of=decide.close_batch), f"{FENCEABLE}+crash"),
    "L12": (twin(_takes_cut_calls, (AwaitingModel, events.ModelReplied)), f"{FENCEABLE}+writes+steering+truncation"),
    "L13": (twin(_takes_any_attempt, (Executing, events.ToolSucceeded)), f"{FENCEABLE}+crash"),
    "L14": (
        twin(_drops_steering, *((phase, events.SteeringQueued) for phase in PHASES)),
        f"{FENCEABLE}+writes+steering+abort",
    ),
    "L15": (twin(_retries_for_ever, (AwaitingModel, events.ModelFailed)), f"{FENCEABLE}+writes+steering+model-failure"),
    "L16": (twin(_counts_twice, (AwaitingModel, events.ModelFailed)), f"{FENCEABLE}+writes+steering+model-failure"),
    "L17": (twin(_never_due, (AwaitingRetry, events.TimerFired)), f"{FENCEABLE}+writes+steering+model-failure"),
    "L18": (Core(codec=_Forgetful()), f"{FENCEABLE}+crash"),
    "L19": (twin(_forgets_history, (RunningTools, events.SessionResumed)), f"{FENCEABLE}+retry+person"),
    "L20": (twin(_ignores_the_abort, (Executing, events.AbortRequested)), f"{FENCEABLE}+abort-call+inquiry"),
    "L21": (Core(status=_comforts), f"{FENCEABLE}+retry+person"),
    "L22": (twin(_runs_again_unasked, (Executing, events.ToolLost)), f"{FENCEABLE}+retry+person"),
}
"""For each law a twin, and the shipped exploration in which it is caught."""

MORE: dict[str, tuple[str, Core, str]] = {
    "a message goes on behind its call": ("L11", twin(_goes_on, (AwaitingModel, events.ModelReplied)), "unsendable"),
    "an aborted request is dropped": (
        "L20",
        twin(_drops_the_request, (Stopping, Advance), instead_of=ending.finish_stopping),
        f"{FENCEABLE}+writes+steering+abort",
    ),
}
"""More ways to break a law: what each twin does, the law, the core, and the exploration."""

ALONE: dict[str, tuple[str, Core, str]] = {
    "a decision is refused as stale that was taken": (
        "L2",
        twin(_says_stale, (Executing, events.PolicyAllowed)),
        f"{FENCEABLE}+crash",
    ),
    "a prompt in the wrong place is ignored": (
        "L2",
        twin(_says_nothing, *((phase, events.PromptSubmitted) for phase in PHASES if phase is not Idle)),
        f"{FENCEABLE}+crash",
    ),
    "a loss that contradicts an answer is ignored": (
        "L13",
        twin(_says_nothing, (Settled, events.ToolLost)),
        f"{FENCEABLE}+crash",
    ),
    "steering waits with what follows": (
        "L14",
        twin(queues.queue_follow_up, *((phase, events.SteeringQueued) for phase in PHASES)),
        f"{FENCEABLE}+writes+steering+abort",
    ),
    "a question outlives a resume": (
        "L10",
        twin(None, (AwaitingApproval, events.SessionResumed)),
        f"{FENCEABLE}+writes+crash+approval",
    ),
    "a refused permission stops nothing": (
        "L8",
        twin(None, (RunningTools, Advance), instead_of=decide.stop_for_outcome),
        "strict",
    ),
    "time is looked at behind an event only": (
        "L15",
        twin(None, *((phase, TimePassed) for phase in PHASES)),
        "retry-timed",
    ),
    "a ready call is never released": (
        "L17",
        twin(None, (RunningTools, Advance), instead_of=batch.release_next),
        f"{FENCEABLE}+crash",
    ),
    "an unknown effect is settled as one that never began": (
        "L22",
        twin(stops.stop_unstarted, (EffectUnknown, events.AbortRequested), (EffectUnknown, StopEntered)),
        f"{FENCEABLE}+abort+inquiry",
    ),
}
"""Twins that one law notices and no other: what each does, the law, the core, and the exploration."""

assert attrs.has(Row)
