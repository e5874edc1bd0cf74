"""Broken: after a kill it runs what it had run, and the other side cannot know that it is the same."""

from __future__ import annotations

from kit import Loop


class ActsBeforeItWrites(Loop):
    def execute(self, name, arguments, key):
        return super().execute(name, arguments, "")


ActsBeforeItWrites().main()
