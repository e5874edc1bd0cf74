"""Review: lookup, arguments, permission; serial, in source order, bound to the arguments that will run (G-6)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from agentcore.events import (
    ApprovalDenied,
    ApprovalGranted,
    ArgumentsRefused,
    DenialKind,
    PolicyAllowed,
    PolicyAsked,
    PolicyBlocked,
    TimerFired,
)
from agentcore.evolve import evolve
from agentcore.limits import allows
from agentcore.messages import DenialCase, DeniedCall, InvalidCall, InvalidReason, NotExecutedReason, digest
from agentcore.outstanding import reviewee
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import (
    AwaitingApproval,
    Because,
    Call,
    Grant,
    Proposed,
    Question,
    Ready,
    Settled,
    State,
)
from agentcore.steps.base import why
from agentcore.steps.calls.moves import permission_gone, settle, settle_denying
from agentcore.steps.verdicts import Ignored, Refused, stale

Decision = PolicyAllowed | PolicyAsked | PolicyBlocked | ArgumentsRefused
"""What a review says."""
Answer = ApprovalGranted | ApprovalDenied
"""What a person says."""


def misdirected(state: State, call: Call, event: Decision | Answer, number: int) -> Ignored | Refused | None:
    """Check that a decision answers the question that is open; ``None`` if it does."""
    wanted, given = (state.epoch, number), (event.epoch, event.attempt)
    name = f"{call.call_id}#{event.epoch}.{event.attempt}"
    if _told(event) in call.heard:
        return Ignored("repeats-what-was-decided")
    if given < wanted:
        return stale(RejectionCode.STALE_ATTEMPT, name)
    batch = state.batch
    current = batch is not None and reviewee(batch.calls) is call
    if given > wanted or not current:
        return Refused(RejectionCode.FOREIGN_ATTEMPT, Blame.WORLD, name)
    return None


@lru_cache(maxsize=64)
def _told(event: Decision | Answer) -> str:
    """Return a digest of a decision without its time, to know it again (R-245); asked for twice in a row, and more."""
    return digest(repr(evolve(event, at=0)))


def _hearing(call: Call, event: Decision | Answer) -> Call:
    """Note that a decision was taken."""
    return evolve(call, heard=(*call.heard, _told(event)))


def _unfaithful(event: PolicyAllowed | PolicyAsked | ApprovalGranted) -> Refused | None:
    """Refuse a permission whose digest is not that of its arguments."""
    if digest(event.arguments) == event.digest:
        return None
    return Refused(
        RejectionCode.DIGEST_MISMATCH, Blame.WORLD, event.call_id, "The digest is not that of the arguments."
    )


def allow(state: State, call: Call, event: PolicyAllowed) -> Call | Ignored | Refused:
    """Let the call run with exactly these arguments."""
    if refused := misdirected(state, call, event, call.tries.reviews) or _unfaithful(event):
        return refused
    call = _hearing(call, event)
    transition = why(Because.POLICY_ALLOWED, ("rule", event.rule), ("digest", event.digest))
    return _ready(state, call, event.arguments, event.digest, Ready(transition), rule=event.rule)


def _ready(state: State, call: Call, arguments: str, sealed: str, ready: Ready, *, rule: str) -> Call:
    return evolve(call, state=ready, arguments=arguments, digest=sealed, rule=rule, reviewed_in=state.epoch)


def ask_person(state: State, call: Call, event: PolicyAsked) -> Call | Ignored | Refused:
    """Ask a person, unless one has allowed exactly these arguments; a question asked before keeps its due time."""
    if refused := misdirected(state, call, event, call.tries.reviews) or _unfaithful(event):
        return refused
    call = _hearing(call, event)
    if call.grant is not None and call.grant.digest == event.digest:
        transition = why(Because.GRANT_STANDS, ("by", call.grant.by), ("digest", event.digest))
        return _ready(state, call, event.arguments, event.digest, Ready(transition), rule=event.rule)
    limit = state.config.limits.approval_ms
    due_at = None if limit is None else state.at + limit
    if call.question is not None and call.question.digest == event.digest:
        due_at = call.question.due_at
    transition = why(Because.APPROVAL_ASKED, ("rule", event.rule), ("digest", event.digest), ("reason", event.reason))
    return evolve(
        call,
        state=AwaitingApproval(transition, due_at, event.rule, event.reason),
        arguments=event.arguments,
        digest=event.digest,
        rule=event.rule,
        question=Question(event.digest, due_at),
        tries=evolve(call.tries, questions=call.tries.questions + 1),
    )


def block(state: State, call: Call, event: PolicyBlocked) -> Call | Ignored | Refused:
    """Deny the call by a rule; a fault of the policy denies too, it never allows."""
    if refused := misdirected(state, call, event, call.tries.reviews):
        return refused
    call = _hearing(call, event)
    case = DenialCase.DANGEROUS if event.dangerous else DenialCase.STATIC
    facts = (("rule", event.rule), ("reason", event.reason))
    return _deny(state, call, DeniedCall(case, event.rule, event.reason), Because.POLICY_BLOCKED, *facts)


def _deny(state: State, call: Call, outcome: DeniedCall, because: Because, *facts: tuple[str, object]) -> Call:
    """Settle a refusal; one that comes after an execution is a permission that is gone."""
    if call.tries.executions and call.contract.pure:
        return permission_gone(state, call, NotExecutedReason.PERMISSION_GONE, outcome.reason)
    return settle_denying(state, call, outcome, because, *facts)


def refuse_arguments(state: State, call: Call, event: ArgumentsRefused) -> Call | Ignored | Refused:
    """Settle the call as invalid; the model is told which argument, what was found and what was expected."""
    if refused := misdirected(state, call, event, call.tries.reviews):
        return refused
    call = _hearing(call, event)
    if call.tries.executions:
        return permission_gone(state, call, NotExecutedReason.PERMISSION_GONE, event.problem)
    outcome = InvalidCall(InvalidReason.ARGUMENTS_REFUSED, event.problem)
    return settle(call, outcome, Because.ARGUMENTS_REFUSED, ("problem", event.problem))


def grant(state: State, call: Call, event: ApprovalGranted) -> Call | Ignored | Refused:
    """Take a person's permission; one for other arguments sends the call back to review, a bounded number of times."""
    if refused := misdirected(state, call, event, call.tries.questions) or _unfaithful(event):
        return refused
    facts = (("by", event.by), ("digest", event.digest))
    given = evolve(_hearing(call, event), grant=Grant(event.digest, event.by))
    if event.digest == call.digest:
        ready = Ready(why(Because.APPROVAL_GRANTED, *facts))
        return _ready(state, given, call.arguments, call.digest, ready, rule=call.rule)
    if not allows(state.config.limits.changed_grants, call.tries.changes_used):
        outcome = DeniedCall(DenialCase.UNANSWERED, call.rule, "the arguments were changed too often", event.by)
        return settle_denying(state, given, outcome, Because.APPROVAL_DENIED, *facts)
    tries = evolve(call.tries, reviews=call.tries.reviews + 1, changes_used=call.tries.changes_used + 1)
    proposed = Proposed(why(Because.GRANT_CHANGED, *facts))
    return evolve(
        given, state=proposed, proposed=event.arguments, arguments=event.arguments, digest=event.digest, tries=tries
    )


