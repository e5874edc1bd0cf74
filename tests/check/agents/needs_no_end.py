"""Broken: a stream that just ends counts as an answer."""

from __future__ import annotations

from kit import Loop


class NeedsNoEnd(Loop):
    def check_end(self, reply):
        return


NeedsNoEnd().main()
