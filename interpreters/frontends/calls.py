"""A call in one line: what is run, and what came of it."""

from __future__ import annotations

import json
from typing import Any

from agentcore.messages import (
    Abandoned,
    CancelledCall,
    DeniedCall,
    EffectSeen,
    FailedCall,
    InvalidCall,
    NotExecuted,
    Outcome,
    Succeeded,
    is_error,
    is_open,
)
from interpreters.frontends.style import Style
from interpreters.support.cleaning import shortened, visible_line

VALUE_MAX = 48
"""Characters of one argument that are shown."""
ARGUMENTS_MAX = 160
"""Characters of all arguments together."""
FIRST_LINE_MAX = 160
"""Characters of an outcome's first line."""


def short_arguments(arguments: str, length: int = ARGUMENTS_MAX) -> str:
    """Return arguments (canonical JSON, or what a model wrote) as ``path="a.txt", lines=3``, shortened."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return shortened(visible_line(arguments), length)
    if not isinstance(value, dict):
        return shortened(visible_line(arguments), length)
    pieces = [f"{visible_line(name)}={_value(each)}" for name, each in value.items()]
    return shortened(", ".join(pieces), length)


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    short = shortened(visible_line(text), VALUE_MAX)
    return f'{short}"' if isinstance(value, str) and short.endswith("…") else short


def call_line(name: str, arguments: str) -> str:
    """Return a call as ``name(path="a.txt")``."""
    return f"{visible_line(name)}({short_arguments(arguments)})"


def outcome_line(outcome: Outcome, style: Style) -> str:
    """Return a mark, ``ok`` or what else became of it, and its first line (R-241)."""
    word, text = _told(outcome)
    first = shortened(visible_line(_first_line(text)), FIRST_LINE_MAX)
    mark = style.unsure(word) if is_open(outcome) else style.bad(word) if is_error(outcome) else style.good(word)
    return f"{mark}: {first}" if first else mark


def _told(outcome: Outcome) -> tuple[str, str]:
    match outcome:
        case Succeeded(result=result, summary=summary, timed_out=timed_out):
            return "ok, found out afterwards" if timed_out else "ok", summary or result
        case FailedCall(error=error):
            return "error", error
        case InvalidCall(problem=problem):
            return "error, not run", problem
        case DeniedCall(reason=reason, rule=rule, by=by):
            return f"refused by {visible_line(by or rule or 'a rule')}", reason
        case NotExecuted(reason=reason, evidence=evidence):
            return "not executed", evidence or reason.value.replace("-", " ")
        case CancelledCall(effect=EffectSeen.UNPROVED):
            return "cancelled", "it had been started, and nobody knows whether it happened"
        case CancelledCall(effect=effect):
            return "cancelled", "it had happened already" if effect is EffectSeen.DONE else "it did nothing"
        case Abandoned(by=by):
            return "unresolved", f"given up by {by}; whether it happened is not known"


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")
