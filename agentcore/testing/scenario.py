"""Scenario files: what happened, as text that people read and review as a diff.

A file holds the header of a session, and for each step a line that says what happened; indented below stands what
came of it: phase, calls, register, why, and what was ordered. Only the lines that are not indented are read, so a
file is renewed by running it. ``#`` begins a remark, which stays. Besides events there are two kinds of step: ``acts
CALL EPOCH NUMBER``, a deed that nobody is told of, and ``crash keeps=SEQ``, which goes before the resume and says how
much of the journal survived. Every law is checked at every step; a broken one is written below it.

Two words at the margin say how much is told from there on: ``whole`` leaves nothing out, neither what an event changed
in the state nor who is at fault for a refusal, what did not fit, and the advice; ``briefly`` tells only what is broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from agentcore.commands import key_of, tag_of
from agentcore.events import EVENTS, Event, SessionResumed
from agentcore.policy import Config
from agentcore.reduce import Judgement, Verdict
from agentcore.states import Call, Settled, State
from agentcore.testing.changes import changes
from agentcore.testing.core import CORE, Core
from agentcore.testing.laws import LAWS, Law
from agentcore.testing.laws.totality import defect
from agentcore.testing.notation import NotationError, Reader, fields_of, write
from agentcore.testing.pages import Entry, entries, laid_out
from agentcore.testing.passage import Passage, all_calls
from agentcore.testing.report import Broken, Step
from agentcore.testing.world import Deed, World

TELLING = ("whole", "briefly")
"""Words that say how much is told of what came of each step."""

_KINDS: Mapping[str, type[Any]] = {tag_of(kind): kind for kind in EVENTS}


@attrs.frozen
class Scenario:
    """What is to happen."""

    session_id: str
    """Id of the session."""
    at: int
    """When it was started, in milliseconds."""
    config: Config
    """What it is run under."""
    steps: tuple[Step | str, ...]
    """What happens, in order; text is a remark, or one of the words that say how much is told."""


def scenario_of(broken: Broken, config: Config) -> Scenario:
    """Return a counterexample as a scenario, with the law and the problem as its first remark."""
    return Scenario("s", 0, config, (f"# {broken.law}: {broken.problem}", *broken.way))


def scenario_told(origin: State, events: Iterable[Event], problem: str) -> Scenario:
    """Return what a generated session was told as a scenario, with what went wrong as its first remark.

    ``origin`` is the state that ``start`` gave. For a walk that is its first state and its journal, for a drawn session
    its ``origin`` and ``journal``, each with the event that went wrong behind it.
    """
    first = problem.partition("\n")[0]
    return Scenario(origin.session_id, origin.at, origin.config, (f"# {first}", *(Step(event) for event in events)))


def parse(text: str) -> Scenario:
    """Read a file; ``NotationError`` names the line that cannot be read."""
    header: dict[str, Any] = {"session_id": "s", "at": 0, "config": Config()}
    steps: list[Step | str] = []
    keeps: int | None = None
    for number, line in entries(text):
        word, _, rest = line.partition(" ")
        try:
            if word.startswith("#") or line in TELLING:
                steps.append(line)
            elif word == "session":
                name, _, at = rest.partition(" @")
                header.update(session_id=name, at=int(at or 0))
            elif word == "config":
                header["config"] = Reader(rest).fields(Config)
            elif word == "acts":
                call_id, epoch, attempt = rest.split()
                steps.append(Step(acts=(call_id, int(epoch), int(attempt))))
            elif word == "crash":
                keeps = int(rest.removeprefix("keeps="))
            else:
                steps.append(Step(_read_event(word, rest, header["config"]), keeps=keeps))
                keeps = None
        except ValueError as error:
            raise NotationError(f"line {number}: {error}") from error
    return Scenario(header["session_id"], header["at"], header["config"], tuple(steps))


def _read_event(tag: str, rest: str, config: Config) -> Event:
    kind = _KINDS.get(tag)
    if kind is None:
        raise NotationError(f"{tag} is no event and no step")
    at, _, said = rest.partition(" ")
    known: dict[str, Any] = {"at": int(at.removeprefix("@"))}
    if kind is SessionResumed and " config=" not in f" {said}":
        known["config"] = config
    event: Event = Reader(said).fields(kind, **known)
    return event


def render(scenario: Scenario, core: Core = CORE, laws: Mapping[str, Law] = LAWS) -> str:
    """Run a scenario and return its file: what happens, and what came of it."""
    head = (f"session {scenario.session_id} @{scenario.at}", " ".join(("config", *fields_of(scenario.config))))
    run = Run(scenario, core, laws)
    page: list[Entry | str] = [Entry(head)]
    for step in scenario.steps:
        if isinstance(step, str):
            run.tell(step)
            page.append(step)
        else:
            page.append(Entry(tuple(_said(step, scenario.config)), tuple(run.take(step))))
    return laid_out(page)


def _said(step: Step, config: Config) -> Iterator[str]:
    """Write what happens."""
    if step.acts is not None:
        yield "acts {} {} {}".format(*step.acts)
    if step.keeps is not None:
        yield f"crash keeps={step.keeps}"
    if step.event is not None:
        same = isinstance(step.event, SessionResumed) and step.event.config == config
        left_out = ("at", "config") if same else ("at",)
        yield " ".join((tag_of(type(step.event)), f"@{step.event.at}", *fields_of(step.event, *left_out)))


class Run:
    """A scenario while it runs: the session, every state it went through, the world, what the monitors remember."""

    def __init__(self, scenario: Scenario, core: Core, laws: Mapping[str, Law]) -> None:
        self.state = core.start(scenario.session_id, scenario.config, scenario.at).state
        self.world = World(scenario.at)
        self._core, self._laws, self._telling = core, laws, ""
        self._memories = {law.name: law.monitor.start for law in laws.values() if law.monitor is not None}
        self._past = {self.state.seq: (self.state, dict(self._memories))}

    def tell(self, word: str) -> None:
        """Tell as much as a word says from here on; a remark says nothing about that."""
        if word in TELLING:
            self._telling = word

    def take(self, step: Step) -> Iterator[str]:
        """Take one step and yield what came of it, line by line."""
        if step.keeps is not None:
            self._fall_back(step.keeps)
        if step.acts is not None:
            call_id, *run = step.acts
            self.world = self.world.told(self.world.find(call_id, (run[0], run[1])), Deed.DONE)
            yield from self._broken_by_world(None)
        if step.event is None:
            return
        before, judgement = self.state, self._core.examine(self.state, step.event)
        passage = Passage(before, step.event, judgement.reduction, self._core)
        self.world = self.world.believing(before, step.event).after(passage)
        self.state = passage.after
        if self._telling != "briefly":
            yield from _came(passage, judgement, whole=self._telling == "whole")
        yield from self._broken(passage)
        self._past[self.state.seq] = (self.state, dict(self._memories))

    def _fall_back(self, keeps: int) -> None:
        """Go back to a prefix of the journal; what the world knows, and what knows the world, stays."""
        if keeps not in self._past:
            raise NotationError(f"a crash cannot keep {keeps} events: there were {self.state.seq}")
        self.state, memories = self._past[keeps]
        for name, held in memories.items():
            monitor = self._laws[name].monitor
            if monitor is not None and not monitor.of_world:
                self._memories[name] = held

    def _broken(self, passage: Passage) -> Iterator[str]:
        if problem := defect(passage):
            yield f"broken: {problem}"
        for law in self._laws.values():
            if law.transition is not None and (problem := law.transition(passage)):
                yield f"broken {law.name}: {problem}"
            if law.monitor is not None and passage.verdict == "accepted":
                self._memories[law.name], problem = law.monitor.step(self._memories[law.name], passage)
                if problem:
                    yield f"broken {law.name}: {problem}"
            if (
                law.state is not None
                and passage.verdict == "accepted"
                and (problem := law.state(passage.after, self._core))
            ):
                yield f"broken {law.name}: {problem}"
        yield from self._broken_by_world(passage)

    def _broken_by_world(self, passage: Passage | None) -> Iterator[str]:
        for law in self._laws.values():
            if law.world is not None and (problem := law.world(self.world, passage)):
                yield f"broken {law.name}: {problem}"


def _came(passage: Passage, judgement: Judgement, *, whole: bool) -> Iterator[str]:
    """Write what came of an event: the verdict if it was not accepted, else phase, calls and orders."""
    if judgement.verdict is not Verdict.ACCEPTED:
        yield f"{judgement.verdict.value}: {judgement.reason}"
        if whole and judgement.rejection is not None:
            said = judgement.rejection
            offending = write(said.offending) if said.offending else ""
            yield " ".join(("at fault:", said.blame.value, *filter(None, (offending, said.advice))))
        return
    yield _phase(passage.after)
    old = {(call.registered, call.call_id): call.state for call in all_calls(passage.before)}
    for call in all_calls(passage.after):
        if old.get((call.registered, call.call_id)) != call.state:
            yield _call(call)
    if whole:
        yield from changes(passage.before, passage.after, passage.event.at)
    for command in passage.commands:
        key = key_of(command)
        yield f"-> {key.name} {key.id} {key.epoch}.{key.attempt}"


def _phase(state: State) -> str:
    phase = state.phase
    ending = getattr(phase, "ending", None)
    reason = f"({ending.reason.value})" if ending is not None else ""
    hops = f" by {', '.join(hop.value for hop in phase.transition.hops)}" if phase.transition.hops else ""
    unsaved = ", unsaved" if getattr(phase, "unsaved", False) else ""
    return f"{tag_of(type(phase))}{reason}{unsaved} because {phase.transition.because.value}{hops}"


def _call(call: Call) -> str:
    place = "register " if call.registered else ""
    said = ""
    if isinstance(call.state, Settled):
        outcome = call.state.outcome
        detail = next(
            (getattr(outcome, name) for name in ("reason", "case", "effect", "by") if hasattr(outcome, name)), ""
        )
        said = f"({tag_of(type(outcome))}{' ' + write(detail) if detail else ''})"
    return f"{place}{call.call_id} {tag_of(type(call.state))}{said} because {call.state.transition.because.value}"
