"""What a tool is told beside its arguments, and what it may say while it works.

The keys reach a tool only through here and never through arguments, which a model writes: ``effect_key`` is the same
for every attempt of a call, over retries and restarts, so that another side can drop the second; ``attempt_key`` names
one attempt, so that it can be asked about or voided.
"""

from __future__ import annotations

from typing import Any

import anyio
import attrs

from agentcore.messages import Artifact


class Sink:
    """Where a tool's words go while it works. This one drops them; the toolbox gives each attempt its own.

    None of its methods raises: what a tool says on the way must not decide how its deed ends.
    """

    cancel_requested: bool = False
    """Somebody wants the attempt to stop."""

    def progress(self, text: str) -> None:
        """Show text to whoever watches."""

    def observe(self, text: str) -> None:
        """Record what is now known of the remote state."""

    def started(self, handle: str) -> None:
        """Record what an inspection can ask about."""

    def detach(self, handle: str, result: str) -> None:
        """Answer the call now and go on in the background."""

    async def keep(self, name: str, data: bytes) -> Artifact | None:
        """Keep something too large for a result; ``None`` if it was not kept."""
        return None

    async def cancelled(self) -> None:
        """Return when somebody wants the attempt to stop."""
        await anyio.sleep_forever()


@attrs.frozen(eq=False)
class ToolContext:
    """One attempt of one call, as its tool sees it. A parameter annotated with this class is given it.

    It is spoken to from the coroutine or the thread that runs the tool; words from other threads may be lost. What is
    to be awaited is, in a thread, for ``anyio.from_thread.run``.
    """

    session_id: str
    """The session."""
    call_id: str
    """``turn.step.index`` of the call."""
    execution: tuple[int, int] = (0, 1)
    """Epoch and number of the attempt."""
    handle: str = ""
    """In an inspection: what the attempt said could be asked about."""
    observation: str = ""
    """In an inspection: the last remote state the attempt told."""
    host: Any = None
    """The host's object for this session."""
    output_max: int = 30_000
    """Characters of a result that will be shown to the model; what is longer is kept and cut."""
    sink: Sink = attrs.field(factory=Sink, repr=False)
    """Where words go; tests may give their own."""

    @property
    def effect_key(self) -> str:
        """The same for every attempt of this call."""
        return f"{self.session_id}/{self.call_id}"

    @property
    def attempt_key(self) -> str:
        """Names this attempt alone."""
        epoch, attempt = self.execution
        return f"{self.effect_key}/{epoch}.{attempt}"

    @property
    def cancel_requested(self) -> bool:
        """Whether somebody wants the attempt to stop; a function in a thread looks here now and then."""
        return self.sink.cancel_requested

    def progress(self, text: str) -> None:
        """Show text to whoever watches; it is not stored."""
        self.sink.progress(text)

    def observe(self, text: str) -> None:
        """Record what is now known of the remote state: it is the last known state if the attempt is lost."""
        self.sink.observe(text)

    def started(self, handle: str) -> None:
        """Record what an inspection can ask about (a process, a remote task); once, by a tool with ``announces``."""
        self.sink.started(handle)

    def detach(self, handle: str, result: str) -> None:
        """Answer the call with ``result`` and go on in the background; only a tool with ``detached`` may."""
        self.sink.detach(handle, result)

    async def keep(self, name: str, data: bytes) -> Artifact | None:
        """Keep something too large for a result beside the journal; ``None`` if it was not kept.

        It is listed with the result.
        """
        return await self.sink.keep(name, data)

    async def cancelled(self) -> None:
        """Return when somebody wants the attempt to stop; for a tool with ``stops_itself``."""
        await self.sink.cancelled()
