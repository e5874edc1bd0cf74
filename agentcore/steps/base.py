"""The few moves every step is made of: enter a phase, count, want a checkpoint, find and replace a call."""

from __future__ import annotations

from typing import TypeVar

from agentcore.evolve import evolve
from agentcore.messages import MessageSource, TextPart, Usage
from agentcore.states import (
    Because,
    Call,
    CallState,
    Counters,
    Evidence,
    Phase,
    QueuedMessage,
    RunningTools,
    Settled,
    State,
    Stopping,
    Transition,
    Turn,
)

S = TypeVar("S", bound=CallState)


def why(because: Because, *evidence: tuple[str, object], hops: tuple[Because, ...] = ()) -> Transition:
    """Build a transition; evidence without a value is left out."""
    facts: Evidence = tuple((name, str(value)) for name, value in evidence if value not in ("", None))
    return Transition(because, hops, facts)


def in_phase(state: State, phase: Phase) -> State:
    """Return the state in another phase."""
    return evolve(state, phase=phase)


def in_turn(state: State, turn: Turn) -> State:
    """Return the state with another turn record."""
    return evolve(state, turn=turn)


def counted(state: State, **changes: int) -> State:
    """Add to counters of the turn, by name."""
    counters = state.turn.counters
    raised: Counters = evolve(counters, **{name: getattr(counters, name) + by for name, by in changes.items()})
    return in_turn(state, evolve(state.turn, counters=raised))


def recounted(state: State, **values: int) -> State:
    """Set counters of the turn, by name."""
    counters = state.turn.counters
    if all(getattr(counters, name) == value for name, value in values.items()):
        return state
    return in_turn(state, evolve(state.turn, counters=evolve(counters, **values)))


def consumed(state: State, usage: Usage) -> State:
    """Add what an attempt consumed to turn and session, once."""
    if usage == Usage():
        return state
    return evolve(state, usage=state.usage + usage, turn=evolve(state.turn, usage=state.turn.usage + usage))


def want_checkpoint(state: State) -> State:
    """Ask that everything up to this event becomes durable."""
    if state.storage.wanted == state.seq:
        return state
    return evolve(state, storage=evolve(state.storage, wanted=state.seq))


def stopping(state: State, call: Call) -> bool:
    """Say whether the end of the call's turn is decided; a register entry belongs to no turn."""
    return isinstance(state.phase, Stopping) and not call.registered


def quiet(state: State) -> bool:
    """Say whether only questions, timers and checkpoints may be ordered."""
    return isinstance(state.phase, Stopping) and state.phase.quiet


def find_call(state: State, call_id: str) -> Call | None:
    """Return the call that later evidence speaks to: the register's entry, else the batch's."""
    for entry in state.register:
        if entry.call_id == call_id:
            return entry
    batch = state.batch
    if batch is not None:
        for call in batch.calls:
            if call.call_id == call_id:
                return call
    return None


def replace_call(state: State, call: Call) -> State:
    """Put a changed call where its former self stands."""
    if call.registered:
        register = tuple(call if entry.call_id == call.call_id else entry for entry in state.register)
        return evolve(state, register=register)
    phase = state.phase
    assert isinstance(phase, RunningTools | Stopping)
    assert phase.batch is not None
    calls = tuple(call if old.call_id == call.call_id else old for old in phase.batch.calls)
    return in_phase(state, evolve(phase, batch=evolve(phase.batch, calls=calls)))


def register_call(state: State, call: Call) -> State:
    """Add an entry to the register."""
    return evolve(state, register=(*state.register, evolve(call, registered=True)))


def own_calls(state: State) -> tuple[str, ...]:
    """Return the calls of the batch, register entries excepted."""
    registered = {call.call_id for call in state.register}
    calls = state.batch.calls if state.batch is not None else ()
    return tuple(call.call_id for call in calls if call.call_id not in registered)


def all_settled(state: State) -> bool:
    """Say whether every call of the batch has its answer; true without a batch."""
    batch = state.batch
    return batch is None or all(isinstance(call.state, Settled) for call in batch.calls)


def notice(state: State, call: Call, text: str) -> State:
    """Queue what became of a register entry for the model; one message an outcome."""
    queues = state.queues
    message_id = f"notice/{call.call_id}/{state.seq}"
    queued = QueuedMessage(message_id, (TextPart(text),), MessageSource.NOTICE)
    return evolve(state, queues=evolve(queues, notices=(*queues.notices, queued)))
