"""The functions that are under test, as one value: any of them can be replaced by a broken one.

A law never calls the library directly. It asks a ``Core``, so that the same law judges the true functions and a twin in
which one row or one function is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from agentcore.codec import CODEC, Codec
from agentcore.commands import Command
from agentcore.events import Event
from agentcore.outstanding import outstanding
from agentcore.policy import Config
from agentcore.projections.requests import RequestView, request_messages
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
    request_messages: Callable[[State, str], RequestView] = request_messages
    """What a request is built from."""
    codec: Codec = CODEC
    """How values are written and read."""

    def reduce(self, state: State, event: Event) -> Reduction:
        """Return the state after an event, and what is newly ordered."""
        return self.examine(state, event).reduction

    def lists(self, state: State, act: Any) -> bool:
        """Say whether the pending acts of a state list an act."""
        return True


CORE = Core()
"""The functions of this library."""


def core_of(reducer: Reducer) -> Core:
    """Return a core whose reducer is another one."""
    return Core(examine=reducer.examine)
