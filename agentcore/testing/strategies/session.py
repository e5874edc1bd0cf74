"""A session as it is tried out: its state, and the events that led to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from agentcore.events import Event
from agentcore.states import State


@attrs.frozen
class Session:
    """A session: where it is, and by which events it came there."""

    state: State
    """Where it is."""
    journal: Sequence[Event] = ()
    """What was accepted, oldest first: what can be told again."""
    origin: State | None = attrs.field(default=None, eq=False)
    """The state that ``start`` gave, if it is known: folding the journal over it gives ``state``."""

    def __repr__(self) -> str:
        """Show the events one a line; the state follows from them."""
        told = "".join(f"\n  {event}" for event in self.journal)
        return f"{type(self.state.phase).__name__} at seq {self.state.seq}, reached by{told or ' nothing'}"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:  # noqa: FBT001 - the pretty-printer's protocol
        """Let Hypothesis show what ``repr`` does, and not the whole state."""
        printer.text(repr(self))
