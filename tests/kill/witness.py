"""Sees what a process does to the world, from inside, and kills it where it is told to.

Everything that engine, stores and tools do to the disk lies between two kill points. At each point the witness looks
whether the target is another file than before, and writes that down, before it may end the process; a rename and the
note of it are one act. So no deed can be missed, and none is counted twice.

It also keeps what the disk is known to hold: of each file what it held at its last sync, of each directory its names.
``fsync`` itself is left out: it changes nothing for a process that is killed, and a power cut is made of these notes.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import stat
import sys
from collections import Counter
from pathlib import Path

import attrs

from interpreters.support import osio
from tests.kill.world import World

_OWN = (osio.__file__, __file__, "contextlib.py")
_TO_EXTEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class Witness(osio.KillPoints):
    """The kill points of a watched process.

    A point is named by what is done, by which function, and for the how manieth time: ``write:after writer._write #3``.
    Threads may pass points in another order from run to run; so named, each is found again.
    """

    def __init__(self, world: World, kill_at: str) -> None:
        super().__init__()
        self._world = world
        self._fatal = kill_at
        self._seen = _identity(world.target)
        self._passed: Counter[str] = Counter()
        self._points = os.open(world.points, _TO_EXTEND, 0o600)
        self._disk = Disk.of(world) if world.memory.exists() else Disk({}, {})

    def install(self) -> None:
        """Watch this process from now on."""
        osio.POINTS = self
        osio.sync, osio.rename = self.sync, self.rename

    def sync(self, descriptor: int) -> None:
        """Remember what would be durable from here on."""
        with osio.around("sync"):
            found = os.fstat(descriptor)
            place = Path(f"/proc/self/fd/{descriptor}")
            if stat.S_ISDIR(found.st_mode):
                self._disk.names[found.st_ino] = {one.name: (one.inode(), one.is_dir()) for one in os.scandir(place)}
            else:
                self._disk.contents[found.st_ino] = place.read_bytes()

    def rename(self, source, target, *, source_fd: int | None = None, target_fd: int | None = None) -> None:
        """Do a rename and note the deed in one: no thread may end the process between the two."""
        with osio.around("rename"), self._one_at_a_time:
            os.replace(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)
            self._look()

    def _look(self) -> None:
        """Write down a deed if the target is another file than before."""
        now = _identity(self._world.target)
        if now not in (None, self._seen):
            sink = os.open(self._world.sink, _TO_EXTEND)
            os.write(sink, b"wrote it\n")
            os.close(sink)
        self._seen = now

    def _reach(self, point: str) -> None:
        self._look()
        name = f"{point} {_place()}"
        self._passed[name] += 1
        here = f"{name} #{self._passed[name]}"
        os.write(self._points, f"{here}\n".encode())
        if here == self._fatal:
            self._disk.keep(self._world)
            os.kill(os.getpid(), signal.SIGKILL)


@attrs.frozen
class Disk:
    """What a power cut leaves: of each file what it held at its last sync, of each directory its names then."""

    contents: dict[int, bytes]
    """By the number of the file."""
    names: dict[int, dict[str, tuple[int, bool]]]
    """By the number of the directory: names, the numbers behind them, and whether these are directories."""

    def keep(self, world: World) -> None:
        """Write it down."""
        world.memory.write_bytes(pickle.dumps((self.contents, self.names)))

    @classmethod
    def of(cls, world: World) -> Disk:
        """Read what was written down when a run was killed."""
        return cls(*pickle.loads(world.memory.read_bytes()))

    def restore(self, source: Path, target: Path) -> None:
        """Build under ``target`` what is left of the directory ``source``, nothing if its name was not durable."""
        shutil.rmtree(target, ignore_errors=True)
        if source.name in self.names.get(source.parent.stat().st_ino, {}):
            self._restore(source.stat().st_ino, target)

    def _restore(self, directory: int, target: Path) -> None:
        target.mkdir()
        for name, (number, is_directory) in self.names.get(directory, {}).items():
            if is_directory:
                self._restore(number, target / name)
            else:
                (target / name).write_bytes(self.contents.get(number, b""))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def _place() -> str:
    """The function that asked the door for something."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename.endswith(_OWN):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"
