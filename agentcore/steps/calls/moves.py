"""The few moves of a call from which its rows are made: settle, suspect, run again, conclude an absence.

1. A result speaks of its own attempt. A call with an earlier attempt neither proved nor voided cannot settle as
   something that denies an
   effect; it becomes unknown and a person is asked.
2. A loss proves nothing: a pure call runs again, a keyed one runs again under the same key, everything else is found
   out.
3. What is conclusive is decided here, not by the tool.
"""

from __future__ import annotations

from agentcore.events import Inspector
from agentcore.evolve import evolve
from agentcore.limits import allows
from agentcore.messages import (
    FailedCall,
    InvalidCall,
    InvalidReason,
    NotExecuted,
    NotExecutedReason,
    Outcome,
)
from agentcore.policy import Effect
from agentcore.states import (
    Because,
    Call,
    Cancel,
    EffectUnknown,
    Inquiry,
    Proposed,
    Ready,
    Released,
    Run,
    Settled,
    State,
    Stopping,
    StopReason,
)
from agentcore.steps.base import quiet, stopping, why

Facts = tuple[tuple[str, object], ...]
"""Named facts for a transition."""


def settle(call: Call, outcome: Outcome, because: Because, *facts: tuple[str, object], run: Run | None = None) -> Call:
    """Give the call its one answer; a release that was never started is no attempt it could speak of."""
    if run is None and not isinstance(call.state, Released):
        run = call.run
    return evolve(call, state=Settled(why(because, *facts), outcome, run))


def settle_denying(
    state: State, call: Call, outcome: Outcome, because: Because, *facts: tuple[str, object], run: Run | None = None
) -> Call:
    """Settle with an outcome that denies an effect, unless an earlier attempt may have had one: then ask a person."""
    if not call.unproved:
        return settle(call, outcome, because, *facts, run=run)
    return _suspect_earlier(state, call, *facts, ("attempt_said", type(outcome).__name__))


def _suspect_earlier(state: State, call: Call, *facts: tuple[str, object]) -> Call:
    """Ask a person about the last of the earlier attempts that may have acted, now that the newer ones did not."""
    earlier, asked = call.unproved[-1], evolve(call, unproved=call.unproved[:-1])
    return suspect(state, asked, earlier, Because.EARLIER_ATTEMPT_UNPROVED, *facts)


def settle_absent(call: Call, proof: str) -> Call:
    """Report to the model that the effect was proved not to have happened."""
    outcome = NotExecuted(NotExecutedReason.PROVED_ABSENT, proof)
    return settle(call, outcome, Because.ABSENCE_REPORTED, ("evidence", proof))


def inspector_for(state: State, call: Call) -> Inspector:
    """Say who looks: the tool's own inspection while it exists, can be conclusive and has tries left; else a person."""
    program = (
        call.contract.programs_inspect
        and state.config.tool(call.name) is not None
        and not call.unproved
        and not quiet(state)
        and allows(state.config.limits.inspections, call.tries.inspections_used)
    )
    return Inspector.PROGRAM if program else Inspector.PERSON


def ask(state: State, call: Call, *, by: Inspector | None = None) -> tuple[Call, Inquiry]:
    """Order an inspection now; automatic ones are counted."""
    by = by or inspector_for(state, call)
    tries = evolve(call.tries, inspections=call.tries.inspections + 1)
    if by is Inspector.PROGRAM:
        tries = evolve(tries, inspections_used=tries.inspections_used + 1)
    return evolve(call, tries=tries), Inquiry(by, tries.inspections, ordered_at=state.at)


def suspect(
    state: State,
    call: Call,
    run: Run,
    because: Because,
    *facts: tuple[str, object],
    live: bool = False,
    cancel: Cancel | None = None,
    person: bool = False,
    inquiry: Inquiry | None = None,
) -> Call:
    """Make the effect unknown, with its inspection on offer."""
    if inquiry is None:
        call, inquiry = ask(state, call, by=Inspector.PERSON if person else None)
    transition = why(because, ("asked", inquiry.by.value), *facts)
    reports = call.state.reports if isinstance(call.state, EffectUnknown) else ()
    call = evolve(call, voided=tuple(other for other in call.voided if other.id != run.id))
    unknown = EffectUnknown(transition, run, inquiry, live=live, cancel=cancel, reports=reports)
    return evolve(call, state=unknown)


def suspect_running(state: State, call: Call, run: Run, because: Because, *facts: tuple[str, object]) -> Call:
    """Make the effect of an attempt unknown that may still run: it is told to stop and looked into at once.

    Nobody has to look at a keyed one yet: it runs again under the same key once the attempt has ended.
    """
    call, cancel = order_cancel(state, call)
    inquiry = None
    if call.contract.effect is Effect.KEYED:
        number = call.tries.inspections + 1
        call = evolve(call, tries=evolve(call.tries, inspections=number))
        inquiry = Inquiry(Inspector.PERSON, number, resume_at=cancel.grace_at)
    return suspect(state, call, run, because, *facts, live=True, cancel=cancel, inquiry=inquiry)


