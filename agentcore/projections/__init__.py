"""What can be read from a state: for a model, for a screen, for a person, for an auditor.

Every projection is a total function of the state: it never raises, keeps nothing, and gives the same answer to the same
state. A new frontend is one more projection; nothing in the core changes for it, and nothing here is ever stored.

- ``requests``: what a model is sent. ``transcript``: the conversation for people. ``usage``: what was consumed.
- ``status``: where the session stands, on ``facts``. ``waits``: what comes next. ``ends``: why a turn ended.
- ``acts``: what may be done now. ``audit``: what each call did, from passages instead of one state.
"""

from __future__ import annotations

from agentcore.projections.acts import (
    Abort,
    Act,
    ApproveCall,
    DenyCall,
    InspectCall,
    ResolveCall,
    RetryCall,
    SessionAct,
    WithdrawMessage,
    pending_acts,
)
from agentcore.projections.audit import AuditRecord, Passage, audit, audit_passage, replay
from agentcore.projections.calls import all_calls, unresolved
from agentcore.projections.ends import END_TEXTS, LOOP_TEXTS, EndText, Explanation, explain_end
from agentcore.projections.facts import Fact, facts_of
from agentcore.projections.requests import RequestView, request_messages
from agentcore.projections.status import (
    STATUSES,
    DurableStatus,
    Status,
    UiStatus,
    durable_status,
    status_holds,
    ui_status,
)
from agentcore.projections.transcript import Called, Entry, Said, Speaker, transcript
from agentcore.projections.usage import KINDS, UsageLine, UsageView, usage_of
from agentcore.projections.waits import NextStep, Party, next_step

__all__ = [
    "END_TEXTS",
    "KINDS",
    "LOOP_TEXTS",
    "STATUSES",
    "Abort",
    "Act",
    "ApproveCall",
    "AuditRecord",
    "Called",
    "DenyCall",
    "DurableStatus",
    "EndText",
    "Entry",
    "Explanation",
    "Fact",
    "InspectCall",
    "NextStep",
    "Party",
    "Passage",
    "RequestView",
    "ResolveCall",
    "RetryCall",
    "Said",
    "SessionAct",
    "Speaker",
    "Status",
    "UiStatus",
    "UsageLine",
    "UsageView",
    "WithdrawMessage",
    "all_calls",
    "audit",
    "audit_passage",
    "durable_status",
    "explain_end",
    "facts_of",
    "next_step",
    "pending_acts",
    "replay",
    "request_messages",
    "status_holds",
    "transcript",
    "ui_status",
    "unresolved",
    "usage_of",
]
