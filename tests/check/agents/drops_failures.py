"""Broken: a call that failed gets no result at all."""

from __future__ import annotations

from kit import Loop


class DropsFailures(Loop):
    def act(self, said):
        return [result for result in super().act(said) if result["content"].startswith("written")]


DropsFailures().main()
