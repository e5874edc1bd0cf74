"""What can be typed, and how quickly help comes."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from interpreters.cli import main
from interpreters.cli.exits import MEANINGS, Exit
from interpreters.cli.parser import EXIT_CODES, VARIABLES
from tests.meta.tree import ROOT

COMMANDS = ("run", "chat", "resume", "sessions", "show", "log", "inspect", "explore", "check", "demo")


def help_of(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_names_every_command_and_every_exit_code(capsys):
    text = help_of(capsys)
    assert [name for name in COMMANDS if name not in text] == []
    assert EXIT_CODES in text
    assert VARIABLES in text


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_the_exit_codes(capsys, name):
    assert EXIT_CODES in help_of(capsys, name)


def test_help_needs_none_of_the_libraries():
    source = (
        "import sys\nfrom interpreters.cli import main\ntry:\n    main(['run', '--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'anyio', 'attr', 'httpx', 'agentcore', 'structlog', 'msgspec'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.rstrip().endswith("\n[]")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frob"],
        ["run"],
        ["run", "x", "--max-steps", "-1"],
        ["run", "x", "--timeout", "nan"],
        ["run", "x", "--mod", "m"],
    ],
)
def test_what_cannot_be_read_ends_with_the_code_for_wrong_usage(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == Exit.USAGE
    assert "usage: agentcore" in capsys.readouterr().err


def test_the_version_says_whose_it_is(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("agentcore-reducer ")


def test_every_exit_code_has_a_meaning_that_the_help_and_the_page_give():
    assert [code for code, _ in MEANINGS] == list(Exit)
    assert [code for code in Exit if not re.search(rf"\b{int(code)} \w", EXIT_CODES)] == []
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert [code for code, text in MEANINGS if f"| {int(code)} | {text} |" not in page] == []


def test_the_page_names_every_variable_and_command():
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    variables = re.findall(r"\b(?:OPENAI|AGENTCORE)_\w+|NO_COLOR", VARIABLES)
    assert [name for name in (*variables, *(f"agentcore {name}" for name in COMMANDS)) if name not in page] == []
