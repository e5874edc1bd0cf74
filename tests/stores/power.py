"""A model of what a power cut leaves: of each file what it held at its last sync, of each directory its names then."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from interpreters.support import osio


class Power:
    """Watches what is synced; ``cut`` builds the worst that a power cut may leave of a directory."""

    def __init__(self, monkeypatch) -> None:
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._remove, self._rename = osio.remove, osio.rename
        monkeypatch.setattr(osio, "sync", self._sync)
        monkeypatch.setattr(osio, "remove", self._watch_remove)
        monkeypatch.setattr(osio, "rename", self._watch_rename)

    def _sync(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        place = Path(f"/proc/self/fd/{descriptor}")
        if stat.S_ISDIR(found.st_mode):
            self._names[found.st_ino] = {entry.name: entry.inode() for entry in os.scandir(place)}
        else:
            self._contents[found.st_ino] = place.read_bytes()

    def _watch_remove(self, path: Path) -> None:
        self._forget(path)
        self._remove(path)

    def _watch_rename(self, source: Path, target: Path) -> None:
        self._forget(target)
        self._rename(source, target)

    def _forget(self, path: Path) -> None:
        # The system may give the number of a file that is gone to the next one.
        if path.exists():
            self._contents.pop(path.stat().st_ino, None)

    def cut(self, source: Path, target: Path) -> Path:
        """Build under ``target`` what is left of ``source``, whose own name is durable."""
        target.mkdir()
        self._restore(source.stat().st_ino, target)
        return target

    def _restore(self, directory: int, target: Path) -> None:
        for name, inode in self._names.get(directory, {}).items():
            if inode in self._names or (inode not in self._contents and "." not in name and name != "lock"):
                (target / name).mkdir()
                self._restore(inode, target / name)
            else:
                (target / name).write_bytes(self._contents.get(inode, b""))
