"""What ends a turn, in this order: each reason against the next one, both present at once."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Policy
from agentcore.events import AbortScope, ModelFailure
from agentcore.messages import FinishReason, ReasoningPart, Usage
from agentcore.states import (
    AwaitingModel,
    Because,
    Completed,
    ReviewingCompletion,
    Saving,
    Stopping,
    StopReason,
)
from tests.core.driver import Session, call, tool

FINISH = tool("finish", Effect.PURE, completes=True)
READ = tool("read", Effect.PURE)
OWED = Policy(completion_required=True)


def running(*names, limits=None, policy=None, **config):
    session = Session(FINISH, READ, tool(), limits=limits, policy=policy, **config)
    session.execute(*names)
    return session


def went_on(session, because):
    """The turn has begun another step for that reason."""
    return session.phase is AwaitingModel and because in session.hops


@pytest.mark.req("D-28", "R-056", "R-240", "R-099")
class TestPairwise:
    def test_an_abort_before_a_fault(self):
        session = running("write")
        session.abort()
        session.fail(fatal=True)
        session.all_saved()
        assert session.stop is StopReason.USER_ABORT

    def test_an_abort_before_a_fault_of_the_model(self):
        session = Session()
        session.prompt()
        session.abort()
        session.model_fails(ModelFailure.FATAL)
        assert session.stop is StopReason.USER_ABORT

    def test_an_abort_before_time(self):
        session = running("write", limits=Limits(turn_ms=50))
        session.abort()
        session.wait(100)
        session.succeed()
        assert session.stop is StopReason.USER_ABORT

    def test_time_before_the_logic_of_the_step(self):
        session = running("write", limits=Limits(turn_ms=50))
        session.wait(100)
        session.succeed(terminate=True)
        assert session.stop is StopReason.TIMEOUT

    def test_a_fault_before_an_error_that_goes_on(self):
        session = running("write", "read")
        session.fail("1.1.1")
        session.fail("1.1.0", fatal=True)
        assert session.stop is StopReason.TOOL_ERROR

    def test_a_fault_before_completion(self):
        session = running("finish", "write")
        session.succeed("1.1.0")
        session.fail("1.1.1", fatal=True)
        assert session.stop is StopReason.TOOL_ERROR

    def test_a_denial_that_stops_before_completion(self):
        session = Session(FINISH, tool(), policy=Policy(denied_static="stop_turn"))
        session.propose("finish", "write")
        session.allow("1.1.0")
        session.block("1.1.1")
        assert session.stop is StopReason.PERMISSION_DENIED

    def test_an_error_of_the_step_before_its_completion_tool(self):
        session = running("finish", "read")
        session.succeed("1.1.0")
        session.fail("1.1.1")
        assert went_on(session, Because.RESULTS_APPENDED)

    def test_an_error_of_the_step_before_a_unanimous_hint(self):
        session = running("read", "read")
        session.succeed("1.1.0", terminate=True)
        session.fail("1.1.1")
        assert went_on(session, Because.RESULTS_APPENDED)

    def test_the_completion_tool_before_a_unanimous_hint(self):
        session = running("finish")
        session.succeed(terminate=True)
        assert session.stop is StopReason.FINAL_ANSWER

    def test_the_completion_tool_is_reviewed(self):
        session = running("finish", reviews_completion=True)
        session.succeed()
        assert session.phase is ReviewingCompletion

    def test_a_unanimous_hint_is_not(self):
        session = running("read", reviews_completion=True)
        session.succeed(terminate=True)
        assert session.phase is Saving

    def test_an_owed_completion_before_a_unanimous_hint(self):
        session = running("read", policy=OWED)
        session.succeed(terminate=True)
        assert went_on(session, Because.RESULTS_APPENDED)

    def test_the_completion_tool_before_pending_steering(self):
        session = running("finish")
        session.steer()
        session.succeed()
        session.all_saved()
        assert session.state.turn.number == 2, "steering that missed its turn begins the next one"
        assert session.history[-1].message_id == "steer-2"

    def test_pending_steering_before_a_final_answer(self):
        session = Session()
        session.prompt()
        session.steer()
        session.reply("Done.")
        assert went_on(session, Because.STEERING_DELIVERED)
        assert session.said[-1] == "steering: Rather so."

    def test_a_pending_notice_before_a_final_answer(self):
        session = Session(tool("job", detached=True))
        session.execute("job")
        session.detach()
        session.task_ends("1.1.0")
        session.reply("Done.")
        assert went_on(session, Because.NOTICES_DELIVERED)

    def test_pending_steering_before_an_owed_completion(self):
        session = Session(FINISH, policy=OWED)
        session.prompt()
        session.steer()
        session.reply("Done.")
        assert went_on(session, Because.STEERING_DELIVERED)
        assert session.state.turn.counters.missing_completions == 0

    @pytest.mark.parametrize(
        ("parts", "finish", "limit"),
        [
            ((), FinishReason.STOP, "empty_replies"),
            ((ReasoningPart("Hm."),), FinishReason.STOP, "think_only"),
            (("Perhaps.",), FinishReason.UNKNOWN, "unknown_finishes"),
        ],
    )
    def test_pending_steering_before_a_nudge_and_its_bound(self, parts, finish, limit):
        session = Session(limits=Limits(**{limit: 0}))
        session.prompt()
        session.steer()
        session.reply(*parts, finish=finish)
        assert went_on(session, Because.STEERING_DELIVERED)
        assert getattr(session.state.turn.counters, limit) == 0

    @pytest.mark.parametrize(
        ("parts", "finish", "limit"),
        [
            ((), FinishReason.STOP, "empty_replies"),
            ((ReasoningPart("Hm."),), FinishReason.STOP, "think_only"),
            (("Perhaps.",), FinishReason.UNKNOWN, "unknown_finishes"),
        ],
    )
    def test_an_owed_completion_before_a_nudge_and_its_bound(self, parts, finish, limit):
        session = Session(FINISH, policy=OWED, limits=Limits(**{limit: 0}))
        session.prompt()
        session.reply(*parts, finish=finish)
        assert went_on(session, Because.COMPLETION_MISSING)

    @pytest.mark.parametrize(
        ("parts", "finish", "because"),
        [
            ((), FinishReason.STOP, Because.EMPTY_REPLY_NUDGED),
            ((ReasoningPart("Hm."),), FinishReason.STOP, Because.THINK_ONLY_NUDGED),
            (("Perhaps.",), FinishReason.UNKNOWN, Because.UNKNOWN_FINISH_NUDGED),
        ],
    )
    def test_a_nudge_before_the_review(self, parts, finish, because):
        session = Session(reviews_completion=True)
        session.prompt()
        session.reply(*parts, finish=finish)
        assert went_on(session, because)

    def test_the_review_before_the_final_answer(self):
        session = Session(reviews_completion=True)
        session.prompt()
        session.reply("Done.")
        assert session.phase is ReviewingCompletion
        session.accept()
        assert session.phase is Saving
        assert session.stop is StopReason.FINAL_ANSWER

    def test_the_final_answer_before_a_waiting_follow_up(self):
        session = Session()
        session.prompt()
        session.follow_up()
        session.reply("Done.")
        assert session.phase is Saving
        assert session.state.turn.number == 1
        session.all_saved()
        assert session.state.turn.number == 2

    def test_steering_that_comes_during_the_review_before_its_acceptance(self):
        session = Session(reviews_completion=True)
        session.prompt()
        session.reply("Done.")
        session.steer()
        if session.phase is ReviewingCompletion:
            session.accept()
        assert session.phase is AwaitingModel
        assert session.state.turn.number == 1
        assert session.said[-1] == "steering: Rather so."

    def test_steering_that_comes_while_required_tasks_are_awaited_is_heard(self):
        session = Session(tool("job", detached=True, required=True))
        session.execute("job")
        session.detach()
        session.reply("Done.")
        assert session.because is Because.TASKS_AWAITED
        session.steer()
        assert session.phase is AwaitingModel
        assert session.said[-1] == "steering: Rather so."


@pytest.mark.req("D-28", "D-23")
class TestEveryGoOnAsksTheLimits:
    @pytest.mark.parametrize(
        "what", ["results", "steering", "nudge", "refusal", "missing", "truncated", "truncated text"]
    )
    def test_and_one_that_no_longer_fits_ends_the_turn_with_its_cause(self, what):
        policy = OWED if what == "missing" else Policy()
        session = Session(FINISH, READ, limits=Limits(steps=1), policy=policy, reviews_completion=what == "refusal")
        session.prompt()
        if what == "steering":
            session.steer()
        match what:
            case "results":
                session.execute("read")
                session.succeed()
            case "nudge":
                session.reply()
            case "refusal":
                session.reply("Done.")
                session.refuse()
            case "truncated":
                session.reply(call("read"), finish=FinishReason.LENGTH)
            case "truncated text":
                session.reply("Half", finish=FinishReason.LENGTH)
            case _:
                session.reply("Done.")
        cause = {
            "results": "results-appended",
            "steering": "steering-delivered",
            "nudge": "empty-reply-nudged",
            "refusal": "completion-refused",
            "missing": "completion-missing",
        }.get(what, "truncation-reissued")
        assert session.stop is StopReason.MAX_STEPS
        assert dict(session.ending.evidence)["cause"] == cause

    def test_steering_that_no_longer_fits_stays_queued(self):
        session = Session(limits=Limits(steps=1))
        session.prompt()
        steered = session.steer()
        session.reply("Done.")
        session.all_saved()
        assert session.stop is StopReason.MAX_STEPS
        assert [queued.message_id for queued in session.state.queues.steering] == [steered]


@pytest.mark.req("D-34", "R-057")
class TestTheOneLoopBack:
    def test_a_new_step_has_a_new_request(self):
        session = running("read")
        session.succeed()
        assert session.state.request_id == "1.2"

    @pytest.mark.parametrize(
        ("kind", "then"), [(ModelFailure.OVERFLOW, "compacted"), (ModelFailure.MEDIA_TOO_LARGE, "compacted")]
    )
    def test_compaction_and_downgrade_return_to_the_same_request(self, kind, then):
        session = Session()
        session.prompt()
        session.model_fails(kind)
        getattr(session, then)()
        assert session.waits == ("request-model 1.1", "start-timer model/1.1")
        assert session.state.turn.requests == 2

    def test_a_retry_returns_to_the_same_request(self):
        session = Session()
        session.prompt()
        session.model_fails()
        session.fire("retry/1.1")
        assert session.waits[0] == "request-model 1.1"


@pytest.mark.req("R-244", "R-173", "R-014")
class TestTheNextTurn:
    def test_a_follow_up_begins_it_with_fresh_counters(self):
        session = Session(READ, limits=Limits(steps=2, tokens=10))
        session.execute("read")
        session.succeed()
        session.follow_up("And then?")
        session.reply("Done.", usage=Usage(10, 0))
        session.all_saved()
        assert session.phase is AwaitingModel
        assert session.hops == (
            Because.END_SAVED,
            Because.FOLLOW_UP_BEGINS,
            Because.STEP_BEGUN,
            Because.REQUEST_READY,
        )
        assert (session.state.turn.number, session.state.turn.step) == (2, 1)
        assert session.state.turn.usage.tokens == 0
        assert session.said[-1] == "follow-up: And then?"

    def test_follow_ups_come_one_by_one(self):
        session = Session()
        session.prompt()
        session.follow_up("One?")
        session.follow_up("Two?")
        session.answer()
        assert session.said[-1] == "follow-up: One?"
        session.answer()
        assert session.said[-1] == "follow-up: Two?"
        session.answer()
        assert session.phase is Completed

    def test_one_that_comes_after_the_end_begins_it_too(self):
        session = Session()
        session.prompt()
        session.answer()
        session.follow_up("Late?")
        assert session.phase is AwaitingModel
        assert session.state.turn.number == 2

    def test_steering_that_missed_its_turn_comes_first(self):
        session = Session()
        session.prompt()
        session.reply("Done.")
        session.follow_up("Then?")
        session.steer("Wait.")
        session.all_saved()
        assert session.said[-1] == "steering: Wait."
        session.answer()
        assert session.said[-1] == "follow-up: Then?"

    def test_an_unsaved_end_begins_none(self):
        session = Session(limits=Limits(checkpoint_retries=0))
        session.prompt()
        session.reply("Done.")
        session.save_fails()
        assert session.state.phase.unsaved
        session.follow_up()
        assert session.phase is Completed

    @pytest.mark.parametrize("how", ["aborted", "failed", "stopped by host"])
    def test_every_other_end_waits_for_an_act(self, how):
        session = Session()
        session.prompt()
        session.follow_up()
        if how == "stopped by host":
            session.abort(AbortScope.AFTER_STEP)
            session.reply("Done.")
        elif how == "failed":
            session.model_fails(ModelFailure.FATAL)
        else:
            session.abort()
            session.model_stops()
        session.all_saved()
        assert not session.state.open
        assert session.waits == ()
        assert session.state.turn.number == 1

    def test_notices_alone_begin_none(self):
        session = Session(tool("job", detached=True))
        session.execute("job")
        session.detach()
        session.answer()
        session.task_ends("1.1.0")
        session.all_saved()
        assert session.phase is Completed


def test_the_first_reason_stays_and_later_ones_are_added_to_its_evidence():
    session = running("write", limits=Limits(turn_ms=50, checkpoint_retries=0))
    session.fire("turn/1")
    assert session.phase is Stopping
    session.succeed()
    if "persist-checkpoint" in " ".join(session.waits):
        session.save_fails("disk full")
    assert session.stop is StopReason.TIMEOUT
    assert ("cause", "checkpoint-failed") in session.ending.evidence
