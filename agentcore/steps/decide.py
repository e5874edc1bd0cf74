"""Deciding whether a turn goes on, in the order of D-28.

Every *go on* first asks the limits. ``after_results`` stands behind a batch, ``after_answer`` behind an answer
without calls; both lead to
``go_on`` (one more step), ``complete`` (towards the end) or ``end_turn`` (the end for another reason).
"""

from __future__ import annotations

from agentcore.events import CompletionAccepted, CompletionRefused
from agentcore.evolve import evolve
from agentcore.limits import allows
from agentcore.messages import (
    DenialCase,
    DeniedCall,
    FailedCall,
    InvalidCall,
    InvalidReason,
    MessageSource,
    NotExecuted,
    NotExecutedReason,
    Outcome,
    Succeeded,
    canonical_json,
    digest,
    is_error,
)
from agentcore.policy import Consequence, Policy
from agentcore.states import (
    Because,
    Call,
    Ending,
    ReviewingCompletion,
    RunningTools,
    Settled,
    State,
    StopReason,
)
from agentcore.steps.base import all_settled, counted, in_phase, in_turn, recounted, want_checkpoint, why
from agentcore.steps.begin import begin_step, nudged
from agentcore.steps.ending import add_evidence, denied_ending, end_turn, save_end, stop_turn, write_results
from agentcore.steps.model import answer_late, misdirected
from agentcore.steps.results import describe
from agentcore.steps.verdicts import Ignored, Refused

_REPAIRS = (InvalidReason.ARGUMENTS_MALFORMED, InvalidReason.ARGUMENTS_REFUSED)
_LOOPS = ("argument_repairs", "unknown_tools", "failing_rounds", "identical_calls")


def go_on(state: State, because: Because, bound: str = "", nudge: str = "") -> State:
    """Begin one more step of the turn, unless its host wanted it to end at this boundary (D-29)."""
    if state.turn.stop_after_step:
        return save_end(state, Ending(StopReason.STOPPED_BY_HOST, evidence=(("cause", because.value),)))
    if bound:
        state = counted(state, **{bound: 1})
    if nudge:
        state = nudged(state, nudge)
    return begin_step(state, because)


def stop_for_outcome(state: State) -> State | None:
    """End the turn if a settled call demands it: a denial, a fatal error, a child that blocks (D-1, D-2)."""
    phase = state.phase
    assert isinstance(phase, RunningTools)
    for call in phase.batch.calls:
        ending = _demanded(state, call)
        if ending is not None:
            return end_turn(state, ending, batch=phase.batch)
    return None


def _demanded(state: State, call: Call) -> Ending | None:
    """Return the ending that an outcome asks for, if it does."""
    if not isinstance(call.state, Settled):
        return None
    outcome, policy = call.state.outcome, state.config.policy
    blocks = call.contract.on_failure == "block" and _blocks(outcome)
    if isinstance(outcome, DeniedCall):
        consequence = _denied(policy, outcome.case)
        stops = consequence == "stop_turn" or blocks or _last_straw(state, call)
        return denied_ending(outcome, call.call_id) if stops else None
    if isinstance(outcome, FailedCall):
        consequence = policy.fatal_error if outcome.fatal else policy.recoverable_error
        return tool_error(call, outcome.error) if consequence == "stop_turn" or blocks else None
    return tool_error(call, describe(outcome)) if blocks else None


def _denied(policy: Policy, case: DenialCase) -> Consequence:
    """Return what the policy says about one of the five cases of D-1."""
    match case:
        case DenialCase.STATIC:
            return policy.denied_static
        case DenialCase.REFUSED:
            return policy.denied_refused
        case DenialCase.FEEDBACK:
            return policy.denied_feedback
        case DenialCase.DANGEROUS:
            return policy.denied_dangerous
        case _:
            return policy.denied_unanswered


def _last_straw(state: State, call: Call) -> bool:
    """Say whether this is the denial that went beyond the bound: the batch's last one."""
    limit, batch = state.config.limits.denials, state.batch
    if limit is None or batch is None or state.turn.counters.denials <= limit:
        return False
    denied = [
        other
        for other in batch.calls
        if isinstance(other.state, Settled) and isinstance(other.state.outcome, DeniedCall)
    ]
    return denied[-1] is call


def _blocks(outcome: Outcome) -> bool:
    """Say whether an end without success blocks: a call that was never fit to run, or had no room left, does not."""
    if isinstance(outcome, NotExecuted):
        return outcome.reason is not NotExecutedReason.MAX_TOOL_CALLS
    return is_error(outcome) and not isinstance(outcome, InvalidCall)


