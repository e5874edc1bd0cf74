"""Questions handed to a program: a web page, an editor, a chat, a test.

```python
approver = QueuedApprover()
async for question in approver:
    question.grant(by="ann")
```
"""

from __future__ import annotations

from typing import Generic, TypeVar

import anyio
import attrs

from agentcore.commands import AskApproval, InspectEffect
from agentcore.events import ApprovalDenied, ApprovalGranted, EffectInspected, EffectResolved, Resolution
from agentcore.states import Call
from interpreters.approvals.answers import check_digest, denied, granted, resolved, undecided

_Answer = TypeVar("_Answer")


class _Slot(Generic[_Answer]):
    """Room for one answer; the first stays."""

    def __init__(self) -> None:
        self._answer: _Answer | None = None
        self._given = anyio.Event()
        self.open = True

    def give(self, answer: _Answer) -> bool:
        """Take an answer; ``False`` if the question has one already, or was withdrawn."""
        if not self.open:
            return False
        self._answer, self.open = answer, False
        self._given.set()
        return True

    async def take(self) -> _Answer:
        """Wait for the answer."""
        try:
            await self._given.wait()
        finally:
            self.open = False
        assert self._answer is not None  # it was given before the event was set
        return self._answer


@attrs.frozen(eq=False)
class PermissionQuestion:
    """May ``call`` run with exactly ``call.arguments``? Each answer says whether it came in time."""

    session_id: str
    """The session."""
    order: AskApproval
    """The question, with the digest the permission is bound to and the reason."""
    call: Call
    """Tool, arguments and contract."""
    _slot: _Slot[ApprovalGranted | ApprovalDenied] = attrs.field(factory=_Slot, repr=False)

    @property
    def open(self) -> bool:
        """Neither answered nor withdrawn."""
        return self._slot.open

    async def answer(self) -> ApprovalGranted | ApprovalDenied:
        """Wait for the answer; whoever stops waiting withdraws the question."""
        return await self._slot.take()

    def grant(self, *, by: str = "user", arguments: str | None = None) -> bool:
        """Allow it; other arguments (canonical JSON) send the call back to review."""
        return self._slot.give(granted(self.order, self.call, by=by, arguments=arguments))

    def deny(self, feedback: str = "", *, by: str = "user") -> bool:
        """Refuse it, perhaps saying what is wanted instead."""
        return self._slot.give(denied(self.order, by=by, feedback=feedback))


@attrs.frozen(eq=False)
class EffectQuestion:
    """What became of an attempt of ``call``? Each answer says whether it came in time."""

    session_id: str
    """The session."""
    order: InspectEffect
    """The question, with the attempt that is asked about."""
    call: Call
    """Tool, arguments, and in its state what is known."""
    _slot: _Slot[EffectResolved | EffectInspected] = attrs.field(factory=_Slot, repr=False)

    @property
    def open(self) -> bool:
        """Neither answered nor withdrawn."""
        return self._slot.open

    async def answer(self) -> EffectResolved | EffectInspected:
        """Wait for the answer; whoever stops waiting withdraws the question."""
        return await self._slot.take()

    def resolve(self, resolution: Resolution, *, by: str = "user", result: str = "", retry: bool = False) -> bool:
        """Say what became of it, or give up; ``retry`` with ``NOT_EXECUTED`` runs it again."""
        return self._slot.give(resolved(self.order, resolution, by=by, result=result, retry=retry))

    def leave_open(self, evidence: str = "the person cannot say", *, by: str = "user") -> bool:
        """Say that it is not known; it will be asked again, a bounded number of times."""
        return self._slot.give(undecided(self.order, by=by, evidence=evidence))


class QueuedApprover:
    """An ``Approver`` whose questions a program takes by iterating over it; the iteration has no end."""

    def __init__(self) -> None:
        self._waiting: list[PermissionQuestion | EffectQuestion] = []
        self._news = anyio.Event()

    async def ask(self, session_id: str, order: AskApproval, call: Call) -> ApprovalGranted | ApprovalDenied:
        """Put the question into the queue and wait for its answer."""
        check_digest(order, call)
        question = PermissionQuestion(session_id, order, call)
        self._add(question)
        return await question.answer()

    async def ask_effect(self, session_id: str, order: InspectEffect, call: Call) -> EffectResolved | EffectInspected:
        """Put the question into the queue and wait for its answer."""
        question = EffectQuestion(session_id, order, call)
        self._add(question)
        return await question.answer()

    def __aiter__(self) -> QueuedApprover:
        return self

    async def __anext__(self) -> PermissionQuestion | EffectQuestion:
        """Return the next question, oldest first, waiting for one; those withdrawn meanwhile are left out."""
        while True:
            while self._waiting:
                question = self._waiting.pop(0)
                if question.open:
                    return question
            self._news = anyio.Event()
            await self._news.wait()

    def _add(self, question: PermissionQuestion | EffectQuestion) -> None:
        self._waiting.append(question)
        self._news.set()
