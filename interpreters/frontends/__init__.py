"""Frontends: what a person at a terminal, or a program behind a pipe, is shown of a session.

Everything here turns values into text and decides nothing: ``Terminal`` the views of a running session, ``feed`` the
same views for a program, and the others what can be read from a state or a journal. All text that comes from a model,
a tool or a file is made harmless before it is shown: it never carries control characters to a terminal.
"""

from __future__ import annotations

from interpreters.frontends.calls import call_line, outcome_line, short_arguments
from interpreters.frontends.effects import Remedy, effects_text, effects_values
from interpreters.frontends.feed import as_value, outcome_value, standing
from interpreters.frontends.spending import Cost, Spent, cost_of, spending, spent_values
from interpreters.frontends.style import Style
from interpreters.frontends.terminal import Screen, Terminal
from interpreters.frontends.transcripts import transcript_text, transcript_values
from interpreters.frontends.transitions import event_tag, transition_text
from interpreters.frontends.usage import attempts_text, usage_text, usage_values

__all__ = [
    "Cost",
    "Remedy",
    "Screen",
    "Spent",
    "Style",
    "Terminal",
    "as_value",
    "attempts_text",
    "call_line",
    "cost_of",
    "effects_text",
    "effects_values",
    "event_tag",
    "outcome_line",
    "outcome_value",
    "short_arguments",
    "spending",
    "spent_values",
    "standing",
    "transcript_text",
    "transcript_values",
    "transition_text",
    "usage_text",
    "usage_values",
]
