"""The how-to page does what it says: its files are written, its commands are run, and their output is compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from agentcore.testing.protocol import DEAD_END, LIVELOCK, NO_WAY_OUT
from agentcore.testing.protocol.judging import RETURNS, UNTOUCHED
from agentcore.testing.protocol.loops import TEXTS
from tests.meta.tree import ROOT

PAGE = (ROOT / "docs/attack-your-loop.md").read_text("utf-8")
BLOCK = re.compile(
    r"^```(?P<kind>\w+)(?: (?P<name>\S+))?(?: (?P<how>\w+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)


def write(folder, name, how, body):
    file = folder / name
    kept = file.read_text("utf-8") if file.exists() else ""
    if how == "replace":
        old, new = body.split("---\n")
        assert kept.count(old) == 1, f"{name} does not hold\n{old}"
        body = kept.replace(old, new)
    elif how == "append":
        body = kept + body
    file.write_text(body, "utf-8")


def run(folder, command):
    """What a command says; pytest and python are those of this run, with the plugin as an installation has it."""
    words = [each.strip("'") for each in command.split()]
    plugin = ["-p", "interpreters.loop_check.plugin", "-p", "no:cacheprovider"]
    call = {"pytest": [sys.executable, "-m", "pytest", *plugin], "python": [sys.executable]}[words[0]] + words[1:]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    # Bytecode is kept by the second, and the page changes a file more often than that.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def compare(said, shown):
    """Each stretch between two lines ``...`` stands in what was said, line by line, one stretch behind the other."""
    rest = f"\n{said}"
    for stretch in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE):
        _, found, rest = rest.partition(f"\n{stretch.rstrip()}")
        assert found, f"this is not said, or not in this place:\n{stretch}\n\nwhat is said:\n{said}"
        rest = f"\n{rest.lstrip()}" if not rest.startswith("\n") else rest


@pytest.mark.req("R-022")
def test_from_nothing_to_a_saved_counterexample(tmp_path):
    ran = []
    for block in BLOCK.finditer(PAGE):
        if block["name"]:
            write(tmp_path, block["name"], block["how"], block["body"])
            continue
        first, _, shown = block["body"].partition("\n")
        command = first.removeprefix("$ ")
        ran.append(command)
        if not command.startswith("pip "):
            compare(run(tmp_path, command), shown)
    assert len(ran) == 6
    assert sorted(path.name for path in (tmp_path / "scenarios").iterdir()) == [
        "MyLoop-end-stays.txt",
        "MyLoop-request-after-end.txt",
    ]


def test_the_loop_of_the_page_has_twenty_lines():
    loop = next(block for block in BLOCK.finditer(PAGE) if block["name"] == "my_loop.py")
    assert len([line for line in loop["body"].split("\n") if line]) <= 20


def test_the_page_tells_every_law_in_its_own_words():
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.+?) \|$", PAGE, re.MULTILINE))
    others = {
        law.name: " ".join(law.text.split(". What is ignored")[0].split())
        for law in (DEAD_END, NO_WAY_OUT, LIVELOCK, RETURNS, UNTOUCHED)
    }
    assert set(rows) == {*TEXTS, *others}
    assert {name: rows[name] for name in TEXTS} == dict(TEXTS)
    for name, text in others.items():
        assert text.startswith(rows[name].rstrip(".")), name
