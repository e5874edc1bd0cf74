"""Finding out: inspections, their pauses, a person's word, and the one way to a retry.

"Check status" comes before "retry" (R-156). The tool says found or not found; what is conclusive is decided here: a
fenceable effect's inspection voids the attempt; an inspectable one's counts only if it was ordered after the attempt
could no longer act.
"""

from __future__ import annotations

from agentcore.events import (
    EffectInspected,
    EffectResolved,
    Finding,
    InspectionRequested,
    Inspector,
    Resolution,
    RetryRequested,
    TimerFired,
)
from agentcore.evolve import evolve
from agentcore.limits import allows, doubled
from agentcore.messages import (
    Abandoned,
    CancelledCall,
    EffectSeen,
    FailedCall,
    NotExecuted,
    NotExecutedReason,
    ProvedBy,
    Succeeded,
    is_open,
)
from agentcore.policy import Effect
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import (
    Because,
    Call,
    CancellationRequested,
    EffectUnknown,
    Executing,
    Inquiry,
    Settled,
    State,
)
from agentcore.steps.base import quiet, stopping, why
from agentcore.steps.calls.moves import (
    Facts,
    ask,
    bring_back,
    conclude_absent,
    inspector_for,
    may_run_again,
    order_cancel,
    run_again,
    settle,
    settle_absent,
    settle_denying,
    suspect,
    suspect_running,
)
from agentcore.steps.verdicts import Advance, Ignored, Refused, stale


def inspected(state: State, call: Call, event: EffectInspected) -> Call | Refused:
    """Take what an inspection found."""
    unknown = call.state
    if not isinstance(unknown, EffectUnknown):
        return stale(RejectionCode.NOT_UNKNOWN, call.call_id)
    if refused := _misdirected(state, call, unknown, event):
        return refused
    person = unknown.inquiry.by is Inspector.PERSON
    by = ProvedBy.PERSON if person else ProvedBy.INSPECTION
    facts: Facts = (("by", event.by), ("question", event.question), ("evidence", event.evidence))
    match event.finding:
        case Finding.EXECUTED:
            outcome = Succeeded(event.result, timed_out=True, proved_by=by)
            return settle(call, outcome, Because.INSPECTED_EXECUTED, *facts)
        case Finding.FAILED:
            failed = FailedCall(event.result, "inspected", timed_out=True, proved_by=by)
            return settle_denying(state, call, failed, Because.INSPECTED_FAILED, *facts)
        case Finding.NOT_EXECUTED if _conclusive(call, unknown, event):
            proof = event.evidence or f"{event.by} found nothing"
            return conclude_absent(state, call, unknown, proof, retry_safe=event.retry_safe)
        case Finding.STILL_RUNNING:
            return _look_again(state, call, unknown, event, because=Because.INSPECTED_RUNNING, facts=facts)
        case _:
            return _look_again(state, call, unknown, event, because=Because.INSPECTION_INCONCLUSIVE, facts=facts)


def _misdirected(state: State, call: Call, unknown: EffectUnknown, event: EffectInspected) -> Refused | None:
    wanted, given = (state.epoch, unknown.inquiry.attempt), (event.epoch, event.attempt)
    if given == wanted and unknown.looking:
        return None
    name = f"{call.call_id}#{event.epoch}.{event.attempt}"
    if given > wanted:
        return Refused(RejectionCode.FOREIGN_ATTEMPT, Blame.WORLD, name)
    return stale(RejectionCode.STALE_ATTEMPT, name)


def _conclusive(call: Call, unknown: EffectUnknown, event: EffectInspected) -> bool:
    """Decide whether "not found" proves absence: by construction, by time, or by a person's word."""
    if unknown.inquiry.by is Inspector.PERSON or call.contract.effect is Effect.FENCEABLE:
        return event.conclusive
    return unknown.inquiry.ordered_at >= _settles_at(call, unknown)


