"""What a search of a protocol found: how much was seen, what broke, and the shortest way there."""

from __future__ import annotations

from typing import Any

import attrs

from agentcore.testing.protocol.plain import one_line
from agentcore.testing.protocol.shape import LoopProtocol, StateGraph, Transition


@attrs.frozen(eq=False)
class Counterexample:
    """One broken law, with a shortest way there."""

    law: str
    """Its name."""
    problem: str
    """What is wrong, in words."""
    steps: tuple[Transition, ...]
    """What happened, from the start to what breaks the law."""
    around: tuple[Transition, ...] = ()
    """What then happens over and over, where going round is what is wrong."""


@attrs.frozen(eq=False)
class Findings:
    """What one search found."""

    protocol: LoopProtocol
    """What was searched."""
    laws: tuple[str, ...]
    """The laws that it was held to, those of every protocol included."""
    states: int
    """Places that were told apart: normalised states with what the laws remember."""
    transitions: int
    """Events that were given to ``reduce`` and judged."""
    depth: int
    """Events on the longest of the shortest ways."""
    seconds: float
    """Time by the clock that was handed in; 0 without one."""
    capped: str
    """The bound that ended the search, ``states``, ``depth`` or ``seconds``; empty where everything was seen."""
    broken: tuple[Counterexample, ...]
    """Broken laws, each once, in the order of the laws."""
    undecided: tuple[str, ...]
    """Laws about the whole that nothing speaks against, but not everything was seen."""
    graph: StateGraph
    """Everything that was seen."""

    @property
    def holds(self) -> bool:
        """Whether no law was broken and everything was seen."""
        return not self.broken and not self.capped

    def counterexample(self, law: str) -> Counterexample | None:
        """Return the way to break a law, if one was found."""
        return next((each for each in self.broken if each.law == law), None)

    def summary(self) -> str:
        """Return one line: how much was seen, and whether that was all."""
        seen = f"the search was ended by its bound of {self.capped}" if self.capped else "everything was seen"
        undecided = f"; undecided: {', '.join(self.undecided)}" if self.undecided else ""
        how_many = f"{self.states} states, {self.transitions} transitions, {self.depth} events deep"
        return f"{one_line(self.protocol.name)}: {how_many}; {seen}{undecided}"

    def to_json(self) -> dict[str, Any]:
        """Return everything but the graph as JSON values; events are written as their text."""
        said = self.protocol.show_event
        return {
            "protocol": self.protocol.name,
            "laws": list(self.laws),
            "states": self.states,
            "transitions": self.transitions,
            "depth": self.depth,
            "seconds": round(self.seconds, 3),
            "capped": self.capped,
            "undecided": list(self.undecided),
            "broken": [
                {
                    "law": each.law,
                    "problem": each.problem,
                    "steps": [one_line(said(step.event)) for step in each.steps],
                    "around": [one_line(said(step.event)) for step in each.around],
                }
                for each in self.broken
            ],
        }
