"""Why a turn ended, in words a user understands: every stop reason has a text of its own.

A text says first what happened, then what has to be checked, and only then what can be done next: where nobody knows
whether an effect happened, looking comes before any retry, whatever the reason of the end is.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from agentcore.messages import AssistantMessage, DenialCase
from agentcore.projections.calls import named, unresolved
from agentcore.states import ENDS, Call, End, Ending, Saving, State, Stopping, StopReason


@attrs.frozen
class EndText:
    """What one reason is called, for people; in braces stand facts of the end."""

    happened: str
    """What happened."""
    advice: str = ""
    """What can be done next, if nothing has to be checked first."""


END_TEXTS: Mapping[StopReason, EndText] = {
    StopReason.FINAL_ANSWER: EndText("Done: the model gave its answer."),
    StopReason.TERMINATED: EndText("Done: the tools said that nothing is left to do."),
    StopReason.STOPPED_BY_HOST: EndText(
        "Stopped after the running step, as asked; nothing was interrupted.", "Send a message to go on."
    ),
    StopReason.PERMISSION_DENIED: EndText(
        "Stopped because {refused_by} refused a permission{cause}.",
        "Say what should be done instead, or ask again and allow it.",
    ),
    StopReason.USER_ABORT: EndText("Cancelled, as you asked.", "Send a message to go on."),
    StopReason.MAX_STEPS: EndText(
        "Stopped at the limit of {steps}model requests for one turn.",
        "Split the task into smaller parts, or raise limits.steps.",
    ),
    StopReason.MAX_TOOL_CALLS: EndText(
        "Stopped at the limit of {tool_calls}tool calls for one turn.",
        "Split the task into smaller parts, or raise limits.tool_calls.",
    ),
    StopReason.MAX_TOKENS: EndText(
        "Stopped at the limit of {tokens}tokens for one turn.",
        "Ask for less at once, or raise limits.tokens.",
    ),
    StopReason.MAX_COST: EndText(
        "Stopped at the cost limit for one turn.",
        "Ask for less at once, or raise limits.cost_micros.",
    ),
    StopReason.TIMEOUT: EndText(
        "Stopped because the time for this turn ran out.",
        "You can try again, or raise limits.turn_ms.",
    ),
    StopReason.LOOP_LIMIT: EndText(
        "Stopped because {loop}.", "Say it differently, or help with what the model could not do."
    ),
    StopReason.MODEL_ERROR: EndText(
        "The request to the model failed{cause}.", "Try again later, or check the model's name, key and address."
    ),
    StopReason.TOOL_ERROR: EndText(
        "Stopped because a tool failed in a way that no other arguments can mend{cause}.",
        "Mend the cause, then send a message to go on.",
    ),
    StopReason.TRUNCATED: EndText(
        "Stopped because the model's messages were cut off by its output limit; nothing of a cut message was run.",
        "Ask for less at once, or raise the model's output limit.",
    ),
    StopReason.NO_ANSWER: EndText(
        "The model gave no answer, even when it was asked again.", "Ask in other words, or try another model."
    ),
    StopReason.STORAGE: EndText(
        "Stopped because the session could not be saved{cause}. No effect was started that is not recorded.",
        "Make room or restore the storage, then send a message to go on.",
    ),
    StopReason.RESUMES: EndText(
        "Stopped because the same step was interrupted again and again; something in it may break the process.",
        "Look into the step before you let it go on.",
    ),
}
"""A text for every stop reason."""

LOOP_TEXTS: Mapping[str, str] = {
    "missing_completions": "the model kept ending without calling the tool that completes the task",
    "argument_repairs": "the model kept calling tools with arguments that do not fit",
    "unknown_tools": "the model kept asking for tools that do not exist",
    "failing_rounds": "every tool call kept failing",
    "identical_calls": "the model kept repeating the same calls with the same results",
}
"""What each loop that ends a turn looks like to a user, by the name of its bound."""

_REFUSED_BY: Mapping[str, str] = {
    DenialCase.STATIC: "a rule",
    DenialCase.DANGEROUS: "a rule against dangerous acts",
    DenialCase.REFUSED: "the user",
    DenialCase.FEEDBACK: "the user",
    DenialCase.UNANSWERED: "nobody answered the question and so the session",
}


@attrs.frozen
class Explanation:
    """Why a turn ended, or that it has not."""

    reason: StopReason | None
    """The machine-readable reason; ``None`` while no end is decided."""
    text: str
    """The whole text for the user."""
    answer: str = ""
    """The result itself, where the model gave one."""
    unresolved: tuple[str, ...] = ()
    """Ids of calls that have to be checked before anything is tried again."""
    unsaved: bool = False
    """The end is not durable."""


def explain_end(state: State) -> Explanation:
    """Say why the turn ended: what happened, what to check, what to do next, and whether it is saved."""
    phase = state.phase
    if not isinstance(phase, Stopping | Saving | End):
        return Explanation(None, "The turn has not ended." if state.open else "No turn is open.")
    ending, open_calls = phase.ending, unresolved(state)
    unsaved = isinstance(phase, ENDS) and phase.unsaved
    sentences = (
        "The turn is ending." if state.open else "",
        _happened(state, ending),
        f"Note: {ending.warning}." if ending.warning else "",
        _check(open_calls),
        END_TEXTS[ending.reason].advice,
        _UNSAVED if unsaved else "",
    )
    text = " ".join(sentence for sentence in sentences if sentence)
    answer = _answer(state) if ending.reason is StopReason.FINAL_ANSWER else ""
    return Explanation(ending.reason, text, answer, tuple(call.call_id for call in open_calls), unsaved)


_UNSAVED = (
    "What was done is done, but this end is not saved: when the session is reopened, the turn will be continued from "
    "its last saved point."
)


def _answer(state: State) -> str:
    """Return what the model said last."""
    history = state.history
    newest_first = (history[position] for position in range(len(history) - 1, -1, -1))
    return next((message.text for message in newest_first if isinstance(message, AssistantMessage)), "")


def _check(open_calls: tuple[Call, ...]) -> str:
    if not open_calls:
        return ""
    return f"It is not known what became of {named(open_calls)}: check that first, before anything is tried again."


def _happened(state: State, ending: Ending) -> str:
    facts = dict(ending.evidence)
    refused_by = _REFUSED_BY.get(facts.get("case", ""), "a rule")
    limits = state.config.limits
    words = {
        # The sentence brings its own full stop.
        "cause": f": {said}" if (said := ending.message.rstrip(" .")) else "",
        "refused_by": f"{refused_by} ({ending.rule})" if ending.rule and "rule" in refused_by else refused_by,
        "loop": LOOP_TEXTS.get(ending.loop, f"it reached the bound {ending.loop or 'of a loop'}"),
        "steps": _number(limits.steps),
        "tool_calls": _number(limits.tool_calls),
        "tokens": _number(limits.tokens),
    }
    return END_TEXTS[ending.reason].happened.format_map(words).replace("?.", "?").replace("!.", "!")


def _number(limit: int | None) -> str:
    """Write a limit before the word it counts; one that was lifted meanwhile has no number."""
    return "" if limit is None else f"{limit} "
