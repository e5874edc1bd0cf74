"""Background tasks: they belong to the session, keep their contract with their turn, and are told of once."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Verdict
from agentcore.commands import ExecuteTool, InspectEffect
from agentcore.events import (
    AbortScope,
    Finding,
    Resolution,
    TaskSettled,
    TaskStarted,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.messages import (
    Abandoned,
    Artifact,
    CancelledCall,
    EffectSeen,
    FailedCall,
    MessageSource,
    ProvedBy,
    Succeeded,
    Usage,
)
from agentcore.rejections import RejectionCode
from agentcore.states import AwaitingModel, Because, Completed, Failed, ReviewingCompletion, Saving, StopReason
from tests.core.driver import Session, asked, executing, tool


def background(effect=Effect.FENCEABLE, *others, config=None, limits=None, **fields):
    """A turn whose first call went into the background while the others run."""
    session = Session(
        tool("job", effect, detached=True, **fields), tool("read", Effect.PURE), limits=limits, **(config or {})
    )
    session.execute("job", *others)
    session.detach("1.1.0")
    return session


@pytest.mark.req("R-167", "R-169", "R-249")
class TestDetaching:
    def test_the_call_has_its_answer_and_the_task_stands_in_the_register(self):
        session = background()
        assert session.phase is AwaitingModel
        assert session.results[0].outcome == Succeeded(
            "Started in the background as job 9. You will be told how it ends.", "started"
        )
        assert session.register == {"1.1.0": "Executing"}
        assert session.call("1.1.0").state.run.handle == "job 9"

    def test_its_execution_is_not_ordered_again(self):
        session = background()
        assert "execute-tool 1.1.0" in session.waits
        ordered = [name for line in session.trace for name in line.commands if name == "execute-tool 1.1.0"]
        assert ordered == ["execute-tool 1.1.0"]

    def test_a_tool_may_say_something_of_its_own(self):
        session = Session(tool("job", detached=True))
        session.execute("job")
        session.detach(result="Watch build 9.")
        assert session.result().content == "Watch build 9."

    def test_a_tool_that_is_not_detached_cannot(self):
        session = executing()
        judged = session.tried(TaskStarted, **session.execution(), handle="h")
        assert judged.rejection.code is RejectionCode.NOT_DETACHED

    def test_a_tool_that_is_not_detached_settles_no_task(self):
        session = executing()
        judged = session.tried(TaskSettled, **session.execution(), succeeded=True, result="done")
        assert judged.rejection.code is RejectionCode.NOT_DETACHED

    def test_a_tool_that_could_detach_may_also_just_answer(self):
        session = Session(tool("job", detached=True), tool("read", Effect.PURE))
        session.execute("job")
        session.succeed()
        assert session.register == {}
        assert session.outcome() == Succeeded("ok")

    @pytest.mark.parametrize("succeeded", [True, False])
    def test_a_foreground_task_may_settle_without_having_detached(self, succeeded):
        session = Session(tool("job", detached=True))
        session.execute("job")
        session.task_ends(succeeded=succeeded, result="out")
        expected = Succeeded("out") if succeeded else FailedCall("out", "task-failed")
        assert session.outcome() == expected

    def test_it_is_said_once(self):
        session = background()
        execution = session.execution("1.1.0")
        again = session.tried(TaskStarted, **execution, handle="job 9")
        other = session.tried(TaskStarted, **execution, handle="job 10")
        assert (again.verdict, again.reason) == (Verdict.IGNORED, "already-started")
        assert other.rejection.code is RejectionCode.ALREADY_STARTED

    def test_a_start_of_another_attempt_is_refused(self):
        session = background()
        judged = session.tried(TaskStarted, call_id="1.1.0", epoch=0, attempt=9, handle="h")
        assert judged.rejection.code is RejectionCode.FOREIGN_ATTEMPT

    def test_while_a_stop_is_requested_the_task_keeps_the_order_to_stop(self):
        session = Session(tool("job", detached=True))
        session.execute("job")
        session.abort()
        session.detach()
        assert session.phase is Saving
        assert session.register == {"1.1.0": "CancellationRequested"}
        assert "cancel-tool 1.1.0" in session.waits

    def test_of_an_unknown_call_leaves_an_unknown_entry_that_is_looked_into(self):
        session = Session(tool("job", detached=True))
        session.execute("job")
        execution = session.execution()
        session.lose()
        session.give(TaskStarted, **execution, handle="job 9")
        assert session.register == {"1.1.0": "EffectUnknown"}
        assert session.the(InspectEffect, "1.1.0")

    @pytest.mark.req("R-208")
    def test_of_a_call_that_was_proved_absent_is_looked_into_again(self):
        session = Session(tool("job", detached=True, required=True), tool("read", Effect.PURE))
        session.execute("job", "read")
        execution = session.execution("1.1.0")
        session.lose("1.1.0")
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        session.give(TaskStarted, **execution, handle="job 9")
        assert session.register == {"1.1.0": "EffectUnknown"}
        assert "inspect-effect 1.1.0" in session.commands
        assert "contradicts" in dict(session.call("1.1.0").state.transition.evidence)


@pytest.mark.req("R-168", "R-165")
class TestTheEndOfATask:
    def test_is_a_notice_to_the_model_once(self):
        session = background()
        session.reply("Meanwhile.")
        session.all_saved()
        session.task_ends("1.1.0", result="built", artifacts=(Artifact("a", "out", "00" * 32),), usage=Usage(2, 1))
        assert session.register == {"1.1.0": "Settled"}
        assert session.phase is Completed
        session.reopen()
        session.prompt("Next.")
        assert session.said[-2:] == ("prompt: Next.", "notice: Notice about job (call 1.1.0): built")
        assert session.register == {}
        assert session.state.usage == Usage(2, 1)

    def test_of_a_failing_one_says_so(self):
        session = background()
        session.task_ends("1.1.0", succeeded=False, result="compiler missing")
        assert session.outcome("1.1.0") == FailedCall("compiler missing", "task-failed")
        assert "Error: compiler missing" in session.state.queues.notices[0].parts[0].text

    def test_during_the_turn_is_delivered_behind_the_whole_batch_and_before_steering(self):
        session = background(Effect.FENCEABLE, "read")
        session.steer("Faster.")
        session.task_ends("1.1.0", result="built")
        session.succeed("1.1.1", "text")
        assert [message.source for message in session.history[-2:]] == [MessageSource.NOTICE, MessageSource.STEERING]
        assert tuple(hop for hop in session.hops if hop in (Because.NOTICES_DELIVERED, Because.STEERING_DELIVERED)) == (
            Because.NOTICES_DELIVERED,
            Because.STEERING_DELIVERED,
        )

    def test_by_a_plain_success_or_failure_of_its_tool_settles_it_too(self):
        for kind, fields, outcome in (
            (ToolSucceeded, {"result": "built"}, Succeeded("built")),
            (ToolFailed, {"error": "no"}, FailedCall("no")),
        ):
            session = background()
            session.give(kind, **session.execution("1.1.0"), **fields)
            assert session.outcome("1.1.0") == outcome

    @pytest.mark.req("R-064")
    def test_told_again_is_ignored(self):
        session = background()
        execution = session.execution("1.1.0")
        session.task_ends("1.1.0", result="built")
        again = session.tried(TaskSettled, **execution, succeeded=True, result="built")
        other = session.tried(TaskSettled, **execution, succeeded=False, result="no")
        assert (again.verdict, again.reason) == (Verdict.IGNORED, "repeats-what-was-settled")
        assert other.rejection.code is RejectionCode.ALREADY_SETTLED

    @pytest.mark.req("R-245")
    def test_told_again_after_the_model_was_told_changes_nothing(self):
        session = background()
        execution = session.execution("1.1.0")
        session.task_ends("1.1.0", result="built")
        session.reply("Meanwhile.")
        assert session.tried(TaskSettled, **execution, succeeded=True, result="built").verdict is not Verdict.ACCEPTED

    def test_the_ends_of_two_attempts_of_a_keyed_one(self):
        session = Session(tool("job", Effect.KEYED, detached=True), limits=Limits(effect_retries=2))
        session.execute("job")
        first = session.execution()
        session.lose()
        session.give(TaskSettled, **first, succeeded=True, result="built")
        assert session.outcome() == Succeeded("built", proved_by=ProvedBy.EARLIER_ATTEMPT)

    def test_a_failure_of_the_lost_attempt_settles_while_no_newer_started(self):
        session = Session(tool("job", Effect.KEYED, detached=True))
        session.execute("job")
        first = session.execution()
        session.lose()
        session.give(TaskSettled, **first, succeeded=False, result="no")
        assert isinstance(session.outcome(), FailedCall)

    def test_a_failure_of_an_attempt_with_an_unproved_one_before_it_is_asked_of_a_person(self):
        session = Session(tool("job", Effect.KEYED, detached=True))
        session.execute("job")
        session.lose()
        session.all_saved()
        session.task_ends(succeeded=False)
        assert session.calls == {"1.1.0": "EffectUnknown"}


class TestTheSameRulesAsForCalls:
    @pytest.mark.parametrize("effect", [effect for effect in Effect if effect is not Effect.PURE])
    def test_a_loss_makes_it_unknown(self, effect):
        session = background(effect) if effect is not Effect.INSPECTABLE else background(effect, acts_within_ms=10)
        session.lose("1.1.0")
        assert session.register == {"1.1.0": "EffectUnknown"}
        assert session.the(InspectEffect, "1.1.0")

    def test_a_loss_of_one_that_only_reads_is_a_failure(self):
        session = background(Effect.PURE)
        session.lose("1.1.0")
        assert session.outcome("1.1.0") == FailedCall("lost: TimeoutError", "lost")

    def test_a_deadline_makes_it_unknown_and_tells_it_to_stop(self):
        session = background()
        session.fire("deadline/1.1.0")
        assert session.register == {"1.1.0": "EffectUnknown"}
        assert {"cancel-tool 1.1.0", "inspect-effect 1.1.0", "execute-tool 1.1.0"} <= set(session.waits)

    def test_its_progress_is_known(self):
        session = background()
        session.give(ToolProgressed, **session.execution("1.1.0"), observation="half")
        assert session.call("1.1.0").state.run.observation == "half"
        assert session.tried(ToolStarted, **session.execution("1.1.0"), handle="job 9").reason == "already-started"

    def test_a_proved_absence_settles_it(self):
        session = background()
        session.lose("1.1.0")
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True, evidence="no job 9")
        assert session.outcome("1.1.0").evidence == "no job 9"

    def test_a_resume_makes_it_unknown(self):
        session = background()
        session.reply("Meanwhile.")
        session.all_saved()
        session.resume()
        assert session.phase is Completed
        assert session.register == {"1.1.0": "EffectUnknown"}

    @pytest.mark.parametrize("effect", [Effect.KEYED, Effect.PURE])
    def test_a_resume_runs_none_again_behind_the_models_back(self, effect):
        session = background(effect)
        session.resume()
        assert not [each for each in session.work if isinstance(each, ExecuteTool)]

    def test_it_is_aborted_like_a_call(self):
        session = background()
        session.abort(AbortScope.TASK, "1.1.0")
        session.stopped(EffectSeen.DONE)
        assert session.outcome("1.1.0") == CancelledCall(EffectSeen.DONE)

    def test_an_opaque_one_whose_stop_proves_nothing_is_asked_of_a_person(self):
        session = background(Effect.OPAQUE)
        session.abort(AbortScope.TASK, "1.1.0")
        session.stopped(EffectSeen.UNPROVED)
        assert session.register == {"1.1.0": "EffectUnknown"}
        assert asked(session, "1.1.0").value == "person"

    def test_it_can_be_given_up_and_resolved_once(self):
        session = background()
        session.lose("1.1.0")
        session.resolve(Resolution.ABANDONED, "1.1.0")
        assert session.outcome("1.1.0") == Abandoned("user")
        assert session.state.queues.notices == ()
        session.resolve(Resolution.EXECUTED, "1.1.0", result="seen")
        assert len(session.state.queues.notices) == 1


class TestAnEntryThatWasGivenUp:
    """Late evidence settles what was left open, once; the turn's end and the call's result stay."""

    def given_up(self, effect=Effect.FENCEABLE):
        session = executing(effect)
        execution = session.execution()
        session.abort()
        session.abort()
        session.all_saved()
        assert session.register == {"1.1.0": "Settled"}
        return session, execution

    @pytest.mark.req("R-163", "D-8")
    def test_a_success_settles_it_and_leaves_end_and_result(self):
        session, execution = self.given_up()
        end, results = session.state.phase.ending, session.results
        session.give(ToolSucceeded, **execution, result="written")
        assert session.outcome() == Succeeded("written", timed_out=True)
        assert (session.state.phase.ending, session.results) == (end, results)
        assert len(session.state.queues.notices) == 1

    @pytest.mark.parametrize("effect", [EffectSeen.NONE, EffectSeen.DONE])
    def test_a_confirmed_stop_settles_it(self, effect):
        from agentcore.events import ToolCancelled

        session, execution = self.given_up()
        session.give(ToolCancelled, **execution, effect=effect)
        assert session.outcome() == CancelledCall(effect)

    def test_a_failure_settles_it(self):
        session, execution = self.given_up()
        session.give(ToolFailed, **execution, error="no")
        assert session.outcome() == FailedCall("no", timed_out=True)

    def test_what_proves_nothing_does_not(self):
        from agentcore.events import ToolCancelled

        session, execution = self.given_up()
        for kind, fields in (
            (ToolLost, {"cause": "x"}),
            (ToolStarted, {"handle": "h"}),
            (ToolProgressed, {"observation": "o"}),
            (ToolCancelled, {"effect": EffectSeen.UNPROVED}),
        ):
            judged = session.tried(kind, **execution, **fields)
            assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "proves-nothing")

    def test_another_attempt_says_nothing_of_it(self):
        session, _ = self.given_up()
        judged = session.tried(ToolSucceeded, call_id="1.1.0", epoch=0, attempt=9, result="?")
        assert judged.verdict is Verdict.REJECTED

    def test_a_failure_of_one_of_two_attempts_does_not(self):
        session = executing(Effect.KEYED)
        first = session.execution()
        session.lose()
        session.all_saved()
        second = session.execution()
        session.abort()
        session.abort()
        session.all_saved()
        judged = session.tried(ToolFailed, **second, error="no")
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "an-earlier-attempt-is-unproved")
        session.give(ToolSucceeded, **first, result="done")
        assert isinstance(session.outcome(), Succeeded)

    def test_it_stays_over_resumes_and_turns(self):
        session, _ = self.given_up()
        session.resume()
        session.reopen()
        session.prompt()
        session.answer()
        assert session.register == {"1.1.0": "Settled"}


@pytest.mark.req("R-165", "R-166", "R-249")
class TestContracts:
    def test_an_optional_task_does_not_hold_up_the_end(self):
        session = background()
        session.answer()
        assert session.phase is Completed
        assert session.register == {"1.1.0": "Executing"}

    def test_a_required_task_holds_up_the_end_and_its_outcome_goes_to_the_model(self):
        session = background(required=True)
        session.reply("Done.")
        assert session.phase is ReviewingCompletion
        assert session.because is Because.TASKS_AWAITED
        session.task_ends("1.1.0", result="built")
        assert Because.NOTICES_DELIVERED in session.hops
        assert session.phase is AwaitingModel
        assert session.said[-1] == "notice: Notice about job (call 1.1.0): built"
        session.answer("Built.")
        assert session.phase is Completed

    def test_a_required_task_that_ended_before_does_not(self):
        session = background(Effect.FENCEABLE, "read", required=True)
        session.task_ends("1.1.0")
        session.succeed("1.1.1")
        session.answer()
        assert session.phase is Completed

    def test_a_required_task_that_was_given_up_lets_the_turn_end(self):
        session = background(required=True)
        session.reply("Done.")
        session.lose("1.1.0")
        session.resolve(Resolution.ABANDONED, "1.1.0")
        session.all_saved()
        assert session.phase is Completed

    def test_a_required_task_of_an_earlier_turn_does_not(self):
        session = background(required=True)
        session.abort()
        session.model_stops()
        session.all_saved()
        session.reopen()
        session.prompt()
        session.answer()
        assert session.phase is Completed

    def test_after_the_required_tasks_comes_the_review(self):
        session = background(required=True, config={"reviews_completion": True})
        session.reply("Done.")
        assert "review-completion 1.2" not in session.waits
        session.lose("1.1.0")
        session.resolve(Resolution.ABANDONED, "1.1.0")
        assert "review-completion 1.2" in session.waits

    def test_a_hint_to_terminate_waits_for_the_required_task_too(self):
        session = Session(tool("job", detached=True, required=True), tool())
        session.execute("job", "write")
        session.detach("1.1.0")
        session.succeed("1.1.1", terminate=True)
        assert session.phase is AwaitingModel
        session.execute("write")
        session.succeed("1.2.0", terminate=True)
        assert session.phase is ReviewingCompletion
        session.lose("1.1.0")
        session.resolve(Resolution.ABANDONED, "1.1.0")
        session.all_saved()
        assert session.stop is StopReason.TERMINATED

    def test_one_that_degrades_lets_the_turn_go_on(self):
        session = background()
        session.task_ends("1.1.0", succeeded=False)
        assert session.phase is AwaitingModel

    @pytest.mark.parametrize("phase", ["AwaitingModel", "RunningTools", "ReviewingCompletion"])
    def test_one_that_blocks_ends_the_turn_as_a_tool_error(self, phase):
        session = background(
            Effect.FENCEABLE, *(["read"] if phase == "RunningTools" else []), on_failure="block", required=True
        )
        if phase == "ReviewingCompletion":
            session.reply("Done.")
        assert session.phase.__name__ == phase
        session.task_ends("1.1.0", succeeded=False, result="no compiler")
        assert Because.TASK_BLOCKS in session.hops
        assert session.stop is StopReason.TOOL_ERROR
        assert session.ending.message == "job: Error: no compiler"

    def test_one_that_blocks_and_succeeds_blocks_nothing(self):
        session = background(on_failure="block")
        session.task_ends("1.1.0")
        assert session.phase is AwaitingModel

    def test_one_that_blocks_is_of_no_concern_to_a_later_turn(self):
        session = background(on_failure="block")
        session.answer()
        session.reopen()
        session.prompt()
        session.task_ends("1.1.0", succeeded=False)
        assert session.phase is AwaitingModel

    def test_a_foreground_call_that_blocks_ends_the_turn_however_it_fails(self):
        for end in ("fail", "lose"):
            session = Session(tool("read", Effect.PURE, on_failure="block"), limits=Limits(effect_retries=0))
            session.execute("read")
            getattr(session, end)()
            session.all_saved()
            assert session.phase is Failed
            assert session.stop is StopReason.TOOL_ERROR

    def test_a_foreground_call_that_blocks_and_did_not_happen_ends_the_turn(self):
        session = Session(tool(on_failure="block"))
        session.execute("write")
        session.lose()
        session.resolve(Resolution.NOT_EXECUTED)
        assert session.stop is StopReason.TOOL_ERROR

    def test_wrong_arguments_are_no_failure_of_the_tool(self):
        session = Session(tool(on_failure="block"))
        session.propose("write")
        session.refuse_arguments()
        assert session.phase is AwaitingModel


def test_the_usage_of_a_task_belongs_to_the_session_and_not_to_a_later_turn():
    session = background(limits=Limits(tokens=5))
    session.answer()
    session.reopen()
    session.prompt()
    session.task_ends("1.1.0", usage=Usage(50, 50))
    assert session.state.usage == Usage(50, 50)
    assert session.state.turn.usage.tokens == 0
