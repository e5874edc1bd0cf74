"""Tokens and money, counted once per attempt."""

from __future__ import annotations

import attrs


@attrs.frozen
class Usage:
    """What an attempt consumed; ``None`` means that the provider did not tell, which is not zero."""

    input_tokens: int | None = None
    """All tokens read, cached ones included."""
    output_tokens: int | None = None
    """All tokens written, reasoning included."""
    cache_read_tokens: int | None = None
    """Of the input, read from a cache."""
    cache_written_tokens: int | None = None
    """Of the input, written to a cache."""
    reasoning_tokens: int | None = None
    """Of the output, thinking."""
    cost_micros: int | None = None
    """Price in millionths of the account's currency."""

    def __add__(self, other: Usage) -> Usage:
        """Sum kind by kind; unknown and a number give the number."""
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cache_read_tokens, other.cache_read_tokens),
            _sum(self.cache_written_tokens, other.cache_written_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
            _sum(self.cost_micros, other.cost_micros),
        )

    @property
    def tokens(self) -> int:
        """Input and output together, unknown counted as zero."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)


def _sum(left: int | None, right: int | None) -> int | None:
    if left is None:
        return right
    return left if right is None else left + right
