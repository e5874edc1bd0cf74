"""The shell: a command in a process group of its own.

Nobody can ask a command afterwards what it did, so its effect is ``opaque``: after a crash a person is asked. What it
prints is cleaned and rid of secrets on the way, and only its ends stay in memory; the whole is kept in parts.

A command that exits with another status than 0, or that runs out of time and is killed with its whole group, has
*ended*: that is a failure with an account of it. If something left the group and goes on, nothing is known.
"""

from __future__ import annotations

import codecs
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import anyio

from agentcore.messages import Artifact, EffectSeen, clean_text
from interpreters.support import osio, spawn
from interpreters.support.bounded import HeadAndTail
from interpreters.support.redaction import RedactingStream, Redactor
from interpreters.tools.context import ToolContext
from interpreters.tools.definition import Tool, tool
from interpreters.tools.errors import OutcomeUnknown, ToolError, ToolStopped
from interpreters.tools.root import Root
from interpreters.tools.toolbox import KEPT_BYTES, where_kept

KEPT_PARTS_MAX = 64
"""So many parts of an output are kept; what comes after is not, and the result says so."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_GRACE_S = 2.0
# Room for what is said beside the output: how it ended, and where the whole of it is.
_NOTE_MAX = 600
_ENDS_MIN = 200


def shell_tool(
    root: Path | str,
    *,
    timeout: float = 120.0,
    timeout_max: float = 600.0,
    shell: Sequence[str] = ("/bin/sh", "-c"),
    env: Mapping[str, str] | None = None,
    redactor: Redactor | None = None,
) -> Tool:
    """Return the tool ``shell``, which runs commands in the directory ``root``.

    ``timeout`` and ``timeout_max`` are seconds: what a command gets, and what a model may ask for. The environment is
    ``env``, or this process's own without the variables whose names speak of secrets. ``ToolDefinitionError`` if there
    is no such directory.
    """
    place = Root(root)
    values = dict(env) if env is not None else safe_environment()
    secrets = redactor or Redactor()

    # The reducer's own deadline is for a command that even killing does not end; it comes after ours.
    @tool(name="shell", effect="opaque", announces=True, stops_itself=True, timeout=timeout_max + 4 * _GRACE_S)
    async def run_shell(
        context: ToolContext,
        command: Annotated[str, "What to run"],
        timeout_s: Annotated[float | None, "Seconds until it is killed"] = None,
    ) -> str:
        """Run a shell command in the working directory and return what it prints. It reads no input."""
        limit = min(timeout if timeout_s is None else timeout_s, timeout_max)
        if "\0" in command or limit <= 0:
            raise ToolError("the command contains a NUL character, or timeout_s is not positive")
        return await _run(context, (*shell, clean_text(command)), _Surroundings(place.path, values, secrets), limit)

    return run_shell


class _Surroundings:
    """Where and with what a command runs."""

    def __init__(self, cwd: Path, env: Mapping[str, str], redactor: Redactor) -> None:
        self.cwd, self.env, self.redactor = cwd, env, redactor


async def _run(context: ToolContext, arguments: Sequence[str], around: _Surroundings, limit: float) -> str:
    try:
        program = spawn.start(arguments, cwd=around.cwd, env=around.env, grace_s=_GRACE_S)
    except OSError as error:
        raise ToolError(f"the command could not be started: {error.strerror}", kind="not-started") from error
    context.started(f"process group {program.pid}")
    output = Output(context, around.redactor)
    timed_out = False

    async def stop_in_time() -> None:
        nonlocal timed_out
        with anyio.move_on_after(limit):
            await context.cancelled()
        timed_out = not context.cancel_requested
        program.stop()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_in_time)
        ended = await program.wait(output.take)
        tasks.cancel_scope.cancel()
    text = await output.close()
    return _judged(ended, text, f"{limit:g} s" if timed_out else "", told=context.cancel_requested)


def _judged(ended: spawn.Ended, text: str, timed_out: str, *, told: bool) -> str:
    if ended.pipe_open:
        cause = f"the command has ended ({_status(ended.status)}), but something it started goes on running"
        raise OutcomeUnknown(cause, observation=text[-500:])
    if ended.stopped and told:
        raise ToolStopped(EffectSeen.UNPROVED)
    if ended.stopped and timed_out:
        raise ToolError(f"killed after {timed_out}; what it had done by then stays done\n{text}", kind="timeout")
    if ended.status != 0:
        raise ToolError(f"{_status(ended.status)}\n{text}", kind="exit-status")
    return text


def _status(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


class Output:
    """What a command prints: bytes in, clean text out, its ends remembered, the whole of it kept once it is long."""

    def __init__(self, context: ToolContext, redactor: Redactor) -> None:
        self._context = context
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stream = RedactingStream(redactor)
        self._ends = HeadAndTail(max(context.output_max - _NOTE_MAX, _ENDS_MIN))
        self._part: list[str] = []
        self._part_used = 0
        self._kept: list[Artifact | None] = []

    async def take(self, piece: bytes) -> None:
        """Take the next bytes."""
        await self._add(self._stream.feed(self._decoder.decode(piece)))

    async def close(self) -> str:
        """Return the text for the model."""
        await self._add(self._stream.feed(self._decoder.decode(b"", final=True)) + self._stream.close())
        if self._ends.whole:
            return self._ends.cut().text
        await self._keep_part()
        return self._ends.cut(where_kept(self._kept)).text

    async def _add(self, text: str) -> None:
        if not text:
            return
        self._ends.add(text)
        self._context.progress(text)
        self._part.append(text)
        self._part_used += len(text)
        if self._part_used >= KEPT_BYTES:
            await self._keep_part()

    async def _keep_part(self) -> None:
        data = "".join(self._part).encode()
        self._part, self._part_used = [], 0
        if not data:
            return
        if len(self._kept) < KEPT_PARTS_MAX:
            self._kept.append(await self._context.keep(f"output-{len(self._kept) + 1}.txt", data))
        elif self._kept[-1] is not None:
            self._kept.append(None)


def safe_environment() -> dict[str, str]:
    """Return this process's environment without the variables whose names speak of secrets."""
    return {name: value for name, value in osio.environment().items() if not _SECRET_NAME.search(name)}
