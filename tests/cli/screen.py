"""A person at a terminal: the command in a process of its own, whose terminal is a pseudo one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

from tests.meta.tree import ROOT

PATIENCE_S = 60.0
"""How long something is waited for; a busy machine is no defect."""

CTRL_C = b"\x03"


class Person:
    """Types, and reads what is shown."""

    def __init__(self, process: subprocess.Popen, terminal: int) -> None:
        self.process = process
        self.seen = ""
        self._terminal = terminal
        self._read_to = 0

    def types(self, text: str | bytes) -> None:
        os.write(self._terminal, text if isinstance(text, bytes) else text.encode())

    def sees(self, text: str) -> str:
        """Wait until the text is shown behind what was seen before; return everything up to its end."""
        until = time.monotonic() + PATIENCE_S
        while (at := self.seen.find(text, self._read_to)) < 0:
            assert time.monotonic() < until, f"{text!r} is not shown; seen: {self.seen!r}"
            assert self._take(until - time.monotonic()) or text in self.seen[self._read_to :], (
                f"{text!r} was not shown before the end; seen: {self.seen!r}"
            )
        begin, self._read_to = self._read_to, at + len(text)
        return self.seen[begin : self._read_to]

    def waits_for_the_end(self) -> int:
        """Read to the end; return the exit code as a shell sees it."""
        until = time.monotonic() + PATIENCE_S
        while self._take(until - time.monotonic()):
            assert time.monotonic() < until, f"no end; seen: {self.seen!r}"
        code = self.process.wait(PATIENCE_S)
        return 128 - code if code < 0 else code

    def _take(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], max(seconds, 0))
        if not ready:
            return True
        try:
            piece = os.read(self._terminal, 65536)
        except OSError:  # nobody holds the other end any more
            return False
        self.seen += piece.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(piece)


@contextlib.contextmanager
def at_a_terminal(place: Path, *arguments: str, **variables: str) -> Iterator[Person]:
    """Run ``agentcore`` at a terminal of its own, with ``place`` as working directory and home of its sessions."""
    outer, inner = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "AGENTCORE_"))}
    environment = {**kept, "AGENTCORE_HOME": str(place / "home"), "PYTHONPATH": str(ROOT), "TERM": "xterm", **variables}
    process = subprocess.Popen(
        [sys.executable, "-m", "interpreters.cli", *arguments],
        cwd=place,
        env=environment,
        stdin=inner,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
        # So that Ctrl-C reaches the process the way it does from a real keyboard.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - one call, nothing is locked
    )
    os.close(inner)
    try:
        yield Person(process, outer)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        os.close(outer)
