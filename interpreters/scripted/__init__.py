"""Deterministic fakes of the interpreters, for tests, demos and scenarios: the same protocols, no world behind.

A script is Python (``Say``, ``Break``, ``Succeed`` …, or functions) or data (``read_script``).
"""

from __future__ import annotations

from interpreters.scripted.host import (
    Allow,
    AskFirst,
    Compaction,
    Grant,
    Refuse,
    Resolve,
    ScriptedApprover,
    ScriptedCompactor,
    ScriptedGate,
    ScriptedPreparer,
    ScriptedReviewer,
    ScriptStopped,
    Unsure,
)
from interpreters.scripted.model import ScriptedModel
from interpreters.scripted.script import (
    Act,
    Ask,
    Break,
    Detach,
    Fail,
    Hang,
    Lose,
    ModelReply,
    Say,
    ScriptError,
    Stall,
    Succeed,
    Task,
    read_script,
)
from interpreters.scripted.tools import (
    Deed,
    Look,
    ScriptedTool,
    ScriptedToolBox,
    scripted_tool,
    sub_agent,
)

__all__ = [
    "Act",
    "Allow",
    "Ask",
    "AskFirst",
    "Break",
    "Compaction",
    "Deed",
    "Detach",
    "Fail",
    "Grant",
    "Hang",
    "Look",
    "Lose",
    "ModelReply",
    "Refuse",
    "Resolve",
    "Say",
    "ScriptError",
    "ScriptStopped",
    "ScriptedApprover",
    "ScriptedCompactor",
    "ScriptedGate",
    "ScriptedModel",
    "ScriptedPreparer",
    "ScriptedReviewer",
    "ScriptedTool",
    "ScriptedToolBox",
    "Stall",
    "Succeed",
    "Task",
    "Unsure",
    "read_script",
    "scripted_tool",
    "sub_agent",
]
