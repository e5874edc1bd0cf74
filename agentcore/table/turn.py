"""The turn machine: every legal transition of a session, one line each. What is not listed is rejected."""

from __future__ import annotations

from agentcore.events import (
    AbortRequested,
    ApprovalDenied,
    ApprovalGranted,
    ArgumentsRefused,
    CheckpointFailed,
    CheckpointWritten,
    CompactionFailed,
    CompletionAccepted,
    CompletionRefused,
    ConfigChanged,
    ContextCompacted,
    EffectInspected,
    EffectResolved,
    FollowUpQueued,
    HistoryCleared,
    HistoryImported,
    InspectionRequested,
    MessageWithdrawn,
    ModelFailed,
    ModelReplied,
    ModelStopped,
    ModelStreamOpened,
    PolicyAllowed,
    PolicyAsked,
    PolicyBlocked,
    PreparationFailed,
    PromptSubmitted,
    RetryRequested,
    SessionReopened,
    SessionResumed,
    SteeringQueued,
    StepPrepared,
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
    ENDS,
    PHASES,
    AwaitingModel,
    AwaitingRetry,
    Because,
    Cancelled,
    Compacting,
    Completed,
    Denied,
    Exhausted,
    Failed,
    Idle,
    Preparing,
    ReviewingCompletion,
    RunningTools,
    Saving,
    Stopping,
    Streaming,
)
from agentcore.steps import aborts, batch, begin, decide, ending, model, queues, reply, resume, storage, timers
from agentcore.table.rows import before, from_each, guard_each, ignore, move, row, rows, table, to_call

BUSY = (AwaitingModel, Streaming, RunningTools)
"""Phases with work under way: who stops here enters ``Stopping``."""
STILL = (Preparing, AwaitingRetry, Compacting, ReviewingCompletion)
"""Phases with nothing under way that has to confirm its end: who stops here enters ``Saving`` at once."""
ONWARD = (Preparing, Saving)
"""One more step, unless a limit or its host ends the turn."""
FINISH = (ReviewingCompletion, *ONWARD)
"""Towards an answer's end, or one more step."""
_REQUESTED = (AwaitingModel, Streaming)
_UNTIMED = (Preparing, Compacting, ReviewingCompletion)
OVER = (Stopping, Saving)
"""Where a turn goes that does not go on: with work under way, or without."""


def _others(*phases: type) -> tuple[type, ...]:
    return tuple(phase for phase in PHASES if phase not in phases)


