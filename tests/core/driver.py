"""A session under test: each verb builds the event that answers what is outstanding, and hands it to ``reduce``.

1. Ids, epochs and attempts are read from the outstanding commands, so a test says only what happens:
   ``session.prompt(); session.reply(call("write")); session.allow(); session.saved(); session.succeed()``.
2. A verb expects its event to be accepted and fails with the rejection's own words if it is not. ``tried`` hands over
   any event and returns the judgement, whatever it is.
3. Every event is checked for what must hold always: a refused or ignored event returns the same state object, no step
   breaks its promise, a command's key that left ``outstanding`` never comes back, and the numbers in keys only grow.
"""

from __future__ import annotations

from typing import Any

import attrs
from attrs import evolve

from agentcore import Config, Effect, Judgement, Limits, Policy, ToolContract, Verdict, outstanding, start
from agentcore import reduce as reducer
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
    key_of,
)
from agentcore.events import (
    AbortRequested,
    AbortScope,
    ApprovalDenied,
    ApprovalGranted,
    ArgumentsRefused,
    CheckpointFailed,
    CheckpointWritten,
    CompactionFailed,
    CompletionAccepted,
    CompletionRefused,
    ConfigChanged,
    ContextCompacted,
    EffectInspected,
    EffectResolved,
    Finding,
    FollowUpQueued,
    HistoryCleared,
    HistoryImported,
    InspectionRequested,
    Inspector,
    MessageWithdrawn,
    ModelFailed,
    ModelFailure,
    ModelReplied,
    ModelStopped,
    ModelStreamOpened,
    PolicyAllowed,
    PolicyAsked,
    PolicyBlocked,
    PreparationFailed,
    PromptSubmitted,
    Recovery,
    Resolution,
    RetryRequested,
    SessionReopened,
    SessionResumed,
    SteeringQueued,
    StepPrepared,
    TaskSettled,
    TaskStarted,
    TimerFired,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.messages import (
    AssistantMessage,
    EffectSeen,
    FinishReason,
    Message,
    Outcome,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
    UserMessage,
    canonical_json,
    digest,
)
from agentcore.states import Because, Call, Ending, Settled, State, StopReason


def tool(name: str = "write", effect: Effect = Effect.FENCEABLE, **fields: Any) -> ToolContract:
    """A tool; an inspectable one can act for a second unless told otherwise."""
    if effect is Effect.INSPECTABLE:
        fields.setdefault("acts_within_ms", 1_000)
    return ToolContract(name, effect=effect, **fields)


def call(name: str = "write", provider_id: str = "", *, raw: str | None = None, **arguments: Any) -> ToolCallPart:
    """A call as the model writes it."""
    return ToolCallPart(provider_id, name, canonical_json(arguments) if raw is None else raw)


@attrs.frozen
class Line:
    """One event of the trace, how it was judged, and the state after it."""

    event: Any
    judged: Judgement
    state: State
    commands: tuple[str, ...]

    @property
    def phase(self) -> str:
        return type(self.state.phase).__name__


class Session:
    """A session, its time, and what happened in it."""

    def __init__(
        self,
        *tools: ToolContract,
        limits: Limits | None = None,
        policy: Policy | None = None,
        reduce: Any = reducer,
        **config: Any,
    ) -> None:
        self.reduce = reduce
        config = {"limits": limits or Limits(), "policy": policy or Policy(), **config}
        self.state: State = start("s", Config(tools=tools, **config), 0).state
        self.now = 0
        self.trace: list[Line] = []
        self.ordered: tuple[Command, ...] = ()
        self.newest: dict[tuple[str, str], tuple[int, int]] = {}
        self.minted = 0

    # ---- what is the case

    @property
    def phase(self) -> type[Any]:
        return type(self.state.phase)

    @property
    def because(self) -> Because:
        """Why the present phase was entered."""
        return self.state.phase.transition.because

    @property
    def hops(self) -> tuple[Because, ...]:
        """What ``advance`` did after the last event."""
        return self.trace[-1].judged.hops

    @property
    def ending(self) -> Ending:
        return self.state.phase.ending

    @property
    def stop(self) -> StopReason:
        return self.ending.reason

    @property
    def calls(self) -> dict[str, str]:
        """State of each call of the batch, by id."""
        return {
            each.call_id: type(each.state).__name__ for each in (self.state.batch.calls if self.state.batch else ())
        }

    @property
    def register(self) -> dict[str, str]:
        """State of each entry of the register, by id."""
        return {each.call_id: type(each.state).__name__ for each in self.state.register}

    @property
    def phases(self) -> tuple[str, ...]:
        """The phase after each event, repetitions left out."""
        names = [line.phase for line in self.trace]
        return tuple(name for name, before in zip(names, ["", *names], strict=False) if name != before)

    def call(self, call_id: str = "1.1.0") -> Call:
        """The call as later evidence speaks to it: the register's, else the batch's."""
        calls = (*self.state.register, *(self.state.batch.calls if self.state.batch else ()))
        return next(each for each in calls if each.call_id == call_id)

    def outcome(self, call_id: str = "1.1.0") -> Outcome:
        """What became of a call: of the register's entry, of the batch's, or as it was written."""
        calls = (*self.state.register, *(self.state.batch.calls if self.state.batch else ()))
        for each in calls:
            if each.call_id == call_id and isinstance(each.state, Settled):
                return each.state.outcome
        return self.result(call_id).outcome

    def result(self, call_id: str = "1.1.0") -> ToolResult:
        """The written result of a call."""
        return next(each for each in self.results if each.call_id == call_id)

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """All written results, in the order of history."""
        tools = (message for message in self.state.history if isinstance(message, ToolMessage))
        return tuple(result for message in tools for result in message.results)

    @property
    def history(self) -> tuple[Message, ...]:
        return tuple(self.state.history)

    @property
    def said(self) -> tuple[str, ...]:
        """History in short: each user's text, the model's text or calls, the results' contents."""
        return tuple(_in_short(message) for message in self.state.history)

    @property
    def work(self) -> tuple[Command, ...]:
        return outstanding(self.state)

    @property
    def waits(self) -> tuple[str, ...]:
        """What is outstanding, as ``execute-tool 1.1.0``."""
        return tuple(_named(command) for command in self.work)

    @property
    def commands(self) -> tuple[str, ...]:
        """What the last event newly ordered."""
        return tuple(_named(command) for command in self.ordered)

    def the(self, kind: type[Any], about: str = "") -> Any:
        """The one outstanding command of a class, about an id if one is given."""
        found = [each for each in self.work if isinstance(each, kind) and (not about or key_of(each).id == about)]
        assert len(found) == 1, f"expected one {kind.__name__} {about}, found {found} in {self.waits}"
        return found[0]

    # ---- handing over events

    def tried(self, kind: type[Any], /, **fields: Any) -> Judgement:
        """Hand over an event and return what was judged."""
        self.now += 1
        return self.given(kind(at=self.now, **fields))

    def given(self, event: Any) -> Judgement:
        """Hand over a finished event."""
        before = self.state
        keys = {key_of(each) for each in self.work}
        judged = self.reduce.examine(before, event)
        self.state, self.ordered = judged.reduction
        if judged.verdict is not Verdict.ACCEPTED:
            assert self.state is before
        assert judged.reason != "core-defect", str(judged.rejection)
        left = {key_of(each) for each in self.work}
        for key in left - keys:
            newest = self.newest.get((key.name, key.id), (0, -1))
            assert (key.epoch, key.attempt) > newest, f"{key} was ordered after {newest}"
            self.newest[key.name, key.id] = key.epoch, key.attempt
        self.trace.append(Line(event, judged, self.state, self.commands))
        return judged

    def give(self, kind: type[Any], /, **fields: Any) -> Judgement:
        """Hand over an event that has to be accepted."""
        judged = self.tried(kind, **fields)
        assert judged.verdict is Verdict.ACCEPTED, str(judged.rejection or f"ignored: {judged.reason}")
        return judged

    def wait(self, time_ms: int) -> None:
        """Let time pass."""
        self.now += time_ms

    def mint(self, name: str) -> str:
        self.minted += 1
        return f"{name}-{self.minted}"

    # ---- the host

    def prompt(self, text: str = "Do it.", *, message_id: str = "", queued: tuple[str, ...] = ()) -> Judgement:
        parts = (TextPart(text),) if text else ()
        return self.give(PromptSubmitted, message_id=message_id or self.mint("prompt"), parts=parts, queued=queued)

    def steer(self, text: str = "Rather so.", message_id: str = "") -> str:
        message_id = message_id or self.mint("steer")
        self.give(SteeringQueued, message_id=message_id, parts=(TextPart(text),))
        return message_id

    def follow_up(self, text: str = "And then?", message_id: str = "") -> str:
        message_id = message_id or self.mint("follow")
        self.give(FollowUpQueued, message_id=message_id, parts=(TextPart(text),))
        return message_id

    def withdraw(self, message_id: str) -> Judgement:
        return self.give(MessageWithdrawn, message_id=message_id)

    def abort(self, scope: AbortScope = AbortScope.TURN, call_id: str = "", **fields: Any) -> Judgement:
        fields.setdefault("act_id", self.mint("act"))
        fields.setdefault("turn", self.state.turn.number)
        return self.give(AbortRequested, scope=scope, call_id=call_id, **fields)

    def inspect(self, call_id: str = "1.1.0") -> Judgement:
        return self.give(InspectionRequested, call_id=call_id)

    def retry(self, call_id: str = "1.1.0") -> Judgement:
        return self.give(RetryRequested, call_id=call_id)

    def resolve(self, resolution: Resolution, call_id: str = "1.1.0", **fields: Any) -> Judgement:
        return self.give(EffectResolved, call_id=call_id, resolution=resolution, **fields)

    def reopen(self) -> Judgement:
        return self.give(SessionReopened)

    def clear(self) -> Judgement:
        return self.give(HistoryCleared)

    def bring(self, *messages: Message) -> Judgement:
        return self.give(HistoryImported, messages=messages)

    def configure(self, **changes: Any) -> Judgement:
        return self.give(ConfigChanged, config=evolve(self.state.config, **changes))

    def resume(self, dead_ms: int = 0, *, recovery: Recovery | None = None, **changes: Any) -> Judgement:
        """Another process takes the session up; ``dead_ms`` passed in which nobody was alive."""
        self.now += dead_ms
        config = evolve(self.state.config, **changes)
        return self.give(SessionResumed, config=config, recovery=recovery or Recovery())

    # ---- preparation and model

    def prepared(self, **fields: Any) -> Judgement:
        return self.give(StepPrepared, **_request_key(self.the(PrepareStep)), **fields)

    def preparation_fails(self, reason: str = "no file") -> Judgement:
        return self.give(PreparationFailed, **_request_key(self.the(PrepareStep)), reason=reason)

    def opened(self) -> Judgement:
        return self.give(ModelStreamOpened, **_request_key(self.the(RequestModel)))

    def reply(self, *parts: Any, finish: FinishReason = FinishReason.STOP, **fields: Any) -> Judgement:
        """The model answers; words stand for a text part."""
        return self.give(
            ModelReplied, **_request_key(self.the(RequestModel)), **reply_fields(*parts, finish=finish, **fields)
        )

    def model_fails(
        self, kind: ModelFailure = ModelFailure.RETRYABLE, message: str = "busy", **fields: Any
    ) -> Judgement:
        return self.give(ModelFailed, **_request_key(self.the(RequestModel)), kind=kind, message=message, **fields)

    def model_stops(self, *texts: str, **fields: Any) -> Judgement:
        parts = tuple(TextPart(text) for text in texts)
        return self.give(ModelStopped, **_request_key(self.the(CancelModel)), parts=parts, **fields)

    def compacted(self, covers_to: int | None = None, **fields: Any) -> Judgement:
        order = self.the(CompactContext)
        fields = {"purpose": order.purpose, "summary": "In short.", "tokens_before": 100, "tokens_after": 10, **fields}
        covers_to = len(self.state.history) - 1 if covers_to is None else covers_to
        return self.give(ContextCompacted, **_request_key(order), covers_to=covers_to, **fields)

    def compaction_fails(self, reason: str = "no room", **fields: Any) -> Judgement:
        return self.give(CompactionFailed, **_request_key(self.the(CompactContext)), reason=reason, **fields)

    def accept(self, warning: str = "") -> Judgement:
        return self.give(CompletionAccepted, **_request_key(self.the(ReviewCompletion)), warning=warning)

    def refuse(self, feedback: str = "Not yet.") -> Judgement:
        return self.give(CompletionRefused, **_request_key(self.the(ReviewCompletion)), feedback=feedback)

    # ---- review of calls

    def allow(self, call_id: str = "", arguments: str | None = None, **fields: Any) -> Judgement:
        order = self.the(EvaluatePolicy, call_id)
        return self.give(PolicyAllowed, **_call_key(order), **self._sealed(order.call_id, arguments), **fields)

    def ask(self, call_id: str = "", arguments: str | None = None, **fields: Any) -> Judgement:
        order = self.the(EvaluatePolicy, call_id)
        return self.give(PolicyAsked, **_call_key(order), **self._sealed(order.call_id, arguments), **fields)

    def block(self, call_id: str = "", rule: str = "no-writes", reason: str = "forbidden", **fields: Any) -> Judgement:
        order = self.the(EvaluatePolicy, call_id)
        return self.give(PolicyBlocked, **_call_key(order), rule=rule, reason=reason, **fields)

    def refuse_arguments(self, problem: str = "x: expected a number, found a string", call_id: str = "") -> Judgement:
        return self.give(ArgumentsRefused, **_call_key(self.the(EvaluatePolicy, call_id)), problem=problem)

    def grant(self, call_id: str = "", arguments: str | None = None, **fields: Any) -> Judgement:
        order = self.the(AskApproval, call_id)
        return self.give(ApprovalGranted, **_call_key(order), **self._sealed(order.call_id, arguments), **fields)

    def deny(self, call_id: str = "", **fields: Any) -> Judgement:
        return self.give(ApprovalDenied, **_call_key(self.the(AskApproval, call_id)), **fields)

    def _sealed(self, call_id: str, arguments: str | None) -> dict[str, str]:
        text = self.call(call_id).arguments if arguments is None else arguments
        return {"arguments": text, "digest": digest(text)}

    # ---- execution

    def execution(self, call_id: str = "") -> dict[str, Any]:
        """Key of the outstanding execution of a call; of the only one, if no id is given."""
        return _call_key(self.the(ExecuteTool, call_id))

    def started(self, call_id: str = "", handle: str = "pid 7") -> Judgement:
        return self.give(ToolStarted, **self.execution(call_id), handle=handle)

    def progressed(self, observation: str, call_id: str = "") -> Judgement:
        return self.give(ToolProgressed, **self.execution(call_id), observation=observation)

    def succeed(self, call_id: str = "", result: str = "ok", **fields: Any) -> Judgement:
        return self.give(ToolSucceeded, **self.execution(call_id), result=result, **fields)

    def fail(self, call_id: str = "", error: str = "ValueError: no", **fields: Any) -> Judgement:
        return self.give(ToolFailed, **self.execution(call_id), error=error, **fields)

    def lose(self, call_id: str = "", cause: str = "TimeoutError", **fields: Any) -> Judgement:
        return self.give(ToolLost, **self.execution(call_id), cause=cause, **fields)

    def stopped(self, effect: EffectSeen = EffectSeen.NONE, call_id: str = "", **fields: Any) -> Judgement:
        """The attempt confirms the order to stop."""
        order = self.the(CancelTool, call_id)
        epoch, attempt = order.execution
        return self.give(ToolCancelled, call_id=order.call_id, epoch=epoch, attempt=attempt, effect=effect, **fields)

    def detach(self, call_id: str = "", handle: str = "job 9", **fields: Any) -> Judgement:
        return self.give(TaskStarted, **self.execution(call_id), handle=handle, **fields)

    def task_ends(self, call_id: str = "", *, succeeded: bool = True, result: str = "done", **fields: Any) -> Judgement:
        return self.give(TaskSettled, **self.execution(call_id), succeeded=succeeded, result=result, **fields)

    def inspected(self, finding: Finding, call_id: str = "", **fields: Any) -> Judgement:
        return self.give(EffectInspected, **_call_key(self.the(InspectEffect, call_id)), finding=finding, **fields)

    # ---- storage and time

    def saved(self) -> Judgement:
        """The outstanding checkpoint is written."""
        order = self.the(PersistCheckpoint)
        return self.give(CheckpointWritten, seq=order.seq, epoch=order.epoch, attempt=order.attempt)

    def all_saved(self) -> None:
        """Checkpoints are written until none is outstanding."""
        while any(isinstance(each, PersistCheckpoint) for each in self.work):
            self.saved()

    def save_fails(self, reason: str = "disk full") -> Judgement:
        order = self.the(PersistCheckpoint)
        return self.give(CheckpointFailed, seq=order.seq, epoch=order.epoch, attempt=order.attempt, reason=reason)

    def storage_breaks(self) -> None:
        """The outstanding checkpoint fails until its retries are used up."""
        for _ in range(self.state.config.limits.checkpoint_retries):
            self.save_fails()
            self.fire("checkpoint")
        self.save_fails()

    def fire(self, timer_id: str) -> Judgement:
        """An outstanding timer comes due; time moves on to it."""
        timer = self.the(StartTimer, timer_id)
        self.now = max(self.now, timer.due_at) - 1
        return self.give(TimerFired, timer_id=timer_id, epoch=timer.epoch, attempt=timer.attempt)

    # ---- the way to where a test begins

    def propose(self, *parts: Any) -> None:
        """A prompt, and a reply with calls; a name stands for a call of that tool."""
        if self.state.open is False:
            self.prompt()
        self.reply(*(call(part, x=index) if isinstance(part, str) else part for index, part in enumerate(parts)))

    def execute(self, *parts: Any) -> None:
        """Calls are proposed, allowed, saved: all that fit are executing."""
        self.propose(*parts)
        while any(isinstance(each, EvaluatePolicy) for each in self.work):
            self.allow()
        self.all_saved()

    def answer(self, text: str = "Done.") -> None:
        """The model answers in words and the end is saved."""
        self.reply(text)
        self.all_saved()


def executing(
    effect: Effect = Effect.FENCEABLE, *, calls: int = 1, limits: Limits | None = None, **fields: Any
) -> Session:
    """A session in which calls of one tool, ``write``, are executing."""
    session = Session(tool("write", effect, **fields), limits=limits)
    session.execute(*["write"] * calls)
    return session


def unknown(effect: Effect = Effect.FENCEABLE, *, calls: int = 1, **fields: Any) -> Session:
    """A session whose first call is unknown by a loss."""
    session = executing(effect, calls=calls, **fields)
    session.lose("1.1.0")
    return session


def asked(session: Session, call_id: str = "1.1.0") -> Inspector:
    """Who is to look at a call."""
    return session.the(InspectEffect, call_id).by


def reply_fields(*parts: Any, finish: FinishReason = FinishReason.STOP, **fields: Any) -> dict[str, Any]:
    """Fields of a ``ModelReplied`` beside its key."""
    return {
        "parts": tuple(TextPart(part) if isinstance(part, str) else part for part in parts),
        "finish": finish,
        **fields,
    }


def _request_key(order: Any) -> dict[str, Any]:
    return {"request_id": order.request_id, "epoch": order.epoch, "attempt": order.attempt}


def _call_key(order: Any) -> dict[str, Any]:
    return {"call_id": order.call_id, "epoch": order.epoch, "attempt": order.attempt}


def _named(command: Command) -> str:
    key = key_of(command)
    return f"{key.name} {key.id}"


def _in_short(message: Message) -> str:
    if isinstance(message, UserMessage):
        return f"{message.source.value}: {' '.join(part.text for part in message.parts if isinstance(part, TextPart))}"
    if isinstance(message, AssistantMessage):
        return f"model: {message.text or ', '.join(part.name for part in message.calls)}"
    return f"results: {', '.join(result.content for result in message.results)}"
