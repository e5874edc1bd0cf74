"""The engine: one loop per session, the only caller of ``reduce``, and what it shows and tells.

How to read it: ``engine`` is the loop. Before it stand ``mailbox`` (the order of what happens) and ``clock``; behind it
``recorder`` (the journal), ``perform`` (commands become work), ``works`` and ``seam`` (whatever comes of it becomes an
event), ``shown`` and ``broadcast`` (views, whose classes are in ``support.views``), ``trace`` (one line per reduction).
``hooks``, ``boundary``, ``review``, ``requests`` and ``reports`` are the places where the host is asked. ``resume``
opens a session, ``session`` is what a host holds of an open one.
"""

from __future__ import annotations

from interpreters.engine.broadcast import Broadcast, Subscription
from interpreters.engine.clock import Clock, ManualClock, SystemClock
from interpreters.engine.context import ContextRefused
from interpreters.engine.engine import Engine, living
from interpreters.engine.hooks import Block, Change, Hooks, ToolText
from interpreters.engine.perform import Interpreters
from interpreters.engine.receipts import Receipt, SessionOver
from interpreters.engine.recorder import StorageUnavailable
from interpreters.engine.results import Result, result_of
from interpreters.engine.resume import JournalUnreadable, Opened, begin, fold, read_state, take_up
from interpreters.engine.session import Sent, Session, Words
from interpreters.engine.trace import Log
from interpreters.support.views import (
    VIEW_NAMES,
    VIEWS,
    AgentEnd,
    ApprovalAsked,
    ApprovalWithdrawn,
    Lagged,
    PartialDiscarded,
    ReasoningDelta,
    RecoveryView,
    Shown,
    StateView,
    StepEnd,
    TextDelta,
    ToolProgress,
    ToolResultView,
    ToolStart,
    TurnEnd,
    UsageView,
    View,
)

__all__ = [
    "VIEWS",
    "VIEW_NAMES",
    "AgentEnd",
    "ApprovalAsked",
    "ApprovalWithdrawn",
    "Block",
    "Broadcast",
    "Change",
    "Clock",
    "ContextRefused",
    "Engine",
    "Hooks",
    "Interpreters",
    "JournalUnreadable",
    "Lagged",
    "Log",
    "ManualClock",
    "Opened",
    "PartialDiscarded",
    "ReasoningDelta",
    "Receipt",
    "RecoveryView",
    "Result",
    "Sent",
    "Session",
    "SessionOver",
    "Shown",
    "StateView",
    "StepEnd",
    "StorageUnavailable",
    "Subscription",
    "SystemClock",
    "TextDelta",
    "ToolProgress",
    "ToolResultView",
    "ToolStart",
    "ToolText",
    "TurnEnd",
    "UsageView",
    "View",
    "Words",
    "begin",
    "fold",
    "living",
    "read_state",
    "result_of",
    "take_up",
]
