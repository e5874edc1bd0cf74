"""What the demonstration says: to standard output, at once, whether or not somebody watches it on a terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from interpreters.cli.output import colourful
from interpreters.frontends import Style, Terminal, as_value, event_tag, transition_text
from interpreters.support import osio
from interpreters.support.views import Shown, StateView


class Teller:
    """Tells views and transitions, in lines or as JSON objects. A ``frontends.Screen``, and an engine's log."""

    def __init__(self, *, as_json: bool) -> None:
        """``as_json``: for a program."""
        self.as_json = as_json
        self.style = Style(not as_json and osio.is_terminal(1) and colourful(os.environ))
        """Colour, where it can be shown."""
        self._terminal = Terminal(self, self.style)
        self._midway = False

    def show(self, shown: Shown) -> None:
        """Tell a view; what a state says is told by the transitions."""
        if not self.as_json:
            self._terminal.show(shown.view)
        elif not isinstance(shown.view, StateView):
            self.value(as_value(shown))

    def say(self, text: str) -> None:
        """Show a piece of the answer."""
        self._write(text)
        self._midway = not text.endswith("\n")

    def note(self, line: str) -> None:
        """Show a line."""
        if not self.as_json:
            self._end_line()
            self._write(f"{line}\n")

    def ask(self, text: str) -> None:
        """Show a question as it is."""
        self._end_line()
        self._write(text)

    def value(self, value: Mapping[str, Any]) -> None:
        """Write one JSON object on a line."""
        self._write(json.dumps(value, allow_nan=False, separators=(",", ":")) + "\n")

    def info(self, event: str, **fields: Any) -> None:
        """Tell a transition."""
        if "verdict" not in fields:
            return
        if self.as_json:
            self.value({"log": "transition", "event": event_tag(event)} | fields)
        else:
            self.note(transition_text(event, fields, self.style))

    warning = info

    def _end_line(self) -> None:
        if self._midway:
            self._midway = False
            self._write("\n")

    def _write(self, text: str) -> None:
        # Flushed at once: the next thing that happens to this process may be its end.
        sys.stdout.write(text)
        sys.stdout.flush()
