"""Names and versions on disk: one literal table, from which a class may be renamed but a tag never.

1. A class in the table is a *tagged* value: wherever it is written it carries ``type`` and ``v``. All members of unions
   are, and what is likely to change by itself. Every other class is written plainly, as part of the tagged value around
   it.
2. Whoever changes what is written (a field, its type, a word of an enum, a plain class inside) raises the version of
   each tagged value around it, and says in ``UPCASTERS`` how the older form becomes the newer one.
3. Until the first release the schema is 0: forms may change without a new version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import attrs

from agentcore import commands, events, messages, policy, rejections, states

SCHEMA = 0
"""Version of the journal as a whole: how header, events and snapshots belong together."""


class Tag(NamedTuple):
    """How a class is called on disk."""

    name: str
    """Kebab-case, never reused for anything else."""
    version: int
    """Version of the form that is written now."""


@attrs.frozen
class Header:
    """What stands before the events of a journal: the arguments of ``start``."""

    session_id: str
    """Id of the session."""
    config: policy.Config
    """What the session was started under."""
    at: int
    """When, in milliseconds since the Unix epoch."""
    schema: int = SCHEMA
    """Version of the journal as a whole."""


TAGS: Mapping[type[Any], Tag] = {
    # What a journal and what stands beside it is made of
    Header: Tag("header", 1),
    states.State: Tag("state", 1),
    rejections.Rejection: Tag("rejection", 1),
    policy.Config: Tag("config", 1),
    policy.ToolContract: Tag("tool-contract", 1),
    states.Transition: Tag("transition", 1),
    # Events of the host
    events.PromptSubmitted: Tag("prompt-submitted", 1),
    events.SteeringQueued: Tag("steering-queued", 1),
    events.FollowUpQueued: Tag("follow-up-queued", 1),
    events.MessageWithdrawn: Tag("message-withdrawn", 1),
    events.AbortRequested: Tag("abort-requested", 1),
    events.ApprovalGranted: Tag("approval-granted", 1),
    events.ApprovalDenied: Tag("approval-denied", 1),
    events.InspectionRequested: Tag("inspection-requested", 1),
    events.RetryRequested: Tag("retry-requested", 1),
    events.EffectResolved: Tag("effect-resolved", 1),
    events.SessionReopened: Tag("session-reopened", 1),
    events.SessionResumed: Tag("session-resumed", 1),
    events.HistoryImported: Tag("history-imported", 1),
    events.HistoryCleared: Tag("history-cleared", 1),
    events.ConfigChanged: Tag("config-changed", 1),
    # Events of the world
    events.StepPrepared: Tag("step-prepared", 1),
    events.PreparationFailed: Tag("preparation-failed", 1),
    events.ModelStreamOpened: Tag("model-stream-opened", 1),
    events.ModelReplied: Tag("model-replied", 1),
    events.ModelFailed: Tag("model-failed", 1),
    events.ModelStopped: Tag("model-stopped", 1),
    events.PolicyAllowed: Tag("policy-allowed", 1),
    events.PolicyBlocked: Tag("policy-blocked", 1),
    events.PolicyAsked: Tag("policy-asked", 1),
    events.ArgumentsRefused: Tag("arguments-refused", 1),
    events.ToolStarted: Tag("tool-started", 1),
    events.ToolProgressed: Tag("tool-progressed", 1),
    events.ToolSucceeded: Tag("tool-succeeded", 1),
    events.ToolFailed: Tag("tool-failed", 1),
    events.ToolCancelled: Tag("tool-cancelled", 1),
    events.ToolLost: Tag("tool-lost", 1),
    events.TaskStarted: Tag("task-started", 1),
    events.TaskSettled: Tag("task-settled", 1),
    events.EffectInspected: Tag("effect-inspected", 1),
    events.CheckpointWritten: Tag("checkpoint-written", 1),
    events.CheckpointFailed: Tag("checkpoint-failed", 1),
    events.ContextCompacted: Tag("context-compacted", 1),
    events.CompactionFailed: Tag("compaction-failed", 1),
    events.CompletionAccepted: Tag("completion-accepted", 1),
    events.CompletionRefused: Tag("completion-refused", 1),
    events.TimerFired: Tag("timer-fired", 1),
    # Commands
    commands.PrepareStep: Tag("prepare-step", 1),
    commands.RequestModel: Tag("request-model", 1),
    commands.CancelModel: Tag("cancel-model", 1),
    commands.EvaluatePolicy: Tag("evaluate-policy", 1),
    commands.AskApproval: Tag("ask-approval", 1),
    commands.ExecuteTool: Tag("execute-tool", 1),
    commands.CancelTool: Tag("cancel-tool", 1),
    commands.InspectEffect: Tag("inspect-effect", 1),
    commands.PersistCheckpoint: Tag("persist-checkpoint", 1),
    commands.CompactContext: Tag("compact-context", 1),
    commands.ReviewCompletion: Tag("review-completion", 1),
    commands.StartTimer: Tag("start-timer", 1),
    commands.RecordRejection: Tag("record-rejection", 1),
    # Phases of a turn
    states.Idle: Tag("idle", 1),
    states.Preparing: Tag("preparing", 1),
    states.AwaitingModel: Tag("awaiting-model", 1),
    states.Streaming: Tag("streaming", 1),
    states.AwaitingRetry: Tag("awaiting-retry", 1),
    states.Compacting: Tag("compacting", 1),
    states.RunningTools: Tag("running-tools", 1),
    states.ReviewingCompletion: Tag("reviewing-completion", 1),
    states.Stopping: Tag("stopping", 1),
    states.Saving: Tag("saving", 1),
    states.Completed: Tag("completed", 1),
    states.Denied: Tag("denied", 1),
    states.Cancelled: Tag("cancelled", 1),
    states.Exhausted: Tag("exhausted", 1),
    states.Failed: Tag("failed", 1),
    # States of a call
    states.Proposed: Tag("proposed", 1),
    states.AwaitingApproval: Tag("awaiting-approval", 1),
    states.Ready: Tag("ready", 1),
    states.Released: Tag("released", 1),
    states.Executing: Tag("executing", 1),
    states.CancellationRequested: Tag("cancellation-requested", 1),
    states.EffectUnknown: Tag("effect-unknown", 1),
    states.Settled: Tag("settled", 1),
    # Outcomes of a call
    messages.Succeeded: Tag("succeeded", 1),
    messages.FailedCall: Tag("failed-call", 1),
    messages.InvalidCall: Tag("invalid-call", 1),
    messages.DeniedCall: Tag("denied-call", 1),
    messages.NotExecuted: Tag("not-executed", 1),
    messages.CancelledCall: Tag("cancelled-call", 1),
    messages.Abandoned: Tag("abandoned", 1),
    # Messages and their parts
    messages.UserMessage: Tag("user-message", 1),
    messages.AssistantMessage: Tag("assistant-message", 1),
    messages.ToolMessage: Tag("tool-message", 1),
    messages.TextPart: Tag("text-part", 1),
    messages.ReasoningPart: Tag("reasoning-part", 1),
    messages.MediaPart: Tag("media-part", 1),
    messages.ToolCallPart: Tag("tool-call-part", 1),
    messages.OpaquePart: Tag("opaque-part", 1),
}
"""Every tagged class with its name and the version that is written."""

Upcaster = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Turns the JSON object of one version into that of the next; pure. ``type`` and ``v`` are set by the codec."""

UPCASTERS: Mapping[tuple[str, int], Upcaster] = {}
"""How the form of (tag, version) becomes that of the next version; applied on reading, what is stored stays."""
