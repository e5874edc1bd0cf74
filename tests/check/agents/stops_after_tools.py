"""Broken: it runs the tools and shows their results to nobody."""

from __future__ import annotations

from kit import Loop


class StopsAfterTools(Loop):
    def turn(self):
        self.add(self.take(self.ask()))
        self.act(self.history[-1])


StopsAfterTools().main()
