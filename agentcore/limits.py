"""Every bound of the loop in one literal table, and the values a host may set.

1. A limit lives here and nowhere else (R-109). ``None`` means unlimited, ``0`` means none allowed; zero is never
   unlimited.
2. Bounds on loops count *extra* tries: 0 means no second one.
3. Counted limits are never exceeded; measured ones (tokens, cost, time) only by what was under way.
"""

from __future__ import annotations

from typing import Literal

import attrs

Count = int | None
"""A number of times, or ``None`` for unlimited."""


@attrs.frozen
class Limits:
    """What one turn may use up, and how long things may take. Defaults are those of the preset ``recommended``."""

    steps: Count = 100
    """Model requests of a turn, retries counted apart."""
    tool_calls: Count = 200
    """Calls of a turn that are started; counted when first released."""
    tokens: Count = None
    """Tokens of a turn, input and output of every attempt together."""
    cost_micros: Count = None
    """Cost of a turn in millionths of the account's currency."""
    turn_ms: Count = None
    """Wall clock of a turn in milliseconds."""

    model_retries: Count = 3
    """Extra tries of one step's request after a failure that may pass."""
    resumes: Count = 3
    """Times one step may be resumed while a request or an execution was under way."""
    overflow_compactions: Count = 1
    """Compactions of a turn because the context was too large."""
    truncation_reissues: Count = 1
    """Times in a row the model may be asked again after a cut message."""
    media_downgrades: Count = 1
    """Times a turn may replace media that the provider found too large."""
    empty_replies: Count = 2
    """Nudges in a row after a reply with nothing in it."""
    think_only: Count = 2
    """Nudges in a row after a reply that holds only thinking."""
    unknown_finishes: Count = 1
    """Nudges in a row after a reply without calls whose end was not stated."""
    missing_completions: Count = 2
    """Reminders in a row that the completion tool was not called."""
    completion_refusals: Count = 3
    """Times in a row a turn's end may be refused by a review before it is overridden with a warning."""
    denials: Count = 5
    """Denied calls of a turn that the model may be told of."""
    argument_repairs: Count = 3
    """Rounds in a row with refused arguments."""
    unknown_tools: Count = 3
    """Rounds in a row that ask for a tool that does not exist."""
    failing_rounds: Count = 5
    """Rounds in a row in which every call ended in an error."""
    identical_calls: Count = 3
    """Repeats in a row of one round: same names, arguments and results."""
    inspections: Count = 3
    """Automatic inspections of one unknown effect before a person is asked."""
    effect_retries: Count = 1
    """Extra executions of one call."""
    checkpoint_retries: Count = 3
    """Extra tries of a checkpoint in a row."""
    observations: Count = 20
    """Changes of a call's remote state that are recorded."""
    changed_grants: Count = 3
    """Times a call may go back to review because a person changed its arguments."""

    max_parallel: int = 8
    """Calls that may hold a slot at once, at least 1."""
    model_ms: Count = 600_000
    """Deadline of one model request in milliseconds."""
    tool_ms: Count = 600_000
    """Deadline of an execution whose tool names none, in milliseconds."""
    approval_ms: Count = None
    """How long a question for permission stays open, in milliseconds."""
    grace_ms: int = 5_000
    """How long a cancelled unit may take to confirm, in milliseconds."""
    answer_ms: int = 120_000
    """Silence of an interpreter after which its command is taken as failed, in milliseconds; kept by the engine."""
    retry_base_ms: int = 1_000
    """First delay before a model retry in milliseconds; doubled each time (R-141)."""
    retry_cap_ms: int = 30_000
    """Longest delay that doubling leads to, in milliseconds."""
    retry_jitter_ms: int = 1_000
    """What an interpreter may add to such a delay, in milliseconds."""
    retry_after_cap_ms: int = 300_000
    """Longest wait a server may ask for before the failure is final, in milliseconds."""
    inspect_base_ms: int = 1_000
    """First delay before an inspection is repeated, in milliseconds; doubled each time."""
    inspect_cap_ms: int = 60_000
    """Longest such delay, in milliseconds."""
    checkpoint_base_ms: int = 200
    """First delay before a failed checkpoint is tried again, in milliseconds; doubled each time."""
    compact_at_tokens: Count = None
    """Context size, in tokens, at which it is compacted before the next request."""

    def __attrs_post_init__(self) -> None:
        """Refuse values that mean nothing: ``ValueError`` names the field."""
        for field in attrs.fields(Limits):
            value = getattr(self, field.name)
            lowest = 1 if field.name == "max_parallel" else 0
            optional = str(field.type) != "int"
            if value is None and optional:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
                unlimited = ", or None for unlimited" if optional else ""
                raise ValueError(
                    f"limits.{field.name} is {value!r}: expected a whole number from {lowest} on{unlimited}"
                )


