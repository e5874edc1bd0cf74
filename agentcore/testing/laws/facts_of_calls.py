"""What is true of an event about a call: facts that refusals claim, and what is known where one is ignored."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from attrs import evolve

from agentcore import events
from agentcore.events import Inspector
from agentcore.limits import allows
from agentcore.messages import CancelledCall, EffectSeen, NotExecuted, NotExecutedReason, digest
from agentcore.policy import Effect
from agentcore.states import AwaitingApproval, Call, EffectUnknown, Proposed, Stopping
from agentcore.steps.results import describe
from agentcore.testing.laws.case import Case
from agentcore.testing.laws.facts_of_sessions import act_on_call_is_known

DECISIONS = (events.PolicyAllowed, events.PolicyAsked, events.PolicyBlocked, events.ArgumentsRefused)
"""What a review says of a call."""
ENDS_OF_RUNS = (events.ToolSucceeded, events.ToolFailed, events.ToolCancelled, events.TaskSettled)
"""What proves the end of an attempt."""


def waits(case: Case) -> bool:
    """The call waits for a decision of this kind."""
    wanted = Proposed if isinstance(case.event, DECISIONS) else AwaitingApproval
    return case.call is not None and isinstance(case.call.state, wanted)


def is_unasked_of_call(case: Case) -> bool:
    """Nobody asked under this number, or another call is asked about."""
    if not case.unsettled:
        return False
    return (
        case.given > case.minted
        or not case.minted[1]
        or (waits(case) and case.given == case.minted and not case.is_asked)
    )


def is_earlier_of_call(case: Case) -> bool:
    """It answers a question before the one that is open."""
    return waits(case) and case.given < case.minted


def was_decided(case: Case) -> bool:
    """The call has its answer, or that question was asked and is not open any more."""
    if not case.unsettled:
        return not case.missing
    return not waits(case) and not is_unasked_of_call(case)


def is_unfaithful(case: Case) -> bool:
    """It answers the open question, and its digest is not that of its arguments."""
    return waits(case) and case.is_asked and digest(case.event.arguments) != case.event.digest


def decision_is_known(case: Case) -> bool:
    """It was heard before."""
    return case.call is not None and bool(case.call.heard) and told(case.event) in case.call.heard


@lru_cache(maxsize=64)
def told(event: Any) -> str:
    """Return what a call keeps of a decision: a digest of it without its time."""
    return digest(repr(evolve(event, at=0)))


def is_missing(case: Case) -> bool:
    """No call, no entry of the register and no written result has this id."""
    return case.missing


def is_foreign_run(case: Case) -> bool:
    """It speaks of an attempt that nobody can have begun."""
    return not case.missing and case.is_unminted and not is_no_task(case)


def is_stale_run(case: Case) -> bool:
    """It is older than the attempt in question, and what it says cannot settle the call any more."""
    if case.call is None or case.outcome is not None or case.is_own or case.is_unminted or is_no_task(case):
        return False
    if not case.is_earlier:
        return True
    if case.given_up or case.succeeds:
        return False
    cancelled = case.event.effect if isinstance(case.event, events.ToolCancelled) else None
    proves = isinstance(case.event, ENDS_OF_RUNS) and cancelled is not EffectSeen.UNPROVED
    return not proves or (case.newer_acts and cancelled is not EffectSeen.DONE)


def acted_behind_a_newer(case: Case) -> bool:
    """An earlier attempt did something, and a newer one is under way."""
    if case.call is None or not case.newer_acts or case.is_own or not case.is_earlier:
        return False
    if isinstance(case.event, events.ToolCancelled):
        return case.event.effect is EffectSeen.DONE
    return case.succeeds and case.call.contract.effect is not Effect.KEYED and not is_no_task(case)


def was_settled(case: Case) -> bool:
    """The call has its answer, and what is said now does not contradict that nothing happened."""
    return case.outcome is not None and not case.is_unminted and not contradicts_absence(case)


def contradicts_absence(case: Case) -> bool:
    """The call was settled as not having acted, after an attempt of it had begun."""
    if not case.succeeds or case.is_unminted:
        return False
    outcome = case.outcome
    if isinstance(outcome, CancelledCall):
        return outcome.effect is EffectSeen.NONE
    absent = (NotExecutedReason.PROVED_ABSENT, NotExecutedReason.PERSON_SAYS)
    return isinstance(outcome, NotExecuted) and outcome.reason in absent


def is_no_task(case: Case) -> bool:
    """It speaks of a call that does not go on in the background."""
    call = case.call
    if call is None or not case.unsettled or call.contract.detached:
        return False
    return isinstance(case.event, events.TaskSettled) or case.is_own


def began_otherwise(case: Case) -> bool:
    """The very attempt has begun already, under another handle."""
    call = case.call
    if call is None or not case.unsettled or not case.is_own or call.run is None:
        return False
    begun = call.run.started if isinstance(case.event, events.ToolStarted) else _is_in_background(call)
    return begun and call.run.handle != case.event.handle


def _is_in_background(call: Call) -> bool:
    return call.registered and call.contract.detached


def was_told_otherwise(case: Case) -> bool:
    """The attempt has told its end late already, in other words."""
    kept = late_report(case)
    return kept is not None and keeps_reports(case) and kept != late_words(case)


def late_report(case: Case) -> str | None:
    """Return what is kept of an earlier attempt's late report."""
    unknown = case.call.state if case.call is not None else None
    if not isinstance(unknown, EffectUnknown) or case.is_own or not case.is_earlier:
        return None
    return next((kept.said for kept in unknown.reports if kept.run == case.given), None)