def tool_error(call: Call, error: str) -> Ending:
    """Build the ending for a call whose failure ends the turn."""
    return Ending(StopReason.TOOL_ERROR, message=f"{call.name}: {error}", evidence=(("call", call.call_id),))


def close_batch(state: State) -> State | None:
    """Write the results of a batch whose calls are all settled, and decide what comes next."""
    phase = state.phase
    if not isinstance(phase, RunningTools) or not all_settled(state):
        return None
    calls, truncated = phase.batch.calls, phase.batch.truncated
    return after_results(want_checkpoint(write_results(state)), calls, truncated=truncated)


def after_results(state: State, calls: tuple[Call, ...], *, truncated: bool) -> State:
    """Decide after a batch: errors go on; completion and a unanimous hint end; everything else goes on."""
    outcomes = tuple(call.state.outcome for call in calls if isinstance(call.state, Settled))
    if truncated:
        used = state.turn.counters.truncation_reissues
        if not allows(state.config.limits.truncation_reissues, used):
            return end_turn(state, Ending(StopReason.TRUNCATED, evidence=(("reissues", str(used)),)))
        return go_on(state, Because.TRUNCATION_REISSUED, "truncation_reissues")
    state = _count_round(recounted(state, truncation_reissues=0), calls, outcomes)
    if any(isinstance(item, NotExecuted) and item.reason is NotExecutedReason.MAX_TOOL_CALLS for item in outcomes):
        return end_turn(
            state, Ending(StopReason.MAX_TOOL_CALLS, evidence=(("cause", Because.TOOL_CALLS_USED_UP.value),))
        )
    if not any(is_error(outcome) for outcome in outcomes):
        if any(call.contract.completes for call in calls):
            return complete(state, Ending(StopReason.FINAL_ANSWER, evidence=(("completed_by", "tool"),)))
        hinted = all(isinstance(outcome, Succeeded) and outcome.terminate for outcome in outcomes)
        if hinted and not state.config.policy.completion_required:
            return complete(state, Ending(StopReason.TERMINATED), reviewed=True)
    tripped = _tripped(state)
    if tripped:
        return end_turn(state, Ending(StopReason.LOOP_LIMIT, loop=tripped))
    return go_on(state, _cause(outcomes))


def _cause(outcomes: tuple[Outcome, ...]) -> Because:
    """Name the loop-back after what has to be mended, if anything has."""
    reasons = {outcome.reason for outcome in outcomes if isinstance(outcome, InvalidCall)}
    if reasons & set(_REPAIRS):
        return Because.ARGUMENTS_REPAIRED
    return Because.UNKNOWN_TOOL_REPORTED if InvalidReason.TOOL_NOT_FOUND in reasons else Because.RESULTS_APPENDED


def _count_round(state: State, calls: tuple[Call, ...], outcomes: tuple[Outcome, ...]) -> State:
    """Count what has happened in a row, and know a round again by names, arguments and results (G-7)."""
    used = state.turn.counters
    invalid = [outcome.reason for outcome in outcomes if isinstance(outcome, InvalidCall)]
    facts = [
        [call.name, call.arguments, describe(call.state.outcome)] for call in calls if isinstance(call.state, Settled)
    ]
    round_ = digest(canonical_json(facts))
    state = recounted(
        state,
        argument_repairs=used.argument_repairs + 1 if any(reason in _REPAIRS for reason in invalid) else 0,
        unknown_tools=used.unknown_tools + 1 if InvalidReason.TOOL_NOT_FOUND in invalid else 0,
        failing_rounds=used.failing_rounds + 1 if all(is_error(outcome) for outcome in outcomes) else 0,
        identical_calls=used.identical_calls + 1 if round_ == state.turn.round else 0,
        completion_refusals=used.completion_refusals if all(is_error(outcome) for outcome in outcomes) else 0,
    )
    return in_turn(state, evolve(state.turn, round=round_))


def _tripped(state: State) -> str:
    """Return the first bound on rounds in a row that is exceeded; bounds count extra tries."""
    limits, used = state.config.limits, state.turn.counters
    for name in _LOOPS:
        limit = getattr(limits, name)
        if limit is not None and getattr(used, name) > limit:
            return name
    return ""


def owed(state: State) -> State | None:
    """Go on because something comes before any end: notices and steering, then an explicit completion (D-28)."""
    limits, used = state.config.limits, state.turn.counters
    if pending(state):
        return go_on(state, _heard(state))
    if not state.config.policy.completion_required:
        return None
    if not allows(limits.missing_completions, used.missing_completions):
        return end_turn(state, Ending(StopReason.LOOP_LIMIT, loop="missing_completions"))
    names = ", ".join(tool.name for tool in state.config.tools if tool.completes)
    text = f"Nothing is finished until you call {names}. Call it, or go on working."
    return go_on(state, Because.COMPLETION_MISSING, "missing_completions", text)


