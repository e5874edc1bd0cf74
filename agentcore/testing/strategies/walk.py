"""A session that goes on at random in a simulated world, with honest answers and with events that fit nothing.

Honest answers come from ``moves`` wherever something is claimed about an effect, so that the world can count deeds; all
other events are rolled. What is told late, twice or to nobody is told only if it is no lie about an attempt: a law says
what a core may make of the truth, not of a lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import attrs
from attrs import evolve

from agentcore import events
from agentcore.commands import ANSWERS, CancelTool, ExecuteTool, InspectEffect, StartTimer
from agentcore.events import EVENTS, HOST_EVENTS, Event, SessionResumed
from agentcore.messages import EffectSeen
from agentcore.outstanding import outstanding
from agentcore.policy import Config
from agentcore.reduce import Reduction, start
from agentcore.states import ENDS, CancellationRequested, EffectUnknown, Executing, Idle, State
from agentcore.testing.acts import workers
from agentcore.testing.moves import ANSWERERS, Scene
from agentcore.testing.passage import Passage
from agentcore.testing.script import ANSWER, OPTIONS, Exploration
from agentcore.testing.strategies.aims import Aim
from agentcore.testing.strategies.contents import AIMS, roll_event
from agentcore.testing.strategies.dice import Dice
from agentcore.testing.strategies.session import Session
from agentcore.testing.world import DEAD_MS, Deed, World, matters

SESSION_ID = "session"
"""What every rolled session is called."""

ANSWERED_TRULY = (ExecuteTool, CancelTool, InspectEffect)
"""Commands whose answers claim something about an effect."""

SOURCES: Mapping[str, int] = {"answer": 20, "act": 7, "stray": 6, "worker": 1, "crash": 1}
"""How often what happens next comes from where, in parts of the whole."""

_LIKELY: Mapping[type[Event], int] = {
    events.ModelReplied: 6,
    events.ModelStreamOpened: 2,
    events.PolicyAllowed: 5,
    events.PolicyAsked: 3,
    events.ApprovalGranted: 3,
    events.CheckpointWritten: 12,
    events.StepPrepared: 10,
    events.ContextCompacted: 6,
}
"""Answers that come more often than once in as many as there are."""

_ACTS: Mapping[type[Event], int] = {
    **dict.fromkeys(HOST_EVENTS, 1),
    events.SteeringQueued: 2,
    events.FollowUpQueued: 2,
    events.AbortRequested: 3,
}
"""How often hosts say what, wherever a session is."""


def _acts(state: State) -> Mapping[type[Event], int]:
    """Return how often hosts say what, with more of what leads on from where the session is."""
    calls = state.batch.calls if state.batch is not None else ()
    if isinstance(state.phase, Idle):
        return {**_ACTS, events.PromptSubmitted: 40}
    if isinstance(state.phase, ENDS):
        return {**_ACTS, events.SessionReopened: 40}
    if any(isinstance(call.state, Executing | CancellationRequested | EffectUnknown) for call in calls):
        return {**_ACTS, events.AbortRequested: 40, events.InspectionRequested: 4, events.RetryRequested: 4}
    return _ACTS


@attrs.frozen
class Happening:
    """What happens next."""

    event: Event | None
    """What the session is told; ``None`` where an attempt acts and nobody is told."""
    world: World
    """The world in which it has happened."""
    keeps: int
    """How many events are there to go on from: fewer than were accepted if a crash lost some."""


class Walk:
    """A session and its world, while they go on."""

    def __init__(self, config: Config, dice: Dice) -> None:
        """Start a session under a configuration; ``dice`` decide about everything that follows."""
        self.states: list[State] = [start(SESSION_ID, config, 0).state]
        """What folding the first so many events gives, by their number."""
        self.journal: list[Event] = []
        """What was accepted and not lost."""
        self.world = World()
        """What is true."""
        self._dice = dice
        plenty, hints = dict.fromkeys(OPTIONS, 1 << 20), dice.once_in(3)
        self._script = Exploration("walk", config, ((ANSWER,),), plenty, terminates=hints)
        self._left = dict(self._script.budget)

    @property
    def state(self) -> State:
        """The session now."""
        return self.states[-1]

    @property
    def session(self) -> Session:
        """The session now, and how it was reached."""
        return Session(self.state, tuple(self.journal), self.states[0])

    def next(self) -> Happening:
        """Return what happens next, whatever that leads to."""
        while True:
            found = self._FROM[self._dice.weighed(SOURCES)](self)
            if found is not None:
                return found

    def take(self, happening: Happening, reduce: Callable[[State, Event], Reduction]) -> Passage | None:
        """Let it happen, and return what it did to the session; ``None`` if the session was told nothing."""
        self.world = happening.world
        if happening.event is None:
            return None
        del self.journal[happening.keeps :], self.states[happening.keeps + 1 :]
        passage = Passage(self.state, happening.event, reduce(self.state, happening.event))
        self.world = self.world.after(passage)
        if passage.after is not passage.before:
            self.journal.append(happening.event)
            self.states.append(passage.after)
        self._forget()
        return passage

    def _forget(self) -> None:
        """Let go of attempts that nobody can hear of any more, not even after a crash."""
        world, kept = self.world, (self.state, self.states[min(self.world.durable, len(self.journal))])
        attempts = tuple(each for each in world.attempts if any(matters(world, state, each) for state in kept))
        if len(attempts) < len(world.attempts):
            self.world = evolve(world, attempts=attempts)

    def _told(self, event: Event) -> Happening:
        return Happening(event, self.world, len(self.journal))

    def _roll(self, kind: type[Event], aim: Aim) -> Event:
        """Roll an event; what is told again is told as it was, everything else is stamped now."""
        event = roll_event(kind, Session(self.state, self.journal), self._dice, aim=aim)
        late = event.at < self.world.now and aim is not Aim.REPEATED
        return evolve(event, at=self.world.now) if late else event

    def _scene(self) -> Scene:
        return Scene(self.state, self.world, self._script, self._left, outstanding(self.state))

    def _answer(self) -> Happening | None:
        """Answer something that is outstanding: timers fire less often, orders to stop are heeded more often."""
        waiting = outstanding(self.state)
        untimed = [command for command in waiting if not isinstance(command, StartTimer)]
        stops = [command for command in untimed if isinstance(command, CancelTool)]
        if not waiting:
            return None
        options = untimed if untimed and not self._dice.once_in(12) else waiting
        command: Any = self._dice.pick(stops if stops and not self._dice.once_in(3) else options)
        kind = type(command)
        if kind in ANSWERED_TRULY:
            moves = list(ANSWERERS[kind](self._scene(), command))
            detaching = [move for move in moves if isinstance(move.event, events.TaskStarted)]
            move = self._dice.pick(detaching if detaching and self._dice.once_in(3) else moves)
            if move.costs:
                self._left[move.costs] -= 1
            return Happening(move.event, move.world, len(self.journal))
        answer = self._dice.weighed({answer: _LIKELY.get(answer, 1) for answer in ANSWERS[kind]})
        return self._told(self._roll(answer, Aim.OWN))

    def _act(self) -> Happening | None:
        """Let the host say something that fits where the session is."""
        kind = self._dice.weighed(_acts(self.state))
        return None if kind is SessionResumed else self._told(self._roll(kind, Aim.OWN))

    def _stray(self) -> Happening | None:
        """Tell something late, twice, or to nobody."""
        kind, aim = self._dice.pick(EVENTS), self._dice.weighed(AIMS)
        if kind is SessionResumed:
            return None
        event = self._roll(kind, aim)
        return self._told(event) if is_no_lie(self.world, event) else None

    def _worker(self) -> Happening | None:
        """Let an attempt that nobody waits for act, or tell what it did."""
        moves = list(workers(self._scene()))
        if not moves:
            return None
        move = self._dice.pick(moves)
        return Happening(move.event, move.world, len(self.journal))

    def _crash(self) -> Happening | None:
        """Let the process die, losing some of what is not durable, and be taken up again."""
        if not self._dice.once_in(3):
            return None
        accepted = len(self.journal)
        keeps = accepted - self._dice.below(accepted - min(self.world.durable, accepted) + 1)
        survived = Session(self.states[keeps], self.journal[:keeps])
        event = roll_event(SessionResumed, survived, self._dice, aim=Aim.OWN)
        return Happening(evolve(event, at=max(event.at, self.world.now + DEAD_MS)), self.world, keeps)

    _FROM: ClassVar[Mapping[str, Callable[[Walk], Happening | None]]] = {
        "answer": _answer,
        "act": _act,
        "stray": _stray,
        "worker": _worker,
        "crash": _crash,
    }


def is_no_lie(world: World, event: Event) -> bool:
    """Say whether what an event claims about an attempt is true; one that claims nothing is no lie."""
    match event:
        case events.ToolSucceeded() | events.TaskSettled(succeeded=True) | events.ToolCancelled(effect=EffectSeen.DONE):
            claimed: tuple[Deed, ...] = (Deed.DONE,)
        case events.ToolFailed() | events.TaskSettled() | events.ToolCancelled(effect=EffectSeen.NONE):
            claimed = (Deed.VOID,)
        case events.ToolCancelled():
            claimed = (Deed.DONE, Deed.VOID)
        case events.EffectInspected():
            return False
        case _:
            return True
    attempt = world.find(event.call_id, (event.epoch, event.attempt))
    return attempt is None or attempt.deed in claimed
