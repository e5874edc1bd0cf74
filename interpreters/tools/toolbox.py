"""The interpreter of ``ExecuteTool``, ``CancelTool`` and ``InspectEffect``: the one place where tools are run.

1. An attempt runs at most once: whoever orders it again waits for, or is given, the first one's answer.
2. Whatever a tool does, one answer comes of it. Only when the caller itself is cancelled does none: the process is
   letting go, and the next one finds an effect that nobody saw end.
3. A sync function runs in a thread that is let go of in that case, never one that is waited for without end. When it
   is told to stop it is only told: a thread cannot be stopped, and saying so would be a lie.
4. What a tool says is cleaned, rid of secrets and bounded before it becomes an event; what is cut off is kept.
"""

from __future__ import annotations

import functools
import inspect as inspection
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import anyio
import anyio.to_thread

from agentcore.commands import CancelTool, ExecuteTool, InspectEffect
from agentcore.events import EffectInspected, Event, Finding, ToolLost
from agentcore.messages import Artifact, EffectSeen, clean_text
from agentcore.policy import Effect, ToolContract
from agentcore.states.calls import Call
from interpreters.support.bounded import bounded
from interpreters.support.ports import STAMPED, Emit, Show
from interpreters.support.redaction import Redactor
from interpreters.tools.attempt import Attempt
from interpreters.tools.context import Sink, ToolContext
from interpreters.tools.definition import Tool, is_async, tool
from interpreters.tools.endings import ERROR_MAX, ended_badly, ended_well, is_from_outside, stopped
from interpreters.tools.errors import ToolDefinitionError, ToolError, describe
from interpreters.tools.findings import Found, unavailable
from interpreters.tools.results import Returned, text_of

OUTPUT_MAX = 30_000
"""Characters of a result that a model is shown unless the host says otherwise."""

KEPT_BYTES = 16_000_000
"""Size of one kept part: an output is kept in parts, so that no copy of all of it is needed in memory."""

_KEPT_CHARACTERS = KEPT_BYTES // 4  # a character takes up to four bytes

KeepFor = Callable[[str, str, bytes], Awaitable[str]]
"""Keeps, for a session id, bytes under a name beside its journal, and returns their place."""

_Key = tuple[str, str, int, int]


def _ignore(_: Any) -> None:
    """Nobody listens."""


