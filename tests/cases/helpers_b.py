"""What the later cases share: a strict reader of JSON, and agents whose time is moved by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio


def strict(data: bytes | str) -> Any:
    """Read JSON as a strict parser does: UTF-8 only, no NaN, no infinity, no half character."""
    text = data.decode("utf-8") if isinstance(data, bytes) else data
    value = json.loads(text, parse_constant=_refuse)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _refuse(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


def lines_of(folder: Path) -> list[bytes]:
    """Every physical line of every file of a session that holds records, without its newline."""
    found: list[bytes] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "lock" and "kept" not in path.parts and "aside" not in path.parts:
            found += [line for line in path.read_bytes().split(b"\n") if line]
    return found


async def until(session: Any, clock: Any, done: Any, *, step_ms: int = 1_000, tries: int = 50) -> None:
    """Move time on until something is so; fail if it never is."""
    for _ in range(tries):
        await anyio.wait_all_tasks_blocked()
        if done(session.state):
            return
        clock.advance(step_ms)
    raise AssertionError(f"it never happened: {type(session.state.phase).__name__}")
