"""The command line in this process: what was written, and the exit code; nothing of the real user is seen."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest

from interpreters.cli import main


@attrs.frozen
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict]:
        """Standard output as JSON objects."""
        return [json.loads(line) for line in self.out.split("\n") if line]


@attrs.frozen
class Shell:
    """Runs commands in a directory of their own."""

    place: Path
    _capfd: pytest.CaptureFixture

    def __call__(self, *arguments: str) -> Ran:
        self._capfd.readouterr()
        code = main(list(arguments))
        told = self._capfd.readouterr()
        return Ran(int(code), told.out, told.err)

    def script(self, *replies: dict, name: str = "script.json") -> tuple[str, str]:
        """Write a script; the flags that use it."""
        (self.place / name).write_text(json.dumps(replies), encoding="utf-8")
        return "--model", f"script:{name}"

    def session(self, session_id: str) -> Path:
        return self.place / "home" / "sessions" / session_id


@pytest.fixture
def cli(tmp_path, monkeypatch, capfd) -> Shell:
    """Run ``cli(*arguments)``: no settings of the user, a working directory and sessions of its own."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AGENTCORE_API_KEY", "AGENTCORE_BASE_URL", "AGENTCORE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTCORE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capfd)
