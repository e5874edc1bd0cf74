"""What the exploration finds about ``mistralai-vibe-protocol``, which is asserted here and stated in `docs/peers.md`.

The package needs Python 3.12, so its adapter runs in an environment of its own; only where there is no such Python are
these tests skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.meta.tree import ROOT
from tests.peers.vibe.environment import PACKAGE, environment, new_python

PAGE = "docs/peers.md"
BEGIN, END = "<!-- vibe: made by tests/peers/vibe -->", "<!-- vibe: end -->"

FOUND = {
    "honest": {},
    "duplicate": {"duplicate-result": 5},
    "orphan": {"orphan-result": 2},
    "late": {"duplicate-result": 6, "request-after-end": 6},
}
"""In each world the laws that are broken, and how many events that takes."""

SAID = {
    "honest": "Nothing but results that are waited for, in any order",
    "duplicate": "A result comes a second time while the task runs",
    "orphan": "A result comes for a call that no model asked for",
    "late": "A result comes a second time after the task has completed",
}


@pytest.fixture(scope="module")
def found(request):
    """The findings in each world."""
    python = new_python()
    if python is None:
        pytest.skip("mistralai-vibe-protocol needs Python 3.12, and there is none here")
    folder = os.environ.get("AGENTCORE_PEERS") or request.config.cache.mkdir("agentcore-peers")
    inside = environment(Path(folder, "vibe"), python)
    command = [str(inside), str(Path(__file__).with_name("loop.py"))]
    ran = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("world", FOUND)
def test_each_world_breaks_what_is_said_and_everything_was_seen(found, world):
    told = found[world]
    assert {each["law"]: len(each["steps"]) for each in told["broken"]} == FOUND[world]
    assert told["capped"] == ""


@pytest.mark.parametrize("world", ["duplicate", "orphan", "late"])
def test_what_nobody_waits_for_calls_the_model_once_more(found, world):
    for text in found[world]["scenarios"].values():
        last = text.rstrip("\n").split("\n\n")[-1]
        assert last.startswith("result ")
        assert "\n    -> CallLLM\n" in last


def test_the_history_that_the_model_is_shown_stays_sound(found):
    """To be fair: a second result is never appended, none is lost, and no call is run twice."""
    broken = {each["law"] for told in found.values() for each in told["broken"]}
    assert broken.isdisjoint({"two-results", "result-lost", "deed-twice", "deed-unasked", "open-call"})
    assert {"two-results", "result-lost", "deed-twice"} <= set(found["late"]["laws"])


def test_the_page_says_what_was_found(found, golden):
    page = ROOT / PAGE
    kept = page.read_text("utf-8") if page.exists() else f"# Other loops, measured\n\n{BEGIN}\n{END}\n"
    before, _, rest = kept.partition(BEGIN)
    _, _, after = rest.partition(END)
    golden(PAGE, f"{before}{BEGIN}\n{section(found)}{END}{after}")


INTRODUCTION = """\
Its `AgentModule.reduce` is explored with two rounds of two calls by [its adapter](../tests/peers/vibe/loop.py), and
held to the [laws of agent loops](attack-your-loop.md). What a world allows happens at every point, in every order.
"""

VERDICT = """
What holds in every world: no result is shown to the model twice or lost, no call is run twice, the end stays. What
does not: each result that nobody waits for orders another model request once no call is open, so a request is out
twice, or after the end. A duplicate that comes while other calls of the batch are open changes nothing. The package's
documentation promises nothing about such results, and the execution loop that it ships hands back one result a call:
they come only to those who run the reducer over a transport that may repeat itself.

The shortest way to a request after the end, as the exploration writes it:
"""


def section(found) -> str:
    rows = []
    for world, told in found.items():
        broken = ", ".join(f"`{each['law']}` ({len(each['steps'])})" for each in told["broken"]) or "none"
        rows.append(f"| {SAID[world]}. | {told['states']} | {told['transitions']} | {broken} |")
    lines = [
        f"## `{PACKAGE.replace('==', '` ')}: a pure reducer, explored",
        "",
        INTRODUCTION,
        "| world | states | transitions | laws broken (events it takes) |",
        "|---|---|---|---|",
        *rows,
        VERDICT,
        "```text",
        *found["late"]["scenarios"]["request-after-end"].rstrip("\n").split("\n"),
        "```",
        "",
    ]
    return "\n".join(lines)
