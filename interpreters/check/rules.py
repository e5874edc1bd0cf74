"""The rules of the black box: each has a code, a sentence, and one of two judges (``judge`` or ``deeds``).

A rule is *exercised* by a scenario only if the scenario came to where the rule says something, and with the means that
the program offers. What was never exercised is not applicable; it is never called held.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import attrs


class Rule(StrEnum):
    """What a program must keep, by its code."""

    CONNECTS = "connects"
    ENDS = "ends"
    OUTPUT_BOUNDED = "output-bounded"
    REQUESTS_BOUNDED = "requests-bounded"
    WELL_FORMED = "well-formed"
    PROMPT_KEPT = "prompt-kept"
    HISTORY_STABLE = "history-stable"
    NOTHING_INVENTED = "nothing-invented"
    ANSWERED = "answered"
    ANSWERED_ONCE = "answered-once"
    ADJACENT = "adjacent"
    IN_ORDER = "in-order"
    RESULT_OF_ITS_CALL = "result-of-its-call"
    CONTINUES = "continues"
    GOES_ON = "goes-on"
    QUIET_AFTER_END = "quiet-after-end"
    QUIET_AFTER_CANCEL = "quiet-after-cancel"
    EXECUTED_ONCE = "executed-once"
    CUT_NOT_RUN = "cut-not-run"
    AS_ASKED = "as-asked"
    NOT_AFTER_CANCEL = "not-after-cancel"
    NOT_AFTER_DENIAL = "not-after-denial"


MEANINGS: Mapping[Rule, str] = MappingProxyType(
    {
        Rule.CONNECTS: "the program asks the model for an answer",
        Rule.ENDS: "the program ends by itself, after its answer, a fault or a cancel",
        Rule.OUTPUT_BOUNDED: "what the program prints stays within a bound",
        Rule.REQUESTS_BOUNDED: "the number of requests stays within a bound, whatever the model does",
        Rule.WELL_FORMED: "each request is one that a provider would accept",
        Rule.PROMPT_KEPT: "what the user said stands in every request",
        Rule.HISTORY_STABLE: "what was sent once begins every later request, unless the context had overflowed",
        Rule.NOTHING_INVENTED: "no word, call or result is put into the history that the model or a tool did not give",
        Rule.ANSWERED: "each call in the history has a result",
        Rule.ANSWERED_ONCE: "no call in the history has two results",
        Rule.ADJACENT: "results follow directly on the message that asked for them",
        Rule.IN_ORDER: "results stand in the order of their calls",
        Rule.RESULT_OF_ITS_CALL: "the result of a call is what its own tool answered",
        Rule.CONTINUES: "the model is told the results of what it asked for",
        Rule.GOES_ON: "after a kill while the model was answering, the resumed program asks it again",
        Rule.QUIET_AFTER_END: "after the final answer the model is not asked again",
        Rule.QUIET_AFTER_CANCEL: "after a cancel the model is not asked again",
        Rule.EXECUTED_ONCE: "no deed is done twice",
        Rule.CUT_NOT_RUN: "no call of a message that was cut runs",
        Rule.AS_ASKED: "what runs is what the model asked for, with those arguments",
        Rule.NOT_AFTER_CANCEL: "no deed begins after a cancel",
        Rule.NOT_AFTER_DENIAL: "no deed is done that was refused",
    }
)
"""Each rule as a sentence."""


class Means(StrEnum):
    """What a program may offer, without which some rules say nothing."""

    TOOLS = "tools"
    APPROVALS = "approvals"
    CANCEL = "cancel"
    RESUME = "resume"


WITHOUT: Mapping[Means, str] = MappingProxyType(
    {
        Means.TOOLS: "the program offered the model no tool of the check",
        Means.APPROVALS: "the program asked nobody before it ran the call",
        Means.CANCEL: "it was said that the program cannot be cancelled",
        Means.RESUME: "there is no resume command",
    }
)
"""Why a scenario says nothing, by the means it lacks."""


@attrs.frozen
class Finding:
    """One rule, broken."""

    rule: Rule
    """Which."""
    what: str
    """What was seen, and what was expected."""
    request: int = 0
    """Number of the request that shows it, from 1; 0 if none does."""
