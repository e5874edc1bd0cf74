"""The matrix of ``docs/peers.md``: every scenario of the black box against known loops, each in its own environment.

``python -m tests.peers.matrix`` makes what is missing (environments in ``AGENTCORE_PEERS``, else in ``.venv/peers``),
plays the named scenarios over chat-completions against each loop, and writes the page's section. ``--only langgraph
ours`` plays a part, ``--scenarios`` some scenarios; what was measured before is kept beside the environments and stays
in the table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from interpreters import check
from tests.peers.page import ROOT, home, write_section


@attrs.frozen
class Peer:
    """A loop, what has to be installed for it, and what was used of it."""

    name: str
    packages: tuple[str, ...]
    """The first is the loop itself: its version stands in the table."""
    used: str
    """Documented options that help it, and what it does not claim."""
    resumes: bool = True
    unclaimed: tuple[str, ...] = ()
    """Rules about something that it does not claim to do; breaking them is marked so."""

    @property
    def program(self) -> Path:
        name = "check/agents/engine.py" if self.name == "ours" else f"peers/loops/with_{self.name}.py"
        return ROOT / "tests" / name


PEERS = (
    Peer("ours", (), "Keyed tools; `--resume` opens the session again."),
    Peer(
        "pydantic_ai",
        ("pydantic-ai-slim[openai]", "pydantic-ai-harness"),
        "`StepPersistence` over SQLite, `continue_run(include_interrupted=True)`; the call's id is the key of a deed. "
        "It documents that an interrupted tool may run again.",
    ),
    Peer(
        "openai_agents",
        ("openai-agents",),
        "`SQLiteSession`; the call's id is the key of a deed. It does not claim to go on with a turn that was killed: "
        "the session is run again without new input.",
        unclaimed=("executed-once",),
    ),
    Peer(
        "langgraph",
        ("langgraph", "langchain", "langgraph-checkpoint-sqlite", "langchain-openai"),
        "`create_agent` with `SqliteSaver` and `durability=sync`; the call's id is the key of a deed. It documents "
        "that a node that was interrupted runs again.",
    ),
    Peer(
        "smolagents",
        ("smolagents[openai]",),
        "`ToolCallingAgent`. It claims no resume, so nothing is killed. It ends by a tool of its own, `final_answer`, "
        "and not by an answer in words, and tells results as words of the user.",
        resumes=False,
        unclaimed=("nothing-invented", "quiet-after-end"),
    ),
    Peer(
        "strands",
        ("strands-agents[openai]",),
        "`FileSessionManager`; the call's id is the key of a deed. It claims to restore the conversation, not a turn "
        "that was killed.",
    ),
)


def python_of(peer: Peer) -> str:
    """The interpreter of a peer's environment, which is made if it is missing."""
    if not peer.packages:
        return sys.executable
    folder = home() / peer.name
    inside = folder / "bin" / "python"
    if not inside.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(inside), "-m", "pip", "install", "--quiet", *peer.packages], check=True)
    return str(inside)


def version_of(peer: Peer, python: str) -> str:
    if not peer.packages:
        return "this tree"
    name = peer.packages[0].partition("[")[0]
    ask = f"from importlib.metadata import version; print(version({name!r}))"
    return f"`{name}` " + subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


def measure(peer: Peer, scenarios: list[str] | None) -> dict[str, Any]:
    """Play the scenarios against one loop; return its version and what each came to."""
    python = python_of(peer)
    command = [python, str(peer.program)]
    os.environ["AGENT_DIALECT"] = "chat"
    report = check.run(
        command,
        resume_command=[*command, "--resume"] if peer.resumes else (),
        env={"PYTHONPATH": str(ROOT)} if peer.name == "ours" else {},
        scenarios=scenarios or [each.name for each in check.NAMED],
        shrinks=False,
        dialect="chat",
        progress=lambda outcome, *_: print(peer.name, outcome.scenario.name, outcome.verdict, file=sys.stderr),
    )
    return {"version": version_of(peer, python), "cells": dict(cells(report))}


def cells(report: check.Report) -> Iterator[tuple[str, str]]:
    for outcome in report.outcomes:
        rules = sorted({finding.rule.value for finding in outcome.findings})
        if outcome.verdict is check.Verdict.BROKEN:
            yield outcome.scenario.name, "breaks " + ", ".join(f"`{rule}`" for rule in rules)
        else:
            yield outcome.scenario.name, "holds" if outcome.verdict is check.Verdict.HELD else "not applicable"


def marked(peer: Peer, cell: str) -> str:
    """What a cell shows: rules that a peer makes no claim about are named, and break nothing."""
    rules = re.findall("`([^`]+)`", cell)
    broken = ", ".join(f"`{rule}`" for rule in rules if rule not in peer.unclaimed)
    beside = ", ".join(f"`{rule}`" for rule in rules if rule in peer.unclaimed)
    if not rules or not beside:
        return cell
    return f"breaks {broken} (not claimed: {beside})" if broken else f"not claimed: {beside}"


def section(measured: dict[str, dict[str, Any]]) -> list[str]:
    """The lines of the section."""
    shown = [peer for peer in PEERS if peer.name in measured]
    lines = [
        "## Known loops under the black box",
        "",
        "Each loop is a program of a few dozen lines, [written as its documentation shows](../tests/peers/loops), that",
        "[`agentcore check`](check.md) attacks over chat-completions with every named scenario; `python -m",
        "tests.peers.matrix` plays them again. A rule of the checker is what a session needs that must not act twice",
        "and must not be bricked; it is not what a loop promises: what each claims, and what was used of it, stands",
        "below. A broken rule says what was seen, with these versions, in these scenarios.",
        "",
        "| loop | version | held | broken | not applicable, or not claimed | used, and claimed |",
        "|---|---|---|---|---|---|",
    ]
    for peer in shown:
        found = [marked(peer, cell) for cell in measured[peer.name]["cells"].values()]
        counts = " | ".join(str(sum(cell.startswith(word) for cell in found)) for word in ("holds", "breaks", "not"))
        lines.append(f"| {peer.name} | {measured[peer.name]['version']} | {counts} | {peer.used} |")
    lines += ["", f"| scenario | {' | '.join(peer.name for peer in shown)} |", f"|---|{'---|' * len(shown)}"]
    for scenario in check.NAMED:
        row = [marked(peer, measured[peer.name]["cells"].get(scenario.name, "—")) for peer in shown]
        lines.append(f"| {scenario.name} | {' | '.join(row)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Play the black box's scenarios against known loops.")
    parser.add_argument("--only", nargs="*", choices=[peer.name for peer in PEERS])
    parser.add_argument("--scenarios", nargs="*")
    chosen = parser.parse_args()
    home().mkdir(parents=True, exist_ok=True)
    kept = home() / "measured.json"
    measured = json.loads(kept.read_text()) if kept.exists() else {}
    for peer in PEERS:
        if not chosen.only or peer.name in chosen.only:
            measured[peer.name] = measure(peer, chosen.scenarios)
            kept.write_text(json.dumps(measured))
    write_section("matrix", "tests/peers/matrix.py", section(measured))


if __name__ == "__main__":
    main()
