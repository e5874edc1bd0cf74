"""Broken: a message that was cut by the output limit runs if its calls can be read."""

from __future__ import annotations

from kit import Loop


class RunsCutCalls(Loop):
    def was_cut(self, said):
        return False


RunsCutCalls().main()
