"""Aborting: each scope reaches every unit in it and no other; a second act; replies while stopping."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Verdict
from agentcore.events import (
    AbortRequested,
    AbortScope,
    Finding,
    ModelFailed,
    ModelFailure,
    ModelReplied,
    ModelStopped,
    ModelStreamOpened,
    TimerFired,
    ToolSucceeded,
)
from agentcore.messages import Abandoned, EffectSeen, NotExecuted, NotExecutedReason, TextPart, Usage
from agentcore.rejections import RejectionCode
from agentcore.states import (
    AwaitingModel,
    Because,
    Cancelled,
    Completed,
    Idle,
    RunningTools,
    Saving,
    Stopping,
    StopReason,
)
from tests.core.driver import Session, call, executing, tool, unknown


def with_task(*others):
    """A running turn with a background task, and calls of other tools executing."""
    session = Session(tool("job", Effect.FENCEABLE, detached=True), tool(), tool("read", Effect.PURE))
    session.execute("job", *others)
    session.detach("1.1.0")
    return session


@pytest.mark.req("D-7", "R-070", "R-175")
class TestTheTurn:
    @pytest.mark.parametrize("phase", ["Preparing", "AwaitingRetry", "Compacting", "ReviewingCompletion"])
    def test_with_nothing_in_flight_ends_at_once(self, phase):
        session = Session(
            limits=Limits(compact_at_tokens=0 if phase == "Compacting" else None),
            prepares_steps=phase == "Preparing",
            reviews_completion=True,
        )
        session.prompt()
        if phase == "AwaitingRetry":
            session.model_fails()
        if phase == "ReviewingCompletion":
            session.reply("Done.")
        assert session.phase.__name__ == phase
        session.abort()
        assert session.phase is Saving
        session.all_saved()
        assert session.phase is Cancelled

    @pytest.mark.parametrize("streaming", [False, True])
    def test_with_a_request_in_flight_waits_for_its_end(self, streaming):
        session = Session()
        session.prompt()
        if streaming:
            session.opened()
        session.abort()
        assert session.phase is Stopping
        assert session.waits == ("request-model 1.1", "cancel-model 1.1", "start-timer grace/1.1")
        session.model_stops("Half a sen", usage=Usage(3, 2))
        assert session.phase is Saving
        assert session.history[-1].interrupted
        assert session.history[-1].text == "Half a sen"
        assert session.state.usage == Usage(3, 2)

    def test_whose_request_does_not_confirm_ends_after_its_grace(self):
        session = Session()
        session.prompt()
        session.abort()
        session.fire("grace/1.1")
        assert session.phase is Saving
        assert Because.GRACE_ENDED in session.hops or session.because is Because.WORK_STOPPED

    @pytest.mark.req("R-228")
    def test_whose_request_replies_after_all_keeps_its_text_and_drops_its_calls(self):
        session = Session(tool())
        session.prompt()
        session.abort()
        session.reply("I would write.", call("write"), usage=Usage(5, 5))
        session.all_saved()
        assert session.phase is Cancelled
        assert session.said[-1] == "model: I would write."
        assert session.history[-1].calls == ()
        assert session.state.usage == Usage(5, 5)

    def test_whose_request_says_nothing_keeps_nothing(self):
        session = Session()
        session.prompt()
        session.abort()
        session.model_stops()
        assert session.said == ("prompt: Do it.",)

    def test_whose_request_fails_after_all_only_counts_its_usage(self):
        session = Session()
        session.prompt()
        session.abort()
        session.model_fails(ModelFailure.OVERFLOW, usage=Usage(1, 0))
        session.all_saved()
        assert session.phase is Cancelled
        assert session.state.usage == Usage(1, 0)

    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            (ModelReplied, {"parts": ()}),
            (ModelStopped, {}),
            (ModelFailed, {"kind": ModelFailure.FATAL, "message": "no"}),
        ],
    )
    def test_takes_the_end_of_its_own_request_only(self, kind, fields):
        session = Session()
        session.prompt()
        session.abort()
        foreign = session.tried(kind, request_id="7.7", epoch=0, attempt=1, **fields)
        assert foreign.rejection.code is RejectionCode.FOREIGN_REQUEST
        assert session.phase is Stopping

    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            (ModelStreamOpened, {}),
            (ModelReplied, {"parts": (TextPart("late"),)}),
            (ModelStopped, {}),
            (ModelFailed, {"kind": ModelFailure.FATAL, "message": "no"}),
        ],
    )
    def test_takes_no_end_of_a_request_where_none_was_under_way(self, kind, fields):
        session = executing()
        session.abort()
        judged = session.tried(kind, request_id="1.1", epoch=0, attempt=1, **fields)
        assert judged.verdict is Verdict.REJECTED
        assert session.phase is Stopping

    def test_has_no_use_for_a_first_byte(self):
        session = Session()
        session.prompt()
        session.abort()
        judged = session.tried(ModelStreamOpened, request_id="1.1", epoch=0, attempt=1)
        assert judged.verdict is Verdict.IGNORED

    @pytest.mark.req("G-3", "R-066")
    def test_refuses_the_first_byte_of_a_request_that_never_was(self):
        session = Session()
        session.prompt()
        session.abort()
        judged = session.tried(ModelStreamOpened, request_id="7.7", epoch=0, attempt=1)
        assert judged.rejection.code is RejectionCode.FOREIGN_REQUEST

    @pytest.mark.req("R-176")
    def test_settles_what_has_not_started(self):
        session = Session(tool(), limits=Limits(max_parallel=1))
        session.propose("write", "write", "write")
        session.allow()
        session.ask()
        session.abort()
        session.all_saved()
        assert session.phase is Cancelled
        assert {result.outcome.reason for result in session.results} == {NotExecutedReason.USER_ABORT}
        assert len(session.results) == 3

    def test_settles_what_was_released_and_has_not_started(self):
        session = Session(tool())
        session.propose("write")
        session.allow()
        assert session.calls == {"1.1.0": "Released"}
        session.abort()
        assert session.outcome() == NotExecuted(NotExecutedReason.USER_ABORT)
        assert session.result().attempt == 0

    def test_refuses_a_result_of_what_was_released_and_never_started(self):
        session = Session(tool(), limits=Limits(max_parallel=1))
        session.execute("write", "write")
        session.succeed("1.1.0")
        assert session.calls["1.1.1"] == "Released"
        session.steer()
        session.abort()
        judged = session.tried(ToolSucceeded, call_id="1.1.1", epoch=0, attempt=1, result="?")
        assert judged.verdict is Verdict.REJECTED

    def test_refuses_a_result_of_what_was_released_while_others_still_stop(self):
        session = Session(tool("read", Effect.PURE), tool())
        session.propose("read", "write")
        session.allow()
        session.allow()
        assert session.calls == {"1.1.0": "Executing", "1.1.1": "Released"}
        session.abort()
        judged = session.tried(ToolSucceeded, call_id="1.1.1", epoch=0, attempt=1, result="?")
        assert judged.rejection.code is RejectionCode.ALREADY_SETTLED

    def test_settles_a_proved_absence(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no row")
        session.abort()
        assert session.outcome("1.1.0") == NotExecuted(NotExecutedReason.PROVED_ABSENT, "no row")

    @pytest.mark.req("R-207", "D-10")
    def test_makes_no_request_any_more_and_queued_words_wait_for_an_act(self):
        session = Session()
        session.prompt()
        steered, queued = session.steer(), session.follow_up()
        session.abort()
        session.model_stops()
        session.all_saved()
        assert session.phase is Cancelled
        assert [item.message_id for item in session.state.queues.steering] == [steered]
        assert [item.message_id for item in session.state.queues.follow_ups] == [queued]
        assert session.waits == ()


class TestAKnownOrLateAct:
    def test_is_ignored_the_second_time(self):
        session = Session()
        session.prompt()
        session.abort(act_id="a")
        judged = session.tried(AbortRequested, act_id="a", scope=AbortScope.TURN, turn=1)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "act-known")

    @pytest.mark.req("R-239")
    def test_is_not_confused_with_a_message_of_the_same_id(self):
        session = Session()
        session.prompt(message_id="1")
        session.abort(act_id="1")
        assert session.phase is Stopping
        session.model_stops()
        session.all_saved()
        session.reopen()
        session.prompt(message_id="act-1")
        session.abort(act_id="2")
        session.follow_up(message_id="2")

    @pytest.mark.parametrize("scope", [AbortScope.TURN, AbortScope.AFTER_STEP])
    def test_of_a_turn_that_ended_is_ignored(self, scope):
        session = Session()
        session.prompt()
        session.answer()
        judged = session.tried(AbortRequested, act_id="a", scope=scope, turn=1)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "turn-ended")

    def test_of_an_earlier_turn_is_ignored(self):
        session = Session()
        session.prompt()
        session.answer()
        session.reopen()
        session.prompt()
        judged = session.tried(AbortRequested, act_id="a", scope=AbortScope.TURN, turn=1)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "turn-ended")

    def test_of_a_turn_to_come_is_foreign(self):
        judged = Session().tried(AbortRequested, act_id="a", scope=AbortScope.TURN, turn=1)
        assert judged.rejection.code is RejectionCode.FOREIGN_TURN

    @pytest.mark.parametrize("scope", [AbortScope.CALL, AbortScope.TASK])
    def test_of_a_call_that_never_was_is_foreign(self, scope):
        judged = Session().tried(AbortRequested, act_id="a", scope=scope, call_id="1.1.0")
        assert judged.rejection.code is RejectionCode.FOREIGN_CALL

    def test_of_a_call_that_was_written_is_ignored(self):
        session = executing()
        session.succeed()
        judged = session.tried(AbortRequested, act_id="a", scope=AbortScope.CALL, call_id="1.1.0")
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "call-ended")

    def test_of_a_task_that_is_a_call_of_the_batch_is_foreign(self):
        session = executing()
        judged = session.tried(AbortRequested, act_id="a", scope=AbortScope.TASK, call_id="1.1.0")
        assert judged.rejection.code is RejectionCode.FOREIGN_CALL

    def test_of_a_settled_call_changes_nothing_but_that_it_is_known(self):
        session = executing(calls=2)
        session.succeed("1.1.0")
        calls = session.calls
        session.tried(AbortRequested, act_id="a", scope=AbortScope.CALL, call_id="1.1.0")
        assert session.calls == calls


@pytest.mark.req("R-167", "R-206")
class TestScopes:
    def test_a_turn_reaches_its_calls_and_no_task(self):
        session = with_task("write", "read")
        session.abort()
        assert session.calls == {
            "1.1.0": "Settled",
            "1.1.1": "CancellationRequested",
            "1.1.2": "CancellationRequested",
        }
        assert session.register == {"1.1.0": "Executing"}

    def test_a_call_reaches_that_call_only(self):
        session = with_task("write", "read")
        session.abort(AbortScope.CALL, "1.1.1")
        assert session.phase is RunningTools
        assert session.calls == {"1.1.0": "Settled", "1.1.1": "CancellationRequested", "1.1.2": "Executing"}
        assert session.register == {"1.1.0": "Executing"}

    @pytest.mark.parametrize("scope", [AbortScope.TASK, AbortScope.CALL])
    def test_a_task_reaches_that_task_only(self, scope):
        session = with_task("write")
        session.abort(scope, "1.1.0")
        assert session.calls == {"1.1.0": "Settled", "1.1.1": "Executing"}
        assert session.register == {"1.1.0": "CancellationRequested"}

    def test_all_reaches_the_turn_and_every_task(self):
        session = with_task("write")
        session.abort(AbortScope.ALL)
        assert session.phase is Stopping
        assert session.calls["1.1.1"] == "CancellationRequested"
        assert session.register == {"1.1.0": "CancellationRequested"}

    def test_all_reaches_what_is_unknown(self):
        session = with_task("write")
        session.lose("1.1.1")
        session.lose("1.1.0")
        session.abort(AbortScope.ALL)
        assert {"cancel-tool 1.1.0", "cancel-tool 1.1.1"} <= set(session.waits)

    @pytest.mark.parametrize("where", ["ended", "idle", "saving", "stopping"])
    @pytest.mark.parametrize("scope", [AbortScope.TASK, AbortScope.ALL])
    def test_a_task_is_reached_in_every_phase(self, where, scope):
        session = with_task()
        if where == "stopping":
            session.abort()
        else:
            session.reply("Done.")
            if where != "saving":
                session.all_saved()
            if where == "idle":
                session.reopen()
        session.abort(scope, "1.1.0")
        assert session.register == {"1.1.0": "CancellationRequested"}

    def test_a_task_told_twice_to_stop_is_told_once(self):
        session = with_task()
        session.abort(AbortScope.TASK, "1.1.0")
        before = session.waits
        session.abort(AbortScope.ALL)
        assert [name for name in session.waits if name.startswith("cancel-tool")] == ["cancel-tool 1.1.0"]
        assert "cancel-tool 1.1.0" in before

    def test_one_call_that_has_not_started_is_settled_and_its_siblings_go_on(self):
        session = Session(tool())
        session.propose("write", "write")
        session.abort(AbortScope.CALL, "1.1.0")
        assert session.outcome() == NotExecuted(NotExecutedReason.USER_ABORT)
        session.allow("1.1.1")
        session.all_saved()
        assert session.calls["1.1.1"] == "Executing"

    def test_an_aborted_call_is_not_run_again(self):
        session = executing(Effect.KEYED, calls=2)
        session.abort(AbortScope.CALL, "1.1.0")
        session.lose("1.1.0")
        assert session.calls["1.1.0"] == "EffectUnknown"

    def test_an_aborted_call_that_proves_absent_is_not_run_again(self):
        session = unknown(calls=2, absent_otherwise="retry", limits=Limits(effect_retries=5))
        session.abort(AbortScope.CALL, "1.1.0")
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        assert session.calls["1.1.0"] == "EffectUnknown"
        session.succeed("1.1.1")
        assert session.outcome("1.1.0").reason is NotExecutedReason.PROVED_ABSENT

    def test_an_aborted_call_whose_earlier_attempt_proves_absent_is_not_run_again(self):
        limits = Limits(effect_retries=5)
        session = executing(Effect.KEYED, calls=2, absent_otherwise="retry", limits=limits)
        session.lose("1.1.0")
        assert session.calls["1.1.0"] == "Released"
        session.abort(AbortScope.CALL, "1.1.0")
        assert session.calls["1.1.0"] == "EffectUnknown"
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        assert session.calls["1.1.0"] == "EffectUnknown"


@pytest.mark.req("R-019", "D-29")
class TestAfterTheStep:
    def test_the_step_is_finished_and_the_turn_ends_as_stopped_by_its_host(self):
        session = executing(calls=2)
        queued = session.follow_up()
        session.abort(AbortScope.AFTER_STEP)
        assert session.phase is RunningTools
        assert session.commands == ()
        session.succeed("1.1.0")
        session.succeed("1.1.1")
        session.all_saved()
        assert session.phase is Completed
        assert session.stop is StopReason.STOPPED_BY_HOST
        assert [item.message_id for item in session.state.queues.follow_ups] == [queued]
        assert len(session.results) == 2

    def test_steering_stays_where_it_is(self):
        session = executing()
        steered = session.steer()
        session.abort(AbortScope.AFTER_STEP)
        session.succeed()
        session.all_saved()
        assert [item.message_id for item in session.state.queues.steering] == [steered]
        assert session.phase is Completed

    def test_an_answer_that_ends_the_step_ends_the_turn_and_begins_no_other(self):
        session = Session()
        session.prompt()
        queued = session.follow_up()
        session.abort(AbortScope.AFTER_STEP)
        session.reply("Done.")
        session.all_saved()
        assert session.phase is Completed
        assert session.stop is StopReason.STOPPED_BY_HOST
        assert [item.message_id for item in session.state.queues.follow_ups] == [queued]

    def test_asked_for_during_the_review_it_ends_the_turn_as_stopped_by_its_host(self):
        session = Session(reviews_completion=True)
        session.prompt()
        session.follow_up()
        session.reply("Done.")
        session.abort(AbortScope.AFTER_STEP)
        if "review-completion 1.1" in session.waits:
            session.accept()
        session.all_saved()
        assert session.phase is Completed
        assert session.stop is StopReason.STOPPED_BY_HOST

    @pytest.mark.parametrize("where", ["stopping", "saving"])
    def test_is_ignored_once_the_end_is_decided(self, where):
        session = Session()
        session.prompt()
        session.abort() if where == "stopping" else session.reply("Done.")
        judged = session.tried(AbortRequested, act_id="late", scope=AbortScope.AFTER_STEP, turn=1)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "turn-ended")

    def test_the_next_turn_knows_nothing_of_it(self):
        session = executing()
        session.abort(AbortScope.AFTER_STEP)
        session.succeed()
        session.all_saved()
        session.reopen()
        session.prompt()
        session.answer()
        assert session.stop is StopReason.FINAL_ANSWER


@pytest.mark.req("D-7", "R-179")
class TestANewActWhileStopping:
    @pytest.mark.parametrize("scope", [AbortScope.TURN, AbortScope.ALL])
    def test_gives_up_a_request(self, scope):
        session = Session()
        session.prompt()
        session.abort()
        session.abort(scope)
        assert session.phase is Saving
        assert Because.WORK_STOPPED in session.hops
        late = session.tried(ModelStopped, request_id="1.1", epoch=0, attempt=1)
        assert late.verdict is Verdict.REJECTED

    def test_gives_up_whatever_entered_it(self):
        session = executing(limits=Limits(turn_ms=50))
        session.fire("turn/1")
        assert session.phase is Stopping
        session.abort()
        session.all_saved()
        assert session.stop is StopReason.TIMEOUT
        assert session.outcome() == Abandoned("user")
        assert dict(session.ending.evidence)["scope"] == "turn"

    def test_at_one_call_gives_up_that_call(self):
        session = executing(calls=2)
        session.abort()
        session.abort(AbortScope.CALL, "1.1.0")
        assert session.calls == {"1.1.0": "Settled", "1.1.1": "CancellationRequested"}
        assert session.register == {"1.1.0": "Settled"}

    def test_at_a_task_gives_up_nothing_of_the_turn(self):
        session = with_task("write")
        session.abort()
        session.abort(AbortScope.TASK, "1.1.0")
        assert session.calls["1.1.1"] == "CancellationRequested"
        assert session.phase is Stopping

    def test_keeps_the_reason_that_entered_first(self):
        session = Session()
        session.prompt()
        session.abort(act_id="one")
        session.abort(act_id="two")
        acts = [value for name, value in session.ending.evidence if name == "act"]
        assert acts == ["one", "two"]
        assert session.stop is StopReason.USER_ABORT

    @pytest.mark.req("D-7")
    def test_a_parked_unknown_gives_the_prompt_back(self):
        session = executing(Effect.OPAQUE)
        session.lose()
        session.abort()
        session.fire("grace/1.1.0")
        assert session.waits == ("persist-checkpoint 6", "inspect-effect 1.1.0")
        session.abort()
        session.all_saved()
        assert session.phase is Cancelled
        assert session.register == {"1.1.0": "Settled"}
        assert session.outcome() == Abandoned("user")
        session.reopen()
        assert session.phase is Idle
        session.prompt("Go on.")
        assert session.phase is AwaitingModel


class TestAnAbortWhileSaving:
    @pytest.mark.parametrize("scope", [AbortScope.TURN, AbortScope.ALL])
    def test_ends_the_turn_at_once_with_its_outcome_kept_and_unsaved(self, scope):
        session = Session()
        session.prompt()
        session.reply("Done.")
        session.abort(scope)
        assert session.phase is Completed
        assert session.state.phase.unsaved
        assert session.stop is StopReason.FINAL_ANSWER
        assert session.because is Because.WAITING_GIVEN_UP

    def test_the_checkpoint_that_covers_it_clears_that(self):
        session = Session()
        session.prompt()
        session.reply("Done.")
        session.abort()
        session.all_saved()
        assert session.phase is Completed
        assert not session.state.phase.unsaved

    @pytest.mark.req("D-10")
    def test_begins_no_follow_up_even_when_it_is_saved(self):
        session = Session()
        session.prompt()
        session.follow_up()
        session.reply("Done.")
        session.abort()
        session.all_saved()
        assert session.phase is Completed
        assert session.state.turn.number == 1

    def test_of_a_call_does_not_end_it(self):
        session = with_task()
        session.reply("Done.")
        session.abort(AbortScope.CALL, "1.1.0")
        assert session.phase is Saving


def test_an_unconfirmed_stop_of_a_register_entry_is_looked_into():
    session = with_task()
    session.abort(AbortScope.TASK, "1.1.0")
    session.fire("grace/1.1.0")
    assert session.register == {"1.1.0": "EffectUnknown"}
    assert "inspect-effect 1.1.0" in session.waits


def test_a_confirmed_stop_of_a_register_entry_is_told_to_the_model():
    session = with_task()
    session.abort(AbortScope.TASK, "1.1.0")
    session.stopped(EffectSeen.NONE)
    assert session.register == {"1.1.0": "Settled"}
    assert session.state.queues.notices[0].parts == (
        TextPart("Notice about job (call 1.1.0): Stopped after it had started; it had no effect."),
    )


def test_an_abort_reaches_the_timers_of_what_it_ends():
    session = Session(limits=Limits(turn_ms=500))
    session.prompt()
    session.abort()
    judged = session.tried(TimerFired, timer_id="turn/1", epoch=0, attempt=1)
    assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "nobody-waits")
