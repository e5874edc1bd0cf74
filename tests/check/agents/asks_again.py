"""Broken: it asks once more after the final answer."""

from __future__ import annotations

from kit import Loop


class AsksAgain(Loop):
    def turn(self):
        super().turn()
        self.ask()


AsksAgain().main()
