"""One turn from a shell: ``run`` begins a session with a task, ``resume`` goes on with one.

Ctrl-C while the turn runs asks for the abort; a second one leaves, and the session can be resumed (R-179).
"""

from __future__ import annotations

import signal
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable

import anyio
import attrs
from anyio.abc import TaskStatus

from agentcore.messages import clean_text
from agentcore.projections import Party, next_step
from agentcore.states import Idle, State
from interpreters.cli.exits import Exit, Problem, exit_of
from interpreters.cli.host import Host, make_host
from interpreters.cli.output import Output
from interpreters.engine import Result, Session, SessionOver, Subscription
from interpreters.frontends import Terminal, as_value
from interpreters.support.cleaning import visible
from interpreters.support.views import StateView

Act = Callable[[Session], Awaitable[None]]
"""What is done with a session once it is open."""


def run(arguments: Namespace, output: Output) -> int:
    """Do a task in a new session."""
    task = words_of(arguments.task)
    host = make_host(arguments, output)
    turn = Turn(host, output, thinking=arguments.thinking)
    name = arguments.session_id

    async def say(session: Session) -> None:
        output.note(output.style.dim(f"session {session.session_id}"))
        await send(session, task)

    return anyio.run(lambda: turn.drive(name, say, create=name is not None))


def resume(arguments: Namespace, output: Output) -> int:
    """Go on with a session."""
    task = words_of(arguments.task) if arguments.task is not None else ""
    host = make_host(arguments, output)
    turn = Turn(host, output, thinking=arguments.thinking)

    async def say(session: Session) -> None:
        if task:
            await send(session, task)

    return anyio.run(lambda: turn.drive(arguments.session_id, say, accept_gap=arguments.accept_gap))


def words_of(task: str) -> str:
    """Return what the user says; ``-`` stands for standard input. Raises ``Problem`` if it is nothing."""
    words = clean_text(sys.stdin.read()) if task == "-" else task
    if not words.strip():
        raise Problem("the task is empty: say what to do")
    return words


async def send(session: Session, words: str) -> None:
    """Say something; ``Problem`` if it was refused."""
    sent = await session.send(words)
    if sent.receipt.rejection is not None:
        raise Problem(f"the message was refused: {sent.receipt}", Exit.FAILED)


@attrs.define
class Turn:
    """Drives a session from its opening until nothing goes on any more, somebody leaves, or a person is waited for."""

    host: Host
    output: Output
    thinking: bool = False
    left: bool = False
    """The user left while the turn was open."""
    _waits: bool = False

    async def drive(
        self, session_id: str | None, act: Act, *, create: bool = False, accept_gap: str | None = None
    ) -> Exit:
        """Open a session, act, show what happens, and return how it ended. Raises what opening and acting raise."""
        async with anyio.create_task_group() as tasks:
            opening = self.host.agent.open(session_id, create=create, accept_gap=accept_gap)
            async with opening as session:
                # Shown to the end: the iteration ends when the session is closed and everything was seen.
                tasks.start_soon(self._show, session.views(after=0))
                await self._work(session, act)
                state, result = session.state, session.result
        return self._tell(state, result)

    async def _work(self, session: Session, act: Act) -> None:
        async with anyio.create_task_group() as inner:
            await inner.start(self._heed, session, inner.cancel_scope)
            await act(session)
            if self.host.waits:
                inner.start_soon(self._watch, session, inner.cancel_scope)
            await session.wait()
            inner.cancel_scope.cancel()

    async def _heed(
        self, session: Session, scope: anyio.CancelScope, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Take Ctrl-C: the first asks for the abort, the second leaves."""
        asked = False
        async with anyio.create_task_group() as tasks:
            with anyio.open_signal_receiver(signal.SIGINT) as signals:
                task_status.started()
                async for _ in signals:
                    if asked or not session.state.open:
                        self.left = session.state.open
                        scope.cancel()
                        return
                    asked = True
                    self.output.warn("Stopping. Press Ctrl-C again to leave; the session can be resumed.")
                    tasks.start_soon(abort, session)

    async def _watch(self, session: Session, scope: anyio.CancelScope) -> None:
        """Leave when only a person can go on."""
        async for shown in session.views(after=0):
            if isinstance(shown.view, StateView) and waits_for_person(session.state):
                self._waits = True
                scope.cancel()
                return

    async def _show(self, views: Subscription) -> None:
        terminal = Terminal(self.output, self.output.style, thinking=self.thinking)
        async for shown in views:
            if self.output.as_json:
                self.output.value(as_value(shown))
            else:
                terminal.show(shown.view)

    def _tell(self, state: State, result: Result) -> Exit:
        """Say how it ended to whoever was not watching, and what can be done about it."""
        code = self._code(state, result)
        if self.output.as_json:
            self.output.value({"view": "result", "exit": int(code)} | attrs.asdict(result))
            return code
        self.output.end_line()
        if not self.output.answer_is_watched and result.text and result.completed:
            self.output.page(visible(result.text))
        if not self.output.progress_is_watched and code is not Exit.COMPLETED:
            self.output.warn(result.explanation)
        if isinstance(state.phase, Idle):
            self.output.warn(f"{result.explanation} Say something: agentcore resume {result.session_id} MESSAGE")
        self._advise(code, result)
        return code

    def _code(self, state: State, result: Result) -> Exit:
        if self.left:
            return Exit.LEFT
        if isinstance(state.phase, Idle) and not result.unresolved:
            return Exit.COMPLETED
        return Exit.UNRESOLVED if self._waits else exit_of(result, type(state.phase))

    def _advise(self, code: Exit, result: Result) -> None:
        name = result.session_id
        if code is Exit.LEFT:
            self.output.warn(f"Left while the turn was open. Go on with: agentcore resume {name}")
        elif self._waits:
            self.output.warn(f"A person is waited for. See: agentcore inspect {name}")
        elif result.unresolved:
            self.output.warn(f"Check what became of it: agentcore inspect {name}")
        elif code is not Exit.COMPLETED:
            self.output.warn(f"The session is {name}.")


async def abort(session: Session) -> None:
    """Ask for the abort; a session that is over needs none."""
    try:
        await session.abort()
    except SessionOver:
        return


def waits_for_person(state: State) -> bool:
    """Say whether nothing can happen before a person acts."""
    return state.open and next_step(state).by is Party.PERSON
