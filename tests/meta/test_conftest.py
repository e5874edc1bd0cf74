"""The helpers that all tests lean on are tested themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.meta.tree import ROOT

GOLDEN = """
from __future__ import annotations

def test_golden(golden):
    golden({path!r}, "one\\ntwo\\n")
"""


def run_pytest(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_bytes((ROOT / "tests/conftest.py").read_bytes())
    (folder / "test_it.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_golden_file_that_differs_fails_and_shows_the_difference(tmp_path):
    file = tmp_path / "kept.txt"
    file.write_text("one\nthree\n")
    ran = run_pytest(tmp_path, GOLDEN.format(path=str(file)))
    assert ran.returncode == 1
    assert "-three" in ran.stdout
    assert "+two" in ran.stdout
    assert "--rewrite" in ran.stdout
    assert file.read_text() == "one\nthree\n"


def test_a_missing_golden_file_fails(tmp_path):
    assert run_pytest(tmp_path, GOLDEN.format(path=str(tmp_path / "new.txt"))).returncode == 1


def test_rewrite_writes_the_golden_file_and_says_so(tmp_path):
    file = tmp_path / "made" / "kept.txt"
    ran = run_pytest(tmp_path, GOLDEN.format(path=str(file)), "--rewrite")
    assert ran.returncode == 0
    assert file.read_text() == "one\ntwo\n"
    assert "rewritten: " in ran.stdout
    assert "made/kept.txt" in ran.stdout
    assert run_pytest(tmp_path, GOLDEN.format(path=str(file))).returncode == 0


def test_deep_tests_run_only_when_asked_for(tmp_path):
    source = "import pytest\n@pytest.mark.deep\ndef test_long(deep):\n    assert deep\ndef test_short():\n    pass\n"
    marker = ("-o", "markers=deep: long")
    assert "1 passed, 1 deselected" in run_pytest(tmp_path, source, *marker).stdout
    assert "2 passed" in run_pytest(tmp_path, source, *marker, "--deep").stdout


def test_a_test_marked_anyio_runs_on_both_event_loops(tmp_path):
    source = (
        "import pytest, trio\n@pytest.mark.anyio\n"
        "async def test_loop(anyio_backend):\n    assert trio.lowlevel.in_trio_run() == (anyio_backend == 'trio')\n"
    )
    ran = run_pytest(tmp_path, source, "-v", "-v")
    assert "test_loop[asyncio] PASSED" in ran.stdout
    assert "test_loop[trio] PASSED" in ran.stdout
