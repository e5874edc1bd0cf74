"""Why a state was entered: one closed enum, read by tests, traces and scenario files (R-043)."""

from __future__ import annotations

from enum import StrEnum

import attrs

Evidence = tuple[tuple[str, str], ...]
"""Named facts, in the order in which they became known."""


class Because(StrEnum):
    """One value for each row of the tables and each named loop."""

    # The session and its turns
    SESSION_STARTED = "session-started"
    SESSION_RESUMED = "session-resumed"
    SESSION_REOPENED = "session-reopened"
    PROMPT_SUBMITTED = "prompt-submitted"
    FOLLOW_UP_BEGINS = "follow-up-begins"
    HISTORY_IMPORTED = "history-imported"
    HISTORY_CLEARED = "history-cleared"
    CONFIG_CHANGED = "config-changed"
    # The one loop-back and its reasons
    STEP_BEGUN = "step-begun"
    RESULTS_APPENDED = "results-appended"
    NOTICES_DELIVERED = "notices-delivered"
    STEERING_DELIVERED = "steering-delivered"
    ARGUMENTS_REPAIRED = "arguments-repaired"
    UNKNOWN_TOOL_REPORTED = "unknown-tool-reported"
    TRUNCATION_REISSUED = "truncation-reissued"
    EMPTY_REPLY_NUDGED = "empty-reply-nudged"
    THINK_ONLY_NUDGED = "think-only-nudged"
    UNKNOWN_FINISH_NUDGED = "unknown-finish-nudged"
    COMPLETION_MISSING = "completion-missing"
    COMPLETION_REFUSED = "completion-refused"
    # Towards the model
    PREPARATION_ORDERED = "preparation-ordered"
    PREPARATION_SKIPPED = "preparation-skipped"
    STEP_PREPARED = "step-prepared"
    REQUEST_READY = "request-ready"
    STREAM_OPENED = "stream-opened"
    RETRY_RATE_LIMITED = "retry-rate-limited"
    RETRY_TRANSPORT = "retry-transport"
    RETRY_DUE = "retry-due"
    CONTEXT_TOO_LARGE = "context-too-large"
    OVERFLOW_COMPACTED = "overflow-compacted"
    THRESHOLD_REACHED = "threshold-reached"
    THRESHOLD_COMPACTED = "threshold-compacted"
    COMPACTION_SKIPPED = "compaction-skipped"
    MEDIA_TOO_LARGE = "media-too-large"
    MEDIA_DOWNGRADED = "media-downgraded"
    # A batch
    CALLS_PROPOSED = "calls-proposed"
    CALLS_RELEASED = "calls-released"
    # Ends
    ANSWER_GIVEN = "answer-given"
    REVIEW_ORDERED = "review-ordered"
    TASKS_AWAITED = "tasks-awaited"
    TASKS_SETTLED = "tasks-settled"
    QUEUES_HEARD = "queues-heard"
    COMPLETION_ACCEPTED = "completion-accepted"
    COMPLETION_OVERRIDDEN = "completion-overridden"
    TIME_IS_UP = "time-is-up"
    TASK_BLOCKS = "task-blocks"
    OUTCOME_STOPS = "outcome-stops"
    STOP_ENTERED = "stop-entered"
    STOP_CONTINUES = "stop-continues"
    WAITING_GIVEN_UP = "waiting-given-up"
    WORK_STOPPED = "work-stopped"
    END_SAVED = "end-saved"
    END_UNSAVED = "end-unsaved"
    # Calls
    CALL_PROPOSED = "call-proposed"
    TOOL_NOT_FOUND = "tool-not-found"
    ARGUMENTS_MALFORMED = "arguments-malformed"
    ARGUMENTS_REFUSED = "arguments-refused"
    MESSAGE_TRUNCATED = "message-truncated"
    POLICY_ALLOWED = "policy-allowed"
    POLICY_BLOCKED = "policy-blocked"
    APPROVAL_ASKED = "approval-asked"
    APPROVAL_GRANTED = "approval-granted"
    APPROVAL_DENIED = "approval-denied"
    APPROVAL_EXPIRED = "approval-expired"
    GRANT_STANDS = "grant-stands"
    GRANT_CHANGED = "grant-changed"
    RELEASED = "released"
    RELEASE_COVERED = "release-covered"
    TOOL_CALLS_USED_UP = "tool-calls-used-up"
    TOOL_STARTED = "tool-started"
    TOOL_PROGRESSED = "tool-progressed"
    TOOL_SUCCEEDED = "tool-succeeded"
    TOOL_FAILED = "tool-failed"
    TOOL_LOST = "tool-lost"
    TOOL_CANCELLED = "tool-cancelled"
    CANCEL_UNPROVED = "cancel-unproved"
    TASK_STARTED = "task-started"
    TASK_SETTLED = "task-settled"
    DEADLINE_PASSED = "deadline-passed"
    ABORT_REQUESTED = "abort-requested"
    TURN_STOPPING = "turn-stopping"
    GRACE_ENDED = "grace-ended"
    INSPECTION_REQUESTED = "inspection-requested"
    INSPECTION_DUE = "inspection-due"
    INSPECTED_EXECUTED = "inspected-executed"
    INSPECTED_FAILED = "inspected-failed"
    INSPECTED_ABSENT = "inspected-absent"
    INSPECTED_RUNNING = "inspected-running"
    INSPECTION_INCONCLUSIVE = "inspection-inconclusive"
    PERSON_ASKED = "person-asked"
    PERSON_RESOLVED = "person-resolved"
    EARLIER_ATTEMPT_REPORTED = "earlier-attempt-reported"
    EARLIER_ATTEMPT_UNPROVED = "earlier-attempt-unproved"
    EFFECT_RETRIED = "effect-retried"
    ABSENCE_REPORTED = "absence-reported"
    GIVEN_UP = "given-up"
    PERMISSION_GONE = "permission-gone"
    GAP_SUSPECTED = "gap-suspected"


@attrs.frozen
class Transition:
    """How a state was reached."""

    because: Because
    """Why it was entered."""
    hops: tuple[Because, ...] = ()
    """The moves that ``advance`` made in the same reduction, in order."""
    evidence: Evidence = ()
    """The facts it rests on."""
