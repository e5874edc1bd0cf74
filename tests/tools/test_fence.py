"""A file is replaced at most once: whoever is killed, paused, late, or asked about.

The writers are real processes, killed with SIGKILL or stopped with SIGSTOP at each point where they touch the disk.
The file counts the deeds: each puts one ``x`` into it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentcore.events import Finding
from interpreters.support import osio
from interpreters.tools import OutcomeUnknown, ToolContext, ToolError, fence, file_tools
from interpreters.tools.notes import Notes
from interpreters.tools.root import Root

WRITER = Path(__file__).parent / "writer.py"
EDITED, VOIDED = 0, 3
POINTS_MIN = 20


def sink_in(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    sink = directory / "sink"
    sink.write_text("|")
    return sink


def start(root, attempt, *arguments, **env):
    command = [sys.executable, str(WRITER), str(root), str(attempt), *map(str, arguments)]
    return subprocess.Popen(command, env={**os.environ, **env})


def run(root, attempt, **env):
    return start(root, attempt, **env).wait(60)


def edit(root, attempt, path="sink", old="|", new="x|"):
    tool = next(each for each in file_tools(root) if each.name == "edit_file")
    return tool.function(ToolContext("session-1", "1.1.0", (0, attempt)), path=path, old=old, new=new)


def inspect(root, attempt):
    tree = Root(root)
    return fence.inspect(fence.Place(tree, Notes(tree)), f"session-1/1.1.0/0.{attempt}")


def kill_points(tmp_path) -> int:
    """How many points a whole edit passes."""
    log = tmp_path / "points"
    sink = sink_in(tmp_path / "counted")
    assert run(sink.parent, 1, AGENTCORE_KILL_LOG=str(log)) == EDITED
    assert sink.read_text() == "x|"
    points = log.read_text().splitlines()
    assert len(points) >= POINTS_MIN
    return len(points)


@pytest.mark.slow
@pytest.mark.req("R-153", "R-163")
def test_after_a_kill_at_any_point_the_inspection_is_conclusive_and_the_deed_is_done_once(tmp_path):
    found = []
    for point in range(1, kill_points(tmp_path) + 1):
        sink = sink_in(tmp_path / str(point))
        assert run(sink.parent, 1, AGENTCORE_KILL_AT=str(point)) == -signal.SIGKILL
        before = sink.read_text()
        answer = inspect(sink.parent, 1)
        found.append(answer.finding)
        if answer.finding is Finding.EXECUTED:
            assert before == "x|", point
        else:
            assert (answer.finding, answer.conclusive, before) == (Finding.NOT_EXECUTED, True, "|"), point
            with pytest.raises(ToolError, match="voided"):
                edit(sink.parent, 1)
            edit(sink.parent, 2)
        assert sink.read_text() == "x|", point
        assert inspect(sink.parent, 1).finding is answer.finding, point
        assert {each.name for each in sink.parent.iterdir()} == {"sink", ".agentcore"}, point
    assert set(found) == {Finding.EXECUTED, Finding.NOT_EXECUTED}


@pytest.mark.slow
@pytest.mark.req("R-153", "R-158")
def test_a_paused_writer_that_wakes_up_after_it_was_voided_does_not_write(tmp_path):
    """The interleaving that a mere look gets wrong, with a pause at every point.

    1. The writer is stopped. 2. It is inspected. 3. If that voided the attempt, a second attempt does the deed.
    4. The first writer wakes up.
    """
    found = []
    for point in range(1, kill_points(tmp_path) + 1):
        sink = sink_in(tmp_path / str(point))
        writer = start(sink.parent, 1, point)
        try:
            os.waitid(os.P_PID, writer.pid, os.WSTOPPED)
            answer = inspect(sink.parent, 1)
            found.append(answer.finding)
            if answer.finding is Finding.NOT_EXECUTED:
                assert answer.conclusive, point
                edit(sink.parent, 2)
            writer.send_signal(signal.SIGCONT)
            status = writer.wait(60)
        finally:
            writer.kill()
        assert status == (VOIDED if answer.finding is Finding.NOT_EXECUTED else EDITED), point
        assert sink.read_text() == "x|", point
    assert set(found) == {Finding.NOT_EXECUTED, Finding.STILL_RUNNING}


def test_an_attempt_that_has_not_begun_is_voided_by_the_look(tmp_path):
    sink = sink_in(tmp_path)
    answer = inspect(tmp_path, 1)
    assert (answer.finding, answer.conclusive, answer.retry_safe) == (Finding.NOT_EXECUTED, True, True)
    with pytest.raises(ToolError, match="voided this attempt before it began"):
        edit(tmp_path, 1)
    assert sink.read_text() == "|"


@pytest.mark.req("R-157")
def test_a_finished_attempt_is_found_with_what_it_said(tmp_path):
    sink_in(tmp_path)
    said = edit(tmp_path, 1)
    answer = inspect(tmp_path, 1)
    assert (answer.finding, answer.result) == (Finding.EXECUTED, said.value)


def test_a_finished_attempt_is_found_even_if_the_file_was_changed_later(tmp_path):
    sink = sink_in(tmp_path)
    edit(tmp_path, 1)
    sink.write_text("something else")
    assert inspect(tmp_path, 1).finding is Finding.EXECUTED


@pytest.mark.req("R-137")
def test_an_attempt_that_is_run_again_is_not_done_again(tmp_path):
    sink = sink_in(tmp_path)
    assert edit(tmp_path, 1) == edit(tmp_path, 1)
    assert sink.read_text() == "x|"


def unfinished(tmp_path, monkeypatch):
    """An attempt that noted what it was about to do, and died."""
    sink = sink_in(tmp_path)

    def die(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(osio, "rename", die)
        with pytest.raises(KeyboardInterrupt):
            edit(tmp_path, 1)
    return sink


@pytest.mark.req("R-157")
def test_a_file_that_is_neither_as_before_nor_as_it_was_to_be_proves_nothing(tmp_path, monkeypatch):
    sink = unfinished(tmp_path, monkeypatch)
    sink.write_text("changed by somebody else")
    answer = inspect(tmp_path, 1)
    assert (answer.finding, answer.conclusive) == (Finding.NOT_EXECUTED, False)
    assert "neither as before nor as it was to be" in answer.evidence
    assert inspect(tmp_path, 1) == answer
    with pytest.raises(ToolError, match="voided"):
        edit(tmp_path, 1)


@pytest.mark.req("R-157")
def test_an_attempt_that_died_behind_its_deed_is_found_by_what_the_file_holds(tmp_path, monkeypatch):
    sink = unfinished(tmp_path, monkeypatch)
    sink.write_text("x|")
    answer = inspect(tmp_path, 1)
    assert (answer.finding, answer.result) == (Finding.EXECUTED, "edited sink, 1 places")
    sink.write_text("changed later")
    assert inspect(tmp_path, 1).finding is Finding.EXECUTED


def test_an_attempt_that_was_begun_is_not_begun_again_before_somebody_looked(tmp_path, monkeypatch):
    sink = unfinished(tmp_path, monkeypatch)
    with pytest.raises(OutcomeUnknown, match="begun before"):
        edit(tmp_path, 1)
    assert sink.read_text() == "|"


def test_what_a_dead_attempt_left_beside_the_file_is_removed_by_the_look(tmp_path, monkeypatch):
    unfinished(tmp_path, monkeypatch)
    assert (tmp_path / fence.temporary_name("session-1/1.1.0/0.1")).exists()
    inspect(tmp_path, 1)
    assert not (tmp_path / fence.temporary_name("session-1/1.1.0/0.1")).exists()


def test_a_file_that_is_gone_is_neither(tmp_path, monkeypatch):
    unfinished(tmp_path, monkeypatch).unlink()
    answer = inspect(tmp_path, 1)
    assert (answer.finding, answer.conclusive) == (Finding.NOT_EXECUTED, False)
    assert "absent" in answer.evidence


def test_a_link_in_the_place_of_the_file_is_neither(tmp_path, monkeypatch):
    sink = unfinished(tmp_path, monkeypatch)
    sink.unlink()
    sink.symlink_to("/etc/passwd")
    assert inspect(tmp_path, 1).conclusive is False


def test_half_a_note_means_nothing(tmp_path):
    """A power cut inside the first write of the note: the next act would have come only after it was durable."""
    sink = sink_in(tmp_path)
    edit(tmp_path, 1)
    (note,) = (tmp_path / ".agentcore").glob("*.attempt")
    note.write_bytes(note.read_bytes()[:40])
    sink.write_text("|")
    answer = inspect(tmp_path, 1)
    assert (answer.finding, answer.conclusive) == (Finding.NOT_EXECUTED, True)
    with pytest.raises(ToolError, match="voided"):
        edit(tmp_path, 1)


@pytest.mark.parametrize("act", ["open_new", "sync", "write_all"])
def test_a_full_disk_before_the_rename_is_a_failure_and_the_file_is_as_it_was(tmp_path, monkeypatch, act):
    sink = sink_in(tmp_path)
    (tmp_path / ".agentcore").mkdir()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(osio, act, full)
        with pytest.raises(ToolError, match="nothing was written: No space left on device") as error:
            edit(tmp_path, 1)
    assert error.value.kind == "not-written"
    assert sink.read_text() == "|"
    assert {each.name for each in tmp_path.iterdir()} == {"sink", ".agentcore"}


@pytest.mark.req("R-153")
def test_a_rename_that_breaks_off_leaves_the_outcome_open(tmp_path, monkeypatch):
    sink_in(tmp_path)

    def broken(*args, **kwargs):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(osio, "rename", broken)
        with pytest.raises(OutcomeUnknown, match="replacing the file broke off") as error:
            edit(tmp_path, 1)
    assert error.value.target == "sink"
    assert inspect(tmp_path, 1).conclusive


def test_a_busy_attempt_is_not_waited_for_without_end(tmp_path, monkeypatch):
    sink_in(tmp_path)
    tree = Root(tmp_path)
    monkeypatch.setattr(fence, "_WAIT_S", 0)
    with Notes(tree).held("session-1/1.1.0/0.1", 0):
        with pytest.raises(OutcomeUnknown, match="busy with this very attempt"):
            edit(tmp_path, 1)
        assert inspect(tmp_path, 1).finding is Finding.STILL_RUNNING


def test_a_busy_file_is_not_waited_for_without_end(tmp_path, monkeypatch):
    sink = sink_in(tmp_path)
    monkeypatch.setattr(fence, "_WAIT_S", 0)
    with Notes(Root(tmp_path)).target("sink", 0) as free:
        assert free
        with pytest.raises(ToolError, match="being written by another call"):
            edit(tmp_path, 1)
    assert sink.read_text() == "|"
