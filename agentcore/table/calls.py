"""The call machine: every transition of a call, a task or a kept effect, a line each. Else an event is rejected."""

from __future__ import annotations

from agentcore.events import (
    AbortRequested,
    ApprovalDenied,
    ApprovalGranted,
    ArgumentsRefused,
    CheckpointWritten,
    EffectInspected,
    EffectResolved,
    InspectionRequested,
    PolicyAllowed,
    PolicyAsked,
    PolicyBlocked,
    RetryRequested,
    SessionResumed,
    TaskSettled,
    TaskStarted,
    TimerFired,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.states import (
    AwaitingApproval,
    CancellationRequested,
    EffectUnknown,
    Executing,
    Proposed,
    Ready,
    Released,
    Settled,
)
from agentcore.steps.calls import inquiry, review, runs, stops
from agentcore.steps.verdicts import Advance, StopEntered
from agentcore.table.rows import from_each, guard_each, row, rows, table

UNSTARTED = (Proposed, AwaitingApproval, Ready, Released)
STARTED = (Executing, CancellationRequested, EffectUnknown)
ANY = (*UNSTARTED, *STARTED, Settled)
_DENIED = (Settled, EffectUnknown)
"""A refusal settles, unless an earlier attempt may have acted: then somebody is asked."""
_AGAIN = (Ready, Proposed, EffectUnknown, Settled)
"""An attempt that ended without proof runs again, is looked into, or has its answer."""

CALL_TABLE = table(
    # Review
    row(Proposed, PolicyAllowed, review.allow, to=(Ready,)),
    row(Proposed, PolicyAsked, review.ask_person, to=(AwaitingApproval, Ready)),
    row(Proposed, PolicyBlocked, review.block, to=_DENIED),
    row(Proposed, ArgumentsRefused, review.refuse_arguments, to=_DENIED),
    row(AwaitingApproval, ApprovalGranted, review.grant, to=(Ready, Proposed, *_DENIED)),
    row(AwaitingApproval, ApprovalDenied, review.deny, to=_DENIED),
    row(AwaitingApproval, TimerFired, review.expire, to=_DENIED),
    guard_each((*UNSTARTED[1:], *STARTED, Settled), PolicyAllowed, review.decided_already),
    guard_each((*UNSTARTED[1:], *STARTED, Settled), PolicyAsked, review.decided_already),
    guard_each((*UNSTARTED[1:], *STARTED, Settled), PolicyBlocked, review.decided_already),
    guard_each((*UNSTARTED[1:], *STARTED, Settled), ArgumentsRefused, review.decided_already),
    guard_each((Proposed, Ready, Released, *STARTED, Settled), ApprovalGranted, review.decided_already),
    guard_each((Proposed, Ready, Released, *STARTED, Settled), ApprovalDenied, review.decided_already),
    # Release and start
    row(Ready, Advance, stops.release, to=(Executing, Released, Settled)),
    row(Released, CheckpointWritten, stops.cover, to=(Released, Executing)),
    # Reports of the present attempt, and late ones of earlier attempts
    from_each(STARTED, ToolStarted, runs.start),
    guard_each(UNSTARTED, ToolStarted, runs.start),
    from_each(STARTED, ToolProgressed, runs.progress),
    guard_each(UNSTARTED, ToolProgressed, runs.progress),
    rows((*UNSTARTED, Executing, CancellationRequested), ToolSucceeded, runs.succeed, to=(Settled,)),
    row(EffectUnknown, ToolSucceeded, runs.succeed, to=(Settled, EffectUnknown)),
    rows((*UNSTARTED, Executing, CancellationRequested), TaskSettled, runs.succeed, to=_DENIED),
    row(EffectUnknown, TaskSettled, runs.succeed, to=(Settled, EffectUnknown)),
    rows((*UNSTARTED, *STARTED), ToolFailed, runs.fail, to=_DENIED),
    rows((*UNSTARTED, Executing, CancellationRequested), ToolCancelled, runs.cancelled, to=_DENIED),
    row(EffectUnknown, ToolCancelled, runs.cancelled, to=_AGAIN),
    row(Executing, ToolLost, runs.lost, to=(Ready, *_DENIED)),
    row(CancellationRequested, ToolLost, runs.lost, to=_DENIED),
    row(EffectUnknown, ToolLost, runs.lost, to=(Ready, Proposed, EffectUnknown)),
    guard_each(UNSTARTED, ToolLost, runs.lost),
    from_each(STARTED, TaskStarted, runs.detach),
    guard_each(UNSTARTED, TaskStarted, runs.detach),
    from_each((Settled,), ToolSucceeded, runs.repeat),
    from_each((Settled,), TaskSettled, runs.repeat),
    from_each((Settled,), ToolFailed, runs.repeat),
    from_each((Settled,), ToolCancelled, runs.repeat),
    guard_each((Settled,), ToolStarted, runs.repeat),
    guard_each((Settled,), ToolProgressed, runs.repeat),
    guard_each((Settled,), ToolLost, runs.repeat),
    guard_each((Settled,), TaskStarted, runs.repeat),
    row(Executing, TimerFired, runs.pass_deadline, to=(Settled, EffectUnknown)),
    # Stopping
    *(row(source, AbortRequested, stops.stop_unstarted, to=_DENIED) for source in UNSTARTED),
    *(row(source, StopEntered, stops.stop_unstarted, to=_DENIED) for source in UNSTARTED),
    row(Executing, AbortRequested, stops.stop_running, to=(CancellationRequested,)),
    row(Executing, StopEntered, stops.stop_running, to=(CancellationRequested,)),
    row(CancellationRequested, AbortRequested, stops.stop_cancelling, to=(CancellationRequested, Settled)),
    row(CancellationRequested, TimerFired, inquiry.end_grace, to=_DENIED),
    row(EffectUnknown, AbortRequested, stops.stop_unknown, to=_DENIED),
    row(EffectUnknown, StopEntered, stops.stop_unknown, to=_DENIED),
    # Finding out
    row(EffectUnknown, EffectInspected, inquiry.inspected, to=_AGAIN),
    guard_each((*UNSTARTED, Executing, CancellationRequested, Settled), EffectInspected, inquiry.inspected),
    row(EffectUnknown, InspectionRequested, inquiry.request_inspection, to=(EffectUnknown,)),
    row(Settled, InspectionRequested, inquiry.request_inspection, to=(EffectUnknown,)),
    row(Executing, InspectionRequested, inquiry.request_inspection, to=(EffectUnknown,)),
    row(CancellationRequested, InspectionRequested, inquiry.request_inspection, to=(EffectUnknown,)),
    guard_each(UNSTARTED, InspectionRequested, inquiry.refuse_inspection),
    row(EffectUnknown, RetryRequested, inquiry.request_retry, to=_AGAIN),
    guard_each((*UNSTARTED, Executing, CancellationRequested, Settled), RetryRequested, inquiry.refuse_retry),
    row(EffectUnknown, EffectResolved, inquiry.resolve, to=(Ready, Proposed, Settled)),
    row(Executing, EffectResolved, inquiry.resolve, to=(Settled,)),
    row(CancellationRequested, EffectResolved, inquiry.resolve, to=(Settled,)),
    row(Settled, EffectResolved, inquiry.resolve, to=(Settled,)),
    guard_each(UNSTARTED, EffectResolved, inquiry.resolve),
    row(EffectUnknown, TimerFired, inquiry.inquire, to=(EffectUnknown,)),
    row(EffectUnknown, Advance, inquiry.report_absence, to=(Settled,)),
    # Resume
    *(row(source, SessionResumed, stops.resume_unstarted, to=(Proposed, *_DENIED)) for source in UNSTARTED[:3]),
    row(Released, SessionResumed, stops.resume_running, to=(Proposed, EffectUnknown)),
    row(Executing, SessionResumed, stops.resume_running, to=(Proposed, *_DENIED)),
    row(CancellationRequested, SessionResumed, stops.resume_running, to=_DENIED),
    row(EffectUnknown, SessionResumed, stops.resume_unknown, to=(EffectUnknown,)),
)
"""Call states x events."""
