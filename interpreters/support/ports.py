"""What the engine asks of tools, policy, people and hosts; the only words it shares with them.

Rules every interpreter keeps, and the engine's seam enforces:

1. It answers a command with one event of ``agentcore.commands.ANSWERS`` that names the command's whole key. ``at`` is
   left 0: the engine stamps it.
2. Whatever it raises, and any other answer, becomes the command's failure event. It never stops the engine.
3. It is cancelled when nobody waits for its answer any more. Executions are the exception: only a pure one is
   cancelled so; any other is told to stop by ``ToolBox.cancel``, and after a crash the process is simply gone.
4. It performs a key at most once, and may be asked for several calls at the same time.

The model's and the store's ports are in ``ports_model`` and ``ports_store``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import attrs

from agentcore.commands import CompactContext
from agentcore.events import (
    ApprovalDenied,
    ApprovalGranted,
    CompactionFailed,
    ContextCompacted,
    EffectInspected,
    EffectResolved,
    PolicyAllowed,
    PolicyAsked,
    PolicyBlocked,
    TaskSettled,
    TaskStarted,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.messages import UserPart
from agentcore.policy import ToolContract
from agentcore.states import Evidence, State

STAMPED = 0
"""What an interpreter writes as ``at``: the engine puts the time there."""


@attrs.frozen(kw_only=True)
class Execution:
    """One attempt of one call: what runs, under which keys."""

    session_id: str
    """The session."""
    call_id: str
    """``turn.step.index`` of the call."""
    epoch: int
    """Epoch of the attempt: part of what an answer names."""
    attempt: int
    """Number of the attempt: part of what an answer names."""
    name: str
    """The tool."""
    arguments: str
    """What runs, canonical JSON: exactly what was allowed."""
    contract: ToolContract
    """The tool's effect contract from when the call was proposed."""
    released_at: int = 0
    """When it was released, in milliseconds."""
    due_at: int | None = None
    """Its deadline in milliseconds; the reducer keeps it, an interpreter may pass it on."""
    handle: str = ""
    """What an inspection can ask about, if the attempt said so."""
    observation: str = ""
    """The last known remote state, if the attempt said so."""
    context: Any = None
    """The host's live object for this session; never stored."""

    @property
    def id(self) -> tuple[int, int]:
        """Epoch and number, as ``CancelTool.execution`` and ``InspectEffect.execution`` name it."""
        return self.epoch, self.attempt

    @property
    def effect_key(self) -> str:
        """The same for every attempt of the call, over retries and restarts."""
        return f"{self.session_id}/{self.call_id}"

    @property
    def attempt_key(self) -> str:
        """Names this attempt alone."""
        return f"{self.effect_key}/{self.epoch}.{self.attempt}"


@attrs.frozen(kw_only=True)
class Inquiry:
    """What became of an attempt? Asked of a tool's ``inspect`` or of a person."""

    execution: Execution
    """The attempt that is asked about, with handle and last observation."""
    epoch: int
    """Epoch of the inspection: what ``EffectInspected`` names."""
    attempt: int
    """Number of the inspection: what ``EffectInspected`` names."""
    evidence: Evidence = ()
    """Why the effect is unknown, as named facts."""
    reports: tuple[str, ...] = ()
    """What earlier attempts said late."""


@attrs.frozen(kw_only=True)
class Review:
    """May a call run with these arguments?"""

    session_id: str
    """The session."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the review."""
    attempt: int
    """Number of the review."""
    name: str
    """The tool."""
    arguments: str
    """What would run, canonical JSON; already fits the tool's schema."""
    contract: ToolContract
    """The tool's effect contract."""


@attrs.frozen(kw_only=True)
class Question:
    """A person is asked whether a call may run with exactly these arguments."""

    session_id: str
    """The session."""
    call_id: str
    """The call."""
    epoch: int
    """Epoch of the question: what the answer names."""
    attempt: int
    """Number of the question: what the answer names."""
    name: str
    """The tool."""
    arguments: str
    """What would run, canonical JSON."""
    digest: str
    """SHA-256 of ``arguments``: what a grant is bound to."""
    contract: ToolContract
    """The tool's effect contract."""
    rule: str = ""
    """The rule that wants to ask."""
    reason: str = ""
    """Why."""
    due_at: int | None = None
    """When the question expires, in milliseconds; the reducer keeps it."""


class Reporter(Protocol):
    """What an execution can say and keep while it runs. Its methods may be called from the event loop only."""

    def emit(self, event: ToolStarted | ToolProgressed | TaskStarted) -> None:
        """Tell a fact that is not the end; one that names another attempt is dropped. Never raises."""

    def show(self, text: str) -> None:
        """Show progress to whoever watches; it is not stored. Never raises."""

    async def keep(self, name: str, data: bytes) -> str:
        """Keep bytes durably beside the journal and return their place, as ``Journal.keep`` does."""


ToolEnd = ToolSucceeded | ToolFailed | ToolLost | TaskSettled
"""How an execution ends."""


class ToolBox(Protocol):
    """Runs tools, asks what became of them, stops them."""

    @property
    def contracts(self) -> tuple[ToolContract, ...]:
        """The tools there are, names unique."""

    def problem_with(self, name: str, arguments: str) -> str:
        """Say what is wrong with arguments (canonical JSON) by the tool's schema; empty if they fit."""

    async def execute(self, execution: Execution, reporter: Reporter) -> ToolEnd | None:
        """Run an attempt to its end.

        ``None`` means that ``cancel`` answers for it; without a cancel it counts as lost. A detached tool emits
        ``TaskStarted`` and returns ``TaskSettled``.
        """

    async def cancel(self, execution: Execution) -> ToolCancelled | None:
        """Tell an attempt to stop and wait until it has ended.

        ``None`` where the attempt's own answer tells the end, or where nothing is known of it here (a process that
        is gone); its grace timer then ends the waiting.
        """

    async def inspect(self, inquiry: Inquiry) -> EffectInspected:
        """Ask what became of an attempt."""


class Gate(Protocol):
    """The rules: allow, ask or block a call."""

    async def evaluate(self, review: Review) -> PolicyAllowed | PolicyAsked | PolicyBlocked:
        """Decide about exactly ``review.arguments``; the answer carries them and their digest."""


class Approver(Protocol):
    """A person who can be asked."""

    async def ask(self, question: Question) -> ApprovalGranted | ApprovalDenied:
        """Ask whether a call may run. Cancelled when the question is withdrawn."""

    async def ask_effect(self, inquiry: Inquiry) -> EffectResolved | EffectInspected:
        """Ask what became of an effect. Cancelled when somebody else has found out."""


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