def _look_again(
    state: State, call: Call, unknown: EffectUnknown, event: EffectInspected, *, because: Because, facts: Facts
) -> Call:
    """Stay unknown: look again after a growing delay, then ask a person; one who cannot say gives it up in the end."""
    run = unknown.run
    if event.result:
        run = evolve(run, observation=event.result)
    if unknown.rechecked and event.finding is not Finding.STILL_RUNNING:
        # Looking again brought nothing: the proof that was there before still stands.
        return evolve(call, state=evolve(unknown, transition=why(because, *facts), rechecked=False))
    person = unknown.inquiry.by is Inspector.PERSON
    used = call.tries.asks_used if person else call.tries.inspections_used - 1
    if person and not allows(state.config.limits.inspections, used):
        return settle(call, Abandoned(event.by), Because.GIVEN_UP, *facts)
    if person:
        call = evolve(call, tries=evolve(call.tries, asks_used=used + 1))
    cancel = unknown.cancel
    if event.finding is Finding.STILL_RUNNING and stopping(state, call) and cancel is None and not quiet(state):
        call, cancel = order_cancel(state, call)
    if not person and inspector_for(state, call) is Inspector.PERSON:
        call, inquiry = ask(state, call)
        transition = why(Because.PERSON_ASKED, ("inspections", call.tries.inspections_used), *facts)
    else:
        limits = state.config.limits
        delay_ms = doubled(limits.inspect_base_ms, max(used, 0), limits.inspect_cap_ms)
        resume_at = max(state.at + delay_ms, _settles_at(call, unknown))
        inquiry = Inquiry(unknown.inquiry.by, unknown.inquiry.attempt, resume_at)
        transition = why(because, ("again_at", resume_at), *facts)
    later = evolve(unknown, transition=transition, run=run, inquiry=inquiry, cancel=cancel)
    if unknown.proved_absent is None:
        return evolve(call, state=later)
    return unproved(evolve(call, state=later))


def unproved(call: Call) -> Call:
    """Take back a proof of absence that something has contradicted."""
    unknown = call.state
    assert isinstance(unknown, EffectUnknown)
    voided = tuple(run for run in call.voided if run.id != unknown.run.id)
    return evolve(call, voided=voided, state=evolve(unknown, proved_absent=None, rechecked=False))


def _settles_at(call: Call, unknown: EffectUnknown) -> int:
    """Return when an inspectable attempt can no longer act: looking sooner proves nothing."""
    within_ms, covered_at = call.contract.acts_within_ms, unknown.run.covered_at
    assert covered_at is not None
    return covered_at if within_ms is None else covered_at + within_ms


def request_inspection(state: State, call: Call, _event: InspectionRequested) -> Call | Ignored | Refused:
    """Look now because somebody asks for it; the inspection in flight becomes stale, the bound stays untouched.

    While the very inspection that is asked for is under way, there is nothing to order.

    A task that still runs in the background can be looked into as well: its execution stays ordered meanwhile.
    """
    present = call.state
    program = call.contract.programs_inspect and state.config.tool(call.name) is not None and not call.unproved
    by = Inspector.PROGRAM if program else Inspector.PERSON
    if isinstance(present, EffectUnknown) and present.looking and present.inquiry.by is by:
        return Ignored("already-being-inspected")
    number = call.tries.inspections + 1
    inquiry = Inquiry(by, number, ordered_at=state.at)
    asked = evolve(call, tries=evolve(call.tries, inspections=number))
    transition = why(Because.INSPECTION_REQUESTED, ("asked", by.value))
    if isinstance(present, EffectUnknown):
        proved = present.proved_absent is not None
        return evolve(asked, state=evolve(present, transition=transition, inquiry=inquiry, rechecked=proved))
    if call.registered and isinstance(present, Executing):
        return evolve(asked, state=EffectUnknown(transition, present.run, inquiry, live=True))
    if call.registered and isinstance(present, CancellationRequested):
        return evolve(asked, state=EffectUnknown(transition, present.run, inquiry, live=True, cancel=present.cancel))
    if is_entry(call) and isinstance(present, Settled) and present.run is not None:
        return evolve(asked, state=EffectUnknown(transition, present.run, inquiry))
    return _not_unknown(call)


def is_entry(call: Call) -> bool:
    """Say whether this is a register entry of which it is not known what became."""
    return call.registered and not (isinstance(call.state, Settled) and not is_open(call.state.outcome))


def _not_unknown(call: Call) -> Refused:
    advice = "Its outcome is not open."
    return Refused(RejectionCode.NOT_UNKNOWN, Blame.HOST, call.call_id, advice)


def refuse_inspection(_state: State, call: Call, _event: InspectionRequested) -> Refused:
    """Refuse to inspect what is not unknown."""
    return _not_unknown(call)


