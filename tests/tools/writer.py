"""A process that edits one file in one attempt: ``writer.py ROOT ATTEMPT [PAUSE_AT]``.

It puts one ``x`` before the ``|`` in the file ``sink``, so that the file counts the deeds. With ``PAUSE_AT`` it stops
itself (SIGSTOP) at that kill point; killing is up to ``AGENTCORE_KILL_AT``. Exit status 0: edited; 3: refused as
voided; 4: outcome unknown; 1: anything else.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from interpreters.support import osio
from interpreters.tools import OutcomeUnknown, ToolContext, ToolError, file_tools


class PausingPoints(osio.KillPoints):
    """Stops the process at the chosen point, as a machine does that swaps or a debugger."""

    def __init__(self, pause_at):
        super().__init__()
        self._pause_at = pause_at

    def reach(self, point):
        super().reach(point)
        if self.passed == self._pause_at:
            os.kill(os.getpid(), signal.SIGSTOP)


def main():
    root, attempt = sys.argv[1], int(sys.argv[2])
    if len(sys.argv) > 3:
        osio.POINTS = PausingPoints(int(sys.argv[3]))
    edit = next(each for each in file_tools(root) if each.name == "edit_file")
    context = ToolContext("session-1", "1.1.0", (0, attempt))
    try:
        edit.function(context, path="sink", old="|", new="x|")
    except ToolError as error:
        return 3 if error.kind == "voided" else 1
    except OutcomeUnknown:
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
