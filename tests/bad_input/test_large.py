"""A tool that puts out a hundred megabytes: the model is shown the ends, the whole is kept, memory stays bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from interpreters import FileStore
from tests.bad_input import large
from tests.bad_input.sessions import goes_on

TOP = Path(__file__).resolve().parents[2]

KINDS = {"text": 160, "objects": 260, "shell": 100, "fail": 260}
"""What puts it out, and by how many million bytes the process may grow, the hundred of the output itself included.

A text is copied in parts only; objects and the message of an exception are made into text first, which takes one more.
What a command writes is never whole in memory.
"""


def run(place: Path, kind: str) -> dict:
    """What the program reports."""
    environment = {**os.environ, "PYTHONPATH": str(TOP), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, large.__file__, str(place), kind]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return json.loads(ran.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not large.STATUS.exists(), reason="this system does not tell how much memory was used")
@pytest.mark.req("G-13")
@pytest.mark.parametrize("kind", KINDS)
def test_a_huge_output_is_cut_for_the_model_and_kept_whole(tmp_path, kind, report):
    told = run(tmp_path, kind)
    report(f"100 MB from {kind}: the process grew by {told['grown_mb']} MB")
    assert told["text"] == "done"
    assert told["grown_mb"] < KINDS[kind]
    assert len(told["content"]) < 31_000
    assert "characters left out" in told["content"]
    journal = (tmp_path / "store" / "s" / "segment-000001.ndjson").stat().st_size
    assert journal < 200_000
    if kind != "fail":  # what an exception says is no result: only its ends are kept
        assert kept(tmp_path / "store", told["places"]) >= large.SIZE
        assert "the whole is kept as" in told["content"]
    anyio.run(goes_on, tmp_path / "store", "s")


def kept(place: Path, places: list[str]) -> int:
    """How many bytes can be read back."""

    async def read() -> int:
        return sum([len(await FileStore(place).kept("s", each)) for each in places])

    return anyio.run(read)
