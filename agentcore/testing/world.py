"""The simulated world: what really happened, whatever the session believes.

1. Every execution that was ordered of a tool that acts is an ``Attempt``. It *may* still act, has *done* its deed,
   or is
   *void* and never will. Nobody forgets an attempt, and no crash takes a deed back.
2. An attempt whose ``ExecuteTool`` is no longer outstanding goes on by itself: it is a worker that was paused, not
   dead,
   and may act at any later time, until its effect can no longer happen or an inspection has voided it.
3. Whoever is asked tells the truth as it is at that instant. "Not found" of an inspectable effect voids nothing; an
   inspection of a fenceable one does.
4. A person's word is taken for what it is: it may be wrong, so what it separates is counted apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import attrs

from agentcore.commands import Command, ExecuteTool
from agentcore.events import (
    CheckpointWritten,
    EffectInspected,
    EffectResolved,
    Event,
    Finding,
    Inspector,
    Resolution,
    SessionResumed,
    TaskSettled,
    ToolCancelled,
    ToolFailed,
    ToolSucceeded,
)
from agentcore.evolve import evolve
from agentcore.messages import EffectSeen
from agentcore.policy import Effect
from agentcore.states import EffectUnknown, Settled, State
from agentcore.testing.passage import Passage, find_call

DEAD_MS = 1_000
"""How long a session lies dead after a crash, in milliseconds."""


class Deed(StrEnum):
    """What is true of an attempt's effect."""

    MAY = "may"
    DONE = "done"
    VOID = "void"


@attrs.frozen
class Attempt:
    """One execution that was ordered, as it really is."""

    call_id: str
    """Its call."""
    epoch: int
    """Epoch of its key."""
    attempt: int
    """Number of its key."""
    effect: Effect
    """Kind of its tool."""
    deed: Deed = Deed.MAY
    """What is true of its effect."""
    acts_until: int | None = None
    """When it can no longer act, in milliseconds; ``None`` for never."""
    excused: bool = False
    """A person has spoken about it: what comes after it does not count against it."""

    @property
    def run(self) -> tuple[int, int]:
        """Epoch and number, as answers name them."""
        return self.epoch, self.attempt

    @property
    def repeatable(self) -> bool:
        """Whether the other side takes a second execution for the first."""
        return self.effect in (Effect.PURE, Effect.KEYED)

    def may_act(self, now: int) -> bool:
        """Say whether its effect can still happen."""
        return self.deed is Deed.MAY and (self.acts_until is None or now < self.acts_until)


