"""What is under way: each command that takes time, in a task of its own, until it is answered or nobody waits any more.

When a command vanishes from what is outstanding, work that cannot touch the world is stopped. A non-pure execution is
stopped only by ``CancelTool``, and a checkpoint never.
"""

from __future__ import annotations

from collections.abc import Callable, Container

import anyio
import attrs
from anyio.abc import TaskGroup

from agentcore.commands import Command, Key, key_of
from agentcore.events import Event
from interpreters.engine.seam import Answer, ask

Post = Callable[[Event, Command], None]
"""Takes the answer to a command."""


@attrs.define(eq=False)
class Work:
    """One command under way."""

    command: Command
    """What was ordered."""
    stoppable: bool = True
    """Stopping it cannot touch the world."""
    when_stopped: tuple[type[Event], ...] = ()
    """What may come of it instead once its cancel was ordered."""
    scope: anyio.CancelScope = attrs.field(factory=anyio.CancelScope)
    """Ends it."""
    stop: anyio.Event = attrs.field(factory=anyio.Event)
    """Set when its cancel was ordered: it should end by itself and say how."""


class Works:
    """Everything under way in a session."""

    def __init__(self, tasks: TaskGroup, post: Post) -> None:
        self._tasks = tasks
        self._post = post
        self._running: dict[Key, Work] = {}

    def start(self, work: Work, answer: Answer) -> None:
        """Begin; what comes of it is posted, unless it was stopped."""
        self._running[key_of(work.command)] = work
        self._tasks.start_soon(self._run, work, answer)

    def get(self, key: Key) -> Work | None:
        """Return what is under way for a key."""
        return self._running.get(key)

    def stop_unless(self, waited_for: Container[Key]) -> None:
        """Stop what nobody waits for any more, where that may be done."""
        for key, work in list(self._running.items()):
            if key not in waited_for and work.stoppable:
                self._forget(work)
                work.scope.cancel()

    async def _run(self, work: Work, answer: Answer) -> None:
        event: Event | None = None
        with work.scope:
            event = await ask(work.command, answer, lambda: work.when_stopped if work.stop.is_set() else ())
        # No waiting between here and the post: what was answered is not lost to a cancellation.
        if not work.scope.cancel_called:
            self._forget(work)
            if event is not None:
                self._post(event, work.command)

    def _forget(self, work: Work) -> None:
        self._running.pop(key_of(work.command), None)
