"""Broken: a message that says it is the end is the end, whatever it asks for."""

from __future__ import annotations

from kit import Loop


class BelievesTheLabel(Loop):
    def turn(self):
        reply = self.take(self.ask())
        while reply["calls"] and reply["label"] not in ("stop", "end_turn"):
            self.add(reply)
            self.add({"role": "tool", "results": self.act(reply)})
            reply = self.take(self.ask())


BelievesTheLabel().main()