@attrs.frozen
class World:
    """Everything outside of the session: attempts, and the time."""

    now: int = 0
    """Milliseconds since the Unix epoch."""
    attempts: tuple[Attempt, ...] = ()
    """Every execution that was ordered of a tool that acts, oldest first."""
    durable: int = 0
    """The last event that no crash can lose."""

    def find(self, call_id: str, run: tuple[int, int]) -> Attempt | None:
        """Return an attempt; ``None`` if it was never ordered, or only reads."""
        return next((each for each in self.attempts if each.call_id == call_id and each.run == run), None)

    def of(self, call_id: str) -> Iterator[Attempt]:
        """Iterate over the attempts of a call, oldest first."""
        return (each for each in self.attempts if each.call_id == call_id)

    def told(self, attempt: Attempt | None, deed: Deed) -> World:
        """Return the world in which an attempt has acted, or never will."""
        if attempt is None or attempt.deed is deed:
            return self
        changed = evolve(attempt, deed=deed)
        return evolve(self, attempts=tuple(changed if each is attempt else each for each in self.attempts))

    def believing(self, state: State, event: Event) -> World:
        """Return the world of which an event tells the truth, as an honest world tells it in a state."""
        deed = _DEEDS.get(type(event))
        if isinstance(event, ToolCancelled):
            deed = {EffectSeen.NONE: Deed.VOID, EffectSeen.DONE: Deed.DONE}.get(event.effect)
        elif isinstance(event, TaskSettled):
            deed = Deed.DONE if event.succeeded else Deed.VOID
        elif isinstance(event, EffectInspected):
            return self._found(state, event)
        if deed is None:
            return self
        named: Any = event
        return self.told(self.find(named.call_id, (named.epoch, named.attempt)), deed)

    def _found(self, state: State, event: EffectInspected) -> World:
        """Take what a program found of the attempt that it was asked about."""
        call = find_call(state, event.call_id)
        unknown = call.state if call is not None else None
        if not isinstance(unknown, EffectUnknown) or unknown.inquiry.by is Inspector.PERSON:
            return self
        attempt = self.find(event.call_id, unknown.run.id)
        if event.finding is Finding.EXECUTED:
            return self.told(attempt, Deed.DONE)
        voided = event.finding is Finding.FAILED or (event.finding is Finding.NOT_EXECUTED and event.conclusive)
        return self.told(attempt, Deed.VOID) if voided else self

    def at(self, now: int) -> World:
        """Return the world at a time, which never falls."""
        return self if now <= self.now else evolve(self, now=now)

    def after(self, passage: Passage) -> World:
        """Return the world in which an event was taken: what it ordered has begun, what a person said is known."""
        world, event = self.at(passage.event.at), passage.event
        if isinstance(event, CheckpointWritten):
            world = evolve(world, durable=max(world.durable, event.seq))
        if passage.before is passage.after:
            return world
        if isinstance(event, SessionResumed):
            world = evolve(world, durable=passage.after.seq)
        spoken = spoken_about(passage.before, event)
        if spoken is not None:
            world = world.excusing(spoken)
        begun = tuple(world.begun_by(passage.after, command) for command in passage.executions)
        kept = tuple(each for each in begun if each is not None)
        return evolve(world, attempts=(*world.attempts, *kept)) if kept else world

    def excusing(self, call_id: str) -> World:
        """Return the world after a person has spoken about a call."""
        attempts = (evolve(each, excused=True) if each.call_id == call_id else each for each in self.attempts)
        return evolve(self, attempts=tuple(attempts))

    def begun_by(self, state: State, command: ExecuteTool) -> Attempt | None:
        """Return the attempt that an order begins, unless it only reads."""
        call = find_call(state, command.call_id)
        if call is None or call.contract.pure:
            return None
        within_ms = call.contract.acts_within_ms
        until = None if within_ms is None else self.now + within_ms
        return Attempt(command.call_id, command.epoch, command.attempt, call.contract.effect, acts_until=until)


_DEEDS: Mapping[type[Event], Deed] = {ToolSucceeded: Deed.DONE, ToolFailed: Deed.VOID}
"""What an end says of the effect of its attempt."""


def spoken_about(before: State, event: Event) -> str | None:
    """Return the call about which a person has said what happened, by a resolution or in an inspection."""
    match event:
        case EffectResolved(call_id=call_id, resolution=resolution):
            return None if resolution is Resolution.ABANDONED else call_id
        case EffectInspected(call_id=call_id, finding=Finding.EXECUTED | Finding.FAILED | Finding.NOT_EXECUTED):
            call = find_call(before, call_id)
            unknown = call.state if call is not None else None
            asked = isinstance(unknown, EffectUnknown) and unknown.inquiry.by is Inspector.PERSON
            return call_id if asked else None
        case _:
            return None


def orphans(world: World, outstanding: tuple[Command, ...]) -> tuple[Attempt, ...]:
    """Return the attempts that nobody waits for any more and that may have acted or still act: paused workers."""
    awaited = {
        (command.call_id, command.epoch, command.attempt) for command in outstanding if isinstance(command, ExecuteTool)
    }
    return tuple(
        each
        for each in world.attempts
        if each.deed is not Deed.VOID and (each.call_id, each.epoch, each.attempt) not in awaited
    )


def matters(world: World, state: State, attempt: Attempt) -> bool:
    """Say whether what an attempt does can still be told or make a difference.

    It can while its call may be heard of, and while another attempt of it has acted or may act.
    """
    call = find_call(state, attempt.call_id)
    if call is not None and not (isinstance(call.state, Settled) and not call.registered):
        return True
    if attempt.excused or attempt.repeatable:
        return False
    return sum(each.deed is not Deed.VOID and not each.excused for each in world.of(attempt.call_id)) > 1
