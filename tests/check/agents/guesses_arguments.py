"""Broken: arguments that cannot be read are completed by guessing."""

from __future__ import annotations

import json

from kit import Loop


class GuessesArguments(Loop):
    def arguments(self, call):
        found = super().arguments(call)
        return found if found is not None else json.loads(call["arguments"].replace(": }", ": 1}"))


GuessesArguments().main()
