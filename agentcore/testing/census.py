"""What sessions visit, counted as it is entered: phases, call states, outcomes; so that no test can test nothing.

Whoever drives a session may count words of its own beside them: rules that were taken, kinds of effects that were done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from agentcore.messages import CancelledCall, EffectSeen, Outcome, ToolMessage
from agentcore.states import CALL_STATES, PHASES, Settled, StopReason
from agentcore.testing.passage import Passage

OUTCOMES = (
    *(kind.__name__ for kind in Outcome.__args__ if kind is not CancelledCall),
    *(f"CancelledCall({seen.value})" for seen in EffectSeen),
)
"""Names of all outcomes, a confirmed stop once for each thing that is proved by it."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "phases": tuple(kind.__name__ for kind in PHASES),
    "call states": tuple(kind.__name__ for kind in CALL_STATES),
    "outcomes": OUTCOMES,
    "stop reasons": tuple(reason.value for reason in StopReason),
}
"""The words of the protocol that are counted, by title."""


class Census:
    """Counts what is visited."""

    def __init__(self, groups: Mapping[str, tuple[str, ...]] | None = None) -> None:
        """Count the words of the protocol, and of further ``groups`` by title."""
        self.groups: Mapping[str, tuple[str, ...]] = {**GROUPS, **(groups or {})}
        """What is counted, by title."""
        self.verdicts: Counter[str] = Counter()
        """Events by what became of them."""
        self.visited: Counter[str] = Counter()
        """How often each word was visited."""

    def note(self, passage: Passage) -> None:
        """Count one event, and what it entered: nothing is counted again for staying."""
        self.verdicts[passage.verdict] += 1
        if passage.verdict == "accepted":
            self.visited.update(_entered(passage))

    def add(self, *words: str) -> None:
        """Count words of a group of one's own."""
        self.visited.update(words)

    @property
    def events(self) -> int:
        """Number of events that were told."""
        return sum(self.verdicts.values())

    def lines(self) -> Iterable[str]:
        """Yield the counts for a reader."""
        yield f"{self.events} events: " + ", ".join(f"{times} {name}" for name, times in self.verdicts.most_common())
        for title, names in self.groups.items():
            yield f"{title}: " + ", ".join(f"{name} {self.visited[name]}" for name in names)

    def rarer_than(self, times: int, *titles: str) -> dict[str, int]:
        """Return what was visited less often than wanted."""
        names = (name for title in titles for name in self.groups[title])
        return {name: self.visited[name] for name in names if self.visited[name] < times}


def _entered(passage: Passage) -> Iterable[str]:
    before, after = passage.before.phase, passage.after.phase
    if type(before) is not type(after):
        yield type(after).__name__
        if (ending := getattr(after, "ending", None)) is not None and getattr(before, "ending", None) != ending:
            yield ending.reason.value
    for old, new in passage.moved:
        if new is not None and (old is None or type(old.state) is not type(new.state)):
            yield type(new.state).__name__
            if new.registered and isinstance(new.state, Settled):
                yield _name_of(new.state.outcome)
    for message in passage.said:
        if isinstance(message, ToolMessage):
            yield from (_name_of(result.outcome) for result in message.results)


def _name_of(outcome: Outcome) -> str:
    name = type(outcome).__name__
    return f"{name}({outcome.effect.value})" if isinstance(outcome, CancelledCall) else name
