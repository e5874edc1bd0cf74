"""Results of an execution, own, late and contradictory.

The interleaving that matters: (1) an attempt is ordered; (2) its deadline passes or the process dies, the effect is
unknown; (3) the attempt reports after all. Its own success settles it. Once a newer attempt was started the report is
kept as evidence and shown, for it says that there may be two deeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from agentcore.events import (
    TaskSettled,
    TaskStarted,
    TimerFired,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.evolve import evolve
from agentcore.limits import allows
from agentcore.messages import (
    CancelledCall,
    EffectSeen,
    FailedCall,
    NotExecuted,
    NotExecutedReason,
    Outcome,
    ProvedBy,
    Succeeded,
    digest,
    is_open,
)
from agentcore.policy import Effect
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import (
    RUNNING,
    Because,
    Call,
    CancellationRequested,
    EffectUnknown,
    Executing,
    LateReport,
    Released,
    Run,
    Settled,
    State,
)
from agentcore.steps.base import stopping, why
from agentcore.steps.calls.moves import (
    Facts,
    lose,
    may_run_again,
    run_again_keyed,
    settle,
    settle_denying,
    suspect,
    suspect_running,
)
from agentcore.steps.results import describe
from agentcore.steps.verdicts import Ignored, Refused, stale

Report = (
    ToolStarted | ToolProgressed | ToolSucceeded | ToolFailed | ToolCancelled | ToolLost | TaskStarted | TaskSettled
)
"""Everything that speaks of an execution."""


class Relation(StrEnum):
    """How the attempt an event names relates to the call's present one."""

    OWN = "own"
    EARLIER = "earlier"
    VOIDED = "voided"
    STALE = "stale"
    FOREIGN = "foreign"


def relate(state: State, call: Call, event: Report) -> tuple[Relation, Run | None]:
    """Say which attempt of the call an event speaks of."""
    given, run = (event.epoch, event.attempt), call.run
    if run is not None and run.id == given and not isinstance(call.state, Released):
        return Relation.OWN, run
    for relation, runs in ((Relation.EARLIER, call.unproved), (Relation.VOIDED, call.voided)):
        for earlier in runs:
            if earlier.id == given:
                return relation, earlier
    known = given <= (state.epoch, call.tries.executions) and not (run is not None and run.id == given)
    return (Relation.STALE if known else Relation.FOREIGN), None


def _wrong_attempt(call: Call, event: Report, relation: Relation) -> Refused:
    name = f"{call.call_id}#{event.epoch}.{event.attempt}"
    if relation is Relation.FOREIGN:
        return Refused(RejectionCode.FOREIGN_ATTEMPT, Blame.WORLD, name)
    return stale(RejectionCode.STALE_ATTEMPT, name)


def _own_run(state: State, call: Call, event: Report) -> Run | Refused:
    """Return the present attempt if the event names it."""
    relation, run = relate(state, call, event)
    return run if relation is Relation.OWN and run is not None else _wrong_attempt(call, event, relation)


def _outcome(call: Call, event: ToolSucceeded | ToolFailed | ToolCancelled | TaskSettled, by: ProvedBy) -> Outcome:
    """Build the outcome an event reports, with all its evidence."""
    late = isinstance(call.state, EffectUnknown) or (isinstance(call.state, Settled) and is_open(call.state.outcome))
    match event:
        case ToolSucceeded():
            return Succeeded(
                event.result,
                event.summary,
                event.duration_ms,
                event.resource_version,
                event.artifacts,
                timed_out=late,
                proved_by=by,
                terminate=event.terminate,
            )
        case TaskSettled(succeeded=True):
            return Succeeded(event.result, artifacts=event.artifacts, timed_out=late, proved_by=by)
        case TaskSettled():
            return FailedCall(event.result, "task-failed", timed_out=late, proved_by=by)
        case ToolFailed():
            return FailedCall(event.error, event.kind, event.fatal, event.duration_ms, timed_out=late, proved_by=by)
        case _:
            return CancelledCall(event.effect)


_SETTLED_BY: Mapping[type[Report], Because] = {
    ToolSucceeded: Because.TOOL_SUCCEEDED,
    ToolFailed: Because.TOOL_FAILED,
    ToolCancelled: Because.TOOL_CANCELLED,
    TaskSettled: Because.TASK_SETTLED,
}


def start(state: State, call: Call, event: ToolStarted) -> Call | Ignored | Refused:
    """Note that the attempt began, and what an inspection can ask about."""
    run = _own_run(state, call, event)
    if isinstance(run, Refused):
        return run
    if run.started:
        repeated = event.handle == run.handle
        return Ignored("already-started") if repeated else stale(RejectionCode.ALREADY_STARTED, call.call_id)
    return _with_run(
        state, call, evolve(run, started=True, handle=event.handle), Because.TOOL_STARTED, ("handle", event.handle)
    )