def order_cancel(state: State, call: Call) -> tuple[Call, Cancel]:
    """Mint an order to stop, with its grace."""
    number = call.tries.cancels + 1
    cancel = Cancel(number, state.at + state.config.limits.grace_ms)
    return evolve(call, tries=evolve(call.tries, cancels=number)), cancel


def may_run_again(state: State, call: Call) -> bool:
    """Say whether one more execution of the call fits and is wanted."""
    return (
        not stopping(state, call)
        and not call.registered
        and not call.aborted
        and allows(state.config.limits.effect_retries, call.tries.retries_used)
    )


def run_again(state: State, call: Call, because: Because, *facts: tuple[str, object]) -> Call:
    """Bring the call back for one more attempt, counted against its bound."""
    tries = evolve(call.tries, retries_used=call.tries.retries_used + 1)
    return bring_back(state, evolve(call, tries=tries), because, *facts)


def bring_back(state: State, call: Call, because: Because, *facts: tuple[str, object]) -> Call:
    """Bring the call back to where its next attempt is released, by way of a review if the configuration is new."""
    if call.reviewed_in == state.epoch:
        return evolve(call, state=Ready(why(because, *facts)))
    return review(state, call, because, *facts)


def review(state: State, call: Call, because: Because, *facts: tuple[str, object]) -> Call:
    """Send the call to a new review; one whose tool is gone gets none."""
    if state.config.tool(call.name) is None:
        return permission_gone(state, call, NotExecutedReason.TOOL_GONE)
    # A hook that changes arguments starts from the same ones again, so that a grant for its outcome still fits.
    tries = evolve(call.tries, reviews=call.tries.reviews + 1)
    return evolve(call, state=Proposed(why(because, *facts), state.seq), arguments=call.proposed, tries=tries)


def permission_gone(state: State, call: Call, reason: NotExecutedReason, said: str = "") -> Call:
    """Do not run again what may not run: a possible deed is asked of a person, a read was not executed."""
    facts = (("reason", reason.value), ("said", said))
    if call.tries.executions:
        outcome: Outcome = NotExecuted(reason, said, retryable=False)
        return settle_denying(state, call, outcome, Because.PERMISSION_GONE, *facts)
    names = ", ".join(tool.name for tool in state.config.tools) or "none"
    problem = f"there is no tool {call.name!r} any more. Available tools: {names}"
    return settle(call, InvalidCall(InvalidReason.TOOL_NOT_FOUND, problem), Because.TOOL_NOT_FOUND, *facts)


def lose(state: State, call: Call, because: Because, *facts: tuple[str, object]) -> Call:
    """Deal with the present attempt being out of sight."""
    effect, run = call.contract.effect, call.run
    assert run is not None
    if effect is Effect.PURE and not may_run_again(state, call):
        cause = dict(facts).get("cause", because.value)
        return settle(call, FailedCall(f"lost: {cause}", kind="lost"), because, *facts)
    if effect is Effect.PURE:
        return run_again(state, call, Because.EFFECT_RETRIED, *facts)
    if effect is Effect.KEYED and may_run_again(state, call):
        return run_again_keyed(state, call, run, *facts)
    return suspect(state, call, run, because, *facts)


def run_again_keyed(state: State, call: Call, run: Run, *facts: tuple[str, object]) -> Call:
    """Run a keyed call again under the same key; the attempt that has ended without proof may have acted."""
    return run_again(state, evolve(call, unproved=(*call.unproved, run)), Because.EFFECT_RETRIED, *facts)


def conclude_absent(state: State, call: Call, unknown: EffectUnknown, evidence: str, *, retry_safe: bool) -> Call:
    """Take a conclusive proof that the attempt did not act: run again, or report (D-8)."""
    run = unknown.run
    if call.unproved:
        return _suspect_earlier(state, evolve(call, voided=(*call.voided, run)), ("evidence", evidence))
    if run.id not in (other.id for other in call.voided):
        call = evolve(call, voided=(*call.voided, run))
    outcome = NotExecuted(NotExecutedReason.PROVED_ABSENT, evidence)
    facts = (("evidence", evidence), ("retry_safe", "yes" if retry_safe else ""))
    if stopping(state, call) or call.registered:
        return settle(call, outcome, Because.INSPECTED_ABSENT, *facts)
    contract = call.contract
    mode = contract.absent_after_resume if run.resumed else contract.absent_otherwise
    if mode == "retry" and may_run_again(state, call):
        return run_again(state, call, Because.EFFECT_RETRIED, *facts)
    waiting = evolve(
        unknown,
        transition=why(Because.INSPECTED_ABSENT, *facts),
        proved_absent=evidence,
        rechecked=False,
        live=False,
        cancel=None,
    )
    return evolve(call, state=waiting)


def not_started(state: State) -> NotExecuted:
    """Return why a call that had not started does not start: the reason for which its turn stops."""
    reason = state.phase.ending.reason if isinstance(state.phase, Stopping) else StopReason.USER_ABORT
    if reason is StopReason.USER_ABORT:
        return NotExecuted(NotExecutedReason.USER_ABORT)
    if reason is StopReason.STORAGE:
        return NotExecuted(NotExecutedReason.STORAGE)
    return NotExecuted(NotExecutedReason.TURN_STOPPED)
