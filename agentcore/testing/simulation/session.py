"""One session in a simulated world: an engine that is told late, twice or not at all, and a world that knows better.

1. What is done and what is told of it are two things. A *deed* is in ``world`` from the instant at which it was done;
   the *letter* that tells of it may arrive at once, late, twice, behind later ones, or never.
2. A crash loses what the disk has not synced, and nothing else: deeds stay done, letters stay under way, workers go
   on. The session comes back from bytes, by the codec.
3. Whatever the world says is honest: it was true when it was written. Persons may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import attrs
from attrs import evolve

from agentcore.commands import CancelTool, Command, InspectEffect, PersistCheckpoint, RequestModel, StartTimer
from agentcore.events import (
    ApprovalGranted,
    CheckpointFailed,
    CheckpointWritten,
    EffectInspected,
    Event,
    Finding,
    FollowUpQueued,
    MessageWithdrawn,
    ModelReplied,
    PolicyAllowed,
    PromptSubmitted,
    SessionResumed,
    SteeringQueued,
    ToolCancelled,
)
from agentcore.messages import EffectSeen
from agentcore.outstanding import is_question
from agentcore.policy import Config, Effect, ToolContract
from agentcore.states import State
from agentcore.testing.answers import names
from agentcore.testing.core import CORE, Core
from agentcore.testing.moves import ANSWERERS, USED, Move, Scene
from agentcore.testing.passage import Passage, find_call
from agentcore.testing.report import Step
from agentcore.testing.scenario import Scenario
from agentcore.testing.script import ANSWER, OPTIONS, Exploration, Reply
from agentcore.testing.simulation.disk import Disk
from agentcore.testing.strategies.walk import is_no_lie
from agentcore.testing.watch import Watch
from agentcore.testing.world import DEAD_MS, Deed, World

SESSION_ID = "session"
"""What every simulated session is called."""

PLENTY: Mapping[str, int] = dict.fromkeys(OPTIONS, 1 << 20)
"""Everything may happen."""


@attrs.frozen
class Letter:
    """Something that was told and has not arrived."""

    event: Event
    """What it says; it is stamped when it arrives."""


class Simulation:
    """A session, the world around it, and what both are compared by."""

    def __init__(self, config: Config, core: Core = CORE, watch: Watch | None = None) -> None:
        """Start a session; ``core`` may be broken, ``watch`` looks after laws, all of them unless told otherwise."""
        self.core = core
        """The functions that are under test."""
        self.state: State = core.start(SESSION_ID, config, 0).state
        """The session, as its engine holds it."""
        self.world = World()
        """What is true of effects."""
        self.disk = Disk(core, SESSION_ID, config, 0)
        """What a crash leaves."""
        self.letters: list[Letter] = []
        """What is under way to the session."""
        self.fresh: list[Passage] = []
        """Events since somebody looked last."""
        self.told: list[Event] = []
        """Everything that was told, lost or not."""
        self.heard: dict[str, int] = {}
        """Messages of users that were accepted, with the event that brought them."""
        self.withdrawn: dict[str, int] = {}
        """Those that were taken back, with the event that did it."""
        self.leave: dict[str, set[str]] = {}
        """Digests of the arguments with which each call was allowed to run."""
        self.contracts: dict[str, ToolContract] = {tool.name: tool for tool in config.tools}
        """Every tool there ever was."""
        self.restored: tuple[State, State] | None = None
        """What the last crash left, as read from the disk, and as it was."""
        self.trouble: str | None = None
        """The first thing that broke a law."""
        self._watch = watch if watch is not None else Watch()
        self._states = [self.state]
        self._journal: list[Event] = []
        self._steps: list[Step] = []
        self._begun = config
        self._script = Exploration("simulation", config, ((ANSWER,),), PLENTY)
        self._left = dict(PLENTY)

    @property
    def scenario(self) -> Scenario:
        """What happened so far, as it can be kept in a file and told again."""
        return Scenario(SESSION_ID, 0, self._begun, tuple(self._steps))

    @property
    def journal(self) -> list[Event]:
        """Everything that was accepted and not lost, oldest first."""
        return self._journal

    @property
    def waiting(self) -> tuple[Command, ...]:
        """What is outstanding, in order."""
        return self.core.outstanding(self.state)

    def scene(self, *, plain: bool = False) -> Scene:
        """Return the situation now; a plain one offers nothing that need not happen."""
        script = self._calm_script if plain else self._script
        return Scene(self.state, self.world, script, {} if plain else self._left, self.waiting)

    @cached_property
    def _calm_script(self) -> Exploration:
        return Exploration("calm", self._begun, ((ANSWER,),), {})

    def moves(self, command: Command, *, plain: bool = False) -> list[Move]:
        """Return every honest answer to a command.

        Of an attempt that a resume only suspects nobody knows anything: it never was under the key that is asked about.
        """
        found = list(ANSWERERS[type(command)](self.scene(plain=plain), command))
        return [move for move in found if not proves(move.event)] if self._is_phantom(command) else found

    def _is_phantom(self, command: Command) -> bool:
        if not isinstance(command, CancelTool | InspectEffect):
            return False
        program = not is_question(command) and not self.scene().call(command.call_id).contract.pure
        return program and self.world.find(command.call_id, command.execution) is None

    def replies(self, command: RequestModel, reply: Reply, *, late: bool = False) -> None:
        """Let the model answer a request."""
        own = names(command, self.world.now)
        self.tells(ModelReplied(**own, parts=reply.parts, finish=reply.finish, usage=USED), late=late)

    def makes(self, move: Move, *, late: bool = False) -> None:
        """Let something be done, and what it tells arrive at once or later."""
        if move.costs and not late:
            self._left[move.costs] = self._left.get(move.costs, 1) - 1
        done = [(each.call_id, *each.run) for each in move.world.attempts if each.deed is Deed.DONE]
        known = {(each.call_id, *each.run) for each in self.world.attempts if each.deed is Deed.DONE}
        self.world = move.world
        if late or move.event is None:
            self._steps.extend(Step(acts=deed) for deed in done if deed not in known)
            self._see(None)
        if move.event is not None:
            self.tells(move.event, late=late)

    def tells(self, event: Event, *, late: bool = False) -> None:
        """Let an event arrive at once, or put it under way."""
        if late:
            self.letters.append(Letter(event))
        else:
            self.arrives(event)

    def arrives(self, event: Event) -> Passage:
        """Tell the session something: reduce, append, adopt, act. It is stamped as it arrives."""
        event = evolve(event, at=max(self.world.now, event.at))
        passage = Passage(self.state, event, self.core.examine(self.state, event).reduction, self.core)
        self._steps.append(Step(event))
        self.told.append(event)
        accepted = passage.after is not passage.before
        if accepted:
            self.disk.append(event)
            self.state = passage.after
            self._states.append(self.state)
            self._journal.append(event)
            self._keeps_account(event)
        if isinstance(event, SessionResumed):
            self.disk.sync()
        self.world = self.world.after(passage)
        self.fresh.append(passage)
        self._see(passage)
        return passage

    def _keeps_account(self, event: Event) -> None:
        """Note what users said and what was allowed."""
        seq = self.state.seq
        if (message_id := brought_by(event)) is not None:
            self.heard[message_id] = seq
        if isinstance(event, MessageWithdrawn):
            self.withdrawn[event.message_id] = seq
        if isinstance(event, PolicyAllowed | ApprovalGranted):
            self.leave.setdefault(event.call_id, set()).add(event.digest)
        config = getattr(event, "config", None)
        if isinstance(config, Config):
            self.contracts.update((tool.name, tool) for tool in config.tools)

    def _see(self, passage: Passage | None) -> None:
        problem = self._watch.see(passage, self.world)
        self.trouble = self.trouble or problem

    def saves(self, command: PersistCheckpoint, how: str, *, late: bool = False) -> None:
        """Let the store answer: ``written``; or fail ``before`` anything, ``half-way``, or ``after`` all is durable."""
        written = {"written": None, "after": None, "half-way": (self.disk.synced + len(self.disk)) // 2, "before": 0}
        self.disk.sync(written[how])
        named: dict[str, Any] = {"at": 0, "seq": command.seq, "epoch": command.epoch, "attempt": command.attempt}
        if how == "written":
            self.disk.snapshot(self.state)
            self.tells(CheckpointWritten(**named), late=late)
        else:
            self.tells(CheckpointFailed(**named, reason=how), late=late)

    def fires(self, timer: StartTimer) -> None:
        """Let a timer fire, not before it is due."""
        for move in self.moves(timer):
            self.makes(move)

    def strays(self, event: Event) -> bool:
        """Tell something that nobody asked for, unless it is a lie; say whether it was told.

        Who says that all is saved is believed by the disk, too: a store that answers twice has saved.
        """
        if isinstance(event, SessionResumed) or not is_no_lie(self.world, event):
            return False
        if isinstance(event, CheckpointWritten):
            self.disk.sync()
        self.arrives(event)
        return True

    def waits(self, ms: int) -> None:
        """Let time pass in which nobody is told anything."""
        self.world = self.world.at(self.world.now + ms)

    def crash(self, keeps: int, *, torn: bool = False, config: Config | None = None, rotten: int | None = None) -> None:
        """Let the process die and be taken up again from its disk, of which a crash or rot took something.

        ``keeps`` is how many events are left, no fewer than are durable. ``rotten`` is an event whose line cannot be
        read any more; a person accepts what is lost by that. ``config`` is what the host brings; by default its own.
        """
        self.disk.crash(keeps, torn=torn)
        if rotten is not None:
            self.disk.rot(rotten)
        found = self.disk.restore(accepted_by="user")
        kept = found.state.seq
        self._falls_back(kept)
        self.restored = found.state, self.state
        self.state = self._states[-1] = found.state
        resumed = SessionResumed(
            at=self.world.now + DEAD_MS, config=config or self.state.config, recovery=found.recovery
        )
        self.arrives(resumed)
        self._steps[-1] = evolve(self._steps[-1], keeps=kept)

    def _falls_back(self, kept: int) -> None:
        """Forget with the engine what was lost; the world forgets nothing."""
        del self._states[kept + 1 :], self._journal[kept:]
        self.state = self._states[-1]
        self._watch.forget(kept)
        for ledger in (self.heard, self.withdrawn):
            for message_id in [name for name, seq in ledger.items() if seq > kept]:
                del ledger[message_id]

    def orders(self, kinds: type[Command] | tuple[type[Command], ...]) -> list[Command]:
        """Return what is outstanding of some kinds."""
        return [command for command in self.waiting if isinstance(command, kinds)]

    @property
    def effects_begun(self) -> Iterator[Effect]:
        """Yield the kind of each effect whose execution was ordered since somebody looked last."""
        for passage in self.fresh:
            for command in passage.executions:
                call = find_call(passage.after, command.call_id)
                if call is not None:
                    yield call.contract.effect


def proves(event: Event | None) -> bool:
    """Say whether an answer of a program proves what became of an attempt."""
    match event:
        case ToolCancelled(effect=effect):
            return effect is not EffectSeen.UNPROVED
        case EffectInspected(finding=finding):
            return finding not in (Finding.UNAVAILABLE, Finding.STILL_RUNNING)
        case _:
            return False


def brought_by(event: Event) -> str | None:
    """Return the id of the message of a user that comes with an event, if one does."""
    match event:
        case SteeringQueued() | FollowUpQueued():
            return event.message_id
        case PromptSubmitted(parts=parts):
            return event.message_id if parts else None
        case _:
            return None