class Toolbox:
    """Runs the tools of one host, for any number of sessions; a ``ports.ToolBox``."""

    def __init__(
        self,
        tools: Iterable[Tool | Callable[..., Any]],
        *,
        keep: KeepFor | None = None,
        host: Callable[[str], Any] | None = None,
        redactor: Redactor | None = None,
        output_max: int = OUTPUT_MAX,
    ) -> None:
        """Take tools and plain functions; ``ToolDefinitionError`` if two share a name.

        ``host`` gives the host's object for a session id, ``redactor`` knows the host's secrets, ``output_max`` is
        the length of a result in characters, and what is longer goes to ``keep``.
        """
        made = [each if isinstance(each, Tool) else tool(each) for each in tools]
        self._tools = {each.name: each for each in made}
        if len(self._tools) < len(made):
            names = [each.name for each in made]
            doubled = ", ".join(sorted({name for name in names if names.count(name) > 1}))
            raise ToolDefinitionError(f"two tools are named {doubled}: give one of them another name with name=")
        self._keep, self._host = keep, host
        self._redactor = redactor or Redactor()
        self._output_max = output_max
        self._attempts: dict[_Key, Attempt] = {}
        self._stopped_early: set[_Key] = set()

    @property
    def contracts(self) -> tuple[ToolContract, ...]:
        """The contracts of all tools, for ``Config.tools``."""
        return tuple(each.contract for each in self._tools.values())

    def forget(self, session_id: str) -> None:
        """Drop the records of a session that is closed."""
        self._attempts = {key: attempt for key, attempt in self._attempts.items() if key[0] != session_id}
        self._stopped_early = {key for key in self._stopped_early if key[0] != session_id}

    async def execute(
        self, session_id: str, order: ExecuteTool, call: Call, *, emit: Emit = _ignore, show: Show = _ignore
    ) -> Event:
        """Run a call and return how the attempt ended; what it says on the way goes to ``emit`` and ``show``."""
        key = (session_id, order.call_id, order.epoch, order.attempt)
        if known := self._attempts.get(key):
            return await known.wait() or ToolLost(**known.stamp, cause="the first run of this attempt was let go of")
        attempt = self._attempts[key] = Attempt(order, call, self._clean, self._output_max)
        attempt.connect(emit, show, functools.partial(self._keep, session_id) if self._keep else None)
        answer: Event | None = None
        try:
            if key in self._stopped_early:
                answer = stopped(attempt, EffectSeen.NONE)
            else:
                answer = await self._perform(session_id, attempt)
            return answer
        finally:
            attempt.end(answer)

    def cancel(self, session_id: str, order: CancelTool) -> None:
        """Tell an attempt to stop; how it ended is the answer of its ``execute``. One that is not here is noted."""
        key = (session_id, order.call_id, *order.execution)
        attempt = self._attempts.get(key)
        if attempt is None:
            self._stopped_early.add(key)
        elif attempt.running:
            running = self._tools.get(attempt.call.name)
            attempt.cancel(scope=running is not None and not running.in_thread and not running.stops_itself)

    async def inspect(self, session_id: str, order: InspectEffect, call: Call) -> EffectInspected:
        """Ask the tool what became of an attempt; one that cannot answer leaves it ``unavailable``."""
        found = await self._look(session_id, order, call)
        attempt = self._attempts.get((session_id, order.call_id, *order.execution))
        if attempt is not None and attempt.running:
            found = _corrected(found, call)
        return EffectInspected(
            at=STAMPED,
            call_id=order.call_id,
            epoch=order.epoch,
            attempt=order.attempt,
            finding=found.finding,
            by="tool",
            conclusive=found.conclusive,
            result=self._clean("" if found.result is None else text_of(found.result), self._output_max),
            question=f"what became of attempt {order.execution[0]}.{order.execution[1]} of {call.name}",
            evidence=self._clean(found.evidence, ERROR_MAX),
            retry_safe=found.retry_safe,
        )

    async def _perform(self, session_id: str, attempt: Attempt) -> Event:
        call, order = attempt.call, attempt.order
        try:
            running = self._find(call.name)
            context = self._context(session_id, call, (order.epoch, order.attempt), attempt)
            arguments = running.bind(json.loads(call.arguments), context)
            if not attempt.pure and not running.announces:
                attempt.started("")
            with attempt.scope:
                value = await _run(running.function, in_thread=running.in_thread, arguments=arguments)
        except BaseException as error:
            if is_from_outside(error):
                raise
            return ended_badly(attempt, error)
        if attempt.scope.cancelled_caught:
            return stopped(attempt, EffectSeen.UNPROVED)
        returned = value if isinstance(value, Returned) else Returned(value)
        # The deed is done: from here on nothing may take its success away, not even a cancel.
        with anyio.CancelScope(shield=True):
            text = await self._shown(attempt, returned.value)
        return ended_well(attempt, returned, text)

    def _find(self, name: str) -> Tool:
        if name not in self._tools:
            known = ", ".join(self._tools) or "none"
            raise ToolError(f"there is no tool {name!r} here; there are: {known}", kind="tool-not-found")
        return self._tools[name]

    def _context(self, session_id: str, call: Call, execution: tuple[int, int], sink: Sink) -> ToolContext:
        run = next((each for each in (call.run, *call.unproved) if each is not None and each.id == execution), None)
        return ToolContext(
            session_id,
            call.call_id,
            execution,
            handle=run.handle if run else "",
            observation=run.observation if run else "",
            host=self._host(session_id) if self._host else None,
            output_max=self._output_max,
            sink=sink,
        )

    async def _shown(self, attempt: Attempt, value: Any) -> str:
        """Return what the model is shown of a result."""
        text = self._redactor.redact(text_of(value))
        if len(text) <= self._output_max:
            return text
        begins = range(0, len(text), _KEPT_CHARACTERS)
        kept = [
            await attempt.keep(f"result-{number}.txt", text[begin : begin + _KEPT_CHARACTERS].encode())
            for number, begin in enumerate(begins, 1)
        ]
        return bounded(text, self._output_max, where_kept(kept)).text

    async def _look(self, session_id: str, order: InspectEffect, call: Call) -> Found:
        asked = self._tools.get(call.name)
        if asked is None or asked.inspect is None:
            return unavailable(f"there is no tool {call.name!r} here that could look")
        try:
            context = self._context(session_id, call, order.execution, Sink())
            look = functools.partial(asked.inspect, json.loads(call.arguments), context)
            answer = await _run(look, in_thread=not is_async(asked.inspect), arguments={})
        except BaseException as error:
            if is_from_outside(error):
                raise
            return unavailable(f"looking failed: {describe(error)}")
        if not isinstance(answer, Found):
            return unavailable(f"inspect gave {type(answer).__name__}, expected executed(...) or one of its like")
        return answer

    def _clean(self, text: str, length: int) -> str:
        return bounded(self._redactor.redact(clean_text(text)), length).text


async def _run(function: Callable[..., Any], *, in_thread: bool, arguments: dict[str, Any]) -> Any:
    """Call a sync function in a thread of its own count, so that tools that hang never keep others from starting."""

    def call() -> tuple[Any]:
        return (function(**arguments),)  # trio refuses to bring a bare coroutine out of a thread

    if in_thread:
        (result,) = await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
    else:
        (result,) = call()
    return await result if inspection.isawaitable(result) else result


def _corrected(found: Found, call: Call) -> Found:
    """An attempt that is alive in this process can still act, unless the look has voided it."""
    voided = call.contract.effect is Effect.FENCEABLE and found.conclusive
    if found.finding is not Finding.NOT_EXECUTED or voided:
        return found
    return Found(Finding.STILL_RUNNING, "the attempt is still running in this process", found.evidence)


def where_kept(parts: Sequence[Artifact | None]) -> str:
    """Say where the whole of an output can be found of which only the ends are shown."""
    places = [part.place for part in parts if part is not None]
    shown = (
        places[0] if len(places) == 1 else f"{len(places)} parts, {places[0]} to {places[-1]}" if places else "nothing"
    )
    return f"not all of it could be kept, only {shown}" if None in parts else f"the whole is kept as {shown}"
