"""One event that was given to ``reduce``, with all that can be derived from it, each part when it is first asked for.

Most laws look closely at few passages, and at most passages not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeVar, cast

from agentcore.commands import Command, ExecuteTool, Key, RecordRejection, RequestModel, key_of
from agentcore.events import Event
from agentcore.messages import Message
from agentcore.reduce import Reduction
from agentcore.rejections import Rejection
from agentcore.states import Call, State
from agentcore.testing.core import CORE, Core

Verdict = Literal["accepted", "ignored", "rejected"]
"""What became of an event."""

Place = tuple[str, str]
"""Where a call stands (``batch`` or ``register``) and its id."""


T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 - it is written and used like ``property``
    """A property that is found once and kept: ``functools.cached_property`` without its lock."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find, self._name, self.__doc__ = find, find.__name__, find.__doc__

    def __get__(self, owner: Any, kind: type[Any]) -> T:
        """Find the value, and lay it before this property."""
        found = owner.__dict__[self._name] = self._find(owner)
        return found


class Latest(Generic[T]):
    """A function of a state that knows its answers for two states: from one of them many events are looked at."""

    def __init__(self, find: Callable[[State], T]) -> None:
        self._find, self.__doc__ = find, find.__doc__
        self._older: tuple[State | None, T | None] = (None, None)
        self._newer: tuple[State | None, T | None] = (None, None)

    def __call__(self, state: State) -> T:
        """Answer for a state; what was asked for last is forgotten last."""
        if self._newer[0] is not state:
            found = self._older if self._older[0] is state else (state, self._find(state))
            self._older, self._newer = self._newer, found
        return cast("T", self._newer[1])


class Passage:
    """One event that was given to ``reduce``, and what it did."""

    def __init__(
        self,
        before: State,
        event: Event,
        reduction: Reduction,
        core: Core = CORE,
        outstanding: tuple[Command, ...] | None = None,
    ) -> None:
        """``outstanding`` is what the state before waits for, where somebody knows it already."""
        self.before = before
        """The state it met."""
        self.event = event
        """What happened."""
        self.after = reduction.state
        """The state it led to."""
        self.commands = reduction.commands
        """What was ordered."""
        self.core = core
        """The functions that are under test."""
        if outstanding is not None:
            self.outstanding_before = outstanding

    @property
    def rejection(self) -> Rejection | None:
        """Why the event was refused, if it was."""
        for command in self.commands:
            if isinstance(command, RecordRejection):
                return command.rejection
        return None

    @property
    def verdict(self) -> Verdict:
        """What became of the event: the same state means ignored or, with a rejection, refused."""
        if self.after is not self.before:
            return "accepted"
        return "ignored" if self.rejection is None else "rejected"

    @once
    def outstanding_before(self) -> tuple[Command, ...]:
        """What was outstanding before, in order."""
        return self.core.outstanding(self.before)

    @once
    def outstanding_after(self) -> tuple[Command, ...]:
        """What is outstanding after, in order."""
        return self.core.outstanding(self.after)

    @once
    def waited_for(self) -> Mapping[Key, Command]:
        """What was outstanding before, by key."""
        return {key_of(command): command for command in self.outstanding_before}

    @once
    def waits_for(self) -> Mapping[Key, Command]:
        """What is outstanding after, by key."""
        return {key_of(command): command for command in self.outstanding_after}

    @once
    def executions(self) -> tuple[ExecuteTool, ...]:
        """Executions that were ordered by this event."""
        return tuple(command for command in self.commands if isinstance(command, ExecuteTool))

    @once
    def requests(self) -> tuple[RequestModel, ...]:
        """Model requests that were ordered by this event."""
        return tuple(command for command in self.commands if isinstance(command, RequestModel))

    @once
    def moved(self) -> tuple[tuple[Call | None, Call | None], ...]:
        """Each call that is not the same object after as before; ``None`` where it was not or is no more."""
        if self.before.batch is self.after.batch and self.before.register is self.after.register:
            return ()
        old, new = calls_of(self.before), calls_of(self.after)
        pairs = [(old.get(place), new.get(place)) for place in {**old, **new}]
        return tuple(pair for pair in pairs if pair[0] is not pair[1])

    @once
    def said(self) -> tuple[Message, ...]:
        """Messages that went into history with this event."""
        if self.before.history is self.after.history:
            return ()
        return tuple(self.after.history.since(len(self.before.history)))


def calls_of(state: State) -> dict[Place, Call]:
    """Return every call of the batch and the register by place and id."""
    batch = state.batch.calls if state.batch is not None else ()
    found = {("batch", call.call_id): call for call in batch}
    found.update((("register", call.call_id), call) for call in state.register)
    return found


def all_calls(state: State) -> Iterator[Call]:
    """Iterate over the calls of the batch, then over the register."""
    if state.batch is not None:
        yield from state.batch.calls
    yield from state.register


def find_call(state: State, call_id: str) -> Call | None:
    """Return the call that evidence speaks to: the entry of the register, else the one of the batch."""
    for entry in state.register:
        if entry.call_id == call_id:
            return entry
    batch = state.batch
    if batch is not None:
        for call in batch.calls:
            if call.call_id == call_id:
                return call
    return None
