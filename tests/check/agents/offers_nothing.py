"""No fault, and few means: it has no tools, and nobody to ask."""

from __future__ import annotations

from kit import Loop


class OffersNothing(Loop):
    def __init__(self):
        super().__init__()
        self.tools = []


OffersNothing().main()
