"""How the agents of this directory are attacked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from interpreters import check

AGENTS = Path(__file__).parent / "agents"

QUICK = check.Patience(connect_s=5, quiet_s=4, whole_s=60, requests_max=60, output_max=300_000, hold_s=2, margin_s=0.8)
"""Nobody here needs long."""

SLOWER = check.Patience(quiet_s=20, connect_s=20, hold_s=2.5, margin_s=0.9, slow_s=0.5, hang_s=1.5, stall_s=0.5)
"""For what has much to import."""


@pytest.fixture
def attack():
    """Return ``attack(agent, *scenarios, dialect=…, …)``: the report."""
    return attack_agent


def attack_agent(agent, *scenarios, dialect="chat", streams=True, resumes=True, shrinks=False, **settings):
    command = [sys.executable, str(AGENTS / f"{agent}.py")]
    given = {
        "dialect": dialect,
        "patience": QUICK,
        "env": {"AGENT_DIALECT": dialect, "AGENT_STREAMS": "yes" if streams else "no"},
        "resume_command": [*command, "--resume"] if resumes else (),
        "shrinks": shrinks,
    }
    return check.run(command, scenarios=scenarios or None, **given | settings)
