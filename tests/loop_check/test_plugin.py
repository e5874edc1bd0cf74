"""The fixture ``loop_check`` in a project of its own: what it says and saves, and that nobody else pays for it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tomllib

import pytest

from agentcore.testing.examples import approval, naive_loop
from agentcore.testing.protocol import explore_protocol, protocol_scenario
from tests.meta.tree import ROOT

LOOP = """
    class Loop:
        initial = ("asking", 0)
        def enabled(self, state):
            return ["result", "answer"]
        def reduce(self, state, event):
            phase, count = state
            if event == "answer":
                return ("done", count), []
            return ("asking", min(count + 1, MOST)), []
        def accepting(self, state):
            return state[0] == "done"
"""
TEST = "def test_my_loop(loop_check): loop_check.run(Loop())"


@pytest.fixture
def project(pytester):
    """Run pytest on a test file, with the plugin loaded as an installation would."""

    def run(source, *options, **files):
        pytester.makepyfile(source, **files)
        return pytester.runpytest("-p", "interpreters.loop_check.plugin", "-p", "no:cacheprovider", *options)

    return run


def example(module, *, mended=False, arguments=""):
    name = module.__name__.rpartition(".")[2]
    return f"""
        from agentcore.testing.examples import {name}
        def test_it(loop_check):
            loop_check.run({name}.protocol(mended={mended}){arguments})
    """


def test_a_sound_loop_passes_and_the_run_says_what_was_seen(project):
    ran = project(f"MOST = 3\n{textwrap.dedent(LOOP)}\n{TEST}")
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(["*loop check*", "Loop: 8 states, 16 transitions, 4 events deep; everything was seen"])


def test_a_flawed_one_fails_with_its_shortest_counterexample(project):
    ran = project(example(approval))
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(
        [
            "# paid-as-approved: version 2 is paid, and approved is [[]1[]]",
            "",
            "ask for approval",
            "    draft 1, asked about 1",
            "",
            "change the draft",
            "*",
            "deliver the approval",
            "    draft 2, paid 2",
            "    -> pay version 2",
            "    broken paid-as-approved: version 2 is paid, and approved is [[]1[]]",
        ]
    )
    ran.stdout.no_fnmatch_line("*checks.py*")


def test_a_search_that_was_cut_short_passes_and_does_not_look_like_a_proof(project):
    ran = project(example(approval, mended=True, arguments=", states=10"))
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(["*ended by its bound of states; undecided: dead-end, no-way-out, livelock"])


def test_unless_the_whole_is_wanted(project):
    ran = project(example(approval, mended=True, arguments=", states=10, whole=True"))
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["*not everything was seen*"])


def test_deep_searches_more(project):
    ran = project(example(approval, mended=True, arguments=", states=10, whole=True"), "--loop-check-deep")
    ran.assert_outcomes(passed=1)


def test_every_counterexample_is_saved_where_the_option_says(project, pytester):
    ran = project(example(naive_loop), "--loop-check-save", "found/here")
    ran.assert_outcomes(failed=1)
    findings = explore_protocol(naive_loop.protocol())
    saved = {path.name: path.read_text("utf-8") for path in (pytester.path / "found/here").iterdir()}
    expected = {f"naive-loop-{each.law}.txt": protocol_scenario(findings.protocol, each) for each in findings.broken}
    assert saved == expected


PLAYS = """
    from agentcore.testing.examples import {name}
    def test_it(loop_check):
        loop_check.scenario({name}.protocol(mended={mended}), "kept.txt")
"""


def counterexample():
    findings = explore_protocol(approval.protocol())
    return protocol_scenario(findings.protocol, findings.broken[0])


def test_a_kept_scenario_fails_while_the_flaw_is_there_and_is_renewed_when_it_is_mended(project, pytester):
    kept = pytester.path / "kept.txt"
    kept.write_text(counterexample(), "utf-8")
    project(PLAYS.format(name="approval", mended=False)).assert_outcomes(failed=1)
    otherwise = project(PLAYS.format(name="approval", mended=True))
    otherwise.assert_outcomes(failed=1)
    otherwise.stdout.fnmatch_lines(["*--loop-check-rewrite renews it*", "+    -> ask for approval"])
    assert kept.read_text("utf-8") == counterexample()
    project(PLAYS.format(name="approval", mended=True), "--loop-check-rewrite").assert_outcomes(passed=1)
    assert "broken" not in kept.read_text("utf-8")
    project(PLAYS.format(name="approval", mended=True)).assert_outcomes(passed=1)


def test_a_line_that_cannot_happen_any_more_is_named(project, pytester):
    (pytester.path / "kept.txt").write_text("protocol approval\ndeliver the approval\n", "utf-8")
    ran = project(PLAYS.format(name="approval", mended=True))
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["*kept.txt: line 2: deliver the approval cannot happen here; what can is: *"])


def test_a_name_is_no_path(project, pytester):
    project('def test_it(loop_check): loop_check.save("../../up/\\u202e x", "text\\n")', "--loop-check-save", "in")
    assert [path.name for path in (pytester.path / "in").iterdir()] == ["up-x.txt"]
    project('def test_it(loop_check): assert loop_check.save("x", "text") is None').assert_outcomes(passed=1)


def test_a_program_is_attacked_from_outside(project):
    source = f"""
        def test_it(loop_check):
            loop_check.black_box([{sys.executable!r}, "-c", "pass"], scenarios=["text-only"])
    """
    ran = project(source)
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["*black box: *: broken"])


def test_loading_the_plugin_loads_nothing_else():
    source = """
        import sys
        import pytest
        before = set(sys.modules)
        import interpreters.loop_check.plugin
        print(sorted({name for name in set(sys.modules) - before}))
    """
    source = "\n".join(line.strip() for line in source.split("\n"))
    ran = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['interpreters', 'interpreters.loop_check', 'interpreters.loop_check.plugin']"


def test_exploring_needs_no_hypothesis(tmp_path):
    (tmp_path / "test_it.py").write_text(textwrap.dedent(example(approval, mended=True)), "utf-8")
    (tmp_path / "hypothesis.py").write_text("raise ImportError", "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "interpreters.loop_check.plugin", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 passed" in ran.stdout


def test_an_installation_loads_the_plugin_under_the_name_that_the_option_has():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    assert points == {"interpreters.loop_check.plugin": "interpreters.loop_check.plugin"}
