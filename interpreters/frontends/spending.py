"""What each attempt consumed, counted once: read from the passages of a session, as the audit is.

1. An attempt is one try of a model request, one compaction, or one execution of a tool that tells usage (a sub-agent).
2. An attempt that failed or was stopped counts like any other. One that ended without a word (its process died, nobody
   waited for it any more) is *lost*: it may have consumed something, and nobody knows what.
3. A cost is the sum of what is known, and beside it stands how many attempts have an unknown one. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from agentcore.commands import RequestModel, key_of
from agentcore.events import (
    CompactionFailed,
    ContextCompacted,
    Event,
    ModelFailed,
    ModelReplied,
    ModelStopped,
    TaskSettled,
    ToolCancelled,
    ToolFailed,
    ToolSucceeded,
)
from agentcore.messages import Usage
from agentcore.outstanding import outstanding
from agentcore.projections import Passage


@attrs.frozen
class Spent:
    """What one attempt consumed."""

    seq: int
    """The event that told it."""
    about: str
    """The request or call: ``turn.step``, or ``turn.step.index``."""
    epoch: int
    """Epoch of the attempt."""
    attempt: int
    """Its number."""
    ended: str
    """How: ``replied``, ``failed``, ``stopped``, ``lost``, ``compacted``, ``compaction-failed``, or ``tool``."""
    usage: Usage
    """What it consumed, as far as anybody told."""
    model: str = ""
    """Which model answered, where that was told."""
    code: str = ""
    """What went wrong, where something did."""

    @property
    def turn(self) -> int:
        """The turn it belongs to."""
        return int(self.about.partition(".")[0])

    @property
    def counted(self) -> bool:
        """Whether anybody told how many tokens it was."""
        return self.usage.input_tokens is not None or self.usage.output_tokens is not None


@attrs.frozen
class Cost:
    """What attempts cost together."""

    micros: int | None = None
    """The sum of the known costs, in millionths of the account's currency; ``None`` if none is known."""
    attempts: int = 0
    """How many attempts there were."""
    unpriced: int = 0
    """How many of them told tokens whose price is not known."""
    untold: int = 0
    """How many of them told nothing."""

    @property
    def text(self) -> str:
        """The cost in words: a number, ``unknown``, or both."""
        unknown = self.unpriced + self.untold
        if self.micros is None:
            return "unknown" if unknown else "nothing yet"
        known = f"{self.micros / 1_000_000:.4f}"
        return f"{known} + unknown" if unknown else known


def cost_of(spent: Iterable[Spent]) -> Cost:
    """Add attempts up."""
    cost = Cost()
    for one in spent:
        micros = one.usage.cost_micros
        cost = Cost(
            cost.micros if micros is None else micros + (cost.micros or 0),
            cost.attempts + 1,
            cost.unpriced + (micros is None and one.counted),
            cost.untold + (micros is None and not one.counted),
        )
    return cost


def spending(passages: Iterable[Passage]) -> Iterator[Spent]:
    """Yield what each attempt consumed, in the order in which that was told."""
    for passage in passages:
        told = _told(passage.after.seq, passage.event)
        if told is not None and (told.ended != "tool" or passage.before.usage != passage.after.usage):
            yield told
        answered = (told.about, told.epoch, told.attempt) if told is not None else None
        yield from (one for one in _lost(passage) if (one.about, one.epoch, one.attempt) != answered)


def spent_values(spent: Spent) -> dict[str, Any]:
    """Return an attempt for a program; ``null`` means that nobody told, which is not zero."""
    return attrs.asdict(spent) | {"turn": spent.turn}


def _told(seq: int, event: Event) -> Spent | None:
    match event:
        case ModelReplied(model=model):
            return _of_request(seq, event, "replied", model=model)
        case ModelFailed(code=code):
            return _of_request(seq, event, "failed", code=code)
        case ModelStopped():
            return _of_request(seq, event, "stopped")
        case ContextCompacted():
            return _of_request(seq, event, "compacted")
        case CompactionFailed():
            return _of_request(seq, event, "compaction-failed")
        case ToolSucceeded() | ToolFailed() | ToolCancelled() | TaskSettled():
            return Spent(seq, event.call_id, event.epoch, event.attempt, "tool", event.usage)
        case _:
            return None


def _of_request(
    seq: int,
    event: ModelReplied | ModelFailed | ModelStopped | ContextCompacted | CompactionFailed,
    ended: str,
    *,
    model: str = "",
    code: str = "",
) -> Spent:
    return Spent(seq, event.request_id, event.epoch, event.attempt, ended, event.usage, model, code)


def _lost(passage: Passage) -> Iterator[Spent]:
    """Yield the tries that are no longer waited for after this event."""
    before = [command for command in outstanding(passage.before) if isinstance(command, RequestModel)]
    if before:
        left = {key_of(command) for command in outstanding(passage.after)}
        for order in before:
            if key_of(order) not in left:
                yield Spent(passage.after.seq, order.request_id, order.epoch, order.attempt, "lost", Usage())
