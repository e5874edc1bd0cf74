"""What comes next: who has to do what before anything else can happen (R-237).

The answer is read from the outstanding work, so it cannot differ from what was ordered. While a turn is open its own
work
counts before what lives beside it. Between turns the session waits for its user, and an effect that nobody can tell
about
comes before any new word.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import attrs

from agentcore.commands import (
    AskApproval,
    CancelModel,
    CancelTool,
    Command,
    CompactContext,
    EvaluatePolicy,
    ExecuteTool,
    InspectEffect,
    PersistCheckpoint,
    PrepareStep,
    RequestModel,
    ReviewCompletion,
    StartTimer,
    key_of,
)
from agentcore.events import Inspector
from agentcore.outstanding import of_turn, outstanding
from agentcore.projections.calls import all_calls, named, unresolved
from agentcore.states import ENDS, State


class Party(StrEnum):
    """Who has to act."""

    USER = "user"
    PERSON = "person"
    POLICY = "policy"
    MODEL = "model"
    TOOL = "tool"
    HOST = "host"
    STORE = "store"
    CLOCK = "clock"
    NOBODY = "nobody"


@attrs.frozen
class NextStep:
    """The one thing that comes next."""

    by: Party
    """Who has to act."""
    text: str
    """What, in a sentence."""
    ids: tuple[str, ...] = ()
    """Calls, request, event or timer it is about."""


@attrs.frozen
class _Duty:
    """One kind of order, who performs it, and what it is in words."""

    kind: type[Command]
    by: Party
    text: str
    applies: Callable[[Command], bool] = lambda _: True


def _asks(by: Inspector) -> Callable[[Command], bool]:
    return lambda command: isinstance(command, InspectEffect) and command.by is by


def _timer(*kinds: str) -> Callable[[Command], bool]:
    return lambda command: isinstance(command, StartTimer) and command.timer_id.partition("/")[0] in kinds


_DUTIES: tuple[_Duty, ...] = (
    _Duty(AskApproval, Party.PERSON, "A person decides whether {what} may run."),
    _Duty(InspectEffect, Party.PERSON, "A person looks whether {what} happened, and says so.", _asks(Inspector.PERSON)),
    _Duty(CancelTool, Party.TOOL, "The end of {what} is confirmed, or waiting for it ends."),
    _Duty(CancelModel, Party.MODEL, "The end of request {what} is confirmed, or waiting for it ends."),
    _Duty(InspectEffect, Party.TOOL, "The tool looks whether {what} happened.", _asks(Inspector.PROGRAM)),
    _Duty(ExecuteTool, Party.TOOL, "The outcome of {what} comes in."),
    _Duty(EvaluatePolicy, Party.POLICY, "The rules decide about {what}."),
    _Duty(RequestModel, Party.MODEL, "The model answers request {what}."),
    _Duty(CompactContext, Party.HOST, "The context of request {what} is made smaller."),
    _Duty(PrepareStep, Party.HOST, "The host prepares step {what}."),
    _Duty(ReviewCompletion, Party.HOST, "The host reviews the answer of step {what}."),
    _Duty(StartTimer, Party.CLOCK, "The pause is over, and it is tried again ({what}).", _timer("retry", "inquiry")),
    _Duty(PersistCheckpoint, Party.STORE, "The store makes everything up to event {what} durable."),
    _Duty(StartTimer, Party.CLOCK, "The storage is tried again.", _timer("checkpoint")),
)
"""Every kind of order that something waits for; what comes first in this list is said first."""


def next_step(state: State) -> NextStep:
    """Return what comes next, and who has to do it."""
    if not state.open:
        return _of_user(state)
    for commands in (of_turn(state), outstanding(state)):
        for duty in _DUTIES:
            fitting = [command for command in commands if isinstance(command, duty.kind) and duty.applies(command)]
            if fitting:
                return _in_words(state, duty, fitting)
    return NextStep(Party.NOBODY, "Nothing is awaited.")


def _in_words(state: State, duty: _Duty, commands: list[Command]) -> NextStep:
    ids = tuple(dict.fromkeys(key_of(command).id for command in commands))
    calls = all_calls(state)
    what = named(calls[each] for each in ids) if all(each in calls for each in ids) else ", ".join(ids)
    return NextStep(duty.by, duty.text.format_map({"what": what}), ids)


def _of_user(state: State) -> NextStep:
    open_calls = unresolved(state)
    if open_calls:
        text = f"Find out what became of {named(open_calls)}: inspect, or say what you know."
        return NextStep(Party.USER, text, tuple(call.call_id for call in open_calls))
    if isinstance(state.phase, ENDS) and state.phase.unsaved:
        return NextStep(Party.USER, "Reopen the session: the turn continues from its last saved point.")
    return NextStep(Party.USER, "Send a message.")
