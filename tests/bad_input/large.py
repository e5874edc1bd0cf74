"""A program whose tool puts out a hundred million characters: ``large.py PLACE KIND``. It prints what that took.

The numbers are of the whole process, so each kind runs in one of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio

from interpreters import Agent, FileStore, ScriptedModel, allow, shell_tool, tool
from interpreters.scripted import Ask, Say

SIZE = 100_000_000
STATUS = Path("/proc/self/status")


@tool(effect="pure")
def text() -> str:
    """Return a long text."""
    return "x" * SIZE


@tool(effect="pure")
def objects() -> list:
    """Return a long list, a small one in memory."""
    return ["x" * 996] * (SIZE // 1000)


@tool
def fail() -> None:
    """Say a lot about what went wrong."""
    raise ValueError("x" * SIZE)


def peak_mb() -> int:
    """The most memory this process had so far, in million bytes; ``getrusage`` would count that of its parent too."""
    status = STATUS.read_text().split("\n")
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) * 1024 // 1_000_000


async def main(place: Path, kind: str) -> None:
    """Run a turn with one call."""
    arguments = {"command": f"head -c {SIZE} /dev/zero | tr '\\0' x"} if kind == "shell" else {}
    model = ScriptedModel([Say(calls=(Ask(kind, arguments),)), Say("done")])
    tools = [text, objects, fail, shell_tool(place)]
    agent = Agent(model=model, tools=tools, rules=[allow("*")], store=FileStore(place / "store"))
    before = peak_mb()
    async with agent.open("s", create=True) as session:
        await session.send("go")
        result = await session.wait()
        (told,) = model.requests[1][1].messages[-1].results
    artifacts = getattr(told.outcome, "artifacts", ())
    report = {
        "text": result.text,
        "grown_mb": peak_mb() - before,
        "content": told.content,
        "places": [each.place for each in artifacts],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
