"""The two machines as visible literals, one line a transition."""

from agentcore.table.calls import CALL_TABLE
from agentcore.table.rows import Kind, Row, Selection, Tables
from agentcore.table.turn import TURN_TABLE

TABLES = Tables(TURN_TABLE, CALL_TABLE)
"""The tables ``reduce`` is made from."""

__all__ = [
    "CALL_TABLE",
    "Kind",
    "Row",
    "Selection",
    "TABLES",
    "TURN_TABLE",
    "Tables",
]
