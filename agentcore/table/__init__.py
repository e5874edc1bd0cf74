"""The two machines as visible literals, one line a transition."""

from __future__ import annotations

from agentcore.table.calls import CALL_TABLE
from agentcore.table.rows import Kind, Row, Selection, Tables
from agentcore.table.turn import TURN_TABLE

TABLES = Tables(TURN_TABLE, CALL_TABLE)
"""The tables ``reduce`` is made from."""

__all__ = [
    "CALL_TABLE",
    "TABLES",
    "TURN_TABLE",
    "Kind",
    "Row",
    "Selection",
    "Tables",
]
