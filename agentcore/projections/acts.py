"""What a person or host may do now, by id: each act is a small value that names the event it leads to.

1. The reducer is asked: an act is listed exactly if its ``event`` would be accepted now, or is an inspection that is
   under way. So no frontend needs rules.
2. Every effect of which nobody can tell whether it happened has an inspection and a resolution listed; a retry is
   listed only where it is proved that nothing happened. Checking always stands before doing again.
3. ``call_id`` is ``turn.step.index``, ``name`` the tool, ``epoch`` and ``attempt`` are what the event has to name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs

from agentcore.events import (
    AbortRequested,
    AbortScope,
    ApprovalDenied,
    ApprovalGranted,
    ConfigChanged,
    EffectResolved,
    FollowUpQueued,
    HistoryCleared,
    HistoryImported,
    HostEvent,
    InspectionRequested,
    Inspector,
    MessageWithdrawn,
    PromptSubmitted,
    Resolution,
    RetryRequested,
    SessionReopened,
    SteeringQueued,
)
from agentcore.messages import MessageSource, TextPart, UserMessage
from agentcore.projections.calls import all_calls
from agentcore.reduce import Verdict, reduce
from agentcore.states import (
    RUNNING,
    AwaitingApproval,
    Call,
    CancellationRequested,
    EffectUnknown,
    LateReport,
    Settled,
    State,
    Stopping,
)


@attrs.frozen
class ApproveCall:
    """Allow a call to run with exactly these arguments."""

    event: ClassVar[type[HostEvent]] = ApprovalGranted
    call_id: str
    name: str
    epoch: int
    attempt: int
    arguments: str
    """What would run, canonical JSON; granting other arguments sends the call back to review."""
    digest: str
    """SHA-256 of the arguments."""
    rule: str
    """The rule that wants to ask."""
    reason: str
    """Why."""
    due_at: int | None
    """When the question expires, in milliseconds since the Unix epoch."""


@attrs.frozen
class DenyCall:
    """Refuse a call, with or without saying what to do instead."""

    event: ClassVar[type[HostEvent]] = ApprovalDenied
    call_id: str
    name: str
    epoch: int
    attempt: int


@attrs.frozen
class InspectCall:
    """Have it looked at now whether an effect happened."""

    event: ClassVar[type[HostEvent]] = InspectionRequested
    call_id: str
    name: str
    by: Inspector
    """Who is looking, or was asked last: the tool's own inspection, or a person."""
    handle: str
    """What can be asked about: process, child session, remote task."""
    observation: str
    """The last known remote state."""
    reports: tuple[LateReport, ...]
    """What earlier attempts said late."""


@attrs.frozen
class ResolveCall:
    """Say what became of an effect, on a person's word."""

    event: ClassVar[type[HostEvent]] = EffectResolved
    call_id: str
    name: str
    arguments: str
    """What ran, canonical JSON."""


@attrs.frozen
class RetryCall:
    """Run a call again, since it is proved that it did nothing."""

    event: ClassVar[type[HostEvent]] = RetryRequested
    call_id: str
    name: str
    evidence: str
    """The proof."""


@attrs.frozen
class Abort:
    """Have work stopped: the turn, at once or after its step, a call, a background task, or everything."""

    event: ClassVar[type[HostEvent]] = AbortRequested
    scope: AbortScope
    """What it reaches."""
    turn: int = 0
    """The turn, where it is one."""
    call_id: str = ""


@attrs.frozen
class WithdrawMessage:
    """Take back a message that is not delivered yet."""

    event: ClassVar[type[HostEvent]] = MessageWithdrawn
    message_id: str
    """The queued message."""


@attrs.frozen
class SessionAct:
    """Something about the session as a whole: prompt, steer, follow up, reopen, import, clear, configure."""

    event: type[HostEvent]


Act = ApproveCall | DenyCall | InspectCall | ResolveCall | RetryCall | Abort | WithdrawMessage | SessionAct
"""Everything that can be listed."""


def pending_acts(state: State) -> tuple[Act, ...]:
    """Return what may be done now: questions first, then checks, stops, the queue, and the session as a whole."""
    return tuple(act for act, event in _candidates(state) if _may(state, event))


