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
from agentcore.states import PHASES, Call, CallState, Phase, State
from agentcore.testing.passage import find_call
from agentcore.testing.strategies.aims import Aim
from agentcore.testing.strategies.collisions import roll_collision
from agentcore.testing.strategies.configs import roll_config
from agentcore.testing.strategies.contents import roll_event
from agentcore.testing.strategies.dice import Dice
from agentcore.testing.strategies.journals import Flaw, Journal, roll_journal
from agentcore.testing.strategies.kinds import roll
from agentcore.testing.strategies.pools import in_phase, with_call
from agentcore.testing.strategies.session import Session

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


def sessions(phase: type[Phase], *, meets: type[Event] | None = None) -> st.SearchStrategy[Session]:
    """A state in a phase that was reached from ``start``, with the events that led to it.

    If it is to meet an event, half of the sessions are such that expect one of that class.
    """
    kept, expecting = in_phase(phase), in_phase(phase, meets)
    return rolled(lambda dice: _stirred(_cast(dice, kept, expecting), dice, lambda state: type(state.phase) is phase))


def states(phase: type[Phase]) -> st.SearchStrategy[State]:
    """A state in a phase that was reached from ``start``."""
    return sessions(phase).map(lambda session: session.state)


def collisions(phase: type[Phase], name: str | None = None) -> st.SearchStrategy[State]:
    """A state in a phase that no events lead to: its ids collide, repeat or are stale, by a name of ``COLLISIONS``."""
    return rolled(lambda dice: roll_collision(dice.pick(in_phase(phase)).state, dice, name))


def journals(flaw: Flaw | None = None) -> st.SearchStrategy[Journal]:
    """A journal as a file store writes it, with a flaw or any, of a session that was reached."""

    def make(dice: Dice) -> Journal:
        kept = in_phase(dice.pick(PHASES))
        return roll_journal(kept[dice.below(min(len(kept), 40))], dice, flaw)

    return rolled(make)


def calls(kind: type[CallState], *, meets: type[Event] | None = None) -> st.SearchStrategy[tuple[Session, Call]]:
    """A session in which a call of the batch or the register is in a state, and that call.

    If it is to meet an event, half of the calls are such that expect one of that class.
    """
    kept, expecting = with_call(kind), with_call(kind, meets)
    return rolled(lambda dice: _stirred_call(*_cast(dice, kept, expecting), dice))


def events(
    kind: type[Event], session: Session, *, aim: Aim | None = None, call: Call | None = None
) -> st.SearchStrategy[Event]:
    """An event of a class that meets a session, aimed as wanted or in any way, about one call if it is given."""
    return rolled(lambda dice: roll_event(kind, session, dice, aim=aim, call=call))


def _cast(dice: Dice, kept: Sequence[T], expecting: Sequence[T]) -> T:
    return dice.pick(expecting if expecting and dice.once_in(2) else kept)


def _stirred_call(session: Session, call: Call, dice: Dice) -> tuple[Session, Call]:
    def still(state: State) -> bool:
        found = find_call(state, call.call_id)
        return found is not None and type(found.state) is type(call.state)

    stirred = _stirred(session, dice, still)
    return stirred, find_call(stirred.state, call.call_id) or call


def _stirred(session: Session, dice: Dice, still: Callable[[State], bool]) -> Session:
    """Let one more event come, sometimes, if what is wanted is true after it as well."""
    if not dice.once_in(3):
        return session
    event = roll_event(dice.pick(EVENTS), session, dice)
    after = reduce(session.state, event).state
    if after is session.state or not still(after):
        return session
    return Session(after, (*session.journal, event), session.origin)
