"""Effects around the core: an ``Agent`` of a model, tools, rules and a store, and the engine that runs its sessions.

``from interpreters import Agent, tool`` is all that most programs need. Names are loaded when they are first used, so
that a part (a store, the door to the operating system) can be imported without the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interpreters.agent import Agent
    from interpreters.approvals import Nobody, QueuedApprover, StandingAnswer, TerminalApprover, terminal_approver
    from interpreters.engine import (
        Block,
        Change,
        Hooks,
        JournalUnreadable,
        ManualClock,
        Receipt,
        Result,
        Sent,
        Session,
        SessionOver,
        StorageUnavailable,
        read_state,
    )
    from interpreters.models import HttpModel, ListedPrices, ModelNotNamed, Prices, model_named
    from interpreters.policy import Command, Regex, Rule, Rules, Under, allow, ask, deny
    from interpreters.scripted import ScriptedModel
    from interpreters.stores import FileStore, MemoryStore
    from interpreters.support.ports_store import (
        SchemaTooNew,
        SessionDamaged,
        SessionExists,
        SessionLocked,
        SessionUnknown,
        StorageFailed,
        StoreError,
    )
    from interpreters.tools import (
        OutcomeUnknown,
        Returned,
        Tool,
        ToolContext,
        ToolDefinitionError,
        ToolError,
        ToolStopped,
        executed,
        failed,
        file_tools,
        not_executed,
        shell_tool,
        still_running,
        tool,
        unavailable,
    )

_HOMES: Mapping[str, tuple[str, ...]] = {
    "interpreters.agent": ("Agent",),
    "interpreters.approvals": ("Nobody", "QueuedApprover", "StandingAnswer", "TerminalApprover", "terminal_approver"),
    "interpreters.engine": (
        "Block",
        "Change",
        "Hooks",
        "JournalUnreadable",
        "ManualClock",
        "Receipt",
        "Result",
        "Sent",
        "Session",
        "SessionOver",
        "StorageUnavailable",
        "read_state",
    ),
    "interpreters.models": ("HttpModel", "ListedPrices", "ModelNotNamed", "Prices", "model_named"),
    "interpreters.policy": ("Command", "Regex", "Rule", "Rules", "Under", "allow", "ask", "deny"),
    "interpreters.scripted": ("ScriptedModel",),
    "interpreters.stores": ("FileStore", "MemoryStore"),
    "interpreters.support.ports_store": (
        "SchemaTooNew",
        "SessionDamaged",
        "SessionExists",
        "SessionLocked",
        "SessionUnknown",
        "StorageFailed",
        "StoreError",
    ),
    "interpreters.tools": (
        "OutcomeUnknown",
        "Returned",
        "Tool",
        "ToolContext",
        "ToolDefinitionError",
        "ToolError",
        "ToolStopped",
        "executed",
        "failed",
        "file_tools",
        "not_executed",
        "shell_tool",
        "still_running",
        "tool",
        "unavailable",
    ),
}


def __getattr__(name: str) -> Any:
    """Load a public name from the package it lives in."""
    for home, public in _HOMES.items():
        if name in public:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'interpreters' has no attribute {name!r}")


__all__ = [
    "Agent",
    "Block",
    "Change",
    "Command",
    "FileStore",
    "Hooks",
    "HttpModel",
    "JournalUnreadable",
    "ListedPrices",
    "ManualClock",
    "MemoryStore",
    "ModelNotNamed",
    "Nobody",
    "OutcomeUnknown",
    "Prices",
    "QueuedApprover",
    "Receipt",
    "Regex",
    "Result",
    "Returned",
    "Rule",
    "Rules",
    "SchemaTooNew",
    "ScriptedModel",
    "Sent",
    "Session",
    "SessionDamaged",
    "SessionExists",
    "SessionLocked",
    "SessionOver",
    "SessionUnknown",
    "StandingAnswer",
    "StorageFailed",
    "StorageUnavailable",
    "StoreError",
    "TerminalApprover",
    "Tool",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolStopped",
    "Under",
    "allow",
    "ask",
    "deny",
    "executed",
    "failed",
    "file_tools",
    "model_named",
    "not_executed",
    "read_state",
    "shell_tool",
    "still_running",
    "terminal_approver",
    "tool",
    "unavailable",
]
