"""What a frontend is shown. Never stored, never reduced: whoever misses a view loses nothing that matters.

1. Every view is numbered within its session; ``state`` carries all that is true, so who missed some continues from it.
2. ``turn_end`` and then ``agent_end`` always come, after an error, a cancel and a broken store too.
3. Text deltas may be withdrawn: ``partial_discarded`` says that what an attempt showed is not part of the answer.
4. Everything textual in a view comes from a model, a tool or a file: a frontend shows it as text, never as markup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

from agentcore.events import Recovery
from agentcore.messages import Outcome, Usage
from agentcore.states import State, StopReason


@attrs.frozen
class StateView:
    """The session after an accepted event, whole."""

    seq: int
    """The event that led to it."""
    state: State
    """The state; immutable, so it may be kept."""


@attrs.frozen
class TextDelta:
    """A piece of the answer."""

    request_id: str
    """The request."""
    attempt: int
    """Its attempt."""
    text: str
    """The words."""


@attrs.frozen
class ReasoningDelta:
    """A piece of the model's thinking."""

    request_id: str
    """The request."""
    attempt: int
    """Its attempt."""
    text: str
    """The words."""


@attrs.frozen
class PartialDiscarded:
    """What an attempt had shown is withdrawn: it never becomes part of the answer."""

    request_id: str
    """The request."""
    attempt: int
    """The attempt whose deltas are void."""


@attrs.frozen
class ToolStart:
    """An execution begins."""

    call_id: str
    """The call."""
    name: str
    """The tool."""
    arguments: str
    """What runs, canonical JSON."""
    attempt: int
    """Number of the execution."""


@attrs.frozen
class ToolProgress:
    """A tool says how far it is."""

    call_id: str
    """The call."""
    text: str
    """Its words."""


@attrs.frozen
class ToolResultView:
    """A call has its outcome. Shown in the order in which calls end."""

    call_id: str
    """The call."""
    name: str
    """The tool asked for."""
    outcome: Outcome
    """What became of it, with its evidence."""


@attrs.frozen
class ApprovalAsked:
    """Somebody is to decide whether a call may run with exactly these arguments."""

    call_id: str
    """The call: what ``approve`` and ``deny`` take."""
    name: str
    """The tool."""
    arguments: str
    """What would run, canonical JSON."""
    digest: str
    """SHA-256 of ``arguments``."""
    rule: str
    """The rule that wants to ask."""
    reason: str
    """Why."""
    due_at: int | None
    """When the question expires, in milliseconds."""


@attrs.frozen
class ApprovalWithdrawn:
    """A question is no longer open."""

    call_id: str
    """The call."""
    answered: bool
    """Whether a person answered it; otherwise it expired, or nobody needs the answer any more."""


@attrs.frozen
class UsageView:
    """Something was consumed."""

    turn: Usage
    """By the turn so far."""
    session: Usage
    """By the session so far."""


@attrs.frozen
class RecoveryView:
    """Something went wrong and is being dealt with, or a session was taken up again."""

    what: str
    """``resumed``, ``model``, ``storage``."""
    message: str
    """In words."""
    recovery: Recovery | None = None
    """With ``resumed``: what the store found."""


@attrs.frozen
class StepEnd:
    """A step is over: its request was answered and its calls, if any, have their results."""

    request_id: str
    """The step."""


@attrs.frozen
class TurnEnd:
    """A turn is over."""

    turn: int
    """Its number."""
    reason: StopReason | None
    """Why; ``None`` if the session was left while it was open: a resume continues it."""
    message: str = ""
    """Cause in words, where there is one."""
    warning: str = ""
    """What has to be said with it."""


@attrs.frozen
class AgentEnd:
    """Nothing goes on any more until somebody acts."""

    error: str = ""
    """Why the engine stopped, if it did; the session is over then."""


@attrs.frozen
class Lagged:
    """The subscriber was too slow: views were lost to it. The state is what they led to."""

    missed: int
    """How many."""
    state: State
    """The session now."""


View = (
    StateView
    | TextDelta
    | ReasoningDelta
    | PartialDiscarded
    | ToolStart
    | ToolProgress
    | ToolResultView
    | ApprovalAsked
    | ApprovalWithdrawn
    | UsageView
    | RecoveryView
    | StepEnd
    | TurnEnd
    | AgentEnd
)
"""Everything that is shown to all."""

VIEWS: tuple[type[View], ...] = View.__args__
"""Classes of all views."""


def _name(kind: type[Any]) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__.removesuffix("View")).lower()


VIEW_NAMES: Mapping[type[Any], str] = {kind: _name(kind) for kind in (*VIEWS, Lagged)}
"""What each is called where there are no classes: ``text_delta``, ``turn_end`` …"""


@attrs.frozen
class Shown:
    """A view with its number."""

    number: int
    """Counts the views of the session in this process from 1; ask for what came after it to continue."""
    view: View | Lagged
    """What is shown."""

    @property
    def name(self) -> str:
        """What the view is called, as ``text_delta`` or ``turn_end``."""
        return VIEW_NAMES[type(self.view)]
