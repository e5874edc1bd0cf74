"""Where the command line writes: what was asked for to standard output, everything else to standard error.

1. Progress, colour and streamed text are for a terminal (``NO_COLOR`` is honoured). Into a pipe goes the answer alone,
   once it is whole.
2. ``--json`` writes JSON objects to standard output, one a line, with every odd character escaped.
3. A reader that has gone away stops the writing and not the work.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from interpreters.frontends import Style
from interpreters.support import osio
from interpreters.support.cleaning import visible


class Output:
    """Both streams of this process. A ``frontends.Screen``."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        """``quiet``: no progress, also at a terminal."""
        self.as_json = as_json
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # A terminal that cannot show a letter must not end a session.
                stream.reconfigure(errors="backslashreplace")
        self.answer_is_watched = osio.is_terminal(1) and not as_json
        """Standard output is a terminal: the answer streams."""
        self.progress_is_watched = osio.is_terminal(2) and not as_json and not quiet
        """Standard error is a terminal: progress is shown."""
        self.style = Style(self.progress_is_watched and colourful(os.environ))
        """For what goes to standard error."""
        self.page_style = Style(self.answer_is_watched and colourful(os.environ))
        """For what goes to standard output."""
        self._midway = False
        self._gone: set[TextIO] = set()

    # What was asked for

    def page(self, text: str) -> None:
        """Write harmless text and a newline to standard output."""
        self._write(sys.stdout, f"{text}\n")

    def value(self, value: Mapping[str, Any]) -> None:
        """Write one JSON object on a line."""
        self._write(sys.stdout, json.dumps(value, allow_nan=False, separators=(",", ":")) + "\n")

    # A running session

    def say(self, text: str) -> None:
        """Show a piece of the answer where it is watched."""
        if self.answer_is_watched and text:
            self._write(sys.stdout, text)
            self._midway = not text.endswith("\n")

    def note(self, line: str) -> None:
        """Show a line about what goes on where that is watched."""
        if self.progress_is_watched:
            self.end_line()
            self._write(sys.stderr, f"{line}\n")

    def end_line(self) -> None:
        """Begin a new line if the answer stands in the middle of one."""
        if self._midway:
            self._midway = False
            self._write(sys.stdout, "\n")

    # What has to be read in any case

    def warn(self, text: str) -> None:
        """Write untrusted text and a newline to standard error."""
        self.end_line()
        self._write(sys.stderr, f"{visible(text)}\n")

    def prompt(self, text: str) -> None:
        """Write harmless text to standard error as it is: a question, or the prompt of a chat."""
        self.end_line()
        self._write(sys.stderr, text)

    def _write(self, stream: TextIO, text: str) -> None:
        if stream in self._gone:
            return
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            self._gone.add(stream)

    def close(self) -> None:
        """Let go of streams whose reader has gone, so that the interpreter does not complain of it at its end."""
        for stream in self._gone:
            osio.discard_output(stream.fileno())


def colourful(environment: Mapping[str, str]) -> bool:
    """Say whether a terminal may be given colours."""
    return not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
