"""Due times of the turn; those of calls are rows of the call machine. A timer nobody waits for is ignored (D-26)."""

from __future__ import annotations

from agentcore.commands import StartTimer
from agentcore.events import TimerFired
from agentcore.evolve import evolve
from agentcore.outstanding import outstanding, waits_for_person
from agentcore.states import (
    WORKING,
    AwaitingRetry,
    Because,
    Ending,
    State,
    Stopping,
    StopReason,
)
from agentcore.steps.base import in_phase, in_turn
from agentcore.steps.begin import request_model
from agentcore.steps.ending import stop_turn
from agentcore.steps.model import retry_model
from agentcore.steps.verdicts import Ignored

CALL_TIMERS = ("deadline", "expiry", "inquiry")
"""Kinds of timer that belong to a call; ``grace`` belongs to a call or to a request."""


def awaited(state: State, event: TimerFired) -> bool:
    """Say whether the state waits for exactly this timer."""
    wanted = (event.timer_id, event.epoch, event.attempt)
    return any(
        isinstance(command, StartTimer) and (command.timer_id, command.epoch, command.attempt) == wanted
        for command in outstanding(state)
    )


def timed_call(state: State, event: TimerFired) -> tuple[str, ...]:
    """Return the call a timer belongs to, if it belongs to one."""
    kind, _, owner = event.timer_id.partition("/")
    is_call = kind in CALL_TIMERS or (kind == "grace" and owner.count(".") == 2)  # noqa: PLR2004 - turn.step.index
    return (owner,) if is_call and awaited(state, event) else ()


def fire_timer(state: State, event: TimerFired) -> State | Ignored:
    """Let a due time act, if it is waited for."""
    if not awaited(state, event):
        return Ignored("nobody-waits")
    kind = event.timer_id.partition("/")[0]
    phase = state.phase
    if kind == "checkpoint":
        return evolve(state, storage=evolve(state.storage, retry_at=None))
    if kind == "turn":
        return stop_turn(state, _timeout(state))
    if kind == "model":
        facts = (("code", "deadline"), ("model_ms", state.config.limits.model_ms), ("attempt", event.attempt))
        return retry_model(state, None, "the model did not answer in time", facts)
    if isinstance(phase, AwaitingRetry) and kind == "retry":
        return request_model(state, Because.RETRY_DUE)
    if isinstance(phase, Stopping) and kind == "grace" and not timed_call(state, event):
        return in_phase(state, evolve(phase, request=None))
    return state


def _timeout(state: State) -> Ending:
    limit, started_at = state.config.limits.turn_ms, state.turn.started_at
    return Ending(StopReason.TIMEOUT, evidence=(("turn_ms", str(limit)), ("started_at", str(started_at))))


def keep_clock(state: State) -> State:
    """Stop the turn's clock while all that is outstanding are questions to a person; keep what is left (D-27)."""
    turn = state.turn
    if turn.due_at is None and turn.left_ms is None:
        return state
    if not isinstance(state.phase, WORKING):
        return in_turn(state, evolve(turn, due_at=None, left_ms=None))
    waits = not state.config.policy.count_waiting and waits_for_person(state)
    if waits and turn.due_at is not None:
        # Something is left: a turn whose time is up does not come here.
        return in_turn(state, evolve(turn, due_at=None, left_ms=turn.due_at - state.at))
    if not waits and turn.left_ms is not None:
        due_at = state.at + turn.left_ms
        return in_turn(state, evolve(turn, due_at=due_at, left_ms=None, clocks=turn.clocks + 1))
    return state


def time_is_up(state: State) -> State | None:
    """End the turn when its time is used up, before anything else of it goes on (R-056)."""
    turn = state.turn
    if not isinstance(state.phase, WORKING) or turn.due_at is None or state.at < turn.due_at:
        return None
    return stop_turn(state, _timeout(state))
