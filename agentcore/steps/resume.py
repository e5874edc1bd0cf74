"""Resuming: one function that turns what may have been under way into what is proved.

The old process is dead; what it did last is not known. So a model request becomes its next attempt, a started effect
becomes unknown, a
checkpoint in flight is asked for anew, and every due time moves by the dead time. The calls follow by rows of their
own machine.
"""

from __future__ import annotations

from agentcore.events import Inspector, SessionResumed, Suspect
from agentcore.evolve import evolve
from agentcore.limits import allows
from agentcore.messages import find_result, step_of
from agentcore.policy import ToolContract
from agentcore.states import (
    RUNNING,
    AwaitingModel,
    AwaitingRetry,
    Because,
    Call,
    Compacting,
    EffectUnknown,
    Ending,
    Inquiry,
    Preparing,
    ReviewingCompletion,
    Run,
    RunningTools,
    State,
    Stopping,
    StopReason,
    Streaming,
    Transition,
    Tries,
)
from agentcore.steps.base import counted, find_call, in_phase, in_turn, want_checkpoint, why
from agentcore.steps.begin import request_model
from agentcore.steps.decide import finish
from agentcore.steps.ending import add_evidence, stop_turn


def resume(state: State, event: SessionResumed) -> State:
    """Take the session up again under the host's configuration; legal in every state.

    A step still sees the time of the event before in ``state.at``, so the difference is the dead time.
    """
    dead_ms = max(0, event.at - state.at)
    state = _above(state, event)
    state = evolve(_shifted(state, dead_ms), config=event.config, epoch=state.epoch + 1, at=state.at + dead_ms)
    state = evolve(state, storage=evolve(state.storage, in_flight=None, retry_at=None))
    transition = why(
        Because.SESSION_RESUMED,
        ("epoch", state.epoch),
        ("last_seq", event.recovery.last_seq or ""),
        ("damage", event.recovery.damage),
        ("gap_accepted_by", event.recovery.gap_accepted_by),
    )
    under_way = _under_way(state)
    if under_way:
        state = counted(state, resumes=1)
    for suspect in event.recovery.suspects:
        state = _suspected(state, suspect)
    limit = state.config.limits.resumes
    beyond = under_way and not allows(limit, state.turn.counters.resumes - 1)
    if isinstance(state.phase, Stopping):
        return _resume_stopping(state, state.phase, transition, beyond=beyond)
    if beyond:
        ending = Ending(StopReason.RESUMES, evidence=(("resumes", str(state.turn.counters.resumes)),))
        state = stop_turn(state, ending)
        assert isinstance(state.phase, Stopping)
        return in_phase(state, evolve(state.phase, request=None, quiet=True))
    return _resume_phase(state, transition)


def _above(state: State, event: SessionResumed) -> State:
    """Raise what mints ids and keys above all that lost history may have used: no id and no key comes twice."""
    recovery = event.recovery
    named = [step_of(suspect.call_id.rpartition(".")[0]) for suspect in recovery.suspects]
    used = [(recovery.last_turn, recovery.last_step), *(step for step in named if step is not None)]
    lost = max((step for number, step in used if number == state.turn.number), default=0)
    step = max(state.turn.step, lost)
    if lost == step and state.batch is None:
        # What this step asked for, and the calls it led to, may be lost: it is asked for again under an id of its own.
        step += 1
    return evolve(
        state,
        epoch=max(state.epoch, recovery.last_epoch),
        turns=max(state.turns, *(number for number, _ in used)),
        turn=evolve(state.turn, step=step),
    )


def _under_way(state: State) -> bool:
    """Say whether a request or an execution was under way: only then does a resume count against its bound."""
    phase = state.phase
    if isinstance(phase, AwaitingModel | Streaming):
        return True
    if isinstance(phase, Stopping) and phase.request is not None:
        return True
    return state.batch is not None and any(_runs(call) for call in state.batch.calls)


def _runs(call: Call) -> bool:
    """Say whether an execution is under way; an unknown one whose attempt has ended only waits to be looked into."""
    if isinstance(call.state, EffectUnknown):
        return call.state.live
    return isinstance(call.state, RUNNING)


