"""A session driven by hand: events in, every passage kept. Answers take their keys from what is outstanding."""

from __future__ import annotations

from typing import Any

import attrs

from agentcore import Config, Limits, Policy, ToolContract, Verdict, outstanding, reduce, start
from agentcore import commands as c
from agentcore import events as e
from agentcore.messages import TextPart, ToolCallPart, digest
from agentcore.policy import Effect
from agentcore.projections import Passage
from agentcore.states import State

TOOLS = (
    ToolContract("look", Effect.PURE),
    ToolContract("pay", Effect.OPAQUE),
    ToolContract("file", Effect.FENCEABLE),
    ToolContract("job", Effect.OPAQUE, detached=True),
    ToolContract("duty", Effect.OPAQUE, detached=True, required=True),
)


def call_part(name: str, arguments: str = "{}", provider_id: str = "") -> ToolCallPart:
    return ToolCallPart(provider_id or f"p-{name}", name, arguments)


class Session:
    """One session; ``feed`` demands that the event is accepted."""

    def __init__(self, *, limits: Limits | None = None, policy: Policy | None = None, **config: Any) -> None:
        made = Config(TOOLS, limits or Limits(), policy or Policy(), "Be brief.", **config)
        self.first: State = start("s", made, 0).state
        self.state = self.first
        self.passages: list[Passage] = []
        self.clock = 0

    def feed(self, *events: e.Event) -> Session:
        for event in events:
            judged = reduce.examine(self.state, event)
            assert judged.verdict is Verdict.ACCEPTED, (event, judged.reason, judged.rejection)
            self.passages.append(Passage(self.state, event, judged.reduction.state))
            self.state = judged.reduction.state
        return self

    def tick(self, at: int | None = None) -> int:
        self.clock = self.clock + 10 if at is None else at
        return self.clock

    def waiting(self, kind: type[Any], what: str = "") -> Any:
        """The outstanding command of a kind, for a call or of a timer where one is named."""
        for command in outstanding(self.state):
            if isinstance(command, kind) and what in ("", c.key_of(command).id):
                return command
        raise AssertionError(f"no {kind.__name__} {what} in {outstanding(self.state)}")

    def prompt(self, text: str = "go", message_id: str = "m1") -> Session:
        return self.feed(e.PromptSubmitted(at=self.tick(), message_id=message_id, parts=(TextPart(text),)))

    def reply(self, *parts: Any, **fields: Any) -> Session:
        asked = self.waiting(c.RequestModel)
        made = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
        key = {"request_id": asked.request_id, "epoch": asked.epoch, "attempt": asked.attempt}
        return self.feed(e.ModelReplied(at=self.tick(), parts=made, **key, **fields))

    def call(self, *names: str) -> Session:
        return self.reply("I will.", *(call_part(name, provider_id=f"p{i}") for i, name in enumerate(names)))

    def answer(self, command: Any, event: type[Any], **fields: Any) -> Session:
        key = {name: getattr(command, name) for name in ("call_id", "request_id", "seq") if hasattr(command, name)}
        return self.feed(event(at=self.tick(), epoch=command.epoch, attempt=command.attempt, **key, **fields))

    def allow(self, *call_ids: str, arguments: str = "{}", rule: str = "r1") -> Session:
        for call_id in call_ids:
            sealed = {"arguments": arguments, "digest": digest(arguments), "rule": rule}
            self.answer(self.waiting(c.EvaluatePolicy, call_id), e.PolicyAllowed, **sealed)
        return self

    def ask(self, call_id: str, arguments: str = "{}") -> Session:
        sealed = {"arguments": arguments, "digest": digest(arguments), "rule": "r2", "reason": "it costs"}
        return self.answer(self.waiting(c.EvaluatePolicy, call_id), e.PolicyAsked, **sealed)

    def grant(self, call_id: str, by: str = "ann") -> Session:
        asked = self.waiting(c.AskApproval, call_id)
        sealed = {"arguments": "{}", "digest": asked.digest, "by": by}
        return self.answer(asked, e.ApprovalGranted, **sealed)

    def saved(self) -> Session:
        return self.answer(self.waiting(c.PersistCheckpoint), e.CheckpointWritten)

    def all_saved(self) -> Session:
        """Answer checkpoints until none is wanted: one that was under way may not cover the newest event."""
        while any(isinstance(command, c.PersistCheckpoint) for command in outstanding(self.state)):
            self.saved()
        return self

    def unsaved(self) -> Session:
        return self.answer(self.waiting(c.PersistCheckpoint), e.CheckpointFailed, reason="disk full")

    def run(self, name: str, call_id: str = "1.1.0") -> Session:
        """Prompt, one call, allowed and started."""
        self.prompt().call(name).allow(call_id)
        return self.all_saved()

    def succeed(self, call_id: str, result: str = "ok", **fields: Any) -> Session:
        return self.answer(self.waiting(c.ExecuteTool, call_id), e.ToolSucceeded, result=result, **fields)

    def lose(self, call_id: str = "1.1.0") -> Session:
        return self.answer(self.waiting(c.ExecuteTool, call_id), e.ToolLost, cause="timeout")

    def abort(self, act_id: str = "a1", scope: e.AbortScope = e.AbortScope.TURN, **fields: Any) -> Session:
        turn = 0 if "call_id" in fields else self.state.turn.number
        return self.feed(e.AbortRequested(at=self.tick(), act_id=act_id, scope=scope, turn=turn, **fields))

    def fire(self, timer_id: str) -> Session:
        timer = self.waiting(c.StartTimer, timer_id)
        self.tick(max(self.clock, timer.due_at))
        return self.feed(e.TimerFired(at=self.clock, timer_id=timer_id, epoch=timer.epoch, attempt=timer.attempt))

    def resume(self) -> Session:
        return self.feed(e.SessionResumed(at=self.tick(), config=self.state.config))


def changed(state: State, **fields: Any) -> State:
    return attrs.evolve(state, **fields)
