"""Where the ids of an event point: at what a state waits for, at what is over, or at nothing.

``address`` fills in the fields by which an event of a class says what it is about. What has no ids, or no earlier
attempt, epoch, step or turn to name, is aimed at the present.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import attrs

from agentcore.commands import TAGS, Key, key_of
from agentcore.events import (
    AbortRequested,
    AbortScope,
    CheckpointFailed,
    CheckpointWritten,
    Event,
    MessageWithdrawn,
    PromptSubmitted,
    TimerFired,
)
from agentcore.messages import AssistantMessage, ToolMessage, UserMessage
from agentcore.outstanding import outstanding
from agentcore.states import Call, EffectUnknown, State
from agentcore.testing.answers import ANSWERED
from agentcore.testing.numbers import last_minted
from agentcore.testing.passage import all_calls
from agentcore.testing.strategies.dice import Dice


class Aim(StrEnum):
    """How an event's ids relate to the state it meets."""

    OWN = "own"
    REPEATED = "repeated"
    REWRITTEN = "rewritten"
    EARLIER_ATTEMPT = "earlier-attempt"
    EARLIER_EPOCH = "earlier-epoch"
    EARLIER_REQUEST = "earlier-request"
    EARLIER_TURN = "earlier-turn"
    FOREIGN = "foreign"


ADDRESS = frozenset(
    ("message_id", "queued", "act_id", "scope", "turn", "call_id", "request_id", "epoch", "attempt", "seq", "timer_id")
)
"""Fields by which events say what they are about; ``turn`` and ``scope`` are those of an abort."""

_SCOPES: Mapping[AbortScope, int] = {
    AbortScope.TURN: 4,
    AbortScope.CALL: 2,
    AbortScope.TASK: 1,
    AbortScope.ALL: 2,
    AbortScope.AFTER_STEP: 1,
}
"""How often what is to stop."""

RECENT = 12
"""How many messages at the end of a history are searched for what is over."""


def fields_of(kind: type[Event]) -> frozenset[str]:
    """Return the names of an event's fields."""
    return frozenset(field.name for field in attrs.fields(kind))


def address(kind: type[Event], aim: Aim, state: State, dice: Dice, call: Call | None = None) -> dict[str, Any]:
    """Return the ids of an event of a class, aimed as wanted, at one call if it is given."""
    names = fields_of(kind)
    if kind is AbortRequested:
        return _abort(aim, state, dice, call)
    if "message_id" in names:
        return _message(kind, aim, state, dice)
    if "epoch" in names:
        return _named(kind, _key(kind, aim, state, dice, call))
    if "call_id" in names:
        return {"call_id": _subject(aim, state, dice, call)}
    return {}


def _named(kind: type[Event], key: Key) -> dict[str, Any]:
    """Say a key in the fields of a class."""
    names = {"epoch": key.epoch, "attempt": key.attempt}
    if kind in (CheckpointWritten, CheckpointFailed):
        return {"seq": int(key.id), **names}
    subject = next(name for name in ("timer_id", "call_id", "request_id") if name in fields_of(kind))
    return {subject: key.id, **names}


def _key(kind: type[Event], aim: Aim, state: State, dice: Dice, call: Call | None) -> Key:
    """Return the key of something of that kind that is outstanding, or could be, moved as the aim wants it."""
    name = TAGS[ANSWERED[kind]]
    awaited = [key for key in map(key_of, outstanding(state)) if key.name == name and _is_about(key.id, call)]
    present = dice.pick(awaited) if awaited else _presumed(kind, name, state, dice, call)
    match aim:
        case Aim.EARLIER_ATTEMPT:
            return _earlier_attempt(present, state, dice)
        case Aim.EARLIER_EPOCH:
            return present._replace(epoch=present.epoch - 1)
        case Aim.EARLIER_REQUEST:
            return _over(present, state, dice, turns_ago=0)
        case Aim.EARLIER_TURN:
            return _over(present, state, dice, turns_ago=1)
        case Aim.FOREIGN:
            return dice.pick(tuple(_never_minted(present, call)))
        case _:
            return present


def _is_about(subject: str, call: Call | None) -> bool:
    return call is None or subject.rpartition("/")[2] == call.call_id


def _presumed(kind: type[Event], name: str, state: State, dice: Dice, call: Call | None) -> Key:
    """Return the key that was minted last for something of a kind that is not outstanding now."""
    if kind is TimerFired:
        return _timer(state, dice, call)
    if kind in (CheckpointWritten, CheckpointFailed):
        return Key(name, str(state.storage.durable), state.epoch, state.storage.attempt)
    if "request_id" in fields_of(kind):
        return Key(name, state.request_id, state.epoch, last_minted(state, name, state.request_id) or 0)
    calls = (call,) if call is not None else tuple(all_calls(state))
    if not calls:
        return Key(name, f"{state.request_id}.0", state.epoch, 1)
    found = dice.pick(calls)
    if name == "execute-tool" and found.run is not None:
        return Key(name, found.call_id, *found.run.id)
    return Key(name, found.call_id, state.epoch, last_minted(state, name, found.call_id) or 0)


def _timer(state: State, dice: Dice, call: Call | None) -> Key:
    """Return the key of a timer that nobody waits for."""
    calls = (call,) if call is not None else tuple(all_calls(state))
    timers = [f"{kind}/{each.call_id}" for each in calls for kind in ("deadline", "expiry", "inquiry", "grace")]
    if call is None:
        timers += [f"turn/{state.turn.number}", "checkpoint"]
        timers += [f"{kind}/{state.request_id}" for kind in ("model", "retry", "grace")]
    timer_id = dice.pick(timers)
    return Key("start-timer", timer_id, state.epoch, last_minted(state, "start-timer", timer_id) or 0)


