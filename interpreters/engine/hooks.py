"""The hooks of the host (R-018), all optional, each traced: which, for what, how long, what it changed.

A hook may be a plain or an async function, ``after_tool`` only a plain one. One that fails is never silent:

- ``convert_to_wire``, ``transform_context``, ``refresh_credentials``: the request fails and says why;
- ``prepare_step``: the preparation fails; ``review_completion``: the completion stands, with a warning;
- ``before_tool``: the call is blocked (it fails closed); ``after_tool``: the result is withheld, and that is said;
- ``stop_after_step``, ``steering``, ``follow_ups``: as if it had said no, or had nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import attrs

from agentcore.messages import Message
from agentcore.policy import ModelSettings
from agentcore.states import Call, State
from interpreters.engine.clock import Clock
from interpreters.engine.seam import describe
from interpreters.support.ports import Inbox
from interpreters.support.ports_model import ConvertToWire, HookRan, RefreshCredentials


@attrs.frozen
class Block:
    """What ``before_tool`` returns to refuse a call."""

    reason: str
    """Why; the model is told."""
    dangerous: bool = False
    """It guards against something dangerous (D-1)."""


@attrs.frozen
class Change:
    """What ``before_tool`` returns to let a call run with other arguments; these are what rules and persons judge."""

    arguments: Mapping[str, Any]
    """The arguments instead, JSON values; must fit the tool's schema."""


@attrs.frozen
class ToolText:
    """Something a tool said that would be stored, shown, and read by the model."""

    call_id: str
    """The call."""
    name: str
    """The tool."""
    text: str
    """Its words."""


@attrs.frozen(kw_only=True, eq=False)
class Hooks:
    """What the host wants to be asked."""

    convert_to_wire: ConvertToWire | None = None
    """Takes the request and the body made of it, returns the body to send."""
    refresh_credentials: RefreshCredentials | None = None
    """Called once per attempt of a request; returns header fields (R-080)."""
    transform_context: Callable[[tuple[Message, ...]], Iterable[Message] | Awaitable[Iterable[Message]]] | None = None
    """Takes the messages of a request and returns those to send; may break neither ledger nor cached prefix (R-020)."""
    prepare_step: Callable[[State], ModelSettings | Awaitable[ModelSettings | None] | None] | None = None
    """Called before each step; may return model settings that hold from it on (R-081)."""
    stop_after_step: Callable[[State], bool | Awaitable[bool]] | None = None
    """Shown the state with a step's results written; ``True`` ends the turn there (R-019)."""
    steering: Inbox | None = None
    """Steering from elsewhere, asked for before the first request and after each round of tools (R-171, R-172)."""
    follow_ups: Inbox | None = None
    """Follow-ups from elsewhere, asked for when the agent would otherwise end (R-173)."""
    before_tool: Callable[[Call], Block | Change | Awaitable[Block | Change | None] | None] | None = None
    """Called when a call's arguments were found valid, before the rules; may block the call or change them (R-121)."""
    after_tool: Callable[[ToolText], str] | None = None
    """Takes each text of a tool before it is stored or shown, returns the text to use; a plain function (R-121)."""
    review_completion: Callable[[State], str | Awaitable[str | None] | None] | None = None
    """Asked whether a turn may end with its answer; text says what is missing (R-099)."""


@attrs.frozen(eq=False)
class HookTrace:
    """Calls hooks and tells about it."""

    clock: Clock
    """Measures how long they take."""
    tell: Callable[[HookRan], None]
    """Takes what is told."""

    async def call(self, hook: str, about: str, work: Callable[[], Any], changed: Callable[[Any], str]) -> Any:
        """Call a hook and return what it returns; ``changed`` says in words what that changes.

        Raises what the hook raises.
        """
        began = self.clock.now()
        try:
            value = work()
            done = await value if inspect.isawaitable(value) else value
            change = changed(done)
        except BaseException as error:
            self._tell(hook, about, began, f"failed: {describe(error)}")
            raise
        self._tell(hook, about, began, change)
        return done

    def call_now(self, hook: str, about: str, work: Callable[[], str], changed: Callable[[str], str]) -> str:
        """Call a hook that makes a text and needs no waiting; otherwise as ``call``."""
        began = self.clock.now()
        try:
            done = work()
        except BaseException as error:
            self._tell(hook, about, began, f"failed: {describe(error)}")
            raise
        self._tell(hook, about, began, changed(done))
        return done

    def _tell(self, hook: str, about: str, began: int, changed: str) -> None:
        self.tell(HookRan(hook, about, self.clock.now() - began, changed))
