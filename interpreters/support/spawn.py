"""Programs run in process groups of their own: read to the end, stopped as a whole, never left behind.

1. The program leads a new session, so its group holds everything it starts (unless that leaves on purpose).
2. When the leader ends, what is left of its group is killed: no ghost processes. The leader is taken off the process
   list only after that, so the number that is signalled cannot belong to anybody else yet.
3. Stopping asks first (SIGTERM), then kills (SIGKILL) after a grace; cancelling the caller's scope kills at once. Only
   a reaped leader counts as ended.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import attrs

from interpreters.support import osio, osrun

_CHUNK = 1 << 16
# After the group is killed the pipe closes by itself, unless a process has left the group and holds it open.
_DRAIN_S = 0.5


@attrs.frozen
class Ended:
    """How a program ended."""

    status: int
    """Exit status; negative for the signal that ended it."""
    stopped: bool
    """It was told to stop, and ended after that."""
    pipe_open: bool
    """Something that left the group still holds its output open, and so goes on running."""


class Program:
    """One running program. Made by ``start``; ``wait`` must be awaited exactly once."""

    def __init__(self, process: subprocess.Popen[bytes], grace_s: float) -> None:
        self._process = process
        self._grace_s = grace_s
        self._stop = anyio.Event()
        self._exited = anyio.Event()
        self._drained = anyio.Event()

    @property
    def pid(self) -> int:
        """Number of the leader and of its group."""
        return self._process.pid

    def stop(self) -> None:
        """Ask the whole group to end, and kill it after the grace; ``wait`` tells when it has ended."""
        self._stop.set()

    def signal(self, number: int) -> None:
        """Send a signal to the whole group, as a terminal or a dying machine does; nothing happens after its end."""
        if not self._exited.is_set():
            osrun.signal_group(self._process, number)

    async def wait(self, take: Callable[[bytes], Awaitable[None]]) -> Ended:
        """Hand every piece of output to ``take`` and return when the program has ended.

        Cancelled or failing, it kills the group and waits for the leader's end before it lets the exception pass.
        """
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, take)
                tasks.start_soon(self._stop_when_told)
                await self._await_exit()
                osrun.signal_group(self._process, signal.SIGKILL)
                with anyio.move_on_after(_DRAIN_S):
                    await self._drained.wait()
                tasks.cancel_scope.cancel()
            return self._reap()
        except BaseException:
            self._kill_and_reap()
            raise

    async def _read(self, take: Callable[[bytes], Awaitable[None]]) -> None:
        pipe = self._process.stdout
        if pipe is None:  # it is always a pipe; the type does not know
            raise AssertionError("a program was started without a pipe for its output")
        while True:
            await anyio.wait_readable(pipe)
            try:
                piece = osio.read_some(pipe.fileno(), _CHUNK)
            except BlockingIOError:
                continue
            if not piece:
                break
            await take(piece)
        self._drained.set()

    async def _stop_when_told(self) -> None:
        await self._stop.wait()
        osrun.signal_group(self._process, signal.SIGTERM)
        with anyio.move_on_after(self._grace_s):
            await self._exited.wait()
        osrun.signal_group(self._process, signal.SIGKILL)

    async def _await_exit(self) -> None:
        # The thread may be abandoned: it only waits, and ends by itself when the leader is killed below.
        await anyio.to_thread.run_sync(osrun.await_exit, self._process, abandon_on_cancel=True)
        self._exited.set()

    def _reap(self) -> Ended:
        return Ended(osrun.reap(self._process), self._stop.is_set(), not self._drained.is_set())

    def _kill_and_reap(self) -> None:
        osrun.signal_group(self._process, signal.SIGKILL)
        osrun.reap(self._process)


def start(arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], grace_s: float = 2.0) -> Program:
    """Start a program without input; ``OSError`` if that is not possible."""
    return Program(osrun.start_process(arguments, cwd=cwd, env=env), grace_s)
