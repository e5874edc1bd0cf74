"""Tiny interpreters from a script, and an engine around them: what the tests of the engine share.

Everything is decided by the test: replies come from a list, tools are functions or wait for a gate, time stands still
unless it is moved.
"""

from __future__ import annotations

import json
from collections import deque
from contextlib import asynccontextmanager

import anyio
import attrs
from structlog.testing import CapturingLogger

from agentcore import Config, Effect, Limits, Policy, ToolContract
from agentcore.codec import decode_event
from agentcore.events import (
    ApprovalGranted,
    EffectInspected,
    Finding,
    PolicyAllowed,
    PolicyAsked,
    ToolCancelled,
    ToolFailed,
    ToolSucceeded,
)
from agentcore.messages import EffectSeen, FinishReason, TextPart, ToolCallPart, Usage, digest
from interpreters.engine.clock import ManualClock
from interpreters.engine.engine import Engine
from interpreters.engine.perform import Interpreters
from interpreters.engine.resume import begin, take_up
from interpreters.engine.session import Session
from interpreters.stores.memory import MemoryStore
from interpreters.support.ports_model import TextDelta


def text(words: str):
    return (TextPart(words),)


def calls(*asked: tuple[str, dict]):
    return tuple(ToolCallPart(f"p{index}", name, json.dumps(args)) for index, (name, args) in enumerate(asked))


class ScriptedModel:
    """Gives the next reply of its script; one that is a function is called with the run."""

    def __init__(self, *script) -> None:
        self.script = deque(script)
        self.seen = []

    async def answer(self, run):
        self.seen.append(run.view)
        await anyio.lowlevel.checkpoint()
        reply = self.script.popleft()
        if callable(reply):
            return await reply(run)
        run.opened()
        for part in reply:
            if isinstance(part, TextPart):
                run.show(TextDelta(part.text))
        asks = any(isinstance(part, ToolCallPart) for part in reply)
        finish = FinishReason.TOOL_CALLS if asks else FinishReason.STOP
        return run.replied(reply, finish=finish, usage=Usage(input_tokens=10, output_tokens=5))


class ScriptedTools:
    """Tools as functions of (call, arguments); counts deeds; tells attempts to stop by an event."""

    def __init__(self, **functions) -> None:
        self.functions = functions
        self.deeds = []
        self.stops: dict[tuple, anyio.Event] = {}
        self.findings = deque()
        self.contracts = ()

    async def execute(self, session_id, order, call, *, emit, show):
        key = (order.call_id, order.epoch, order.attempt)
        self.stops.setdefault(key, anyio.Event())
        named = {"call_id": order.call_id, "epoch": order.epoch, "attempt": order.attempt}
        run = Running(call, json.loads(call.arguments), named, emit, show, self.stops[key])
        answer = await self.functions[call.name](run)
        if isinstance(answer, str):
            self.deeds.append(order.call_id)
            return ToolSucceeded(at=0, **named, result=answer)
        return answer

    def cancel(self, session_id, order):
        self.stops.setdefault((order.call_id, *order.execution), anyio.Event()).set()

    async def inspect(self, session_id, order, call):
        found = self.findings.popleft()
        if callable(found):
            return await found(order)
        return EffectInspected(
            at=0, call_id=order.call_id, epoch=order.epoch, attempt=order.attempt, finding=found, conclusive=True
        )


@attrs.frozen
class Running:
    """One attempt, as a scripted tool sees it."""

    call: object
    arguments: dict
    named: dict
    emit: object
    show: object
    stop: anyio.Event

    def cancelled(self, effect=EffectSeen.NONE):
        return ToolCancelled(at=0, **self.named, effect=effect)

    def failed(self, error, **more):
        return ToolFailed(at=0, **self.named, error=error, **more)


class Allow:
    """A gate that lets everything run, or asks about the tools it was given."""

    def __init__(self, *ask: str) -> None:
        self.ask = ask

    async def evaluate(self, session_id, order, call):
        kind = PolicyAsked if call.name in self.ask else PolicyAllowed
        return kind(
            at=0,
            call_id=order.call_id,
            epoch=order.epoch,
            attempt=order.attempt,
            arguments=call.arguments,
            digest=digest(call.arguments),
            rule="test",
        )


class Yes:
    """Somebody who grants everything."""

    async def ask(self, session_id, order, call):
        return ApprovalGranted(
            at=0,
            call_id=order.call_id,
            epoch=order.epoch,
            attempt=order.attempt,
            arguments=call.arguments,
            digest=order.digest,
        )

    async def ask_effect(self, session_id, order, call):
        return EffectInspected(
            at=0,
            call_id=order.call_id,
            epoch=order.epoch,
            attempt=order.attempt,
            finding=Finding.UNAVAILABLE,
            by="user",
        )


def contract(name: str, effect: str = "opaque", **more) -> ToolContract:
    return ToolContract(name, Effect(effect), **more)


def config(*contracts: ToolContract, limits: Limits | None = None, policy: Policy | None = None, **more) -> Config:
    return Config(tools=contracts, limits=limits or Limits(), policy=policy or Policy(), **more)


@attrs.define
class Rig:
    """A store, a clock and a log that outlive the engines opened on them."""

    config: Config
    store: object = attrs.field(factory=MemoryStore)
    clock: ManualClock = attrs.field(factory=ManualClock)
    log: CapturingLogger = attrs.field(factory=CapturingLogger)
    ring: int = 4096

    @property
    def lines(self) -> list[dict]:
        return [{"event": call.args[0], **call.kwargs} for call in self.log.calls]

    def reductions(self, verdict: str = "accepted") -> list[str]:
        return [line["event"] for line in self.lines if line.get("verdict") == verdict]

    @asynccontextmanager
    async def open(self, model=None, tools=None, *, resume=False, attended=True, gate=None, **more):
        if resume:
            opened = await take_up(self.store, "s")
        else:
            opened = await begin(self.store, "s", self.config, self.clock.now())
        cast = Interpreters(
            model=model or ScriptedModel(),
            tools=tools or ScriptedTools(),
            gate=gate or Allow(),
            attended=attended,
            **more,
        )
        engine = Engine(opened, self.config, cast, clock=self.clock, log=self.log, ring=self.ring)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run)
            session = Session(engine, opened.recovery)
            session.engine = engine
            yield session
            engine.close()

    async def journal(self, session_id: str = "s"):
        loaded = await self.store.read(session_id, from_start=True)
        return [decode_event(payload) for _, payload in loaded.events]


async def collect(session, after=0):
    """Read every view there is so far."""
    seen = []
    subscription = session.views(after)
    while subscription.after < session.engine._desk.broadcast.last:
        seen.append(await anext(subscription))
    return seen


def names(shown) -> list[str]:
    return [each.name for each in shown]


async def settle():
    """Let everybody run until nobody can go on without something from outside."""
    await anyio.wait_all_tasks_blocked()
