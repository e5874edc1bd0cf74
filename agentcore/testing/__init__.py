"""The harness: laws, a world that counts deeds, an exhaustive search, scenario files, strategies.

For loops that are not ours: ``LoopProtocol``, ``explore_protocol``, ``loop_laws`` and what else is in ``protocol``.
``explore`` needs no Hypothesis; ``agentcore.testing.strategies`` does, and is imported by itself.
"""

from __future__ import annotations

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
    "cells",
    "core_of",
    "core_protocol",
    "diagrams",
    "explore",
    "explore_all",
    "explore_protocol",
    "loop_laws",
    "protocol_of",
    "protocol_scenario",
    "render",
    "replay",
    "scenario_of",
    "scenario_told",
    "shipped",
    "transitions",
    "unreached",
    "vocabulary",
]
