"""Plays one scenario against the program: starts it, lets things happen to it, ends it, and returns the record.

1. Every wait has a bound (``Patience``); what exceeds one is ended with its whole process group and judged.
2. A server of its own at a free port stands for the whole scenario, over the kill and the resume; so does a directory,
   where the program may keep what it wants to find again.
"""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio

from interpreters.check.http import Exchange, listen, port_of, serve
from interpreters.check.model import DIALECTS, HostileModel
from interpreters.check.record import Record
from interpreters.check.rules import Finding, Means, Rule
from interpreters.check.scenarios import Kind, Moment, Scenario
from interpreters.check.setup import Setup
from interpreters.check.wire import Dialect
from interpreters.check.world import World
from interpreters.support import osio, spawn

_LOOK_S = 0.05
_CANCEL_COMMAND_S = 15.0
_BEFORE_CANCEL_S = 0.2


class CannotStart(Exception):
    """The program, its resume command or its cancel command is nothing that can be started."""


async def play(scenario: Scenario, setup: Setup, mark: str) -> Record:
    """Play a scenario once. ``mark`` is a word of letters and digits that stands in everything made up.

    ``CannotStart`` if there is no such program.
    """
    record = Record(scenario, mark, f"{setup.prompt} [{mark}]")
    act = scenario.act
    if act is not None and act.kind is Kind.KILL and not setup.resume_command:
        record.lacking.add(Means.RESUME)
        return record
    if act is not None and act.kind is Kind.CANCEL and not setup.cancels:
        record.lacking.add(Means.CANCEL)
        return record
    place = osio.make_temporary_directory("agentcore-check-")
    try:
        async with await listen() as listener, anyio.create_task_group() as tasks:
            stage = _Stage(record, setup, environment(record, setup, port_of(listener), place))
            tasks.start_soon(serve, listener, stage.handle)
            await stage.perform()
            tasks.cancel_scope.cancel()
    finally:
        osio.remove_tree(place)
    return record


def environment(record: Record, setup: Setup, port: int, place: Path) -> Mapping[str, str]:
    """Return the variables a program is started with: the contract."""
    here = f"http://127.0.0.1:{port}"
    tools = f"{here}/tools"
    return {
        **osio.environment(),
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "OPENAI_BASE_URL": f"{here}/v1",
        "OPENAI_API_KEY": "sk-check-not-a-key",
        "ANTHROPIC_BASE_URL": here,
        "ANTHROPIC_API_KEY": "sk-check-not-a-key",
        "AGENTCORE_CHECK_PROMPT": record.prompt,
        "AGENTCORE_CHECK_TOOLS_URL": tools,
        "AGENTCORE_CHECK_MCP": shlex.join([sys.executable, "-m", "interpreters.check.mcp", tools]),
        "AGENTCORE_CHECK_DIR": str(place),
        "AGENTCORE_CHECK_DIALECT": setup.dialect,
        **setup.env,
    }


