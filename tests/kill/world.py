"""What one run can touch, and what it leaves behind: a directory with a store, files, and the witness's notes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import attrs

SESSION = "s"
"""The one session of a world."""

TARGET = "notes.txt"
CONTENT = "what the agent was asked to write\n"


@attrs.frozen
class World:
    """The places of one run."""

    place: Path

    @property
    def name(self) -> str:
        """What the service calls it."""
        return self.place.name

    @property
    def store(self) -> Path:
        """Where the journal is."""
        return self.place / "store"

    @property
    def files(self) -> Path:
        """The root of the file tools."""
        return self.place / "files"

    @property
    def target(self) -> Path:
        """The file that is written."""
        return self.files / TARGET

    @property
    def sink(self) -> Path:
        """One line for each deed on the disk; nothing is ever taken out of it."""
        return self.place / "deeds"

    @property
    def points(self) -> Path:
        """The kill points passed by the last run, one a line."""
        return self.place / "points"

    @property
    def memory(self) -> Path:
        """What the disk had of everything when the run was killed, for a power cut."""
        return self.place / "memory"

    @property
    def report(self) -> Path:
        """What the last run said when it had come to its end."""
        return self.place / "report.json"

    def make(self) -> World:
        """Make what is there before anything happens."""
        self.files.mkdir(parents=True)
        self.sink.touch()
        return self

    def deeds(self) -> list[str]:
        """What was done on the disk, oldest first."""
        return self.sink.read_text().split("\n")[:-1]

    def passed(self) -> list[str]:
        """The points that the last run passed, by name."""
        return self.points.read_text().split("\n")[:-1] if self.points.exists() else []

    def copy(self, place: Path) -> World:
        """Make another world that is like this one; what its disk holds for sure is not known any more."""
        shutil.copytree(self.place, place, ignore=shutil.ignore_patterns(self.memory.name, self.points.name))
        return World(place)

    def remove(self) -> None:
        """Take it away: there are hundreds."""
        shutil.rmtree(self.place)

    def said(self) -> dict:
        """The report."""
        return json.loads(self.report.read_text())