def late_words(case: Case) -> str:
    """Return what is kept of an end that is told late."""
    return str(case.event.result) if case.succeeds else describe(case.said)


def sign_is_known(case: Case) -> bool:
    """It says what is known of an attempt, or an attempt that is over."""
    call, event = case.call, case.event
    if case.given_up:
        return case.is_own or case.is_earlier
    if not case.is_own or call is None or call.run is None or not case.unsettled:
        return case.is_own
    if isinstance(event, events.ToolProgressed):
        used_up = not allows(case.state.config.limits.observations, call.tries.observations_used)
        return event.observation == call.run.observation or used_up
    begun = call.run.started if isinstance(event, events.ToolStarted) else _is_in_background(call)
    return begun and event.handle == call.run.handle


def loss_is_known(case: Case) -> bool:
    """An attempt is known to have ended without proof."""
    if case.given_up:
        return case.is_own or case.is_earlier
    unknown = case.call.state if case.call is not None else None
    return isinstance(unknown, EffectUnknown) and case.is_own and not unknown.live


def end_is_known(case: Case) -> bool:
    """It tells again what settled the call or was kept of it, or it proves nothing."""
    if case.outcome is not None:
        return case.agrees
    if case.given_up:
        return proves_nothing(case)
    told_before = keeps_reports(case) and late_report(case) == late_words(case)
    return (told_before and not is_no_task(case)) or is_known_to_have_ended(case)


def keeps_reports(case: Case) -> bool:
    """A success settles a keyed call whichever attempt it comes from; a stop without proof tells nothing."""
    if isinstance(case.event, events.ToolCancelled):
        return case.event.effect is not EffectSeen.UNPROVED
    return case.call is not None and not (case.succeeds and case.call.contract.effect is Effect.KEYED)


