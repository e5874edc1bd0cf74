"""What the engine asks of tools, rules, people and hosts; the only words it shares with them.

Rules that every interpreter keeps, and that the engine's seam enforces:

1. It is given the command and the call it is about, as it stands in the state, and answers with one event of
   ``agentcore.commands.ANSWERS`` that names the command's whole key. ``at`` is the engine's: it stamps every event.
2. Whatever it raises, and any other answer, becomes the command's failure event. It never stops the engine.
3. It is cancelled when nobody waits for its answer any more. Executions are the exception: only a pure one is
   cancelled so; any other is told to stop by ``ToolBox.cancel``, and after a crash the process is simply gone.
4. It performs a key at most once, and may be asked about several calls at the same time.

The model's and the store's ports are in ``ports_model`` and ``ports_store``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import attrs

from agentcore.commands import AskApproval, CancelTool, CompactContext, EvaluatePolicy, ExecuteTool, InspectEffect
from agentcore.events import (
    ApprovalDenied,
    ApprovalGranted,
    CompactionFailed,
    ContextCompacted,
    EffectInspected,
    EffectResolved,
    Event,
    PolicyAllowed,
    PolicyAsked,
    PolicyBlocked,
)
from agentcore.messages import UserPart
from agentcore.policy import ToolContract
from agentcore.states import Call, State

STAMPED = 0
"""What may stand as ``at`` in an event that the engine will stamp."""

Emit = Callable[[Event], None]
"""Takes an event that is not the end: ``ToolStarted``, ``ToolProgressed``, ``TaskStarted``. Never raises."""

Show = Callable[[str], None]
"""Takes progress meant for reading; it is not stored. Never raises."""


@runtime_checkable
class ToolBox(Protocol):
    """Runs tools, tells them to stop, asks what became of them."""

    @property
    def contracts(self) -> tuple[ToolContract, ...]:
        """The tools there are, names unique."""

    async def execute(self, session_id: str, order: ExecuteTool, call: Call, *, emit: Emit, show: Show) -> Event:
        """Run ``call.arguments`` and return how the attempt ended.

        ``ToolSucceeded``, ``ToolFailed`` or ``ToolLost``; ``TaskSettled`` after ``TaskStarted`` was emitted;
        ``ToolCancelled`` once ``cancel`` was called for this attempt. Events name the order's epoch and attempt.
        """

    def cancel(self, session_id: str, order: CancelTool) -> None:
        """Tell the attempt ``order.execution`` to stop. How it ended is the answer of its ``execute``.

        An attempt that is not here (its process is gone) has no answer: the grace timer ends the waiting.
        """

    async def inspect(self, session_id: str, order: InspectEffect, call: Call) -> EffectInspected:
        """Ask what became of the attempt ``order.execution``."""


@runtime_checkable
class Gate(Protocol):
    """The rules: allow, ask or block a call."""

    async def evaluate(
        self, session_id: str, order: EvaluatePolicy, call: Call
    ) -> PolicyAllowed | PolicyAsked | PolicyBlocked:
        """Decide about exactly ``call.arguments``, which fit the tool's schema; the answer carries their digest too."""


class Approver(Protocol):
    """A person who can be asked."""

    async def ask(self, session_id: str, order: AskApproval, call: Call) -> ApprovalGranted | ApprovalDenied:
        """Ask whether ``call.arguments``, of which ``order.digest`` is the digest, may run."""

    async def ask_effect(self, session_id: str, order: InspectEffect, call: Call) -> EffectResolved | EffectInspected:
        """Ask what became of the attempt ``order.execution``; ``call.state`` holds what is known of it."""


class Compactor(Protocol):
    """Makes the context of a request smaller."""

    async def compact(self, order: CompactContext, state: State) -> ContextCompacted | CompactionFailed:
        """Summarise what ``state.window`` holds, or replace media, as ``order.purpose`` says."""


@attrs.frozen
class InboxMessage:
    """A message that waits outside the session."""

    message_id: str
    """Minted by its author: taking it twice delivers it once."""
    parts: tuple[UserPart, ...]
    """Its content."""


class Inbox(Protocol):
    """A queue of messages elsewhere: in memory, in a table, on another machine (R-174)."""

    async def waiting(self, session_id: str) -> Sequence[InboxMessage]:
        """Return what waits, oldest first, without removing it."""

    async def taken(self, session_id: str, message_ids: Sequence[str]) -> None:
        """Forget messages: they are durable in the session's journal now."""
