"""One attempt of one call while it is under way: what its tool says meanwhile, and how it is told to stop."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.from_thread

from agentcore.commands import ExecuteTool
from agentcore.events import Event, TaskStarted, ToolProgressed, ToolStarted
from agentcore.messages import Artifact, clean_text
from agentcore.states.calls import Call
from interpreters.support.ports import STAMPED, Emit, Show
from interpreters.tools.context import Sink

Keep = Callable[[str, bytes], Awaitable[str]]
"""Keeps bytes under a name beside the journal and returns their place, as ``Journal.keep`` does."""

OBSERVATION_MAX = 500
"""Characters of a remote state that are recorded."""

SHOWN_MAX = 4_000
"""Characters of one piece of progress that are shown."""


class Attempt(Sink):
    """The toolbox's record of one attempt, and the sink of its tool."""

    def __init__(self, order: ExecuteTool, call: Call, clean: Callable[[str, int], str], output_max: int) -> None:
        """``clean`` makes text of the tool fit to be recorded, in so many characters; ``output_max`` is for results."""
        self.order = order
        self.call = call
        self.clean = clean
        self.output_max = output_max
        self.observation = ""
        self.detached = False
        self.cancel_requested = False
        self.artifacts: list[Artifact] = []
        self.scope = anyio.CancelScope()
        self._emit: Emit = _ignore
        self._show: Show = _ignore
        self._keep: Keep | None = None
        self._began_at = anyio.current_time()
        self._said_started = False
        self._told = anyio.Event()
        self._ended = anyio.Event()
        self._answer: Event | None = None
        self._thread = threading.get_ident()

    def connect(self, emit: Emit, show: Show, keep: Keep | None) -> None:
        """Say where the tool's words go."""
        self._emit, self._show, self._keep = emit, show, keep

    @property
    def stamp(self) -> dict[str, Any]:
        """The fields every answer has: whose it is; the engine puts the time."""
        order = self.order
        return {"at": STAMPED, "call_id": order.call_id, "epoch": order.epoch, "attempt": order.attempt}

    @property
    def pure(self) -> bool:
        """Whether the tool only reads."""
        return self.call.contract.pure

    @property
    def duration_ms(self) -> int:
        """How long it has run so far, in milliseconds."""
        return round((anyio.current_time() - self._began_at) * 1000)

    @property
    def running(self) -> bool:
        """Whether the tool may still act."""
        return not self._ended.is_set()

    def end(self, answer: Event | None) -> None:
        """Record how it ended; ``None`` if nobody saw it."""
        self._answer = answer
        self._ended.set()

    async def wait(self) -> Event | None:
        """Return how it ended, when it has."""
        await self._ended.wait()
        return self._answer

    def cancel(self, *, scope: bool) -> None:
        """Tell the tool to stop; with ``scope`` by cancelling it, else by the word alone."""
        self.cancel_requested = True
        self._told.set()
        if scope:
            self.scope.cancel()

    # The words of the tool; see ``Sink``.

    def progress(self, text: str) -> None:
        """Show text."""
        self._in_loop(self._show, self.clean(text, SHOWN_MAX))

    def observe(self, text: str) -> None:
        """Record the remote state, if it is another than before."""
        self._in_loop(self._observed, self.clean(text, OBSERVATION_MAX))

    def started(self, handle: str) -> None:
        """Record the beginning, once."""
        self._in_loop(self._has_started, clean_text(handle))

    def detach(self, handle: str, result: str) -> None:
        """Answer the call and go on in the background; ignored for a tool that is not declared so."""
        self._in_loop(self._has_detached, clean_text(handle), self.clean(result, SHOWN_MAX))

    async def keep(self, name: str, data: bytes) -> Artifact | None:
        """Keep something large; where that fails nothing is kept, and the result says so."""
        if self._keep is None:
            return None
        order = self.order
        try:
            place = await self._keep(f"{order.call_id}-{order.epoch}.{order.attempt}-{name}", data)
        except Exception:  # noqa: BLE001 - a deed that is done must not fail for want of room for its output
            return None
        kept = Artifact(name, place, hashlib.sha256(data).hexdigest())
        self.artifacts.append(kept)
        return kept

    async def cancelled(self) -> None:
        """Return when the tool is told to stop."""
        await self._told.wait()

    def _observed(self, text: str) -> None:
        if text != self.observation:
            self.observation = text
            self._emit(ToolProgressed(**self.stamp, observation=text))

    def _has_started(self, handle: str) -> None:
        if not self._said_started:
            self._said_started = True
            self._emit(ToolStarted(**self.stamp, handle=handle))

    def _has_detached(self, handle: str, result: str) -> None:
        if self.call.contract.detached and not self.detached:
            self.detached = True
            self._emit(TaskStarted(**self.stamp, handle=handle, result=result))

    def _in_loop(self, function: Callable[..., None], *args: str) -> None:
        if not self.running:
            return
        if threading.get_ident() == self._thread:
            function(*args)
            return
        # A thread that was let go of, or one that the tool started, may find no loop: its words are lost, not its deed.
        with contextlib.suppress(RuntimeError):
            anyio.from_thread.run_sync(function, *args)


def _ignore(_: Any) -> None:
    """Nobody listens."""
