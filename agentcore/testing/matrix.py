"""The matrix: every state, every event, every way in which the event's ids can relate to what is awaited.

Each cell is the verdict of the reducer and, where an event is ignored or refused, why. It is enumerated, never
sampled: all phases with all events, and all call states, in a batch and in the register, with all events that speak
of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from agentcore import events
from agentcore.commands import StartTimer
from agentcore.events import EVENTS, Event
from agentcore.messages import TextPart
from agentcore.outstanding import outstanding
from agentcore.reduce import Judgement, Reducer, reduce
from agentcore.states import AwaitingApproval, EffectUnknown, State
from agentcore.testing.probes import FOREIGN_CALL, FOREIGN_REQUEST, an_event
from agentcore.testing.situations import CALL, CONFIG, Situation, call_states, phases

OWN, SAME, OTHER = "own", "repeated", "contradicted"
ATTEMPT, REQUEST, TURN, FOREIGN = "earlier attempt", "earlier request", "earlier turn", "foreign"
RELATIONS = (OWN, SAME, OTHER, ATTEMPT, REQUEST, TURN, FOREIGN)
"""Ids as awaited; the same fact delivered again; another content under the same ids; and four ways to be wrong."""

_CALL_EVENTS = tuple(kind for kind in EVENTS if any(field.name == "call_id" for field in attrs.fields(kind)))
_COUNTERS: Mapping[type[Event], str] = {
    events.StepPrepared: "preparations",
    events.PreparationFailed: "preparations",
    events.ContextCompacted: "compactions",
    events.CompactionFailed: "compactions",
    events.CompletionAccepted: "reviews",
    events.CompletionRefused: "reviews",
}
_DECISIONS = (events.PolicyAllowed, events.PolicyAsked, events.PolicyBlocked, events.ArgumentsRefused)
_OTHER_CONTENT: Mapping[str, Any] = {
    "parts": (TextPart("Something else."),),
    "result": "something else",
    "error": "something else",
    "reason": "something else",
    "message": "something else",
    "problem": "something else",
    "feedback": "something else",
    "observation": "something else",
    "handle": "something else",
    "cause": "something else",
    "rule": "something else",
    "by": "somebody else",
    "summary": "something else",
}
"""What can be changed in an event without changing what it names."""


@attrs.frozen
class Cell:
    """One verdict of the matrix."""

    situation: str
    """Phase or call state."""
    event: str
    """Class name of the event."""
    relation: str
    """One of the ``RELATIONS``."""
    judgement: Judgement
    """What the reducer says."""

    def __str__(self) -> str:
        """Return verdict and reason."""
        reason = f" ({self.judgement.reason})" if self.judgement.reason else ""
        return f"{self.judgement.verdict.value}{reason}"


def cells(reducer: Reducer = reduce) -> Iterator[Cell]:
    """Yield every cell; what cannot be built (a repetition of what never happened) is left out."""
    for situation in phases():
        yield from _row(reducer, situation, EVENTS)
    for situation in call_states():
        yield from _row(reducer, situation, (*_CALL_EVENTS, events.TimerFired, events.SessionResumed))


def _row(reducer: Reducer, situation: Situation, kinds: tuple[type[Event], ...]) -> Iterator[Cell]:
    for kind in kinds:
        for relation in RELATIONS:
            event = related(situation, kind, relation)
            if event is not None:
                judgement = reducer.examine(situation.state, event)
                yield Cell(situation.name, kind.__name__, relation, judgement)


def related(situation: Situation, kind: type[Event], relation: str) -> Event | None:
    """Build an event whose ids relate to a situation in one of the ways; ``None`` where there is no such thing."""
    own = _own(situation.state, kind)
    event: Event = own
    if relation == OWN:
        return event
    if relation in (SAME, OTHER):
        told = next((event for event in reversed(situation.journal) if isinstance(event, kind)), None)
        return told if told is None or relation == SAME else _contradicting(told)
    if relation == ATTEMPT:
        if not hasattr(own, "attempt"):
            return None
        own = attrs.evolve(own, attempt=own.attempt - 1)
        earlier: Event = own
        return earlier
    return _misnamed(own, relation)


def _misnamed(own: Any, relation: str) -> Event | None:
    """Replace the id an event names."""
    request, call, number = {
        REQUEST: ("2.1", "2.1.0", 2),
        TURN: ("1.2", "1.1.0", 1),
        FOREIGN: (FOREIGN_REQUEST, FOREIGN_CALL, 99),
    }[relation]
    said: dict[str, Any] = {}
    if isinstance(own, events.AbortRequested):
        said = {"turn": number} if relation != REQUEST else {}
    elif hasattr(own, "request_id"):
        said = {"request_id": request}
    elif hasattr(own, "call_id"):
        said = {"call_id": call}
    elif hasattr(own, "timer_id"):
        said = {"timer_id": f"deadline/{call}"}
    elif isinstance(own, events.CheckpointWritten | events.CheckpointFailed):
        said = {"seq": {REQUEST: 2, TURN: 1, FOREIGN: 1 << 40}[relation]}
    elif isinstance(own, events.MessageWithdrawn):
        said = {"message_id": {REQUEST: "m2", TURN: "m1", FOREIGN: "nobody"}[relation]}
    misnamed: Event | None = attrs.evolve(own, **said) if said else None
    return misnamed


def _contradicting(told: Event) -> Event | None:
    """Change what an event says, not what it names."""
    for field in attrs.fields(type(told)):
        if field.name in _OTHER_CONTENT:
            changed: dict[str, Any] = {field.name: _OTHER_CONTENT[field.name]}
            return attrs.evolve(told, **changed)
    return None


def _own(state: State, kind: type[Event]) -> Any:
    """Build an event of a class that names exactly what the state is about."""
    said: dict[str, Any] = {}
    names = {field.name for field in attrs.fields(kind)}
    if "epoch" in names:
        said["epoch"] = state.epoch
    if "request_id" in names:
        said["request_id"] = state.request_id
        said["attempt"] = getattr(state.turn, _COUNTERS.get(kind, "requests"))
    if "call_id" in names:
        said["call_id"] = CALL
    if "attempt" in names and "call_id" in names:
        said["attempt"], said["epoch"] = _number(state, kind)
    if "turn" in names:
        said["turn"] = state.turn.number
    said.update(_SPECIAL.get(kind, _nothing)(state))
    return an_event(kind, state.at + 1, **said)


def _nothing(_state: State) -> dict[str, Any]:
    return {}


def _number(state: State, kind: type[Event]) -> tuple[int, int]:
    """Return attempt and epoch of the call's present review, question, inspection or execution."""
    calls = (*state.register, *(state.batch.calls if state.batch else ()))
    call = next((call for call in calls if call.call_id == CALL), None)
    if call is None:
        return 1, state.epoch
    if kind in _DECISIONS:
        return call.tries.reviews, state.epoch
    if kind in (events.ApprovalGranted, events.ApprovalDenied):
        return call.tries.questions, state.epoch
    if kind is events.EffectInspected:
        number = call.state.inquiry.attempt if isinstance(call.state, EffectUnknown) else call.tries.inspections
        return number, state.epoch
    return (call.run.attempt, call.run.epoch) if call.run is not None else (call.tries.executions, state.epoch)


