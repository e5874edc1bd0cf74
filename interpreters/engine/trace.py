"""One structured line per reduction, and one per hook: what a person reads to learn why a session is where it is.

Where the host has not configured structlog nothing is written: a library that prints into a program's output breaks it.
"""

from __future__ import annotations

from typing import Any, Protocol

import attrs
import structlog

from agentcore import Judgement, Verdict
from agentcore.commands import Command, key_of
from agentcore.events import Event
from agentcore.states import Call, State
from interpreters.support.ports_model import HookRan


class Log(Protocol):
    """Takes structured lines; a structlog logger is one."""

    def info(self, event: str, **fields: Any) -> Any:
        """Take an ordinary line."""

    def warning(self, event: str, **fields: Any) -> Any:
        """Take a line about something that should not have happened."""


def default_log() -> Log | None:
    """Return the host's structlog logger, or nothing where structlog was not configured."""
    logger: Log = structlog.get_logger("agentcore")
    return logger if structlog.is_configured() else None


@attrs.frozen(eq=False)
class Judged:
    """One event, reduced."""

    before: State
    """The state it met."""
    event: Event
    """What happened, stamped."""
    judgement: Judgement
    """What ``reduce`` made of it, with its reasons."""
    duration_us: int
    """How long that took, in microseconds."""

    @property
    def after(self) -> State:
        """The state behind it."""
        return self.judgement.reduction.state

    @property
    def commands(self) -> tuple[Command, ...]:
        """What it orders."""
        return self.judgement.reduction.commands

    @property
    def accepted(self) -> bool:
        """Whether it is a fact of the session now."""
        return self.judgement.verdict is Verdict.ACCEPTED


@attrs.frozen(eq=False)
class Trace:
    """Writes the lines of one session."""

    session_id: str
    """Ties every line to transcript and audit (R-026)."""
    log: Log | None = attrs.field(factory=default_log)
    """Where they go; ``None`` drops them."""

    def reduction(self, judged: Judged) -> None:
        """Tell one reduction: where it came from, what happened, where it led, and why."""
        if self.log is None:
            return
        before, after, judgement = judged.before, judged.after, judged.judgement
        transition = after.phase.transition
        told = self.log.warning if judgement.verdict is Verdict.REJECTED else self.log.info
        fields: dict[str, Any] = {
            "session": self.session_id,
            "seq": after.seq,
            "at": judged.event.at,
            "from": type(before.phase).__name__,
            "to": type(after.phase).__name__,
            "verdict": judgement.verdict.value,
            "because": transition.because.value if judged.accepted else judgement.reason,
            "hops": [hop.value for hop in judgement.hops],
            "evidence": dict(transition.evidence) if judged.accepted else {},
            "calls": _moves(before, after),
            "commands": ["/".join(map(str, key_of(command))) for command in judged.commands],
            "duration_us": judged.duration_us,
        }
        if judgement.rejection is not None:
            fields["refused"] = str(judgement.rejection)
        # structlog calls the first argument ``event``: here it is one.
        told(type(judged.event).__name__, **fields)

    def hook(self, ran: HookRan) -> None:
        """Tell that a hook was called: which, for what, how long, what it changed."""
        if self.log is not None:
            said = {"about": ran.about, "duration_ms": ran.duration_ms, "changed": ran.changed}
            self.log.info("hook", session=self.session_id, hook=ran.hook, **said)

    def trouble(self, what: str, **fields: Any) -> None:
        """Tell of something that failed without changing the session."""
        if self.log is not None:
            self.log.warning(what, session=self.session_id, **fields)


def _moves(before: State, after: State) -> list[str]:
    """Name the calls that changed their state: ``1.1.0 Released -> Executing (release-covered)``."""
    if before is after:
        return []
    known = {call.call_id: call for call in _calls(before)}
    moves = []
    for call in _calls(after):
        old = known.get(call.call_id)
        if old is None or type(old.state) is not type(call.state):
            was = type(old.state).__name__ if old else "-"
            moves.append(f"{call.call_id} {was} -> {type(call.state).__name__} ({call.state.transition.because.value})")
    return moves


def _calls(state: State) -> tuple[Call, ...]:
    batch = state.batch
    return (*(batch.calls if batch else ()), *state.register)
