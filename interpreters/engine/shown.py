"""What frontends are shown of one accepted event: read off the states before and after it, and from nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain

import attrs

from agentcore.commands import AskApproval, Command, ExecuteTool, RequestModel
from agentcore.events import (
    ApprovalDenied,
    ApprovalGranted,
    CheckpointFailed,
    DenialKind,
    Event,
    ModelFailed,
    ModelReplied,
    ModelStopped,
    SessionResumed,
)
from agentcore.messages import ToolMessage
from agentcore.states import ENDS, AwaitingRetry, Call, Compacting, Ending, Idle, Saving, Settled, State
from interpreters.support.views import (
    ApprovalAsked,
    ApprovalWithdrawn,
    PartialDiscarded,
    RecoveryView,
    StateView,
    StepEnd,
    ToolResultView,
    ToolStart,
    TurnEnd,
    UsageView,
    View,
)


@attrs.frozen
class Passage:
    """One accepted event, with what it changed."""

    before: State
    """The state it met."""
    event: Event
    """What happened."""
    after: State
    """What came of it."""
    ordered: tuple[Command, ...]
    """What is newly ordered."""
    gone: Collection[Command]
    """What is no longer waited for."""


def views_of(passage: Passage, shown: Collection[RequestModel]) -> Iterator[View]:
    """Return the views of a passage, in order; ``shown`` are requests of which text was shown."""
    yield StateView(passage.after.seq, passage.after)
    yield from _recovery(passage)
    yield from _withdrawn(passage, shown)
    yield from _results(passage)
    if passage.after.usage != passage.before.usage:
        yield UsageView(passage.after.turn.usage, passage.after.usage)
    if _active(passage.before) and (
        passage.after.request_id != passage.before.request_id or not _active(passage.after)
    ):
        yield StepEnd(passage.before.request_id)
    yield from _turn_end(passage)
    yield from _begun(passage)


def _active(state: State) -> bool:
    return not isinstance(state.phase, (Idle, Saving, *ENDS)) and state.turn.step > 0


def _recovery(passage: Passage) -> Iterator[View]:
    match passage.event:
        case SessionResumed(recovery=recovery):
            yield RecoveryView("resumed", f"resumed after event {recovery.last_seq}", recovery)
        case ModelFailed(message=message) if isinstance(passage.after.phase, AwaitingRetry | Compacting):
            # A choice of what is shown, never of what is kept (D-20).
            if passage.after.config.policy.show_recoverable:
                yield RecoveryView("model", message)
        case CheckpointFailed(reason=reason):
            yield RecoveryView("storage", reason)
        case _:
            pass


def _withdrawn(passage: Passage, shown: Collection[RequestModel]) -> Iterator[View]:
    """Take back what does not count: text of a request that brought no message, questions nobody waits for."""
    kept = isinstance(passage.event, ModelReplied | ModelStopped)
    for command in passage.gone:
        if isinstance(command, RequestModel) and command in shown and not kept:
            yield PartialDiscarded(command.request_id, command.attempt)
        if isinstance(command, AskApproval):
            yield ApprovalWithdrawn(command.call_id, _answers(passage.event, command.call_id))


def _answers(event: Event, call_id: str) -> bool:
    match event:
        case ApprovalGranted() | ApprovalDenied(kind=DenialKind.REFUSED):
            return event.call_id == call_id
        case _:
            return False


def _results(passage: Passage) -> Iterator[View]:
    """Return each call that has its outcome since this event, in the batch, in history, or in the register."""
    before, after = passage.before, passage.after
    known = {call.call_id for call in _calls(before) if isinstance(call.state, Settled)}
    told: set[str] = set()
    for call in _calls(after):
        if isinstance(call.state, Settled) and call.call_id not in known | told:
            told.add(call.call_id)
            yield ToolResultView(call.call_id, call.name, call.state.outcome)
    for message in after.history.since(len(before.history)):
        for result in message.results if isinstance(message, ToolMessage) else ():
            # An imported history holds results of calls that never were ours.
            if result.call_id not in known | told and before.open:
                yield ToolResultView(result.call_id, result.name, result.outcome)


def _calls(state: State) -> Iterator[Call]:
    return chain(state.batch.calls if state.batch else (), state.register)


def _turn_end(passage: Passage) -> Iterator[View]:
    ending = ending_of(passage.before, passage.after)
    if ending is not None:
        yield TurnEnd(passage.before.turn.number, ending.reason, ending.message, ending.warning)


def ending_of(before: State, after: State) -> Ending | None:
    """Return how the turn of ``before`` ended between the two states, or ``None`` if it did not."""
    if not before.open:
        return None
    if after.turn.number > before.turn.number:
        # A follow-up began in the same reduction: the end was passed through.
        return before.phase.ending if isinstance(before.phase, Saving) else None
    return after.phase.ending if isinstance(after.phase, ENDS) else None


def _begun(passage: Passage) -> Iterator[View]:
    for command in passage.ordered:
        if isinstance(command, ExecuteTool):
            call = _call(passage.after, command.call_id)
            yield ToolStart(call.call_id, call.name, call.arguments, command.attempt)
        if isinstance(command, AskApproval):
            call = _call(passage.after, command.call_id)
            due_at = call.question.due_at if call.question else None
            yield ApprovalAsked(
                call.call_id, call.name, call.arguments, command.digest, call.rule, command.reason, due_at
            )


def _call(state: State, call_id: str) -> Call:
    return next(call for call in _calls(state) if call.call_id == call_id)