def is_known_to_have_ended(case: Case) -> bool:
    """It is an unproved end of an attempt that is unknown, has ended, and is not to run again."""
    call, unknown = case.call, case.call.state if case.call is not None else None
    if call is None or not isinstance(unknown, EffectUnknown) or not case.is_own or unknown.live or unknown.cancel:
        return False
    stopping = isinstance(case.state.phase, Stopping) and not call.registered
    settles = call.contract.pure or (call.contract.effect is Effect.OPAQUE and stopping and not call.unproved)
    goes_on = call.contract.effect is Effect.KEYED and not (stopping or call.registered or call.aborted)
    unproved = isinstance(case.event, events.ToolCancelled) and case.event.effect is EffectSeen.UNPROVED
    return unproved and not settles and not (goes_on and has_tries(case))


def has_tries(case: Case) -> bool:
    """One more execution fits the bound."""
    limit = case.state.config.limits.effect_retries
    return case.call is not None and allows(limit, case.call.tries.retries_used)


def proves_nothing(case: Case) -> bool:
    """It proves nothing about an effect that was given up: it tells of no deed, and may not speak of every attempt."""
    call, event = case.call, case.event
    if call is None or not (case.is_own or case.is_earlier) or case.succeeds:
        return False
    if isinstance(event, events.ToolCancelled) and event.effect is not EffectSeen.NONE:
        return event.effect is EffectSeen.UNPROVED
    return bool(call.unproved) or not case.is_own


def is_found_out(case: Case) -> bool:
    """There is nothing to find out about the call."""
    return not case.missing and not (case.call is not None and isinstance(case.call.state, EffectUnknown))


def needs_no_look(case: Case) -> bool:
    """There is nothing to find out, and it is no task."""
    registered = case.call is not None and case.call.registered and case.outcome is None
    return is_found_out(case) and not registered


def goes_on(case: Case) -> bool:
    """The call has no answer, and its effect is not unknown."""
    return is_found_out(case) and case.unsettled


def needs_no_word(case: Case) -> bool:
    """The call goes on, and it is no task."""
    return goes_on(case) and case.call is not None and not case.call.registered


def has_answer(case: Case) -> bool:
    """The call has an answer, even one that leaves its effect open."""
    return not case.missing and not case.unsettled


def answer_stands(case: Case) -> bool:
    """The call has an answer that stands."""
    return case.outcome is not None


def is_unproved(case: Case) -> bool:
    """The effect is unknown and not proved absent."""
    unknown = case.call.state if case.call is not None else None
    return isinstance(unknown, EffectUnknown) and unknown.proved_absent is None


def cannot_run_again(case: Case) -> bool:
    """Its absence is proved, and it may not run again."""
    call, unknown = case.call, case.call.state if case.call is not None else None
    if call is None or not isinstance(unknown, EffectUnknown) or unknown.proved_absent is None:
        return False
    stopping = isinstance(case.state.phase, Stopping)
    return stopping or call.registered or call.aborted or not has_tries(case)


def is_unminted_look(case: Case) -> bool:
    """It answers an inspection that was not ordered."""
    unknown = case.call.state if case.call is not None else None
    return isinstance(unknown, EffectUnknown) and case.given > (case.state.epoch, unknown.inquiry.attempt)


def is_stale_look(case: Case) -> bool:
    """It answers an inspection before the present one, or one that is over."""
    unknown = case.call.state if case.call is not None else None
    if not isinstance(unknown, EffectUnknown) or is_unminted_look(case):
        return False
    return case.given < (case.state.epoch, unknown.inquiry.attempt) or not unknown.looking


def is_looked_at(case: Case) -> bool:
    """The very inspection that is asked for is under way."""
    call = case.call
    if call is None or not isinstance(call.state, EffectUnknown) or not call.state.looking:
        return False
    program = call.contract.programs_inspect and case.state.config.tool(call.name) is not None and not call.unproved
    return call.state.inquiry.by is (Inspector.PROGRAM if program else Inspector.PERSON)


def word_is_known(case: Case) -> bool:
    """It was taken before, or gives up what is given up."""
    gives_up = case.event.resolution is events.Resolution.ABANDONED and case.given_up
    return act_on_call_is_known(case) or gives_up
