"""What a search has reached: rows, codes, phases, call states, outcomes, stop reasons, limits.

A limit is tripped when something happens *instead* of one more. ``BY_REASON`` knows it by the end of the turn,
``BY_EVENT`` by what became of one event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentcore.events import (
    ApprovalGranted,
    CompletionRefused,
    EffectInspected,
    Event,
    ModelFailed,
    ModelFailure,
    ModelReplied,
    SessionResumed,
    ToolLost,
    ToolProgressed,
)
from agentcore.limits import allows
from agentcore.messages import DeniedCall, FinishReason, ReasoningPart, ToolMessage
from agentcore.reduce import Judgement, Verdict
from agentcore.states import Ending, Preparing, Ready, Released, Saving, Settled, State, StopReason
from agentcore.table import Kind, Row
from agentcore.testing.passage import Passage

KINDS = ("rows", "rejection codes", "phases", "call states", "outcomes", "stop reasons", "limits tripped")
"""What is watched for being reached."""

BY_REASON: Mapping[StopReason, str] = {
    StopReason.MAX_STEPS: "steps",
    StopReason.MAX_TOOL_CALLS: "tool_calls",
    StopReason.MAX_TOKENS: "tokens",
    StopReason.MAX_COST: "cost_micros",
    StopReason.TIMEOUT: "turn_ms",
    StopReason.TRUNCATED: "truncation_reissues",
    StopReason.RESUMES: "resumes",
}
"""The limit behind a reason to stop that has only one."""

_BY_FACT: Mapping[tuple[str, str], str] = {("cause", "checkpoint-failed"): "checkpoint_retries"}
_BY_FACT_NAME: Mapping[str, str] = {"retries": "model_retries", "resumes": "resumes"}


def of_ending(ending: Ending, state: State) -> set[str]:
    """Return the limits that an ending names."""
    found = {BY_REASON[ending.reason]} if ending.reason in BY_REASON else set()
    if ending.loop:
        found.add(ending.loop)
    for name, value in ending.evidence:
        found |= {limit for limit in (_BY_FACT.get((name, value)), _BY_FACT_NAME.get(name)) if limit}
    denials = state.config.limits.denials
    if ending.reason is StopReason.PERMISSION_DENIED and denials is not None:
        found |= {"denials"} if state.turn.counters.denials > denials else set()
    return found


def _ends(passage: Passage, reason: StopReason) -> bool:
    return isinstance(passage.after.phase, Saving) and passage.after.phase.ending.reason is reason


def _of_failure(passage: Passage) -> str:
    """A request that failed for its size, and was not made smaller once more."""
    kinds = {ModelFailure.OVERFLOW: "overflow_compactions", ModelFailure.MEDIA_TOO_LARGE: "media_downgrades"}
    failed = passage.event
    ended = isinstance(failed, ModelFailed) and _ends(passage, StopReason.MODEL_ERROR)
    return kinds.get(failed.kind, "") if ended and isinstance(failed, ModelFailed) else ""


def _of_reply(passage: Passage) -> str:
    """A reply that would have been nudged."""
    event: Any = passage.event
    if _ends(passage, StopReason.NO_ANSWER):
        return "think_only" if any(isinstance(part, ReasoningPart) for part in event.parts) else "empty_replies"
    unstated = event.finish in (FinishReason.UNKNOWN, FinishReason.PAUSE)
    return "unknown_finishes" if unstated and isinstance(passage.after.phase, Saving) else ""


def _of_refusal(passage: Passage) -> str:
    """A completion that was refused, and stands with a warning."""
    return "" if isinstance(passage.after.phase, Preparing) else "completion_refusals"


def _of_grant(passage: Passage) -> str:
    """A grant that changed the arguments, and became a refusal."""
    results = (result for message in passage.said if isinstance(message, ToolMessage) for result in message.results)
    return "changed_grants" if any(isinstance(result.outcome, DeniedCall) for result in results) else ""


def _of_loss(passage: Passage) -> str:
    """An attempt that ended without proof, or was proved absent, and was not followed by another."""
    limit = passage.after.config.limits.effect_retries
    for old, new in passage.moved:
        if old is None or new is None or old.run is None or isinstance(new.state, Ready | Released):
            continue
        if not allows(limit, new.tries.retries_used):
            return "effect_retries"
    return ""


def _of_inspection(passage: Passage) -> str:
    """An inspection by a program that is followed by a question to a person."""
    limit = passage.after.config.limits.inspections
    for _, new in passage.moved:
        if new is not None and new.contract.programs_inspect and not allows(limit, new.tries.inspections_used):
            inquiry = getattr(new.state, "inquiry", None)
            if inquiry is not None and inquiry.by == "person":
                return "inspections"
    return _of_loss(passage)


BY_EVENT: Mapping[type[Event], Callable[[Passage], str]] = {
    ModelFailed: _of_failure,
    ModelReplied: _of_reply,
    CompletionRefused: _of_refusal,
    ApprovalGranted: _of_grant,
    ToolLost: _of_loss,
    SessionResumed: _of_loss,
    EffectInspected: _of_inspection,
}
"""How it is known that an accepted event ran into a bound."""


_FINAL = (Kind.GUARD, Kind.IGNORE)
"""Rows that are taken though nothing is accepted."""


class Reached:
    """Collects what is reached."""

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}
        self._names: dict[str, set[str]] = {kind: set() for kind in KINDS if kind != "rows"}

    def note(self, passage: Passage, judgement: Judgement) -> None:
        """Note what one event reached."""
        names = self._names
        if judgement.verdict is not Verdict.ACCEPTED:
            for row in judgement.rows:
                if row.answered_by_call or row.kind in _FINAL:
                    self._rows[id(row)] = row
            if judgement.verdict is Verdict.REJECTED:
                names["rejection codes"].add(judgement.reason)
            elif judgement.reason == "observations-used-up" and isinstance(passage.event, ToolProgressed):
                names["limits tripped"].add("observations")
            return
        for row in judgement.rows:
            self._rows[id(row)] = row
        phase = passage.after.phase
        names["phases"].add(type(phase).__name__)
        for _, call in passage.moved:
            if call is not None:
                names["call states"].add(type(call.state).__name__)
                if isinstance(call.state, Settled):
                    names["outcomes"].add(type(call.state.outcome).__name__)
        ending = getattr(phase, "ending", None)
        if ending is not None and phase is not passage.before.phase:
            names["stop reasons"].add(ending.reason.value)
            names["limits tripped"] |= of_ending(ending, passage.after)
        tripped = BY_EVENT.get(type(passage.event))
        if tripped is not None and (limit := tripped(passage)):
            names["limits tripped"].add(limit)

    def names(self) -> Mapping[str, frozenset[str]]:
        """Return everything that was reached, by kind."""
        found = {kind: frozenset(names) for kind, names in self._names.items()}
        return {"rows": frozenset(row.name for row in self._rows.values()), **found}
