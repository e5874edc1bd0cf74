"""The law about deeds: what the world counts, and what is said of it (L7)."""

from __future__ import annotations

from agentcore.messages import CancelledCall, DeniedCall, EffectSeen, FailedCall, NotExecuted, NotExecutedReason
from agentcore.policy import Effect
from agentcore.states import Settled
from agentcore.testing.laws.base import Law, words
from agentcore.testing.passage import Passage
from agentcore.testing.world import Attempt, Deed, World


def deeds_are_single(world: World, passage: Passage | None) -> str | None:
    """The world counts at most one deed per call, unless the tool is pure or keyed or a person's word stood between;
    two
    executions are always separated by a conclusive not-executed finding or a person's word. Across crashes that lose
    any
    suffix after the last durable seq.

    A finding is conclusive if it is true for good: when an execution is ordered, every earlier one of the call is
    void or
    a person has spoken about it. And what is said of an effect is true: a call settles as not executed, denied, failed,
    or cancelled without effect only if none of its attempts has acted or can still act, a person's word apart. The keys
    that are gone stay with the world too: L3 never takes them back.
    """
    for attempt in world.attempts:
        if attempt.deed is Deed.DONE and not attempt.excused and not attempt.repeatable:
            deeds = [each for each in world.of(attempt.call_id) if each.deed is Deed.DONE and not each.excused]
            if len(deeds) > 1:
                return f"{attempt.call_id} acted {len(deeds)} times, in the attempts {[each.run for each in deeds]}"
    if passage is None or passage.before is passage.after:
        return None
    return _unseparated(world, passage) or _untrue(world, passage)


def _unseparated(world: World, passage: Passage) -> str | None:
    for command in passage.executions:
        own = (command.epoch, command.attempt)
        for attempt in world.of(command.call_id):
            if attempt.run != own and not attempt.repeatable and not _is_harmless(attempt, world):
                return f"{command.call_id} is executed as {own} though attempt {attempt.run} has acted or may still act"
    return None


def _untrue(world: World, passage: Passage) -> str | None:
    for old, new in passage.moved:
        if new is None or not isinstance(new.state, Settled) or (old is not None and old.state == new.state):
            continue
        if denies_effect(new.state) and new.contract.effect is not Effect.PURE:
            acting = [each.run for each in world.of(new.call_id) if not _is_harmless(each, world)]
            if acting:
                return f"{new.call_id} is settled as {new.state.outcome} though {acting} have acted or may still act"
    return None


def _is_harmless(attempt: Attempt, world: World) -> bool:
    return attempt.excused or attempt.deed is Deed.VOID or (attempt.deed is Deed.MAY and not attempt.may_act(world.now))


def denies_effect(settled: Settled) -> bool:
    """Say whether an outcome claims that the effect did not happen, or ended in an error of its own."""
    match settled.outcome:
        case NotExecuted(reason=reason):
            return reason is not NotExecutedReason.PERSON_SAYS
        case FailedCall() | DeniedCall() | CancelledCall(effect=EffectSeen.NONE):
            return True
        case _:
            return False


L7 = Law("L7", words(deeds_are_single), world=deeds_are_single)
