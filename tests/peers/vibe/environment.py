"""An environment of its own for the package: made when a test first needs it, and kept.

It is kept in ``AGENTCORE_PEERS`` if that names a directory, else in pytest's cache. Python 3.12 or newer is looked for
on the path, among the versions that pyenv keeps, and last in the interpreter that runs the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "mistralai-vibe-protocol==0.3.2"
OURS = ("attrs>=25.1", "cattrs>=25.1", "orjson>=3.10")
"""What ``agentcore.testing`` needs beside it."""
ASK = "import sys; raise SystemExit(sys.version_info < (3, 12))"


def new_python() -> str | None:
    """A Python that the package can be installed for, if there is one."""
    return next((each for each in candidates() if is_new(each)), None)


def candidates() -> Iterator[str]:
    names = ("python3.12", "python3.13", "python3.14")
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield from (str(Path(folder, name)) for name in names if Path(folder, name).exists())
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for version in ("3.12", "3.13", "3.14"):
        yield from map(str, sorted(versions.glob(f"{version}*/bin/python")))
    yield sys.executable


def is_new(python: str) -> bool:
    """Whether it starts, which the stand-in of a version manager may not, and is new enough."""
    return subprocess.run([python, "-c", ASK], capture_output=True, check=False).returncode == 0


def environment(folder: Path, python: str) -> Path:
    """The interpreter of the environment in a folder, which is filled first if it is not yet."""
    ready = folder / f"{PACKAGE}.ready"
    inside = folder / "bin/python"
    if not ready.exists():
        run([python, "-m", "venv", "--clear", str(folder)])
        run([str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE, *OURS])
        ready.touch()
    return inside


def run(command: list[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout}{ran.stderr}"
