"""What was consumed, in lines a person reads."""

from __future__ import annotations

from typing import Any

import attrs

from agentcore.messages import Usage
from agentcore.projections import usage_of
from agentcore.states import State

_UNTOLD = "not told"


def usage_text(state: State) -> str:
    """Return tokens of five kinds and the cost, for the turn and for the session (R-235)."""
    view = usage_of(state)
    rows = [("", f"turn {view.turn_number}", "session")]
    rows += [(line.kind, _count(line.turn), _count(line.session)) for line in view.lines]
    rows.append(("cost", cost_text(view.turn), cost_text(view.session)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(f"{kind:<{widths[0]}}  {turn:>{widths[1]}}  {all_:>{widths[2]}}" for kind, turn, all_ in rows)


def usage_values(state: State) -> dict[str, Any]:
    """Return the same for a program; ``null`` means that nobody told, which is not zero."""
    view = usage_of(state)
    return {"turn_number": view.turn_number, "turn": attrs.asdict(view.turn), "session": attrs.asdict(view.session)}


def cost_text(usage: Usage) -> str:
    """Return the cost in units of the account's currency."""
    return _UNTOLD if usage.cost_micros is None else f"{usage.cost_micros / 1_000_000:.4f}"


def _count(tokens: int | None) -> str:
    return _UNTOLD if tokens is None else f"{tokens:,}"
