"""The one door through which engine, store and tools reach the operating system.

Rules:

1. Every call that changes or asks the file system or a process goes through a function of this module, or of ``osrun``
   for what starts programs, so that one place knows all moments at which a process can die. A test reads the syntax
   trees and refuses any other use.
2. Each function *reaches* a named point before and after it acts. A test that wants to see a crash at the n-th point
   sets ``AGENTCORE_KILL_AT=n``: the process then ends itself with SIGKILL, exactly there, as a power cut would.
   ``AGENTCORE_KILL_LOG=path`` writes the points passed, one a line, so that a first run can count them.
3. Nothing here retries, hides or translates an error: an ``OSError`` leaves as it came.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import socket
import stat
import tempfile
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import attrs


class KillPoints:
    """Counts the points passed and ends the process at the chosen one."""

    def __init__(self, kill_at: int = 0, log: str = "") -> None:
        self.passed = 0
        self._kill_at = kill_at
        self._log = log
        self._armed = ""
        self._one_at_a_time = threading.Lock()

    def arm(self, point: str) -> None:
        """End the process when it next reaches the point of this name: to show a crash at one act, not at the n-th."""
        self._armed = point

    def reach(self, point: str) -> None:
        """Count one point; it may be the last thing this process does."""
        with self._one_at_a_time:
            self._reach(point)

    def _reach(self, point: str) -> None:
        self.passed += 1
        if self._log:
            descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, f"{self.passed} {point}\n".encode())
            finally:
                os.close(descriptor)
        if self.passed == self._kill_at or point == self._armed:
            os.kill(os.getpid(), signal.SIGKILL)


POINTS = KillPoints(int(os.environ.get("AGENTCORE_KILL_AT", "0")), os.environ.get("AGENTCORE_KILL_LOG", ""))


@contextlib.contextmanager
def around(name: str) -> Iterator[None]:
    """Reach ``name:before`` and, if the act did not raise, ``name:after``."""
    POINTS.reach(f"{name}:before")
    yield
    POINTS.reach(f"{name}:after")


def open_file(path: Path | str, flags: int, mode: int = 0o600, *, dir_fd: int | None = None) -> int:
    """Open and return a descriptor; descriptors are never inherited by children."""
    with around("open"):
        return os.open(path, flags | os.O_CLOEXEC, mode, dir_fd=dir_fd)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; a short write is continued, an error leaves what was written in place."""
    with around("write"):
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]


def read_some(descriptor: int, size: int) -> bytes:
    """At most ``size`` bytes from the current position; empty at the end."""
    return os.read(descriptor, size)


def read_all(descriptor: int) -> bytes:
    """Everything from the current position to the end."""
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def read_file(path: Path) -> bytes:
    """Return the whole content of a file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_all(descriptor)
    finally:
        os.close(descriptor)


PIECE = 1 << 18
"""Bytes that are read at once where a file is read piece by piece."""


def read_pieces(path: Path, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes of a file from one offset to another, piece by piece; fewer if the file ends before."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while start < stop and (piece := os.pread(descriptor, min(PIECE, stop - start), start)):
            yield piece
            start += len(piece)
    finally:
        os.close(descriptor)


def list_names(path: Path) -> tuple[str, ...]:
    """Return the names in a directory, ordered."""
    return tuple(sorted(os.listdir(path)))


def is_there(path: Path) -> bool:
    """Return whether there is anything under a name; a link counts for what it points to."""
    return os.path.exists(path)


def modified_at_ms(path: Path) -> int:
    """Return when a file was last written, in milliseconds since the Unix epoch."""
    return os.stat(path).st_mtime_ns // 1_000_000


def length_of(path: Path) -> int:
    """Return the length of a file in bytes, without opening it."""
    return os.stat(path).st_size


def sync(descriptor: int) -> None:
    """Force the file, or the directory, behind the descriptor to the disk."""
    with around("sync"):
        os.fsync(descriptor)


def sync_directory(path: Path) -> None:
    """Make names created, renamed or removed in ``path`` durable."""
    descriptor = open_file(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def rename(
    source: Path | str, target: Path | str, *, source_fd: int | None = None, target_fd: int | None = None
) -> None:
    """Replace ``target`` by ``source`` in one step."""
    with around("rename"):
        os.replace(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)


def remove(path: Path | str, *, dir_fd: int | None = None) -> None:
    """Remove one file."""
    with around("remove"):
        os.unlink(path, dir_fd=dir_fd)


def make_directory(path: Path, mode: int = 0o700) -> None:
    """Create a directory and its parents; one that exists is fine."""
    with around("mkdir"):
        path.mkdir(mode=mode, parents=True, exist_ok=True)


def process_identity() -> tuple[int, str]:
    """Return the id of this process and the name of its machine."""
    return os.getpid(), socket.gethostname()


def close(descriptor: int) -> None:
    """Close a descriptor; its ``flock`` is released with the last duplicate."""
    os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Take an exclusive ``flock`` without waiting; ``False`` if another holder has it."""
    POINTS.reach("lock:before")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    POINTS.reach("lock:after")
    return True


