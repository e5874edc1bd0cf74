"""The protocol core of an LLM agent loop: a pure reducer and its vocabulary.

``reduce(state, event)`` holds every legal transition and performs nothing. Interpreters turn its commands into
effects and bring the outcomes back as events. The vocabulary lives in ``messages``, ``events``, ``commands`` and
``states``; what can be read from a state in ``projections``; how it is stored in ``codec``.
"""

from __future__ import annotations

from agentcore.limits import Limits
from agentcore.outstanding import outstanding
from agentcore.policy import PRESETS, Config, Effect, ModelSettings, Policy, ToolContract
from agentcore.reduce import Judgement, Reducer, Reduction, Verdict, make_reduce, reduce, start
from agentcore.table import TABLES, Tables

__all__ = [
    "PRESETS",
    "TABLES",
    "Config",
    "Effect",
    "Judgement",
    "Limits",
    "ModelSettings",
    "Policy",
    "Reducer",
    "Reduction",
    "Tables",
    "ToolContract",
    "Verdict",
    "make_reduce",
    "outstanding",
    "reduce",
    "start",
]
