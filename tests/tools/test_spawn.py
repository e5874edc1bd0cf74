"""Programs that are started hear what they are told."""

from __future__ import annotations

import subprocess
import sys

from tests.meta.tree import ROOT

IGNORING = """
import asyncio, signal, sys
from pathlib import Path
from interpreters.support import spawn

async def main():
    waits = "import time; print('up', flush=True); time.sleep(60)"
    program = spawn.start([sys.executable, "-c", waits], cwd=Path(), env={})
    async def take(piece):
        program.signal(signal.SIGINT)
    ended = await program.wait(take)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return 0 if ended.status == -signal.SIGINT else 1

signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.exit(asyncio.run(main()))
"""


def test_a_program_hears_an_interrupt_although_whoever_starts_it_was_told_to_ignore_it():
    ran = subprocess.run([sys.executable, "-c", IGNORING], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
