"""The laws: what holds whatever happens, each as a named object that anything can be checked against.

``LAWS`` has all of them by name. ``Law.check(before, event, reduction)`` says what one event breaks; the explorer, the
stateful machine and the scenario runner check the rest of each law, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentcore.testing.laws.base import Graph, Law, Monitor
from agentcore.testing.laws.bounds import limits_hold
from agentcore.testing.laws.claims import CLAIMS, KNOWN, Claim
from agentcore.testing.laws.deeds import L7
from agentcore.testing.laws.effects import (
    L5,
    a_cut_message_runs_nothing,
    a_started_effect_is_in_one_place,
    intent_is_durable_before_the_effect,
    missing_inspection,
    only_allowed_arguments_run,
)
from agentcore.testing.laws.graph import L17
from agentcore.testing.laws.orders import L3, an_ended_turn_is_over, stopping_starts_nothing
from agentcore.testing.laws.ranking import ranking
from agentcore.testing.laws.record import (
    L16,
    every_message_is_somewhere,
    history_is_balanced,
    late_results_start_nothing,
    what_is_settled_stays,
)
from agentcore.testing.laws.recovery import a_crash_is_survived, an_abort_reaches_its_scope
from agentcore.testing.laws.refusals import misheard, untruth
from agentcore.testing.laws.shown import shown_is_true
from agentcore.testing.laws.totality import (
    defect,
    reduce_is_a_function,
    what_is_refused_changes_nothing,
    what_is_written_can_be_read,
)

LAWS: Mapping[str, Law] = {
    law.name: law
    for law in (
        reduce_is_a_function,
        what_is_refused_changes_nothing,
        L3,
        an_ended_turn_is_over,
        L5,
        intent_is_durable_before_the_effect,
        L7,
        stopping_starts_nothing,
        what_is_settled_stays,
        only_allowed_arguments_run,
        history_is_balanced,
        a_cut_message_runs_nothing,
        late_results_start_nothing,
        every_message_is_somewhere,
        limits_hold,
        L16,
        L17,
        what_is_written_can_be_read,
        a_crash_is_survived,
        an_abort_reaches_its_scope,
        shown_is_true,
        a_started_effect_is_in_one_place,
    )
}
"""All laws, L1 to L22, by name and in order."""

__all__ = [
    "CLAIMS",
    "KNOWN",
    "L3",
    "L5",
    "L7",
    "L16",
    "L17",
    "LAWS",
    "Claim",
    "Graph",
    "Law",
    "Mapping",
    "Monitor",
    "a_crash_is_survived",
    "a_cut_message_runs_nothing",
    "a_started_effect_is_in_one_place",
    "an_abort_reaches_its_scope",
    "an_ended_turn_is_over",
    "defect",
    "every_message_is_somewhere",
    "history_is_balanced",
    "intent_is_durable_before_the_effect",
    "late_results_start_nothing",
    "limits_hold",
    "misheard",
    "missing_inspection",
    "only_allowed_arguments_run",
    "ranking",
    "reduce_is_a_function",
    "shown_is_true",
    "stopping_starts_nothing",
    "untruth",
    "what_is_refused_changes_nothing",
    "what_is_settled_stays",
    "what_is_written_can_be_read",
]
