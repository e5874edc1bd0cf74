"""A protocol of two people and a till: one drafts a payment, the other approves it, and the till pays.

Messages between them take their time, may be lost, and cross. The flaw is an old one: the approval says *yes*, not *yes
to what*, so the till pays what the draft has become in the meantime. Mended, an approval names the version it is for,
and a stale one leads to another question.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from agentcore.testing.protocol import LoopProtocol, ProtocolLaw, Transition

VERSIONS_MAX = 3
"""How often a draft may change, so that the exploration has an end."""


@attrs.frozen
class Payment:
    """The state of all three, and what is under way between them."""

    draft: int = 1
    """Version of the draft."""
    question: int | None = None
    """The version that the approver is being asked about: the message under way."""
    answer: int | None = None
    """The version that was approved: the message under way."""
    approved: frozenset[int] = frozenset()
    """Versions that the approver said yes to; only the world knows."""
    paid: int | None = None
    """The version that was paid."""
    dropped: bool = False
    """The payment was given up."""

    @property
    def over(self) -> bool:
        """Whether the payment is settled, one way or the other."""
        return self.paid is not None or self.dropped


def enabled(state: Payment) -> Iterator[str]:
    """Each of them acts when they like, and each message arrives, or is lost."""
    if not state.over and state.draft < VERSIONS_MAX:
        yield "change the draft"
    if not state.over and state.question is None and state.answer is None:
        yield "ask for approval"
    if state.question is not None:
        yield from ("approve", "decline", "lose the question")
    if state.answer is not None:
        yield from ("deliver the approval", "lose the approval")


def reduce(state: Payment, event: str) -> tuple[Payment, tuple[str, ...]]:
    """Take one act; the till pays when an approval is delivered."""
    match event:
        case "change the draft":
            return attrs.evolve(state, draft=state.draft + 1), ()
        case "ask for approval":
            return attrs.evolve(state, question=state.draft), ()
        case "approve" if state.question is not None:
            approved = state.approved | {state.question}
            return attrs.evolve(state, question=None, answer=state.question, approved=approved), ()
        case "decline":
            return attrs.evolve(state, question=None, dropped=True), ()
        case "lose the question":
            return attrs.evolve(state, question=None), ()
        case "lose the approval":
            return attrs.evolve(state, answer=None), ()
    return attrs.evolve(state, answer=None, paid=state.draft), (f"pay version {state.draft}",)


def mended_reduce(state: Payment, event: str) -> tuple[Payment, tuple[str, ...]]:
    """Take one act; the till pays only the version that an approval is for, and asks again otherwise."""
    if event == "deliver the approval" and state.answer != state.draft:
        return attrs.evolve(state, answer=None, question=state.draft), ("ask for approval",)
    return reduce(state, event)


def only_what_was_approved(transition: Transition) -> str | None:
    """Say whether a version is paid that nobody approved."""
    paid = transition.after.paid
    if paid is None or paid in transition.after.approved:
        return None
    return f"version {paid} is paid, and approved is {sorted(transition.after.approved) or 'nothing'}"


def is_step_forward(transition: Transition) -> bool:
    """Say what can happen only so often: the draft changes, and every message that is lost is lost by bad luck."""
    return transition.event == "change the draft" or str(transition.event).startswith("lose")


def protocol(*, mended: bool = False) -> LoopProtocol:
    """Return the two people and the till as a protocol."""
    law = ProtocolLaw("paid-as-approved", "What is paid was approved as it is.", transition=only_what_was_approved)
    return LoopProtocol(
        Payment(),
        enabled,
        mended_reduce if mended else reduce,
        (law,),
        name="mended-approval" if mended else "approval",
        accepting=lambda state: state.over,
        progress=is_step_forward,
        show=_show,
    )


def _show(state: Payment) -> str:
    said = [f"draft {state.draft}"]
    said += [f"asked about {state.question}"] if state.question is not None else []
    said += [f"approval of {state.answer} under way"] if state.answer is not None else []
    said += [f"paid {state.paid}"] if state.paid is not None else []
    return ", ".join([*said, *(["given up"] if state.dropped else [])])
