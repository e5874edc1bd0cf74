"""Laws about crashes and aborts: what survives, and what is reached (L19, L20)."""

from __future__ import annotations

from collections.abc import Iterator

from agentcore import events
from agentcore.commands import (
    CancelModel,
    CancelTool,
    Command,
    ExecuteTool,
    PersistCheckpoint,
    RequestModel,
    StartTimer,
)
from agentcore.events import AbortRequested, AbortScope, Event, SessionResumed
from agentcore.messages import EffectSeen, TextPart
from agentcore.states import (
    ENDS,
    RUNNING,
    WORKING,
    Call,
    EffectUnknown,
    Idle,
    Ready,
    Released,
    Saving,
    Settled,
    State,
    Stopping,
    StopReason,
)
from agentcore.testing.answers import failing, names
from agentcore.testing.core import Core
from agentcore.testing.laws.base import state_law, transition_law
from agentcore.testing.laws.ranking import ranking
from agentcore.testing.laws.record import is_prefix, unbalanced, what_is_settled_stays
from agentcore.testing.passage import Passage, all_calls
from agentcore.testing.world import DEAD_MS

STEPS_MAX = 500
"""Answers after a resume within which the turn has to end."""


@state_law("L19")
def a_crash_is_survived(state: State, core: Core) -> str | None:
    """After a crash the surviving history stays a prefix, no recorded end changes, every call gets its one result, the
    turn ends, deeds stay within L7; a bound spent by the crash may change which end.

    Every explored state is a journal prefix that may be what survives. It is resumed, and everything that is then
    outstanding is answered in the plainest way until no turn is open; where a loop is unbounded by the host's own
    wish, the end is not demanded. The deeds are the world's to count: L7 is checked wherever an exploration crashes.
    """
    event: Event = SessionResumed(
        at=state.at + DEAD_MS, config=state.config, recovery=events.Recovery(last_seq=state.seq)
    )
    now = state
    for _ in range(STEPS_MAX):
        passage = Passage(now, event, core.reduce(now, event), core)
        if problem := _lost(passage, state):
            return f"resumed at {state.seq}: {problem}"
        now = passage.after
        following = _plainly(now, core)
        if following is None:
            break
        event = following
    if not isinstance(now.phase, (Idle, *ENDS)) and ranking(state) is not None:
        return f"resumed at {state.seq}: the turn does not end, it is {type(now.phase).__name__}"
    return unbalanced(tuple(now.history))


def _lost(passage: Passage, survived: State) -> str | None:
    if passage.verdict != "accepted":
        return f"{type(passage.event).__name__} was {passage.verdict}: {passage.rejection}"
    if not is_prefix(survived.history, passage.after.history):
        return "the surviving history was rewritten"
    settled = what_is_settled_stays.transition
    assert settled is not None
    before, after = passage.before.phase, passage.after.phase
    if (
        isinstance(before, ENDS)
        and isinstance(after, ENDS)
        and (type(before), before.ending) != (type(after), after.ending)
    ):
        return f"the end {before.ending.reason} became {after.ending.reason}"
    return settled(passage)


def _plainly(state: State, core: Core) -> Event | None:
    """Return the plainest answer to the first thing that is outstanding, else the next timer; ``None`` at the end."""
    commands = core.outstanding(state)
    if isinstance(state.phase, (Idle, *ENDS)):
        commands = tuple(command for command in commands if isinstance(command, PersistCheckpoint))
    untimed = [command for command in commands if not isinstance(command, StartTimer)]
    cancelling = {command.call_id for command in untimed if isinstance(command, CancelTool)}
    answerable = [each for each in untimed if not (isinstance(each, ExecuteTool) and each.call_id in cancelling)]
    if answerable:
        return plain_answer(answerable[0], state.at)
    timers = [command for command in commands if isinstance(command, StartTimer)]
    return failing(min(timers, key=lambda timer: timer.due_at), state.at) if timers else None


def plain_answer(command: Command, at: int) -> Event | None:
    """Return an answer that lets things go on: saved, answered in words, done, stopped; else the failure event."""
    match command:
        case PersistCheckpoint(seq=seq, epoch=epoch, attempt=attempt):
            return events.CheckpointWritten(at=at, seq=seq, epoch=epoch, attempt=attempt)
        case RequestModel():
            return events.ModelReplied(**names(command, at), parts=(TextPart("Done."),))
        case CancelModel():
            return events.ModelStopped(**names(command, at))
        case ExecuteTool():
            return events.ToolSucceeded(**names(command, at), result="done")
        case CancelTool(call_id=call_id, execution=(epoch, attempt)):
            return events.ToolCancelled(at=at, call_id=call_id, epoch=epoch, attempt=attempt, effect=EffectSeen.DONE)
        case _:
            return failing(command, at)


