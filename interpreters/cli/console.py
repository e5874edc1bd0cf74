"""Where a person types while a session runs: one reader of the terminal, for the chat and for questions in it.

1. One task reads; a line goes to the question that is open, if there is one, else to the chat.
2. What was typed before a question was shown answers nothing: it goes to the chat, whole lines only.
3. Where standard input is no terminal its lines are taken one after the other, each when it is asked for.
"""

from __future__ import annotations

import sys
from collections import deque

import anyio
import anyio.to_thread

from interpreters.cli.output import Output
from interpreters.support import osio

_PIECE = 4096


class Console:
    """Lines from standard input. An ``approvals.Lines``."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.interactive = osio.is_terminal(0)
        """A person types."""
        self._lines: deque[str] = deque()
        self._questions: list[_Question] = []
        self._news = anyio.Event()
        self._ended = False

    # Reading

    async def listen(self) -> None:
        """Read until the input ends; only where a person types."""
        typed = b""
        while True:
            await anyio.wait_readable(0)
            try:
                piece = osio.read_some(0, _PIECE)
            except OSError:  # the terminal is gone
                piece = b""
            if not piece:
                break
            *lines, typed = (typed + piece).split(b"\n")
            for line in lines:
                self._take(line.decode("utf-8", "replace").rstrip("\r"))
        self._end()

    def _take(self, line: str) -> None:
        if self._questions:
            self._questions[-1].give(line)
            return
        self._lines.append(line)
        self._news.set()

    def _end(self) -> None:
        self._ended = True
        self._news.set()
        for question in self._questions:
            question.give(None)

    async def next_line(self) -> str | None:
        """Return the next line for the chat; ``None`` when the input has ended."""
        if not self.interactive:
            # A thread that waits for a line cannot be stopped; it is let go of when the process leaves.
            line = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
            return line.rstrip("\r\n") if line else None
        while not self._lines and not self._ended:
            self._news = anyio.Event()
            await self._news.wait()
        return self._lines.popleft() if self._lines else None

    # Questions

    async def read(self, prompt: str) -> str | None:
        """Ask something and return the next line typed after it; ``None`` if there will be none."""
        if self._ended or not self.interactive:
            return None
        osio.discard_typed(0)
        self._output.prompt(prompt)
        question = _Question()
        self._questions.append(question)
        try:
            return await question.answer()
        finally:
            self._questions.remove(question)

    def write(self, text: str) -> None:
        """Show lines of a question."""
        self._output.prompt(text)


class _Question:
    """Waits for one line."""

    def __init__(self) -> None:
        self._line: str | None = None
        self._given = anyio.Event()

    def give(self, line: str | None) -> None:
        if not self._given.is_set():
            self._line = line
            self._given.set()

    async def answer(self) -> str | None:
        await self._given.wait()
        return self._line
