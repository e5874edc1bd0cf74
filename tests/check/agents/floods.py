"""Broken: it prints without end."""

from __future__ import annotations

from kit import Loop


class Floods(Loop):
    def ask(self):
        while True:
            print("debug: " + "x" * 10_000)


Floods().main()
