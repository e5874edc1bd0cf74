"""Laws that hold for every agent loop, over a vocabulary of a few facts that an adapter maps its own words to.

``told(event)`` says what an event reports, ``ordered(command)`` what a command sets going. A loop that refuses or
ignores an event accepts nothing of what it reports; so the same mapping serves careful loops and careless ones.

Calls are told apart by name. Where a provider gives one id to several calls of a turn, let the adapter name them by
step and place as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs

from agentcore.testing.protocol.judging import Problem
from agentcore.testing.protocol.shape import Monitor, ProtocolLaw, Transition


@attrs.frozen
class TurnBegun:
    """A user began a turn: the loop may be working again."""


@attrs.frozen
class RequestMade:
    """The model is asked."""


@attrs.frozen
class CallAsked:
    """The model asked for a tool call."""

    call: str
    """Its name."""


@attrs.frozen
class CallDenied:
    """A call was refused permission."""

    call: str
    """Its name."""


@attrs.frozen
class ResultGiven:
    """A call's result, good or bad, was reported."""

    call: str
    """Its name."""


@attrs.frozen
class DeedDone:
    """A call is run: from here on the world may be another one."""

    call: str
    """Its name."""


Fact = TurnBegun | RequestMade | CallAsked | CallDenied | ResultGiven | DeedDone
"""What a loop reports or sets going."""

TEXTS: Mapping[str, str] = {
    "duplicate-result": "A second result for a call is not accepted.",
    "orphan-result": "A result for a call that no model asked for is not accepted.",
    "request-after-end": "After the end, and with it, the model is not called.",
    "deed-after-end": "After the end, and with it, nothing is run.",
    "end-stays": "An ended loop goes on only with a new turn.",
    "open-call": "The model is called only when every call has a result or was denied.",
    "deed-unasked": "Nothing is run that no model asked for.",
    "deed-twice": "A call is run once.",
    "deed-after-denial": "A call that was denied is not run.",
    "result-lost": "A result that was accepted is shown to the model with the next request, and is there at the end.",
    "two-results": "The model is shown at most one result for a call.",
}
"""The laws by name; the last two need ``answered``."""


@attrs.frozen
class Ledger:
    """What the laws remember of a turn."""

    asked: frozenset[str] = frozenset()
    """Calls that a model asked for."""
    denied: frozenset[str] = frozenset()
    """Calls that were denied."""
    settled: frozenset[str] = frozenset()
    """Calls of which a result was accepted."""
    done: frozenset[str] = frozenset()
    """Calls that were run."""


def loop_laws(
    *,
    told: Callable[[Any], Iterable[Fact]],
    ordered: Callable[[Any], Iterable[Fact]],
    ended: Callable[[Any], bool],
    answered: Callable[[Any], Iterable[str]] | None = None,
) -> tuple[ProtocolLaw, ...]:
    """Return the laws of ``TEXTS`` for a loop.

    ``told(event)`` and ``ordered(command)`` name facts, ``ended(state)`` says whether the loop is over, and
    ``answered(state)`` names the call of each result that the model would be shown, as often as it would be.
    """
    monitor = Monitor(Ledger(), _Bookkeeping(told, ordered, ended, answered).step)
    names = [name for name in TEXTS if answered is not None or name not in ("result-lost", "two-results")]
    return tuple(ProtocolLaw(name, TEXTS[name], monitor=monitor) for name in names)


@attrs.frozen
class _Bookkeeping:
    """Writes the ledger of one turn and reads the laws off it."""

    told: Callable[[Any], Iterable[Fact]]
    ordered: Callable[[Any], Iterable[Fact]]
    ended: Callable[[Any], bool]
    answered: Callable[[Any], Iterable[str]] | None

    def step(self, ledger: Ledger, transition: Transition) -> tuple[Ledger, list[Problem]]:
        """Return the ledger after a transition, and what it broke."""
        orders = [fact for command in transition.commands for fact in self.ordered(command)]
        if not transition.changed and not orders:
            return ledger, []
        problems: list[Problem] = []
        facts = tuple(self.told(transition.event))
        for fact in facts:
            ledger = _entered(ledger, fact, problems)
        for fact in orders:
            problems += _disordered(ledger, fact)
            if isinstance(fact, DeedDone):
                ledger = attrs.evolve(ledger, done=ledger.done | {fact.call})
        problems += self._at_the_end(transition, facts, orders)
        if self.answered is not None:
            problems += _shown(ledger, Counter(self.answered(transition.after)), self._is_reckoning(transition, orders))
        return ledger, problems

    def _at_the_end(self, transition: Transition, facts: tuple[Fact, ...], orders: list[Fact]) -> Iterator[Problem]:
        was_over, is_over = self.ended(transition.before), self.ended(transition.after)
        if was_over and any(isinstance(fact, TurnBegun) for fact in facts):
            was_over = False
        if was_over and not is_over:
            yield "end-stays", "the loop had ended and goes on, and no turn was begun"
        if not was_over and not is_over:
            return
        when = "after the end" if was_over else "as the loop ends"
        for fact in orders:
            if isinstance(fact, RequestMade):
                yield "request-after-end", f"the model is called {when}"
            if isinstance(fact, DeedDone):
                yield "deed-after-end", f"{fact.call} is run {when}"

    def _is_reckoning(self, transition: Transition, orders: list[Fact]) -> bool:
        """Whether the model is shown what there is now, or never will be."""
        return self.ended(transition.after) or any(isinstance(fact, RequestMade) for fact in orders)


def _entered(ledger: Ledger, fact: Fact, problems: list[Problem]) -> Ledger:
    """Write what was reported and accepted into the ledger."""
    match fact:
        case TurnBegun():
            return Ledger()
        case CallAsked(call):
            return attrs.evolve(ledger, asked=ledger.asked | {call})
        case CallDenied(call):
            return attrs.evolve(ledger, denied=ledger.denied | {call})
        case ResultGiven(call):
            if call not in ledger.asked:
                problems.append(("orphan-result", f"a result for {call} was accepted, and no model asked for {call}"))
            elif call in ledger.settled:
                problems.append(("duplicate-result", f"a second result for {call} was accepted"))
            return attrs.evolve(ledger, settled=ledger.settled | {call})
        case DeedDone(call):
            return attrs.evolve(ledger, done=ledger.done | {call})
    return ledger


def _disordered(ledger: Ledger, fact: Fact) -> Iterator[Problem]:
    """Yield what is wrong with an order, given what was reported and ordered before."""
    if isinstance(fact, RequestMade):
        waiting = sorted(ledger.asked - ledger.settled - ledger.denied)
        if waiting:
            yield "open-call", f"the model is called while {waiting[0]} has no result"
    if isinstance(fact, DeedDone):
        call = fact.call
        if call not in ledger.asked:
            yield "deed-unasked", f"{call} is run, and no model asked for it"
        if call in ledger.done:
            yield "deed-twice", f"{call} is run a second time"
        if call in ledger.denied:
            yield "deed-after-denial", f"{call} was denied and is run"


def _shown(ledger: Ledger, shown: Counter[str], is_reckoning: bool) -> Iterator[Problem]:  # noqa: FBT001 - a private word
    for call, times in sorted(shown.items()):
        if times > 1:
            yield "two-results", f"the model is shown {times} results for {call}"
    for call in sorted((ledger.settled & ledger.asked) - shown.keys()) if is_reckoning else ():
        yield "result-lost", f"the result of {call} was accepted, and the model is not shown it"
