"""A running session at a terminal: the answer as it streams, and beside it a line for everything that happens.

1. Calls are shown when they start, with their arguments shortened, and when they end, in the order in which they end
   (R-241). Text is shown as it comes (R-078); what an attempt showed in vain is withdrawn in words.
2. *Cancelled* is said only when it is so; until then that it was asked for (R-178). The words are those of the
   projections, which say nothing that the state does not prove.
3. What a tool prints on the way is shown up to a bound: the whole of it is the result's business.
"""

from __future__ import annotations

from typing import Protocol

from agentcore.projections import UiStatus, explain_end, ui_status
from agentcore.states import State, StopReason
from interpreters.frontends.calls import call_line, outcome_line
from interpreters.frontends.style import Style
from interpreters.support.cleaning import shortened, visible, visible_line
from interpreters.support.views import (
    AgentEnd,
    Lagged,
    PartialDiscarded,
    ReasoningDelta,
    RecoveryView,
    StateView,
    TextDelta,
    ToolProgress,
    ToolResultView,
    ToolStart,
    TurnEnd,
    View,
)

PROGRESS_LINES_MAX = 20
"""Lines of one call's progress that are shown."""
PROGRESS_LINE_MAX = 160
"""Characters of such a line."""

_TOLD = (
    UiStatus.RECOVERING,
    UiStatus.COMPACTING,
    UiStatus.CANCELLING,
    UiStatus.STOPPING,
    UiStatus.WAITING_FOR_TASK,
)
"""Standings that are worth a line; the others show by what they lead to."""


class Screen(Protocol):
    """Where it is shown."""

    def say(self, text: str) -> None:
        """Show a piece of the answer, right behind the piece before it."""

    def note(self, line: str) -> None:
        """Show a line of its own about what goes on."""


class Terminal:
    """Shows the views of one session."""

    def __init__(self, screen: Screen, style: Style, *, thinking: bool = False) -> None:
        """``thinking``: show what the model thinks, where it tells."""
        self._screen = screen
        self._style = style
        self._thinking = thinking
        self._state: State | None = None
        self._standing = ""
        self._progress: dict[str, int] = {}

    def show(self, view: View | Lagged) -> None:
        """Show one view, or nothing where there is nothing to be said."""
        match view:
            case TextDelta(text=text):
                self._screen.say(visible(text))
            case ReasoningDelta(text=text) if self._thinking:
                self._screen.say(self._style.dim(visible(text)))
            case PartialDiscarded():
                self._dim("(what was shown of this answer does not count: the request failed)")
            case ToolStart(call_id=call_id, name=name, arguments=arguments, attempt=attempt):
                again = f", attempt {attempt}" if attempt > 1 else ""
                self._screen.note(f"{self._style.bold('>')} {call_line(name, arguments)}{self._id(call_id + again)}")
            case ToolProgress(call_id=call_id, text=text):
                self._show_progress(call_id, text)
            case ToolResultView(call_id=call_id, name=name, outcome=outcome):
                self._progress.pop(call_id, None)
                told = outcome_line(outcome, self._style)
                self._screen.note(f"{self._style.bold('<')} {visible_line(name)} {told}{self._id(call_id)}")
            case StateView(state=state):
                self._stand(state)
            case RecoveryView():
                self._screen.note(self._style.unsure(_recovered(view)))
            case TurnEnd(reason=reason):
                self._end(reason)
            case AgentEnd(error=error) if error:
                self._screen.note(self._style.bad(visible_line(error)))
            case Lagged(missed=missed, state=state):
                self._dim(f"({missed} views were missed here)")
                self._state = state
            case _:
                pass

    def _id(self, call_id: str) -> str:
        return self._style.dim(f"  [{visible_line(call_id)}]")

    def _dim(self, text: str) -> None:
        self._screen.note(self._style.dim(text))

    def _show_progress(self, call_id: str, text: str) -> None:
        shown = self._progress.get(call_id, 0)
        if shown > PROGRESS_LINES_MAX:
            return
        for line in [each for each in text.split("\n") if each.strip()][: PROGRESS_LINES_MAX + 1 - shown]:
            shown += 1
            words = shortened(visible_line(line), PROGRESS_LINE_MAX) if shown <= PROGRESS_LINES_MAX else "…"
            self._dim(f"  | {words}")
        self._progress[call_id] = shown

    def _stand(self, state: State) -> None:
        self._state = state
        standing = ui_status(state)
        if standing.ui in _TOLD and standing.text != self._standing:
            self._screen.note(self._style.unsure(visible_line(standing.text)))
        self._standing = standing.text

    def _end(self, reason: StopReason | None) -> None:
        if self._state is None or reason is None:
            return
        told = explain_end(self._state)
        warned = "Note: " in told.text or told.unresolved or told.unsaved
        if reason is not StopReason.FINAL_ANSWER or warned:
            self._screen.note(visible(told.text))


def _recovered(view: RecoveryView) -> str:
    found = view.recovery
    if found is None:
        return f"{view.what}: {visible_line(view.message)}"
    damage = f"; damage ({found.damage.value}) at {found.place}" if found.damage else ""
    kept = f", kept in {found.kept_at}" if found.kept_at else ""
    accepted = f", accepted by {found.gap_accepted_by}" if found.gap_accepted_by else ""
    return visible_line(f"{view.message}{damage}{kept}{accepted}")