class _Stage:
    """One run of one scenario."""

    def __init__(self, record: Record, setup: Setup, env: Mapping[str, str]) -> None:
        self._record = record
        self._setup = setup
        self._env = env
        self._program: spawn.Program | None = None
        self._model = HostileModel(record, setup.patience, self._happen)
        self._world = World(record, setup.patience, self._happen)

    # What the program asks for

    async def handle(self, exchange: Exchange) -> None:
        """Answer whatever comes in."""
        request, record = exchange.request, self._record
        dialect = next((each for each in DIALECTS if request.path.endswith(each.path)), None)
        if request.path == "/tools" or request.path.startswith("/tools/"):
            await self._world.answer(request.path.removeprefix("/tools"), exchange)
        elif request.method == "POST" and dialect is not None:
            await self._ask(dialect, exchange)
        elif request.method == "GET" and request.path.endswith("/models"):
            model = {"id": "check", "object": "model", "type": "model", "created": 1, "owned_by": "check"}
            await exchange.answer(200, {"object": "list", "data": [model]})
        else:
            record.note(f"the program asks for {request.method} {request.path!r:.80}, which there is not")
            await exchange.answer(404, {"error": {"message": "there is no such path", "type": "not_found"}})

    async def _ask(self, dialect: Dialect, exchange: Exchange) -> None:
        record, bound = self._record, self._setup.patience.requests_max
        if len(record.askings) >= bound:
            self._end(Finding(Rule.REQUESTS_BOUNDED, f"more than {bound} requests in one turn", bound))
            return
        await self._model.answer(dialect, exchange)
        if self._setup.dialect not in ("any", dialect.name):
            what = f"a request of {dialect.name}, although the program is said to speak {self._setup.dialect}"
            self._end(Finding(Rule.WELL_FORMED, what, len(record.askings)))

    # What happens to the program

    async def _happen(self, kind: Kind, moment: Moment, step: int) -> bool:
        record, act = self._record, self._record.scenario.act
        if act is None or record.acted_at is not None or (act.kind, act.moment, act.step) != (kind, moment, step):
            return False
        if kind is Kind.CANCEL:
            record.acted_at = record.now()
            await record.hold(_BEFORE_CANCEL_S)
            await self._cancel()
        else:
            record.note(f"killed {moment}")
            record.acted_at = record.now()
            self._signal(signal.SIGKILL)
        return True

    async def _cancel(self) -> None:
        record, program = self._record, self._program
        record.note("cancelled")
        if not self._setup.cancel_command or program is None:
            record.acted_at = record.now()
            self._signal(signal.SIGINT)
            return
        env = {**self._env, "AGENTCORE_CHECK_PID": str(program.pid)}
        with anyio.move_on_after(_CANCEL_COMMAND_S):
            await _start(self._setup.cancel_command, env).wait(_ignore)
        record.acted_at = record.now()

    def _signal(self, number: int) -> None:
        if self._program is not None:
            self._program.signal(number)

    def _end(self, finding: Finding) -> None:
        """End the program because of something that cannot go on."""
        if all(known.rule is not finding.rule for known in self._record.findings):
            self._record.findings.append(finding)
        self._signal(signal.SIGKILL)

    # Its lives

    async def perform(self) -> None:
        """Let the program live once, and once more after a kill."""
        record = self._record
        await self._live(self._setup.command)
        if record.acted(Kind.KILL) and not record.findings:
            await self._live(self._setup.resume_command)

    async def _live(self, command: tuple[str, ...]) -> None:
        record = self._record
        record.lives += 1
        began, asked = record.now(), len(record.askings)
        env = {**self._env, "AGENTCORE_CHECK_LIFE": str(record.lives)}
        self._program = _start(command, env)
        record.note(f"started: {shlex.join(command)}")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, began)
            ended = await self._program.wait(self._take)
            tasks.cancel_scope.cancel()
        record.note(f"ended, {_told(ended.status)}")
        if record.lives == 1 and len(record.askings) == asked and not record.findings:
            what = f"it ended ({_told(ended.status)}) without a request to the model{self._last_words()}"
            record.findings.append(Finding(Rule.CONNECTS, what))

    async def _take(self, data: bytes) -> None:
        record, bound = self._record, self._setup.patience.output_max
        record.take_output(data)
        if record.output_bytes > bound:
            self._end(Finding(Rule.OUTPUT_BOUNDED, f"more than {bound:,} bytes were printed{self._last_words()}"))

    async def _watch(self, began: float) -> None:
        """End the program when a bound is exceeded."""
        record, patience = self._record, self._setup.patience
        while True:
            await anyio.sleep(_LOOK_S)
            lived = record.now() - began
            if not record.askings and lived > patience.connect_s:
                what = f"no request to the model within {patience.connect_s:g} s{self._last_words()}"
                self._end(Finding(Rule.CONNECTS, what))
            elif record.askings and record.quiet_s() > patience.quiet_s:
                what = f"it neither did anything nor ended for {patience.quiet_s:g} s{self._last_words()}"
                self._end(Finding(Rule.ENDS, what, len(record.askings)))
            elif record.now() > patience.whole_s:
                self._end(Finding(Rule.ENDS, f"it had not ended after {patience.whole_s:g} s", len(record.askings)))

    def _last_words(self) -> str:
        said = self._record.output[-400:].decode(errors="replace").strip()
        return f"; it said last: {said}" if said else ""


def _start(command: tuple[str, ...], env: Mapping[str, str]) -> spawn.Program:
    try:
        return spawn.start(command, cwd=Path(), env=env)
    except (OSError, ValueError) as error:
        raise CannotStart(f"{shlex.join(command)} cannot be started: {error}") from error


async def _ignore(data: bytes) -> None:
    """Drop what a cancel command prints."""


def _told(status: int) -> str:
    return f"status {status}" if status >= 0 else f"signal {-status}"
