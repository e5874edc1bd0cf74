"""Effects nobody can vouch for: shown with what can be done, and done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from interpreters.cli.exits import Exit
from tests.cli.replies import say, writes
from tests.meta.tree import ROOT


@pytest.fixture
def killed(cli):
    """A session whose process was killed while a shell command ran."""
    mark = cli.place / "mark"
    script = cli.script(say("", ("shell", {"command": f"echo x >> {mark}; sleep 60"})), say("I see."))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "interpreters.cli", "run", "hi", "--id", "s", "--allow", "shell", *script],
        cwd=cli.place,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while not mark.exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    return cli, script


@pytest.mark.req("R-155", "R-156", "R-162", "R-208")
def test_a_killed_command_is_unknown_and_checking_stands_before_anything_else(killed):
    cli, script = killed
    ran = cli("resume", "s", *script, "--approval", "wait")
    assert ran.code == Exit.UNRESOLVED
    shown = cli("inspect", "s")
    assert shown.code == Exit.UNRESOLVED
    assert "? 1.1.0 shell(command=" in shown.out
    assert "opaque: no program can find out; a person has to look" in shown.out
    look, resolve = shown.out.index("inspect s --look 1.1.0"), shown.out.index("inspect s --resolve 1.1.0 executed")
    assert look < resolve
    assert "--retry" not in shown.out
    (value,) = cli("inspect", "s", "--json").lines
    assert (value["effects"][0]["call_id"], value["effects"][0]["acts"]) == ("1.1.0", ["look", "resolve"])


@pytest.mark.req("R-158", "R-243")
def test_a_retry_is_refused_before_the_absence_is_proved(killed):
    cli, script = killed
    ran = cli("inspect", "s", "--retry", "1.1.0", "--approval", "wait", *script)
    assert ran.code == Exit.USAGE
    assert "effect-not-proved-absent" in ran.err
    assert (cli.place / "mark").read_text(encoding="utf-8") == "x\n"


@pytest.mark.parametrize(
    ("what", "standing"),
    [("executed", "succeeded"), ("failed", "failed-call"), ("not-executed", "not-executed")],
)
def test_a_persons_word_settles_it_and_the_turn_goes_on(killed, what, standing):
    cli, script = killed
    flags = ("--resolve", "1.1.0", what, "--result", "I looked", "--approval", "wait")
    ran = cli("inspect", "s", *flags, *script)
    assert (ran.code, ran.out) == (Exit.COMPLETED, "I see.\n")
    called = [entry for entry in cli("show", "s", "--json").lines[0]["transcript"] if entry["kind"] == "called"]
    assert called[0]["standing"] == standing
    assert (cli.place / "mark").read_text(encoding="utf-8") == "x\n"
    assert cli("inspect", "s").code == Exit.COMPLETED


def test_where_nobody_can_look_it_is_given_up_stays_in_the_register_and_can_be_resolved_later(killed):
    cli, script = killed
    ran = cli("resume", "s", *script)
    assert ran.code == Exit.UNRESOLVED
    assert "Check what became of it: agentcore inspect s" in ran.err
    assert "- look" not in cli("inspect", "s").out
    ran = cli("inspect", "s", "--resolve", "1.1.0", "executed")
    assert ran.code == Exit.COMPLETED
    assert cli("inspect", "s").code == Exit.COMPLETED


def test_nonsense_is_refused_by_name(killed):
    cli, script = killed
    assert "'maybe' is none of executed" in cli("inspect", "s", "--resolve", "1.1.0", "maybe", *script).err
    ran = cli("inspect", "s", "--look", "9.9.9", "--approval", "wait", *script)
    assert ran.code == Exit.USAGE
    assert "foreign-call" in ran.err


def test_a_session_without_open_effects_says_where_it_stands(cli):
    cli("run", "hi", "--id", "s", "--allow", "write_file", *cli.script(say("", writes("a")), say("x")))
    ran = cli("inspect", "s")
    assert (ran.code, ran.out) == (Exit.COMPLETED, "Done.\n")