def _resume_stopping(state: State, phase: Stopping, transition: Transition, *, beyond: bool) -> State:
    """Resume a stop: its request ended with its process; past the bound it becomes quiet, whatever its reason."""
    ending = phase.ending
    if beyond:
        ending = add_evidence(ending, ("resumes", state.turn.counters.resumes))
    quiet = phase.quiet or beyond
    phase = evolve(phase, transition=transition, ending=ending, request=None, quiet=quiet)
    return in_phase(state, phase)


def _resume_phase(state: State, transition: Transition) -> State:
    """Order anew what the phase was waiting for."""
    phase, turn = state.phase, state.turn
    match phase:
        case AwaitingModel() | Streaming():
            return request_model(state, Because.SESSION_RESUMED, *transition.evidence)
        case Preparing(prepared=False) if not state.config.prepares_steps:
            phase = evolve(phase, ordered=False, prepared=True)
        case Preparing(ordered=True):
            state = in_turn(state, evolve(turn, preparations=turn.preparations + 1))
        case Compacting():
            state = in_turn(state, evolve(turn, compactions=turn.compactions + 1))
        case ReviewingCompletion(awaits_tasks=False) if not state.config.reviews_completion:
            return finish(state, phase.ending, Because.ANSWER_GIVEN)
        case ReviewingCompletion(awaits_tasks=False):
            state = in_turn(state, evolve(turn, reviews=turn.reviews + 1))
    if isinstance(phase, Preparing | Compacting | AwaitingRetry | ReviewingCompletion):
        # Lost history may have used up the step's id: what is ordered anew is ordered under the present one.
        return in_phase(state, evolve(phase, transition=transition, request_id=state.request_id))
    if isinstance(phase, RunningTools):
        return in_phase(state, evolve(phase, transition=transition))
    return state


def _shifted(state: State, dead_ms: int) -> State:
    """Move every due time by the time in which nobody was alive to keep it (D-27)."""
    if dead_ms == 0:
        return state
    turn = state.turn
    if turn.due_at is not None:
        state = in_turn(state, evolve(turn, due_at=turn.due_at + dead_ms))
    register = tuple(_shifted_call(call, dead_ms) for call in state.register)
    state = evolve(state, register=register)
    phase = state.phase
    if isinstance(phase, AwaitingRetry):
        return in_phase(state, evolve(phase, due_at=phase.due_at + dead_ms))
    if isinstance(phase, RunningTools | Stopping) and phase.batch is not None:
        calls = tuple(_shifted_call(call, dead_ms) for call in phase.batch.calls)
        return in_phase(state, evolve(phase, batch=evolve(phase.batch, calls=calls)))
    return state


def _shifted_call(call: Call, dead_ms: int) -> Call:
    question, unknown = call.question, call.state
    if question is not None and question.due_at is not None:
        call = evolve(call, question=evolve(question, due_at=question.due_at + dead_ms))
    if isinstance(unknown, EffectUnknown) and unknown.inquiry.resume_at is not None:
        inquiry = evolve(unknown.inquiry, resume_at=unknown.inquiry.resume_at + dead_ms)
        call = evolve(call, state=evolve(unknown, inquiry=inquiry))
    return call


def _suspected(state: State, suspect: Suspect) -> State:
    """Put a call that lost history shows as started into the register, unless the state knows of it."""
    if find_call(state, suspect.call_id) is not None or find_result(state.history, suspect.call_id) is not None:
        return state
    name = suspect.name or "unknown"
    run = Run(state.epoch, 1, state.seq, state.at, covered_at=state.at, resumed=True)
    transition = why(Because.GAP_SUSPECTED, ("asked", Inspector.PERSON.value))
    call = Call(
        call_id=suspect.call_id,
        provider_id="",
        name=name,
        raw_arguments=suspect.arguments,
        proposed=suspect.arguments,
        arguments=suspect.arguments,
        contract=state.config.tool(name) or ToolContract(name),
        state=EffectUnknown(transition, run, Inquiry(Inspector.PERSON, 1, ordered_at=state.at)),
        tries=Tries(executions=1, inspections=1),
        registered=True,
    )
    return want_checkpoint(evolve(state, register=(*state.register, call)))
