"""A correct one that makes a summary of its history when the model says that there is too much of it."""

from __future__ import annotations

from kit import GiveUp, Loop


class Compacts(Loop):
    def ask(self):
        try:
            return super().ask()
        except GiveUp:
            self.history = [{"role": "user", "text": "Summary: some of the work is done. Finish it."}]
            return super().ask()


Compacts().main()
