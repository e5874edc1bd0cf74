"""Commands in groups of their own: what they print, how they end, and that nothing of them stays."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from pathlib import Path

import anyio
import pytest

from agentcore.events import ToolCancelled, ToolFailed, ToolLost, ToolStarted, ToolSucceeded
from agentcore.messages import Artifact, EffectSeen
from interpreters.support.redaction import Redactor
from interpreters.tools import Sink, ToolContext, ToolDefinitionError, shell, shell_tool
from tests.tools.orders import Bench, peak_memory_kib

pytestmark = pytest.mark.anyio


@pytest.fixture
def bench(tmp_path):
    """A shell in an empty directory."""
    return Bench(shell_tool(tmp_path))


async def run(bench, command, **more):
    return await bench.execute({"command": command, **more})


def is_gone(pid):
    """A process that is not there, or is dead and waits to be collected by whoever has inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def until_gone(pid):
    """The parent that collects it is not ours, so its end cannot be waited for."""
    give_up_at = time.monotonic() + 10
    while not is_gone(pid):
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


async def test_what_a_command_prints_is_the_result(bench, tmp_path):
    event = await run(bench, "echo out; echo err >&2; pwd")
    assert isinstance(event, ToolSucceeded)
    assert event.result == f"out\nerr\n{tmp_path}\n"
    (started,) = bench.events
    assert isinstance(started, ToolStarted)
    assert started.handle.startswith("process group ")
    assert "".join(bench.shown) == event.result


async def test_a_command_reads_no_input(bench):
    assert (await run(bench, "cat; echo end")).result == "end\n"


@pytest.mark.req("R-242")
async def test_another_status_than_zero_is_a_failure_with_the_output(bench):
    event = await run(bench, "echo so far; exit 3")
    assert isinstance(event, ToolFailed)
    assert (event.error, event.kind) == ("exit status 3\nso far\n", "exit-status")


async def test_a_command_ended_by_a_signal_says_by_which(bench):
    assert (await run(bench, "kill -9 $$")).error == "ended by SIGKILL\n"


async def test_a_signal_without_a_name_is_told_by_its_number(bench):
    assert (
        await run(bench, f"kill -{int(signal.SIGRTMIN) + 1} $$")
    ).error == f"ended by signal {int(signal.SIGRTMIN) + 1}\n"


async def test_a_command_that_runs_out_of_time_is_killed_with_all_it_started(bench):
    event = await run(bench, "sleep 600 & echo $!; wait", timeout_s=0.3)
    assert isinstance(event, ToolFailed)
    assert event.kind == "timeout"
    assert event.error.startswith("killed after 0.3 s; what it had done by then stays done\n")
    until_gone(int(event.error.split("\n")[1]))


async def test_a_command_that_ignores_the_request_to_end_is_killed_after_the_grace(bench, monkeypatch):
    monkeypatch.setattr(shell, "_GRACE_S", 0.1)
    event = await run(bench, "trap '' TERM; echo ready; while :; do sleep 0.05; done", timeout_s=0.3)
    assert event.kind == "timeout"


