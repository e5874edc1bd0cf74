"""What the parts of one session's engine work with."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from interpreters.engine.broadcast import Broadcast
from interpreters.engine.clock import Clock
from interpreters.engine.hooks import HookTrace
from interpreters.engine.mailbox import Mailbox
from interpreters.engine.recorder import Recorder
from interpreters.engine.trace import Trace


@attrs.frozen(eq=False)
class Desk:
    """One of each, shared by all parts."""

    session_id: str
    """The session."""
    clock: Clock
    """What time it is."""
    jitter: Callable[[int], int]
    """Returns what is added to a delay: 0 to its argument, in milliseconds."""
    mailbox: Mailbox
    """Where everything that happens goes."""
    recorder: Recorder
    """Writes the journal."""
    broadcast: Broadcast
    """Shows views."""
    trace: Trace
    """Tells what was done, and why."""
    hooks: HookTrace
    """Calls hooks and tells of it."""
