"""What the README shows is what is run: both examples, and both commands."""

from __future__ import annotations

import re
import runpy

import pytest

from tests.meta.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
EXAMPLES = ROOT / "docs/examples"


def test_there_are_two_examples():
    assert len(BLOCKS) == 2


@pytest.mark.req("R-022")
def test_the_host_api_as_the_readme_shows_it(tmp_path, capsys):
    file = tmp_path / "example.py"
    file.write_text(BLOCKS[0], encoding="utf-8")
    runpy.run_path(str(file), run_name="__main__")
    assert capsys.readouterr().out == "final_answer: The sum is 5.\n"


@pytest.mark.req("R-007", "R-022")
def test_the_same_turn_driven_by_hand_as_the_readme_shows_it(tmp_path, capsys):
    """The README shows the loop; what it is about stands before it in the file that the loop is taken from."""
    whole = (EXAMPLES / "by_hand.py").read_text(encoding="utf-8")
    before, after = whole.split(BLOCKS[1])
    file = tmp_path / "example.py"
    file.write_text(before + BLOCKS[1] + after, encoding="utf-8")
    runpy.run_path(str(file), run_name="__main__")
    assert "The sum is 5." in capsys.readouterr().out


def test_the_first_example_is_a_file_too():
    assert BLOCKS[0] in (EXAMPLES / "with_agent.py").read_text(encoding="utf-8").replace(
        "from __future__ import annotations\n\n", ""
    )


def test_the_two_commands_do_all_the_set_up():
    commands = re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert commands[0] == "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/agentcore demo\n"
    assert (
        "<!-- tests -->\n```console\n"
        "python3 -m venv .venv && .venv/bin/pip install -q '.[dev]' && .venv/bin/python -m pytest\n```" in README
    )


def test_it_says_whose_agentcore_this_is_not():
    assert "agentcore-reducer" in README
    assert "Another vendor's toolkit" in README


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md", "docs/how-it-works.md"])
def test_every_link_leads_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []
