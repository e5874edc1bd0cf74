"""Telling transitions while they happen."""

from __future__ import annotations

from typing import Any

from interpreters.cli.output import Output
from interpreters.frontends import event_tag, transition_text
from interpreters.support.cleaning import visible_line


class TransitionLog:
    """An engine's log that shows every reduction: as lines, or as JSON objects."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def info(self, event: str, **fields: Any) -> None:
        """Show an ordinary line."""
        if "verdict" not in fields:
            told = ", ".join(f"{name}: {value}" for name, value in fields.items() if name != "session")
            self._line({"log": event} | fields, f"      {visible_line(f'{event}: {told}')}")
            return
        text = transition_text(event, fields, self._output.style)
        self._line({"log": "transition", "event": event_tag(event)} | fields, text)

    warning = info
    """A line about something that should not have happened is shown in the same way; its verdict says so."""

    def _line(self, value: dict[str, Any], text: str) -> None:
        if self._output.as_json:
            self._output.value(value)
        else:
            self._output.prompt(f"{text}\n")
