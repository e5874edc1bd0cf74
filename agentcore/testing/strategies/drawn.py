"""Dice that Hypothesis rolls: the strategies of this package."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from agentcore.codec import INTEGERS
from agentcore.events import EVENTS, Event
from agentcore.policy import Config
from agentcore.reduce import reduce
from agentcore.states import Call, CallState, Phase, State
from agentcore.testing.passage import find_call
from agentcore.testing.strategies.aims import Aim
from agentcore.testing.strategies.configs import roll_config
from agentcore.testing.strategies.contents import roll_event
from agentcore.testing.strategies.dice import Dice
from agentcore.testing.strategies.kinds import roll
from agentcore.testing.strategies.pools import in_phase, with_call
from agentcore.testing.strategies.situation import Situation

T = TypeVar("T")

_TEXT = st.text(max_size=12)
_WHOLE = st.integers(INTEGERS.start, INTEGERS.stop - 1) | st.sampled_from((0, 1, INTEGERS.start, INTEGERS.stop - 1))


@functools.cache
def _below(bound: int) -> st.SearchStrategy[int]:
    return st.integers(0, bound - 1)


class _Varied(Dice):
    """Dice whose texts and numbers are those that Hypothesis holds for interesting."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(lambda bound: draw(_below(bound)))
        self._draw = draw

    def text(self) -> str:
        return self._draw(_TEXT)

    def whole(self) -> int:
        return self._draw(_WHOLE)


@st.composite
def values(draw: st.DrawFn, kind: Any) -> Any:
    """Any value of a type of the vocabulary: a class, a union, an enum, a tuple; its parts need not fit each other.

    Whole numbers have up to 64 bits, texts are without lone surrogates: what the codec can carry.
    """
    return roll(kind, _Varied(draw))


@st.composite
def rolled(draw: st.DrawFn, make: Callable[[Dice], T]) -> T:
    """Whatever a function makes by dice."""
    return make(Dice(lambda bound: draw(_below(bound))))


def configs() -> st.SearchStrategy[Config]:
    """A configuration that a host could choose, with tools of every effect and some tight limits."""
    return rolled(roll_config)


def situations(phase: type[Phase]) -> st.SearchStrategy[Situation]:
    """A state in a phase that was reached from ``start``, with the events that led to it."""
    kept = in_phase(phase)
    return rolled(lambda dice: _stirred(dice.pick(kept), dice, lambda state: type(state.phase) is phase))


def states(phase: type[Phase]) -> st.SearchStrategy[State]:
    """A state in a phase that was reached from ``start``."""
    return situations(phase).map(lambda situation: situation.state)


def calls(kind: type[CallState]) -> st.SearchStrategy[tuple[Situation, Call]]:
    """A situation in which a call of the batch or the register is in a state, and that call."""
    return rolled(lambda dice: _stirred_call(dice, with_call(kind)))


def events(
    kind: type[Event], situation: Situation, *, aim: Aim | None = None, call: Call | None = None
) -> st.SearchStrategy[Event]:
    """An event of a class that meets a situation, aimed as wanted or in any way, about one call if it is given."""
    return rolled(lambda dice: roll_event(kind, situation, dice, aim=aim, call=call))


def _stirred_call(dice: Dice, kept: Sequence[tuple[Situation, Call]]) -> tuple[Situation, Call]:
    situation, call = dice.pick(kept)

    def still(state: State) -> bool:
        found = find_call(state, call.call_id)
        return found is not None and type(found.state) is type(call.state)

    stirred = _stirred(situation, dice, still)
    return stirred, find_call(stirred.state, call.call_id) or call


def _stirred(situation: Situation, dice: Dice, still: Callable[[State], bool]) -> Situation:
    """Let one more event come, sometimes, if what is wanted is true after it as well."""
    if not dice.once_in(3):
        return situation
    event = roll_event(dice.pick(EVENTS), situation, dice)
    after = reduce(situation.state, event).state
    if after is situation.state or not still(after):
        return situation
    return Situation(after, (*situation.journal, event), situation.origin)
