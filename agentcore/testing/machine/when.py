"""When a rule may be taken, and the configurations that sessions begin with."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from agentcore.commands import CancelModel, Command, RequestModel, StartTimer
from agentcore.policy import Config
from agentcore.states import EffectUnknown, Idle
from agentcore.testing.moves import PATIENT
from agentcore.testing.passage import all_calls
from agentcore.testing.strategies.configs import TOOLS, roll_config
from agentcore.testing.strategies.dice import seeded
from agentcore.testing.world import orphans

if TYPE_CHECKING:
    from agentcore.testing.machine.rules import SessionMachine


@lru_cache(maxsize=1024)
def config_of(number: int) -> Config:
    """Return the configuration of a number: 0 has one tool of each kind and no tight bound."""
    return Config(TOOLS) if number == 0 else roll_config(seeded(number))


def waits_for(*kinds: type[Command]) -> Callable[[SessionMachine], bool]:
    """Make the precondition that something of some kinds is outstanding."""
    return lambda machine: any(isinstance(command, kinds) for command in machine.waiting)


PEACE = 3
"""Events that are told between two disturbances; without it a session would come to do nothing."""


def rested(machine: SessionMachine) -> bool:
    """Say whether the last disturbance is some events ago."""
    return len(machine.sim.told) >= machine.disturbed_at + PEACE


def stopping_model(machine: SessionMachine) -> bool:
    """Say whether a request was told to end, or one runs that has not been disturbed for a while."""
    return bool(machine.orders(CancelModel) or (machine.orders(RequestModel) and rested(machine)))


def timed(machine: SessionMachine) -> bool:
    """Say whether a timer runs on which everything else waits, or any timer while the session is at rest."""
    timers = machine.orders(StartTimer)
    patient = any(timer.timer_id.partition("/")[0] in PATIENT for timer in timers)
    return patient or (bool(timers) and rested(machine))


def under_way(machine: SessionMachine) -> bool:
    """Say whether a letter is under way."""
    return bool(machine.sim.letters)


def at_rest(machine: SessionMachine) -> bool:
    """Say whether no turn is open."""
    return not machine.sim.state.open


def idle(machine: SessionMachine) -> bool:
    """Say whether the host may change the session."""
    return isinstance(machine.sim.state.phase, Idle) and rested(machine)


def uncertain(machine: SessionMachine) -> bool:
    """Say whether a person could know more than the session."""
    return any(isinstance(call.state, EffectUnknown) or call.registered for call in all_calls(machine.sim.state))


def paused(machine: SessionMachine) -> bool:
    """Say whether there is a worker that nobody waits for."""
    return bool(orphans(machine.sim.world, machine.waiting)) and rested(machine)


def readable(machine: SessionMachine) -> bool:
    """Say whether there is a journal to be damaged."""
    return len(machine.sim.disk) > 1 and rested(machine)
