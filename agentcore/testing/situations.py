"""One session in every phase, and one call in every call state, each reached from ``start`` by accepted events.

Turn 1 is over and saved. Turn 2 is in its second step, whose request is in its second attempt: so there is a previous
turn, a previous request and a previous attempt that an event can wrongly name. Calls ``2.2.0`` and ``2.2.1`` are the
batch, where there is one; the first is in its second execution, where it has been started.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from agentcore import events
from agentcore.commands import StartTimer
from agentcore.events import AbortScope, Event
from agentcore.limits import Limits
from agentcore.messages import FinishReason, TextPart, ToolCallPart, digest
from agentcore.outstanding import outstanding
from agentcore.policy import Config, Effect, ToolContract
from agentcore.reduce import reduce, start
from agentcore.states import State
from agentcore.testing.probes import an_event

CALL = "2.2.0"
"""The call that is in the state a situation is named for."""

CONFIG = Config(
    tools=(
        ToolContract("write", effect=Effect.FENCEABLE),
        ToolContract("task", effect=Effect.OPAQUE, detached=True),
    ),
    limits=Limits(turn_ms=1_000_000),
    prepares_steps=True,
    reviews_completion=True,
)
"""Everything installed that orders a command."""


@attrs.frozen
class Situation:
    """A session where something can be tried."""

    name: str
    """Phase or call state, with the place where that matters."""
    state: State
    """The session."""
    journal: tuple[Event, ...]
    """The events that led here."""


class _Driver:
    """Drives a session by answering what it waits for; every event has to be accepted."""

    def __init__(self) -> None:
        self.state: State = start("s", CONFIG, 0).state
        self.journal: list[Event] = []

    def do(self, kind: type[Event], /, **said: Any) -> _Driver:
        """Let one event happen, a millisecond after the last."""
        event = an_event(kind, self.state.at + 1, **said)
        judged = reduce.examine(self.state, event)
        assert judged.reduction.state is not self.state, f"{event} was {judged.verdict.value}: {judged.reason}"
        self.state = judged.reduction.state
        self.journal.append(event)
        return self

    def at(self, name: str) -> Situation:
        """Name where the session stands."""
        return Situation(name, self.state, tuple(self.journal))

    def fork(self) -> _Driver:
        """Return a driver that goes on from here alone."""
        other = _Driver()
        other.state, other.journal = self.state, list(self.journal)
        return other

    # What answers the present step

    def request(self, kind: type[Event], counter: str = "requests", /, **said: Any) -> _Driver:
        """Answer the step's present order of a kind."""
        attempt = getattr(self.state.turn, counter)
        return self.do(kind, request_id=self.state.request_id, epoch=self.state.epoch, attempt=attempt, **said)

    def prepared(self) -> _Driver:
        """Let the host prepare the step."""
        return self.request(events.StepPrepared, "preparations")

    def asks(self, *tools: str) -> _Driver:
        """Let the model call tools."""
        parts = tuple(ToolCallPart(f"p{index}", name, "{}") for index, name in enumerate(tools))
        return self.request(events.ModelReplied, parts=parts, finish=FinishReason.TOOL_CALLS)

    def says(self, text: str) -> _Driver:
        """Let the model answer."""
        return self.request(events.ModelReplied, parts=(TextPart(text),))

    def saved(self) -> _Driver:
        """Write checkpoints until none is outstanding."""
        while (seq := self.state.storage.in_flight) is not None:
            self.do(events.CheckpointWritten, seq=seq, epoch=self.state.epoch, attempt=self.state.storage.attempt)
        return self

    def allowed(self, call_id: str) -> _Driver:
        """Let the rules allow a call."""
        return self.decided(events.PolicyAllowed, call_id, arguments="{}", digest=digest("{}"))

    def decided(self, kind: type[Event], call_id: str, /, **said: Any) -> _Driver:
        """Let the rules decide about a call."""
        call = self.call(call_id)
        return self.do(kind, call_id=call_id, epoch=self.state.epoch, attempt=call.tries.reviews, **said)

    def reports(self, kind: type[Event], call_id: str, /, **said: Any) -> _Driver:
        """Let the present execution of a call report."""
        run = self.call(call_id).run
        return self.do(kind, call_id=call_id, epoch=run.epoch, attempt=run.attempt, **said)

    def fires(self, kind: str) -> _Driver:
        """Let the outstanding timer of a kind fire."""
        timer = next(
            command
            for command in outstanding(self.state)
            if isinstance(command, StartTimer) and command.timer_id.startswith(kind)
        )
        return self.do(events.TimerFired, timer_id=timer.timer_id, epoch=timer.epoch, attempt=timer.attempt)

    def call(self, call_id: str) -> Any:
        """Return a call of the batch or the register."""
        calls = (*self.state.register, *(self.state.batch.calls if self.state.batch else ()))
        return next(call for call in calls if call.call_id == call_id)

    def aborts(self, **said: Any) -> _Driver:
        """Let the user abort the turn, or what is said."""
        return self.do(events.AbortRequested, **{"act_id": "act", "turn": self.state.turn.number, **said})


