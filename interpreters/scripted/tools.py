"""Tools that act by a script, in a world that knows what was really done.

The box remembers every deed and which attempts were voided, so an inspection can tell the truth, and a test can count.
What a tool *says* is the script's; what *happened* is in ``deeds``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import anyio
import attrs

from agentcore.commands import CancelTool, ExecuteTool, InspectEffect
from agentcore.events import (
    EffectInspected,
    Event,
    Finding,
    TaskSettled,
    TaskStarted,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.messages import EffectSeen, Usage
from agentcore.policy import Effect, ToolContract
from agentcore.states import Call
from interpreters.scripted.script import Act, Detach, Fail, Hang, Lose, Succeed, Task
from interpreters.support.ports import STAMPED, Emit, Show
from interpreters.support.stopping import until_stopped

ActFor = Callable[[Mapping[str, Any]], Act]
"""A script as a function of a call's arguments."""


@attrs.frozen
class Deed:
    """Something a tool did to the world."""

    tool: str
    """Which one."""
    effect_key: str
    """Session and call."""
    execution: tuple[int, int]
    """Epoch and number of the attempt that did it."""
    arguments: str
    """With which arguments, canonical JSON."""
    result: str
    """What came of it: what an inspection finds."""


@attrs.frozen
class Look:
    """What an inspection finds, where it is not to be the truth."""

    finding: Finding
    """What is found."""
    conclusive: bool = False
    """With ``NOT_EXECUTED``: whether the tool says that nothing can act any more."""
    result: str = ""
    """Result or error that is found."""
    evidence: str = "the script says so"
    """The answer in the other side's words."""
    retry_safe: bool = False
    """Whether the tool holds a retry for safe."""


@attrs.frozen
class ScriptedTool:
    """A tool, what it does at each execution, and what its inspections find."""

    contract: ToolContract
    """All the core knows of it."""
    acts: tuple[Act, ...] | ActFor = (Succeed(),)
    """One for each execution, the last one for all that follow; or a function of the arguments."""
    looks: tuple[Look, ...] = ()
    """One for each inspection; the truth once they are used up."""

    def act(self, count: int, arguments: str) -> Act:
        """Return what execution number ``count``, from 0, does."""
        if callable(self.acts):
            return self.acts(json.loads(arguments))
        return self.acts[min(count, len(self.acts) - 1)]


def scripted_tool(
    name: str, *acts: Act, effect: Effect = Effect.PURE, looks: Sequence[Look] = (), **contract: Any
) -> ScriptedTool:
    """Make a tool in one line; further keywords are fields of its ``ToolContract``."""
    return ScriptedTool(ToolContract(name, effect, **contract), acts or (Succeed(),), tuple(looks))


def sub_agent(name: str, answer: str, *, usage: Usage | None = None, **contract: Any) -> ScriptedTool:
    """Stand in for a sub-agent: a call whose effect is another session, named by its handle, with usage of its own."""
    act = Succeed(result=answer, handle=f"session {name}", usage=usage or Usage())
    return scripted_tool(name, act, effect=Effect.FENCEABLE, **contract)


@attrs.define
class _Attempt:
    """A running execution."""

    stop: anyio.Event = attrs.field(factory=anyio.Event)
    running: bool = True


class ScriptedToolBox:
    """Runs scripted tools; implements ``ToolBox``."""

    def __init__(self, tools: Iterable[ScriptedTool]) -> None:
        self.deeds: list[Deed] = []
        """What was done to the world, in order."""
        self.voided: set[tuple[str, tuple[int, int]]] = set()
        """Attempts, by effect key and execution, that an inspection has made unable to act."""
        self._tools = {tool.contract.name: tool for tool in tools}
        self._counts: dict[str, int] = {}
        self._looks: dict[str, int] = {}
        self._ended: dict[str, anyio.Event] = {}
        self._attempts: dict[tuple[str, tuple[int, int]], _Attempt] = {}

    @property
    def contracts(self) -> tuple[ToolContract, ...]:
        """The tools there are."""
        return tuple(tool.contract for tool in self._tools.values())

    def count(self, tool: str) -> int:
        """Return how many deeds a tool has done."""
        return sum(deed.tool == tool for deed in self.deeds)

    async def execute(self, session_id: str, order: ExecuteTool, call: Call, *, emit: Emit, show: Show) -> Event:
        """Run one attempt by the script."""
        run = _Run(self, session_id, order, call, emit, show)
        tool = self._tools.get(call.name)
        if tool is None:
            return run.failed(Fail(error=f"there is no tool {call.name!r}", kind="tool-not-found"))
        count = self._counts.get(call.name, 0)
        self._counts[call.name] = count + 1
        attempt = self._attempts[run.key] = _Attempt()
        try:
            if run.key in self.voided:
                return run.failed(Fail(error="an inspection has voided this attempt", kind="voided"))
            return await run.perform(tool.act(count, call.arguments), attempt.stop)
        finally:
            attempt.running = False
            self.ended(call.name).set()

    def cancel(self, session_id: str, order: CancelTool) -> None:
        """Tell an attempt to stop; one that does not run here hears nothing."""
        attempt = self._attempts.get((f"{session_id}/{order.call_id}", order.execution))
        if attempt is not None:
            attempt.stop.set()

    async def inspect(self, session_id: str, order: InspectEffect, call: Call) -> EffectInspected:
        """Find what the script says, or the truth; an attempt that is found not to have acted is voided."""
        used = self._looks.get(call.name, 0)
        self._looks[call.name] = used + 1
        tool = self._tools.get(call.name)
        looks = tool.looks if tool else ()
        look = looks[used] if used < len(looks) else self._truth(session_id, order)
        return EffectInspected(
            at=STAMPED,
            call_id=order.call_id,
            epoch=order.epoch,
            attempt=order.attempt,
            finding=look.finding,
            by="tool",
            conclusive=look.conclusive,
            result=look.result,
            question=f"was {session_id}/{order.call_id} done?",
            evidence=look.evidence,
            retry_safe=look.retry_safe,
        )

    def ended(self, tool: str) -> anyio.Event:
        """Return the event that is set when an execution of the tool has ended."""
        return self._ended.setdefault(tool, anyio.Event())

    def _truth(self, session_id: str, order: InspectEffect) -> Look:
        effect_key = f"{session_id}/{order.call_id}"
        done = [deed for deed in self.deeds if deed.effect_key == effect_key]
        if done:
            return Look(Finding.EXECUTED, result=done[0].result, evidence=f"done by attempt {done[0].execution}")
        attempt = self._attempts.get((effect_key, order.execution))
        if attempt is not None and attempt.running:
            return Look(Finding.STILL_RUNNING, evidence="it has not ended")
        self.voided.add((effect_key, order.execution))
        return Look(
            Finding.NOT_EXECUTED, conclusive=True, evidence="no deed, and the attempt is voided", retry_safe=True
        )


