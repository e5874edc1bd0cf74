"""Talking with a model at a terminal, or through a pipe: many turns in one session.

A line is a message: a prompt where no turn runs, else a follow-up, and ``/steer`` says it to the running turn (D-33).
Ctrl-C while a turn runs asks for the abort, a second one leaves; at the prompt the first warns, the second leaves
(R-179).
"""

from __future__ import annotations

import signal
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping

import anyio
from anyio.abc import TaskStatus

from agentcore.events import AbortScope
from agentcore.projections import next_step, ui_status
from interpreters.cli.console import Console
from interpreters.cli.exits import Exit, exit_of
from interpreters.cli.host import Host, make_host
from interpreters.cli.output import Output
from interpreters.cli.turns import abort
from interpreters.cli.usage import spent_in, told_usage
from interpreters.engine import Sent, Session
from interpreters.frontends import Terminal, as_value, standing, usage_values
from interpreters.support.cleaning import visible
from interpreters.support.ports_store import Store
from interpreters.support.views import AgentEnd, TurnEnd

HELP = """\
/steer WORDS   say something to the running turn
/status        where the session stands, and what comes next
/cost          tokens and cost
/abort         stop the running turn; once more gives up waiting for what does not end
/clear         let the model forget what was said; nothing is deleted from the journal
/quit          leave; the session can be continued
Anything else is a message; while a turn runs it waits as a follow-up. // begins a message that starts with a slash.
"""
"""What ``/help`` says."""

_THIS_TURN = "The running turn hears this before its next request."
_NEXT_TURN = "No turn is running: this is delivered with the next one."


def chat(arguments: Namespace, output: Output) -> int:
    """Talk."""
    console = Console(output)
    host = make_host(arguments, output, lines=console)
    return anyio.run(_chat, arguments, host, console, output)


async def _chat(arguments: Namespace, host: Host, console: Console, output: Output) -> Exit:
    async with anyio.create_task_group() as tasks, host.agent.open(arguments.session_id) as session:
        talk = Chat(session, console, output, store=host.agent.store, thinking=arguments.thinking)
        tasks.start_soon(talk.show)
        await talk.run()
        state, result = session.state, session.result
    output.end_line()
    output.note(output.style.dim(f"Go on with: agentcore chat {session.session_id}"))
    if talk.left:
        output.warn(f"Left while the turn was open. Go on with: agentcore resume {session.session_id}")
        return Exit.LEFT
    return exit_of(result, type(state.phase)) if state.turn.number and not console.interactive else Exit.COMPLETED


