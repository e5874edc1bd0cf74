"""A model that answers from a script: no network, no clock, the same every time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import anyio
import attrs

from agentcore.commands import RequestModel
from agentcore.events import ModelFailed, ModelFailure, ModelReplied, ModelStopped
from agentcore.messages import AssistantMessage
from agentcore.projections import RequestView
from interpreters.scripted.script import Break, ModelReply, Say, Stall
from interpreters.support.ports_model import ModelRun, ReasoningDelta, TextDelta
from interpreters.support.stopping import until_stopped

ReplyTo = Callable[[RequestView, RequestModel], ModelReply]
"""A script as a function of what is asked."""

NAME = "scripted"
"""What it says its name is."""

_WORD = re.compile(r"\S*\s*")


@attrs.define
class _Partial:
    """What had come of an answer."""

    text: str = ""
    done: bool = False


class ScriptedModel:
    """Answers each request with the next reply, or with what a function makes of the request.

    ``by_history`` takes the reply whose place is the number of the model's messages in the request instead of the next
    one: so a script goes on where it was when another process continues the session. ``pace_s`` makes each shown word
    take real time, in seconds; without it nothing sleeps. A script that has nothing left fails the request for good.
    """

    def __init__(
        self, script: Sequence[ModelReply] | ReplyTo, *, by_history: bool = False, pace_s: float = 0.0
    ) -> None:
        self.requests: list[tuple[RequestModel, RequestView]] = []
        """What was asked so far, oldest first: for tests."""
        self._script = script
        self._by_history = by_history
        self._pace_s = pace_s

    def __repr__(self) -> str:
        told = "a function" if callable(self._script) else f"{len(self._script)} replies"
        return f"ScriptedModel({told})"

    async def answer(self, run: ModelRun) -> ModelReplied | ModelFailed | ModelStopped:
        """Answer one request."""
        self.requests.append((run.order, run.view))
        try:
            reply = self._reply(run)
        except Exception as error:  # noqa: BLE001 - a model never raises (R-082), and a script is foreign code
            return run.failed(ModelFailure.FATAL, f"the script failed: {type(error).__name__}: {error}", code="script")
        stop = run.stop if not isinstance(reply, Stall) or reply.confirms else anyio.Event()
        partial = _Partial()

        async def work() -> None:
            await self._play(run, reply, partial)

        if not await until_stopped(stop, work) and not partial.done:
            return run.stopped(partial.text, reply.usage)
        return _end(run, reply)

    def _reply(self, run: ModelRun) -> ModelReply:
        if callable(self._script):
            return self._script(run.view, run.order)
        said = sum(isinstance(message, AssistantMessage) for message in run.view.messages)
        place = said if self._by_history else len(self.requests) - 1
        if place >= len(self._script):
            told = f"the script has {len(self._script)} replies, and number {place + 1} was asked for"
            return Break(told, ModelFailure.FATAL, code="script")
        return self._script[place]

    async def _play(self, run: ModelRun, reply: ModelReply, partial: _Partial) -> None:
        """Show what there is to show, word by word, giving others a turn after each."""
        opens = reply.opens if isinstance(reply, Stall) else isinstance(reply, Say) or bool(reply.text)
        await self._pause()
        if opens:
            run.opened()
        for word in _words(reply.reasoning if isinstance(reply, Say) else ""):
            run.show(ReasoningDelta(word))
            await self._pause()
        for word in _words(reply.text):
            run.show(TextDelta(word))
            partial.text += word
            await self._pause()
        if isinstance(reply, Stall):
            await anyio.sleep_forever()
        partial.done = True

    async def _pause(self) -> None:
        await anyio.sleep(self._pace_s)


def _words(text: str) -> list[str]:
    return [found.group() for found in _WORD.finditer(text) if found.group()]


def _end(run: ModelRun, reply: ModelReply) -> ModelReplied | ModelFailed:
    match reply:
        case Say():
            seed = f"{run.order.request_id}-{run.order.epoch}-{run.order.attempt}"
            return run.replied(reply.parts(seed), finish=reply.label, usage=reply.usage, model=NAME)
        case Break():
            return run.failed(
                reply.kind,
                reply.message,
                status=reply.status,
                code=reply.code,
                retry_after_ms=reply.retry_after_ms,
                output_shown=bool(reply.text),
                usage=reply.usage,
            )
        case Stall():
            raise AssertionError("a stalled request has no end of its own")
