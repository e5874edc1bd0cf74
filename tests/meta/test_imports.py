"""Who may import whom, and what each package needs to be imported at all."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from tests.meta.tree import ROOT, at, imported, name_of, nothing, sources

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

REFUSE = """
import sys

ALLOWED = set({allowed!r}) | set(sys.stdlib_module_names)

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ModuleNotFoundError(f"refused: {{name}}", name=name)

sys.meta_path.insert(0, Refuse())
import {module}
"""


def import_with_only(module: str, *allowed: str) -> str:
    """What a fresh process says on standard error when it imports a module with only some libraries installed."""
    source = REFUSE.format(allowed=allowed, module=module)
    return subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False).stderr


@pytest.mark.req("R-012", "R-023")
def test_the_import_contracts_hold():
    source = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True, no_logo=True))"
    ran = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_core_can_be_imported_with_attrs_alone():
    assert import_with_only("agentcore", "agentcore", "attr", "attrs") == ""


def test_the_refusing_import_refuses():
    assert "refused: anyio" in import_with_only("anyio", "agentcore")


def test_the_explorer_can_be_imported_without_hypothesis_and_pytest():
    if not sources("agentcore/testing/explore.py", "agentcore/testing/explore"):
        return
    needs = ("agentcore", "attr", "attrs", "cattrs", "orjson", "typing_extensions")
    assert import_with_only("agentcore.testing.explore", *needs) == ""


def test_hypothesis_and_pytest_are_used_below_testing_only():
    allowed = re.compile(r"agentcore/testing/(?!explore)|interpreters/loop_check/")
    nothing(
        f"{at(path, line)} {name}"
        for path in sources("agentcore", "interpreters")
        for name, line in imported(path)
        if name.split(".")[0] in {"hypothesis", "pytest"} and not allowed.match(name_of(path))
    )


def test_every_library_that_is_imported_is_declared():
    optional = {"hypothesis", "pydantic_ai", "pytest", "trio"}
    declared = {re.split(r"[>=<~\[]", each)[0].replace("-", "_") for each in PROJECT["project"]["dependencies"]}
    known = declared | optional | {"agentcore", "interpreters"} | set(sys.stdlib_module_names)
    nothing(
        f"{at(path, node)} {name}"
        for path in sources("agentcore", "interpreters")
        for name, node in imported(path)
        if not name.startswith(".") and name.split(".")[0] not in known
    )


def test_modules_are_imported_by_their_full_name():
    nothing(
        f"{at(path, line)} {name}"
        for path in sources("agentcore", "interpreters")
        for name, line in imported(path)
        if name.startswith(".")
    )