def progress(state: State, call: Call, event: ToolProgressed) -> Call | Ignored | Refused:
    """Note what is newly known of the remote state, a bounded number of times."""
    run = _own_run(state, call, event)
    if isinstance(run, Refused):
        return run
    if event.observation == run.observation:
        return Ignored("nothing-new")
    if not allows(state.config.limits.observations, call.tries.observations_used):
        return Ignored("observations-used-up")
    call = evolve(call, tries=evolve(call.tries, observations_used=call.tries.observations_used + 1))
    observed = evolve(run, observation=event.observation)
    return _with_run(state, call, observed, Because.TOOL_PROGRESSED, ("observation", event.observation))


def _with_run(state: State, call: Call, run: Run, because: Because, *facts: tuple[str, object]) -> Call:
    """Change what is known of the running attempt, not where the call stands.

    A sign of life of an attempt that was proved absent contradicts the proof: it is looked into again.
    """
    present = call.state
    if isinstance(present, EffectUnknown) and present.proved_absent is not None:
        contradicted = (*facts, ("contradicts", present.proved_absent))
        return suspect(state, call, run, because, *contradicted)
    assert isinstance(present, Executing | CancellationRequested | EffectUnknown)
    return evolve(call, state=evolve(present, run=run, transition=why(because, *facts)))


def succeed(state: State, call: Call, event: ToolSucceeded | TaskSettled) -> Call | Ignored | Refused:
    """Settle by a success: the attempt's own, any of a keyed call, an earlier one's before a newer started."""
    relation, run = relate(state, call, event)
    if isinstance(event, TaskSettled):
        if not call.contract.detached:
            return Refused(RejectionCode.NOT_DETACHED, Blame.WORLD, call.call_id)
        if not event.succeeded:
            return _ended(state, call, event, (("result", event.result),))
    if run is None:
        return _wrong_attempt(call, event, relation)
    if relation is Relation.OWN:
        outcome = _outcome(call, event, ProvedBy.ATTEMPT)
        return settle(call, outcome, _SETTLED_BY[type(event)], ("contradicts", _contradicted(call, run)))
    return _earlier_success(call, event, run)


def _contradicted(call: Call, run: Run) -> str:
    """Say that an attempt which now reports a deed had been declared absent (D-8)."""
    return "it was declared absent" if run.id in (other.id for other in call.voided) else ""


def _earlier_success(call: Call, event: ToolSucceeded | TaskSettled, run: Run) -> Call | Ignored | Refused:
    name = f"{call.call_id}#{event.epoch}.{event.attempt}"
    newer_started = isinstance(call.state, RUNNING) and not isinstance(call.state, Released)
    if call.contract.effect is Effect.KEYED or not newer_started:
        outcome = _outcome(call, event, ProvedBy.EARLIER_ATTEMPT)
        contradicts = ("contradicts", _contradicted(call, run))
        return settle(call, outcome, Because.EARLIER_ATTEMPT_REPORTED, contradicts, run=run)
    if isinstance(call.state, EffectUnknown):
        return _report(call, call.state, LateReport(*run.id, event.result))
    return stale(RejectionCode.EARLIER_ATTEMPT_ACTED, name, "An earlier attempt acted too; there may be two deeds.")


def _report(call: Call, unknown: EffectUnknown, report: LateReport) -> Call | Ignored | Refused:
    """Keep what an earlier attempt says late, once an attempt, for whoever inspects."""
    told = next((kept for kept in unknown.reports if kept.run == report.run), None)
    if told is not None:
        name = f"{call.call_id}#{report.epoch}.{report.attempt}"
        return Ignored("already-reported") if told == report else stale(RejectionCode.ALREADY_ANSWERED, name)
    transition = why(Because.EARLIER_ATTEMPT_REPORTED, ("attempt", report.attempt), ("said", report.said))
    return evolve(call, state=evolve(unknown, transition=transition, reports=(*unknown.reports, report)))


def fail(state: State, call: Call, event: ToolFailed) -> Call | Ignored | Refused:
    """Settle by an error of the attempt, which claims that it has ended."""
    return _ended(state, call, event, (("kind", event.kind), ("error", event.error)))


