"""Finding out about an effect: a look, asking for one, a retry, a person's word, and what earlier attempts say late."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Verdict
from agentcore.commands import InspectEffect
from agentcore.events import (
    AbortScope,
    EffectInspected,
    EffectResolved,
    Finding,
    InspectionRequested,
    Inspector,
    Resolution,
    RetryRequested,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolProgressed,
    ToolStarted,
    ToolSucceeded,
)
from agentcore.messages import (
    Abandoned,
    CancelledCall,
    EffectSeen,
    FailedCall,
    NotExecuted,
    NotExecutedReason,
    ProvedBy,
    Succeeded,
)
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import AwaitingModel, Because
from tests.core.driver import Session, asked, executing, tool, unknown

ACTING = [Effect.KEYED, Effect.FENCEABLE, Effect.INSPECTABLE, Effect.OPAQUE]
BY_PROGRAM = [Effect.FENCEABLE, Effect.INSPECTABLE]
ASKED = {Effect.FENCEABLE: Inspector.PROGRAM, Effect.INSPECTABLE: Inspector.PROGRAM, Effect.OPAQUE: Inspector.PERSON}


class TestALook:
    @pytest.mark.req("D-8", "R-157")
    @pytest.mark.parametrize("effect", ASKED)
    def test_that_finds_it_done_writes_the_success(self, effect):
        session = unknown(effect)
        session.inspected(Finding.EXECUTED, result="row 3")
        by = ProvedBy.PERSON if effect is Effect.OPAQUE else ProvedBy.INSPECTION
        assert session.outcome() == Succeeded("row 3", timed_out=True, proved_by=by)

    @pytest.mark.parametrize("effect", ASKED)
    def test_that_finds_it_failed_writes_the_failure(self, effect):
        session = unknown(effect)
        session.inspected(Finding.FAILED, result="disk full")
        by = ProvedBy.PERSON if effect is Effect.OPAQUE else ProvedBy.INSPECTION
        assert session.outcome() == FailedCall("disk full", "inspected", timed_out=True, proved_by=by)

    @pytest.mark.req("D-8", "R-243")
    @pytest.mark.parametrize("effect", [Effect.FENCEABLE, Effect.OPAQUE])
    def test_that_proves_absence_reports_it_with_evidence_and_retryability(self, effect):
        session = unknown(effect)
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no row")
        assert session.outcome() == NotExecuted(NotExecutedReason.PROVED_ABSENT, "no row", retryable=True)
        assert session.result().content.endswith("Evidence: no row. Asking for it again is safe.")

    def test_that_proves_absence_without_words_still_names_a_proof(self):
        session = unknown()
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, by="fence")
        assert session.outcome() == NotExecuted(NotExecutedReason.PROVED_ABSENT, "fence found nothing")

    def test_that_proves_absence_runs_it_again_where_the_tool_says_so(self):
        session = unknown(absent_otherwise="retry")
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        assert session.calls == {"1.1.0": "Released"}

    def test_that_proves_absence_reports_once_the_retries_are_used_up(self):
        session = unknown(absent_otherwise="retry", limits=Limits(effect_retries=0))
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        assert session.phase is AwaitingModel
        assert session.outcome().reason is NotExecutedReason.PROVED_ABSENT

    def test_that_is_not_conclusive_proves_nothing(self):
        session = unknown()
        session.inspected(Finding.NOT_EXECUTED, conclusive=False)
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert session.call().state.transition.because is Because.INSPECTION_INCONCLUSIVE

    def test_at_an_inspectable_effect_counts_only_when_the_attempt_can_no_longer_act(self):
        session = unknown(Effect.INSPECTABLE)
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        assert session.calls == {"1.1.0": "EffectUnknown"}
        run = session.call().state.run
        assert session.call().state.inquiry.resume_at >= run.covered_at + 1_000
        session.fire("inquiry/1.1.0")
        session.inspected(Finding.NOT_EXECUTED)
        assert session.outcome().reason is NotExecutedReason.PROVED_ABSENT

    def test_at_an_inspectable_effect_counts_from_the_first_resume_after_an_uncovered_release(self):
        session = Session(tool("write", Effect.INSPECTABLE, acts_within_ms=100))
        session.propose("write")
        session.allow()
        session.resume(dead_ms=1_000_000)
        session.inspected(Finding.NOT_EXECUTED)
        assert session.calls == {"1.1.0": "EffectUnknown"}

    def test_at_an_inspectable_effect_counts_dead_time_because_it_passed_at_the_other_side(self):
        session = Session(tool("write", Effect.INSPECTABLE, acts_within_ms=100))
        session.execute("write")
        session.resume(dead_ms=1_000_000)
        session.inspected(Finding.NOT_EXECUTED)
        assert session.calls == {"1.1.0": "Proposed"}

    @pytest.mark.parametrize("finding", [Finding.STILL_RUNNING, Finding.UNAVAILABLE])
    def test_that_proves_nothing_looks_again_after_a_growing_delay(self, finding):
        session = unknown(limits=Limits(inspections=5, inspect_base_ms=100, inspect_cap_ms=250))
        delays = []
        for _ in range(4):
            session.inspected(finding, result="busy")
            delays.append(session.call().state.inquiry.resume_at - session.now)
            session.fire("inquiry/1.1.0")
        assert delays == [100, 200, 250, 250]
        assert session.call().state.run.observation == "busy"

    @pytest.mark.req("R-208", "R-155", "R-162", "D-8")
    @pytest.mark.parametrize("bound", [1, 3])
    def test_is_a_persons_after_the_automatic_bound(self, bound):
        session = unknown(limits=Limits(inspections=bound))
        for number in range(bound):
            assert asked(session) is Inspector.PROGRAM
            session.inspected(Finding.UNAVAILABLE)
            if number < bound - 1:
                session.fire("inquiry/1.1.0")
        assert asked(session) is Inspector.PERSON
        assert session.call().state.transition.because is Because.PERSON_ASKED

    def test_is_a_persons_at_once_where_no_automatic_one_is_allowed(self):
        assert asked(unknown(limits=Limits(inspections=0))) is Inspector.PERSON

    def test_is_never_a_persons_where_automatic_ones_are_unlimited(self):
        session = unknown(limits=Limits(inspections=None))
        for _ in range(30):
            session.inspected(Finding.UNAVAILABLE)
            session.fire("inquiry/1.1.0")
        assert asked(session) is Inspector.PROGRAM

    def test_by_a_person_who_cannot_say_is_repeated_and_given_up_in_the_end(self):
        session = unknown(Effect.OPAQUE, limits=Limits(inspections=2))
        for _ in range(2):
            session.inspected(Finding.UNAVAILABLE, by="anna")
            session.fire("inquiry/1.1.0")
            assert asked(session) is Inspector.PERSON
        session.inspected(Finding.UNAVAILABLE, by="anna")
        assert session.outcome() == Abandoned("anna")
        assert session.register == {"1.1.0": "Settled"}

    def test_is_a_persons_where_the_tool_is_gone(self):
        session = executing(Effect.FENCEABLE)
        session.resume(tools=())
        assert asked(session) is Inspector.PERSON

    def test_that_finds_it_running_while_stopping_tells_it_to_stop_again(self):
        session = executing(Effect.FENCEABLE)
        session.abort()
        session.fire("grace/1.1.0")
        assert "cancel-tool 1.1.0" not in session.waits
        session.inspected(Finding.STILL_RUNNING)
        assert "cancel-tool 1.1.0" in session.commands

    def test_that_proves_absence_while_stopping_settles_it(self):
        session = executing(Effect.FENCEABLE, absent_otherwise="retry")
        session.abort()
        session.fire("grace/1.1.0")
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no row")
        assert session.outcome() == NotExecuted(NotExecutedReason.PROVED_ABSENT, "no row")

    def test_answers_the_order_that_stands(self):
        session = unknown()
        order = session.the(InspectEffect)
        session.inspected(Finding.UNAVAILABLE)
        session.inspect()
        fields = {"call_id": "1.1.0", "epoch": order.epoch, "finding": Finding.EXECUTED}
        late = session.tried(EffectInspected, attempt=order.attempt, **fields)
        assert late.rejection.code is RejectionCode.STALE_ATTEMPT
        foreign = session.tried(EffectInspected, attempt=99, **fields)
        assert (foreign.rejection.code, foreign.rejection.blame) == (RejectionCode.FOREIGN_ATTEMPT, Blame.WORLD)

    def test_at_what_is_not_unknown_is_refused(self):
        session = executing(Effect.FENCEABLE)
        judged = session.tried(EffectInspected, call_id="1.1.0", epoch=0, attempt=1, finding=Finding.EXECUTED)
        assert judged.rejection.code is RejectionCode.NOT_UNKNOWN


class TestAskingForALook:
    @pytest.mark.req("R-162", "R-245")
    @pytest.mark.parametrize("effect", ASKED)
    def test_while_that_very_look_is_under_way_is_ignored(self, effect):
        session = unknown(effect)
        judged = session.tried(InspectionRequested, call_id="1.1.0")
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "already-being-inspected")

    @pytest.mark.req("R-162", "R-156")
    def test_lets_a_program_look_again_beyond_the_automatic_bound(self):
        session = unknown(limits=Limits(inspections=1))
        session.inspected(Finding.UNAVAILABLE)
        question = session.the(InspectEffect)
        assert question.by is Inspector.PERSON
        used = session.call().tries.inspections_used
        session.inspect()
        assert asked(session) is Inspector.PROGRAM
        assert session.call().tries.inspections_used == used
        assert session.commands == ("inspect-effect 1.1.0",)
        assert session.call().state.transition.because is Because.INSPECTION_REQUESTED
        late = session.tried(
            EffectInspected, call_id="1.1.0", epoch=0, attempt=question.attempt, finding=Finding.EXECUTED
        )
        assert late.rejection.code is RejectionCode.STALE_ATTEMPT

    def test_ends_the_pause(self):
        session = unknown()
        session.inspected(Finding.UNAVAILABLE)
        session.inspect()
        assert "inspect-effect 1.1.0" in session.commands
        assert "start-timer inquiry/1.1.0" not in session.waits

    def test_asks_a_person_where_no_program_can_look(self):
        session = unknown(Effect.OPAQUE)
        session.inspected(Finding.UNAVAILABLE)
        session.inspect()
        assert asked(session) is Inspector.PERSON

    def test_opens_a_register_entry_that_was_given_up(self):
        session = unknown()
        session.resolve(Resolution.ABANDONED)
        assert session.register == {"1.1.0": "Settled"}
        session.inspect()
        assert session.register == {"1.1.0": "EffectUnknown"}
        session.inspected(Finding.EXECUTED, result="row 3")
        assert session.outcome() == Succeeded("row 3", timed_out=True, proved_by=ProvedBy.INSPECTION)

    @pytest.mark.parametrize("state", ["Executing", "Settled", "Ready"])
    def test_is_refused_at_what_is_not_unknown(self, state):
        session = executing(Effect.FENCEABLE, calls=3, limits=Limits(max_parallel=2))
        session.succeed("1.1.0")
        session.fail("1.1.1")
        call_id = {"Executing": "1.1.2", "Settled": "1.1.0", "Ready": "1.1.2"}[state]
        judged = session.tried(InspectionRequested, call_id=call_id)
        assert judged.rejection.code is RejectionCode.NOT_UNKNOWN

    @pytest.mark.req("R-243", "D-8")
    def test_loses_no_proof_of_absence(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no row")
        session.tried(InspectionRequested, call_id="1.1.0")
        if "inspect-effect 1.1.0" in session.waits:
            session.inspected(Finding.UNAVAILABLE)
        assert session.call("1.1.0").state.proved_absent == "no row"
        session.retry()

    def test_that_finds_a_proved_absence_running_after_all_takes_the_proof_back(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no row")
        session.inspect("1.1.0")
        session.inspected(Finding.STILL_RUNNING)
        assert session.call("1.1.0").state.proved_absent is None
        judged = session.tried(RetryRequested, call_id="1.1.0")
        assert judged.rejection.code is RejectionCode.EFFECT_NOT_PROVED_ABSENT

    def test_that_proves_a_proved_absence_again_proves_it_once(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no row")
        session.inspect("1.1.0")
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="still no row")
        assert session.call("1.1.0").state.proved_absent == "still no row"
        assert [run.attempt for run in session.call("1.1.0").voided] == [1]
        session.retry()

    @pytest.mark.req("R-208")
    @pytest.mark.parametrize("cancelling", [False, True])
    def test_works_for_a_task_that_runs_in_the_background(self, cancelling):
        session = Session(tool("job", detached=True))
        session.execute("job")
        session.detach()
        if cancelling:
            session.abort(AbortScope.TASK, "1.1.0")
        session.inspect()
        assert session.register == {"1.1.0": "EffectUnknown"}
        assert {"execute-tool 1.1.0", "inspect-effect 1.1.0"} <= set(session.waits)
        assert ("cancel-tool 1.1.0" in session.waits) is cancelling
        session.task_ends("1.1.0", result="built")
        assert session.outcome().result == "built"

    def test_of_a_running_task_leaves_it_its_deadline(self):
        session = Session(tool("job", detached=True))
        session.execute("job")
        session.detach()
        session.inspect()
        session.inspected(Finding.STILL_RUNNING)
        session.fire("deadline/1.1.0")
        assert session.register == {"1.1.0": "EffectUnknown"}
        assert {"execute-tool 1.1.0", "cancel-tool 1.1.0"} <= set(session.waits)


class TestAskingForARetry:
    @pytest.mark.req("R-158", "R-243")
    @pytest.mark.parametrize("effect", ASKED)
    def test_is_refused_in_unknown_and_names_the_inspection(self, effect):
        session = unknown(effect)
        judged = session.tried(RetryRequested, call_id="1.1.0")
        assert judged.rejection.code is RejectionCode.EFFECT_NOT_PROVED_ABSENT
        assert judged.rejection.advice == f"Inspect first: inspect-effect 1.1.0 by {ASKED[effect].value}."

    @pytest.mark.req("R-243")
    def test_runs_it_again_after_a_proof_while_siblings_run(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        assert session.calls["1.1.0"] == "EffectUnknown"
        session.retry()
        assert session.calls["1.1.0"] == "Released"
        session.all_saved()
        assert session.execution("1.1.0")["attempt"] == 2

    def test_is_allowed_once_per_proof_and_within_the_bound(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        session.retry()
        session.all_saved()
        session.lose("1.1.0")
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        judged = session.tried(RetryRequested, call_id="1.1.0")
        assert judged.rejection.code is RejectionCode.RETRY_NOT_POSSIBLE

    @pytest.mark.parametrize(
        ("call_id", "code"),
        [("1.1.0", RejectionCode.ALREADY_SETTLED), ("1.1.1", RejectionCode.NOT_UNKNOWN)],
    )
    def test_is_refused_at_what_is_settled_or_running(self, call_id, code):
        session = executing(Effect.FENCEABLE, calls=2)
        session.succeed("1.1.0")
        assert session.tried(RetryRequested, call_id=call_id).rejection.code is code

    def test_is_reported_when_nothing_else_of_the_batch_is_waited_for(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        session.succeed("1.1.1")
        assert Because.ABSENCE_REPORTED in session.hops
        assert session.outcome("1.1.0").reason is NotExecutedReason.PROVED_ABSENT

    def test_holds_no_slot_while_it_waits(self):
        session = unknown(calls=2, limits=Limits(max_parallel=1))
        assert session.calls["1.1.1"] == "Ready"
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        assert session.calls["1.1.1"] == "Released"


class TestAPersonsWord:
    @pytest.mark.parametrize("effect", ASKED)
    @pytest.mark.parametrize(
        ("resolution", "outcome"),
        [
            (Resolution.EXECUTED, Succeeded("as seen", timed_out=True, proved_by=ProvedBy.PERSON)),
            (Resolution.FAILED, FailedCall("as seen", "person", timed_out=True, proved_by=ProvedBy.PERSON)),
            (Resolution.NOT_EXECUTED, NotExecuted(NotExecutedReason.PERSON_SAYS, "anna says so")),
            (Resolution.ABANDONED, Abandoned("anna")),
        ],
    )
    def test_settles_an_unknown(self, effect, resolution, outcome):
        session = unknown(effect)
        session.resolve(resolution, by="anna", result="as seen")
        assert session.outcome() == outcome

    def test_makes_the_look_under_way_stale(self):
        session = unknown(calls=2)
        order = session.the(InspectEffect)
        session.resolve(Resolution.EXECUTED)
        judged = session.tried(
            EffectInspected, call_id="1.1.0", epoch=0, attempt=order.attempt, finding=Finding.NOT_EXECUTED
        )
        assert judged.rejection.code is RejectionCode.NOT_UNKNOWN

    def test_may_run_it_again_beyond_the_automatic_bound(self):
        session = unknown(Effect.OPAQUE, limits=Limits(effect_retries=0))
        session.resolve(Resolution.NOT_EXECUTED, retry=True)
        session.all_saved()
        assert session.execution()["attempt"] == 2

    def test_runs_nothing_again_while_stopping(self):
        session = unknown(Effect.OPAQUE)
        session.abort()
        session.resolve(Resolution.NOT_EXECUTED, retry=True)
        assert session.outcome().reason is NotExecutedReason.PERSON_SAYS

    @pytest.mark.parametrize("resolution", [Resolution.EXECUTED, Resolution.FAILED, Resolution.NOT_EXECUTED])
    def test_settles_a_register_entry_and_the_model_is_told_once(self, resolution):
        session = unknown(Effect.OPAQUE)
        session.resolve(Resolution.ABANDONED)
        session.resolve(resolution, result="seen")
        assert [queued.message_id.split("/")[:2] for queued in session.state.queues.notices] == [["notice", "1.1.0"]]
        assert session.tried(EffectResolved, call_id="1.1.0", resolution=resolution).verdict is Verdict.REJECTED

    def test_of_giving_up_told_again_is_ignored(self):
        session = unknown(Effect.OPAQUE)
        session.resolve(Resolution.ABANDONED)
        judged = session.tried(EffectResolved, call_id="1.1.0", resolution=Resolution.ABANDONED)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "already-given-up")

    @pytest.mark.req("R-245")
    def test_and_an_asked_retry_under_a_known_act_are_one(self):
        session = unknown(calls=2, limits=Limits(effect_retries=5))
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        session.give(RetryRequested, call_id="1.1.0", act_id="a")
        session.all_saved()
        session.lose("1.1.0")
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        again = session.tried(RetryRequested, call_id="1.1.0", act_id="a")
        assert (again.verdict, again.reason) == (Verdict.IGNORED, "act-known")
        fields = {"call_id": "1.1.0", "resolution": Resolution.NOT_EXECUTED, "retry": True}
        word = session.tried(EffectResolved, **fields, act_id="a")
        assert (word.verdict, word.reason) == (Verdict.IGNORED, "act-known")
        session.give(EffectResolved, **fields, act_id="b")
        assert session.calls["1.1.0"] == "Released"

    def test_settles_a_task_that_runs_in_the_background(self):
        session = Session(tool("job", Effect.OPAQUE, detached=True))
        session.execute("job")
        session.detach()
        session.resolve(Resolution.EXECUTED, result="seen")
        assert session.outcome().result == "seen"

    def test_is_refused_at_what_is_settled_or_running(self):
        session = executing(Effect.FENCEABLE, calls=2)
        session.succeed("1.1.0")
        settled = session.tried(EffectResolved, call_id="1.1.0", resolution=Resolution.EXECUTED)
        running = session.tried(EffectResolved, call_id="1.1.1", resolution=Resolution.EXECUTED)
        assert settled.rejection.code is RejectionCode.ALREADY_SETTLED
        assert running.rejection.code is RejectionCode.NOT_UNKNOWN


class TestEarlierAttempts:
    """A result speaks of its own attempt."""

    def keyed_twice(self):
        """A keyed call whose first attempt was lost and whose second one is released."""
        session = executing(Effect.KEYED)
        first = session.execution()
        session.lose()
        return session, first

    @pytest.mark.req("R-170")
    @pytest.mark.parametrize("started", [False, True])
    def test_a_success_of_any_attempt_settles_a_keyed_call(self, started):
        session, first = self.keyed_twice()
        if started:
            session.all_saved()
        session.give(ToolSucceeded, **first, result="done")
        assert session.outcome() == Succeeded("done", proved_by=ProvedBy.EARLIER_ATTEMPT)
        assert session.result().attempt == 1

    @pytest.mark.parametrize("end", [(ToolFailed, {"error": "no"}), (ToolCancelled, {"effect": EffectSeen.NONE})])
    def test_an_end_of_the_only_attempt_settles_while_no_newer_one_started(self, end):
        session, first = self.keyed_twice()
        kind, fields = end
        session.give(kind, **first, **fields)
        assert session.calls == {}

    def test_a_denial_of_the_newer_attempt_is_asked_of_a_person(self):
        session, _ = self.keyed_twice()
        session.all_saved()
        session.fail()
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert asked(session) is Inspector.PERSON
        assert session.call().state.run.attempt == 1
        assert dict(session.call().state.transition.evidence)["attempt_said"] == "FailedCall"

    def test_a_stop_of_the_newer_attempt_without_effect_is_asked_of_a_person(self):
        session, _ = self.keyed_twice()
        session.all_saved()
        session.abort()
        session.stopped(EffectSeen.NONE)
        assert session.calls == {"1.1.0": "EffectUnknown"}

    def test_a_stop_of_the_newer_attempt_with_its_effect_done_settles(self):
        session, _ = self.keyed_twice()
        session.all_saved()
        session.abort()
        session.stopped(EffectSeen.DONE)
        assert session.outcome() == CancelledCall(EffectSeen.DONE)

    def test_stopping_before_the_newer_one_started_asks_about_the_earlier(self):
        session, _ = self.keyed_twice()
        session.abort()
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert asked(session) is Inspector.PERSON

    def test_a_proved_absence_of_the_newer_one_asks_about_the_earlier(self):
        session, _ = self.keyed_twice()
        session.all_saved()
        session.lose()
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert session.call().state.run.attempt == 1
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        assert session.outcome().reason is NotExecutedReason.PROVED_ABSENT

    def test_a_person_speaks_of_all_attempts(self):
        session, _ = self.keyed_twice()
        session.all_saved()
        session.lose()
        session.resolve(Resolution.NOT_EXECUTED)
        assert session.outcome().reason is NotExecutedReason.PERSON_SAYS

    def voided(self, *, calls=2):
        """A fenceable call whose first attempt was voided and whose second one is released."""
        session = executing(Effect.FENCEABLE, calls=calls)
        first = session.execution("1.1.0")
        session.lose("1.1.0")
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        session.retry()
        return session, first

    @pytest.mark.req("D-8", "R-161")
    def test_a_success_of_a_voided_attempt_settles_before_the_newer_started_and_is_shown_as_contradiction(self):
        session, first = self.voided()
        session.give(ToolSucceeded, **first, result="done after all")
        state = session.call("1.1.0").state
        assert state.outcome.proved_by is ProvedBy.EARLIER_ATTEMPT
        assert dict(state.transition.evidence)["contradicts"] == "it was declared absent"

    def test_a_success_of_a_voided_attempt_is_refused_once_the_newer_started(self):
        session, first = self.voided()
        session.all_saved()
        judged = session.tried(ToolSucceeded, **first, result="done after all")
        assert judged.rejection.code is RejectionCode.EARLIER_ATTEMPT_ACTED

    def test_a_success_of_a_voided_attempt_is_shown_to_whoever_inspects_the_newer(self):
        session, first = self.voided()
        session.all_saved()
        session.lose("1.1.0")
        session.give(ToolSucceeded, **first, result="done after all")
        assert [report.said for report in session.call("1.1.0").state.reports] == ["done after all"]
        again = session.tried(ToolSucceeded, **first, result="done after all")
        assert (again.verdict, again.reason) == (Verdict.IGNORED, "already-reported")

    @pytest.mark.req("D-8")
    def test_a_success_of_the_attempt_that_waits_as_absent_is_shown_as_contradiction(self):
        session = unknown(calls=2)
        execution = {"call_id": "1.1.0", "epoch": 0, "attempt": 1}
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        session.give(ToolSucceeded, **execution, result="done after all")
        assert dict(session.call("1.1.0").state.transition.evidence)["contradicts"] == "it was declared absent"

    @pytest.mark.req("D-8")
    def test_a_success_after_a_reported_absence_is_refused_as_contradiction(self):
        session = unknown()
        execution = {"call_id": "1.1.0", "epoch": 0, "attempt": 1}
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        judged = session.tried(ToolSucceeded, **execution, result="done after all")
        assert judged.rejection.code is RejectionCode.CONTRADICTS_ABSENCE

    @pytest.mark.req("D-8")
    def test_a_success_after_a_persons_word_of_absence_is_refused_as_contradiction(self):
        session = unknown(calls=2)
        session.resolve(Resolution.NOT_EXECUTED)
        judged = session.tried(ToolSucceeded, call_id="1.1.0", epoch=0, attempt=1, result="done after all")
        assert judged.rejection.code is RejectionCode.CONTRADICTS_ABSENCE

    def test_a_late_failure_of_an_earlier_attempt_of_an_unknown_call_is_kept_as_evidence(self):
        session, first = self.keyed_twice()
        session.all_saved()
        session.lose()
        session.give(ToolFailed, **first, error="refused")
        assert session.calls == {"1.1.0": "EffectUnknown"}

    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            (ToolStarted, {"handle": "h"}),
            (ToolProgressed, {"observation": "o"}),
            (ToolLost, {"cause": "c"}),
            (ToolFailed, {"error": "e"}),
            (ToolCancelled, {"effect": EffectSeen.UNPROVED}),
        ],
    )
    def test_what_proves_nothing_of_an_earlier_attempt_is_stale(self, kind, fields):
        session, first = self.keyed_twice()
        session.all_saved()
        assert session.tried(kind, **first, **fields).rejection.code is RejectionCode.STALE_ATTEMPT

    @pytest.mark.parametrize("attempt", [3, 9])
    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            (ToolSucceeded, {"result": "?"}),
            (ToolFailed, {"error": "?"}),
            (ToolCancelled, {"effect": EffectSeen.NONE}),
            (ToolCancelled, {"effect": EffectSeen.UNPROVED}),
            (ToolLost, {"cause": "?"}),
        ],
    )
    def test_an_attempt_that_was_never_made_is_foreign(self, kind, fields, attempt):
        session, _ = self.keyed_twice()
        judged = session.tried(kind, call_id="1.1.0", epoch=0, attempt=attempt, **fields)
        assert judged.rejection.code is RejectionCode.FOREIGN_ATTEMPT

    def test_a_stop_of_an_earlier_attempt_that_had_its_effect_is_a_second_deed_once_the_newer_started(self):
        session, first = self.keyed_twice()
        session.all_saved()
        judged = session.tried(ToolCancelled, **first, effect=EffectSeen.DONE)
        assert judged.rejection.code is RejectionCode.EARLIER_ATTEMPT_ACTED

    def test_an_unproved_stop_told_again_is_ignored(self):
        session = executing(Effect.OPAQUE)
        session.fire("deadline/1.1.0")
        order = {"call_id": "1.1.0", "epoch": 0, "attempt": 1, "effect": EffectSeen.UNPROVED}
        session.stopped(EffectSeen.UNPROVED)
        judged = session.tried(ToolCancelled, **order)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "already-ended")

    def test_an_earlier_attempt_of_a_settled_call_is_refused(self):
        session = executing(Effect.KEYED, calls=2)
        first = session.execution("1.1.0")
        session.lose("1.1.0")
        session.all_saved()
        session.succeed("1.1.0", "second")
        judged = session.tried(ToolSucceeded, **first, result="first")
        assert judged.rejection.code is RejectionCode.ALREADY_SETTLED

    def test_an_earlier_read_is_stale(self):
        session = executing(Effect.PURE)
        first = session.execution()
        session.lose()
        judged = session.tried(ToolSucceeded, **first, result="late")
        assert judged.rejection.code is RejectionCode.STALE_ATTEMPT

    def test_a_released_attempt_has_not_started_so_its_success_is_foreign(self):
        session = Session(tool())
        session.propose("write")
        session.allow()
        judged = session.tried(ToolSucceeded, call_id="1.1.0", epoch=0, attempt=1, result="?")
        assert judged.rejection.code is RejectionCode.FOREIGN_ATTEMPT


class TestWhatIsKnownOfARunningAttempt:
    @pytest.mark.req("R-063")
    def test_it_starts_once(self):
        session = executing(Effect.FENCEABLE)
        session.started(handle="pid 7")
        execution = session.execution()
        again = session.tried(ToolStarted, **execution, handle="pid 7")
        other = session.tried(ToolStarted, **execution, handle="pid 8")
        assert (again.verdict, again.reason) == (Verdict.IGNORED, "already-started")
        assert other.rejection.code is RejectionCode.ALREADY_STARTED

    @pytest.mark.req("R-063")
    def test_progress_that_says_nothing_new_is_ignored(self):
        session = executing(Effect.FENCEABLE)
        session.progressed("half")
        judged = session.tried(ToolProgressed, **session.execution(), observation="half")
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "nothing-new")

    @pytest.mark.req("R-214")
    @pytest.mark.parametrize("bound", [0, 2])
    def test_progress_beyond_the_bound_is_ignored(self, bound):
        session = executing(Effect.FENCEABLE, limits=Limits(observations=bound))
        for number in range(bound):
            session.progressed(f"part {number}")
        judged = session.tried(ToolProgressed, **session.execution(), observation="more")
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "observations-used-up")

    def test_it_is_known_in_every_state_of_a_started_attempt(self):
        session = executing(Effect.FENCEABLE)
        session.abort()
        session.started(handle="pid 7")
        assert session.calls == {"1.1.0": "CancellationRequested"}
        assert session.call().state.transition.because is Because.TOOL_STARTED
        session.fire("grace/1.1.0")
        session.give(ToolProgressed, call_id="1.1.0", epoch=0, attempt=1, observation="half")
        assert session.call().state.transition.because is Because.TOOL_PROGRESSED
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert session.call().state.run.observation == "half"

    def test_it_is_no_news_of_a_settled_call(self):
        session = executing(Effect.FENCEABLE, calls=2)
        execution = session.execution("1.1.0")
        session.succeed("1.1.0")
        for kind, fields in ((ToolStarted, {"handle": "h"}), (ToolProgressed, {"observation": "o"})):
            judged = session.tried(kind, **execution, **fields)
            assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "already-settled")
