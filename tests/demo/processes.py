"""The demonstration and its processes, run as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import attrs

from tests.meta.tree import ROOT


@attrs.frozen
class Ended:
    """A process that has ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.out.split("\n") if line.startswith("{")]

    @property
    def transitions(self) -> list[str]:
        return [line["event"] for line in self.lines if line.get("log") == "transition"]


def run(module: str, *arguments: str, cwd: Path, timeout_s: float = 300) -> Ended:
    """Run a module of ours with nothing of the user's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "AGENTCORE_"))}
    ran = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=cwd,
        env={**kept, "PYTHONPATH": str(ROOT), "AGENTCORE_HOME": str(cwd / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return Ended(ran.returncode, ran.stdout, ran.stderr)


def demo(*arguments: str, cwd: Path, timeout_s: float = 300) -> Ended:
    """Run ``agentcore demo``."""
    return run("interpreters.cli", "demo", *arguments, cwd=cwd, timeout_s=timeout_s)


def worker(room: Path, *flags: str, model: str = "scripted", timeout_s: float = 300) -> Ended:
    """Run one process of the demonstration on a room."""
    given = ("--dir", str(room), "--model", model, "--approval", "yes", "--json")
    return run("interpreters.cli.demo.worker", *given, *flags, cwd=room, timeout_s=timeout_s)


def journal(room: Path) -> list[dict]:
    """The events as they stand on the disk."""
    files = sorted((room / "sessions" / "demo").glob("segment-*.ndjson"))
    lines = [json.loads(line) for file in files for line in file.read_bytes().split(b"\n") if line]
    return [line["event"] for line in lines if "event" in line]


def deeds(room: Path) -> int:
    """How often the deed was done."""
    return (room / "files" / "ledger.txt").read_bytes().count(b"\n")