def cancelled(state: State, call: Call, event: ToolCancelled) -> Call | Ignored | Refused:
    """Take a confirmed stop. One whose effect is unproved proves only that the attempt has ended."""
    if event.effect is not EffectSeen.UNPROVED:
        return _ended(state, call, event, (("effect", event.effect.value),))
    run = _own_run(state, call, event)
    if isinstance(run, Refused):
        return run
    if call.contract.pure:
        return settle(call, CancelledCall(EffectSeen.NONE), Because.TOOL_CANCELLED)
    if call.contract.effect is Effect.OPAQUE and stopping(state, call) and not call.unproved:
        return settle(call, CancelledCall(EffectSeen.UNPROVED), Because.CANCEL_UNPROVED)
    facts = (("effect", event.effect.value),)
    if isinstance(call.state, EffectUnknown):
        return _attempt_ended(state, call, call.state, Because.CANCEL_UNPROVED, facts)
    return lose(state, evolve(call, aborted=True), Because.CANCEL_UNPROVED, *facts)


def _ended(
    state: State, call: Call, event: ToolFailed | ToolCancelled | TaskSettled, facts: Facts
) -> Call | Ignored | Refused:
    """Settle by a proved end: the present attempt's, or an earlier one's before a newer started."""
    relation, run = relate(state, call, event)
    if run is None:
        return _wrong_attempt(call, event, relation)
    if relation is Relation.OWN:
        return _settle_end(state, call, event, run, by=ProvedBy.ATTEMPT, facts=facts)
    spoken = evolve(call, unproved=tuple(other for other in call.unproved if other is not run))
    if not isinstance(call.state, RUNNING) or isinstance(call.state, Released):
        # (1) keyed attempt 1 lost, (2) attempt 2 not started yet, (3) attempt 1 reports its end.
        return _settle_end(state, spoken, event, run, by=ProvedBy.EARLIER_ATTEMPT, facts=facts)
    if isinstance(call.state, EffectUnknown):
        said = describe(_outcome(call, event, ProvedBy.EARLIER_ATTEMPT))
        return _report(spoken, call.state, LateReport(*run.id, said))
    acted = isinstance(event, ToolCancelled) and event.effect is EffectSeen.DONE
    code = RejectionCode.EARLIER_ATTEMPT_ACTED if acted else RejectionCode.STALE_ATTEMPT
    return stale(code, f"{call.call_id}#{event.epoch}.{event.attempt}")


def _settle_end(
    state: State, call: Call, event: ToolFailed | ToolCancelled | TaskSettled, run: Run, *, by: ProvedBy, facts: Facts
) -> Call:
    because = _SETTLED_BY[type(event)] if by is ProvedBy.ATTEMPT else Because.EARLIER_ATTEMPT_REPORTED
    outcome = _outcome(call, event, by)
    if _tells_a_deed(outcome):
        return settle(call, outcome, because, *facts, run=run)
    return settle_denying(state, call, outcome, because, *facts, run=run)


def lost(state: State, call: Call, event: ToolLost) -> Call | Ignored | Refused:
    """Take that an attempt is out of sight: for everything that acts this is no failure but an unknown."""
    run = _own_run(state, call, event)
    if isinstance(run, Refused):
        return run
    if event.observation and event.observation != run.observation:
        run = evolve(run, observation=event.observation)
    facts = (("cause", event.cause), ("target", event.target), ("observation", event.observation))
    if isinstance(call.state, EffectUnknown):
        if not call.state.live:
            return Ignored("already-unknown")
        return _attempt_ended(state, call, evolve(call.state, run=run), Because.TOOL_LOST, facts)
    assert isinstance(call.state, Executing | CancellationRequested)
    if isinstance(call.state, CancellationRequested) and call.contract.pure:
        return settle(call, CancelledCall(EffectSeen.NONE), Because.TOOL_LOST, *facts)
    return lose(state, evolve(call, state=evolve(call.state, run=run)), Because.TOOL_LOST, *facts)


def _attempt_ended(state: State, call: Call, unknown: EffectUnknown, because: Because, facts: Facts) -> Call | Ignored:
    """Withdraw the cancel of an attempt that ended without proof; a keyed one past its deadline may run again now."""
    if call.contract.effect is Effect.KEYED and may_run_again(state, call):
        return run_again_keyed(state, call, unknown.run, *facts)
    if not unknown.live and unknown.cancel is None:
        return Ignored("already-ended")
    if unknown.inquiry.resume_at is None:
        return evolve(call, state=evolve(unknown, transition=why(because, *facts), live=False, cancel=None))
    return suspect(state, call, unknown.run, because, *facts)


