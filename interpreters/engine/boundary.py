"""Step boundaries: where the host is asked whether to stop, and where queues elsewhere are drained.

``reduce`` is pure, so the engine can look ahead: it reduces an event, sees that a step or a turn would begin, asks the
host first, records what the host says, and only then lets the event happen. Whatever the host says is an event like
any other, durable and replayable.

The host is asked between events, so nothing is decided meanwhile; an abort ends the asking, and so does silence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anyio

from agentcore.events import AbortRequested, AbortScope, Event, FollowUpQueued, SteeringQueued
from agentcore.states import Completed, State, StopReason
from interpreters.engine.desk import Desk
from interpreters.engine.hooks import Hooks
from interpreters.engine.seam import Fault, guarded
from interpreters.support.ports import STAMPED, Inbox, InboxMessage

_CONTINUES = (StopReason.FINAL_ANSWER, StopReason.TERMINATED)
"""Ends behind which a follow-up begins the next turn by itself."""


class Boundary:
    """Asks the hooks of one session that belong between steps."""

    def __init__(self, hooks: Hooks, desk: Desk) -> None:
        self._hooks = hooks
        self._desk = desk
        self._untaken: dict[str, tuple[Inbox, int]] = {}

    def crossed(self, before: State, after: State) -> bool:
        """Say whether a step would begin, and anybody wants to be asked about it."""
        begins = after.open and (after.turn.number, after.turn.step) > (before.turn.number, before.turn.step)
        return begins and (self._hooks.steering is not None or self._hooks.stop_after_step is not None)

    async def before_step(self, before: State, after: State) -> list[Event]:
        """Return what has to happen before the step that ``after`` begins."""
        said: list[Event] = []
        if self._hooks.steering is not None:
            messages = await self._waiting("steering", self._hooks.steering, after)
            said += [SteeringQueued(at=STAMPED, message_id=new.message_id, parts=new.parts) for new in messages]
        if before.turn.number == after.turn.number and await self._stops(after):
            act_id = f"stop-after-step/{before.request_id}"
            scope = AbortScope.AFTER_STEP
            said.append(AbortRequested(at=STAMPED, act_id=act_id, scope=scope, turn=before.turn.number))
        return said

    async def after_turn(self, state: State) -> list[Event]:
        """Return follow-ups from elsewhere, if the turn has ended so that one would begin the next."""
        phase, inbox = state.phase, self._hooks.follow_ups
        if inbox is None or not isinstance(phase, Completed) or phase.unsaved or phase.ending.reason not in _CONTINUES:
            return []
        messages = await self._waiting("follow-ups", inbox, state)
        return [FollowUpQueued(at=STAMPED, message_id=new.message_id, parts=new.parts) for new in messages]

    def recorded(self, message_id: str, seq: int) -> None:
        """Remember where a message from elsewhere was recorded."""
        if message_id in self._untaken:
            self._untaken[message_id] = (self._untaken[message_id][0], seq)

    async def take(self, durable: int) -> None:
        """Tell the queues to forget what is durable here; what they do not forget is known when it comes again."""
        for inbox in (self._hooks.steering, self._hooks.follow_ups):
            done = [name for name, (owner, seq) in self._untaken.items() if owner is inbox and 0 < seq <= durable]
            if inbox is not None and done:
                await guarded(partial(self._take, inbox, done))

    async def _take(self, inbox: Inbox, message_ids: list[str]) -> None:
        for message_id in message_ids:
            del self._untaken[message_id]
        session_id = self._desk.session_id
        await self._desk.hooks.call(
            "queue-taken",
            session_id,
            lambda: inbox.taken(session_id, message_ids),
            lambda _: f"{len(message_ids)} messages",
        )

    async def _waiting(self, hook: str, inbox: Inbox, state: State) -> list[InboxMessage]:
        """Return what waits elsewhere and was not seen before; nothing if the queue cannot be asked."""
        session_id = self._desk.session_id
        found: Sequence[InboxMessage] | None = await self._asked(
            hook, state, lambda: inbox.waiting(session_id), lambda messages: f"{len(messages)} messages"
        )
        new = [message for message in found or () if message.message_id not in self._untaken]
        self._untaken |= {message.message_id: (inbox, 0) for message in new}
        return new

    async def _stops(self, after: State) -> bool:
        hook = self._hooks.stop_after_step
        if hook is None:
            return False
        said = await self._asked(
            "stop-after-step", after, lambda: hook(after), lambda stop: "ends the turn" if stop else "nothing"
        )
        return bool(said)

    async def _asked(self, hook: str, state: State, work: Callable[[], Any], changed: Callable[[Any], str]) -> Any:
        """Return the answer, or ``None`` for a fault, an abort that came meanwhile, or silence."""
        until = self._desk.clock.now() + state.config.limits.answer_ms
        answers: list[Any] = []
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                answers.append(await guarded(partial(self._desk.hooks.call, hook, state.request_id, work, changed)))
                tasks.cancel_scope.cancel()

            tasks.start_soon(ask)
            await self._desk.mailbox.wait_urgent(until)
            tasks.cancel_scope.cancel()
        answer = answers[0] if answers else None
        return None if isinstance(answer, Fault) else answer