def _may(state: State, event: HostEvent) -> bool:
    """Say whether an act is on offer: accepted, or, for an inspection, under way already and so without effect."""
    verdict = reduce.examine(state, event).verdict
    return verdict is Verdict.ACCEPTED or (verdict is Verdict.IGNORED and isinstance(event, InspectionRequested))


_Candidates = Iterator[tuple[Act, HostEvent]]


def _candidates(state: State) -> _Candidates:
    calls = all_calls(state).values()
    for call in calls:
        yield from _questions(state, call)
    for call in calls:
        yield from _checks(state, call)
    yield from _stops(state)
    for queued in (*state.queues.steering, *state.queues.follow_ups):
        message_id = queued.message_id
        yield WithdrawMessage(message_id), MessageWithdrawn(at=state.at, message_id=message_id)
    yield from _session_acts(state)


def _questions(state: State, call: Call) -> _Candidates:
    asked = call.state
    if not isinstance(asked, AwaitingApproval):
        return
    at, call_id, epoch, attempt = state.at, call.call_id, state.epoch, call.tries.questions
    sealed = call.digest
    yield (
        ApproveCall(call_id, call.name, epoch, attempt, call.arguments, sealed, asked.rule, asked.reason, asked.due_at),
        ApprovalGranted(at=at, call_id=call_id, epoch=epoch, attempt=attempt, arguments=call.arguments, digest=sealed),
    )
    yield (
        DenyCall(call_id, call.name, epoch, attempt),
        ApprovalDenied(at=at, call_id=call_id, epoch=epoch, attempt=attempt),
    )


def _checks(state: State, call: Call) -> _Candidates:
    at, call_id, unknown = state.at, call.call_id, call.state
    if not isinstance(unknown, EffectUnknown) and not call.registered:
        return
    run = call.run
    by = unknown.inquiry.by if isinstance(unknown, EffectUnknown) else Inspector.PERSON
    reports = unknown.reports if isinstance(unknown, EffectUnknown) else ()
    handle, observation = (run.handle, run.observation) if run is not None else ("", "")
    yield (
        InspectCall(call_id, call.name, by, handle, observation, reports),
        InspectionRequested(at=at, call_id=call_id),
    )
    yield (
        ResolveCall(call_id, call.name, call.arguments),
        EffectResolved(at=at, call_id=call_id, resolution=Resolution.EXECUTED),
    )
    if isinstance(unknown, EffectUnknown) and unknown.proved_absent is not None:
        yield RetryCall(call_id, call.name, unknown.proved_absent), RetryRequested(at=at, call_id=call_id)


def _stops(state: State) -> _Candidates:
    """List what can be stopped; what was told to stop is listed again only where that gives up waiting for it."""
    number = state.turn.number
    scopes = []
    if state.open:
        scopes += [Abort(AbortScope.TURN, number), Abort(AbortScope.ALL)]
        scopes += [] if state.turn.stop_after_step else [Abort(AbortScope.AFTER_STEP, number)]
    for call in all_calls(state).values():
        told = isinstance(call.state, CancellationRequested) and not isinstance(state.phase, Stopping)
        if call.registered and isinstance(call.state, RUNNING) and not told:
            scopes.append(Abort(AbortScope.TASK, call_id=call.call_id))
        elif not call.registered and not isinstance(call.state, Settled) and not told:
            scopes.append(Abort(AbortScope.CALL, call_id=call.call_id))
    fresh = _fresh(state)
    for act in scopes:
        yield act, AbortRequested(at=state.at, act_id=fresh, scope=act.scope, turn=act.turn, call_id=act.call_id)


def _session_acts(state: State) -> _Candidates:
    at, fresh, words = state.at, _fresh(state), (TextPart("…"),)
    for event in (
        PromptSubmitted(at=at, message_id=fresh, parts=words),
        SteeringQueued(at=at, message_id=fresh, parts=words),
        FollowUpQueued(at=at, message_id=fresh, parts=words),
        SessionReopened(at=at),
        HistoryImported(at=at, messages=(UserMessage(fresh, MessageSource.PROMPT, words),)),
        HistoryCleared(at=at),
        ConfigChanged(at=at, config=state.config),
    ):
        yield SessionAct(type(event)), event


def _fresh(state: State) -> str:
    """Return an id that no message and no act of the session has."""
    fresh = "asked"
    while fresh in state.known or fresh in state.acts:
        fresh += "'"
    return fresh
