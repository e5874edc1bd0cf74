"""What each word of a refusal claims, and what has to be known where an event is ignored.

1. ``CLAIMS`` has for each code of a rejection the classes of event that may be refused with it, and of each what must
   be true of the state and the event; who is at fault; and which id is named as the one that does not fit.
2. ``KNOWN`` has for each class of event what must be true where one is ignored: that it was told before, or that it
   says what is so already. The state keeps enough to tell.
3. What is not known, and of which no claim is true, has to be accepted.

Both are written apart from the steps that refuse and ignore: they say what is so, not how it is found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from agentcore import events
from agentcore.events import EVENTS, HOST_EVENTS, Event
from agentcore.rejections import Blame, RejectionCode
from agentcore.testing.laws import facts_of_calls as calls
from agentcore.testing.laws import facts_of_sessions as sessions
from agentcore.testing.laws.case import Case

Fact = Callable[[Case], bool]
"""Something that is true of a state and an event, or is not."""
Named = Callable[[Case], tuple[str, ...]]
"""The ids any of which may be said not to fit."""


def _all(kinds: tuple[type[Event], ...], fact: Fact) -> dict[type[Event], Fact]:
    return dict.fromkeys(kinds, fact)


def _nothing(_case: Case) -> tuple[str, ...]:
    return ("",)


def _subject(case: Case) -> tuple[str, ...]:
    return (str(getattr(case.event, _SUBJECTS[type(case.event)])),)


_SUBJECTS: Mapping[type[Event], str] = {
    kind: field.name
    for kind in EVENTS
    for field in attrs.fields(kind)
    if field.name in ("call_id", "request_id", "message_id", "seq")
}
"""Of each class of event the field that says what it is about."""


def _number(case: Case) -> tuple[str, ...]:
    event = case.event
    return (f"{_subject(case)[0]}#{event.epoch}.{event.attempt}",)


def _step_or_number(case: Case) -> tuple[str, ...]:
    return _subject(case) if hasattr(case.event, "request_id") else _number(case)


def _turn(case: Case) -> tuple[str, ...]:
    return (str(case.event.turn),)


def _messages(case: Case) -> tuple[str, ...]:
    return sessions.wanted(case)


@attrs.frozen
class Claim:
    """What is claimed by one code."""

    facts: Mapping[type[Event], Fact]
    """The events that may be refused with it, and what is true then."""
    named: Named
    """Which ids do not fit."""
    blame: Blame | None = None
    """Who is at fault; ``None`` is whoever sends such events."""
    late: tuple[type[Event], ...] = ()
    """Events that merely come too late, where others are somebody's fault."""
    placed: bool = False
    """The event is legal nowhere in such a state, whatever it names."""


GRANTS = (events.ApprovalGranted, events.ApprovalDenied)
"""What a person answers to a question."""
PERMITTING = (events.PolicyAllowed, events.PolicyAsked, events.ApprovalGranted)
"""Decisions about certain arguments."""
SIGNS = (events.ToolStarted, events.ToolProgressed, events.TaskStarted)
"""Signs of life of an attempt."""
REPORTS = (*SIGNS, *calls.ENDS_OF_RUNS, events.ToolLost)
"""All that is told of an attempt."""
SUCCESSES = (events.ToolSucceeded, events.TaskSettled)
"""What may tell of a deed."""
STEPS = (
    events.StepPrepared,
    events.PreparationFailed,
    events.ModelStreamOpened,
    events.ModelReplied,
    events.ModelFailed,
    events.ModelStopped,
    events.ContextCompacted,
    events.CompactionFailed,
    events.CompletionAccepted,
    events.CompletionRefused,
)
"""Answers about a step."""
CHECKPOINTS = (events.CheckpointWritten, events.CheckpointFailed)
"""Answers of the store."""
MESSAGES = (events.PromptSubmitted, events.SteeringQueued, events.FollowUpQueued)
"""What a user says."""
DECIDING = (*calls.DECISIONS, *GRANTS)
"""Answers that let a call run or not."""
ABOUT_CALLS = (
    *DECIDING,
    *REPORTS,
    events.EffectInspected,
    events.InspectionRequested,
    events.RetryRequested,
    events.EffectResolved,
)
"""Everything that names a call, an abort apart."""

