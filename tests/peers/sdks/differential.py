"""``python -m tests.peers.sdks.differential``: the recorded answers through the libraries of providers and pydantic-ai.

Writes to ``docs/peers.md`` where they make something else of an answer than a correct client does, which is what is
made of it here. On demand: the libraries are installed into an environment of their own, in ``AGENTCORE_PEERS`` or
``.venv/peers``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.peers.page import ROOT, home, write_section
from tests.peers.sdks.replay import replaying

FIXTURES = ROOT / "tests" / "models" / "fixtures"
PACKAGES = ("openai", "anthropic", "pydantic-ai-slim[openai,anthropic]")


def python() -> str:
    """The interpreter of the environment, which is made if it is missing."""
    folder = home() / "sdks"
    inside = folder / "bin" / "python"
    if not inside.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(inside), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return str(inside)


def fixtures() -> dict[str, dict[str, Any]]:
    found = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(FIXTURES.glob("*.json")))
    return {each["id"]: each for each in found if "expect" in each}


def read_all(known: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What each client made of each answer."""
    wanted = "".join(f"{name} {each['dialect']}\n" for name, each in known.items())
    with replaying(known) as origin:
        command = [python(), str(Path(__file__).with_name("clients.py")), origin]
        ran = subprocess.run(command, input=wanted, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def difference(made: dict[str, Any], expect: dict[str, Any]) -> str:
    """In words what a client made otherwise; empty if nothing."""
    fails = expect["outcome"] != "ok"
    if "error" in made:
        return "" if fails else f"fails: `{made['error']}`"
    if fails:
        return f"takes it for an answer ({expect['kind']})"
    found = []
    if made["text"] != expect.get("text", made["text"]):
        found.append("other text")
    if "tools" in expect and made["tools"] != [list(each) for each in expect["tools"]]:
        unusable = [list(each) for each in expect["tools"] if each[1] is None]
        found.append(
            "other calls"
            if not unusable or len(made["tools"]) != len(expect["tools"])
            else "keeps arguments that are none"
        )
    if expect.get("runnable") is False and made["tools"]:
        found.append("offers calls of a message that was cut")
    return ", ".join(found)


def section(made: list[dict[str, Any]], known: dict[str, dict[str, Any]], versions: str) -> list[str]:
    by = {(each["id"], each["client"]): each for each in made}
    rows, counts = [], {"openai": [0, 0], "anthropic": [0, 0], "pydantic-ai": [0, 0]}
    for name, fixture in known.items():
        sdk = "anthropic" if fixture["dialect"] == "anthropic" else "openai"
        told = []
        for client in (sdk, "pydantic-ai"):
            said = difference(by[name, client], fixture["expect"])
            counts[client][0] += 1
            counts[client][1] += bool(said)
            told.append(said or "same")
        title = fixture["title"].replace("|", "/")
        if told != ["same", "same"]:
            rows.append(f"| {name} | {fixture['dialect']} | {title} | {sdk}: {told[0]} | {told[1]} |")
    totals = "; ".join(f"{client} {otherwise} of {read}" for client, (read, otherwise) in counts.items())
    return [
        "## Recorded answers through other clients",
        "",
        f"The {len(known)} recorded answers of `tests/models/fixtures`, read as streams by {versions}, retries off.",
        "A row says where a client makes something else of an answer than the [rules of the wire](wire.md) ask for,",
        "which is what is made of it here. Libraries of providers are made for their own servers, and raw:",
        "what they leave to the program that uses them is no fault of theirs, but that program has to see to it.",
        f"Otherwise than the rules: {totals}.",
        "",
        "| answer | dialect | what it is | provider's library | pydantic-ai |",
        "|---|---|---|---|---|",
        *rows,
    ]


def versions() -> str:
    names = ("openai", "anthropic", "pydantic-ai-slim")
    ask = f"from importlib.metadata import version as v; print(*(f'`{{n}}` {{v(n)}}' for n in {names}), sep=', ')"
    return subprocess.run([python(), "-c", ask], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    answers = fixtures()
    write_section("sdks", "tests/peers/sdks/differential.py", section(read_all(answers), answers, versions()))
