"""Broken: it sends the last messages only, and what the user said is lost."""

from __future__ import annotations

from kit import DIALECT, ENCODE, Loop


class Slides(Loop):
    def encode(self):
        return ENCODE[DIALECT](self.history[-2:], self.tools)


Slides().main()
