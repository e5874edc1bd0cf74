"""People who are asked: whether a call may run, and what became of an effect that no program can look at.

``TerminalApprover`` asks at a terminal, ``QueuedApprover`` hands questions to a program, ``StandingAnswer`` has been
told beforehand, and ``Nobody`` is not there.
"""

from __future__ import annotations

from interpreters.approvals.answers import Nobody, StandingAnswer
from interpreters.approvals.queued import EffectQuestion, PermissionQuestion, QueuedApprover
from interpreters.approvals.terminal import Lines, TerminalApprover, TerminalLines, terminal_approver

__all__ = [
    "EffectQuestion",
    "Lines",
    "Nobody",
    "PermissionQuestion",
    "QueuedApprover",
    "StandingAnswer",
    "TerminalApprover",
    "TerminalLines",
    "terminal_approver",
]
