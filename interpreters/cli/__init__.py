"""The command ``agentcore``: one composition root, and the only part of the project that talks to a shell.

How to read it: ``parser`` says what can be typed, ``settings`` and ``host`` make an agent of it, ``turns`` drives one
turn and ``chat`` many, ``reading`` shows what is recorded, ``effects`` what nobody can vouch for, ``demo`` shows the
promise kept. ``output`` is where all of them write, ``exits`` how the process ends.

A command imports what it needs when it is chosen, so that ``--help`` is quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; raises ``SystemExit`` for one that cannot be read."""
    from interpreters.cli.parser import parse

    try:
        chosen = parse(sys.argv[1:] if arguments is None else arguments)
        from interpreters.cli.outcome import run_command

        return run_command(chosen)
    except KeyboardInterrupt:
        # Ctrl-C before anything was begun.
        return _INTERRUPTED


__all__ = ["main"]