@pytest.mark.req("D-7", "R-177")
@pytest.mark.parametrize("trap", ["", "trap 'echo bye; exit 0' TERM;"])
async def test_a_cancelled_command_has_ended_and_its_effect_is_unproved(bench, trap):
    began = anyio.Event()
    answers = []
    bench.shown = Told(began)

    async def work():
        answers.append(await run(bench, f"{trap} echo $$; sleep 600 & wait"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        await began.wait()
        bench.cancel()
    (event,) = answers
    assert isinstance(event, ToolCancelled)
    assert event.effect is EffectSeen.UNPROVED
    until_gone(int(bench.shown[0]))


class Told(list):
    """A list that says when something was put into it."""

    def __init__(self, event):
        super().__init__()
        self._event = event

    def append(self, item):
        super().append(item)
        self._event.set()


async def test_nothing_that_a_command_left_behind_goes_on(bench):
    event = await run(bench, "sleep 600 & echo $!")
    assert isinstance(event, ToolSucceeded)
    until_gone(int(event.result))


@pytest.mark.req("R-153", "R-161")
async def test_if_something_left_the_group_and_goes_on_the_outcome_is_unknown(bench, tmp_path):
    note = "open('new', 'w').write(str(os.getpid())); os.rename('new', 'pid')"
    leave = f"import os, time; os.setsid(); {note}; time.sleep(600)"
    event = await run(bench, f'{sys.executable} -c "{leave}" & while [ ! -e pid ]; do sleep 0.01; done; echo here')
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert isinstance(event, ToolLost)
    assert event.cause.startswith("the command has ended (exit status 0), but something it started goes on running")
    assert event.observation == "here\n"


async def test_when_the_process_lets_go_the_whole_group_is_killed(bench):
    began = anyio.Event()
    bench.shown = Told(began)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, bench, "echo $$; sleep 600 & wait")
        await began.wait()
        tasks.cancel_scope.cancel()
    until_gone(int(bench.shown[0]))


@pytest.mark.slow
@pytest.mark.req("G-13")
async def test_a_hundred_megabytes_are_kept_whole_in_parts_and_take_little_memory(tmp_path):
    bench = Bench(shell_tool(tmp_path))
    whole, sizes = hashlib.sha256(), []

    async def keep(session_id, name, data):
        whole.update(data)
        sizes.append(len(data))
        return f"kept/{name}"

    bench.box._keep = keep
    before = peak_memory_kib()
    event = await run(bench, "yes 0123456789012345678901234567890123456789012345678 | head -c 100000000")
    grown = peak_memory_kib() - before
    line = b"0123456789012345678901234567890123456789012345678\n"
    assert isinstance(event, ToolSucceeded)
    assert sum(sizes) == 100_000_000
    assert whole.digest() == hashlib.sha256(line * 2_000_000).digest()
    assert len(event.result) < 31_000
    assert "99970600 characters left out; the whole is kept as 7 parts, kept/1.1.0-0.1-output-1.txt to " in event.result
    assert [artifact.id for artifact in event.artifacts] == [f"output-{number}.txt" for number in range(1, 8)]
    print(f"peak memory grew by {grown // 1024} MiB")
    assert grown < 90 * 1024


class Keeper(Sink):
    """Keeps what it is given in a list."""

    def __init__(self):
        self.kept = []

    async def keep(self, name, data):
        self.kept.append(data)
        return Artifact(name, f"kept/{name}", "")


@pytest.mark.req("G-13")
async def test_more_than_can_be_kept_is_not_and_that_is_said(monkeypatch):
    monkeypatch.setattr(shell, "KEPT_BYTES", 1_000)
    monkeypatch.setattr(shell, "KEPT_PARTS_MAX", 2)
    sink = Keeper()
    output = shell.Output(ToolContext("s", "1.1.0", output_max=2_000, sink=sink), Redactor())
    for letter in "abcde":
        await output.take(letter.encode() * 999 + b"\n")
    text = await output.close()
    assert sink.kept == [b"a" * 999 + b"\n", b"b" * 999 + b"\n"]
    assert "not all of it could be kept, only 2 parts, kept/output-1.txt to kept/output-2.txt" in text


async def test_a_short_output_is_kept_nowhere_else():
    sink = Keeper()
    output = shell.Output(ToolContext("s", "1.1.0", sink=sink), Redactor())
    await output.take(b"short\n")
    assert await output.close() == "short\n"
    assert sink.kept == []


async def test_a_secret_is_found_wherever_the_pieces_of_the_output_part_it(tmp_path):
    redactor = Redactor(["hunter2hunter2"])
    bench = Bench(shell_tool(tmp_path, redactor=redactor), redactor=redactor)
    event = await run(bench, "printf hunter2; sleep 0.1; printf 'hunter2\\nend\\n'")
    assert event.result == "[redacted]\nend\n"
    assert "".join(bench.shown) == "[redacted]\nend\n"


async def test_bytes_that_are_no_text_are_replaced(bench):
    assert (await run(bench, r"printf 'a\377b\0'")).result == "a\N{REPLACEMENT CHARACTER}b\0"


async def test_the_environment_is_passed_without_what_looks_like_a_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-one")
    monkeypatch.setenv("PLAIN_WORD", "plain")
    event = await run(Bench(shell_tool(tmp_path)), "echo $PLAIN_WORD $OPENAI_API_KEY")
    assert event.result == "plain\n"


async def test_the_environment_can_be_given(tmp_path):
    assert (await run(Bench(shell_tool(tmp_path, env={"A": "1"})), "echo $A $HOME")).result == "1\n"


async def test_a_shell_that_is_not_there_fails_before_anything_runs(tmp_path):
    event = await run(Bench(shell_tool(tmp_path, shell=("/no/such/shell", "-c"))), "true")
    assert isinstance(event, ToolFailed)
    assert event.kind == "not-started"


@pytest.mark.parametrize("arguments", [{"command": "true\0"}, {"command": "true", "timeout_s": 0}])
async def test_what_cannot_be_run_is_refused(bench, arguments):
    assert isinstance(await bench.execute(arguments), ToolFailed)


async def test_a_lone_surrogate_in_a_command_does_not_break_it(bench):
    assert (await run(bench, "echo a\ud800b")).result == "a\N{REPLACEMENT CHARACTER}b\n"


def test_a_directory_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ToolDefinitionError, match="create it, or name another one"):
        shell_tool(tmp_path / "none")


def test_the_reducers_deadline_is_behind_the_tools_own():
    assert shell_tool("/", timeout_max=10).contract.timeout_ms > 10_000
