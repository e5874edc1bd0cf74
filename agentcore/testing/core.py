"""The functions that are under test, as one value: any of them can be replaced by a broken one.

A law never calls the library directly. It asks a ``Core``, so that the same law judges the true functions and a twin in
which one row or one function is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from agentcore import projections
from agentcore.codec import CODEC, Codec
from agentcore.commands import Command
from agentcore.events import Event, HostEvent
from agentcore.outstanding import outstanding
from agentcore.policy import Config
from agentcore.projections import Act, RequestView, UiStatus
from agentcore.reduce import Judgement, Reducer, Reduction, reduce, start
from agentcore.states import State


@attrs.frozen
class Core:
    """Everything a law or an exploration calls."""

    examine: Callable[[State, Event], Judgement] = reduce.examine
    """Judge an event; ``Reducer.examine`` of the tables in force."""
    start: Callable[[str, Config, int], Reduction] = start
    """Begin a session."""
    outstanding: Callable[[State], tuple[Command, ...]] = outstanding
    """What a state waits for."""
    request_messages: Callable[[State, str], RequestView] = projections.request_messages
    """What a request is built from."""
    codec: Codec = CODEC
    """How values are written and read."""

    pending_acts: Callable[[State], tuple[Act, ...]] = projections.pending_acts
    """What may be done in a state."""
    status: Callable[[State], UiStatus] = lambda state: projections.ui_status(state).ui
    """The word a state is shown by."""
    shown: tuple[Callable[[State], object], ...] = (
        projections.ui_status,
        projections.durable_status,
        projections.explain_end,
        projections.next_step,
        projections.transcript,
        projections.usage_of,
        projections.pending_acts,
    )
    """Everything else that is read from a state alone."""

    def reduce(self, state: State, event: Event) -> Reduction:
        """Return the state after an event, and what is newly ordered."""
        return self.examine(state, event).reduction

    def lists(self, state: State, act: HostEvent) -> bool:
        """Say whether the pending acts of a state list one of an event's class, for the call it names."""
        named = getattr(act, "call_id", "")
        listed = self.pending_acts(state)
        return any(each.event is type(act) and getattr(each, "call_id", "") == named for each in listed)


CORE = Core()
"""The functions of this library."""


def core_of(reducer: Reducer) -> Core:
    """Return a core whose reducer is another one."""
    return Core(examine=reducer.examine)
