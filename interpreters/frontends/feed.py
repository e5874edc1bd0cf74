"""The same views for a program: one JSON object each, with its number and its name.

Names of views are those of ``support.views``, names of outcomes their kebab-case tags. A state is told by what can be
read from it, not as a whole: whoever wants that reads the journal.
"""

from __future__ import annotations

from typing import Any

import attrs

from agentcore.commands import tag_of
from agentcore.messages import Outcome
from agentcore.projections import next_step, ui_status
from agentcore.states import State
from interpreters.support.cleaning import shortened
from interpreters.support.views import Lagged, Shown, StateView, ToolProgress, ToolResultView

PROGRESS_MAX = 500
"""Characters of one piece of a tool's progress; the whole of what it printed is its result's business."""


def as_value(shown: Shown) -> dict[str, Any]:
    """Return a view as JSON values."""
    view = shown.view
    named: dict[str, Any] = {"view": shown.name, "number": shown.number}
    match view:
        case StateView(seq=seq, state=state):
            return named | {"seq": seq} | standing(state)
        case Lagged(missed=missed, state=state):
            return named | {"missed": missed} | standing(state)
        case ToolResultView(call_id=call_id, name=name, outcome=outcome):
            return named | {"call_id": call_id, "name": name} | outcome_value(outcome)
        case ToolProgress(call_id=call_id, text=text):
            return named | {"call_id": call_id, "text": shortened(text, PROGRESS_MAX)}
        case _:
            return named | attrs.asdict(view)


def standing(state: State) -> dict[str, Any]:
    """Return where a session stands."""
    status, following = ui_status(state), next_step(state)
    return {
        "phase": tag_of(type(state.phase)),
        "because": state.phase.transition.because.value,
        "status": status.ui.value,
        "text": status.text,
        "unresolved": list(status.unresolved),
        "next": {"by": following.by.value, "text": following.text, "ids": list(following.ids)},
    }


def outcome_value(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome with its evidence."""
    return {"outcome": tag_of(type(outcome))} | attrs.asdict(outcome)
