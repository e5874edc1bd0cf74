"""Choices, all made of one: a number below a bound.

What is built by dice can be rolled by Hypothesis, which then finds a simpler value by making the numbers smaller, or by
a seed, which is quick. Zero is always the plainest choice, so options are listed with the plainest one first.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

T = TypeVar("T")

WORDS = ("one", "", "two", "größer", "a\nb")
"""Texts that mean nothing."""
NUMBERS = (1, 0, 2, 40, 1_000)
"""Whole numbers that mean nothing."""


class Dice:
    """Makes choices out of numbers below a bound."""

    def __init__(self, below: Callable[[int], int]) -> None:
        """Take ``below(bound)``, which returns a whole number from 0 to ``bound - 1``."""
        self._below = below

    def below(self, bound: int) -> int:
        """Return a whole number from 0 to ``bound - 1``; a bound of 1 leaves no choice."""
        return self._below(bound) if bound > 1 else 0

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options, each as likely as the others."""
        return options[self.below(len(options))]

    def once_in(self, times: int) -> bool:
        """Say yes once in so many times."""
        return self.below(times) == times - 1

    def some(self, options: Sequence[T]) -> tuple[T, ...]:
        """Return a few of the options, in their order; the plainest choice is none."""
        return tuple(option for option in options if self.once_in(2))

    def weighed(self, weights: Mapping[T, int]) -> T:
        """Return one of the options, each as likely as its weight says; weights are positive."""
        sums = list(accumulate(weights.values()))
        return list(weights)[bisect_right(sums, self.below(sums[-1]))]

    def text(self) -> str:
        """Return a text that means nothing."""
        return self.pick(WORDS)

    def whole(self) -> int:
        """Return a whole number that means nothing."""
        return self.pick(NUMBERS)


def seeded(seed: int) -> Dice:
    """Return dice that fall the same way for the same seed."""
    return Dice(random.Random(seed).randrange)  # noqa: S311 - reproducible on purpose, no secret depends on it


def spent(number: int) -> Dice:
    """Return dice that use up one number: its remainders are the choices, zero makes all of them the plainest.

    So whoever draws a single number draws everything, and a smaller number is a simpler example.
    """
    rest = number

    def below(bound: int) -> int:
        nonlocal rest
        rest, choice = divmod(rest, bound)
        return choice

    return Dice(below)
