"""Exploration of any loop: its reducer, of whatever shape, against everything that may happen to it.

``explore_protocol(LoopProtocol(initial, enabled, reduce, laws, normalise))`` searches breadth first and gives for each
broken law a shortest way there, which ``protocol_scenario`` writes as a file that ``replay`` plays again. ``loop_laws``
has the laws that every agent loop should keep; ``examples`` beside this package shows two loops that do not.
"""

from __future__ import annotations

from agentcore.testing.protocol.adapter import protocol_of
from agentcore.testing.protocol.export import to_dot, to_json, to_mermaid
from agentcore.testing.protocol.liveness import DEAD_END, LIVELOCK, NO_WAY_OUT
from agentcore.testing.protocol.loops import (
    CallAsked,
    CallDenied,
    DeedDone,
    Fact,
    RequestMade,
    ResultGiven,
    TurnBegun,
    loop_laws,
)
from agentcore.testing.protocol.plain import canonical
from agentcore.testing.protocol.report import Counterexample, Findings
from agentcore.testing.protocol.scenario import ScenarioError, explain, protocol_scenario, replay
from agentcore.testing.protocol.search import Bounds, explore_protocol
from agentcore.testing.protocol.shape import (
    Edge,
    Found,
    LoopProtocol,
    Monitor,
    ProtocolLaw,
    StateGraph,
    Transition,
    copying,
    remembering,
)

__all__ = [
    "DEAD_END",
    "LIVELOCK",
    "NO_WAY_OUT",
    "Bounds",
    "CallAsked",
    "CallDenied",
    "Counterexample",
    "DeedDone",
    "Edge",
    "Fact",
    "Findings",
    "Found",
    "LoopProtocol",
    "Monitor",
    "ProtocolLaw",
    "RequestMade",
    "ResultGiven",
    "ScenarioError",
    "StateGraph",
    "Transition",
    "TurnBegun",
    "canonical",
    "copying",
    "explain",
    "explore_protocol",
    "loop_laws",
    "protocol_of",
    "protocol_scenario",
    "remembering",
    "replay",
    "to_dot",
    "to_json",
    "to_mermaid",
]
