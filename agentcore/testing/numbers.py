"""The numbers that mint keys: which counter of a state belongs to which kind of command."""

from __future__ import annotations

from collections.abc import Mapping

from agentcore.states import State
from agentcore.testing.passage import find_call

_OF_CALL: Mapping[str, str] = {
    "execute-tool": "executions",
    "deadline": "executions",
    "evaluate-policy": "reviews",
    "ask-approval": "questions",
    "expiry": "questions",
    "cancel-tool": "cancels",
    "grace": "cancels",
    "inspect-effect": "inspections",
    "inquiry": "inspections",
}
_OF_REQUEST: Mapping[str, str] = {
    "prepare-step": "preparations",
    "request-model": "requests",
    "cancel-model": "requests",
    "model": "requests",
    "retry": "requests",
    "grace": "requests",
    "compact-context": "compactions",
    "review-completion": "reviews",
}


def last_minted(state: State, name: str, subject: str) -> int | None:
    """Return the number that was minted last for a kind of command about a subject; ``None`` if it is over and done."""
    if name == "start-timer":
        name, _, subject = subject.partition("/")
    if name in ("persist-checkpoint", "checkpoint"):
        return state.storage.attempt
    if name == "turn":
        return state.turn.clocks if subject == str(state.turn.number) else None
    if subject == state.request_id:
        return int(getattr(state.turn, _OF_REQUEST[name]))
    call = find_call(state, subject)
    return int(getattr(call.tries, _OF_CALL[name])) if call is not None else None
