"""What is played: a scenario is a few steps of the model, and at most one act of the world (cancel, kill, denial).

1. A step is one reply of the model. It asks for calls, except for the last: that is the final answer, and is added
   where the steps do not end with one.
2. ``instead`` lists what comes in place of the reply when it is asked for the first, second … time.
3. The model follows the *history* it is sent: it gives the reply of the first step that the history does not hold. A
   program that forgets a reply is therefore asked for the same deed again, as by a real model.
"""

from __future__ import annotations

from enum import StrEnum

import attrs


class Fault(StrEnum):
    """What comes instead of a reply."""

    ERROR = "error"
    RATE_LIMIT = "rate-limit"
    OVERFLOW = "overflow"
    STALL = "stall"
    DISCONNECT = "disconnect"
    GARBAGE = "garbage"
    EMPTY = "empty"
    CUT = "cut"
    CUT_WHOLE = "cut-whole"
    CUT_UNLABELLED = "cut-unlabelled"


CUTS = (Fault.CUT, Fault.CUT_WHOLE, Fault.CUT_UNLABELLED, Fault.STALL, Fault.DISCONNECT)
"""Faults that show calls which must not run: the message that they stand in was not whole."""


class Form(StrEnum):
    """How the arguments of a call are written."""

    GOOD = "good"
    WRONG_TYPE = "wrong-type"
    NO_JSON = "no-json"
    NO_OBJECT = "no-object"


class Behaviour(StrEnum):
    """What the tool of a call does."""

    QUICK = "quick"
    SLOW = "slow"
    FAILS = "fails"
    LOST = "lost"
    HANGS = "hangs"


class Ids(StrEnum):
    """Which ids the provider gives the calls of a reply."""

    FRESH = "fresh"
    SAME = "same"
    REUSED = "reused"
    EMPTY = "empty"


RECORD, GUARDED, UNKNOWN = "record", "guarded", "no_such_tool"
"""The tool that just acts, the one that wants a permission, and one that was never offered."""


@attrs.frozen
class Call:
    """One call that the model asks for."""

    tool: str = RECORD
    """Which tool."""
    form: Form = Form.GOOD
    """How its arguments are written."""
    behaviour: Behaviour = Behaviour.QUICK
    """What its tool does."""


@attrs.frozen
class Step:
    """One reply of the model."""

    calls: tuple[Call, ...] = ()
    """What it asks for; nothing in a final answer."""
    ids: Ids = Ids.FRESH
    """The ids of the calls."""
    labelled_stop: bool = False
    """The reply says that it is the end of the turn, although it asks for calls."""
    instead: tuple[Fault, ...] = ()
    """What comes first, in its place."""


class Moment(StrEnum):
    """When the act comes."""

    STREAM = "in the middle of the reply"
    BEFORE_DEED = "before the deed"
    IN_DEED = "during the deed"
    AFTER_DEED = "after the deed"
    NEXT_REQUEST = "when the result is sent"


class Kind(StrEnum):
    """What the world does once."""

    CANCEL = "cancel"
    KILL = "kill"
    DENY = "deny"


@attrs.frozen
class Act:
    """The one act of a scenario; a denial comes with the question, whatever its moment."""

    kind: Kind
    """What."""
    moment: Moment = Moment.IN_DEED
    """When."""
    step: int = 0
    """At which step."""


@attrs.frozen
class Scenario:
    """What one run of the program meets."""

    name: str
    """What it is called on the command line."""
    steps: tuple[Step, ...] = ()
    """The replies, in order."""
    act: Act | None = None
    """What happens once."""
    endless: bool = False
    """The last step comes for ever: its faults if it has any, else its calls."""

    @property
    def replies(self) -> tuple[Step, ...]:
        """The steps with a final answer at their end."""
        return self.steps if self.steps and not self.steps[-1].calls else (*self.steps, Step())

    def at(self, place: int) -> Step:
        """Return the step at a place; past the end it is the last one."""
        steps = self.steps if self.endless else self.replies
        return steps[min(place, len(steps) - 1)]

    @property
    def asks_for_deeds(self) -> bool:
        """Whether it needs the tools of the check."""
        return any(step.calls for step in self.steps)
