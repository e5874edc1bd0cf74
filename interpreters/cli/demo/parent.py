"""The process that watches the other two."""

from __future__ import annotations

import signal
import sys
from argparse import Namespace
from pathlib import Path

import anyio

from interpreters.cli.demo.story import SESSION, Room
from interpreters.cli.demo.telling import Teller
from interpreters.cli.demo.verdict import Claim, claims_of_death, claims_of_life, look
from interpreters.cli.exits import Exit, Problem
from interpreters.cli.output import Output
from interpreters.support import osio, osrun

_PLAN = """\
A session on the real file system, in {place}
 1. A first process reads two files at once, asks whether it may add a line to ledger.txt, and adds it.
 2. It is killed (SIGKILL) when the line stands in the file and nothing is recorded of that yet.
 3. A second process resumes the session from its journal, finds out what became of the line, and ends the turn.
Each line with a number is a transition: event, phase before and after, why."""


def demo(arguments: Namespace, output: Output) -> int:
    """Show it. The exit code is 0 only if everything that is claimed at the end is so."""
    if arguments.model == "smollm2":
        from interpreters.cli.demo import smollm2

        smollm2.require()
    room = _room(arguments)
    keeps = arguments.keep or arguments.dir is not None
    try:
        return Demonstration(arguments, room).run()
    finally:
        if keeps:
            output.warn(f"kept: {room.top} (agentcore log {SESSION} --sessions {room.sessions})")
        else:
            osio.remove_tree(room.top)


def _room(arguments: Namespace) -> Room:
    if arguments.dir is None:
        room = Room(osio.make_temporary_directory("agentcore-demo-"))
    else:
        room = Room(Path(arguments.dir))
        if room.top.exists():
            raise Problem(f"--dir {arguments.dir!r} exists already: name a directory that does not")
    try:
        room.furnish()
    except OSError as error:
        raise Problem(f"{room.top} cannot be furnished: {error.strerror}; name another place with --dir") from error
    return room


class Demonstration:
    """Runs two processes one after the other and says what is so."""

    def __init__(self, arguments: Namespace, room: Room) -> None:
        self._arguments = arguments
        self._room = room
        self._teller = Teller(as_json=arguments.as_json)
        self._claims: list[Claim] = []

    def run(self) -> Exit:
        """Return 0 if all claims are true."""
        tell = self._teller.note
        tell(_PLAN.format(place=self._room.top))
        approval = self._approval()
        self._head("first process")
        status = self._work(approval, "--dies")
        if status >= 0:
            tell(
                f"The first process ended by itself (exit code {status}) before it changed anything: no story to tell."
            )
            return Exit(status) if status in set(Exit) and status else Exit.FAILED
        self._head(f"the first process is dead: signal {-status} ({signal.Signals(-status).name})")
        self._check(claims_of_death(status, anyio.run(look, self._room)))
        self._head("second process")
        status = self._work(approval, "--resumes", *(["--lies"] if self._arguments.lying_inspect else []))
        self._head("what is so now")
        found = anyio.run(look, self._room)
        self._check(claims_of_life(status, found, lied=self._arguments.lying_inspect))
        return self._end(found.deeds)

    def _approval(self) -> str:
        """Decide who answers the question, and say so."""
        watched = osio.is_terminal(0) and osio.is_terminal(1) and not self._arguments.as_json
        told: str | None = self._arguments.approval
        if told == "ask" and not watched:
            raise Problem("--approval ask needs a terminal")
        if told is not None:
            self._teller.note(f"The question for permission is answered by --approval {told}.")
            return told
        if not watched:
            self._teller.note("This is no terminal, so the question for permission is answered with yes.")
        return "ask" if watched else "yes"

    def _work(self, approval: str, *flags: str) -> int:
        """Run one process to its end and return its status."""
        command = [sys.executable, "-m", "interpreters.cli.demo.worker", "--dir", str(self._room.top)]
        command += ["--model", self._arguments.model, "--approval", approval, *flags]
        command += ["--json"] if self._arguments.as_json else []
        environment = osio.environment()
        # The process has to find the same packages, also where they are used from a source tree.
        environment["PYTHONPATH"] = _with_packages(environment.get("PYTHONPATH", ""))
        sys.stdout.flush()
        return osrun.run_process(command, env=environment)

    def _head(self, text: str) -> None:
        self._teller.note(f"\n{self._teller.style.bold(f'--- {text}')}")

    def _check(self, claims: list[Claim]) -> None:
        style = self._teller.style
        for claim in claims:
            mark = style.good("true ") if claim.true else style.bad("FALSE")
            self._teller.note(f"{mark} {claim.text}")
        self._claims += claims

    def _end(self, deeds: int) -> Exit:
        kept = all(claim.true for claim in self._claims)
        if self._teller.as_json:
            said = [{"claim": claim.text, "true": claim.true} for claim in self._claims]
            self._teller.value({"demo": "verdict", "true": kept, "deeds": deeds, "claims": said})
        return Exit.COMPLETED if kept else Exit.FAILED


def _with_packages(path: str) -> str:
    top = str(Path(__file__).parents[3])
    return f"{top}:{path}" if path else top
