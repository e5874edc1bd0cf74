"""Exit codes: one for each kind of end, so that a script need not read any text. ``docs/cli.md`` has the same table."""

from __future__ import annotations

from enum import IntEnum

from agentcore.states import Cancelled, Completed, Denied, End, Exhausted, StopReason
from interpreters.engine import JournalUnreadable, Result, SessionOver, StorageUnavailable
from interpreters.support.ports_store import (
    SchemaTooNew,
    SessionDamaged,
    SessionExists,
    SessionLocked,
    SessionUnknown,
    StoreError,
    UnsafeName,
)


class Exit(IntEnum):
    """What the process says when it ends."""

    COMPLETED = 0
    FAILED = 1
    USAGE = 2
    DENIED = 3
    CANCELLED = 4
    EXHAUSTED = 5
    UNRESOLVED = 6
    UNKNOWN = 7
    LOCKED = 8
    DAMAGED = 9
    NEWER = 10
    STORAGE = 11
    DEFECT = 70
    LEFT = 130


MEANINGS: tuple[tuple[Exit, str], ...] = (
    (Exit.COMPLETED, "completed, or the command did what it was asked"),
    (Exit.FAILED, "the turn failed: the model, a tool, or no answer"),
    (Exit.USAGE, "the command line or the settings are wrong"),
    (Exit.DENIED, "a refused permission ended the turn"),
    (Exit.CANCELLED, "cancelled by the user"),
    (Exit.EXHAUSTED, "a limit was reached"),
    (Exit.UNRESOLVED, "a person is waited for, or the outcome of an effect is unknown"),
    (Exit.UNKNOWN, "there is no such session"),
    (Exit.LOCKED, "the session is open elsewhere"),
    (Exit.DAMAGED, "the journal is damaged and a person has to decide"),
    (Exit.NEWER, "the journal was written by a newer version"),
    (Exit.STORAGE, "the storage did not do what it was asked"),
    (Exit.DEFECT, "a defect of this program"),
    (Exit.LEFT, "left by Ctrl-C; a session that was open can be resumed"),
)
"""Every exit code, in words."""


class Problem(Exception):
    """Something the user can mend: what was found, where, and what to do."""

    def __init__(self, text: str, code: Exit = Exit.USAGE) -> None:
        """``text`` is what the user reads."""
        super().__init__(text)
        self.code = code
        """How the process ends."""


_ENDS: tuple[tuple[type[End], Exit], ...] = (
    (Completed, Exit.COMPLETED),
    (Denied, Exit.DENIED),
    (Cancelled, Exit.CANCELLED),
    (Exhausted, Exit.EXHAUSTED),
)

_ERRORS: tuple[tuple[type[Exception], Exit], ...] = (
    (UnsafeName, Exit.USAGE),
    (SessionExists, Exit.USAGE),
    (SessionUnknown, Exit.UNKNOWN),
    (SessionLocked, Exit.LOCKED),
    (SessionDamaged, Exit.DAMAGED),
    (SchemaTooNew, Exit.NEWER),
    (JournalUnreadable, Exit.NEWER),
    (StoreError, Exit.STORAGE),
    (StorageUnavailable, Exit.STORAGE),
    (SessionOver, Exit.STORAGE),
)


def exit_of(result: Result, end: type[object]) -> Exit:
    """Return how a process ends whose last turn ended so; ``end`` is the class of its phase.

    An effect that nobody can vouch for goes before the end it was left behind by: it has to be looked at either way.
    """
    if result.unresolved:
        return Exit.UNRESOLVED
    if result.reason is StopReason.STORAGE or result.unsaved:
        return Exit.STORAGE
    return next((code for kind, code in _ENDS if kind is end), Exit.FAILED)


def exit_of_error(error: BaseException) -> Exit | None:
    """Return how the process ends on an error that has words for its user; ``None`` for a defect."""
    if isinstance(error, Problem):
        return error.code
    return next((code for kind, code in _ERRORS if isinstance(error, kind)), None)
