"""The rules: one for each thing that can happen, and the preconditions under which it may.

A rule that answers is enabled while something waits for such an answer. One that disturbs is enabled when the last
disturbance is some events ago, so that sessions come to do something before they are broken off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import attrs
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from agentcore.commands import (
    AskApproval,
    CancelModel,
    CancelTool,
    Command,
    CompactContext,
    EvaluatePolicy,
    ExecuteTool,
    InspectEffect,
    PersistCheckpoint,
    PrepareStep,
    RequestModel,
    ReviewCompletion,
    StartTimer,
)
from agentcore.events import EVENTS, Event, SessionReopened, SessionResumed
from agentcore.policy import Config
from agentcore.states import Idle
from agentcore.testing.acts import ACTS, workers
from agentcore.testing.census import Census
from agentcore.testing.core import CORE, Core
from agentcore.testing.laws import LAWS, Law
from agentcore.testing.machine.when import (
    at_rest,
    config_of,
    idle,
    paused,
    readable,
    rested,
    stopping_model,
    timed,
    uncertain,
    under_way,
    waits_for,
)
from agentcore.testing.moves import Move, Source
from agentcore.testing.scenario import render
from agentcore.testing.simulation import CLAIMS, MANNERS, Check, Simulation, calm, next_due, problem_of, wake_everybody
from agentcore.testing.strategies.aims import Aim
from agentcore.testing.strategies.contents import AIMS, roll_event
from agentcore.testing.strategies.dice import spent
from agentcore.testing.strategies.session import Session
from agentcore.testing.watch import Watch, unsound

WAYS = st.integers(0, 9_999)
"""A number that decides whatever a rule leaves open; zero is the plainest way."""
SELDOM = st.sampled_from((False, False, False, True))
"""Whether something that is seldom happens: an answer that is under way for a while."""

SHOWN_AT_REST = ("L5", "L21")
"""Laws about states that are looked after once a session has come to rest: what is unknown, and what is shown of it."""
DISTURBING = frozenset(
    (
        "crash",
        "disk_rots",
        "host_acts",
        "letter_comes_again",
        "stranger_says",
        "time_passes",
        "user_aborts",
        "user_says",
        "worker_wakes",
    )
)
"""Rules after which a session is left in peace for a while."""


class SessionMachine(RuleBasedStateMachine):
    """A session in its world; see the module."""

    core: ClassVar[Core] = CORE
    """The functions under test."""
    claims: ClassVar[Mapping[str, Check]] = CLAIMS
    """The invariants that are looked after."""
    laws: ClassVar[Mapping[str, Law]] = LAWS
    """The laws that are looked after at every event."""
    census: ClassVar[Census] = Census()
    """What all examples visited."""

    @staticmethod
    def keep(file: str) -> None:
        """Take the scenario file of each failure, the shortest last: ``loop_check.save`` of the plugin, for example."""

    @staticmethod
    def configs(number: int) -> Config:
        """Make a configuration of a number up to 999; 0 makes the plainest."""
        return config_of(number)

    def __init__(self) -> None:
        super().__init__()
        self.sim = Simulation(Config(), self.core, Watch({}))
        self.waiting: tuple[Command, ...] = ()
        self.disturbed_at = 0

    @initialize(config=st.integers(0, 999), manner=st.sampled_from(("prompt", "prompt", "prompt", "nothing")))
    def begins(self, config: int, manner: str) -> None:
        """A session begins, mostly with a prompt."""
        self.sim = Simulation(self.configs(config), self.core, Watch(self.laws))
        if manner == "prompt":
            self._acts(("prompt",), 0)
        self._look("begins")

    # Answers

    @precondition(lambda machine: machine.waiting)
    @rule(way=WAYS)
    def all_goes_on(self, way: int) -> None:
        """What waits first is answered plainly."""
        dice, command = spent(way), next_due(self.waiting, self.sim.world.now)
        match command:
            case PersistCheckpoint():
                self.sim.saves(command, "written")
            case RequestModel():
                manner = dice.pick(("calls", "calls", "answers"))
                self.sim.replies(command, MANNERS[manner](self.sim.state.config, dice))
            case None:
                pass
            case _:
                moves = self.sim.moves(command, plain=True) or self.sim.moves(command)
                self.sim.makes(dice.pick(moves))
        self._look("all_goes_on")

    @precondition(waits_for(PersistCheckpoint))
    @rule(how=st.sampled_from(("written", "written", "written", "before", "half-way", "after")), late=SELDOM)
    def saves(self, how: str, late: bool) -> None:
        """The store saves, or fails before, half-way or after."""
        for command in self.orders(PersistCheckpoint):
            self.sim.saves(command, how, late=late)
        self._look("saves")

    @precondition(waits_for(RequestModel))
    @rule(manner=st.sampled_from(("answers", *("calls",) * 6, *MANNERS)), way=WAYS, late=SELDOM)
    def model_says(self, manner: str, way: int, late: bool) -> None:
        """The model replies, in one of its manners."""
        for command in self.orders(RequestModel):
            self.sim.replies(command, MANNERS[manner](self.sim.state.config, spent(way)), late=late)
        self._look("model_says")

    @precondition(stopping_model)
    @rule(way=WAYS, late=SELDOM)
    def model_fails(self, way: int, late: bool) -> None:
        """A request fails, is stopped, or tells its first byte."""
        self._answers((CancelModel, RequestModel), way, late=late)
        self._look("model_fails")

    @precondition(waits_for(EvaluatePolicy, AskApproval))
    @rule(way=WAYS, late=SELDOM)
    def judges(self, way: int, late: bool) -> None:
        """Rules or a person decide about a call."""
        self._answers((EvaluatePolicy, AskApproval), way, late=late)
        self._look("judges")

    @precondition(waits_for(ExecuteTool))
    @rule(way=WAYS, late=SELDOM)
    def tool_works(self, way: int, late: bool) -> None:
        """A worker tells something, does its deed, fails, or is lost from sight."""
        self._answers((ExecuteTool,), way, late=late)
        self._look("tool_works")

    @precondition(waits_for(CancelTool))
    @rule(way=WAYS, late=SELDOM)
    def tool_stops(self, way: int, late: bool) -> None:
        """A worker that was told to stop says how it ended."""
        self._answers((CancelTool,), way, late=late)
        self._look("tool_stops")

    @precondition(waits_for(InspectEffect))
    @rule(way=WAYS, late=SELDOM)
    def inspects(self, way: int, late: bool) -> None:
        """A program or a person looks at an effect."""
        self._answers((InspectEffect,), way, late=late)
        self._look("inspects")

    @precondition(waits_for(PrepareStep, CompactContext, ReviewCompletion))
    @rule(way=WAYS, late=SELDOM)
    def host_answers(self, way: int, late: bool) -> None:
        """The host prepares, compacts or reviews, or cannot."""
        self._answers((PrepareStep, CompactContext, ReviewCompletion), way, late=late)
        self._look("host_answers")

    @precondition(timed)
    @rule(way=WAYS)
    def timer_fires(self, way: int) -> None:
        """Time passes until a timer is due; a later one may come before an earlier one."""
        timers = self.orders(StartTimer)
        timer = timers[way % len(timers)]
        self.sim.fires(timer)
        self._look("timer_fires")

    @precondition(rested)
    @rule(ms=st.sampled_from((1, 40, 1_600, 6_000, 61_000)))
    def time_passes(self, ms: int) -> None:
        """Time passes, and nobody is told."""
        self.sim.waits(ms)
        self._look("time_passes")

    # Letters

    @precondition(under_way)
    @rule(way=WAYS)
    def letter_arrives(self, way: int) -> None:
        """One of the letters under way arrives, whichever was sent first."""
        letters = self.sim.letters
        self.sim.arrives(letters.pop(way % len(letters)).event)
        self._look("letter_arrives")

    @precondition(under_way)
    @rule(way=WAYS)
    def letter_is_lost(self, way: int) -> None:
        """One of the letters under way never arrives."""
        letters = self.sim.letters
        letters.pop(way % len(letters))
        self._look("letter_is_lost")

    @precondition(rested)
    @rule(back=st.integers(0, 24))
    def letter_comes_again(self, back: int) -> None:
        """Something that was told comes once more, lost by a crash in between or not."""
        told = self.sim.told
        self.sim.strays(told[-1 - back % len(told)])
        self._look("letter_comes_again")

    @precondition(rested)
    @rule(kind=st.sampled_from(EVENTS), aim=st.sampled_from(tuple(AIMS)), way=st.integers(0, 1 << 24))
    def stranger_says(self, kind: type[Event], aim: Aim, way: int) -> None:
        """Something is told that nobody waits for: of an earlier attempt, step or turn, or of nothing that was."""
        session = Session(self.sim.state, self.sim.journal)
        self.sim.strays(roll_event(kind, session, spent(way), aim=aim))
        self._look("stranger_says")

    # People

    @precondition(rested)
    @rule(what=st.sampled_from(("steering", "follow-up", "withdrawal", "prompt", "queued-prompt")), way=WAYS)
    def user_says(self, what: str, way: int) -> None:
        """A user says something, or takes it back."""
        self._acts((what, "prompt"), way)
        self._look("user_says")

    @precondition(at_rest)
    @rule(how=st.sampled_from(("prompt", "prompt", "reopen")))
    def user_goes_on(self, how: str) -> None:
        """A user reopens the session, mostly with a prompt at once."""
        if not isinstance(self.sim.state.phase, Idle):
            self.sim.arrives(SessionReopened(at=0))
        if how == "prompt":
            self._acts(("prompt",), 0)
        self._look("user_goes_on")

    @precondition(rested)
    @rule(what=st.sampled_from(("abort", "abort-call", "abort-task", "abort-all", "abort-after-step")), way=WAYS)
    def user_aborts(self, what: str, way: int) -> None:
        """A user stops the turn, one call, a task, or everything."""
        self._acts((what,), way)
        self._look("user_aborts")

    @precondition(uncertain)
    @rule(what=st.sampled_from(("person", "inspection", "retry")), way=WAYS)
    def person_decides(self, what: str, way: int) -> None:
        """A person says what became of an effect, wants it looked into, or run again."""
        self._acts((what,), way)
        self._look("person_decides")

    @precondition(idle)
    @rule(what=st.sampled_from(("import", "clear", "config")))
    def host_acts(self, what: str) -> None:
        """The host imports a history, clears it, or changes the configuration."""
        self._acts((what,), 0)
        self._look("host_acts")

    # Faults

    @precondition(paused)
    @rule(way=WAYS)
    def worker_wakes(self, way: int) -> None:
        """A worker that nobody waits for any more goes on where it was paused, or tells what it did."""
        moves = list(workers(self.sim.scene()))
        if moves:
            self.sim.makes(moves[way % len(moves)])
            self._look("worker_wakes")

    @precondition(rested)
    @rule(lost=st.integers(0, 24), torn=st.booleans(), poorer=SELDOM)
    def crash(self, lost: int, torn: bool, poorer: bool) -> None:
        """The process dies, losing some of what is not durable; its host may bring fewer tools."""
        sim = self.sim
        loose = len(sim.disk) - sim.disk.synced
        config = attrs.evolve(sim.state.config, tools=_fewer(sim.state.config)) if poorer else None
        sim.crash(len(sim.disk) - lost % (loose + 1), torn=torn, config=config)
        self._look("crash")

    @precondition(readable)
    @rule(back=st.integers(0, 24), really=SELDOM)
    def disk_rots(self, back: int, really: bool) -> None:
        """A line of the journal can no longer be read, durable or not, and a person accepts the gap.

        It is never that of a resume: nothing else on the disk knows how far its epoch was raised.
        """
        sim = self.sim
        rotten = len(sim.disk) - back % len(sim.disk)
        if really and not isinstance(sim.journal[rotten - 1], SessionResumed):
            sim.crash(len(sim.disk), rotten=rotten)
            self._look("disk_rots")

    def teardown(self) -> None:
        """The world calms down: the turn ends, workers wake up, and what was said is still true."""
        problem = calm(self.sim, gives_up=len(self.sim.told) % 2 == 1)
        shown = {name: law for name, law in self.laws.items() if name in SHOWN_AT_REST}
        self._fail_if(problem or problem_of(self.sim, self.claims) or unsound(self.sim.state, shown, self.core))
        wake_everybody(self.sim)
        self._fail_if(problem_of(self.sim, self.claims))

    # What the rules are made of

    def orders(self, *kinds: type[Command]) -> list[Any]:
        """Return what is outstanding of some kinds, in order."""
        return [command for command in self.waiting if isinstance(command, kinds)]

    def _answers(self, kinds: tuple[type[Command], ...], way: int, *, late: bool) -> None:
        """Answer one of the commands of some kinds in one of the honest ways, half of the time in a plain one."""
        dice, commands = spent(way), self.orders(*kinds)
        command = dice.pick(commands)
        moves = self.sim.moves(command, plain=not dice.once_in(2)) or self.sim.moves(command)
        self.sim.makes(dice.pick(moves), late=late)

    def _acts(self, options: Iterable[str], way: int) -> None:
        """Do the first of some acts that is possible."""
        for option in options:
            possible = list(ACTS[option](self.sim.scene()))
            if possible:
                event = possible[way % len(possible)]
                self.sim.makes(Move(Source.USER, event, self.sim.world, option))
                return

    def _look(self, word: str) -> None:
        """Count what happened, and compare."""
        sim = self.sim
        if word in DISTURBING:
            self.disturbed_at = len(sim.told)
        self.waiting = sim.waiting
        self.census.add(word, *(f"{effect.value} begun" for effect in sim.effects_begun))
        for passage in sim.fresh:
            self.census.note(passage)
        self._fail_if(problem_of(sim, self.claims))

    def _fail_if(self, problem: str | None) -> None:
        if problem is not None:
            file = f"# {problem}\n{render(self.sim.scenario, self.core, self.laws)}"
            self.keep(file)
            note(f"As a scenario file:\n{file}")
            raise AssertionError(problem)


def _fewer(config: Config) -> tuple[Any, ...]:
    """Return every other tool of a configuration, and all that complete a turn."""
    return tuple(tool for place, tool in enumerate(config.tools) if place % 2 == 0 or tool.completes)
