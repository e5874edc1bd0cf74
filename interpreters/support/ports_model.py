"""What the engine and a model promise each other; the only words they share.

The engine performs ``RequestModel`` by awaiting ``model.answer(run)`` in a task of its own; what that returns goes into
its mailbox. Rules every model keeps:

1. It calls ``run.opened()`` at the first byte of an answer, at most once, and then returns exactly one event. A request
   that never got a byte returns without it.
2. It returns ``ModelReplied`` or ``ModelFailed``; once ``run.stop`` is set it ends soon and returns ``ModelStopped``
   with what had been received, unless its answer was already complete: then the answer is what happened.
3. It never raises, whatever the network, the provider or a hook does (R-082). The one exception is the cancellation of
   its task, by which the engine drops a request that nobody waits for any more; the model cleans up and lets it pass.
4. It tries once (D-13). Waiting, retrying and giving up are decided by the reducer.
5. What it shows by ``run.show`` is for the eye and never stored; showing never blocks and never raises.
6. Credentials appear in no event, no view and no ``repr``.

``CancelModel`` is performed by ``run.stop.set()``. Nothing here reads a clock: ``run.now`` is the engine's.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

import anyio
import attrs

from agentcore.commands import RequestModel
from agentcore.events import ModelFailed, ModelFailure, ModelReplied, ModelStopped, ModelStreamOpened
from agentcore.messages import AssistantPart, FinishReason, TextPart, Usage
from agentcore.projections import RequestView

T = TypeVar("T")


@attrs.frozen
class TextDelta:
    """A piece of the answer, as it arrives."""

    text: str
    """The words; never half a character."""


@attrs.frozen
class ReasoningDelta:
    """A piece of the model's thinking, as it arrives."""

    text: str
    """The words; never half a character."""


ModelDelta = TextDelta | ReasoningDelta
"""What a model shows while it answers."""


@attrs.frozen
class HookRan:
    """A hook of the host was called: for the trace."""

    hook: str
    """Its name: ``convert-to-wire`` …"""
    about: str
    """The id of what it was called for."""
    duration_ms: int
    """How long it took, in milliseconds."""
    changed: str
    """What it changed, in names only, never values; or how it failed."""


WireBody = Mapping[str, Any]
"""A request as it goes over the wire: JSON values, not yet encoded."""

ConvertToWire = Callable[[RequestView, WireBody], WireBody | Awaitable[WireBody]]
"""Host hook: takes the view and the body that was made of it, returns the body to send."""

RefreshCredentials = Callable[[], Mapping[str, str] | Awaitable[Mapping[str, str]]]
"""Host hook: called once per attempt; returns the header fields that authorise it."""


def ignore(_: object) -> None:
    """Take anything and do nothing: for who wants no views."""


def _changes(old: WireBody, new: WireBody) -> str:
    return ", ".join(sorted(key for key in {*old, *new} if old.get(key) != new.get(key)))


@attrs.frozen(kw_only=True, eq=False)
class ModelRun:
    """One attempt of a request: what the model is asked, and how it talks back."""

    order: RequestModel
    """The command; every event names its key."""
    view: RequestView
    """What to send."""
    now: Callable[[], int]
    """The engine's clock, in milliseconds since the Unix epoch; stamps events."""
    emit: Callable[[ModelStreamOpened], None]
    """Takes the one event that comes before the last."""
    show: Callable[[ModelDelta], None] = ignore
    """Takes pieces for the eye."""
    trace: Callable[[HookRan], None] = ignore
    """Takes what is told of hooks."""
    convert: ConvertToWire | None = None
    """Hook: has the last word on what is sent; called through ``converted``."""
    refresh: RefreshCredentials | None = None
    """Hook: gives the credentials of this attempt; called through ``credentials``."""
    stop: anyio.Event = attrs.field(factory=anyio.Event)
    """Set when the request is to end."""

    def opened(self) -> None:
        """Say that the first byte came."""
        self.emit(ModelStreamOpened(at=self.now(), **self._key()))

    async def credentials(self) -> Mapping[str, str]:
        """Call the hook that refreshes credentials and return header fields; raises what the hook raises."""
        refresh = self.refresh
        if refresh is None:
            return {}
        return await self._call("refresh-credentials", refresh, lambda found: ", ".join(sorted(found)))

    async def converted(self, body: WireBody) -> WireBody:
        """Call the hook that converts to the wire and return what to send; raises what the hook raises."""
        convert = self.convert
        if convert is None:
            return body
        return await self._call("convert-to-wire", lambda: convert(self.view, body), lambda new: _changes(body, new))

    async def _call(self, hook: str, work: Callable[[], T | Awaitable[T]], changed: Callable[[T], str]) -> T:
        began = self.now()
        told = "failed"
        try:
            made = work()
            done: T = await made if inspect.isawaitable(made) else made
            told = changed(done) or "nothing"
        finally:
            self.trace(HookRan(hook, self.order.request_id, self.now() - began, told))
        return done

    def replied(
        self,
        parts: tuple[AssistantPart, ...],
        *,
        finish: FinishReason = FinishReason.STOP,
        usage: Usage | None = None,
        model: str = "",
        metadata: str = "",
    ) -> ModelReplied:
        """Make the event of a complete answer."""
        told = usage or Usage()
        return ModelReplied(
            at=self.now(), **self._key(), parts=parts, finish=finish, usage=told, model=model, metadata=metadata
        )

    def failed(
        self,
        kind: ModelFailure,
        message: str,
        *,
        status: int | None = None,
        code: str = "",
        retry_after_ms: int | None = None,
        output_shown: bool = False,
        usage: Usage | None = None,
    ) -> ModelFailed:
        """Make the event of a request that ended without a usable message."""
        return ModelFailed(
            at=self.now(),
            **self._key(),
            kind=kind,
            message=message,
            status=status,
            code=code,
            retry_after_ms=retry_after_ms,
            output_shown=output_shown,
            usage=usage or Usage(),
        )

    def stopped(self, text: str = "", usage: Usage | None = None) -> ModelStopped:
        """Make the event of a request that ended because it was told to; ``text`` is what had come of it."""
        parts = (TextPart(text),) if text else ()
        return ModelStopped(at=self.now(), **self._key(), parts=parts, usage=usage or Usage())

    def _key(self) -> dict[str, Any]:
        return {"request_id": self.order.request_id, "epoch": self.order.epoch, "attempt": self.order.attempt}


class Model(Protocol):
    """Answers requests. Several may run at once, each with its own ``ModelRun``."""

    async def answer(self, run: ModelRun) -> ModelReplied | ModelFailed | ModelStopped:
        """Send the request once and return how it ended."""
