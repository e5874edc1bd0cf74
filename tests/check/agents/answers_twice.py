"""Broken: the result of a call is told when it comes, and again when the round ends."""

from __future__ import annotations

from kit import Loop


class AnswersTwice(Loop):
    def act(self, said):
        results = super().act(said)
        return [*results, results[0]]


AnswersTwice().main()