def _timer(state: State) -> dict[str, Any]:
    """Name the first timer that the session waits for about its call, its request or its time."""
    timers = [command for command in outstanding(state) if isinstance(command, StartTimer)]
    about = [timer for timer in timers if timer.timer_id.endswith(CALL)] or timers
    if not about:
        return {"timer_id": f"turn/{state.turn.number}", "attempt": state.turn.clocks}
    return {"timer_id": about[0].timer_id, "attempt": about[0].attempt}


def _checkpoint(state: State) -> dict[str, Any]:
    storage = state.storage
    return {"seq": storage.in_flight if storage.in_flight is not None else storage.durable, "attempt": storage.attempt}


def _approval(state: State) -> dict[str, Any]:
    """Allow exactly what is asked for, where something is."""
    calls = state.batch.calls if state.batch else ()
    asked = next((call for call in calls if isinstance(call.state, AwaitingApproval)), None)
    return {"digest": asked.digest, "arguments": asked.arguments} if asked is not None else {}


def _fresh(_state: State) -> dict[str, Any]:
    return {"message_id": "fresh", "parts": (TextPart("More."),)}


_SPECIAL: Mapping[type[Event], Callable[[State], dict[str, Any]]] = {
    events.PromptSubmitted: _fresh,
    events.SteeringQueued: _fresh,
    events.FollowUpQueued: _fresh,
    events.AbortRequested: lambda state: {"act_id": "fresh", "turn": state.turn.number},
    events.ConfigChanged: lambda _: {"config": CONFIG},
    events.SessionResumed: lambda _: {"config": CONFIG},
    events.TimerFired: _timer,
    events.CheckpointWritten: _checkpoint,
    events.CheckpointFailed: _checkpoint,
    events.ApprovalGranted: _approval,
    events.EffectInspected: lambda _: {"finding": events.Finding.EXECUTED},
}
"""What an event has to say besides its ids so that it fits."""


def render(found: tuple[Cell, ...]) -> str:
    """Return the matrix as text: a block for each state, a line for each event, a verdict for each relation."""
    lines = [
        "Every state x every event x every relation of the ids. Generated from the tables; do not edit.",
        f"Relations: {', '.join(RELATIONS)}; what cannot be built is left out.",
    ]
    situation = event = ""
    for cell in found:
        if cell.situation != situation:
            lines += ["", cell.situation]
            situation, event = cell.situation, ""
        if cell.event != event:
            lines.append(f"  {cell.event}")
            event = cell.event
        lines.append(f"    {cell.relation}: {cell}")
    return "\n".join(lines) + "\n"
