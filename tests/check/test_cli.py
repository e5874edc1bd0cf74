"""``agentcore check``: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from interpreters.check import MEANINGS, NAMED, Rule, Setup
from interpreters.check.play import environment
from interpreters.check.record import Record
from interpreters.cli import main
from interpreters.support import osio
from tests.check.conftest import AGENTS
from tests.meta.tree import ROOT

GOOD = [sys.executable, str(AGENTS / "good.py")]


def check(capsys, *arguments):
    code = main(["check", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_program_that_keeps_the_rules_ends_with_zero(capsys):
    code, out, _ = check(capsys, "--scenarios", "text-only,one-call", "--", *GOOD)
    assert code == 0
    assert out.rstrip().endswith("seed 0)")
    assert re.search(r"^executed-once +held ", out, re.MULTILINE)
    assert re.search(r"^not-after-denial +not applicable ", out, re.MULTILINE)


def test_a_broken_program_ends_with_one_and_its_script_is_shown(capsys, tmp_path):
    report = tmp_path / "junit.xml"
    program = [sys.executable, str(AGENTS / "answers_twice.py")]
    code, out, _ = check(capsys, "--scenarios", "three-rounds,text-only", "--junit", str(report), "--", *program)
    assert code == 1
    assert "scenario three-rounds  (shortest form after " in out
    assert ", minimal)" in out
    assert "answered-once: no call in the history has two results" in out
    assert "POST /v1/chat/completions" in out
    suite = ET.fromstring(report.read_text())
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    failure = suite.find("testcase[@name='three-rounds']/failure")
    assert "has 2 results" in failure.get("message")
    assert "what happened" in failure.text


def test_at_a_terminal_each_scenario_has_a_line(capsys, monkeypatch):
    monkeypatch.setattr(osio, "is_terminal", lambda descriptor: descriptor == 2)
    monkeypatch.setenv("NO_COLOR", "1")
    program = [sys.executable, str(AGENTS / "answers_twice.py")]
    _, _, err = check(capsys, "--no-shrink", "--scenarios", "text-only,one-call,kill-in-deed", "--", *program)
    assert sorted(line[7:] for line in err.splitlines()) == [
        "kill-in-deed  not applicable",
        "one-call  broken: answered-once",
        "text-only  held",
    ]


def test_json_holds_the_whole_report(capsys):
    code, out, _ = check(capsys, "--json", "--scenarios", "denial,kill-in-deed", "--", *GOOD)
    told = json.loads(out)
    assert code == 0
    assert (told["schema"], told["held"], told["command"]) == (1, True, GOOD)
    assert told["rules"]["not-after-denial"] == "held"
    denial, kill = told["scenarios"]
    assert (denial["verdict"], denial["deeds"], denial["findings"]) == ("held", 1, [])
    assert (kill["verdict"], kill["lacking"], kill["exercised"]) == (
        "not applicable",
        ["there is no resume command"],
        [],
    )


def test_the_list_tells_every_scenario_and_the_same_seed_makes_the_same_ones(capsys):
    code, out, _ = check(capsys, "--list", "--seed", "3")
    assert code == 0
    assert [each.name for each in NAMED if f"{each.name}\n" not in out] == []
    assert check(capsys, "--list", "--seed", "3")[1] == out
    assert check(capsys, "--list", "--seed", "4")[1] != out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "no program was given"),
        (["--scenarios", "frob", "--", "true"], "there is no scenario 'frob'"),
        (["--", "./no-such-program"], "cannot be started"),
        (["--resume-command", "'", "--", "true"], "--resume-command cannot be read"),
        (["--scenarios", "text-only", "--junit", "/no/such/place", "--", *GOOD], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_code_for_wrong_usage(capsys, arguments, word):
    code, _, err = check(capsys, *arguments)
    assert (code, word in err) == (2, True)


def test_ctrl_c_ends_the_check_and_its_program(tmp_path):
    """The program writes its number and sleeps; after the interrupt it is gone."""
    note = tmp_path / "pid"
    source = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    arguments = [sys.executable, "-m", "interpreters.cli", "check", "--", sys.executable, "-c", source]
    with subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not (note.exists() and note.read_text()):
            assert process.poll() is None
        process.send_signal(2)
        process.communicate(timeout=20)
    assert process.returncode in (-2, 130)
    with pytest.raises(ProcessLookupError):
        __import__("os").kill(int(note.read_text()), 0)


def test_the_page_has_every_rule_variable_and_option(capsys):
    page = (ROOT / "docs/check.md").read_text(encoding="utf-8")
    assert [rule for rule in Rule if f"| `{rule}` | {MEANINGS[rule]} |" not in page] == []
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    options = set(re.findall(r"`(--[a-z-]+)", page))
    assert len(options) > 7
    given = environment(Record(NAMED[0], "mark", "prompt"), Setup(command=("x",)), 1, ROOT)
    named = {name for name in given if name.startswith(("AGENTCORE_CHECK_", "OPENAI_BASE", "ANTHROPIC_"))}
    assert sorted(name for name in named if f"`{name}`" not in page) == []
    assert options <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
