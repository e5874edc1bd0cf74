"""The repository as data: its files and their syntax trees, for the tests beside this module."""

from __future__ import annotations

import ast
import functools
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The top of the repository."""

PACKAGES = ("agentcore", "interpreters")
"""The packages that are installed."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
"""Anything that `def` makes."""


@functools.cache
def files() -> tuple[Path, ...]:
    """Every file of the project: what git knows or would add; in a copy without git, what is not hidden or made."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        found = (ROOT / name for name in listed if name)
    else:
        found = ROOT.rglob("*")
    return tuple(sorted(path for path in found if path.is_file() and not _is_made(path.relative_to(ROOT))))


def _is_made(path: Path) -> bool:
    hidden = any(part.startswith(".") and part != ".ci" for part in path.parts[:-1])
    return hidden or any(part in {"__pycache__", "build", "dist"} or part.endswith(".egg-info") for part in path.parts)


def name_of(path: Path) -> str:
    """The path from the top, with slashes."""
    return path.relative_to(ROOT).as_posix()


def sources(*folders: str) -> tuple[Path, ...]:
    """Python files below folders, or single files, named from the top."""
    inside = [ROOT / folder for folder in folders]
    return tuple(path for path in files() if path.suffix == ".py" and any(path.is_relative_to(top) for top in inside))


def core() -> tuple[Path, ...]:
    """The pure core: `agentcore` without `testing`."""
    return tuple(path for path in sources("agentcore") if not name_of(path).startswith("agentcore/testing"))


@functools.cache
def parse(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def functions(path: Path) -> Iterator[Function]:
    """Every function and method of a file, nested ones too."""
    return (node for node in ast.walk(parse(path)) if isinstance(node, Function))


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Each imported module with its line; `from a import b` gives `a.b`, which may be a module or a name."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{'.' * node.level}{node.module or ''}.{alias.name}", node.lineno) for alias in node.names)


def at(path: Path, node: ast.AST | int) -> str:
    """A place a reader can go to."""
    return f"{name_of(path)}:{node if isinstance(node, int) else node.lineno}"


def is_public(name: str) -> bool:
    """Whether a name is for others."""
    return not name.startswith("_")


def nothing(found: Iterable[object]) -> None:
    """Fail with every finding on a line of its own, so that one run shows all there is to do."""
    lines = [str(each) for each in found]
    assert not lines, "\n".join([f"{len(lines)} found:", *lines])
