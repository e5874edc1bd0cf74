"""Around a request: preparation, first byte, failures and their loops, compaction, the review, late answers."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, ModelSettings, Verdict
from agentcore.commands import CompactContext
from agentcore.events import (
    CompactionFailed,
    CompactionPurpose,
    CompletionAccepted,
    CompletionRefused,
    ContextCompacted,
    ModelFailed,
    ModelFailure,
    ModelReplied,
    ModelStopped,
    ModelStreamOpened,
    PreparationFailed,
    StepPrepared,
)
from agentcore.messages import MessageSource, TextPart, Usage, UserMessage
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import (
    AwaitingModel,
    AwaitingRetry,
    Because,
    Compacting,
    Completed,
    Failed,
    Preparing,
    Saving,
    StopReason,
    Streaming,
)
from tests.core.driver import Session, call, tool

KEY = {"request_id": "1.1", "epoch": 0, "attempt": 1}


def asked(**limits):
    session = Session(tool("read", Effect.PURE), limits=Limits(**limits))
    session.prompt()
    return session


@pytest.mark.req("D-31", "R-071", "R-018")
class TestPreparation:
    def test_is_a_hop_where_the_host_installed_nothing(self):
        session = asked()
        assert session.hops[-2:] == (Because.STEP_BEGUN, Because.REQUEST_READY)
        assert session.phase is AwaitingModel
        assert session.because is Because.PREPARATION_SKIPPED

    def test_is_ordered_where_the_host_installed_something(self):
        session = Session(prepares_steps=True)
        session.prompt()
        assert session.phase is Preparing
        assert session.commands == ("prepare-step 1.1",)
        session.prepared()
        assert session.phase is AwaitingModel
        assert session.because is Because.STEP_PREPARED

    @pytest.mark.req("R-081")
    def test_may_change_the_model_from_that_step_on(self):
        session = Session(prepares_steps=True, settings=ModelSettings("small"))
        session.prompt()
        session.prepared(settings=ModelSettings("large"))
        assert session.state.config.settings == ModelSettings("large")
        session.answer()
        assert session.state.config.settings == ModelSettings("large")

    def test_that_fails_ends_the_turn(self):
        session = Session(prepares_steps=True)
        session.prompt()
        session.preparation_fails("AGENTS.md is not readable")
        session.all_saved()
        assert session.phase is Failed
        assert session.ending.message == "AGENTS.md is not readable"

    @pytest.mark.parametrize(("kind", "fields"), [(StepPrepared, {}), (PreparationFailed, {"reason": "no"})])
    def test_is_answered_once_and_by_its_whole_key(self, kind, fields):
        session = Session(prepares_steps=True)
        session.prompt()
        foreign = session.tried(kind, **{**KEY, "attempt": 2}, **fields)
        assert foreign.rejection.code is RejectionCode.FOREIGN_ATTEMPT
        session.prepared()
        again = session.tried(kind, **KEY, **fields)
        assert again.rejection.blame is Blame.STALE

    @pytest.mark.parametrize(("kind", "fields"), [(StepPrepared, {}), (PreparationFailed, {"reason": "no"})])
    def test_is_not_answered_where_a_step_waits_for_a_checkpoint_only(self, kind, fields):
        session = Session(prepares_steps=True)
        session.bring(UserMessage("old", MessageSource.PROMPT, (TextPart("Before."),)))
        session.prompt()
        session.prepared()
        assert session.phase is Preparing
        again = session.tried(kind, **{**KEY, "request_id": session.state.request_id}, **fields)
        assert again.rejection.code is RejectionCode.ALREADY_ANSWERED


@pytest.mark.req("R-077")
class TestTheFirstByte:
    def test_is_a_phase_of_its_own(self):
        session = asked()
        assert session.phase is AwaitingModel
        session.opened()
        assert session.phase is Streaming
        assert session.commands == ()

    def test_told_twice_is_ignored(self):
        session = asked()
        session.opened()
        judged = session.tried(ModelStreamOpened, **KEY)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "stream-already-open")

    def test_of_another_attempt_is_refused(self):
        session = asked()
        assert session.tried(ModelStreamOpened, **{**KEY, "attempt": 7}).rejection.code is RejectionCode.FOREIGN_ATTEMPT


@pytest.mark.req("R-138", "R-139", "R-140")
class TestFailures:
    @pytest.mark.parametrize("streaming", [False, True])
    def test_that_may_pass_are_retried_after_a_delay(self, streaming):
        session = asked()
        if streaming:
            session.opened()
        session.model_fails(status=503, code="overloaded", output_shown=streaming)
        assert session.phase is AwaitingRetry
        assert session.commands == ("start-timer retry/1.1",)
        assert dict(session.state.phase.transition.evidence)["status"] == "503"
        assert session.said == ("prompt: Do it.",), "what was shown never enters history"

    @pytest.mark.parametrize(
        ("fields", "because"),
        [
            ({"status": 429}, Because.RETRY_RATE_LIMITED),
            ({"code": "rate-limited"}, Because.RETRY_RATE_LIMITED),
            ({"retry_after_ms": 7}, Because.RETRY_RATE_LIMITED),
            ({"status": 503}, Because.RETRY_TRANSPORT),
            ({}, Because.RETRY_TRANSPORT),
        ],
    )
    def test_say_why_the_retry_waits(self, fields, because):
        session = asked()
        session.model_fails(**fields)
        assert session.because is because

    @pytest.mark.req("D-14", "R-142")
    def test_that_cannot_pass_end_the_turn_at_once(self):
        session = asked()
        session.model_fails(ModelFailure.FATAL, "invalid key", status=401, code="auth")
        assert session.phase is Saving
        assert {("status", "401"), ("code", "auth")} <= set(session.ending.evidence)

    def test_count_their_usage_once(self):
        session = asked()
        session.model_fails(usage=Usage(7, 3))
        assert session.state.usage == Usage(7, 3)
        assert (
            session.tried(ModelFailed, **KEY, kind=ModelFailure.RETRYABLE, message="busy").verdict is Verdict.REJECTED
        )
        assert session.state.usage == Usage(7, 3)

    def test_of_the_deadline_are_retried(self):
        session = asked(model_ms=10)
        session.opened()
        session.fire("model/1.1")
        assert session.phase is AwaitingRetry
        late = session.tried(ModelReplied, **KEY, parts=(TextPart("late"),))
        assert late.rejection.blame is Blame.STALE


class TestCompaction:
    @pytest.mark.req("R-145", "G-8", "R-042")
    def test_after_an_overflow_makes_room_and_asks_again(self):
        session = asked()
        session.model_fails(ModelFailure.OVERFLOW, "too long")
        assert session.phase is Compacting
        assert session.because is Because.CONTEXT_TOO_LARGE
        assert session.the(CompactContext).purpose is CompactionPurpose.OVERFLOW
        session.compacted(covers_to=0, usage=Usage(50, 5))
        assert session.phase is AwaitingModel
        assert session.because is Because.OVERFLOW_COMPACTED
        assert session.state.window.summary == "In short."
        assert session.state.usage == Usage(50, 5)

    @pytest.mark.req("R-148")
    def test_of_media_moves_the_mark_before_which_they_are_left_out(self):
        session = asked()
        session.model_fails(ModelFailure.MEDIA_TOO_LARGE)
        assert session.because is Because.MEDIA_TOO_LARGE
        session.compacted(covers_to=1)
        assert session.because is Because.MEDIA_DOWNGRADED
        assert (session.state.window.media_to, session.state.window.start) == (1, 0)

    @pytest.mark.req("R-149")
    def test_at_the_threshold_comes_before_the_request(self):
        session = asked(compact_at_tokens=100)
        session.execute("read")
        session.succeed()
        assert session.phase is AwaitingModel
        session.reply(call("read"), usage=Usage(90, 10))
        session.allow()
        session.succeed()
        assert session.phase is Compacting
        assert session.because is Because.THRESHOLD_REACHED
        session.compacted(covers_to=1)
        assert session.because is Because.THRESHOLD_COMPACTED
        assert session.state.turn.context_tokens == 10

    def test_one_token_below_the_threshold_it_does_not(self):
        session = asked(compact_at_tokens=100)
        session.reply(call("read"), usage=Usage(89, 10))
        session.allow()
        session.succeed()
        assert session.phase is AwaitingModel

    def test_of_a_provider_that_tells_no_size_never_reaches_the_threshold(self):
        session = asked(compact_at_tokens=1)
        session.reply(call("read"))
        session.allow()
        session.succeed()
        assert session.phase is AwaitingModel

    def test_that_fails_at_the_threshold_goes_on_without(self):
        session = asked(compact_at_tokens=0)
        session.compaction_fails(usage=Usage(3, 0))
        assert session.phase is AwaitingModel
        assert session.because is Because.COMPACTION_SKIPPED
        assert session.state.usage == Usage(3, 0)

    @pytest.mark.parametrize("kind", [ModelFailure.OVERFLOW, ModelFailure.MEDIA_TOO_LARGE])
    def test_that_fails_where_it_is_needed_ends_the_turn(self, kind):
        session = asked()
        session.model_fails(kind, "413 too large")
        session.compaction_fails("nothing left to leave out")
        session.all_saved()
        assert session.stop is StopReason.MODEL_ERROR
        assert session.ending.message == "413 too large", "the provider's error, not ours"
        assert ("reason", "nothing left to leave out") in session.ending.evidence

    @pytest.mark.req("G-8")
    @pytest.mark.parametrize(
        ("fields", "objection"),
        [
            ({"tokens_after": 100}, "it is not smaller: 100 tokens before, 100 after"),
            ({"tokens_after": 101}, "it is not smaller: 100 tokens before, 101 after"),
            ({"covers_to": -1}, "position -1 is outside of the window, 0 to 3"),
            ({"covers_to": 4}, "position 4 is outside of the window, 0 to 3"),
            ({"covers_to": 2}, "position 2 parts calls from their results"),
            ({"purpose": CompactionPurpose.MEDIA}, "it answers for media, ordered was overflow"),
        ],
    )
    def test_that_is_no_good_has_failed(self, fields, objection):
        session = asked()
        session.execute("read")
        session.succeed()
        session.model_fails(ModelFailure.OVERFLOW)
        session.compacted(**{"covers_to": 1, **fields})
        assert session.stop is StopReason.MODEL_ERROR
        assert dict(session.ending.evidence)["reason"] == objection

    def test_that_is_no_good_at_the_threshold_is_passed_over(self):
        session = asked(compact_at_tokens=0)
        session.compacted(tokens_after=100)
        assert session.because is Because.COMPACTION_SKIPPED
        assert session.state.window.summary == ""

    def test_before_the_window_is_no_good(self):
        session = asked()
        session.answer()
        session.reopen()
        session.clear()
        session.prompt()
        session.model_fails(ModelFailure.OVERFLOW)
        session.compacted(covers_to=1)
        assert ("reason", "position 1 is outside of the window, 2 to 3") in session.ending.evidence

    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            (
                ContextCompacted,
                {
                    "purpose": CompactionPurpose.THRESHOLD,
                    "covers_to": 0,
                    "summary": "",
                    "tokens_before": 9,
                    "tokens_after": 1,
                },
            ),
            (CompactionFailed, {"reason": "no"}),
        ],
    )
    def test_is_answered_once_and_by_its_whole_key(self, kind, fields):
        session = asked(compact_at_tokens=0)
        foreign = session.tried(kind, **{**KEY, "attempt": 3}, **fields)
        assert foreign.rejection.code is RejectionCode.FOREIGN_ATTEMPT
        session.compacted(covers_to=0)
        again = session.tried(kind, **KEY, **fields)
        assert again.rejection.blame is Blame.STALE

    def test_that_leaves_no_limit_for_the_request_ends_the_turn(self):
        session = asked(tokens=10)
        session.model_fails(ModelFailure.OVERFLOW)
        session.compacted(covers_to=0, usage=Usage(10, 0))
        assert session.stop is StopReason.MAX_TOKENS


@pytest.mark.req("R-099", "D-22")
class TestTheReview:
    def reviewed(self, **limits):
        session = Session(tool("read", Effect.PURE), limits=Limits(**limits), reviews_completion=True)
        session.prompt()
        session.reply("Done.")
        return session

    def test_that_accepts_ends_the_turn_with_its_warning(self):
        session = self.reviewed()
        session.accept("review-failed")
        session.all_saved()
        assert session.phase is Completed
        assert session.ending.warning == "review-failed"

    def test_that_accepts_without_words_leaves_no_warning(self):
        session = self.reviewed()
        session.accept()
        assert session.ending.warning == ""

    def test_that_refuses_goes_on_with_its_feedback(self):
        session = self.reviewed()
        session.refuse("The tests fail.")
        assert session.phase is AwaitingModel
        assert Because.COMPLETION_REFUSED in session.hops
        assert session.history[-1].source is MessageSource.FEEDBACK
        assert session.said[-1] == "feedback: The tests fail."

    def test_refusals_in_a_row_are_bounded_and_then_overridden(self):
        session = self.reviewed(completion_refusals=1)
        session.refuse("One.")
        session.reply("Done.")
        session.refuse("Two.")
        session.all_saved()
        assert session.phase is Completed
        assert session.ending.warning == "the completion review objected: Two."
        assert session.stop is StopReason.FINAL_ANSWER

    @pytest.mark.parametrize(("kind", "fields"), [(CompletionAccepted, {}), (CompletionRefused, {"feedback": "no"})])
    def test_is_answered_once_and_by_its_whole_key(self, kind, fields):
        session = self.reviewed()
        foreign = session.tried(kind, **{**KEY, "attempt": 2}, **fields)
        assert foreign.rejection.code is RejectionCode.FOREIGN_ATTEMPT
        session.accept()
        assert session.tried(kind, **KEY, **fields).rejection.blame is Blame.STALE

    @pytest.mark.parametrize(("kind", "fields"), [(CompletionAccepted, {}), (CompletionRefused, {"feedback": "no"})])
    def test_is_not_answered_while_tasks_are_awaited(self, kind, fields):
        session = Session(tool("job", detached=True, required=True), reviews_completion=True)
        session.execute("job")
        session.detach()
        session.reply("Done.")
        judged = session.tried(kind, request_id="1.2", epoch=0, attempt=0, **fields)
        assert judged.verdict is Verdict.REJECTED


@pytest.mark.req("G-3", "R-065", "R-066", "R-088")
class TestLateAnswers:
    ANSWERS = (
        (ModelReplied, {"parts": (TextPart("other"),)}),
        (ModelFailed, {"kind": ModelFailure.FATAL, "message": "no"}),
        (ModelStopped, {}),
        (ModelStreamOpened, {}),
        (StepPrepared, {}),
        (PreparationFailed, {"reason": "no"}),
        (CompactionFailed, {"reason": "no"}),
        (CompletionAccepted, {}),
        (CompletionRefused, {"feedback": "no"}),
    )

    @pytest.mark.parametrize(("kind", "fields"), ANSWERS)
    def test_of_an_earlier_request_are_stale(self, kind, fields):
        session = asked()
        session.execute("read")
        session.succeed()
        judged = session.tried(kind, **KEY, **fields)
        assert judged.rejection.code in (RejectionCode.STALE_REQUEST, RejectionCode.ALREADY_ANSWERED), judged.rejection
        assert judged.rejection.blame is Blame.STALE

    @pytest.mark.parametrize(("kind", "fields"), ANSWERS)
    def test_of_a_request_that_never_was_are_foreign(self, kind, fields):
        session = asked()
        for request_id in ("2.1", "1.2", "nonsense", "", "9" * 5_000 + ".1"):
            judged = session.tried(kind, request_id=request_id, epoch=0, attempt=1, **fields)
            assert judged.rejection.code is RejectionCode.FOREIGN_REQUEST
            assert judged.rejection.blame is Blame.WORLD

    @pytest.mark.parametrize(("kind", "fields"), ANSWERS)
    def test_in_idle_are_refused(self, kind, fields):
        assert Session().tried(kind, **KEY, **fields).verdict is Verdict.REJECTED

    @pytest.mark.parametrize(
        "parts",
        [
            (call("read", "a"),),
            (call("read", ""), call("read", "")),
            (call("read", "a"), call("read", "a"), call("read", "b", raw="[]")),
            (TextPart("before"), call("read", "a", raw="{,"), TextPart("after"), call("read", "b")),
        ],
    )
    def test_that_repeat_a_reply_are_ignored_while_its_calls_run(self, parts):
        session = asked()
        session.reply(*parts)
        judged = session.tried(ModelReplied, **KEY, parts=parts)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "repeats-what-was-answered")

    @pytest.mark.req("R-245", "R-064")
    def test_that_repeat_a_reply_are_ignored_after_the_end(self):
        session = asked()
        session.answer("Done.")
        judged = session.tried(ModelReplied, **KEY, parts=(TextPart("Done."),))
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "repeats-what-was-answered")

    def test_that_contradict_a_reply_are_refused(self):
        session = asked()
        session.answer("Done.")
        judged = session.tried(ModelReplied, **KEY, parts=(TextPart("Not done."),))
        assert judged.rejection.code is RejectionCode.ALREADY_ANSWERED

    def test_that_repeat_a_failure_are_stale(self):
        session = asked()
        session.model_fails()
        judged = session.tried(ModelFailed, **KEY, kind=ModelFailure.RETRYABLE, message="busy")
        assert judged.rejection.blame is Blame.STALE

    def test_of_an_earlier_attempt_of_the_same_request_are_stale(self):
        session = asked()
        session.model_fails()
        session.fire("retry/1.1")
        judged = session.tried(ModelReplied, **KEY, parts=(TextPart("late"),))
        assert judged.rejection.code is RejectionCode.STALE_ATTEMPT

    def test_of_an_earlier_attempt_are_stale_even_if_they_say_the_same(self):
        session = asked()
        session.model_fails()
        session.fire("retry/1.1")
        session.answer("Done.")
        judged = session.tried(ModelReplied, **KEY, parts=(TextPart("Done."),))
        assert judged.rejection.code is RejectionCode.STALE_ATTEMPT
        again = session.tried(ModelReplied, **{**KEY, "attempt": 2}, parts=(TextPart("Done."),))
        assert again.verdict is Verdict.IGNORED

    def test_are_found_in_a_long_history(self):
        session = Session()
        for _ in range(40):
            session.prompt()
            session.answer("Done.")
            session.reopen()
        for number in (1, 17, 40):
            judged = session.tried(
                ModelReplied, request_id=f"{number}.1", epoch=0, attempt=1, parts=(TextPart("Done."),)
            )
            assert judged.verdict is Verdict.IGNORED
        missing = session.tried(ModelReplied, request_id="17.2", epoch=0, attempt=1, parts=())
        assert missing.rejection.code is RejectionCode.STALE_REQUEST
