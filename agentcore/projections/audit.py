"""What every call of a session did: one record for each, made the moment its outcome becomes known.

Neither the events alone nor the states alone tell all of it: an event names no tool, and a state that has written a
result has forgotten who allowed the call. So the audit reads *passages*: the state before an event, the event, the
state
after. A live engine has them in hand; ``replay`` makes them from a journal. The same passages give the same records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import attrs

from agentcore.events import ApprovalGranted, Event, HistoryImported, PolicyAllowed
from agentcore.messages import DeniedCall, FailedCall, Outcome, Succeeded, ToolMessage, ToolResult
from agentcore.projections.calls import all_calls, went_well
from agentcore.reduce import reduce
from agentcore.states import Call, Grant, Run, Settled, State
from agentcore.steps.results import describe


class Passage(NamedTuple):
    """One accepted event with what it changed."""

    before: State
    """The state it met."""
    event: Event
    """The event."""
    after: State
    """The state it led to."""


@attrs.frozen
class AuditRecord:
    """What one call did, and who let it."""

    session_id: str
    """The session."""
    seq: int
    """The event that brought the outcome."""
    at: int
    """When, in milliseconds since the Unix epoch."""
    call_id: str
    """``turn.step.index``."""
    name: str
    """The tool asked for."""
    arguments: str
    """The arguments that ran, canonical JSON; empty if the call never ran."""
    epoch: int
    """Epoch of the attempt the outcome speaks of; 0 without one."""
    attempt: int
    """That attempt; 0 if the call never ran."""
    rule: str
    """The rule that allowed it, asked about it or refused it."""
    by: str
    """The person who allowed or refused it; empty where a rule did."""
    ok: bool | None
    """Whether it succeeded; ``None`` where nobody can tell."""
    outcome: Outcome
    """What became of it, with its evidence."""
    text: str
    """The result or the error, in words."""
    duration_ms: int | None
    """How long it ran: as the attempt told, else from its start to its outcome, in milliseconds."""
    late: bool = False
    """The call had been answered before; this is what became of its effect, or of the task it started, afterwards."""


def replay(state: State, events: Iterable[Event]) -> Iterator[Passage]:
    """Fold the accepted events of a journal again, passage by passage."""
    for event in events:
        after = reduce(state, event).state
        yield Passage(state, event, after)
        state = after


def audit(passages: Iterable[Passage]) -> Iterator[AuditRecord]:
    """Yield the record of each call, in the order in which outcomes became known."""
    for passage in passages:
        yield from audit_passage(passage)


def audit_passage(passage: Passage) -> tuple[AuditRecord, ...]:
    """Return the records of the calls whose outcome this event brought, in source order."""
    before, event, after = passage
    if before is after or isinstance(event, HistoryImported):
        return ()
    known, found = all_calls(before), all_calls(after)
    records = [
        _of_call(after, call, call.state, late=_was_answered(known.get(call_id)))
        for call_id, call in found.items()
        if isinstance(call.state, Settled) and not _same_outcome(known.get(call_id), call.state.outcome)
    ]
    written = (result for message in after.history.since(len(before.history)) for result in _results(message))
    for result in written:
        former = known.get(result.call_id)
        if result.call_id not in found and not (former is not None and isinstance(former.state, Settled)):
            records.append(_of_result(after, result, _decided(former, event)))
    return tuple(records)


def _decided(former: Call | None, event: Event) -> Call | None:
    """Add what this very event decided about a call that its passage also brought to an end."""
    if former is not None and isinstance(event, PolicyAllowed) and event.call_id == former.call_id:
        return attrs.evolve(former, rule=event.rule)
    if former is not None and isinstance(event, ApprovalGranted) and event.call_id == former.call_id:
        return attrs.evolve(former, grant=Grant(event.digest, event.by))
    return former


def _was_answered(former: Call | None) -> bool:
    return former is not None and former.registered


def _same_outcome(former: Call | None, outcome: Outcome) -> bool:
    return former is not None and isinstance(former.state, Settled) and former.state.outcome == outcome


def _results(message: object) -> tuple[ToolResult, ...]:
    return message.results if isinstance(message, ToolMessage) else ()


def _of_call(state: State, call: Call, settled: Settled, *, late: bool) -> AuditRecord:
    run = settled.run
    return AuditRecord(
        session_id=state.session_id,
        seq=state.seq,
        at=state.at,
        call_id=call.call_id,
        name=call.name,
        arguments=call.arguments if run is not None else "",
        epoch=run.epoch if run is not None else 0,
        attempt=run.attempt if run is not None else 0,
        rule=_rule(settled.outcome, call),
        by=_person(settled.outcome, call),
        ok=went_well(settled.outcome),
        outcome=settled.outcome,
        text=describe(settled.outcome),
        duration_ms=_duration(settled.outcome, run, state.at),
        late=late,
    )


def _of_result(state: State, result: ToolResult, former: Call | None) -> AuditRecord:
    """Record a call whose results were written in the same passage: who allowed it stands in its former self."""
    run = former.run if former is not None else None
    return AuditRecord(
        session_id=state.session_id,
        seq=state.seq,
        at=state.at,
        call_id=result.call_id,
        name=result.name,
        arguments=result.arguments,
        epoch=result.epoch,
        attempt=result.attempt,
        rule=_rule(result.outcome, former),
        by=_person(result.outcome, former),
        ok=went_well(result.outcome),
        outcome=result.outcome,
        text=result.content,
        duration_ms=_duration(result.outcome, run if result.attempt else None, state.at),
    )


def _rule(outcome: Outcome, call: Call | None) -> str:
    if isinstance(outcome, DeniedCall):
        return outcome.rule
    return call.rule if call is not None else ""


def _person(outcome: Outcome, call: Call | None) -> str:
    if isinstance(outcome, DeniedCall):
        return outcome.by
    return call.grant.by if call is not None and call.grant is not None else ""


def _duration(outcome: Outcome, run: Run | None, at: int) -> int | None:
    if isinstance(outcome, Succeeded | FailedCall) and outcome.duration_ms is not None:
        return outcome.duration_ms
    if run is None:
        return None
    return at - (run.covered_at if run.covered_at is not None else run.released_at)