def _earlier_attempt(key: Key, state: State, dice: Dice) -> Key:
    """Name an earlier execution that really was, else a number before."""
    runs = [run.id for call in all_calls(state) if call.call_id == key.id for run in (*call.unproved, *call.voided)]
    if key.name == "execute-tool" and runs:
        epoch, attempt = dice.pick(runs)
        return key._replace(epoch=epoch, attempt=attempt)
    return key._replace(attempt=max(0, key.attempt - 1 - dice.below(2)))


def _over(key: Key, state: State, dice: Dice, *, turns_ago: int) -> Key:
    """Name something of an earlier step, or of an earlier turn: what stands in history if there is anything."""
    if key.name == "persist-checkpoint":
        return key._replace(id=str(max(0, int(key.id) - 1 - turns_ago)), attempt=max(0, key.attempt - 1))
    if key.id == "checkpoint":
        return key._replace(attempt=max(0, key.attempt - 1))
    kind, slash, subject = key.id.rpartition("/")
    parts = subject.count(".")
    written = [
        found
        for found in _written(state)
        if found.id.count(".") == parts and (int(found.id.split(".")[0]) < state.turn.number) == bool(turns_ago)
    ]
    if written and not slash:
        return dice.pick(written)._replace(name=key.name)
    numbers = [int(piece) for piece in subject.split(".")]
    moved = numbers[1:2] and not turns_ago
    numbers[1 if moved else 0] -= 1
    return key._replace(id=f"{kind}{slash}{'.'.join(map(str, numbers))}")


def _written(state: State) -> Iterator[Key]:
    """Yield what the end of the history tells of requests and calls that are over; a task that goes on is not."""
    tasks = {call.call_id for call in state.register}
    for message in state.history.since(max(0, len(state.history) - RECENT)):
        if isinstance(message, AssistantMessage) and message.request_id != state.request_id:
            yield Key("", message.request_id, message.epoch, message.attempt)
        if isinstance(message, ToolMessage):
            over = (result for result in message.results if result.call_id not in tasks)
            yield from (Key("", result.call_id, result.epoch, result.attempt) for result in over)


def _never_minted(key: Key, call: Call | None) -> Iterator[Key]:
    """Yield keys that are ahead of everything that was ordered."""
    yield key._replace(attempt=key.attempt + 1)
    yield key._replace(epoch=key.epoch + 1)
    if key.name == "persist-checkpoint":
        yield key._replace(id=str(int(key.id) + 1_000_000))
    elif call is None:
        kind, slash, subject = key.id.rpartition("/")
        yield key._replace(id=f"{kind}{slash}{'.'.join(['99', *subject.split('.')[1:]])}")
        yield key._replace(id="nothing of ours")


def _subject(aim: Aim, state: State, dice: Dice, call: Call | None) -> str:
    """Return the id of a call: one that is open, one that is over, one that never was."""
    if call is not None:
        return call.call_id
    over = [key.id for key in _written(state) if key.id.count(".") > 1]
    calls = list(all_calls(state))
    unknown = [each.call_id for each in calls if isinstance(each.state, EffectUnknown) or each.registered]
    present = unknown or [each.call_id for each in calls]
    if aim in (Aim.EARLIER_REQUEST, Aim.EARLIER_TURN) and over:
        return dice.pick(over)
    if aim is Aim.FOREIGN or not (present or over):
        return dice.pick(("99.1.0", "", f"{state.request_id}.77"))
    return dice.pick(present or over)


def _message(kind: type[Event], aim: Aim, state: State, dice: Dice) -> dict[str, Any]:
    """Name a message that is new, one that waits, or one that was delivered."""
    waiting = [queued.message_id for queued in (*state.queues.steering, *state.queues.follow_ups)]
    since = max(0, len(state.history) - RECENT)
    said = [message.message_id for message in state.history.since(since) if isinstance(message, UserMessage)]
    known = aim in (Aim.EARLIER_ATTEMPT, Aim.EARLIER_EPOCH, Aim.EARLIER_REQUEST, Aim.EARLIER_TURN)
    message_id = f"message-{len(state.known)}.{state.seq}"
    if known and said:
        message_id = dice.pick(said)
    if kind is MessageWithdrawn and aim is Aim.OWN and waiting:
        message_id = dice.pick(waiting)
    if kind is not PromptSubmitted:
        return {"message_id": message_id}
    queued = dice.pick((("nobody",), *((each,) for each in said))) if aim is Aim.FOREIGN else dice.some(waiting)
    return {"message_id": message_id, "queued": queued}


def _abort(aim: Aim, state: State, dice: Dice, call: Call | None) -> dict[str, Any]:
    """Name what is to stop: the turn, one call, everything; or a turn or call that is over, or never was."""
    number = state.turn.number
    turn = {Aim.EARLIER_TURN: number - 1, Aim.FOREIGN: number + 1}.get(aim, number)
    scopes = _SCOPES
    if call is not None:
        scopes = {AbortScope.TASK if call.registered else AbortScope.CALL: 1, AbortScope.ALL: 1, AbortScope.TURN: 1}
    scope = dice.weighed(scopes)
    names = {"act_id": f"act-{len(state.known)}.{state.seq}", "scope": scope, "turn": turn}
    if scope in (AbortScope.CALL, AbortScope.TASK):
        names["call_id"] = _subject(aim, state, dice, call)
    return names
