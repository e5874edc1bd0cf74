"""The shape of the repository, and that what it tells a reader to run is what is run."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import tomllib

import pytest

from tests.meta.tree import PACKAGES, ROOT, files, name_of, nothing, sources

TOP = {"pyproject.toml", "README.md", "LICENSE", "agentcore", "interpreters", "tests", "docs"}
"""What may stand at the top, apart from names that begin with a dot."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

README = ROOT / "README.md"
MARKED = re.compile(r"^<!-- tests -->\n```\w*\n(?P<command>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.req("R-023")
def test_the_top_level_holds_only_what_belongs_there():
    names = {path.relative_to(ROOT).parts[0] for path in files()}
    nothing(sorted(name for name in names - TOP if not name.startswith(".")))


def test_each_package_says_that_it_is_typed():
    nothing(package for package in PACKAGES if not (ROOT / package / "py.typed").exists())


def test_every_directory_of_the_packages_is_a_package():
    """A directory without `__init__` is left out of the wheel without a word."""
    folders = {path.parent for path in sources(*PACKAGES)}
    nothing(folder.relative_to(ROOT) for folder in sorted(folders) if not (folder / "__init__.py").exists())


def test_every_other_file_of_the_packages_is_installed_with_them():
    installed = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    nothing(
        name_of(path)
        for path in files()
        if path.is_relative_to(ROOT / "agentcore") or path.is_relative_to(ROOT / "interpreters")
        if path.suffix != ".py" and not any(path.match(pattern) for pattern in installed)
    )


def test_the_installed_commands_lead_to_a_function():
    scripts = PROJECT["project"]["scripts"]
    assert set(scripts) == {"agentcore", "agentcore-reducer"}
    for target in scripts.values():
        module, _, name = target.partition(":")
        if (ROOT / module.replace(".", "/")).with_suffix(".py").exists() or (ROOT / module.replace(".", "/")).is_dir():
            assert callable(getattr(importlib.import_module(module), name))


def test_the_readme_marks_one_test_command_that_does_all_its_set_up():
    if not README.exists():
        return
    found = MARKED.findall(README.read_text(encoding="utf-8"))
    assert len(found) == 1
    for piece in ("python3 -m venv", "pip install", "-m pytest"):
        assert piece in found[0]


def test_ci_runs_the_very_command_that_the_readme_marks(tmp_path):
    """The line of `.ci/run` that reads the README is taken out of it and run on a page of our own."""
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    reader = next(line for line in script.split("\n") if line.startswith("command=$("))
    page = "```console\n$ other\n```\n\n<!-- tests -->\n```console\none &&\n  two\n```\n\n```\nthree\n```\n"
    (tmp_path / "README.md").write_text(page, encoding="utf-8")
    ran = subprocess.run(
        ["bash", "-c", f'{reader}\nprintf %s "$command"'], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "one &&\n  two"
    assert MARKED.findall(page) == ["one &&\n  two\n"]


def test_ci_is_a_script_that_bash_accepts():
    assert os.access(ROOT / ".ci/run", os.X_OK)
    subprocess.run(["bash", "-n", ROOT / ".ci/run"], check=True)