def _second_step() -> _Driver:
    """Drive to the beginning of the second step of the second turn."""
    driver = _Driver()
    for number in (1, 2):
        driver.do(events.PromptSubmitted, message_id=f"m{number}", parts=(TextPart("Do it."),)).prepared()
        driver.asks("write").allowed(f"{number}.1.0").saved().reports(events.ToolSucceeded, f"{number}.1.0")
        if number == 1:
            driver.prepared().says("Done.").request(events.CompletionAccepted, "reviews").saved()
            driver.do(events.SessionReopened)
    return driver.saved()


def phases() -> Iterator[Situation]:
    """Yield a session in each phase."""
    second = _second_step()
    yield second.fork().at("Preparing")
    waiting = second.prepared().request(events.ModelFailed)
    yield waiting.fork().at("AwaitingRetry")
    asked = waiting.fires("retry")
    yield asked.fork().at("AwaitingModel")
    yield asked.fork().request(events.ModelStreamOpened).at("Streaming")
    overflow = events.ModelFailure.OVERFLOW
    yield asked.fork().request(events.ModelFailed, kind=overflow).at("Compacting")
    yield asked.fork().asks("write", "write").at("RunningTools")
    reviewed = asked.fork().says("Done.")
    yield reviewed.fork().at("ReviewingCompletion")
    yield asked.fork().aborts().at("Stopping")
    saving = reviewed.request(events.CompletionAccepted, "reviews")
    yield saving.fork().at("Saving")
    completed = saving.saved()
    yield completed.fork().at("Completed")
    yield completed.fork().do(events.SessionReopened).at("Idle")
    denied = asked.fork().asks("write").decided(events.PolicyBlocked, CALL, dangerous=True)
    yield denied.saved().at("Denied")
    yield asked.fork().aborts().request(events.ModelStopped).saved().at("Cancelled")
    yield asked.fork().fires("turn").request(events.ModelStopped).saved().at("Exhausted")
    yield asked.fork().request(events.ModelFailed, kind=events.ModelFailure.FATAL).saved().at("Failed")


def call_states() -> Iterator[Situation]:
    """Yield a session whose call ``2.2.0`` is in each call state: in a batch, and in the register where it can be."""
    asked = _second_step().prepared().request(events.ModelFailed).fires("retry")
    both = asked.fork().asks("write", "write")
    yield both.fork().at("Proposed")
    sealed: dict[str, Any] = {"arguments": "{}", "digest": digest("{}")}
    yield both.fork().decided(events.PolicyAsked, CALL, **sealed).at("AwaitingApproval")
    yield both.fork().allowed(CALL).at("Ready")
    lost = both.allowed(CALL).allowed("2.2.1").saved().reports(events.ToolLost, CALL)
    absent = events.Resolution.NOT_EXECUTED
    again = lost.do(events.EffectResolved, call_id=CALL, resolution=absent, retry=True, act_id="word")
    yield again.fork().at("Released")
    running = again.saved()
    yield running.fork().at("Executing")
    yield running.fork().aborts(scope=AbortScope.CALL, call_id=CALL).at("CancellationRequested")
    yield running.fork().reports(events.ToolLost, CALL).at("EffectUnknown")
    yield running.fork().reports(events.ToolSucceeded, CALL).at("Settled")
    task = asked.asks("task", "write").allowed(CALL).allowed("2.2.1").saved().reports(events.TaskStarted, CALL)
    yield task.fork().at("Executing in the register")
    yield task.fork().aborts(scope=AbortScope.TASK, call_id=CALL).at("CancellationRequested in the register")
    yield task.fork().reports(events.ToolLost, CALL).at("EffectUnknown in the register")
    given_up = events.Resolution.ABANDONED
    yield task.do(events.EffectResolved, call_id=CALL, resolution=given_up).at("Settled, open, in the register")
