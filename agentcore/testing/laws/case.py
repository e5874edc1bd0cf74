"""An event beside the state it met: what is known of the thing that the event names.

The claims of a refusal are read off this. Everything is found when it is first asked for, since most claims look at one
thing only; and it is found here anew, never by the steps that are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from agentcore import events
from agentcore.commands import Key, key_of
from agentcore.events import EVENTS, Event
from agentcore.messages import (
    AssistantMessage,
    CancelledCall,
    FailedCall,
    Outcome,
    Succeeded,
    ToolResult,
    find_answer,
    find_result,
    is_open,
)
from agentcore.outstanding import outstanding
from agentcore.states import (
    WORKING,
    AwaitingModel,
    Call,
    CancellationRequested,
    Compacting,
    Executing,
    Preparing,
    Released,
    ReviewingCompletion,
    Settled,
    State,
    Stopping,
    Streaming,
)
from agentcore.testing.answers import answered_key
from agentcore.testing.numbers import last_minted
from agentcore.testing.passage import Latest, find_call, once

RunId = tuple[int, int]
"""Epoch and number of an attempt, a question or an order."""

_NAMING_CALLS = frozenset(kind for kind in EVENTS if "call_id" in {field.name for field in attrs.fields(kind)})
_NOTHING: tuple[Call | None, ToolResult | None] = (None, None)


class Ledger:
    """What one state says about ids; kept for a while, since many events are held against one state."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._calls: dict[str, tuple[Call | None, ToolResult | None]] = {}

    def look_up(self, call_id: str) -> tuple[Call | None, ToolResult | None]:
        """Return the call of the batch or the register that has an id, and the result in history."""
        found = self._calls.get(call_id)
        if found is None:
            found = find_call(self._state, call_id), find_result(self._state.history, call_id)
            self._calls[call_id] = found
        return found

    @once
    def keys(self) -> frozenset[Key]:
        """The keys of everything that is outstanding."""
        return frozenset(key_of(command) for command in outstanding(self._state))


_ledger = Latest(Ledger)


