"""The one door's other leaf: how programs are started, told and waited for. The rules of ``osio`` hold here too."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from interpreters.support.osio import around


def start_process(arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a program as the leader of a session and process group of its own.

    It reads nothing; its output and errors come through one pipe, ``process.stdout``, which does not block. It hears
    SIGINT even where this process was told to ignore it, as a shell tells those it puts into the background.
    """
    with around("spawn"), _heard(signal.SIGINT):
        process = subprocess.Popen(  # noqa: S603 - the caller decides what may run; no shell is added here
            arguments,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
    if process.stdout is not None:
        os.set_blocking(process.stdout.fileno(), False)
    return process


@contextlib.contextmanager
def _heard(number: int) -> Iterator[None]:
    """Let a program that is started meanwhile have a signal that this process ignores: only that is inherited."""
    main = threading.current_thread() is threading.main_thread()
    if not (main and signal.getsignal(number) is signal.SIG_IGN):
        yield
        return
    signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(number, signal.SIG_IGN)


def await_exit(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has ended, without taking it off the list: its number stays its own until ``reap``."""
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


def reap(process: subprocess.Popen[bytes]) -> int:
    """Take an ended process off the list; return its exit status, negative for the signal that ended it."""
    if process.stdout is not None:
        process.stdout.close()
    return process.wait()


def signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to all processes in the group of a leader that is not reaped yet; a group that is gone is fine."""
    with around("signal"), contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def run_process(arguments: Sequence[str], *, env: Mapping[str, str]) -> int:
    """Run a program that shares this process's terminal, to its end; return its status, negative for a signal."""
    with around("spawn"):
        process = subprocess.Popen(arguments, env=env)  # noqa: S603 - the caller decides what may run, without a shell
    try:
        return process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
