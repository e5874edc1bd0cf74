"""What is durable: one checkpoint at a time, failures before and after an effect, ends that could not be saved."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Verdict
from agentcore.commands import PersistCheckpoint, StartTimer
from agentcore.events import CheckpointFailed, CheckpointWritten, Finding, TimerFired
from agentcore.messages import NotExecuted, NotExecutedReason, Succeeded
from agentcore.rejections import RejectionCode
from agentcore.states import (
    AwaitingModel,
    Because,
    Completed,
    Failed,
    Idle,
    RunningTools,
    Saving,
    Stopping,
    StopReason,
)
from tests.core.driver import Session, call, executing, tool


@pytest.mark.req("R-187", "R-188")
class TestWhenOneIsWanted:
    def test_for_a_whole_message_and_not_before(self):
        session = Session(tool())
        session.prompt()
        session.opened()
        assert not [name for name in session.waits if name.startswith("persist")]
        session.reply(call("write"))
        assert session.commands[0] == f"persist-checkpoint {session.state.seq}"

    def test_for_a_release_that_carries_the_decisions(self):
        session = Session(tool())
        session.propose("write")
        session.all_saved()
        session.allow()
        assert session.commands == (f"persist-checkpoint {session.state.seq}",)

    def test_for_the_end_of_a_tool_an_unknown_and_the_end_of_the_turn(self):
        session = executing(calls=2)
        for happen in (lambda: session.lose("1.1.0"), lambda: session.succeed("1.1.1")):
            session.all_saved()
            happen()
            assert session.commands[0] == f"persist-checkpoint {session.state.seq}"

    def test_but_not_for_what_is_merely_looked_into(self):
        session = executing()
        session.lose()
        session.all_saved()
        session.inspected(Finding.UNAVAILABLE)
        session.fire("inquiry/1.1.0")
        assert not [name for name in session.waits if name.startswith("persist")]

    def test_one_at_a_time_for_the_newest_event_and_its_answer_brings_the_next(self):
        session = executing(Effect.PURE, calls=3)
        session.all_saved()
        session.succeed("1.1.0")
        session.succeed("1.1.1")
        orders = [each for each in session.work if isinstance(each, PersistCheckpoint)]
        assert len(orders) == 1
        session.saved()
        assert session.the(PersistCheckpoint).seq == session.state.seq
        session.saved()
        assert not [name for name in session.waits if name.startswith("persist")]

    def test_the_turns_end_stands_when_it_is_covered(self):
        session = Session()
        session.prompt()
        session.reply("Done.")
        assert session.phase is Saving
        assert session.state.phase.seq == session.the(PersistCheckpoint).seq
        session.saved()
        assert session.phase is Completed

    def test_an_older_checkpoint_does_not_cover_the_end(self):
        session = executing(Effect.PURE)
        session.all_saved()
        session.succeed()
        order = session.the(PersistCheckpoint)
        session.reply("Done.")
        session.give(CheckpointWritten, seq=order.seq, epoch=0, attempt=order.attempt)
        assert session.phase is Saving
        session.saved()
        assert session.phase is Completed


@pytest.mark.req("R-192", "R-193", "R-223")
class TestFailures:
    def test_before_the_effect_block_it(self):
        session = Session(tool(), limits=Limits(checkpoint_retries=1))
        session.propose("write")
        session.saved()
        session.allow()
        session.save_fails("disk full")
        assert session.calls == {"1.1.0": "Released"}
        session.fire("checkpoint")
        session.save_fails("disk full")
        assert session.outcome() == NotExecuted(NotExecutedReason.STORAGE)
        assert session.stop is StopReason.STORAGE
        assert session.ending.message == "disk full"
        assert not [name for line in session.trace for name in line.commands if name.startswith("execute-tool")]

    def test_before_the_effect_are_tried_again_and_then_it_runs(self):
        session = Session(tool())
        session.propose("write")
        session.all_saved()
        session.allow()
        session.save_fails()
        session.fire("checkpoint")
        session.saved()
        assert session.calls == {"1.1.0": "Executing"}

    def test_after_the_effect_keep_the_evidence_and_start_nothing_further(self):
        session = Session(tool(), limits=Limits(checkpoint_retries=0, max_parallel=1))
        session.execute("write", "write")
        session.succeed("1.1.0", "written")
        session.save_fails("disk full")
        assert session.outcome("1.1.0") == Succeeded("written")
        assert session.outcome("1.1.1") == NotExecuted(NotExecutedReason.STORAGE)
        assert session.stop is StopReason.STORAGE
        assert dict(session.ending.evidence) == {"cause": "checkpoint-failed", "reason": "disk full"}

    def test_while_a_tool_runs_tell_it_to_stop(self):
        session = Session(tool(), tool("read", Effect.PURE), limits=Limits(checkpoint_retries=0))
        session.execute("write", "read")
        session.succeed("1.1.1")
        session.save_fails()
        assert session.phase is Stopping
        assert session.calls["1.1.0"] == "CancellationRequested"

    def test_while_the_model_answers_end_its_request(self):
        session = executing(Effect.PURE, limits=Limits(checkpoint_retries=0))
        session.succeed()
        session.save_fails()
        assert session.phase is Stopping
        assert "cancel-model 1.2" in session.commands

    def test_in_a_row_are_counted_and_a_success_begins_anew(self):
        session = executing(Effect.PURE, calls=3, limits=Limits(checkpoint_retries=1))
        for call_id in ("1.1.0", "1.1.1"):
            session.all_saved()
            session.succeed(call_id)
            session.save_fails()
            session.fire("checkpoint")
            session.saved()
            assert session.state.storage.failures == 0
        assert session.phase is RunningTools

    def test_at_the_end_leave_it_unsaved(self):
        session = Session(limits=Limits(checkpoint_retries=0))
        session.prompt()
        session.reply("Done.")
        session.save_fails("disk full")
        assert session.phase is Completed
        assert session.state.phase.unsaved
        assert session.because is Because.END_UNSAVED
        assert ("cause", "checkpoint-failed") in session.ending.evidence
        assert session.waits == ()

    def test_at_the_end_are_mended_by_a_later_checkpoint(self):
        session = Session(tool("job", detached=True), limits=Limits(checkpoint_retries=0))
        session.execute("job")
        session.detach()
        session.all_saved()
        session.reply("Done.")
        session.save_fails()
        assert session.state.phase.unsaved
        session.follow_up()
        assert session.phase is Completed
        session.task_ends("1.1.0")
        session.saved()
        assert session.phase is AwaitingModel, "the end is saved now, so the follow-up begins"

    def test_while_stopping_are_added_to_the_evidence(self):
        session = executing(limits=Limits(checkpoint_retries=0))
        session.lose()
        session.abort()
        session.save_fails("disk full")
        assert session.phase is Stopping
        assert session.stop is StopReason.USER_ABORT
        assert ("cause", "checkpoint-failed") in session.ending.evidence

    def test_in_idle_change_nothing_but_what_is_wanted(self):
        session = Session(tool("job", detached=True), limits=Limits(checkpoint_retries=0))
        session.execute("job")
        session.detach()
        session.answer()
        session.reopen()
        session.task_ends("1.1.0")
        session.save_fails()
        assert session.phase is Idle
        assert session.waits == ()

    def test_of_storage_that_failed_for_good_end_as_failed_and_unsaved(self):
        session = Session(tool(), limits=Limits(checkpoint_retries=0))
        session.propose("write")
        session.save_fails()
        assert session.phase is Saving
        session.save_fails()
        assert session.phase is Failed
        assert session.state.phase.unsaved
        session.reopen()
        session.prompt()
        assert session.phase is AwaitingModel


class TestAnswers:
    def test_a_repeated_one_is_ignored(self):
        session = Session()
        session.prompt()
        session.reply("Done.")
        order = session.the(PersistCheckpoint)
        session.saved()
        judged = session.tried(CheckpointWritten, seq=order.seq, epoch=0, attempt=order.attempt)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "already-durable")

    def test_a_repeated_failure_is_stale(self):
        session = Session()
        session.prompt()
        session.reply("Done.")
        order = session.the(PersistCheckpoint)
        session.save_fails()
        judged = session.tried(CheckpointFailed, seq=order.seq, epoch=0, attempt=order.attempt, reason="disk full")
        assert judged.rejection.code is RejectionCode.STALE_ATTEMPT

    @pytest.mark.parametrize(("seq", "epoch", "attempt"), [(99, 0, 1), (2, 0, 9), (2, 5, 1)])
    @pytest.mark.parametrize(("kind", "fields"), [(CheckpointWritten, {}), (CheckpointFailed, {"reason": "no"})])
    def test_one_that_was_never_ordered_is_foreign(self, kind, fields, seq, epoch, attempt):
        session = Session()
        session.prompt()
        session.reply("Done.")
        judged = session.tried(kind, seq=seq, epoch=epoch, attempt=attempt, **fields)
        assert judged.rejection.code is RejectionCode.FOREIGN_CHECKPOINT

    def test_one_of_another_seq_is_refused(self):
        session = Session()
        session.prompt()
        session.reply("Done.")
        judged = session.tried(CheckpointWritten, seq=1, epoch=0, attempt=1)
        assert judged.verdict is Verdict.REJECTED
        assert session.phase is Saving

    def test_a_retry_has_a_key_of_its_own(self):
        session = Session()
        session.prompt()
        session.reply("Done.")
        first = session.the(PersistCheckpoint)
        session.save_fails()
        timer = session.the(StartTimer)
        assert (timer.timer_id, timer.attempt) == ("checkpoint", first.attempt)
        session.fire("checkpoint")
        assert session.the(PersistCheckpoint).attempt == first.attempt + 1
        assert session.tried(TimerFired, timer_id="checkpoint", epoch=0, attempt=1).verdict is Verdict.IGNORED


def test_a_running_batch_goes_on_while_a_checkpoint_waits_for_its_retry():
    session = executing(Effect.PURE, calls=2)
    session.all_saved()
    session.succeed("1.1.0")
    session.save_fails()
    assert session.phase is RunningTools
    session.succeed("1.1.1")
    assert session.phase is AwaitingModel
