"""Broken: a tool that did not answer is run again."""

from __future__ import annotations

from kit import Loop


class TriesToolsAgain(Loop):
    def execute(self, name, arguments, key):
        content = super().execute(name, arguments, "")
        return super().execute(name, arguments, "") if content.startswith("the outcome is unknown") else content


TriesToolsAgain().main()
