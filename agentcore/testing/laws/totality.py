"""Laws about ``reduce`` as a function, and about its values when they are written and shown (L1, L2, L18)."""

from __future__ import annotations

from agentcore.commands import RecordRejection
from agentcore.events import (
    ConfigChanged,
    EffectResolved,
    Event,
    HistoryCleared,
    HistoryImported,
    InspectionRequested,
    RetryRequested,
    SessionReopened,
    SessionResumed,
    ToolCancelled,
)
from agentcore.rejections import RejectionCode
from agentcore.states import State
from agentcore.testing.answers import answered_key, failing
from agentcore.testing.core import Core
from agentcore.testing.laws.base import state_law, transition_law
from agentcore.testing.laws.refusals import misheard, untruth
from agentcore.testing.passage import Passage
from agentcore.testing.probes import foreign_events

DONE_ANEW: tuple[type[Event], ...] = (SessionResumed, HistoryImported, HistoryCleared, ConfigChanged)
"""Acts of a host that carry no id and name nothing: saying one twice is doing it twice, and does no harm."""

REPEATABLE: tuple[type[Event], ...] = (
    *DONE_ANEW,
    SessionReopened,
    InspectionRequested,
    RetryRequested,
    EffectResolved,
    ToolCancelled,
)
"""Events that carry no id of their own: once others lie between, they are acts anew, or answers anew.

``ToolCancelled`` names the execution and not the order to stop it, so where an attempt was told to stop a second time
the same words answer the second order.
"""


@state_law("L1")
def reduce_is_a_function(state: State, core: Core) -> str | None:
    """``reduce`` is total, deterministic, and leaves its input equal to what it was.

    Every state is given, twice, each class of event with ids that fit nothing and the failure of everything that is
    outstanding. Whatever else is tried, an exception or a defect of the core breaks every law.
    """
    mark = hash(state)
    awaited = (failing(command, state.at) for command in core.outstanding(state))
    for event in (*foreign_events(state), *awaited):
        if event is not None and core.reduce(state, event) != core.reduce(state, event):
            return f"{type(event).__name__} gave two different answers"
    return None if hash(state) == mark else "the state was changed by being looked at"


@transition_law("L2", refusals=True)
def what_is_refused_changes_nothing(passage: Passage) -> str | None:
    """Rejected and ignored events return the same state object. An event delivered twice changes nothing the second
    time.

    A rejection gives ``RecordRejection`` and nothing else, an ignored event nothing; an accepted one is one more seq.
    Acts of a host that carry no id and name nothing are done anew when they are said anew: a resume, an import, a
    clearing, a change of the configuration.

    A rejection tells no untruth: what its code claims is so (``CLAIMS``), the id it names is the one that does not fit,
    and who is blamed is at fault. What a host says is ignored only if it is known (``KNOWN``), and neither what is
    known nor what has to be refused is accepted.
    """
    before, after, commands = passage.before, passage.after, passage.commands
    if after is before:
        if not commands:
            return _misheard(passage)
        if len(commands) > 1 or not isinstance(commands[0], RecordRejection):
            return f"the state stayed, but {len(commands)} commands came"
        return untruth(passage)
    if passage.rejection is not None:
        return "an event was refused and changed the state"
    if after.seq != before.seq + 1:
        return f"seq went from {before.seq} to {after.seq}"
    return _misheard(passage) or (None if isinstance(passage.event, DONE_ANEW) else _done_twice(passage))


def _misheard(passage: Passage) -> str | None:
    """Judge what a host says; answers are judged by L13."""
    return misheard(passage) if answered_key(passage.event) is None else None


def _done_twice(passage: Passage) -> str | None:
    """Say what is wrong with how an accepted event is taken the second time."""
    after, event = passage.after, passage.event
    again = passage.core.reduce(after, event)
    if again.state is not after:
        return f"{type(event).__name__} changed the state again"
    told = Passage(after, event, again, passage.core)
    return untruth(told) if again.commands else misheard(told)


def is_said_again(passage: Passage) -> str | None:
    """Say that an event of the journal, delivered once more, was accepted again: the rest of L2, for any distance."""
    again = passage.verdict == "accepted" and not isinstance(passage.event, REPEATABLE)
    return f"{type(passage.event).__name__} was delivered before and accepted again" if again else None


@state_law("L18")
def what_is_written_can_be_read(state: State, core: Core) -> str | None:
    """``decode(encode(x)) == x`` for every state, event and command; ``start`` on the header and folding the journal
    gives the live state.

    Whoever reads the journal goes on from what was read: a state that was written and read reduces the failure of what
    is outstanding, written and read as well, to the same state and the same commands.
    """
    codec = core.codec
    kept = codec.decode_state(codec.encode_state(state))
    if kept != state:
        return "the state is another one after it was written and read"
    for command in core.outstanding(state):
        if codec.decode_command(codec.encode_command(command)) != command:
            return f"{type(command).__name__} is another one after it was written and read"
        event = failing(command, state.at)
        if event is None:
            continue
        told = codec.decode_event(codec.encode_event(event))
        if told != event:
            return f"{type(event).__name__} is another one after it was written and read"
        if core.reduce(kept, told) != core.reduce(state, event):
            return f"{type(event).__name__} leads elsewhere from a state that was written and read"
    return None


def defect(passage: Passage) -> str | None:
    """Say what is broken in the core itself: every law run fails on it."""
    rejection = passage.rejection
    if rejection is not None and rejection.code is RejectionCode.CORE_DEFECT:
        return f"core-defect: {rejection.advice}"
    return None