def _ended_otherwise(passage: Passage) -> bool:
    """Say whether the turn came to its end in this passage for another reason than the abort itself."""
    before, after = passage.before.phase, passage.after.phase
    if isinstance(before, Stopping | Saving) or not isinstance(after, Stopping | Saving):
        return False
    return after.ending.reason is not StopReason.USER_ABORT


@transition_law("L20")
def an_abort_reaches_its_scope(passage: Passage) -> str | None:
    """Abort reaches every unit in its scope, unknown ones too, and no other.

    Reached is: work that has not started is settled; a started call or a request was told to stop, and that order is
    outstanding; an act while the turn is stopping already, whatever the reason, leaves nothing of it waiting. A call
    outside of the scope stays as it is, unless a slot that became free lets it start, or its answer is written with the
    others. In a quiet stop no order to stop an unknown effect is given.
    """
    event = passage.event
    if not isinstance(event, AbortRequested) or passage.before is passage.after:
        return None
    due_at = passage.before.turn.due_at
    if due_at is not None and event.at >= due_at:
        return None  # the turn's time is up as well, and that reaches all of it
    if _ended_otherwise(passage):
        return None  # what was stopped blocks its turn, and that reaches all of it
    reached = {call.call_id for call in _in_scope(passage.before, event)}
    for old, new in passage.moved:
        if old is not None and old.call_id not in reached and new is not None and not isinstance(old.state, Ready):
            return f"{old.call_id} is outside of the scope and changed"
    ends_turn = event.scope in (AbortScope.TURN, AbortScope.ALL) and passage.before.open
    if ends_turn and (problem := _still_working(passage)):
        return problem
    return _unreached(passage, event, ends_turn=ends_turn)


def _in_scope(state: State, event: AbortRequested) -> Iterator[Call]:
    """Iterate over the calls that an abort has to reach."""
    entries = {call.call_id for call in state.register}
    for call in all_calls(state):
        own = not call.registered and call.call_id not in entries
        match event.scope:
            case AbortScope.ALL:
                yield call
            case AbortScope.TURN if own:
                yield call
            case AbortScope.CALL | AbortScope.TASK if call.call_id == event.call_id:
                yield call
            case _:
                pass


def _still_working(passage: Passage) -> str | None:
    """Say what of a turn goes on although it was aborted."""
    before, after = passage.before, passage.after
    if isinstance(after.phase, WORKING) and after.turn.number == before.turn.number:
        return f"the turn was aborted and is {type(after.phase).__name__}"
    kinds = {key.name for key in passage.waits_for}
    if "request-model" in kinds and "cancel-model" not in kinds:
        return "a model request was not told to stop"
    asked = any(key.name == "request-model" for key in passage.waited_for)
    if asked and not isinstance(before.phase, Stopping) and "cancel-model" not in kinds:
        return "the request under way was dropped, and what it used with it"
    if isinstance(before.phase, Stopping) and "request-model" in kinds:
        return "a second act still waits for the model"
    return None


def _unreached(passage: Passage, event: AbortRequested, *, ends_turn: bool) -> str | None:
    told = {command.call_id for command in passage.waits_for.values() if isinstance(command, CancelTool)}
    present = {(call.registered, call.call_id): call for call in all_calls(passage.after)}
    given_up = ends_turn and isinstance(passage.before.phase, Stopping)
    quiet = isinstance(passage.before.phase, Stopping) and passage.before.phase.quiet
    for old in _in_scope(passage.before, event):
        new = present.get((old.registered, old.call_id))
        if new is None or isinstance(old.state, Settled) or isinstance(new.state, Settled):
            continue
        if given_up and not old.registered:
            return f"{old.call_id} is still waited for after a second act"
        if not isinstance(old.state, RUNNING) or isinstance(old.state, Released):
            if not isinstance(new.state, EffectUnknown):
                return f"{old.call_id} had not started and is {type(new.state).__name__}"
        elif old.call_id not in told and not quiet:
            return f"{old.call_id} was not told to stop"
    return None
