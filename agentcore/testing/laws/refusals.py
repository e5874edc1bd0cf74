"""What is owed to whoever is not heard: a refusal tells no untruth, and only what is known is ignored.

Parts of two laws: L2 has what is said by a host and the words of every refusal, L13 the answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from agentcore.commands import RecordRejection
from agentcore.events import TimerFired
from agentcore.rejections import Rejection
from agentcore.states import Released, Settled
from agentcore.testing.laws.case import Case, is_overdue
from agentcore.testing.laws.claims import CLAIMS, KNOWN, Claim, blamed, claims_of, never
from agentcore.testing.passage import Passage


def untruth(passage: Passage) -> str | None:
    """Say what is not true of the words by which an event was refused."""
    command, event = passage.commands[0], passage.event
    assert isinstance(command, RecordRejection)
    rejection, kind = command.rejection, type(event)
    claim = CLAIMS[rejection.code]
    fact = claim.facts.get(kind)
    if fact is None:
        return f"{kind.__name__} may not be refused as {rejection.code.value}"
    case, *later = Case(passage.before, event), *_later(passage)
    if not fact(case) and not any(map(fact, later)):
        return f"{kind.__name__} is refused as {rejection.code.value}, and that is not so"
    known = KNOWN[kind]
    if known is not never and known(case) and all(map(known, later)):
        return f"{kind.__name__} is refused as {rejection.code.value}, and it is known already"
    if rejection.blame is not blamed(claim, kind):
        return f"{rejection.blame.value} is blamed for {kind.__name__}: {rejection.code.value}"
    if rejection.offending not in claim.named(case):
        return f"{rejection.offending!r} does not fit, says {rejection.code.value} of {kind.__name__}"
    if command.at != event.at:
        return f"an event of {event.at} is recorded as one of {command.at}"
    return _misplaced(case, rejection, claim)


def _misplaced(case: Case, rejection: Rejection, claim: Claim) -> str | None:
    """Say that a rejection names another place, or calls legal there what it refuses for the place alone."""
    name, met = type(case.event).__name__, type(case.call.state if case.call is not None else case.state.phase)
    elsewhere = rejection.state != met.__name__ and not is_overdue(case.state, case.event)
    if elsewhere or rejection.event != name:
        return f"{name} met {met.__name__}, not {rejection.event} {rejection.state}"
    if not claim.placed or name not in rejection.legal:
        return None
    written = case.call is None and hasattr(case.event, "call_id")
    return None if written else f"{name} is refused in {rejection.state} and said to be legal there"


def misheard(passage: Passage) -> str | None:
    """Say that news was ignored, or that was accepted what is known or has to be refused; of what was not refused."""
    kind = type(passage.event)
    known, cases = KNOWN[kind], (Case(passage.before, passage.event), *_later(passage))
    if passage.after is passage.before:
        return None if any(map(known, cases)) else f"{kind.__name__} is ignored, and it is not known"
    if known is not never and all(map(known, cases)):
        return f"{kind.__name__} is accepted, and it was known already"
    refused = next((code for code, fact in claims_of(kind) if all(map(fact, cases))), None)
    return f"{kind.__name__} is accepted, and it is {refused.value}" if refused is not None else None


def _later(passage: Passage) -> Iterator[Case]:
    """Yield the event beside the state that it meets, where the turn's time is up when it comes."""
    before, event = passage.before, passage.event
    if is_overdue(before, event):
        turn = before.turn
        timer = TimerFired(at=event.at, timer_id=f"turn/{turn.number}", epoch=before.epoch, attempt=turn.clocks)
        case, call = Case(passage.core.reduce(before, timer).state, event), Case(before, event).call
        yield case
        if call is not None and case.call is None and case.written is not None:
            # The event comes before the results are written: the call still knows what it was.
            run = None if isinstance(call.state, Released) else call.run
            settled = Settled(call.state.transition, case.written.outcome, run)
            case = Case(case.state, event)
            case.call, case.written = evolve(call, state=settled), None
            yield case