@attrs.frozen(eq=False)
class _Run:
    """One execution, with everything it needs to say something."""

    box: ScriptedToolBox
    session_id: str
    order: ExecuteTool
    call: Call
    emit: Emit
    show: Show

    @property
    def key(self) -> tuple[str, tuple[int, int]]:
        """Effect key and execution."""
        return f"{self.session_id}/{self.order.call_id}", (self.order.epoch, self.order.attempt)

    async def perform(self, act: Act, stop: anyio.Event) -> Event:
        """Play the act; once told to stop, say how it stopped."""
        handle = getattr(act, "handle", "")
        self.emit(ToolStarted(**self._named, handle=handle))
        if isinstance(act, Detach):
            self.emit(TaskStarted(**self._named, handle=handle, result=act.result))
            return await self._play(act.then, stop, detached=True)
        return await self._play(act, stop, detached=False)

    async def _play(self, act: Task, stop: anyio.Event, *, detached: bool) -> Event:
        ended = False

        async def work() -> None:
            nonlocal ended
            await self._before_end(act)
            ended = True

        if isinstance(act, Hang) and act.did:
            self._do()
        hears = not isinstance(act, Hang) or act.confirms
        if not await until_stopped(stop if hears else anyio.Event(), work) and not ended:
            effect = act.effect if isinstance(act, Hang) else EffectSeen.NONE
            return ToolCancelled(**self._named, effect=effect)
        return self._end(act, detached=detached)

    async def _before_end(self, act: Task) -> None:
        await anyio.sleep(act.delay_s if isinstance(act, Succeed) else 0)
        if isinstance(act, Hang):
            await anyio.sleep_forever()
        if isinstance(act, Succeed):
            for words in act.progress:
                self.show(words)
            for seen in act.observations:
                self.emit(ToolProgressed(**self._named, observation=seen))
        for other in act.after if isinstance(act, Succeed | Fail) else ():
            await self.box.ended(other).wait()

    def _end(self, act: Task, *, detached: bool) -> Event:
        if isinstance(act, Lose) and act.did:
            self._do()
        match act:
            case Succeed():
                self._do(act.result)
                return self._settled(act, act.result, succeeded=True) if detached else self._succeeded(act)
            case Fail():
                return self._settled(act, act.error, succeeded=False) if detached else self.failed(act)
            case Lose():
                return ToolLost(**self._named, cause=act.cause, target=act.target, observation=act.observation)
            case Hang():
                raise AssertionError("what hangs has no end of its own")

    def failed(self, act: Fail) -> ToolFailed:
        """Say that the attempt ended in an error."""
        return ToolFailed(**self._named, error=act.error, kind=act.kind, fatal=act.fatal)

    def _succeeded(self, act: Succeed) -> ToolSucceeded:
        return ToolSucceeded(
            **self._named,
            result=act.result,
            summary=act.summary,
            resource_version=act.resource_version,
            artifacts=act.artifacts,
            terminate=act.terminate,
            usage=act.usage,
        )

    def _settled(self, act: Succeed | Fail, result: str, *, succeeded: bool) -> TaskSettled:
        usage = act.usage if isinstance(act, Succeed) else Usage()
        artifacts = act.artifacts if isinstance(act, Succeed) else ()
        return TaskSettled(**self._named, succeeded=succeeded, result=result, artifacts=artifacts, usage=usage)

    def _do(self, result: str = "ok") -> None:
        self.box.deeds.append(Deed(self.call.name, *self.key, self.call.arguments, result))

    @property
    def _named(self) -> dict[str, Any]:
        order = self.order
        return {"at": STAMPED, "call_id": order.call_id, "epoch": order.epoch, "attempt": order.attempt}
