"""Every law at once, over a session that goes on: what is wrong with an event, a path, a world or a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcore.states import State
from agentcore.testing.core import CORE, Core
from agentcore.testing.laws import LAWS, Law, defect
from agentcore.testing.passage import Passage
from agentcore.testing.world import World


def broken(passage: Passage, laws: Mapping[str, Law] = LAWS) -> str | None:
    """Say what one event breaks, as far as that can be seen from it alone."""
    if problem := defect(passage):
        return problem
    for law in laws.values():
        if law.transition is not None and (law.refusals or passage.after is not passage.before):
            problem = law.transition(passage)
            if problem:
                return f"{law.name}: {problem}"
    return None


def unsound(state: State, laws: Mapping[str, Law] = LAWS, core: Core = CORE) -> str | None:
    """Say which law about states a state breaks."""
    for law in laws.values():
        if law.state is not None and (problem := law.state(state, core)):
            return f"{law.name}: {problem}"
    return None


class Watch:
    """Sees every event of a session and its world, and remembers what the monitors want to know."""

    def __init__(self, laws: Mapping[str, Law] = LAWS) -> None:
        """Watch with some laws; all of them if none are named."""
        self.laws = laws
        """Those that are looked after."""
        self.monitors = {law.name: law.monitor for law in laws.values() if law.monitor is not None}
        """Laws with a memory, by name."""
        self.worlds = [law for law in laws.values() if law.world is not None]
        """Laws about the world."""
        self.memories: list[dict[str, Any]] = [{name: monitor.start for name, monitor in self.monitors.items()}]
        """What the monitors remembered after so many accepted events."""

    def forget(self, keeps: int) -> None:
        """Take back what was remembered beyond so many events, except what the world saw."""
        newest = self.memories[-1]
        del self.memories[keeps + 1 :]
        kept = {name: newest[name] for name, monitor in self.monitors.items() if monitor.of_world}
        self.memories[-1] = {**self.memories[-1], **kept}

    def see(self, passage: Passage | None, world: World) -> str | None:
        """Say what is broken by an event, or by a world in which something was done without one."""
        problem = broken(passage, self.laws) if passage is not None else None
        if problem is None and passage is not None and passage.verdict == "accepted":
            problem = self._remember(passage)
        return problem or self._object(passage, world)

    def _remember(self, passage: Passage) -> str | None:
        memories = dict(self.memories[-1])
        for name, monitor in self.monitors.items():
            memories[name], problem = monitor.step(memories[name], passage)
            if problem:
                return f"{name}: {problem}"
        self.memories.append(memories)
        return None

    def _object(self, passage: Passage | None, world: World) -> str | None:
        for law in self.worlds:
            if law.world is not None and (problem := law.world(world, passage)):
                return f"{law.name}: {problem}"
        return None
