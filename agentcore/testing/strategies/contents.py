"""What events say besides their ids: mostly what fits the state they meet, sometimes what does not.

``roll_event`` makes an event of any class. A field is made by ``FITTING``, under its own name or under that of its
class and itself, and otherwise from its type; so a new event, or a new field, needs nothing here to be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from attrs import evolve

from agentcore.events import CompactionPurpose, Event, ModelFailure, Recovery, Suspect
from agentcore.messages import MediaPart, TextPart, Usage, UserPart, digest
from agentcore.policy import Config
from agentcore.states import Call, Compacting, State
from agentcore.testing.passage import all_calls, find_call
from agentcore.testing.strategies.aims import ADDRESS, Aim, address
from agentcore.testing.strategies.configs import roll_config
from agentcore.testing.strategies.dice import Dice
from agentcore.testing.strategies.kinds import hints, roll
from agentcore.testing.strategies.replies import roll_finish, roll_history, roll_parts
from agentcore.testing.strategies.session import Session

AIMS: Mapping[Aim, int] = {
    Aim.OWN: 8,
    Aim.REPEATED: 2,
    Aim.REWRITTEN: 2,
    Aim.EARLIER_ATTEMPT: 2,
    Aim.EARLIER_EPOCH: 1,
    Aim.EARLIER_REQUEST: 1,
    Aim.EARLIER_TURN: 1,
    Aim.FOREIGN: 2,
}
"""How often events are aimed where, if nothing else is asked for."""

REMEMBERED = 80
"""How many events at the end of a journal are searched for one to repeat."""


def roll_event(
    kind: type[Event], session: Session, dice: Dice, *, aim: Aim | None = None, call: Call | None = None
) -> Event:
    """Return an event of a class for a state: aimed as wanted, about one call if it is given.

    What was never told cannot be repeated; then the event is aimed at the present.
    """
    aim = aim or dice.weighed(AIMS)
    if aim in (Aim.REPEATED, Aim.REWRITTEN):
        told = _told(kind, session, dice, call)
        if told is not None:
            about = find_call(session.state, getattr(told, "call_id", ""))
            return told if aim is Aim.REPEATED else evolve(told, **_contents(kind, session.state, dice, about))
        aim = Aim.OWN
    names = address(kind, aim, session.state, dice, call)
    about = call or find_call(session.state, names.get("call_id", ""))
    return kind(**names, **_contents(kind, session.state, dice, about))


def _told(kind: type[Event], session: Session, dice: Dice, call: Call | None) -> Event | None:
    """Return one of the last events of a class that were accepted, about a call if it is given."""
    told = [
        event
        for event in islice(reversed(session.journal), REMEMBERED)
        if type(event) is kind and (call is None or getattr(event, "call_id", call.call_id) == call.call_id)
    ]
    return dice.pick(told[:4]) if told else None


def _contents(kind: type[Event], state: State, dice: Dice, call: Call | None) -> dict[str, Any]:
    """Make every field that is no id."""
    made: dict[str, Any] = {}
    for name, hint in hints(kind).items():
        if name in ADDRESS:
            continue
        fitting = FITTING.get(f"{kind.__name__}.{name}") or FITTING.get(name)
        made[name] = fitting(state, dice, call) if fitting is not None else roll(hint, dice)
    if "digest" in made and not dice.once_in(12):
        made["digest"] = digest(made["arguments"])
    return made


def _at(state: State, dice: Dice, _call: Call | None) -> int:
    return max(0, state.at + dice.weighed({1: 30, 0: 10, 40: 10, 2_000: 6, -5: 2, 61_000: 1}))


def _arguments(_state: State, dice: Dice, call: Call | None) -> str:
    """Say the arguments that are asked about, sometimes others."""
    return dice.weighed({call.arguments if call is not None else "{}": 6, '{"other":true}': 1})


def _config(state: State, dice: Dice, _call: Call | None) -> Config:
    """Keep the configuration, take a tool out of it, or take another one."""
    match dice.weighed({"same": 8, "other": 1, "poorer": 1}):
        case "other":
            return roll_config(dice)
        case "poorer":
            tools = tuple(tool for tool in state.config.tools if tool.completes or not dice.once_in(3))
            return evolve(state.config, tools=tools)
        case _:
            return state.config


def _recovery(state: State, dice: Dice, _call: Call | None) -> Recovery:
    """Find nothing wrong, mostly; else damage, and calls that lost lines show as started."""
    if not dice.once_in(6):
        return Recovery(last_seq=state.seq)
    known = (f"{state.turn.number + 1}.1.0", f"{state.request_id}.5", *(call.call_id for call in all_calls(state)))
    suspects = tuple(Suspect(call_id=call_id, name=dice.pick(("sends", ""))) for call_id in dice.some(known))
    found: Recovery = roll(Recovery, dice)
    return evolve(found, suspects=suspects)


def _user_parts(_state: State, dice: Dice, _call: Call | None) -> tuple[UserPart, ...]:
    return dice.pick(((TextPart("Do it."),), (TextPart("See"), MediaPart("image/png", "AAAA")), ()))


def _usage(_state: State, dice: Dice, _call: Call | None) -> Usage:
    any_: Usage = roll(Usage, dice)
    return dice.pick((Usage(), Usage(10, 5), Usage(40, 2, cost_micros=7), any_))


def _covers_to(state: State, dice: Dice, _call: Call | None) -> int:
    """Cover what is sent, less, more, or a place between calls and their results."""
    size = len(state.history)
    return dice.pick((state.window.start, state.window.start, size, size, max(0, size - 1 - dice.below(4)), size + 1))


def _purpose(state: State, dice: Dice, _call: Call | None) -> CompactionPurpose:
    own = state.phase.purpose if isinstance(state.phase, Compacting) else CompactionPurpose.THRESHOLD
    return dice.weighed({own: 6, **{purpose: 1 for purpose in CompactionPurpose if purpose is not own}})


_FAILURES: Mapping[ModelFailure, int] = {
    ModelFailure.OVERFLOW: 3,
    ModelFailure.MEDIA_TOO_LARGE: 2,
    ModelFailure.FATAL: 1,
}

FITTING: Mapping[str, Callable[[State, Dice, Call | None], Any]] = {
    "at": _at,
    "arguments": _arguments,
    "config": _config,
    "covers_to": _covers_to,
    "digest": lambda _state, _dice, _call: "",
    "finish": lambda _state, dice, _call: roll_finish(dice),
    "messages": lambda state, dice, _call: roll_history(state, dice),
    "metadata": lambda _state, dice, _call: dice.pick(("", '{"kept":true}')),
    "parts": _user_parts,
    "purpose": _purpose,
    "recovery": _recovery,
    "retry_after_ms": lambda _state, dice, _call: dice.weighed({None: 8, 50: 3, 1 << 40: 1}),
    "tokens_after": lambda _state, dice, _call: dice.weighed({10: 8, 200: 1}),
    "tokens_before": lambda _state, dice, _call: dice.weighed({100: 8, 10: 1}),
    "usage": _usage,
    "ApprovalDenied.feedback": lambda _state, dice, _call: dice.pick(("", "Use the other one.")),
    "ModelFailed.kind": lambda _state, dice, _call: dice.weighed({ModelFailure.RETRYABLE: 5, **_FAILURES}),
    "ModelReplied.parts": lambda state, dice, _call: roll_parts(state, dice),
    "ModelStopped.parts": lambda _state, dice, _call: dice.pick(((), (TextPart("So f"),))),
}
"""Fields whose content has to fit the state to be of interest, by name or by class and name."""
