"""What all tests share: options, Hypothesis profiles, the two event loops, and golden files.

Options:

- ``--rewrite`` writes every golden file anew instead of comparing; read the change as a diff before committing it.
- ``--deep`` adds the tests marked ``deep`` and tells the fixture ``deep``.

``HYPOTHESIS_PROFILE`` chooses how examples are made: ``ci`` (the default: the same examples in every run), ``dev``
(new examples in every run, few of them) or ``deep`` (new examples, many).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.watch import one_door  # noqa: F401 - pytest finds the fixture by its name here

ROOT = Path(__file__).resolve().parent.parent
"""The top of the repository."""

_LINES = pytest.StashKey[list[str]]()

# A slow machine is no defect of the code, so no profile sets a deadline.
_COMMON = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", max_examples=50, derandomize=True, database=None, **_COMMON)
settings.register_profile("dev", max_examples=50, **_COMMON)
settings.register_profile("deep", max_examples=1000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser):
    group = parser.getgroup("agentcore")
    group.addoption("--rewrite", action="store_true", help="write golden files anew instead of comparing with them")
    group.addoption("--deep", action="store_true", help="also run the tests marked `deep`")


def pytest_configure(config):
    config.stash[_LINES] = []


def pytest_collection_modifyitems(config, items):
    if config.getoption("--deep"):
        return
    deep = [item for item in items if item.get_closest_marker("deep")]
    if deep:
        config.hook.pytest_deselected(items=deep)
        items[:] = [item for item in items if not item.get_closest_marker("deep")]


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash[_LINES]:
        terminalreporter.write_line(line)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request) -> str:
    """Each test marked ``anyio`` runs on both event loops."""
    return request.param


@pytest.fixture(scope="session")
def deep(request) -> bool:
    """Whether the run may take long."""
    return request.config.getoption("--deep")


@pytest.fixture(scope="session")
def report(request) -> Callable[[str], None]:
    """Return ``report(line)``, which shows a line at the end of the run: counts and measures."""
    return request.config.stash[_LINES].append


@pytest.fixture(scope="session")
def golden(request) -> Callable[[Path | str, str], None]:
    """Return ``golden(path, text)``: the file at ``path`` (absolute, or from the top) must hold exactly ``text``.

    With ``--rewrite`` the file is written (with its directories) and the test passes; without it a difference fails
    the test and shows the diff. Text is UTF-8 with ``\\n``; end it with one newline.
    """
    config = request.config

    def check(path: Path | str, text: str) -> None:
        file = ROOT / path
        name = str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else str(file)
        found = file.read_bytes().decode("utf-8") if file.exists() else ""
        if found == text and file.exists():
            return
        if config.getoption("--rewrite"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8"))
            config.stash[_LINES].append(f"rewritten: {name}")
            return
        lines = difflib.unified_diff(found.splitlines(True), text.splitlines(True), f"{name} (kept)", f"{name} (now)")
        pytest.fail(f"{name} is stale; run pytest with --rewrite and review the diff\n{''.join(lines)}", pytrace=False)

    return check