TURN_TABLE = table(
    # What the host says about the session as a whole
    row(Idle, PromptSubmitted, queues.submit_prompt, to=ONWARD),
    guard_each(_others(Idle), PromptSubmitted, queues.refuse_prompt),
    from_each(PHASES, SteeringQueued, queues.queue_steering),
    from_each(PHASES, FollowUpQueued, queues.queue_follow_up),
    from_each(PHASES, MessageWithdrawn, queues.withdraw_message),
    ignore(Idle, SessionReopened, because="already-open"),
    row(Completed, SessionReopened, queues.reopen_session, to=(Idle,)),
    row(Denied, SessionReopened, queues.reopen_session, to=(Idle,)),
    row(Cancelled, SessionReopened, queues.reopen_session, to=(Idle,)),
    row(Exhausted, SessionReopened, queues.reopen_session, to=(Idle,)),
    row(Failed, SessionReopened, queues.reopen_session, to=(Idle,)),
    row(Idle, HistoryImported, queues.import_history, to=(Idle,)),
    row(Idle, HistoryCleared, queues.clear_history, to=(Idle,)),
    row(Idle, ConfigChanged, queues.change_config, to=(Idle,)),
    from_each(BUSY, AbortRequested, aborts.abort, also=(Stopping,), offers=aborts.reached),
    from_each(STILL, AbortRequested, aborts.abort, also=(Saving,), offers=aborts.reached),
    row(Stopping, AbortRequested, aborts.abort, to=(Stopping,), offers=aborts.reached),
    from_each((Saving,), AbortRequested, aborts.abort, also=ENDS, offers=aborts.reached),
    from_each((Idle, *ENDS), AbortRequested, aborts.abort, offers=aborts.reached),
    # A resume is legal everywhere
    from_each((Idle, Saving, *ENDS), SessionResumed, resume.resume, offers=aborts.everywhere),
    row(Preparing, SessionResumed, resume.resume, to=(Preparing,), offers=aborts.everywhere),
    rows(_REQUESTED, SessionResumed, resume.resume, to=(AwaitingModel, *OVER), offers=aborts.everywhere),
    row(AwaitingRetry, SessionResumed, resume.resume, to=(AwaitingRetry,), offers=aborts.everywhere),
    row(Compacting, SessionResumed, resume.resume, to=(Compacting,), offers=aborts.everywhere),
    row(RunningTools, SessionResumed, resume.resume, to=(RunningTools, Stopping), offers=aborts.everywhere),
    row(ReviewingCompletion, SessionResumed, resume.resume, to=(ReviewingCompletion, Saving), offers=aborts.everywhere),
    row(Stopping, SessionResumed, resume.resume, to=(Stopping,), offers=aborts.everywhere),
    # Preparation
    row(Preparing, StepPrepared, model.prepare, to=(Preparing,)),
    guard_each(_others(Preparing), StepPrepared, model.answer_late),
    row(Preparing, PreparationFailed, model.fail_preparation, to=(Saving,)),
    guard_each(_others(Preparing), PreparationFailed, model.answer_late),
    # The request
    row(AwaitingModel, ModelStreamOpened, model.open_stream, to=(Streaming,)),
    guard_each(_others(AwaitingModel), ModelStreamOpened, model.answer_late),
    row(AwaitingModel, ModelReplied, reply.judge_reply, to=(RunningTools, *FINISH)),
    row(Streaming, ModelReplied, reply.judge_reply, to=(RunningTools, *FINISH)),
    row(Stopping, ModelReplied, model.reply_while_stopping, to=(Stopping,)),
    guard_each(_others(*_REQUESTED, Stopping), ModelReplied, model.answer_late),
    row(AwaitingModel, ModelFailed, model.fail_model, to=(AwaitingRetry, Compacting, Saving)),
    row(Streaming, ModelFailed, model.fail_model, to=(AwaitingRetry, Compacting, Saving)),
    row(Stopping, ModelFailed, model.fail_while_stopping, to=(Stopping,)),
    guard_each(_others(*_REQUESTED, Stopping), ModelFailed, model.answer_late),
    row(Stopping, ModelStopped, model.stop_model, to=(Stopping,)),
    guard_each(_others(Stopping), ModelStopped, model.answer_late),
    # The context
    row(Compacting, ContextCompacted, model.compacted, to=(AwaitingModel, Saving)),
    guard_each(_others(Compacting), ContextCompacted, model.answer_late),
    row(Compacting, CompactionFailed, model.fail_compaction, to=(AwaitingModel, Saving)),
    guard_each(_others(Compacting), CompactionFailed, model.answer_late),
    # The review of a completion
    row(ReviewingCompletion, CompletionAccepted, decide.accept_completion, to=(Saving,)),
    guard_each(_others(ReviewingCompletion), CompletionAccepted, model.answer_late),
    row(ReviewingCompletion, CompletionRefused, decide.refuse_completion, to=(Preparing, Saving)),
    guard_each(_others(ReviewingCompletion), CompletionRefused, model.answer_late),
    # Calls, tasks and kept effects
    to_call(PHASES, PolicyAllowed, PolicyAsked, PolicyBlocked, ArgumentsRefused, ApprovalGranted, ApprovalDenied),
    to_call(PHASES, ToolStarted, ToolProgressed, ToolSucceeded, ToolFailed, ToolCancelled, ToolLost),
    to_call(PHASES, TaskStarted, TaskSettled),
    to_call(PHASES, EffectInspected, InspectionRequested, RetryRequested, EffectResolved),
    # Storage and time
    from_each(PHASES, CheckpointWritten, storage.write_checkpoint, offers=aborts.in_batch),
    from_each(BUSY, CheckpointFailed, storage.fail_checkpoint, also=(Stopping,)),
    from_each(STILL, CheckpointFailed, storage.fail_checkpoint, also=(Saving,)),
    from_each((Saving,), CheckpointFailed, storage.fail_checkpoint, also=ENDS),
    from_each((Idle, Stopping, *ENDS), CheckpointFailed, storage.fail_checkpoint),
    from_each(_REQUESTED, TimerFired, timers.fire_timer, also=(AwaitingRetry, *OVER), offers=timers.timed_call),
    from_each((AwaitingRetry,), TimerFired, timers.fire_timer, also=(AwaitingModel, Saving), offers=timers.timed_call),
    from_each(_UNTIMED, TimerFired, timers.fire_timer, also=(Saving,), offers=timers.timed_call),
    from_each((RunningTools,), TimerFired, timers.fire_timer, also=(Stopping,), offers=timers.timed_call),
    from_each((Idle, Stopping, Saving, *ENDS), TimerFired, timers.fire_timer, offers=timers.timed_call),
    # What happens by itself
    before(BUSY, timers.time_is_up, to=(Stopping,), because=Because.TIME_IS_UP),
    before(STILL, timers.time_is_up, to=(Saving,), because=Because.TIME_IS_UP),
    # An abort and a resume come before time; what they leave at work is looked at here.
    *(move(phase, timers.time_is_up, to=(Stopping,), because=Because.TIME_IS_UP) for phase in BUSY),
    *(move(phase, timers.time_is_up, to=(Saving,), because=Because.TIME_IS_UP) for phase in STILL),
    *(move(phase, decide.blocked_by_task, to=(Stopping,), because=Because.TASK_BLOCKS) for phase in BUSY),
    *(move(phase, decide.blocked_by_task, to=(Saving,), because=Because.TASK_BLOCKS) for phase in STILL),
    move(Preparing, begin.order_preparation, to=(Preparing,), because=Because.PREPARATION_ORDERED),
    move(Preparing, begin.compact_at_threshold, to=(Compacting,), because=Because.THRESHOLD_REACHED),
    move(Preparing, begin.request_when_prepared, to=(AwaitingModel, Saving), because=Because.REQUEST_READY),
    move(RunningTools, decide.stop_for_outcome, to=(Stopping,), because=Because.OUTCOME_STOPS),
    move(
        RunningTools,
        batch.release_next,
        to=(RunningTools,),
        because=Because.CALLS_RELEASED,
        offers=batch.next_releasable,
    ),
    move(
        RunningTools,
        batch.report_absences,
        to=(RunningTools,),
        because=Because.ABSENCE_REPORTED,
        offers=batch.absent_calls,
    ),
    move(RunningTools, decide.close_batch, to=FINISH, because=Because.RESULTS_APPENDED),
    move(ReviewingCompletion, decide.hear_queues, to=ONWARD, because=Because.QUEUES_HEARD),
    move(ReviewingCompletion, decide.tasks_settled, to=(ReviewingCompletion, Saving), because=Because.TASKS_SETTLED),
    move(Stopping, ending.finish_stopping, to=(Saving,), because=Because.WORK_STOPPED),
    move(Saving, ending.end_saved, to=ENDS, because=Because.END_SAVED),
    move(Completed, begin.begin_follow_up, to=ONWARD, because=Because.FOLLOW_UP_BEGINS),
)
"""Phases x events in the order of the module; then the moves of ``advance``, tried in this order."""