def unlock(descriptor: int) -> None:
    """Release the ``flock`` of a descriptor."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def truncate(descriptor: int, size: int) -> None:
    """Set the length of a file; only for files that are ours alone, never for a journal."""
    with around("truncate"):
        os.ftruncate(descriptor, size)


# --- for tools: walking a tree by descriptors


@attrs.frozen(order=True)
class Entry:
    """One name in a directory."""

    name: str
    """The name, without a directory."""
    kind: str
    """``file``, ``directory``, ``link`` or ``other`` (pipes, sockets, devices)."""


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def open_directory(name: Path | str, *, dir_fd: int | None = None) -> int:
    """Open a directory for walking on from it; a symbolic link is refused with ``ELOOP`` or ``ENOTDIR``."""
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)


def open_to_read(name: Path | str, *, dir_fd: int | None = None) -> int:
    """Open for reading without following a link at the end and without waiting for the other end of a pipe."""
    return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)


def open_new(name: Path | str, mode: int = 0o600, *, dir_fd: int | None = None) -> int:
    """Create a file that must not exist yet, and open it for writing."""
    return open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=dir_fd)


def open_shared(name: Path | str, *, dir_fd: int | None = None) -> int:
    """Open a file that several processes lock, read and extend; create it if it is missing."""
    return open_file(name, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, dir_fd=dir_fd)


def make_directory_at(name: str, *, dir_fd: int) -> bool:
    """Create one directory inside an open one; ``False`` if something of that name is there already."""
    with around("mkdir"):
        try:
            os.mkdir(name, dir_fd=dir_fd)
        except FileExistsError:
            return False
        return True


def real_path(path: Path | str) -> Path:
    """Return the absolute path with every symbolic link on the way resolved."""
    return Path(path).resolve()


def kind_of(descriptor: int) -> str:
    """Say what an open descriptor is: ``file``, ``directory``, ``link`` or ``other``."""
    return _kind(os.fstat(descriptor).st_mode)


def size_of(descriptor: int) -> int:
    """Return the length of an open file in bytes."""
    return os.fstat(descriptor).st_size


def mode_of(descriptor: int) -> int:
    """Return the permission bits of an open file."""
    return stat.S_IMODE(os.fstat(descriptor).st_mode)


def set_mode(descriptor: int, mode: int) -> None:
    """Set the permission bits of an open file."""
    with around("chmod"):
        os.fchmod(descriptor, mode)


def rewind(descriptor: int) -> None:
    """Read on from the beginning of the file."""
    os.lseek(descriptor, 0, os.SEEK_SET)


def read_link(name: str, *, dir_fd: int) -> str:
    """Return where a symbolic link points, without going there."""
    return os.readlink(name, dir_fd=dir_fd)


def entries(descriptor: int) -> list[Entry]:
    """List an open directory by name; links are named, not followed."""
    with os.scandir(descriptor) as found:
        return sorted(Entry(one.name, _kind_listed(one)) for one in found)


def _kind_listed(one: os.DirEntry[str]) -> str:
    if one.is_symlink():
        return "link"
    if one.is_dir():
        return "directory"
    return "file" if one.is_file() else "other"


def environment() -> dict[str, str]:
    """Return a copy of this process's environment variables."""
    return dict(os.environ)


# --- for questions to a person


def is_terminal(descriptor: int) -> bool:
    """Say whether a person may sit at the other end."""
    return os.isatty(descriptor)


def discard_typed(descriptor: int) -> None:
    """Forget what was typed before now, so that no answer is given before its question was seen."""
    with contextlib.suppress(termios.error):
        termios.tcflush(descriptor, termios.TCIFLUSH)


# --- for the command line: directories for a while, and processes that share its terminal


def make_temporary_directory(prefix: str) -> Path:
    """Make a directory that only this user can enter, where temporary files go."""
    with around("mkdir"):
        return Path(tempfile.mkdtemp(prefix=prefix))


def remove_tree(path: Path) -> None:
    """Remove a directory with everything in it; links inside it are removed, not followed."""
    with around("remove"):
        shutil.rmtree(path)


def discard_output(descriptor: int) -> None:
    """Let whatever is still written to a descriptor go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