class Case:
    """An event and the state it met."""

    def __init__(self, state: State, event: Any) -> None:
        self.state = state
        """What the session held."""
        self.event = event
        """What was said."""
        self.call, self.written = _NOTHING
        """The call it names, if it stands in the batch or the register; and the result of that call in history."""
        if type(event) in _NAMING_CALLS:
            self.call, self.written = _ledger(state).look_up(event.call_id)

    @property
    def given(self) -> RunId:
        """The number that the event names."""
        return self.event.epoch, self.event.attempt

    @property
    def missing(self) -> bool:
        """No call and no written result has the id it names."""
        return self.call is None and self.written is None

    @once
    def outcome(self) -> Outcome | None:
        """The answer of the call it names, where that answer stands: its effect is not open any more."""
        if self.call is None:
            return self.written.outcome if self.written is not None else None
        return self.call.state.outcome if isinstance(self.call.state, Settled) and not self.given_up else None

    @property
    def given_up(self) -> bool:
        """The call is an entry of the register whose answer leaves its effect open."""
        call = self.call
        return call is not None and call.registered and isinstance(call.state, Settled) and is_open(call.state.outcome)

    @property
    def unsettled(self) -> bool:
        """The call has no answer of any kind."""
        return self.call is not None and not isinstance(self.call.state, Settled)

    @once
    def own(self) -> RunId | None:
        """The attempt that the call is about: one that may have begun."""
        if self.call is None:
            return (self.written.epoch, self.written.attempt) if self.written and self.written.attempt else None
        return self.call.run.id if self.call.run is not None and not isinstance(self.call.state, Released) else None

    @property
    def is_own(self) -> bool:
        """The event speaks of that attempt."""
        return self.own == self.given

    @once
    def is_earlier(self) -> bool:
        """The event speaks of an earlier attempt that the call remembers."""
        return self.call is not None and any(run.id == self.given for run in (*self.call.unproved, *self.call.voided))

    @once
    def is_unminted(self) -> bool:
        """The event speaks of an attempt that nobody can have begun."""
        if self.is_own or self.is_earlier:
            return False
        if self.call is None:
            return self.given > (self.state.epoch, self.written.attempt if self.written is not None else 0)
        released = self.call.run is not None and self.call.run.id == self.given
        return released or self.given > (self.state.epoch, self.call.tries.executions)

    @property
    def newer_acts(self) -> bool:
        """An attempt of the call is under way, and the event speaks of an earlier one."""
        return self.call is not None and isinstance(self.call.state, Executing | CancellationRequested)

    @once
    def minted(self) -> RunId:
        """The number that was minted last for what the event answers."""
        key = answered_key(self.event)
        return self.state.epoch, (last_minted(self.state, key.name, key.id) or 0) if key is not None else 0

    @once
    def answer(self) -> AssistantMessage | None:
        """The message that was taken from the very attempt of a request that the event names."""
        batch, request_id = self.state.batch, self.event.request_id
        found = find_answer(self.state.history, request_id)
        if found is None and batch is not None and batch.request_id == request_id:
            found = batch.message
        return found if found is not None and (found.epoch, found.attempt) == self.given else None

    @property
    def is_present(self) -> bool:
        """It names the step that runs, or ran last."""
        return bool(self.event.request_id == self.state.request_id)

    @property
    def is_asked(self) -> bool:
        """Exactly what the event answers is outstanding."""
        return answered_key(self.event) in _ledger(self.state).keys

    @property
    def is_awaited(self) -> bool:
        """The phase waits for an answer of this kind."""
        return _AWAITED[type(self.event)](self.state.phase)

    @property
    def succeeds(self) -> bool:
        """The event says that an effect happened."""
        return isinstance(self.event, events.ToolSucceeded) or getattr(self.event, "succeeded", False)

    @property
    def said(self) -> Outcome:
        """The outcome that the event tells of, as its own attempt tells it."""
        event = self.event
        match event:
            case events.ToolSucceeded():
                return Succeeded(
                    event.result,
                    event.summary,
                    event.duration_ms,
                    event.resource_version,
                    event.artifacts,
                    terminate=event.terminate,
                )
            case events.TaskSettled(succeeded=True):
                return Succeeded(event.result, artifacts=event.artifacts)
            case events.TaskSettled():
                return FailedCall(event.result, "task-failed")
            case events.ToolFailed():
                return FailedCall(event.error, event.kind, event.fatal, event.duration_ms)
            case _:
                return CancelledCall(event.effect)

    @property
    def agrees(self) -> bool:
        """The event tells again what the call was settled by; whose proof that was and when it came is no matter."""
        known = self.outcome
        if isinstance(known, Succeeded | FailedCall):
            plain = Succeeded("") if isinstance(known, Succeeded) else FailedCall("")
            known = attrs.evolve(known, timed_out=plain.timed_out, proved_by=plain.proved_by)
        return self.is_own and known == self.said


_MODEL = (AwaitingModel, Streaming)


def _asks_model(phase: Any) -> bool:
    return isinstance(phase, _MODEL) or _stops_model(phase)


def _stops_model(phase: Any) -> bool:
    return isinstance(phase, Stopping) and phase.request is not None


def _prepares(phase: Any) -> bool:
    return isinstance(phase, Preparing) and phase.ordered


def _compacts(phase: Any) -> bool:
    return isinstance(phase, Compacting)


def _reviews(phase: Any) -> bool:
    return isinstance(phase, ReviewingCompletion) and not phase.awaits_tasks


_AWAITED: Mapping[type[Event], Callable[[Any], bool]] = {
    events.StepPrepared: _prepares,
    events.PreparationFailed: _prepares,
    events.ModelStreamOpened: _asks_model,
    events.ModelReplied: _asks_model,
    events.ModelFailed: _asks_model,
    events.ModelStopped: _stops_model,
    events.ContextCompacted: _compacts,
    events.CompactionFailed: _compacts,
    events.CompletionAccepted: _reviews,
    events.CompletionRefused: _reviews,
}
"""Of each answer about a step the phases that wait for it."""


_BEFORE_TIME = (events.AbortRequested, events.SessionResumed)
"""Events that come before the time is looked at."""


def is_overdue(state: State, event: Event) -> bool:
    """Say whether the time of a working turn is up when an event comes that is told so first; its timer tells it."""
    due_at = state.turn.due_at
    if due_at is None or event.at < due_at or isinstance(event, _BEFORE_TIME) or not isinstance(state.phase, WORKING):
        return False
    return not (isinstance(event, events.TimerFired) and event.timer_id.startswith("turn/"))