class Chat:
    """One session at a prompt."""

    def __init__(
        self, session: Session, console: Console, output: Output, *, store: Store, thinking: bool = False
    ) -> None:
        self.left = False
        """The user left while a turn was open."""
        self._session = session
        self._console = console
        self._output = output
        self._store = store
        self._terminal = Terminal(output, output.style, thinking=thinking)
        self._views = session.views(after=0)
        self._asked = False
        self._warned = False
        self._commands: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "/steer": self._steer,
            "/status": self._status,
            "/cost": self._cost,
            "/abort": self._abort,
            "/clear": self._clear,
            "/help": self._help,
        }

    async def show(self) -> None:
        """Show what happens, and the prompt whenever nothing goes on; ends with the session."""
        async for shown in self._views:
            if self._output.as_json:
                self._output.value(as_value(shown))
                continue
            self._terminal.show(shown.view)
            if isinstance(shown.view, TurnEnd):
                self._asked = False
                self._answer_whole()
            if isinstance(shown.view, AgentEnd):
                self._prompt()

    def _answer_whole(self) -> None:
        """Write the answer where it was not watched while it streamed."""
        result = self._session.result
        if not self._output.answer_is_watched and result.text and result.completed:
            self._output.page(visible(result.text))

    async def run(self) -> None:
        """Take lines until the user leaves."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._heed, tasks.cancel_scope)
            if self._console.interactive:
                tasks.start_soon(self._console.listen)
            if not self._session.state.open:
                self._greet()
            while (line := await self._console.next_line()) is not None:
                self._warned = False
                if line.strip() in {"/quit", "/exit"}:
                    break
                await self._take(line.strip())
            if not self._console.interactive:
                await self._session.wait()
            tasks.cancel_scope.cancel()
        self.left = self.left or (self._session.state.open and self._console.interactive)

    def _greet(self) -> None:
        if self._console.interactive:
            self._output.note(f"session {self._session.session_id}; /help lists the commands")
        self._prompt()

    def _prompt(self) -> None:
        if self._console.interactive and not self._output.as_json:
            self._output.prompt(self._output.style.bold("> "))

    # Ctrl-C

    async def _heed(
        self, scope: anyio.CancelScope, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        async with anyio.create_task_group() as tasks:
            with anyio.open_signal_receiver(signal.SIGINT) as signals:
                task_status.started()
                async for _ in signals:
                    if self._session.state.open and not self._asked:
                        self._asked = True
                        self._output.warn("Stopping. Press Ctrl-C again to leave; the session can be resumed.")
                        tasks.start_soon(abort, self._session)
                    elif self._session.state.open or self._warned:
                        self.left = self._session.state.open
                        scope.cancel()
                        return
                    else:
                        self._warned = True
                        self._output.warn("\nPress Ctrl-C again to leave, or go on typing.")
                        self._prompt()

    # Lines

    async def _take(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if not line:
            self._prompt()
        elif line.startswith("/") and not line.startswith("//"):
            await self._commands.get(word, self._unknown)(rest.strip() if word in self._commands else word)
            if not self._session.state.open:
                self._prompt()
        else:
            await self._say(line[1:] if line.startswith("//") else line)

    async def _say(self, words: str) -> None:
        sent = await self._session.send(words)
        self._report(sent)
        if sent.filed == "follow-up":
            self._tell("A turn is running: this waits as a follow-up. Use /steer to say it to the running turn.")
        if not self._console.interactive:
            await self._session.wait()

    def _report(self, sent: Sent) -> None:
        if sent.receipt.rejection is not None:
            self._tell(f"That was refused: {sent.receipt}")

    def _tell(self, text: str) -> None:
        if self._output.as_json:
            self._output.value({"view": "chat", "text": text})
        else:
            self._output.warn(text)

    # Commands

    async def _steer(self, words: str) -> None:
        if not words:
            self._tell("What should be said? /steer WORDS")
            return
        sent = await self._session.steer(words)
        self._report(sent)
        if sent.filed:
            self._tell(_THIS_TURN if self._session.state.open else _NEXT_TURN)

    async def _status(self, _: str) -> None:
        state = self._session.state
        if self._output.as_json:
            self._output.value({"view": "status"} | standing(state))
            return
        queued = len(state.queues.steering) + len(state.queues.follow_ups)
        waiting = f" {queued} messages wait." if queued else ""
        self._tell(f"{ui_status(state).text} {next_step(state).text}{waiting}")

    async def _cost(self, _: str) -> None:
        state, spent = self._session.state, await spent_in(self._store, self._session.session_id)
        if self._output.as_json:
            self._output.value({"view": "cost"} | usage_values(state, spent))
        else:
            self._tell(told_usage(state, spent))

    async def _abort(self, _: str) -> None:
        if not self._session.state.open:
            self._tell("No turn is running.")
            return
        await self._session.abort(AbortScope.TURN)

    async def _clear(self, _: str) -> None:
        receipt = await self._session.clear()
        if receipt.rejection is not None:
            self._tell("A turn is running: stop it first (/abort), then clear.")
        else:
            self._tell("Cleared: the model starts from an empty conversation. The journal keeps what was said.")

    async def _help(self, _: str) -> None:
        self._tell(HELP.rstrip())

    async def _unknown(self, word: str) -> None:
        self._tell(f"There is no command {word}. /help lists them; // begins a message that starts with a slash.")
