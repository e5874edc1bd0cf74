"""Ways that a session seldom goes: several things went wrong before, or two of them meet in one moment."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Policy, Verdict
from agentcore.events import (
    AbortScope,
    CheckpointWritten,
    Finding,
    Inspector,
    ModelFailure,
    ModelStopped,
    Resolution,
    TaskSettled,
    ToolCancelled,
    ToolFailed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.messages import (
    CancelledCall,
    EffectSeen,
    FailedCall,
    MessageSource,
    NotExecuted,
    NotExecutedReason,
    Succeeded,
    TextPart,
    Usage,
    UserMessage,
)
from agentcore.rejections import RejectionCode
from agentcore.states import (
    AwaitingRetry,
    Because,
    Compacting,
    Preparing,
    Ready,
    ReviewingCompletion,
    Saving,
    Stopping,
    StopReason,
    Streaming,
)
from tests.core.driver import Session, asked, call, executing, tool, unknown

ENDS = [
    (ToolFailed, {"error": "no"}),
    (ToolCancelled, {"effect": EffectSeen.NONE}),
    (TaskSettled, {"succeeded": False, "result": "no"}),
]
UNSTARTED = ["Proposed", "AwaitingApproval", "Ready", "Released"]


def second_step(phase, *, tools=(), **config):
    """A session in the second step of its turn, a checkpoint under way; given tools were started and go on."""
    session = Session(tool("read", Effect.PURE), *tools, reviews_completion=True, prepares_steps=True, **config)
    session.prompt()
    session.prepared()
    session.propose("read", *(each.name for each in tools))
    while any(name.startswith("evaluate-policy") for name in session.waits):
        session.allow()
    if tools:
        session.all_saved()
        session.detach("1.1.1")
    session.succeed("1.1.0")
    if phase is not Preparing:
        session.prepared()
    if phase is Streaming:
        session.opened()
    elif phase is AwaitingRetry:
        session.model_fails()
    elif phase is Compacting:
        session.model_fails(ModelFailure.OVERFLOW)
    elif phase is ReviewingCompletion:
        session.reply("Done.")
    assert session.phase is phase
    return session


class TestATurn:
    @pytest.mark.req("R-192")
    @pytest.mark.parametrize("phase", [Streaming, AwaitingRetry, Compacting, ReviewingCompletion])
    def test_whose_results_cannot_be_saved_ends_wherever_it_stands(self, phase):
        session = second_step(phase)
        session.storage_breaks()
        assert session.phase is (Stopping if phase is Streaming else Saving)
        assert session.stop is StopReason.STORAGE

    def test_that_was_resumed_too_often_in_the_middle_of_a_stream_ends(self):
        session = Session(limits=Limits(resumes=0))
        session.prompt()
        session.opened()
        session.resume()
        assert session.stop is StopReason.RESUMES
        assert not any(name.startswith("request-model") for name in session.waits)

    @pytest.mark.parametrize("phase", [Preparing, Streaming, AwaitingRetry, Compacting, ReviewingCompletion])
    @pytest.mark.parametrize("comes", ["an abort", "a word"])
    def test_whose_time_is_up_ends_whatever_comes_late(self, phase, comes):
        session = second_step(phase, limits=Limits(turn_ms=5_000))
        session.wait(9_000)
        if comes == "an abort":
            session.abort(AbortScope.AFTER_STEP)
        else:
            session.steer()
        assert session.phase is (Stopping if phase is Streaming else Saving)
        assert session.stop is StopReason.TIMEOUT

    @pytest.mark.parametrize("phase", [Preparing, Streaming, AwaitingRetry, Compacting, ReviewingCompletion])
    def test_ends_with_a_task_that_blocks_it_wherever_it_stands(self, phase):
        session = second_step(phase, tools=(tool("job", detached=True, on_failure="block"),))
        session.task_ends(succeeded=False, result="no room")
        assert session.phase is (Stopping if phase is Streaming else Saving)
        assert session.stop is StopReason.TOOL_ERROR
        assert not any(name.startswith("start-timer retry/") for name in session.waits)

    def test_that_hears_something_during_its_review_ends_where_no_step_is_left(self):
        session = Session(limits=Limits(steps=1), reviews_completion=True)
        session.prompt()
        session.reply("Done.")
        session.steer("One thing more.")
        assert (session.phase, session.stop) == (Saving, StopReason.MAX_STEPS)
        assert len(session.state.queues.steering) == 1

    def test_that_a_follow_up_begins_ends_where_the_new_limits_allow_no_step(self):
        session = Session()
        session.prompt()
        session.answer()
        session.resume(limits=Limits(steps=0))
        session.follow_up("And then?")
        assert (session.phase, session.stop) == (Saving, StopReason.MAX_STEPS)
        assert session.said[-1] == "follow-up: And then?"

    def test_that_was_prepared_under_larger_limits_ends_where_the_new_ones_allow_no_request(self):
        session = Session(tool("read", Effect.PURE), prepares_steps=True)
        session.prompt()
        session.prepared()
        session.reply(call("read"), usage=Usage(input_tokens=90))
        session.allow()
        session.succeed()
        assert session.phase is Preparing
        session.resume(prepares_steps=False, limits=Limits(tokens=50))
        assert (session.phase, session.stop) == (Saving, StopReason.MAX_TOKENS)

    def test_that_is_begun_with_one_of_two_words_that_came_late_hears_the_other(self):
        session = Session()
        session.prompt()
        session.reply("Done.")
        session.steer("First.")
        session.steer("Second.")
        session.all_saved()
        assert session.said[-2:] == ("steering: First.", "steering: Second.")

    def test_is_reminded_of_each_tool_that_completes_it(self):
        done, given = (tool(name, Effect.PURE, completes=True) for name in ("done", "given_up"))
        session = Session(done, given, policy=Policy(completion_required=True))
        session.prompt()
        session.reply("Done, I think.")
        assert (
            session.said[-1] == "nudge: Nothing is finished until you call done, given_up. Call it, or go on working."
        )

    def test_does_not_hear_of_a_summary_after_its_host_cleared_the_history(self):
        session = Session()
        session.prompt()
        session.model_fails(ModelFailure.OVERFLOW)
        session.compacted(summary="In short.")
        session.answer()
        assert session.state.window.summary == "In short."
        session.reopen()
        session.clear()
        assert session.state.window.summary == ""

    def test_is_not_prepared_for_a_host_that_prepares_nothing_any_more_while_it_waits_for_an_import(self):
        session = Session(prepares_steps=True)
        session.bring(UserMessage("old", MessageSource.PROMPT, (TextPart("Before."),)))
        session.prompt()
        assert "prepare-step 2.1" in session.waits
        session.resume(prepares_steps=False)
        assert session.phase is Preparing
        assert "prepare-step 2.1" not in session.waits
        session.all_saved()
        assert "request-model 2.1" in session.waits


class TestATaskInTheBackground:
    def test_that_is_late_while_a_retry_is_awaited_brings_no_request(self):
        session = second_step(AwaitingRetry, tools=(tool("job", detached=True),))
        session.fire("deadline/1.1.1")
        assert session.phase is AwaitingRetry
        assert session.register == {"1.1.1": "EffectUnknown"}

    def test_that_does_not_confirm_its_stop_ends_no_wait_for_the_model(self):
        session = second_step(Streaming, tools=(tool("job", detached=True),))
        session.abort(AbortScope.TASK, "1.1.1")
        session.wait(3_000)
        session.abort()
        session.fire("grace/1.1.1")
        assert session.phase is Stopping
        assert "cancel-model 1.2" in session.waits


def earlier(stands, attempts):
    """A call before its next attempt, with the first attempt of several that may have acted."""
    session = Session(tool("job", Effect.KEYED, detached=True), limits=Limits(effect_retries=5))
    session.execute("job", "job")
    first = session.execution("1.1.0")
    for _ in range(attempts if stands == "Released" else attempts - 1):
        session.all_saved()
        session.lose("1.1.0")
    if stands != "Released":
        session.resume()
    if stands == "AwaitingApproval":
        session.ask("1.1.0")
    if stands == "Ready":
        session.allow("1.1.0")
    assert session.calls["1.1.0"] == stands
    assert len(session.call().unproved) == attempts
    return session, first


def lost_again():
    """A call whose first attempt was proved absent and whose second one is out of sight; and that first attempt."""
    session = executing(Effect.FENCEABLE, calls=2)
    first = session.execution("1.1.0")
    session.lose("1.1.0")
    session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
    session.retry("1.1.0")
    session.all_saved()
    session.lose("1.1.0")
    return session, first


@pytest.mark.parametrize("stands", UNSTARTED)
class TestACallThatWaitsForItsNextAttempt:
    """A result speaks of its own attempt, and what may have acted is found out before anything denies it."""

    @pytest.mark.parametrize(("kind", "fields"), ENDS)
    def test_settles_when_the_only_earlier_one_has_ended(self, stands, kind, fields):
        session, first = earlier(stands, 1)
        session.give(kind, **first, **fields)
        assert isinstance(session.outcome("1.1.0"), FailedCall | CancelledCall)
        assert session.call("1.1.0").state.run.attempt == 1

    @pytest.mark.parametrize(("kind", "fields"), ENDS)
    def test_is_asked_of_a_person_when_one_of_two_earlier_ones_has_ended(self, stands, kind, fields):
        session, first = earlier(stands, 2)
        session.give(kind, **first, **fields)
        assert session.calls["1.1.0"] == "EffectUnknown"
        assert session.call("1.1.0").state.run.attempt == 2
        assert asked(session, "1.1.0") is Inspector.PERSON

    def test_is_asked_of_a_person_when_it_is_aborted(self, stands):
        session, _ = earlier(stands, 1)
        session.abort(AbortScope.CALL, "1.1.0")
        assert session.calls["1.1.0"] == "EffectUnknown"
        assert asked(session, "1.1.0") is Inspector.PERSON


class TestAStartedCall:
    @pytest.mark.parametrize("told", ["to stop", "nothing"])
    @pytest.mark.parametrize("kind", ["task_ends", "fail"])
    def test_that_ends_without_effect_is_asked_about_an_earlier_attempt(self, told, kind):
        session, _ = earlier("Released", 1)
        session.all_saved()
        if told == "to stop":
            session.abort(AbortScope.CALL, "1.1.0")
        else:
            session.fire("deadline/1.1.0")
        if kind == "fail":
            session.fail("1.1.0")
        else:
            session.task_ends("1.1.0", succeeded=False)
        assert session.calls["1.1.0"] == "EffectUnknown"
        assert session.call("1.1.0").state.run.attempt == 1
        assert asked(session, "1.1.0") is Inspector.PERSON

    def test_whose_arguments_are_changed_too_often_says_that_its_permission_was_refused(self):
        session = Session(tool(), limits=Limits(changed_grants=0))
        session.propose("write", "write")
        session.ask("1.1.0")
        session.grant("1.1.0", arguments='{"x":9}')
        assert session.call("1.1.0").state.transition.because is Because.APPROVAL_DENIED


class TestAnAbsence:
    def test_is_proved_by_an_inspection_ordered_in_the_very_moment_from_which_the_attempt_cannot_act(self):
        session = unknown(Effect.INSPECTABLE, acts_within_ms=5_000)
        session.inspected(Finding.NOT_EXECUTED)
        assert session.call().state.transition.because is Because.INSPECTION_INCONCLUSIVE
        session.fire("inquiry/1.1.0")
        state = session.call().state
        assert state.inquiry.ordered_at == state.run.covered_at + 5_000
        session.inspected(Finding.NOT_EXECUTED)
        assert session.outcome().reason is NotExecutedReason.PROVED_ABSENT

    def test_of_each_attempt_is_asked_about_from_the_last_to_the_first(self):
        session = executing(Effect.KEYED, limits=Limits(effect_retries=2))
        for _ in range(3):
            session.all_saved()
            session.lose()
        about = []
        while session.calls:
            about.append(session.call().state.run.attempt)
            assert asked(session) is Inspector.PERSON
            session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        assert about == [3, 2, 1]
        assert session.outcome().reason is NotExecutedReason.PROVED_ABSENT

    def test_of_all_attempts_is_a_persons_word_after_which_a_failure_is_a_failure(self):
        session = executing(Effect.KEYED)
        session.lose()
        session.all_saved()
        session.lose()
        session.resolve(Resolution.NOT_EXECUTED, retry=True, by="anna")
        session.all_saved()
        session.fail(error="no")
        assert session.outcome() == FailedCall("no")

    def test_stands_over_a_resume_and_the_look_that_was_under_way_is_over(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True, evidence="no row")
        session.inspect("1.1.0")
        assert "inspect-effect 1.1.0" in session.waits
        session.resume()
        assert "inspect-effect 1.1.0" not in session.waits
        assert session.call("1.1.0").state.proved_absent == "no row"

    @pytest.mark.req("R-158", "R-243")
    def test_lets_a_call_run_again_after_a_resume_only_by_way_of_a_review(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        session.resume()
        session.retry("1.1.0")
        assert session.calls["1.1.0"] == "Proposed"

    def test_is_what_is_left_of_a_retry_whose_tool_is_gone(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        session.resume(tools=())
        session.retry("1.1.0")
        assert session.outcome("1.1.0") == NotExecuted(NotExecutedReason.TOOL_GONE, retryable=False)

    def test_is_taken_back_when_the_attempt_tells_that_it_has_begun(self):
        session = executing(calls=2)
        first = session.execution("1.1.0")
        session.lose("1.1.0")
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        session.give(ToolStarted, **first, handle="pid 7")
        assert session.call("1.1.0").state.proved_absent is None
        assert "inspect-effect 1.1.0" in session.waits

    def test_of_an_attempt_past_its_deadline_ends_the_wait_for_it(self):
        session = executing(calls=2)
        session.fire("deadline/1.1.0")
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        assert not {"execute-tool 1.1.0", "cancel-tool 1.1.0"} & set(session.waits)


class TestWhoIsAsked:
    def test_is_a_person_about_the_earlier_attempt_when_one_says_that_the_newer_failed(self):
        session = executing(Effect.KEYED)
        session.lose()
        session.all_saved()
        session.lose()
        session.inspected(Finding.FAILED, result="refused", by="anna")
        assert session.call().state.run.attempt == 1
        assert asked(session) is Inspector.PERSON

    def test_is_a_person_about_an_attempt_whose_arguments_were_changed_too_often_for_another(self):
        session = Session(tool("write", Effect.KEYED), limits=Limits(changed_grants=0))
        session.execute("write")
        session.resume()
        session.ask()
        session.grant(arguments='{"x":9}')
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert asked(session) is Inspector.PERSON

    def test_stays_a_person_who_could_not_say_although_the_tool_came_back_meanwhile(self):
        session = unknown()
        session.resume(tools=())
        session.inspected(Finding.UNAVAILABLE, by="anna")
        session.resume(tools=(tool(),))
        session.fire("inquiry/1.1.0")
        assert asked(session) is Inspector.PERSON

    def test_becomes_a_person_where_the_tool_went_while_its_next_look_was_awaited(self):
        session = unknown()
        session.inspected(Finding.UNAVAILABLE)
        session.resume(tools=())
        session.fire("inquiry/1.1.0")
        assert asked(session) is Inspector.PERSON

    def test_hears_what_earlier_attempts_said_before(self):
        session = executing(Effect.KEYED)
        first = session.execution()
        session.lose()
        session.all_saved()
        session.fire("deadline/1.1.0")
        session.give(ToolFailed, **first, error="refused")
        session.lose()
        assert asked(session) is Inspector.PERSON
        assert [report.run for report in session.call().state.reports] == [(0, 1)]

    def test_hears_only_the_first_of_two_stories_of_one_attempt(self):
        session, first = lost_again()
        session.give(ToolSucceeded, **first, result="done after all")
        rejection = session.tried(ToolSucceeded, **first, result="done quite differently").rejection
        assert (rejection.code, rejection.offending) == (RejectionCode.ALREADY_ANSWERED, "1.1.0#0.1")


def beside_a_review(effect):
    """A session whose second call executes while the first one, proved absent, is reviewed for its retry."""
    session = Session(tool(), tool("other", effect), limits=Limits(effect_retries=3))
    session.execute("write", "other")
    session.lose("1.1.0")
    session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
    session.resume()
    session.allow("1.1.1")
    session.all_saved()
    session.retry("1.1.0")
    assert session.calls == {"1.1.0": "Proposed", "1.1.1": "Executing"}
    return session


class TestALostAttempt:
    @pytest.mark.parametrize("effect", [Effect.PURE, Effect.KEYED])
    def test_says_why_it_runs_again_while_it_waits_for_another_calls_review(self, effect):
        session = beside_a_review(effect)
        session.lose("1.1.1", cause="ConnectionError")
        state = session.call("1.1.1").state
        assert isinstance(state, Ready)
        assert ("cause", "ConnectionError") in state.transition.evidence

    @pytest.mark.parametrize("end", ["lost", "stopped"])
    def test_that_was_late_says_so_too(self, end):
        session = beside_a_review(Effect.KEYED)
        session.fire("deadline/1.1.1")
        if end == "lost":
            session.lose("1.1.1", cause="ConnectionError")
        else:
            session.stopped(EffectSeen.UNPROVED, "1.1.1")
        state = session.call("1.1.1").state
        assert isinstance(state, Ready)
        assert state.transition.evidence == (
            (("cause", "ConnectionError"),) if end == "lost" else (("effect", "unproved"),)
        )

    def test_of_a_read_keeps_what_was_seen_of_it(self):
        session = executing(Effect.PURE, calls=2, limits=Limits(effect_retries=0))
        session.lose("1.1.0", cause="TimeoutError", observation="half read")
        assert session.outcome("1.1.0") == FailedCall("lost: TimeoutError", "lost")
        assert session.call("1.1.0").state.run.observation == "half read"

    def test_of_a_read_that_somebody_wanted_to_stop_is_its_end_when_the_session_is_resumed(self):
        session = executing(Effect.PURE, calls=2)
        session.abort(AbortScope.CALL, "1.1.0")
        session.resume()
        assert session.outcome("1.1.0") == CancelledCall(EffectSeen.NONE)
        assert session.call("1.1.0").state.transition.because is Because.SESSION_RESUMED

    @pytest.mark.parametrize("limits", [Limits(tool_ms=None), Limits(tool_ms=1_000)])
    def test_is_awaited_as_long_as_its_deadline_says_which_may_be_none(self, limits):
        session = executing(limits=limits)
        assert ("start-timer deadline/1.1.0" in session.waits) is (limits.tool_ms is not None)


class TestWhatWasGivenUp:
    """Later evidence settles an entry of the register; what denies an effect has to speak of all its attempts."""

    def voided(self):
        session, first = lost_again()
        session.resolve(Resolution.ABANDONED, by="anna")
        assert session.register == {"1.1.0": "Settled"}
        return session, first

    def twice(self):
        session = Session(tool("job", Effect.KEYED, detached=True))
        session.execute("job")
        session.lose()
        session.all_saved()
        second = session.execution()
        session.lose()
        session.resolve(Resolution.ABANDONED, by="anna")
        return session, second

    @pytest.mark.req("R-161")
    @pytest.mark.parametrize(
        ("kind", "fields"), [(ToolFailed, {"error": "no"}), (ToolCancelled, {"effect": EffectSeen.NONE})]
    )
    def test_stays_open_when_an_attempt_that_was_proved_absent_tells_of_its_end(self, kind, fields):
        session, first = self.voided()
        judged = session.tried(kind, **first, **fields)
        assert judged.verdict is Verdict.IGNORED

    def test_is_settled_by_a_deed_of_an_attempt_that_was_proved_absent(self):
        session, first = self.voided()
        session.give(ToolCancelled, **first, effect=EffectSeen.DONE)
        assert session.outcome() == CancelledCall(EffectSeen.DONE)
        assert session.call().state.run.attempt == 1

    @pytest.mark.parametrize(
        ("kind", "fields"),
        [(TaskSettled, {"succeeded": False, "result": "no"}), (ToolCancelled, {"effect": EffectSeen.NONE})],
    )
    def test_stays_open_when_one_of_two_attempts_has_ended_without_effect(self, kind, fields):
        session, second = self.twice()
        judged = session.tried(kind, **second, **fields)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "an-earlier-attempt-is-unproved")

    @pytest.mark.parametrize(
        ("kind", "fields"),
        [(TaskSettled, {"succeeded": True, "result": "done"}), (ToolCancelled, {"effect": EffectSeen.DONE})],
    )
    def test_is_settled_by_a_deed_of_one_of_two_attempts(self, kind, fields):
        session, second = self.twice()
        session.give(kind, **second, **fields)
        assert isinstance(session.outcome(), Succeeded | CancelledCall)


class TestWhatAModelSays:
    def test_is_numbered_by_all_its_calls_where_some_have_no_id_and_some_are_doubled(self):
        session = Session(tool("write"))
        session.prompt()
        session.reply(call(provider_id="p"), call(provider_id="p"), call(provider_id="p"), call())
        assert [part.provider_id for part in session.state.batch.message.calls] == ["p", "call-1.1.3"]
        assert ("dropped", "p, p") in session.state.phase.transition.evidence

    def test_that_asks_for_a_tool_without_a_name_is_answered_all_the_same(self):
        session = Session(tool("write"))
        session.prompt()
        session.reply(call("", "p"), call("write"))
        assert session.call("1.1.0").contract.name == "unnamed"
        assert "there is no tool ''" in session.outcome("1.1.0").problem

    @pytest.mark.parametrize(("length", "shown"), [(800, 800), (801, 800)])
    def test_is_shown_again_up_to_eight_hundred_characters(self, length, shown):
        session = Session(tool("write"))
        session.prompt()
        raw = "[" + "x" * (length - 1)
        session.reply(call("write", raw=raw), call("write"))
        problem = session.outcome("1.1.0").problem
        assert (raw in problem) is (length == shown)
        assert (f"{raw[:shown]} … ({length} characters)" in problem) is (length > shown)


class TestWhatNobodyOrdered:
    def test_is_no_confirmation_of_a_stop(self):
        session = Session()
        session.prompt()
        judged = session.tried(ModelStopped, request_id="1.1", epoch=0, attempt=1, parts=())
        assert judged.rejection.code is RejectionCode.FOREIGN_ATTEMPT
        assert judged.rejection.offending == "1.1#0.1"

    def test_is_no_checkpoint_of_the_event_that_tells_of_it(self):
        session = Session()
        session.prompt()
        session.answer()
        number = session.state.storage.attempt
        judged = session.tried(CheckpointWritten, seq=session.state.seq + 1, epoch=0, attempt=number)
        assert judged.rejection.code is RejectionCode.FOREIGN_CHECKPOINT

    def test_is_no_further_checkpoint_of_an_import_that_could_not_be_saved(self):
        session = Session(limits=Limits(checkpoint_retries=0))
        session.bring(UserMessage("old", MessageSource.PROMPT, (TextPart("Before."),)))
        session.save_fails()
        session.steer("Hm.")
        assert not any(name.startswith("persist-checkpoint") for name in session.waits)
        session.prompt()
        assert any(name.startswith("persist-checkpoint") for name in session.waits)
