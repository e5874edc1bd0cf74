"""What can happen next, and what an honest world answers to each command.

Which answers there are follows from what is outstanding, and what may be said in them from what is true.
``ANSWERERS`` is one line a command; the acts of people and the deeds of paused workers are in ``acts``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

import attrs

from agentcore import events
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
from agentcore.events import Event, Finding, Inspector, ModelFailure
from agentcore.evolve import evolve
from agentcore.messages import EffectSeen, FinishReason, TextPart, Usage, digest
from agentcore.outstanding import is_question
from agentcore.policy import Effect
from agentcore.states import AwaitingModel, Call, State
from agentcore.testing.answers import failing, names
from agentcore.testing.passage import find_call
from agentcore.testing.script import Exploration
from agentcore.testing.world import Attempt, Deed, World


class Source(StrEnum):
    """Who makes a move."""

    WORLD = "world"
    GIVING_UP = "giving-up"
    PERSON = "person"
    USER = "user"
    WORKER = "worker"
    CRASH = "crash"


@attrs.frozen
class Move:
    """One thing that can happen next."""

    source: Source
    """Who makes it."""
    event: Event | None
    """What the session is told; ``None`` where it is told nothing."""
    world: World
    """The world in which it has happened."""
    costs: str = ""
    """The option it is taken from, if it need not happen."""
    acts: Attempt | None = None
    """The attempt that acts without anybody being told."""


@attrs.frozen
class Scene:
    """A situation in which something is to happen."""

    state: State
    """What the session holds."""
    world: World
    """What is true."""
    script: Exploration
    """What is explored."""
    left: Mapping[str, int]
    """What may still happen of the options."""
    outstanding: tuple[Command, ...]
    """What the session waits for."""

    def has(self, option: str) -> bool:
        """Say whether an option may still happen."""
        return self.left.get(option, 0) > 0

    def used(self, option: str) -> int:
        """Return how often an option has happened."""
        return self.script.budget.get(option, 0) - self.left.get(option, 0)

    def call(self, call_id: str) -> Call:
        """Return a call of the state that a command speaks of."""
        call = find_call(self.state, call_id)
        assert call is not None, f"a command speaks of {call_id}, which the state does not hold"
        return call

    def tells(
        self, event: Event, *, costs: str = "", world: World | None = None, source: Source = Source.WORLD
    ) -> Iterator[Move]:
        """Yield the move that tells an event, if its option may still happen."""
        if not costs or self.has(costs):
            yield Move(source, event, world or self.world, costs)

    def gives_up(self, command: Command, costs: str = "") -> Iterator[Move]:
        """Yield the failure event of a command; a question that fails is one that somebody gave up on."""
        event = failing(command, self.world.now)
        assert event is not None, f"a {type(command).__name__} has no failure"
        source = Source.GIVING_UP if is_question(command) else Source.WORLD
        yield from self.tells(event, costs=costs, source=source)


USED = Usage(input_tokens=10, output_tokens=5)
"""What each attempt consumes that tells its usage."""


def of_step(scene: Scene, command: PrepareStep) -> Iterator[Move]:
    """The host prepares the step, or cannot."""
    yield from scene.tells(events.StepPrepared(**names(command, scene.world.now)))
    yield from scene.gives_up(command, "preparation-failure")


def of_request(scene: Scene, command: RequestModel) -> Iterator[Move]:
    """The model replies as the script says, or fails in one of the named ways; while stopping it may still reply."""
    own = names(command, scene.world.now)
    if isinstance(scene.state.phase, AwaitingModel):
        yield from scene.tells(events.ModelStreamOpened(**own), costs="stream")
    for reply in scene.script.says(scene.state.turn.number, scene.state.turn.step):
        yield from scene.tells(events.ModelReplied(**own, parts=reply.parts, finish=reply.finish, usage=USED))
        if reply.finish is not FinishReason.LENGTH:
            cut = events.ModelReplied(**own, parts=reply.parts, finish=FinishReason.LENGTH, usage=USED)
            yield from scene.tells(cut, costs="truncation")
    for option, kind in _FAILURES.items():
        failed = events.ModelFailed(**own, kind=kind, message=option, usage=USED)
        yield from scene.tells(failed, costs=option)


_FAILURES: Mapping[str, ModelFailure] = {
    "model-failure": ModelFailure.RETRYABLE,
    "fatal": ModelFailure.FATAL,
    "overflow": ModelFailure.OVERFLOW,
    "media": ModelFailure.MEDIA_TOO_LARGE,
}


def of_model_cancel(scene: Scene, command: CancelModel) -> Iterator[Move]:
    """The request has ended, with what it had said."""
    yield from scene.tells(
        events.ModelStopped(**names(command, scene.world.now), parts=(TextPart("So far"),), usage=USED)
    )


def of_policy(scene: Scene, command: EvaluatePolicy) -> Iterator[Move]:
    """The rules allow, want to ask, or refuse; or the arguments do not fit."""
    call, own = scene.call(command.call_id), names(command, scene.world.now)
    sealed: dict[str, Any] = {"arguments": call.arguments, "digest": digest(call.arguments)}
    yield from scene.tells(events.PolicyAllowed(**own, **sealed, rule="allow"))
    # A hook changes once more what a person has changed: nobody has granted that.
    asked = '{"hooked":true}' if call.tries.changes_used else call.arguments
    question = events.PolicyAsked(**own, arguments=asked, digest=digest(asked), rule="ask")
    yield from scene.tells(question, costs="approval")
    yield from scene.tells(events.PolicyBlocked(**own, rule="block", reason="not here"), costs="denial")
    yield from scene.tells(events.PolicyBlocked(**own, rule="block", reason="no", dangerous=True), costs="danger")
    yield from scene.tells(events.ArgumentsRefused(**own, problem="path is missing"), costs="refused-arguments")


def of_question(scene: Scene, command: AskApproval) -> Iterator[Move]:
    """A person grants what was shown or something else, refuses, or is not there."""
    call, own, person = scene.call(command.call_id), names(command, scene.world.now), Source.PERSON
    changed = f'{{"other":{scene.used("changed-grant")}}}'
    for option, arguments in (("", call.arguments), ("changed-grant", changed)):
        grant = events.ApprovalGranted(**own, arguments=arguments, digest=digest(arguments))
        yield from scene.tells(grant, costs=option, source=person)
    yield from scene.tells(events.ApprovalDenied(**own), costs="denial", source=person)
    yield from scene.tells(events.ApprovalDenied(**own, feedback="use the other one"), costs="feedback", source=person)
    yield from scene.gives_up(command)


def of_execution(scene: Scene, command: ExecuteTool) -> Iterator[Move]:
    """The attempt reports what is true of it, or is lost from sight."""
    call, own = scene.call(command.call_id), names(command, scene.world.now)
    world, attempt = scene.world, scene.world.find(command.call_id, (command.epoch, command.attempt))
    run = call.run
    if run is not None and not run.started:
        yield from scene.tells(events.ToolStarted(**own, handle="h"), costs="start")
    if scene.has("progress"):
        said = f"seen {scene.used('progress')}"
        yield from scene.tells(events.ToolProgressed(**own, observation=said), costs="progress")
    if call.registered:
        yield from _of_task(scene, own, attempt)
    else:
        if attempt is None or attempt.deed is not Deed.VOID:
            done = world.told(attempt, Deed.DONE)
            success = events.ToolSucceeded(**own, result="done", terminate=scene.script.terminates, usage=CHILD)
            yield from scene.tells(success, world=done)
            if call.contract.detached:
                yield from scene.tells(events.TaskStarted(**own, handle="h"), costs="detach")
        if attempt is None or attempt.deed is not Deed.DONE:
            void = world.told(attempt, Deed.VOID)
            yield from scene.tells(events.ToolFailed(**own, error="no such file"), world=void)
            fatal = events.ToolFailed(**own, error="no credentials", fatal=True)
            yield from scene.tells(fatal, costs="fatal-tool", world=void)
    yield from scene.gives_up(command)


CHILD = Usage(input_tokens=1)
"""What a tool consumes."""


def _of_task(scene: Scene, own: dict[str, Any], attempt: Attempt | None) -> Iterator[Move]:
    """A background task ends, one way or the other."""
    for succeeded, deed in ((True, Deed.DONE), (False, Deed.VOID)):
        if attempt is None or attempt.deed in (Deed.MAY, deed):
            ended = events.TaskSettled(**own, succeeded=succeeded, result="done" if succeeded else "broke", usage=CHILD)
            yield from scene.tells(ended, world=scene.world.told(attempt, deed))


def of_tool_cancel(scene: Scene, command: CancelTool) -> Iterator[Move]:
    """The attempt has ended: without effect, after its deed, or nobody can tell."""
    epoch, number = command.execution
    own: dict[str, Any] = {"at": scene.world.now, "call_id": command.call_id, "epoch": epoch, "attempt": number}
    attempt = scene.world.find(command.call_id, command.execution)
    for seen, deed in ((EffectSeen.NONE, Deed.VOID), (EffectSeen.DONE, Deed.DONE)):
        if attempt is None or attempt.deed in (Deed.MAY, deed):
            world = scene.world.told(attempt, deed)
            yield from scene.tells(events.ToolCancelled(**own, effect=seen), world=world)
            yield from scene.tells(events.ToolCancelled(**own, effect=EffectSeen.UNPROVED), world=world)


def of_inspection(scene: Scene, command: InspectEffect) -> Iterator[Move]:
    """Whoever looks says what is true at this instant; a program of a fenceable effect voids what has not acted."""
    if command.by is Inspector.PERSON:
        yield from _of_person(scene, command)
        return
    attempt = scene.world.find(command.call_id, command.execution)
    own, world = names(command, scene.world.now), scene.world
    if attempt is not None and attempt.deed is Deed.DONE:
        yield from scene.tells(events.EffectInspected(**own, finding=Finding.EXECUTED, result="done"))
    else:
        fences = scene.call(command.call_id).contract.effect is Effect.FENCEABLE
        void = world.told(attempt, Deed.VOID) if fences else world
        absent = events.EffectInspected(**own, finding=Finding.NOT_EXECUTED, conclusive=fences, retry_safe=fences)
        yield from scene.tells(absent, world=void)
    if attempt is None or attempt.deed is Deed.VOID:
        broke = events.EffectInspected(**own, finding=Finding.FAILED, result="broke")
        yield from scene.tells(broke, costs="inquiry")
    if attempt is not None and attempt.may_act(world.now):
        busy = events.EffectInspected(**own, finding=Finding.STILL_RUNNING, result="running")
        yield from scene.tells(busy, costs="inquiry")
    yield from scene.gives_up(command, "inquiry")


def _of_person(scene: Scene, command: InspectEffect) -> Iterator[Move]:
    """A person who was asked says what they hold for true, has to look again, or gives up."""
    own, person = names(command, scene.world.now), Source.PERSON
    for finding in (Finding.EXECUTED, Finding.NOT_EXECUTED):
        found = events.EffectInspected(**own, finding=finding, by="user", conclusive=True, result="seen")
        yield from scene.tells(found, source=person)
    unsure = events.EffectInspected(**own, finding=Finding.UNAVAILABLE, by="user")
    yield from scene.tells(unsure, costs="inquiry", source=person)
    yield from scene.gives_up(command)


def of_checkpoint(scene: Scene, command: PersistCheckpoint) -> Iterator[Move]:
    """The store holds everything up to the event, or cannot."""
    written = events.CheckpointWritten(
        at=scene.world.now, seq=command.seq, epoch=command.epoch, attempt=command.attempt
    )
    yield from scene.tells(written)
    yield from scene.gives_up(command, "checkpoint-failure")


def of_compaction(scene: Scene, command: CompactContext) -> Iterator[Move]:
    """The context is made smaller, or cannot be."""
    smaller = events.ContextCompacted(
        **names(command, scene.world.now),
        purpose=command.purpose,
        covers_to=scene.state.window.start,
        summary="before",
        tokens_before=100,
        tokens_after=10,
        usage=USED,
    )
    yield from scene.tells(smaller)
    yield from scene.tells(evolve(smaller, tokens_after=100), costs="compaction-failure")
    yield from scene.gives_up(command, "compaction-failure")


def of_completion(scene: Scene, command: ReviewCompletion) -> Iterator[Move]:
    """The review lets the turn end, or wants more."""
    own = names(command, scene.world.now)
    yield from scene.tells(events.CompletionAccepted(**own))
    yield from scene.tells(events.CompletionRefused(**own, feedback="tests are missing"), costs="refusal")


def of_timer(scene: Scene, command: StartTimer) -> Iterator[Move]:
    """A due time comes; one without which something would wait for ever comes in any case."""
    kind = command.timer_id.partition("/")[0]
    yield from scene.gives_up(command, "" if kind in PATIENT else "timer")


PATIENT = ("retry", "inquiry", "checkpoint", "grace")
"""Timers by which a wait ends that nothing else may end."""

ANSWERERS: Mapping[type[Command], Callable[[Scene, Any], Iterator[Move]]] = {
    PrepareStep: of_step,
    RequestModel: of_request,
    CancelModel: of_model_cancel,
    EvaluatePolicy: of_policy,
    AskApproval: of_question,
    ExecuteTool: of_execution,
    CancelTool: of_tool_cancel,
    InspectEffect: of_inspection,
    PersistCheckpoint: of_checkpoint,
    CompactContext: of_compaction,
    ReviewCompletion: of_completion,
    StartTimer: of_timer,
}
"""What the world may answer to each command."""


def answers(scene: Scene) -> Iterator[Move]:
    """Yield every answer to what is outstanding."""
    for command in scene.outstanding:
        yield from ANSWERERS[type(command)](scene, command)
