"""What happened in one run of a scenario, in order: the only thing that is judged."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import anyio
import attrs

from interpreters.check.rules import Finding, Means
from interpreters.check.scenarios import Behaviour, Call, Fault, Kind, Scenario
from interpreters.check.wire import Asked, Reply, WireCall

_OUTPUT_KEPT = 4000


@attrs.define
class Served:
    """What the model answered."""

    step: int
    """Which step was asked for."""
    reply: Reply | None = None
    """The reply, whole or cut; ``None`` for an error."""
    fault: Fault | None = None
    """What came instead of a good reply."""
    delivered: bool = False
    """The answer left whole."""

    @property
    def good(self) -> bool:
        """Whether it is a reply that counts: told to its end, without a fault."""
        return self.fault is None and self.reply is not None and self.delivered


@attrs.define
class Asking:
    """One request to the model."""

    number: int
    """From 1."""
    at: float
    """Seconds since the scenario began."""
    life: int
    """Which start of the program it comes from, from 1."""
    dialect: str
    """The provider's interface."""
    path: str
    """Where it went."""
    body: str
    """What was sent."""
    asked: Asked
    """The same, read; with the history that the provider kept."""
    served: Served
    """What it got."""


@attrs.define
class Deed:
    """One thing a tool did to the world, or was asked to do."""

    at: float
    """When it was asked for."""
    life: int
    """Which start of the program asked."""
    tool: str
    """Which tool."""
    entry: str
    """What was written; names the call it is for."""
    fits: bool = True
    """The arguments are exactly those that the scenario gave the call."""
    receipt: str = ""
    """What the tool answered; names this deed."""
    delivered: bool = False
    """The answer left whole."""


@attrs.frozen
class Note:
    """Anything else worth telling."""

    at: float
    """When."""
    what: str
    """What."""


@attrs.define(eq=False)
class Record:
    """One run of one scenario."""

    scenario: Scenario
    """What was played."""
    mark: str
    """A word that stands in everything this run makes up."""
    prompt: str
    """What the user said."""
    askings: list[Asking] = attrs.field(factory=list)
    """Requests, in order."""
    deeds: list[Deed] = attrs.field(factory=list)
    """Deeds, in order."""
    notes: list[Note] = attrs.field(factory=list)
    """The rest."""
    denied: list[str] = attrs.field(factory=list)
    """Entries whose call was refused."""
    questions: list[str] = attrs.field(factory=list)
    """Entries that were asked about."""
    acted_at: float | None = None
    """When the act of the scenario came."""
    lives: int = 0
    """How often the program was started."""
    lacking: set[Means] = attrs.field(factory=set)
    """Means without which the scenario says nothing."""
    findings: list[Finding] = attrs.field(factory=list)
    """What was seen to be broken while it ran: hangs, floods."""
    output_bytes: int = 0
    """How much the program printed."""
    output: bytes = b""
    """The end of it."""
    busy: int = 0
    """How many exchanges are held up on purpose."""
    _began: float = attrs.field(factory=time.monotonic)
    _last: float = attrs.field(factory=time.monotonic)

    def now(self) -> float:
        """Seconds since the scenario began."""
        return time.monotonic() - self._began

    def stir(self) -> None:
        """Note that the program is alive."""
        self._last = time.monotonic()

    def quiet_s(self) -> float:
        """Return for how long nothing has happened that the check is not to blame for."""
        if self.busy:
            self.stir()
        return time.monotonic() - self._last

    def note(self, what: str) -> None:
        """Add a line to the story."""
        self.stir()
        self.notes.append(Note(self.now(), what))

    def take_output(self, data: bytes) -> None:
        """Count what the program printed, and keep its end."""
        self.output_bytes += len(data)
        self.output = (self.output + data)[-_OUTPUT_KEPT:]

    async def hold(self, seconds: float) -> None:
        """Wait on purpose, so that this wait is nobody's fault."""
        self.busy += 1
        try:
            await anyio.sleep(seconds)
        finally:
            self.busy -= 1
            self.stir()

    # What the act was

    def acted(self, kind: Kind) -> bool:
        """Whether the act of the scenario is of this kind and has come."""
        act = self.scenario.act
        return act is not None and act.kind is kind and self.acted_at is not None

    # What entries say

    def entry(self, step: int, index: int, *, cut: bool = False) -> str:
        """Return what a call is to write: it names its step, its place, and whether its message was cut."""
        return f"{self.mark}-{step}.{index}{'-cut' if cut else ''}"

    def find_entry(self, text: str) -> str:
        """Return the entry that a text holds, or nothing."""
        found = re.search(rf"{re.escape(self.mark)}-\d+\.\d+(?:-cut)?", text)
        return found[0] if found else ""

    def call_of(self, entry: str) -> Call | None:
        """Return the call that an entry names, as the scenario has it."""
        found = re.search(r"-(\d+)\.(\d+)(?:-cut)?$", entry)
        if not found or self.find_entry(entry) != entry:
            return None
        calls = self.scenario.at(int(found[1])).calls
        return calls[int(found[2])] if int(found[2]) < len(calls) else None

    def step_of(self, entry: str) -> int:
        """Return the step that an entry names."""
        found = re.search(r"-(\d+)\.\d+(?:-cut)?$", entry)
        return int(found[1]) if found else -1

    def behaviour_of(self, entry: str) -> Behaviour:
        """Return what the tool of an entry does."""
        call = self.call_of(entry)
        return call.behaviour if call else Behaviour.QUICK

    def served_calls(self) -> Iterator[tuple[Served, WireCall]]:
        """Every call that was told to the program, with the answer that it stood in."""
        for asking in self.askings:
            if asking.served.reply is not None:
                yield from ((asking.served, call) for call in asking.served.reply.calls)

    def entry_of_call(self, call: WireCall) -> str:
        """Return the entry of a call in a history: by what stands in its arguments, else by its id."""
        if entry := self.find_entry(call.arguments):
            return entry
        ids = (self.find_entry(told.arguments) for _, told in self.served_calls() if told.id and told.id == call.id)
        return next(ids, "")
