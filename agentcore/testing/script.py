"""What an exploration is: a configuration, what the model says, and how often what need not happen may happen.

1. What always may happen: a request is answered, a rule allows, a tool succeeds, fails or is lost, an inspection finds
   what is true, a checkpoint is written, a timer without which nothing goes on fires, somebody gives up on a question.
2. Everything else costs. ``budget`` says how often each of the ``OPTIONS`` may happen along one path; what is not named
   in it does not happen. So an exploration is finite, and pairs of faults are pairs of words.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from agentcore.messages import AssistantPart, FinishReason, ReasoningPart, TextPart, ToolCallPart
from agentcore.policy import Config, Effect, ToolContract

OPTIONS: Mapping[str, str] = {
    "crash": "the process dies; a prefix of the journal that holds everything durable survives",
    "checkpoint-failure": "the store cannot write",
    "stream": "the first byte is told before the answer",
    "model-failure": "a request fails in a way that may pass, having consumed something",
    "fatal": "a request fails for good",
    "overflow": "the context is too large",
    "media": "a picture is too large",
    "compaction-failure": "the context cannot be made smaller",
    "truncation": "the answer is cut by the output limit",
    "approval": "a rule wants a person to decide",
    "changed-grant": "a person allows other arguments than were asked for",
    "denial": "a rule or a person refuses",
    "danger": "a rule refuses something dangerous",
    "feedback": "a person refuses and says why",
    "refused-arguments": "the arguments do not fit the schema",
    "preparation-failure": "the host cannot prepare the step",
    "refusal": "a review refuses the completion",
    "start": "a tool tells that it has started",
    "progress": "a tool tells something new of the remote state",
    "detach": "a tool goes on in the background",
    "fatal-tool": "a tool fails in a way no arguments can mend",
    "late-failure": "an attempt that nobody waits for reports that it failed",
    "timer": "a deadline, an expiry, or the turn's time",
    "steering": "words for the running turn",
    "follow-up": "words for the next turn",
    "withdrawal": "a queued message is taken back",
    "abort": "the turn is aborted",
    "abort-call": "one call is aborted",
    "abort-task": "one entry of the register is aborted",
    "abort-all": "everything is aborted",
    "abort-after-step": "the turn is to end at the next boundary",
    "person": "a person says what became of an effect",
    "inspection": "somebody wants an effect looked at",
    "inquiry": "an inspection that fails, or finds the attempt still running",
    "retry": "somebody wants a call run again",
    "reopen": "the session is reopened after an end",
    "prompt": "another prompt is submitted",
    "queued-prompt": "a prompt names queued messages",
    "import": "a history is brought from elsewhere",
    "clear": "the history is cleared",
    "config": "the configuration is changed",
    "tool-gone": "a resume brings a configuration without tools",
    "damage": "a resume finds that events are missing",
}
"""Everything that need not happen, by name."""


@attrs.frozen
class Reply:
    """One thing a model may say."""

    parts: tuple[AssistantPart, ...]
    """Its content."""
    finish: FinishReason = FinishReason.STOP
    """Its label."""


@attrs.frozen
class Exploration:
    """What is to be explored."""

    name: str
    """Kebab-case, unique among the shipped ones."""
    config: Config
    """What the session is run under."""
    replies: tuple[tuple[Reply, ...], ...]
    """For each step of the first turn what the model may say; the last entry stands for all that follow."""
    budget: Mapping[str, int] = attrs.field(factory=dict)
    """How often each option may happen along one path."""
    later: tuple[Reply, ...] = (Reply((TextPart("Done."),)),)
    """What the model may say in later turns."""
    terminates: bool = False
    """Tools hint that the turn may end."""

    def __attrs_post_init__(self) -> None:
        """Refuse a budget for something that is no option: ``ValueError`` names it."""
        unknown = sorted(self.budget.keys() - OPTIONS.keys())
        if unknown:
            raise ValueError(f"exploration {self.name!r}: no such option: {', '.join(unknown)}")

    def says(self, turn: int, step: int) -> tuple[Reply, ...]:
        """Return what the model may say in a step, numbered from 1."""
        return self.later if turn > 1 else self.replies[min(step, len(self.replies)) - 1]


ANSWER = Reply((TextPart("Done."),))
"""A plain answer."""
NOTHING = Reply(())
"""A reply with nothing in it."""
THOUGHT = Reply((ReasoningPart("Hm."),))
"""A reply of thinking alone."""
UNSTATED = Reply((TextPart("So."),), FinishReason.UNKNOWN)
"""Text whose end was not stated."""


def calling(*names: str, arguments: str = "{}", finish: FinishReason = FinishReason.TOOL_CALLS) -> Reply:
    """Return a reply that calls tools, in this order."""
    parts = tuple(ToolCallPart(f"p{place}", name, arguments) for place, name in enumerate(names))
    return Reply(parts, finish)


def tool(name: str, effect: Effect, **more: object) -> ToolContract:
    """Return a contract; an inspectable tool can act for 1.5 seconds unless told otherwise."""
    if effect is Effect.INSPECTABLE:
        more = {"acts_within_ms": 1_500, **more}
    return ToolContract(name, effect, **more)  # type: ignore[arg-type]  # the caller names fields of the contract