def request_retry(state: State, call: Call, _event: RetryRequested) -> Call | Refused:
    """Run again on request: legal only after the absence was proved, within the bound (R-158, R-243)."""
    unknown = call.state
    assert isinstance(unknown, EffectUnknown)
    if unknown.proved_absent is None:
        by = unknown.inquiry.by.value
        advice = f"Inspect first: inspect-effect {call.call_id} by {by}."
        return Refused(RejectionCode.EFFECT_NOT_PROVED_ABSENT, Blame.HOST, call.call_id, advice)
    if not may_run_again(state, call):
        advice = "Its retries are used up, or its turn is stopping."
        return Refused(RejectionCode.RETRY_NOT_POSSIBLE, Blame.HOST, call.call_id, advice)
    return run_again(state, call, Because.EFFECT_RETRIED, ("evidence", unknown.proved_absent))


def refuse_retry(_state: State, call: Call, _event: RetryRequested) -> Refused:
    """Refuse to run again what is running, waiting or settled."""
    if isinstance(call.state, Settled):
        return stale(RejectionCode.ALREADY_SETTLED, call.call_id, "Ask the model for a new call.")
    return Refused(RejectionCode.NOT_UNKNOWN, Blame.HOST, call.call_id, "It has not ended.")


def resolve(state: State, call: Call, event: EffectResolved) -> Call | Ignored | Refused:
    """Take a person's word; an inspection in flight becomes stale."""
    current = call.state
    if not isinstance(current, EffectUnknown) and not is_entry(call):
        if isinstance(current, Settled):
            return stale(RejectionCode.ALREADY_SETTLED, call.call_id)
        return _not_unknown(call)
    facts = (("by", event.by), ("says", event.resolution.value))
    match event.resolution:
        case Resolution.EXECUTED:
            outcome = Succeeded(event.result, timed_out=True, proved_by=ProvedBy.PERSON)
            return settle(call, outcome, Because.PERSON_RESOLVED, *facts)
        case Resolution.FAILED:
            failed = FailedCall(event.result, "person", timed_out=True, proved_by=ProvedBy.PERSON)
            return settle(call, failed, Because.PERSON_RESOLVED, *facts)
        case Resolution.NOT_EXECUTED:
            return _resolve_absent(state, call, event, facts)
        case _ if isinstance(current, Settled):
            return Ignored("already-given-up")
        case _:
            return settle(call, Abandoned(event.by), Because.PERSON_RESOLVED, *facts)


def _resolve_absent(state: State, call: Call, event: EffectResolved, facts: Facts) -> Call:
    """Take the word that nothing happened: every attempt of the call is voided by it."""
    assert call.run is not None
    voided = evolve(call, unproved=(), voided=(*call.voided, *call.unproved, call.run))
    if event.retry and isinstance(call.state, EffectUnknown) and not call.registered and not stopping(state, call):
        return bring_back(state, voided, Because.EFFECT_RETRIED, *facts)
    outcome = NotExecuted(NotExecutedReason.PERSON_SAYS, f"{event.by} says so")
    return settle(voided, outcome, Because.PERSON_RESOLVED, *facts)


def inquire(state: State, call: Call, event: TimerFired) -> Call:
    """Look again when the pause is over; stop waiting when the grace is; tell a task to stop at its deadline."""
    unknown = call.state
    assert isinstance(unknown, EffectUnknown)
    if event.timer_id.startswith("deadline/"):
        return suspect_running(state, call, unknown.run, Because.DEADLINE_PASSED, ("deadline", unknown.run.due_at))
    if event.timer_id.startswith("grace/"):
        transition = why(Because.GRACE_ENDED)
        return evolve(call, state=evolve(unknown, transition=transition, live=False, cancel=None))
    by = unknown.inquiry.by if unknown.inquiry.by is Inspector.PERSON else inspector_for(state, call)
    call, inquiry = ask(state, call, by=by)
    transition = why(Because.INSPECTION_DUE, ("asked", inquiry.by.value))
    return evolve(call, state=evolve(unknown, transition=transition, inquiry=inquiry))


def end_grace(state: State, call: Call, _event: TimerFired) -> Call:
    """Stop waiting for a confirmation: what cannot be proved is unknown, and looked into."""
    assert isinstance(call.state, CancellationRequested)
    if call.contract.pure:
        return settle(call, CancelledCall(EffectSeen.NONE), Because.GRACE_ENDED)
    return suspect(state, call, call.state.run, Because.GRACE_ENDED)


def report_absence(_state: State, call: Call, _event: Advance) -> Call:
    """Report a proved absence to the model when nothing else of the batch is waited for."""
    assert isinstance(call.state, EffectUnknown)
    assert call.state.proved_absent is not None
    return settle_absent(call, call.state.proved_absent)