_CASES: Mapping[DenialKind, DenialCase] = {
    DenialKind.EXPIRED: DenialCase.UNANSWERED,
    DenialKind.NOBODY: DenialCase.UNANSWERED,
}
_REASONS: Mapping[DenialKind, str] = {
    DenialKind.EXPIRED: "the question expired",
    DenialKind.NOBODY: "nobody was there to ask",
}


def deny(state: State, call: Call, event: ApprovalDenied) -> Call | Ignored | Refused:
    """Take a person's refusal, or that nobody answered."""
    if refused := misdirected(state, call, event, call.tries.questions):
        return refused
    call = _hearing(call, event)
    refused_case = DenialCase.FEEDBACK if event.feedback else DenialCase.REFUSED
    case = _CASES.get(event.kind, refused_case)
    reason = _REASONS.get(event.kind) or event.feedback or "the user refused"
    outcome = DeniedCall(case, call.rule, reason, event.by)
    return _deny(state, call, outcome, Because.APPROVAL_DENIED, ("kind", event.kind.value), ("by", event.by))


def expire(state: State, call: Call, _event: TimerFired) -> Call:
    """Let a question expire: that is a refusal, never a grant (D-27)."""
    outcome = DeniedCall(DenialCase.UNANSWERED, call.rule, _REASONS[DenialKind.EXPIRED])
    return _deny(state, call, outcome, Because.APPROVAL_EXPIRED, ("digest", call.digest))


def decided_already(state: State, call: Call, event: Decision | Answer) -> Ignored | Refused:
    """Judge a decision that nobody waits for: one told before is ignored, one never asked for or too late refused."""
    if _told(event) in call.heard:
        return Ignored("repeats-what-was-decided")
    name = f"{call.call_id}#{event.epoch}.{event.attempt}"
    asked = call.tries.reviews if isinstance(event, Decision) else call.tries.questions
    if not isinstance(call.state, Settled) and (not asked or (event.epoch, event.attempt) > (state.epoch, asked)):
        return Refused(RejectionCode.FOREIGN_ATTEMPT, Blame.WORLD, name)
    return stale(RejectionCode.ALREADY_DECIDED, name)
