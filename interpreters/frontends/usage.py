"""What was consumed, in lines a person reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from agentcore.messages import Usage
from agentcore.projections import usage_of
from agentcore.states import State
from interpreters.frontends.spending import Cost, Spent, cost_of, spent_values
from interpreters.support.cleaning import visible_line

_UNTOLD = "not told"


def usage_text(state: State, spent: Sequence[Spent] | None = None) -> str:
    """Return tokens of five kinds and the cost, for the turn and for the session (R-235).

    With what each attempt consumed it is said where a sum is not all of it.
    """
    view, turn, session = usage_of(state), _of_turn(state, spent or ()), cost_of(spent or ())
    rows = [("", f"turn {view.turn_number}", "session")]
    rows += [(line.kind, _count(line.turn), _count(line.session)) for line in view.lines]
    costs = (turn.text, session.text) if spent is not None else (cost_text(view.turn), cost_text(view.session))
    rows.append(("cost", *costs))
    return "\n".join([*_table(rows), *_notes(session)])


def attempts_text(spent: Sequence[Spent]) -> str:
    """Return a line for each attempt."""
    head = ("event", "attempt", "ended", "input", "output", "cost", "model")
    return "\n".join(_table([head, *(_row(one) for one in spent)], left=3))


def usage_values(state: State, spent: Sequence[Spent] | None = None) -> dict[str, Any]:
    """Return the same for a program; ``null`` means that nobody told, which is not zero."""
    view = usage_of(state)
    told = {"turn_number": view.turn_number, "turn": attrs.asdict(view.turn), "session": attrs.asdict(view.session)}
    if spent is None:
        return told
    costs = {"turn": _cost_values(_of_turn(state, spent)), "session": _cost_values(cost_of(spent))}
    return told | {"cost": costs, "attempts": [spent_values(one) for one in spent]}


def cost_text(usage: Usage) -> str:
    """Return the cost in units of the account's currency."""
    return _UNTOLD if usage.cost_micros is None else f"{usage.cost_micros / 1_000_000:.4f}"


def _of_turn(state: State, spent: Sequence[Spent]) -> Cost:
    return cost_of(one for one in spent if one.turn == state.turn.number)


def _cost_values(cost: Cost) -> dict[str, Any]:
    return attrs.asdict(cost) | {"complete": not (cost.unpriced or cost.untold)}


def _notes(cost: Cost) -> Iterator[str]:
    if cost.untold:
        yield f"{cost.untold} of {cost.attempts} attempts did not tell what they consumed"
    if cost.unpriced:
        yield f"{cost.unpriced} of {cost.attempts} attempts have no known price"


def _row(spent: Spent) -> tuple[str, ...]:
    usage = spent.usage
    cost = "unknown" if usage.cost_micros is None else cost_text(usage)
    ended = f"{spent.ended} ({spent.code})" if spent.code else spent.ended
    name = f"{spent.about}/{spent.epoch}.{spent.attempt}"
    numbers = (_count(usage.input_tokens), _count(usage.output_tokens), cost)
    return (str(spent.seq), name, visible_line(ended), *numbers, visible_line(spent.model))


def _table(rows: Sequence[tuple[str, ...]], left: int = 1) -> Iterator[str]:
    """Lay rows out in columns: the first ``left`` ones and a seventh begin, the others end at one place."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        laid = (
            f"{text:<{width}}" if place < left or place > left + 2 else f"{text:>{width}}"
            for place, (text, width) in enumerate(cells)
        )
        yield "  ".join(laid).rstrip()


def _count(tokens: int | None) -> str:
    return _UNTOLD if tokens is None else f"{tokens:,}"
