"""The law about limits (L15)."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from agentcore.events import HOST_EVENTS, TimerFired
from agentcore.limits import Count, Limits, allows
from agentcore.states import WORKING, Call, Counters, Ending, State, StopReason
from agentcore.testing.laws.base import transition_law
from agentcore.testing.laws.case import is_overdue
from agentcore.testing.laws.ranking import ranking
from agentcore.testing.passage import Passage, find_call

_COUNTED = tuple(field.name for field in attrs.fields(Counters))
_OF_CALL: Mapping[str, str] = {
    "effect_retries": "retries_used",
    "inspections": "inspections_used",
    "observations": "observations_used",
    "changed_grants": "changes_used",
}


@transition_law("L15")
def limits_hold(passage: Passage) -> str | None:
    """No request or execution starts once its limit is reached, zero included; counted limits are never exceeded,
    measured ones (tokens, cost, time) only by what was under way; the ranking falls.

    A count may pass its bound by the one that ends the turn, so counts are compared while the turn works. The ranking
    falls, compared from left to right, with every accepted event that is neither the host's nor a timer's, wherever
    every loop has a bound. A turn whose time is up works no more, whatever comes: it ends for that reason. A step asks
    nothing with a context that has reached the threshold and was not made smaller.
    """
    before, after = passage.before, passage.after
    if before is after:
        return None
    limits = after.config.limits
    if problem := _overdue(passage):
        return problem
    if passage.requests and (problem := _requested(before, after, limits)):
        return problem
    for command in passage.executions:
        call, known = find_call(after, command.call_id), find_call(before, command.call_id)
        counted = known is not None and known.counted
        if call is not None and not counted and not _fits(limits.tool_calls, after.turn.counters.tool_calls):
            return f"{command.call_id} is executed beyond {limits.tool_calls} tool calls"
    for old, new in passage.moved:
        if old is not None and new is not None and (problem := _exceeded_by(old, new, limits)):
            return problem
    return _exceeded(before, after, limits) or _not_fallen(passage)


def _overdue(passage: Passage) -> str | None:
    """Say that a turn goes on, or ends for another reason, although its time is up."""
    before, after = passage.before, passage.after
    if isinstance(after.phase, WORKING) and after.turn.due_at is not None and after.at >= after.turn.due_at:
        return f"turn {after.turn.number} works on after its time"
    if not is_overdue(before, passage.event) or after.turn.number != before.turn.number:
        return None
    ending: Ending | None = getattr(after.phase, "ending", None)
    timely = ending is not None and ending.reason is StopReason.TIMEOUT
    return None if timely else f"the time was up, and turn {after.turn.number} does not end for that"


def _fits(limit: Count, used: int) -> bool:
    """Say whether what is used up, the last one included, is within a limit."""
    return limit is None or used <= limit


def _requested(before: State, after: State, limits: Limits) -> str | None:
    """Say which limit forbids a request that has just been ordered; a step that was begun may be asked for again."""
    turn = after.turn
    begun = (turn.number, turn.steps) != (before.turn.number, before.turn.steps)
    if begun and not _fits(limits.steps, turn.steps):
        return f"step {turn.steps} is requested, {limits.steps} are allowed"
    large = limits.compact_at_tokens is not None and turn.context_tokens >= limits.compact_at_tokens
    if large and (turn.requests, turn.compactions) == (1, 0):
        return f"a request is ordered with {turn.context_tokens} tokens, the threshold is {limits.compact_at_tokens}"
    if not allows(limits.tokens, turn.usage.tokens):
        return f"a request is ordered after {turn.usage.tokens} of {limits.tokens} tokens"
    if not allows(limits.cost_micros, turn.usage.cost_micros or 0):
        return f"a request is ordered after {turn.usage.cost_micros} of {limits.cost_micros} millionths"
    return None


def _exceeded(before: State, after: State, limits: Limits) -> str | None:
    """Say which count rose beyond its bound; one that a new configuration left beyond does not rise further."""
    if isinstance(after.phase, WORKING) and after.turn.counters is not before.turn.counters:
        for name in _COUNTED:
            old, new = getattr(before.turn.counters, name), getattr(after.turn.counters, name)
            if new > old and not _fits(getattr(limits, name), new):
                return f"{name} is {new}, the bound is {getattr(limits, name)}"
    return None


def _exceeded_by(old: Call, new: Call, limits: Limits) -> str | None:
    """Say which count of a call rose beyond its bound."""
    for name, counter in _OF_CALL.items():
        used = getattr(new.tries, counter)
        if used > getattr(old.tries, counter) and not _fits(getattr(limits, name), used):
            return f"{counter} of {new.call_id} is {used}, the bound {name} is {getattr(limits, name)}"
    return None


def _not_fallen(passage: Passage) -> str | None:
    if isinstance(passage.event, (*HOST_EVENTS, TimerFired)):
        return None
    old, new = ranking(passage.before), ranking(passage.after)
    if old is None or new is None or new < old:
        return None
    return f"the ranking went from {old} to {new} by {type(passage.event).__name__}"
