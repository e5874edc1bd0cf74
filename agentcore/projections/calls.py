"""What is known of the calls of a session, whichever list they stand in; the other projections ask here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agentcore.events import Inspector
from agentcore.messages import Outcome, is_error, is_open
from agentcore.states import AwaitingApproval, Call, CancellationRequested, EffectUnknown, Settled, State

NAMES_MAX = 3
"""How many calls a sentence names before it says how many more there are."""


def all_calls(state: State) -> Mapping[str, Call]:
    """Return the calls of the running batch and of the register by id.

    A call that stands in both has its answer in the batch; what is still to be known of it stands in the register.
    """
    batch = state.batch.calls if state.batch is not None else ()
    return {call.call_id: call for call in (*batch, *state.register)}


def is_unresolved(call: Call) -> bool:
    """Say whether nobody can tell yet whether the call's effect happened, or whether its attempt has ended."""
    current = call.state
    if isinstance(current, EffectUnknown):
        return current.proved_absent is None
    if isinstance(current, Settled):
        return is_open(current.outcome)
    return isinstance(current, CancellationRequested)


def unresolved(state: State) -> tuple[Call, ...]:
    """Return the unresolved calls, oldest list first."""
    return tuple(call for call in all_calls(state).values() if is_unresolved(call))


def went_well(outcome: Outcome) -> bool | None:
    """Say whether a call succeeded; ``None`` where nobody can tell whether its effect happened."""
    return None if is_open(outcome) else not is_error(outcome)


def asks_person(call: Call) -> bool:
    """Say whether a person is asked about the call at this moment: for permission, or what became of it."""
    current = call.state
    if isinstance(current, EffectUnknown):
        inquiry, looked_into = current.inquiry, current.proved_absent is None or current.rechecked
        return looked_into and inquiry.by is Inspector.PERSON and inquiry.resume_at is None
    return isinstance(current, AwaitingApproval)


def in_state(state: State, *kinds: type[object]) -> tuple[Call, ...]:
    """Return the calls of the running batch that are in one of the states."""
    batch = state.batch
    return tuple(call for call in batch.calls if isinstance(call.state, kinds)) if batch is not None else ()


def named(calls: Iterable[Call]) -> str:
    """Name calls for people: ``pay (1.1.0), mail (1.1.1) and 2 more``."""
    names = [f"{call.name} ({call.call_id})" for call in calls]
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return ", ".join(names[:NAMES_MAX]) + more
