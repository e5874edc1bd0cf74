"""The watch inside the process sees what it is there for."""

from __future__ import annotations

import pytest

from tests import watch


def run_as(name: str, source: str) -> list[str]:
    """Run source as if it stood in a file of the project, and return what the watch saw."""
    exec(compile(source, f"{watch._ROOT}/{name}", "exec"), {})
    seen = list(watch._seen)
    watch._seen.clear()
    return seen


@pytest.mark.parametrize(
    "source",
    [
        "open('/dev/null')",
        "from pathlib import Path; Path('/dev/null').read_bytes()",
        "import os; getattr(os, 'list' + 'dir')('/')",
        "import subprocess; subprocess.run(['true'])",
        "import tempfile; tempfile.TemporaryFile()",
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_act_past_the_door_is_seen(source):
    assert run_as("interpreters/engine/x.py", source)[0].startswith("interpreters/engine/x.py:1 ")


@pytest.mark.parametrize("name", ["interpreters/support/osio.py", "interpreters/cli.py", "tests/x.py"])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_door_the_command_line_and_the_tests_may_act(name):
    assert run_as(name, "open('/dev/null')") == []


def test_an_import_is_not_an_act():
    assert run_as("interpreters/engine/x.py", "import sys; sys.modules.pop('wave', None); import wave") == []
