"""Questions at a terminal.

1. What is shown is exactly what would run, and whose digest the permission is bound to. Characters that could move
   the cursor, or make one text look like another, are shown by their number.
2. Only a plain ``y`` allows. Enter alone asks again; any other text is a refusal that says what is wanted instead.
3. What was typed before the question was shown answers nothing.
4. One question at a time. A terminal that was closed is nobody.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Callable, Mapping
from typing import Protocol

import anyio

from agentcore.commands import AskApproval, InspectEffect
from agentcore.events import ApprovalDenied, ApprovalGranted, DenialKind, EffectInspected, EffectResolved, Resolution
from agentcore.policy import Effect
from agentcore.states import Call
from interpreters.approvals.answers import NOBODY, Nobody, check_digest, denied, granted, resolved, undecided
from interpreters.support import osio
from interpreters.support.cleaning import visible, visible_line

SHOWN_MAX = 4_000
"""Characters of arguments that are shown before a person asks for all of them."""

EFFECTS: Mapping[Effect, str] = {
    Effect.PURE: "only reads",
    Effect.KEYED: "changes something elsewhere, once however often it is sent",
    Effect.FENCEABLE: "changes something; whether it did can be found out afterwards",
    Effect.INSPECTABLE: "changes something; whether it did can be looked up afterwards",
    Effect.OPAQUE: "can change anything; what it did cannot be found out by a program",
}
"""What a person is told of a tool's effect."""


class Lines(Protocol):
    """Where a person types and reads."""

    async def read(self, prompt: str) -> str | None:
        """Show a prompt and return the next line typed after it, without its end; ``None`` if there will be none."""

    def write(self, text: str) -> None:
        """Show lines; what is untrusted in them is already harmless."""


class TerminalLines:
    """A terminal behind two descriptors: standard input, and standard error, which is not what a pipe is given."""

    def __init__(self, descriptor: int = 0, write: Callable[[str], object] | None = None) -> None:
        self._descriptor = descriptor
        self._write = write or _to_standard_error

    async def read(self, prompt: str) -> str | None:
        """Forget what was typed before, show the prompt, and read one line; giving up loses no later line."""
        osio.discard_typed(self._descriptor)
        self._write(prompt)
        typed = b""
        while not typed.endswith(b"\n"):
            await anyio.wait_readable(self._descriptor)
            try:
                piece = osio.read_some(self._descriptor, 4096)
            except OSError:  # the terminal is gone
                return None
            if not piece:
                return None
            typed += piece
        return typed.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")

    def write(self, text: str) -> None:
        """Show lines."""
        self._write(text)


def _to_standard_error(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class TerminalApprover:
    """An ``Approver`` who sits at a terminal."""

    def __init__(self, lines: Lines, *, by: str = "user") -> None:
        """``by`` names the person in the record of what was decided."""
        self._lines, self._by = lines, by
        self._one_at_a_time = anyio.Lock()

    async def ask(self, session_id: str, order: AskApproval, call: Call) -> ApprovalGranted | ApprovalDenied:
        """Ask whether a call may run."""
        check_digest(order, call)
        async with self._one_at_a_time:
            self._lines.write(_permission(order, call))
            while True:
                typed = await self._read("[y]es, [n]o, [v]iew all, or say what to do instead: ")
                match typed if typed is None else typed.strip().lower():
                    case None:
                        return denied(order, by=NOBODY, kind=DenialKind.NOBODY)
                    case "y" | "yes":
                        return granted(order, call, by=self._by)
                    case "n" | "no":
                        return denied(order, by=self._by)
                    case "v" | "view":
                        self._lines.write(_arguments(call.arguments, None))
                    case "":
                        continue
                    case _:
                        return denied(order, by=self._by, feedback=typed or "")

    async def ask_effect(self, session_id: str, order: InspectEffect, call: Call) -> EffectResolved | EffectInspected:
        """Ask what became of an effect."""
        async with self._one_at_a_time:
            self._lines.write(_effect(order, call))
            while True:
                typed = await self._read("did it happen? [y]es, it [f]ailed, [n]o, [l]ook later, [g]ive up: ")
                match typed if typed is None else typed.strip().lower():
                    case None:
                        return undecided(order, by=NOBODY, evidence="the terminal was closed before an answer")
                    case "y" | "yes":
                        return await self._with_words(order, Resolution.EXECUTED, "what came of it")
                    case "f" | "failed":
                        return await self._with_words(order, Resolution.FAILED, "how it failed")
                    case "n" | "no":
                        return await self._not_executed(order)
                    case "l" | "later":
                        return undecided(order, by=self._by, evidence="the person will look later")
                    case "g" | "give up":
                        return resolved(order, Resolution.ABANDONED, by=self._by)
                    case _:
                        continue

    async def _with_words(self, order: InspectEffect, resolution: Resolution, what: str) -> EffectResolved:
        words = await self._lines.read(f"{what}, for the model (may be empty): ")
        return resolved(order, resolution, by=self._by, result=words or "")

    async def _not_executed(self, order: InspectEffect) -> EffectResolved:
        again = await self._lines.read("run it again? [y]es, anything else is no: ")
        retry = again is not None and again.strip().lower() in {"y", "yes"}
        return resolved(order, Resolution.NOT_EXECUTED, by=self._by, retry=retry)

    async def _read(self, prompt: str) -> str | None:
        """Read a line; a question that is withdrawn meanwhile says so."""
        try:
            return await self._lines.read(prompt)
        except anyio.get_cancelled_exc_class():
            self._lines.write("\n(no longer asked)\n")
            raise


def terminal_approver(*, by: str = "user") -> TerminalApprover | Nobody:
    """Return who sits at this process's terminal: nobody, if standard input or standard error is something else."""
    if osio.is_terminal(0) and osio.is_terminal(2):
        return TerminalApprover(TerminalLines(), by=by)
    return Nobody()


def _permission(order: AskApproval, call: Call) -> str:
    why = f"  asked because {visible_line(order.reason)}\n" if order.reason else ""
    return (
        f"\nMay {visible_line(call.name)} run? It {EFFECTS[call.contract.effect]}.\n"
        f"{why}{_arguments(call.arguments, SHOWN_MAX)}"
        f"  call {call.call_id}, SHA-256 of the arguments {order.digest}\n"
    )


def _arguments(arguments: str, limit: int | None) -> str:
    """The arguments as indented JSON, the form in which line breaks and quotes are what they are."""
    text = visible(json.dumps(json.loads(arguments), ensure_ascii=False, indent=2))
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]}\n... and {len(text) - limit} more characters: [v]iew all"
    return "".join(f"  | {line}\n" for line in text.split("\n"))


def _effect(order: InspectEffect, call: Call) -> str:
    epoch, attempt = order.execution
    run = next((each for each in (call.run, *call.unproved) if each is not None and each.id == order.execution), None)
    facts = [("started", _time(run.released_at)), ("handle", run.handle), ("last seen", run.observation)] if run else []
    facts += [
        *call.state.transition.evidence,
        *(("also reported", text) for text in getattr(call.state, "reports", ())),
    ]
    told = "".join(f"  {visible_line(name)}: {visible_line(text)}\n" for name, text in facts if text)
    return (
        f"\nWhat became of {visible_line(call.name)}? It was started and not seen to end.\n"
        f"{_arguments(call.arguments, SHOWN_MAX)}"
        f"{told}  call {call.call_id}, attempt {epoch}.{attempt}\n"
    )


def _time(at_ms: int) -> str:
    return dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC).isoformat(timespec="seconds")
