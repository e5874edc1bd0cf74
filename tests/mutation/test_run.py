"""The whole way, on demand: mutants are made, judged, and those that live are the ones whose reason is written down."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIVES = re.compile(r"^- `(?P<module>\w+)\.(?P<function>\w+)`", re.MULTILINE)


@pytest.mark.deep
def test_who_lives_has_a_reason(report):
    pytest.importorskip("mutmut", reason="mutants of the steps are made by mutmut: pip install mutmut")
    run = subprocess.run(
        [sys.executable, "-m", "tests.mutation.run"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for line in run.stdout.splitlines():
        if "killed" in line:
            report(line)
    alive = re.findall(r"^alive:\n    (.+)$", run.stdout, re.MULTILINE)
    reasons = {(each["module"], each["function"]) for each in LIVES.finditer((ROOT / "docs/mutation.md").read_text())}
    places = [re.fullmatch(r"agentcore\.steps\.(?:\w+\.)*(\w+)\.x_(\w+?)__mutmut_\d+", name) for name in alive]
    assert all(places), f"a mutant of a row lives: {alive}"
    assert {(place[1], place[2]) for place in places if place} <= reasons
