"""What came of a turn: a value for programs, with the words for people."""

from __future__ import annotations

import attrs

from agentcore.messages import Usage, find_answer
from agentcore.projections import explain_end, unresolved
from agentcore.states import ENDS, Completed, State, StopReason


@attrs.frozen
class Result:
    """How a turn ended. Limits, refusals and cancels are results like any other."""

    session_id: str
    """The session: what ``Agent.open`` takes to continue it."""
    turn: int
    """The turn's number; 0 if there was none."""
    reason: StopReason | None
    """Why it ended; ``None`` if it has not."""
    text: str
    """What the model said in its last step: the answer, if it is completed."""
    explanation: str = ""
    """Why it ended and what to do next, in words for its user."""
    message: str = ""
    """Cause as it was told, where there is one."""
    warning: str = ""
    """What has to be said with it."""
    usage: Usage = attrs.field(factory=Usage)
    """What it consumed."""
    completed: bool = False
    """It reached its answer, or was stopped at a boundary by a tool or its host."""
    unsaved: bool = False
    """Its end is not durable: when the session is resumed it continues from its last saved point."""
    unresolved: tuple[str, ...] = ()
    """Calls and tasks whose effect is not known: inspect or resolve them."""
    queued: tuple[str, ...] = ()
    """Ids of messages that wait; ``send(queued=…)`` delivers them."""


def result_of(state: State) -> Result:
    """Read the result of the turn that runs, or ran last."""
    end = state.phase if isinstance(state.phase, ENDS) else None
    answer = find_answer(state.history, state.request_id) if state.turn.number else None
    return Result(
        session_id=state.session_id,
        turn=state.turn.number,
        reason=end.ending.reason if end else None,
        text=answer.text if answer else "",
        explanation=explain_end(state).text,
        message=end.ending.message if end else "",
        warning=end.ending.warning if end else "",
        usage=state.turn.usage,
        completed=isinstance(end, Completed),
        unsaved=end is not None and end.unsaved,
        unresolved=tuple(call.call_id for call in unresolved(state)),
        queued=tuple(message.message_id for message in (*state.queues.steering, *state.queues.follow_ups)),
    )
