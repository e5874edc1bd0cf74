"""States that no events lead to: reached ones whose ids collide, repeat or go stale, and whose counters fall back.

``roll_collision`` takes a state that was reached and breaks one thing of it that the reducer never breaks. What reads a
state, writes it, or reduces it has to bear that: it may refuse, it may not fall over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve

from agentcore.messages import UserMessage
from agentcore.states import Call, QueuedMessage, RunningTools, State, Stopping
from agentcore.testing.passage import all_calls
from agentcore.testing.strategies.dice import Dice


def roll_collision(state: State, dice: Dice, name: str | None = None) -> State:
    """Return the state with one thing broken, by its name in ``COLLISIONS`` or any; it may have nothing to break."""
    return COLLISIONS[name or dice.pick(tuple(COLLISIONS))](state, dice)


def _with_batch(state: State, calls: tuple[Call, ...]) -> State:
    phase = state.phase
    if not isinstance(phase, RunningTools | Stopping) or phase.batch is None:
        return state
    return evolve(state, phase=evolve(phase, batch=evolve(phase.batch, calls=calls)))


def _calls_share_an_id(state: State, dice: Dice) -> State:
    calls = state.batch.calls if state.batch is not None else ()
    if not calls:
        return state
    twin = evolve(dice.pick(calls), call_id=dice.pick(calls).call_id)
    return _with_batch(state, (*calls, twin))


def _register_repeats(state: State, dice: Dice) -> State:
    calls = tuple(all_calls(state))
    if not calls:
        return state
    return evolve(state, register=(*state.register, evolve(dice.pick(calls), registered=True)))


def _attempts_repeat(state: State, dice: Dice) -> State:
    """Let the present attempt of each call be one of its earlier ones, too."""
    calls = state.batch.calls if state.batch is not None else ()
    again = tuple(
        evolve(call, unproved=(*call.unproved, call.run), voided=(*call.voided, call.run)) if call.run else call
        for call in calls
    )
    return _with_batch(state, again)


def _keys_fall_back(state: State, dice: Dice) -> State:
    calls = state.batch.calls if state.batch is not None else ()
    return _with_batch(state, tuple(evolve(call, tries=evolve(call.tries, executions=0, reviews=0)) for call in calls))


def _known_message_waits(state: State, dice: Dice) -> State:
    said = [message for message in state.history if isinstance(message, UserMessage)]
    if not said:
        return state
    again = dice.pick(said)
    waiting = (*state.queues.steering, QueuedMessage(again.message_id, again.parts, again.source))
    return evolve(state, queues=evolve(state.queues, steering=waiting))


def _epoch_falls_back(state: State, dice: Dice) -> State:
    return evolve(state, epoch=max(0, state.epoch - 1 - dice.below(2)))


def _turn_falls_back(state: State, dice: Dice) -> State:
    turn = state.turn
    return evolve(state, turn=evolve(turn, number=max(0, turn.number - 1), step=max(0, turn.step - dice.below(2))))


def _storage_is_ahead(state: State, dice: Dice) -> State:
    return evolve(state, storage=evolve(state.storage, durable=state.seq + 1 + dice.below(5), in_flight=state.seq + 9))


def _time_falls_back(state: State, dice: Dice) -> State:
    return evolve(state, at=0, turn=evolve(state.turn, due_at=dice.pick((0, -5, None))))


def _tools_are_gone(state: State, _dice: Dice) -> State:
    policy = evolve(state.config.policy, completion_required=False)
    return evolve(state, config=evolve(state.config, tools=(), policy=policy))


COLLISIONS: Mapping[str, Callable[[State, Dice], State]] = {
    "calls-share-an-id": _calls_share_an_id,
    "register-repeats": _register_repeats,
    "attempts-repeat": _attempts_repeat,
    "keys-fall-back": _keys_fall_back,
    "known-message-waits": _known_message_waits,
    "epoch-falls-back": _epoch_falls_back,
    "turn-falls-back": _turn_falls_back,
    "storage-is-ahead": _storage_is_ahead,
    "time-falls-back": _time_falls_back,
    "tools-are-gone": _tools_are_gone,
}
"""What may be broken, by name."""