@attrs.frozen
class Bound:
    """One row of the table of bounds."""

    name: str
    """Field of ``Limits`` and, for loops, of the counters."""
    counts: str
    """What one unit is."""
    reset: Literal["turn", "step", "success", "call", "never"]
    """When the count begins anew."""
    at_bound: str
    """What happens instead of one more."""


BOUNDS: tuple[Bound, ...] = (
    Bound("steps", "model requests", "turn", "Exhausted(max_steps)"),
    Bound("tool_calls", "calls started", "turn", "not_executed(max-tool-calls), then Exhausted(max_tool_calls)"),
    Bound("tokens", "tokens of every attempt", "turn", "Exhausted(max_tokens)"),
    Bound("cost_micros", "cost of every attempt", "turn", "Exhausted(max_cost)"),
    Bound("turn_ms", "milliseconds", "turn", "Stopping, then Exhausted(timeout)"),
    Bound("model_retries", "retried requests", "step", "Failed(model_error)"),
    Bound("resumes", "resumes with work under way", "step", "Stopping, quiet, then Failed(resumes)"),
    Bound("overflow_compactions", "compactions after an overflow", "turn", "Failed(model_error)"),
    Bound("truncation_reissues", "re-issues of a cut message", "success", "Failed(truncated)"),
    Bound("media_downgrades", "downgrades of media", "turn", "Failed(model_error)"),
    Bound("empty_replies", "nudges after an empty reply", "success", "Failed(no_answer)"),
    Bound("think_only", "nudges after thinking only", "success", "Failed(no_answer)"),
    Bound(
        "unknown_finishes",
        "nudges after an unstated end",
        "success",
        "Completed with a flag if there is text, else Failed(model_error)",
    ),
    Bound("missing_completions", "reminders of the completion tool", "success", "Exhausted(loop_limit)"),
    Bound("completion_refusals", "refused completions", "success", "Completed with a warning"),
    Bound("denials", "denied calls", "turn", "Denied(permission_denied)"),
    Bound("argument_repairs", "rounds with refused arguments", "success", "Exhausted(loop_limit)"),
    Bound("unknown_tools", "rounds with an unknown tool", "success", "Exhausted(loop_limit)"),
    Bound("failing_rounds", "rounds of errors only", "success", "Exhausted(loop_limit)"),
    Bound("identical_calls", "repeats of one round", "success", "Exhausted(loop_limit)"),
    Bound("inspections", "automatic inspections", "call", "a person is asked"),
    Bound("effect_retries", "extra executions", "call", "reported to the model, or a person is asked"),
    Bound("checkpoint_retries", "extra tries of a checkpoint", "success", "Stopping, then Failed(storage)"),
    Bound("observations", "changes of a remote state", "call", "ignored"),
    Bound("changed_grants", "grants with changed arguments", "call", "denied"),
)
"""Every bound: what it counts, when the count begins anew, what happens at it."""


def allows(limit: Count, used: int) -> bool:
    """Say whether one more fits when ``used`` are used up."""
    return limit is None or used < limit


def doubled(base_ms: int, times: int, cap_ms: int) -> int:
    """Return ``base_ms`` doubled ``times`` times, at most ``cap_ms``."""
    return min(base_ms << min(times, 40), cap_ms)
