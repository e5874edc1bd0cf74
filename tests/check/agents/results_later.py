"""Broken: a word of the user's side comes between calls and their results."""

from __future__ import annotations

from kit import Loop


class ResultsLater(Loop):
    def add(self, item):
        if item["role"] == "tool":
            super().add({"role": "user", "text": "The tools are done."})
        super().add(item)


ResultsLater().main()
