"""What a person's answer is as an event, and the two persons who need not think.

A permission is bound to the digest of the arguments that were shown: a question whose arguments do not have the digest
that was asked about is never shown at all.
"""

from __future__ import annotations

from typing import Any

from agentcore.commands import AskApproval, InspectEffect
from agentcore.events import (
    ApprovalDenied,
    ApprovalGranted,
    DenialKind,
    EffectInspected,
    EffectResolved,
    Finding,
    Resolution,
)
from agentcore.messages import clean_text, digest
from agentcore.states import Call
from interpreters.support.ports import STAMPED

NOBODY = "nobody"
"""Who answers where no one could be asked."""


def check_digest(order: AskApproval, call: Call) -> None:
    """Raise ``ValueError`` if the arguments at hand are not those that are asked about."""
    if digest(call.arguments) != order.digest:
        raise ValueError(
            f"the arguments of call {call.call_id} are not those of digest {order.digest}: nobody is asked"
        )


def _key(order: AskApproval | InspectEffect) -> dict[str, Any]:
    return {"at": STAMPED, "call_id": order.call_id, "epoch": order.epoch, "attempt": order.attempt}


def granted(order: AskApproval, call: Call, *, by: str, arguments: str | None = None) -> ApprovalGranted:
    """A person allowed the call, with the arguments that were shown or with others (canonical JSON)."""
    text = call.arguments if arguments is None else arguments
    return ApprovalGranted(**_key(order), arguments=text, digest=digest(text), by=by)


def denied(order: AskApproval, *, by: str, feedback: str = "", kind: DenialKind = DenialKind.REFUSED) -> ApprovalDenied:
    """A person refused, perhaps saying what they want instead."""
    return ApprovalDenied(**_key(order), kind=kind, feedback=clean_text(feedback), by=by)


def resolved(
    order: InspectEffect, resolution: Resolution, *, by: str, result: str = "", retry: bool = False
) -> EffectResolved:
    """A person said what became of an effect, or gave up finding out."""
    again = retry and resolution is Resolution.NOT_EXECUTED
    said = clean_text(result)
    # The word is about this question: told again, it must not answer the next one.
    word = f"answer/{order.call_id}/{order.epoch}.{order.attempt}"
    return EffectResolved(
        at=STAMPED, call_id=order.call_id, resolution=resolution, by=by, result=said, retry=again, act_id=word
    )


def undecided(order: InspectEffect, *, by: str, evidence: str) -> EffectInspected:
    """A person was asked and cannot say."""
    execution = f"{order.execution[0]}.{order.execution[1]}"
    return EffectInspected(
        **_key(order),
        finding=Finding.UNAVAILABLE,
        by=by,
        question=f"what became of attempt {execution} of call {order.call_id}",
        evidence=clean_text(evidence),
    )


class Nobody:
    """An ``Approver`` who is not there: a refusal, or giving up, at once (D-27)."""

    async def ask(self, session_id: str, order: AskApproval, call: Call) -> ApprovalDenied:
        """Refuse, because nobody could be asked."""
        return denied(order, by=NOBODY, kind=DenialKind.NOBODY)

    async def ask_effect(self, session_id: str, order: InspectEffect, call: Call) -> EffectResolved:
        """Give up, because nobody could be asked; the effect stays in the register."""
        return resolved(order, Resolution.ABANDONED, by=NOBODY)


class StandingAnswer:
    """An ``Approver`` who was told beforehand to allow everything, or to refuse everything.

    What became of an effect cannot be said beforehand: that is given up, as by nobody.
    """

    def __init__(self, *, grant: bool, by: str) -> None:
        """``by`` names where the word comes from, such as a flag; it is kept with each answer."""
        self._grant, self._by = grant, by

    async def ask(self, session_id: str, order: AskApproval, call: Call) -> ApprovalGranted | ApprovalDenied:
        """Answer as told."""
        check_digest(order, call)
        return granted(order, call, by=self._by) if self._grant else denied(order, by=self._by)

    async def ask_effect(self, session_id: str, order: InspectEffect, call: Call) -> EffectResolved:
        """Give up."""
        return resolved(order, Resolution.ABANDONED, by=NOBODY)
