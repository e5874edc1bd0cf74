"""The harness: laws, a world that counts deeds, an exhaustive search, scenario files, strategies.

For loops that are not ours: ``LoopProtocol``, ``explore_protocol``, ``loop_laws`` and what else is in ``protocol``.
``explore`` needs no Hypothesis. The strategies and the state machine do: they are imported when they are first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentcore.testing.core import CORE, Core, core_of
from agentcore.testing.core_protocol import core_protocol
from agentcore.testing.explorations import shipped
from agentcore.testing.explore import explore, explore_all
from agentcore.testing.laws import LAWS, Law
from agentcore.testing.matrix import cells, render
from agentcore.testing.protocol import LoopProtocol, explore_protocol, loop_laws, protocol_of, protocol_scenario, replay
from agentcore.testing.reference import diagrams, transitions, vocabulary
from agentcore.testing.report import Broken, Report, unreached
from agentcore.testing.scenario import Scenario, scenario_of, scenario_told
from agentcore.testing.script import Exploration
from agentcore.testing.watch import Watch, broken, unsound

if TYPE_CHECKING:
    from agentcore.testing.machine import SessionMachine
    from agentcore.testing.strategies import calls, collisions, configs, events, journals, sessions, states, values

__all__ = [
    "CORE",
    "LAWS",
    "Broken",
    "Core",
    "Exploration",
    "Law",
    "LoopProtocol",
    "Report",
    "Scenario",
    "SessionMachine",
    "Watch",
    "broken",
    "calls",
    "cells",
    "collisions",
    "configs",
    "core_of",
    "core_protocol",
    "diagrams",
    "events",
    "explore",
    "explore_all",
    "explore_protocol",
    "journals",
    "loop_laws",
    "protocol_of",
    "protocol_scenario",
    "render",
    "replay",
    "scenario_of",
    "scenario_told",
    "sessions",
    "shipped",
    "states",
    "transitions",
    "unreached",
    "unsound",
    "values",
    "vocabulary",
]

_NEEDING_HYPOTHESIS: Mapping[str, str] = {
    "SessionMachine": "machine",
    **dict.fromkeys(
        ("calls", "collisions", "configs", "events", "journals", "sessions", "states", "values"), "strategies"
    ),
}
"""Where the names stand for which Hypothesis has to be installed."""


def __getattr__(name: str) -> Any:
    """Import what needs Hypothesis when it is first used; ``ImportError`` says which extra brings it."""
    if name not in _NEEDING_HYPOTHESIS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_NEEDING_HYPOTHESIS[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise ImportError(f"{name} needs Hypothesis: pip install 'agentcore-reducer[testing]'") from error
