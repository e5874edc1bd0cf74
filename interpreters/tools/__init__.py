"""Tools: functions made known to a model, run at most once, asked about when their end was not seen.

``@tool`` makes one, ``Toolbox`` runs them, ``file_tools`` and ``shell_tool`` are ready-made.
"""

from __future__ import annotations

from interpreters.tools.context import Sink, ToolContext
from interpreters.tools.definition import Tool, ToolOptions, tool
from interpreters.tools.errors import LOST, OutcomeUnknown, ToolDefinitionError, ToolError, ToolStopped
from interpreters.tools.files import file_tools
from interpreters.tools.findings import Found, executed, failed, not_executed, still_running, unavailable
from interpreters.tools.results import Returned
from interpreters.tools.shell import shell_tool
from interpreters.tools.toolbox import Toolbox

__all__ = [
    "LOST",
    "Found",
    "OutcomeUnknown",
    "Returned",
    "Sink",
    "Tool",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolOptions",
    "ToolStopped",
    "Toolbox",
    "executed",
    "failed",
    "file_tools",
    "not_executed",
    "shell_tool",
    "still_running",
    "tool",
    "unavailable",
]
