"""The world calms down: everything that waits is answered honestly, and then the turn has to end (L17).

Afterwards every paused worker that still can wakes up and acts: what was said of its call has to be true even then.
"""

from __future__ import annotations

from agentcore.commands import (
    CancelModel,
    CancelTool,
    Command,
    ExecuteTool,
    PersistCheckpoint,
    RequestModel,
    StartTimer,
)
from agentcore.outstanding import is_question
from agentcore.testing.moves import Move, Source
from agentcore.testing.simulation.models import calm_reply
from agentcore.testing.simulation.session import Simulation
from agentcore.testing.world import Deed

ANSWERS_MAX = 300
"""Answers within which a session comes to rest: far more than any session of a hundred steps has needed."""

ENDS_IT = "every-turn-ends"
"""The name of what is shown here, beside those of the claims."""


def calm(sim: Simulation, *, gives_up: bool = False, answers_max: int = ANSWERS_MAX) -> str | None:
    """Answer everything until no turn is open; say where a turn does not end.

    With ``gives_up`` every question to a person is given up instead of answered.
    """
    for _ in range(answers_max):
        if not sim.state.open:
            return None
        if not _answer(sim, gives_up=gives_up):
            return f"{ENDS_IT}: nothing can happen any more, and the turn is {type(sim.state.phase).__name__}"
    return f"{ENDS_IT}: {answers_max} answers did not end the turn, it is {type(sim.state.phase).__name__}"


def wake_everybody(sim: Simulation) -> None:
    """Let every worker that still can do its deed, with nobody listening."""
    for attempt in sim.world.attempts:
        if attempt.may_act(sim.world.now):
            sim.makes(Move(Source.WORKER, None, sim.world.told(attempt, Deed.DONE)))


def _answer(sim: Simulation, *, gives_up: bool) -> bool:
    """Answer one thing that waits; say whether there was one."""
    command = next_due(sim.waiting, sim.world.now)
    match command:
        case None:
            return False
        case PersistCheckpoint():
            sim.saves(command, "written")
        case RequestModel():
            completes = sim.state.config.policy.completion_required
            sim.replies(command, calm_reply(sim.state.config, completes=completes))
        case StartTimer():
            sim.fires(command)
        case _:
            moves = sim.moves(command, plain=True) or sim.moves(command)
            sim.makes(moves[-1] if gives_up and is_question(command) else moves[0])
    return True


def next_due(waiting: tuple[Command, ...], now: int) -> Command | None:
    """Return what is answered next, as an engine does it.

    First timers that are due, then whatever is no timer, cancels before what they cancel, else the earliest timer.
    """
    timers = sorted((each for each in waiting if isinstance(each, StartTimer)), key=lambda timer: timer.due_at)
    if timers and timers[0].due_at <= now:
        return timers[0]
    untimed = [command for command in waiting if not isinstance(command, StartTimer)]
    cancelled = {command.call_id for command in untimed if isinstance(command, CancelTool)}
    ended = any(isinstance(command, CancelModel) for command in untimed)
    for command in untimed:
        told_to_stop = isinstance(command, ExecuteTool) and command.call_id in cancelled
        if not told_to_stop and not (ended and isinstance(command, RequestModel)):
            return command
    return timers[0] if timers else None
