"""Processes by the hundred: a server that has imported everything forks a fresh child for each run.

The server does nothing but fork and wait, so each child begins as a program begins that has just been started; only
the half second that the imports take is saved. It speaks lines of JSON: a job in, the child's wait status out.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import queue
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs

TOP = Path(__file__).resolve().parents[2]

LONGEST_S = 60
"""A child that takes longer says where it stands, and ends."""


@attrs.frozen
class Ended:
    """How a run ended."""

    killed: bool
    """SIGKILL ended it, at the point it was told to die at."""
    errors: str
    """What it wrote to its standard error."""


class Server:
    """The client's end of one fork server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, job) -> Ended:
        """Run a job in a child; ``AssertionError`` if it neither came to its end nor was killed as ordered."""
        self._process.stdin.write(json.dumps(attrs.asdict(job)) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        killed = answer["signal"] == signal.SIGKILL
        assert killed or answer["signal"] == answer["exit"] == 0, f"{job}: {answer}"
        return Ended(killed, answer["errors"])


class Servers:
    """A few servers, and the runs that are shared out among them."""

    def __init__(self, servers: list[Server]) -> None:
        self._free: queue.SimpleQueue[Server] = queue.SimpleQueue()
        self._count = len(servers)
        for each in servers:
            self._free.put(each)

    def run(self, job) -> Ended:
        """Run a job on whichever server is free."""
        server = self._free.get()
        try:
            return server.run(job)
        finally:
            self._free.put(server)

    def each(self, work, items) -> list:
        """Do something for every item, as many at a time as there are servers; results in order."""
        with ThreadPoolExecutor(self._count) as pool:
            return list(pool.map(work, items))


@contextmanager
def serving(count: int) -> Iterator[Servers]:
    """Have fork servers for as long as the block lasts."""
    with ExitStack() as stack:
        yield Servers([Server(stack.enter_context(_started())) for _ in range(count)])


@contextmanager
def _started() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kill.forks"],
        cwd=TOP,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.stdin.close()


def serve() -> None:
    """Fork a child for each line, until there are no more."""
    # The event loops are imported with the rest, or each child would do it again.
    import anyio._backends._asyncio
    import anyio._backends._trio  # noqa: F401 - it is loaded for the children

    from tests.kill import program

    gc.freeze()  # a child that collects what it shares would copy it
    for line in sys.stdin:
        job = program.Job(**json.loads(line))
        errors, said = os.pipe()
        child = os.fork()
        if not child:
            os.dup2(said, 2)
            os._exit(_live(program.run, job))
        os.close(said)
        with os.fdopen(errors, "rb") as file:
            text = file.read().decode("utf-8", "replace")
        _, status = os.waitpid(child, 0)
        signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        exited = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
        print(json.dumps({"signal": signalled, "exit": exited, "errors": text}), flush=True)


def _live(run, job) -> int:
    faulthandler.dump_traceback_later(LONGEST_S, exit=True)
    try:
        run(job)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve()
