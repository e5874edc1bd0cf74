"""What sessions visit: every phase, call state and outcome is counted when it is entered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from agentcore.messages import CancelledCall, EffectSeen, Outcome, ToolMessage
from agentcore.states import CALL_STATES, PHASES, Settled, StopReason
from agentcore.testing.passage import Passage

OUTCOMES = (
    *(kind.__name__ for kind in Outcome.__args__ if kind is not CancelledCall),
    *(f"CancelledCall({seen.value})" for seen in EffectSeen),
)


class Census:
    """Counts what is visited."""

    def __init__(self):
        self.verdicts = Counter()
        self.visited = Counter()

    def note(self, passage: Passage) -> None:
        """Count one event, and what it entered: nothing is counted again for staying."""
        self.verdicts[passage.verdict] += 1
        if passage.verdict == "accepted":
            self.visited.update(_entered(passage))

    @property
    def events(self) -> int:
        return sum(self.verdicts.values())

    def lines(self) -> Iterable[str]:
        """The counts for a reader."""
        yield f"{self.events} events: " + ", ".join(f"{times} {name}" for name, times in self.verdicts.most_common())
        for title, names in GROUPS.items():
            yield f"{title}: " + ", ".join(f"{name} {self.visited[name]}" for name in names)

    def rarer_than(self, times: int, *titles: str) -> dict[str, int]:
        """What was visited less often than wanted."""
        names = (name for title in titles for name in GROUPS[title])
        return {name: self.visited[name] for name in names if self.visited[name] < times}


GROUPS = {
    "phases": tuple(kind.__name__ for kind in PHASES),
    "call states": tuple(kind.__name__ for kind in CALL_STATES),
    "outcomes": OUTCOMES,
    "stop reasons": tuple(reason.value for reason in StopReason),
}


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