Code = RejectionCode
CLAIMS: Mapping[RejectionCode, Claim] = {
    Code.NOT_EXPECTED_HERE: Claim(
        {
            events.SessionReopened: sessions.is_open,
            **_all((events.HistoryImported, events.HistoryCleared, events.ConfigChanged), sessions.is_not_idle),
        },
        _nothing,
        placed=True,
    ),
    Code.TURN_IN_PROGRESS: Claim({events.PromptSubmitted: sessions.is_open}, _subject, Blame.HOST, placed=True),
    Code.TURN_ENDED: Claim({events.PromptSubmitted: sessions.has_ended}, _subject, Blame.HOST, placed=True),
    Code.UNKNOWN_MESSAGE: Claim(
        _all((events.PromptSubmitted, events.MessageWithdrawn), sessions.wants_unknown), _messages, Blame.HOST
    ),
    Code.ALREADY_DELIVERED: Claim(
        _all((events.PromptSubmitted, events.MessageWithdrawn), sessions.wants_delivered), _messages, Blame.STALE
    ),
    Code.FOREIGN_TURN: Claim({events.AbortRequested: sessions.is_future_turn}, _turn, Blame.HOST),
    Code.FOREIGN_REQUEST: Claim(_all(STEPS, sessions.is_foreign_step), _subject, Blame.WORLD),
    Code.STALE_REQUEST: Claim(_all(STEPS, sessions.is_stale_step), _subject, Blame.STALE),
    Code.FOREIGN_CALL: Claim(
        {**_all(ABOUT_CALLS, calls.is_missing), events.AbortRequested: sessions.reaches_nothing}, _subject
    ),
    Code.FOREIGN_ATTEMPT: Claim(
        {
            **_all(STEPS, sessions.is_unasked_of_step),
            **_all(DECIDING, calls.is_unasked_of_call),
            **_all(REPORTS, calls.is_foreign_run),
            events.EffectInspected: calls.is_unminted_look,
        },
        _number,
        Blame.WORLD,
    ),
    Code.STALE_ATTEMPT: Claim(
        {
            **_all(STEPS, sessions.is_earlier_of_step),
            **_all(DECIDING, calls.is_earlier_of_call),
            **_all(REPORTS, calls.is_stale_run),
            **_all(CHECKPOINTS, sessions.is_stale_checkpoint),
            events.EffectInspected: calls.is_stale_look,
        },
        _number,
        Blame.STALE,
    ),
    Code.EARLIER_ATTEMPT_ACTED: Claim(
        _all((*SUCCESSES, events.ToolCancelled), calls.acted_behind_a_newer), _number, Blame.STALE
    ),
    Code.CONTRADICTS_ABSENCE: Claim(_all(SUCCESSES, calls.contradicts_absence), _subject, Blame.WORLD),
    Code.ALREADY_SETTLED: Claim(
        {
            **_all(REPORTS, calls.was_settled),
            events.RetryRequested: calls.has_answer,
            events.EffectResolved: calls.answer_stands,
        },
        _subject,
        Blame.STALE,
    ),
    Code.ALREADY_DECIDED: Claim(_all(DECIDING, calls.was_decided), _number, Blame.STALE, placed=True),
    Code.ALREADY_ANSWERED: Claim(
        {
            **_all(STEPS, sessions.was_answered),
            **_all(calls.ENDS_OF_RUNS, calls.was_told_otherwise),
        },
        _step_or_number,
        Blame.STALE,
    ),
    Code.ALREADY_STARTED: Claim(
        _all((events.ToolStarted, events.TaskStarted), calls.began_otherwise), _subject, Blame.STALE
    ),
    Code.DIGEST_MISMATCH: Claim(_all(PERMITTING, calls.is_unfaithful), _subject, Blame.WORLD),
    Code.NOT_DETACHED: Claim(_all((events.TaskStarted, events.TaskSettled), calls.is_no_task), _subject, Blame.WORLD),
    Code.NOT_UNKNOWN: Claim(
        {
            events.EffectInspected: calls.is_found_out,
            events.InspectionRequested: calls.needs_no_look,
            events.RetryRequested: calls.goes_on,
            events.EffectResolved: calls.needs_no_word,
        },
        _subject,
        Blame.HOST,
        late=(events.EffectInspected,),
    ),
    Code.EFFECT_NOT_PROVED_ABSENT: Claim({events.RetryRequested: calls.is_unproved}, _subject, Blame.HOST),
    Code.RETRY_NOT_POSSIBLE: Claim({events.RetryRequested: calls.cannot_run_again}, _subject, Blame.HOST),
    Code.FOREIGN_CHECKPOINT: Claim(_all(CHECKPOINTS, sessions.is_foreign_checkpoint), _number, Blame.WORLD),
    Code.EMPTY_PROMPT: Claim({events.PromptSubmitted: sessions.says_nothing}, _subject, Blame.HOST),
    Code.CORE_DEFECT: Claim({}, _nothing, Blame.CORE),
}
"""Of each code what it claims; ``core-defect`` never comes without a defect."""


def never(_case: Case) -> bool:
    """Nothing of this kind is ignored."""
    return False


KNOWN: Mapping[type[Event], Fact] = {
    **_all(EVENTS, never),
    **_all(MESSAGES, sessions.message_is_known),
    events.AbortRequested: sessions.abort_is_known,
    events.SessionReopened: sessions.is_idle,
    events.ModelStreamOpened: sessions.stream_is_known,
    events.ModelReplied: sessions.reply_is_known,
    **_all(DECIDING, calls.decision_is_known),
    **_all(SIGNS, calls.sign_is_known),
    **_all(calls.ENDS_OF_RUNS, calls.end_is_known),
    events.ToolLost: calls.loss_is_known,
    events.InspectionRequested: calls.is_looked_at,
    events.RetryRequested: sessions.act_on_call_is_known,
    events.EffectResolved: calls.word_is_known,
    events.CheckpointWritten: sessions.is_durable,
    events.TimerFired: sessions.is_waited_for_by_nobody,
}
"""Of each class of event what is known where one is ignored."""


def blamed(claim: Claim, kind: type[Event]) -> Blame:
    """Say who is at fault by a claim."""
    if claim.blame is not None and not claim.late:
        return claim.blame
    if kind in claim.late:
        return Blame.STALE
    return claim.blame or (Blame.HOST if kind in _OF_HOSTS else Blame.WORLD)


_OF_HOSTS = frozenset(HOST_EVENTS)


def claims_of(kind: type[Event]) -> tuple[tuple[RejectionCode, Fact], ...]:
    """Return the claims by which an event of a class may be refused."""
    return _CLAIMS_OF[kind]


_CLAIMS_OF: Mapping[type[Event], tuple[tuple[RejectionCode, Fact], ...]] = {
    kind: tuple((code, claim.facts[kind]) for code, claim in CLAIMS.items() if kind in claim.facts) for kind in EVENTS
}
