"""Passages that the true reducer never makes: a real one with something in it replaced, so that one clause breaks."""

from __future__ import annotations

from typing import Any

import attrs
from attrs import evolve

from agentcore import Effect, Limits, Reduction, outstanding, start
from agentcore.commands import RecordRejection, key_of
from agentcore.events import ToolSucceeded
from agentcore.states import Call, State
from agentcore.testing.core import CORE, Core
from agentcore.testing.laws import LAWS
from agentcore.testing.passage import Passage
from tests.core.driver import Session, call, tool


def session(*effects: Effect, limits: Limits | None = None, **config: Any) -> Session:
    """A session whose tools ``a``, ``b``, … have these effects."""
    tools = [tool(name, effect) for name, effect in zip("abc", effects or (Effect.FENCEABLE,), strict=False)]
    return Session(*tools, limits=limits, **config)


def asked(*effects: Effect, limits: Limits | None = None, **config: Any) -> Session:
    """A session whose model has asked for each of its tools once."""
    made = session(*effects, limits=limits, **config)
    made.prompt()
    made.reply(*(call(each.name) for each in made.state.config.tools))
    return made


def running(*effects: Effect, limits: Limits | None = None, **config: Any) -> Session:
    """A session all of whose calls were allowed and are executed."""
    made = asked(*effects, limits=limits, **config)
    made.saved()
    for place in range(len(made.state.config.tools)):
        made.allow(f"1.1.{place}")
    made.saved()
    return made


@attrs.frozen
class Step:
    """One event, the state before it, and what it really led to."""

    before: State
    event: Any
    reduction: Reduction

    @property
    def after(self) -> State:
        return self.reduction.state

    def passage(self, after: State | None = None, core: Core = CORE, commands: Any = None) -> Passage:
        """The passage with another state behind it; what is ordered is what that state newly waits for."""
        after = self.after if after is None else after
        if commands is None:
            waited_for = {key_of(each) for each in core.outstanding(self.before)}
            commands = tuple(each for each in core.outstanding(after) if key_of(each) not in waited_for)
        return Passage(self.before, self.event, Reduction(after, commands), core)


def last(made: Session) -> Step:
    """The last event of a session."""
    line = made.trace[-1]
    before = made.trace[-2].state if len(made.trace) > 1 else start("s", line.state.config, 0).state
    return Step(before, line.event, line.judged.reduction)


def with_batch(of: State, **changes: Any) -> State:
    """A state in which something of the batch is another."""
    return evolve(of, phase=evolve(of.phase, batch=evolve(of.batch, **changes)))


def with_call(of: State, call_id: str = "1.1.0", **changes: Any) -> State:
    """A state in which something of a call of the batch is another."""
    calls = tuple(evolve(each, **changes) if each.call_id == call_id else each for each in of.batch.calls)
    return with_batch(of, calls=calls)


def call_in(state: State, call_id: str = "1.1.0") -> Call:
    """A call of the batch."""
    return next(each for each in state.batch.calls if each.call_id == call_id)


def waiting_for(*more: Any, without: tuple[type[Any], ...] = ()) -> Core:
    """A core that also waits for these commands, and not for those of some classes."""
    return Core(
        outstanding=lambda state: (*(each for each in outstanding(state) if not isinstance(each, without)), *more)
    )


def wrong(law: str, passage: Passage, words: str) -> None:
    """A law says these words about a passage."""
    said = LAWS[law].transition(passage) or ""
    assert words in said, f"{law} says {said!r}"


def refused(made: Session) -> tuple[Any, ...]:
    """Hand over a result that nobody waits for, and return what is ordered."""
    commands = made.tried(ToolSucceeded, call_id="9.9.9", epoch=0, attempt=1, result="").reduction.commands
    assert [type(each) for each in commands] == [RecordRejection]
    return commands
