"""One event given to somebody's reducer, and what the laws say to it. The search and the scenarios share this."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from agentcore.testing.protocol.plain import is_settled
from agentcore.testing.protocol.shape import LoopProtocol, Monitor, ProtocolLaw, Transition

Problem = tuple[str, str]
"""The name of a broken law, and what is wrong in words."""

RETURNS = ProtocolLaw("reduce-returns", "Whatever happens, reduce returns: it raises only the refusals it declares.")
"""Every protocol is held to it."""
UNTOUCHED = ProtocolLaw("state-untouched", "reduce leaves the state that it is given as it is.")
"""Every protocol is held to it: a search of states that change under its hands would find nothing that is so."""


def take(protocol: LoopProtocol, state: Any, event: Any, key: Hashable) -> tuple[Transition, Hashable, Problem | None]:
    """Give an event to ``reduce`` in a state of that key.

    Returns what it did, the key of the state afterwards, and a problem with how ``reduce`` behaved.
    """
    try:
        after, commands = _pair(protocol.reduce(state, event))
    except protocol.refusals as error:
        return Transition(state, event, state, changed=False, refusal=str(error) or type(error).__name__), key, None
    except Exception as error:  # noqa: BLE001 - other people's reducers raise what they like, and that is a finding
        problem = (RETURNS.name, f"reduce raised {type(error).__name__}: {error}".rstrip(": "))
        return Transition(state, event, state, changed=False), key, problem
    if not is_settled(state) and protocol.normalise(state) != key:
        problem = (UNTOUCHED.name, "the state before was changed: wrap reduce in `copying`, or mend it")
        return Transition(state, event, after, commands), key, problem
    new = key if after is state else protocol.normalise(after)
    return Transition(state, event, after, commands, changed=new != key), new, None


def _pair(given: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return what ``reduce`` gave; ``TypeError`` if it is something else than a pair. No commands may be ``None``."""
    if not isinstance(given, tuple) or len(given) != 2:  # noqa: PLR2004 - a pair has two
        raise TypeError(f"it gave a {type(given).__name__}, and not a pair of state and commands")
    return given[0], tuple(given[1] or ())


class Judge:
    """Holds single states and transitions to laws; remembers nothing itself."""

    def __init__(self, laws: Sequence[ProtocolLaw]) -> None:
        self._states = [(law.name, law.state) for law in laws if law.state is not None]
        self._transitions = [(law.name, law.transition) for law in laws if law.transition is not None]
        self._names = {law.name for law in laws}
        self._monitors: list[Monitor] = []
        for law in laws:
            if law.monitor is not None and all(law.monitor is not each for each in self._monitors):
                self._monitors.append(law.monitor)

    @property
    def start(self) -> tuple[Any, ...]:
        """What the monitors remember before anything has happened."""
        return tuple(monitor.start for monitor in self._monitors)

    def state(self, state: Any) -> list[tuple[str, str]]:
        """Return the laws that a state breaks, each with the problem."""
        return [(name, problem) for name, check in self._states if (problem := check(state))]

    def transition(
        self, memories: tuple[Any, ...], transition: Transition
    ) -> tuple[tuple[Any, ...], list[tuple[str, str]]]:
        """Return what is remembered after a transition, and the laws that it breaks, each with the problem."""
        problems = [(name, problem) for name, check in self._transitions if (problem := check(transition))]
        told = []
        for monitor, memory in zip(self._monitors, memories, strict=True):
            after, found = monitor.step(memory, transition)
            told.append(after)
            problems += [each for each in found if each[0] in self._names]
        return tuple(told), problems
