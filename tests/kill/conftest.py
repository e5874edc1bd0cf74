"""What the runs share: one service, and a fork server for each of two processors."""

from __future__ import annotations

import pytest

from tests.kill.forks import serving
from tests.kill.program import Job
from tests.kill.runs import Runs
from tests.kill.service import Service


@pytest.fixture(scope="session")
def servers():
    with serving(2) as running:
        yield running


@pytest.fixture(scope="session")
def service():
    with Service().listening() as running:
        yield running


@pytest.fixture
def runs(tmp_path, servers, service):
    """Runs of two tools side by side; another job is put in with ``attrs.evolve``."""
    return Runs(tmp_path, servers, service, Job(place=""))
