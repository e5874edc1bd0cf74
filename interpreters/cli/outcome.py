"""Running one command: whatever it raises becomes words for the user and an exit code, once, here."""

from __future__ import annotations

import signal
import sys
from argparse import Namespace

from agentcore.codec import encode_event
from agentcore.messages import clean_text
from interpreters.cli.commands import command_of
from interpreters.cli.exits import Exit, Problem, exit_of_error
from interpreters.cli.output import Output
from interpreters.engine import StorageUnavailable
from interpreters.support.ports_store import SessionDamaged, SessionLocked, SessionUnknown
from interpreters.tools import ToolDefinitionError

_WORDS = ("task", "session_id", "accept_gap", "feedback", "result")
"""What is typed as text and recorded: bytes that are no text become the replacement character. Paths are left alone."""


def run_command(chosen: Namespace) -> int:
    """Run what was chosen and return the exit code. A defect of ours keeps its traceback."""
    for name in _WORDS:
        if isinstance(typed := getattr(chosen, name, None), str):
            setattr(chosen, name, clean_text(typed))
    output = Output(as_json=getattr(chosen, "as_json", False), quiet=getattr(chosen, "quiet", False))
    try:
        code = _run(chosen, output)
    except KeyboardInterrupt:
        output.end_line()
        code = Exit.LEFT
    finally:
        output.close()
    if code == Exit.LEFT:
        _die_of_interrupt()
    return code


def _run(chosen: Namespace, output: Output) -> int:
    try:
        return command_of(chosen.command)(chosen, output)
    except Exception as error:
        cause = alone(error)
        if isinstance(cause, ToolDefinitionError):
            cause = Problem(str(cause))
        code = exit_of_error(cause)
        if code is None:
            raise
        tell(cause, code, output)
        return code


def alone(error: BaseException) -> BaseException:
    """Return the one error in groups that hold only it; task groups wrap whatever passes through them."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def tell(error: BaseException, code: Exit, output: Output) -> None:
    """Say what is wrong; events that could not be saved are handed to whoever reads standard error."""
    if output.as_json:
        output.value({"error": str(error), "exit": int(code)})
    output.warn(f"agentcore: {error}")
    if told := advice(error):
        output.warn(f"  {told}")
    if isinstance(error, StorageUnavailable):
        for seq, event in error.unsaved:
            output.warn(f"  not saved: {seq} {encode_event(event).decode()}")


def advice(error: BaseException) -> str:
    """Return what to type next, where there is something."""
    match error:
        case SessionUnknown():
            return "agentcore sessions   lists the sessions"
        case SessionLocked(session_id=session_id):
            return f"agentcore show {session_id}   reads it meanwhile"
        case SessionDamaged(session_id=session_id, loaded=loaded) if loaded is not None:
            return f"agentcore resume {session_id} --accept-gap NAME   goes on without what is lost; NAME accepts that"
        case _:
            return ""


def _die_of_interrupt() -> None:
    """End as a shell expects of a program that was interrupted; a thread that hangs in a tool does not hold it up."""
    sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)
