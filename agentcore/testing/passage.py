"""One event that was given to ``reduce``, with all that can be derived from it, each part when it is first asked for.

Most laws look closely at few passages, and at most passages not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal

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

    @cached_property
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

    @cached_property
    def outstanding_before(self) -> tuple[Command, ...]:
        """What was outstanding before, in order."""
        return self.core.outstanding(self.before)

    @cached_property
    def outstanding_after(self) -> tuple[Command, ...]:
        """What is outstanding after, in order."""
        return self.core.outstanding(self.after)

    @cached_property
    def waited_for(self) -> Mapping[Key, Command]:
        """What was outstanding before, by key."""
        return {key_of(command): command for command in self.outstanding_before}

    @cached_property
    def waits_for(self) -> Mapping[Key, Command]:
        """What is outstanding after, by key."""
        return {key_of(command): command for command in self.outstanding_after}

    @cached_property
    def executions(self) -> tuple[ExecuteTool, ...]:
        """Executions that were ordered by this event."""
        return tuple(command for command in self.commands if isinstance(command, ExecuteTool))

    @cached_property
    def requests(self) -> tuple[RequestModel, ...]:
        """Model requests that were ordered by this event."""
        return tuple(command for command in self.commands if isinstance(command, RequestModel))

    @cached_property
    def moved(self) -> tuple[tuple[Call | None, Call | None], ...]:
        """Each call that is not the same object after as before; ``None`` where it was not or is no more."""
        if self.before.batch is self.after.batch and self.before.register is self.after.register:
            return ()
        old, new = calls_of(self.before), calls_of(self.after)
        pairs = [(old.get(place), new.get(place)) for place in {**old, **new}]
        return tuple(pair for pair in pairs if pair[0] is not pair[1])

    @cached_property
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
    found = calls_of(state)
    return found.get(("register", call_id)) or found.get(("batch", call_id))
