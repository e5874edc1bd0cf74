"""``agentcore demo``: a process is killed between a deed and its record; another goes on, and the deed is done once.

Nothing is simulated but the model: the files are real, the journal is real, and so is SIGKILL. What is claimed at the
end is read from the disk, and the command fails if it is not so.
"""

from __future__ import annotations

from interpreters.cli.demo.parent import demo

__all__ = ["demo"]
