"""Runs of a model, made by a test in the engine's place."""

from __future__ import annotations

import functools

import anyio
import attrs

from agentcore.commands import RequestModel
from agentcore.messages import MessageSource, TextPart, UserMessage
from agentcore.policy import ModelSettings
from agentcore.projections import RequestView
from interpreters.support.ports_model import ModelRun

NOW = 1_700_000_000_000
"""What the clock of every run shows, in milliseconds."""


def view_of(*messages, instructions="", summary="", tools=(), settings=ModelSettings()) -> RequestView:  # noqa: B008 - settings are frozen
    """What a request is built from."""
    return RequestView("1.1", instructions, summary, messages, tools, settings)


def user(*parts, message_id: str = "m1") -> UserMessage:
    """A message of the user; texts are put into parts."""
    made = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
    return UserMessage(message_id, MessageSource.PROMPT, made)


def in_time(test):
    """Fail a test that hangs where it must not."""

    @functools.wraps(test)
    async def run(*args, **kwargs) -> None:
        with anyio.fail_after(10):
            await test(*args, **kwargs)

    return run


@attrs.frozen(eq=False)
class Watched:
    """A run and everything that is said through it."""

    run: ModelRun
    emitted: list
    shown: list
    traced: list

    def text(self, kind: type) -> str:
        """What was shown of one kind."""
        return "".join(delta.text for delta in self.shown if isinstance(delta, kind))


def watched(view: RequestView | None = None, attempt: int = 1, **fields) -> Watched:
    """A run of the first request, and what it says."""
    emitted, shown, traced = [], [], []
    order = RequestModel("1.1", 0, attempt)
    run = ModelRun(
        order=order,
        view=view or view_of(user("hello")),
        now=lambda: NOW,
        **{"emit": emitted.append, "show": shown.append, "trace": traced.append, **fields},
    )
    return Watched(run, emitted, shown, traced)