def pending(state: State) -> bool:
    """Say whether something waits to be told to the model in this turn."""
    return bool(state.queues.notices or state.queues.steering)


def _heard(state: State) -> Because:
    return Because.STEERING_DELIVERED if state.queues.steering else Because.NOTICES_DELIVERED


def hear_queues(state: State) -> State | None:
    """Go on when something was said while a completion waits for tasks or a review: the end is not decided yet."""
    if not isinstance(state.phase, ReviewingCompletion) or not pending(state):
        return None
    return go_on(state, _heard(state))


def complete(state: State, ending: Ending, *, reviewed: bool = False) -> State:
    """Lead an answer to its end: required tasks, then the host's review, then saving."""
    review = state.config.reviews_completion and not reviewed and not state.turn.stop_after_step
    if required_tasks(state) and not state.turn.stop_after_step:
        phase = ReviewingCompletion(why(Because.TASKS_AWAITED), state.request_id, ending, awaits_tasks=True)
        return in_phase(state, phase)
    if review:
        state = in_turn(state, evolve(state.turn, reviews=state.turn.reviews + 1))
        return in_phase(state, ReviewingCompletion(why(Because.REVIEW_ORDERED), state.request_id, ending))
    return finish(state, ending, Because.ANSWER_GIVEN)


def finish(state: State, ending: Ending, because: Because) -> State:
    """Save an answer's end; a host that wanted the turn to stop after its step gets its own reason (D-29)."""
    if state.turn.stop_after_step:
        ending = Ending(StopReason.STOPPED_BY_HOST, evidence=(("cause", ending.reason.value),))
    return save_end(state, ending, because)


def required_tasks(state: State) -> tuple[Call, ...]:
    """Return the unsettled background tasks of this turn that its end has to wait for (R-165)."""
    return tuple(
        call
        for call in state.register
        if call.contract.required and _is_task_of(state, call) and not isinstance(call.state, Settled)
    )


def tasks_settled(state: State) -> State | None:
    """Come nearer to the end when the required tasks have settled; what they had to tell was told before."""
    phase = state.phase
    if not isinstance(phase, ReviewingCompletion) or not phase.awaits_tasks or required_tasks(state):
        return None
    return complete(state, phase.ending)


def blocked_by_task(state: State) -> State | None:
    """End the turn if a background task of it failed whose contract says that this blocks (R-166)."""
    for call in state.register:
        settled = call.state
        blocking = call.contract.on_failure == "block" and _is_task_of(state, call)
        if blocking and isinstance(settled, Settled) and _blocks(settled.outcome):
            return stop_turn(state, tool_error(call, describe(settled.outcome)))
    return None


def _is_task_of(state: State, call: Call) -> bool:
    return call.contract.detached and call.call_id.startswith(f"{state.turn.number}.")


def accept_completion(state: State, event: CompletionAccepted) -> State | Ignored | Refused:
    """Let the turn end with its answer."""
    if refused := _not_reviewed(state, event):
        return refused
    assert isinstance(state.phase, ReviewingCompletion)
    ending = evolve(state.phase.ending, warning=event.warning or state.phase.ending.warning)
    return finish(state, ending, Because.COMPLETION_ACCEPTED)


def refuse_completion(state: State, event: CompletionRefused) -> State | Ignored | Refused:
    """Go on with the review's feedback, a bounded number of times; then override it with a warning (D-22)."""
    if refused := _not_reviewed(state, event):
        return refused
    assert isinstance(state.phase, ReviewingCompletion)
    ending = state.phase.ending
    if not allows(state.config.limits.completion_refusals, state.turn.counters.completion_refusals):
        warned = evolve(ending, warning=f"the completion review objected: {event.feedback}")
        return finish(state, add_evidence(warned, ("feedback", event.feedback)), Because.COMPLETION_OVERRIDDEN)
    state = nudged(state, event.feedback, MessageSource.FEEDBACK)
    return go_on(state, Because.COMPLETION_REFUSED, "completion_refusals")


def _not_reviewed(state: State, event: CompletionAccepted | CompletionRefused) -> Ignored | Refused | None:
    if isinstance(state.phase, ReviewingCompletion) and state.phase.awaits_tasks:
        return answer_late(state, event)
    return misdirected(state, event, state.turn.reviews)
