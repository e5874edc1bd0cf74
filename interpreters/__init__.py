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
    from interpreters.engine import (
        Block,
        Change,
        Hooks,
        JournalUnreadable,
        Receipt,
        Result,
        Sent,
        Session,
        SessionOver,
        StorageUnavailable,
    )
    from interpreters.stores import FileStore, MemoryStore
    from interpreters.tools import OutcomeUnknown, ToolContext, ToolError, tool

_HOMES: Mapping[str, tuple[str, ...]] = {
    "interpreters.agent": ("Agent",),
    "interpreters.engine": (
        "Block",
        "Change",
        "Hooks",
        "JournalUnreadable",
        "Receipt",
        "Result",
        "Sent",
        "Session",
        "SessionOver",
        "StorageUnavailable",
    ),
    "interpreters.stores": ("FileStore", "MemoryStore"),
    "interpreters.tools": ("OutcomeUnknown", "ToolContext", "ToolError", "tool"),
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
    "FileStore",
    "Hooks",
    "JournalUnreadable",
    "MemoryStore",
    "OutcomeUnknown",
    "Receipt",
    "Result",
    "Sent",
    "Session",
    "SessionOver",
    "StorageUnavailable",
    "ToolContext",
    "ToolError",
    "tool",
]
