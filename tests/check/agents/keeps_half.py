"""Broken: what a broken stream had told goes into the history as if it were an answer."""

from __future__ import annotations

from kit import Loop


class KeepsHalf(Loop):
    def check_end(self, reply):
        if reply["label"] is None:
            self.add({"role": "assistant", "text": reply["text"]})
            self.add({"role": "user", "text": "Go on."})
        super().check_end(reply)


KeepsHalf().main()