def detach(state: State, call: Call, event: TaskStarted) -> Call | Ignored | Refused:
    """Let a detached tool go on in the background: the call stays as it is and moves to the register."""
    run = _own_run(state, call, event)
    if isinstance(run, Refused):
        return run
    if not call.contract.detached:
        return Refused(RejectionCode.NOT_DETACHED, Blame.WORLD, call.call_id)
    if call.registered:
        repeated = event.handle == run.handle
        return Ignored("already-started") if repeated else stale(RejectionCode.ALREADY_STARTED, call.call_id)
    known = evolve(run, started=True, handle=event.handle)
    return evolve(_with_run(state, call, known, Because.TASK_STARTED, ("handle", event.handle)), registered=True)


def pass_deadline(state: State, call: Call, _event: TimerFired) -> Call:
    """Past its deadline a read has failed; anything else is unknown, told to stop, and looked into (R-153)."""
    assert isinstance(call.state, Executing)
    run = call.state.run
    facts = (("deadline", run.due_at),)
    if call.contract.pure:
        outcome = FailedCall("timed out", kind="timeout")
        return settle(call, outcome, Because.DEADLINE_PASSED, *facts)
    return suspect_running(state, call, run, Because.DEADLINE_PASSED, *facts)


def repeat(state: State, call: Call, event: Report) -> Call | Ignored | Refused:
    """Judge a report about a settled call: evidence settles what was left open, a repetition is ignored."""
    settled = call.state
    assert isinstance(settled, Settled)
    relation, run = relate(state, call, event)
    if call.registered and is_open(settled.outcome):
        return _settle_open(state, call, event, run)
    if isinstance(event, ToolStarted | ToolProgressed | TaskStarted) and relation is Relation.OWN:
        return Ignored("already-settled")
    if relation is Relation.FOREIGN:
        return _wrong_attempt(call, event, relation)
    if not isinstance(event, ToolSucceeded | ToolFailed | ToolCancelled | TaskSettled):
        return stale(RejectionCode.ALREADY_SETTLED, call.call_id)
    if _agrees(call, settled, event):
        return Ignored("repeats-what-was-settled")
    said = _outcome(call, event, ProvedBy.ATTEMPT)
    conflict = f"Settled as {_print(settled.outcome)}, this one says {_print(said)}."
    if isinstance(said, Succeeded) and _denies(settled.outcome):
        return Refused(RejectionCode.CONTRADICTS_ABSENCE, Blame.WORLD, call.call_id, conflict)
    return stale(RejectionCode.ALREADY_SETTLED, call.call_id, conflict)


def _denies(outcome: Outcome) -> bool:
    """Say whether an outcome of a started call claims that there was no effect (D-8)."""
    if isinstance(outcome, CancelledCall):
        return outcome.effect is EffectSeen.NONE
    return isinstance(outcome, NotExecuted) and outcome.reason in _ABSENT


def _print(outcome: Outcome) -> str:
    """Name an outcome so that two of them can be told apart without being quoted."""
    return f"{type(outcome).__name__} sha256 {digest(describe(outcome))[:16]}"


_ABSENT = (NotExecutedReason.PROVED_ABSENT, NotExecutedReason.PERSON_SAYS)


def _agrees(call: Call, settled: Settled, event: ToolSucceeded | ToolFailed | ToolCancelled | TaskSettled) -> bool:
    """Say whether an event tells again what settled the call."""
    outcome = settled.outcome
    if settled.run is None or settled.run.id != (event.epoch, event.attempt):
        return False
    if isinstance(outcome, Succeeded | FailedCall):
        told = _outcome(call, event, outcome.proved_by)
        late = outcome.timed_out
        return isinstance(told, Succeeded | FailedCall) and evolve(told, timed_out=late) == outcome
    return isinstance(event, ToolCancelled) and CancelledCall(event.effect) == outcome


def _settle_open(state: State, call: Call, event: Report, run: Run | None) -> Call | Ignored | Refused:
    """Settle a register entry that was given up, by evidence of any of its attempts."""
    if run is None:
        return _wrong_attempt(call, event, relate(state, call, event)[0])
    if not isinstance(event, ToolSucceeded | ToolFailed | ToolCancelled | TaskSettled):
        return Ignored("proves-nothing")
    outcome = _outcome(call, event, ProvedBy.ATTEMPT)
    if is_open(outcome):
        return Ignored("proves-nothing")
    if not _tells_a_deed(outcome) and (call.unproved or run is not call.run):
        return Ignored("an-earlier-attempt-is-unproved")
    return settle(call, outcome, _SETTLED_BY[type(event)], run=run)


def _tells_a_deed(outcome: Outcome) -> bool:
    """Say whether an outcome proves that the effect happened, whichever attempt it was."""
    return isinstance(outcome, Succeeded) or outcome == CancelledCall(EffectSeen.DONE)
