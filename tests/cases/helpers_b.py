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


async def until(session: Any, clock: Any, done: Any, *, step_ms: int = 1_000, steps: int = 50) -> None:
    """Wait until something is so; where nothing goes on any more, move time on by a step. Fail if it never is.

    Threads of a store are no tasks that a loop could wait for, so the state is looked at again and again.
    """
    seen, still = -1, 0
    while not done(session.state):
        await anyio.sleep(0.002)
        await anyio.wait_all_tasks_blocked()
        still = still + 1 if session.state.seq == seen else 0
        seen = session.state.seq
        if still < QUIET:
            continue
        if not steps:
            raise AssertionError(f"it never happened: {type(session.state.phase).__name__}")
        clock.advance(step_ms)
        steps, still = steps - 1, 0


QUIET = 15
"""Looks without a new event after which nothing is taken to go on."""
