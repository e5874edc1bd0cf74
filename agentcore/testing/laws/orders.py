"""Laws about commands: where they come from, that none returns, and what is never ordered any more (L3, L4, L8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from agentcore.commands import Command, ExecuteTool, Key, RecordRejection, RequestModel, key_of
from agentcore.events import SessionResumed
from agentcore.messages import (
    DeniedCall,
    FailedCall,
    InvalidCall,
    NotExecuted,
    NotExecutedReason,
    Outcome,
    ToolMessage,
    is_error,
)
from agentcore.policy import ToolContract
from agentcore.states import (
    ENDS,
    WORKING,
    AwaitingApproval,
    AwaitingModel,
    AwaitingRetry,
    CancellationRequested,
    Compacting,
    Executing,
    Settled,
    State,
    Stopping,
    Streaming,
)
from agentcore.testing.laws.base import Law, Monitor, transition_law, words
from agentcore.testing.numbers import last_minted
from agentcore.testing.passage import Passage, all_calls


def commands_are_the_difference(passage: Passage) -> str | None:
    """Commands equal the difference of outstanding work: what is outstanding after and was not before, in that order;
    after a resume everything that is outstanding. While a key is outstanding it stands for the same command.

    A key that left never returns, not even across a crash that lost events: every new key carries the epoch in force,
    epochs rise with each resume that anybody saw, and within an epoch a key is beyond all of its name and id that left.
    Its number is one that was minted for it: no counter stands below it. And nothing is waited for in silence: ``OWED``
    has what each phase and each call state has outstanding.
    """
    if passage.verdict != "accepted":
        return None
    waits_for, waited_for = passage.waits_for, passage.waited_for
    resumed = isinstance(passage.event, SessionResumed)
    expected = tuple(command for key, command in waits_for.items() if resumed or key not in waited_for)
    if passage.commands != expected:
        return f"ordered was {named(passage.commands)}; newly outstanding is {named(expected)}"
    if len(passage.outstanding_after) != len(waits_for):
        return "a key is outstanding twice"
    for key, command in waits_for.items():
        if isinstance(command, RecordRejection):
            return "a rejection is outstanding"
        if key in waited_for and not resumed:
            if waited_for[key] != command:
                return f"the command behind {shown(key)} was exchanged while it was outstanding"
        elif key.epoch != passage.after.epoch:
            return f"{shown(key)} was ordered in epoch {passage.after.epoch}"
        elif (minted := last_minted(passage.after, key.name, key.id)) is None or key.attempt > minted:
            return f"{shown(key)} was ordered, and {minted} was the last number minted for it"
    return _silent(passage)


OWED: Mapping[type[Any], tuple[str, ...]] = {
    AwaitingModel: ("request-model",),
    Streaming: ("request-model",),
    AwaitingRetry: ("start-timer",),
    Compacting: ("compact-context",),
    AwaitingApproval: ("ask-approval",),
    Executing: ("execute-tool",),
    CancellationRequested: ("execute-tool", "cancel-tool"),
}
"""What is outstanding in each phase, and for each call in a state."""


def _silent(passage: Passage) -> str | None:
    """Say what is waited for, though nobody was told."""
    phase, told = passage.after.phase, {(key.name, key.id.rpartition("/")[2]) for key in passage.waits_for}
    for name in OWED.get(type(phase), ()):
        if (name, passage.after.request_id) not in told:
            return f"the turn is {type(phase).__name__}, and no {name} is outstanding"
    for call in all_calls(passage.after):
        for name in OWED.get(type(call.state), ()):
            if (name, call.call_id) not in told:
                return f"{call.call_id} is {type(call.state).__name__}, and no {name} is outstanding"
    return None


@attrs.frozen
class Gone:
    """Which keys have left ``outstanding``, as far as the world remembers."""

    epoch: int = -1
    """The newest epoch that the world has seen."""
    marks: Mapping[tuple[str, str], int] = attrs.field(factory=dict)
    """The highest attempt of that epoch that left, by name and id."""


def note_what_left(gone: Gone, passage: Passage) -> tuple[Gone, str | None]:
    """Remember the keys that left with an event, and say which new key had left before."""
    after = passage.after
    if isinstance(passage.event, SessionResumed):
        problem = f"epoch {after.epoch} was there before" if after.epoch <= gone.epoch else None
        return Gone(after.epoch), problem
    waited_for, waits_for = passage.waited_for, passage.waits_for
    left = waited_for.keys() - waits_for.keys()
    if not left:
        return gone, _returning(gone, waits_for.keys() - waited_for.keys())
    marks = dict(gone.marks)
    for key in left:
        marks[place_of(key)] = max(marks.get(place_of(key), key.attempt), key.attempt)
    gone = Gone(after.epoch, marks)
    return gone, _returning(gone, waits_for.keys() - waited_for.keys())


def _returning(gone: Gone, new: Iterable[Key]) -> str | None:
    for key in new:
        mark = gone.marks.get(place_of(key), -1)
        if key.attempt <= mark:
            return f"{shown(key)} is ordered, but attempt {mark} of it has already left"
    return None


def place_of(key: Key) -> tuple[str, str]:
    """Return what numbers are counted along; checkpoints are numbered along the session, whatever they cover."""
    return key.name, "" if key.name == "persist-checkpoint" else key.id


def what_may_return(gone: Gone, state: State) -> tuple[object, ...]:
    """Return the marks that can still be compared with, as distances from the number that was minted last."""
    distances = ((place, last_minted(state, *place), mark) for place, mark in gone.marks.items())
    return tuple(sorted((place, last - mark) for place, last, mark in distances if last is not None))


L3 = Law(
    "L3",
    words(commands_are_the_difference),
    commands_are_the_difference,
    monitor=Monitor(Gone(), note_what_left, what_may_return, of_world=True),
)


@transition_law("L4")
def an_ended_turn_is_over(passage: Passage) -> str | None:
    """An ended turn has nothing outstanding that belongs to it: only checkpoints, and what the register waits for.

    No later event of that turn emits an execution or a model request; only a new turn does.
    """
    after = passage.after
    if isinstance(after.phase, ENDS):
        entries = {call.call_id for call in after.register}
        for key in passage.waits_for:
            subject = key.id.partition("/")[2] if key.name == "start-timer" else key.id
            if key.name != "persist-checkpoint" and key.id != "checkpoint" and subject not in entries:
                return f"{shown(key)} is outstanding though turn {after.turn.number} has ended"
    if isinstance(passage.before.phase, ENDS) and after.turn.number == passage.before.turn.number:
        return _forbidden(passage, "its turn has ended")
    return None


@transition_law("L8")
def stopping_starts_nothing(passage: Passage) -> str | None:
    """Once ``Stopping``, no ``ExecuteTool`` and no ``RequestModel`` of that turn is ordered.

    And a turn that has to stop is stopped: none works on behind an outcome that ends it by policy or contract, which is
    a refused permission or an error that stops the turn, or a call or task that blocks it and did not succeed.
    """
    before, after = passage.before, passage.after
    if before is not after and isinstance(after.phase, WORKING) and (ends := _ends_turn(passage)) is not None:
        return f"{ends} ends turn {after.turn.number}, and that is {type(after.phase).__name__}"
    same_turn = before.turn.number == after.turn.number
    if isinstance(after.phase, Stopping) or (isinstance(before.phase, Stopping) and same_turn):
        return _forbidden(passage, "the turn is stopping")
    return None


def _ends_turn(passage: Passage) -> str | None:
    """Return the call of the turn whose outcome does not let it go on: in the batch, just written, or a task."""
    before, after = passage.before, passage.after
    if not passage.moved:
        return None
    batch = after.batch.calls if after.batch is not None else ()
    ends = [(call.call_id, call.state.outcome, call.contract) for call in batch if isinstance(call.state, Settled)]
    if before.batch is not None and before.turn.number == after.turn.number:
        contracts = {call.call_id: call.contract for call in before.batch.calls}
        said = (result for each in passage.said if isinstance(each, ToolMessage) for result in each.results)
        ends += [(each.call_id, each.outcome, contracts[each.call_id]) for each in said if each.call_id in contracts]
    for call_id, outcome, contract in ends:
        if _stops(after, outcome) or _blocks(contract, outcome):
            return call_id
    own = f"{after.turn.number}."
    for call in after.register:
        of_turn = call.contract.detached and call.call_id.startswith(own)
        if of_turn and isinstance(call.state, Settled) and _blocks(call.contract, call.state.outcome):
            return call.call_id
    return None


def _stops(state: State, outcome: Outcome) -> bool:
    """Say whether the policy ends the turn for an outcome."""
    policy = state.config.policy
    if isinstance(outcome, FailedCall):
        return (policy.fatal_error if outcome.fatal else policy.recoverable_error) == "stop_turn"
    return isinstance(outcome, DeniedCall) and getattr(policy, f"denied_{outcome.case.value}") == "stop_turn"


def _blocks(contract: ToolContract, outcome: Outcome) -> bool:
    """Say whether a call that may not fail did not succeed; one that was unfit to run, or had no room, is none."""
    if contract.on_failure != "block" or isinstance(outcome, InvalidCall):
        return False
    if isinstance(outcome, NotExecuted):
        return outcome.reason is not NotExecutedReason.MAX_TOOL_CALLS
    return is_error(outcome)


def _forbidden(passage: Passage, why: str) -> str | None:
    for command in passage.commands:
        if isinstance(command, ExecuteTool | RequestModel):
            return f"{shown(key_of(command))} was ordered though {why}"
    return None


def shown(key: Key) -> str:
    """Name a key: ``execute-tool 1.1.0 (epoch 0, attempt 1)``."""
    return f"{key.name} {key.id} (epoch {key.epoch}, attempt {key.attempt})"


def named(commands: Iterable[Command]) -> str:
    """Name commands in order."""
    return ", ".join(shown(key_of(command)) for command in commands) or "nothing"
