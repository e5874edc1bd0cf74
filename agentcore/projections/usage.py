"""What was consumed, by turn and by session: five kinds of tokens, and money where the provider told the price."""

from __future__ import annotations

import attrs

from agentcore.messages import Usage
from agentcore.states import State

KINDS: tuple[tuple[str, str], ...] = (
    ("input_tokens", "input"),
    ("output_tokens", "output"),
    ("cache_read_tokens", "of the input, read from a cache"),
    ("cache_written_tokens", "of the input, written to a cache"),
    ("reasoning_tokens", "of the output, thinking"),
)
"""The five kinds of tokens: field of ``Usage``, and what people call it."""


@attrs.frozen
class UsageLine:
    """One kind of tokens."""

    kind: str
    """What people call it."""
    turn: int | None
    """Tokens of the turn that runs, or ran last; ``None`` means that nobody told, which is not zero."""
    session: int | None
    """Tokens of the session."""


@attrs.frozen
class UsageView:
    """What turn and session consumed."""

    turn_number: int
    """The turn that runs, or ran last; 0 before the first."""
    turn: Usage
    """What its attempts consumed, each counted once."""
    session: Usage
    """What all attempts of the session consumed, compactions and children included."""

    @property
    def lines(self) -> tuple[UsageLine, ...]:
        """The five kinds, in the order of ``KINDS``."""
        return tuple(
            UsageLine(words, getattr(self.turn, field), getattr(self.session, field)) for field, words in KINDS
        )


def usage_of(state: State) -> UsageView:
    """Return what turn and session consumed."""
    return UsageView(state.turn.number, state.turn.usage, state.usage)
