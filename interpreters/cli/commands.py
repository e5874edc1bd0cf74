"""Which function each command is; it is imported when it is chosen."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from interpreters.cli.output import Output

Command = Callable[[Namespace, Output], int]
"""A command: what was typed and where to write in, an exit code out."""


def command_of(name: str) -> Command:
    """Return the function of a command by the name it is typed with."""
    match name:
        case "run" | "resume":
            from interpreters.cli import turns

            return turns.run if name == "run" else turns.resume
        case "chat":
            from interpreters.cli.chat import chat

            return chat
        case "inspect":
            from interpreters.cli.effects import inspect

            return inspect
        case "explore":
            from interpreters.cli.explore import explore

            return explore
        case "check":
            from interpreters.cli.check import check

            return check
        case "demo":
            from interpreters.cli.demo import demo

            return demo
        case _:
            from interpreters.cli import reading

            return {"sessions": reading.sessions, "show": reading.show, "log": reading.log}[name]
