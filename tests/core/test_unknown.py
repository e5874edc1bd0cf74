"""Effects whose end is not proved: what each kind does after a loss, a deadline, an abort and a resume."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Verdict
from agentcore.commands import CancelTool, InspectEffect
from agentcore.events import (
    AbortScope,
    EffectResolved,
    Finding,
    Inspector,
    Resolution,
    ToolLost,
    ToolSucceeded,
)
from agentcore.messages import (
    Abandoned,
    CancelledCall,
    EffectSeen,
    FailedCall,
    NotExecuted,
    NotExecutedReason,
    Succeeded,
    ToolMessage,
)
from agentcore.rejections import RejectionCode
from agentcore.states import AwaitingModel, Because, Cancelled, RunningTools, Stopping
from tests.core.driver import Session, asked, executing, tool, unknown

ACTING = [Effect.KEYED, Effect.FENCEABLE, Effect.INSPECTABLE, Effect.OPAQUE]
BY_PROGRAM = [Effect.FENCEABLE, Effect.INSPECTABLE]
ASKED = {Effect.FENCEABLE: Inspector.PROGRAM, Effect.INSPECTABLE: Inspector.PROGRAM, Effect.OPAQUE: Inspector.PERSON}


class TestALoss:
    @pytest.mark.req("R-153", "R-161")
    @pytest.mark.parametrize("effect", ASKED)
    def test_of_what_acts_makes_it_unknown_and_asks_who_can_know(self, effect):
        session = unknown(effect)
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert asked(session) is ASKED[effect]
        assert "execute-tool 1.1.0" not in session.waits

    def test_of_a_read_runs_it_again_within_the_bound(self):
        session = unknown(Effect.PURE)
        assert session.calls == {"1.1.0": "Executing"}
        assert session.execution()["attempt"] == 2
        session.lose()
        assert session.outcome() == FailedCall("lost: TimeoutError", "lost")

    def test_of_a_keyed_call_runs_it_again_under_the_same_key_within_the_bound(self):
        session = unknown(Effect.KEYED)
        assert session.calls == {"1.1.0": "Released"}
        session.all_saved()
        assert session.execution()["attempt"] == 2
        session.lose()
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert asked(session) is Inspector.PERSON

    @pytest.mark.req("G-5", "R-214")
    @pytest.mark.parametrize("effect", [Effect.PURE, Effect.KEYED])
    @pytest.mark.parametrize("bound", [0, 2])
    def test_runs_again_exactly_as_often_as_the_bound_says(self, effect, bound):
        session = executing(effect, limits=Limits(effect_retries=bound))
        for _ in range(bound):
            session.lose()
            session.all_saved()
            assert session.calls == {"1.1.0": "Executing"}
        session.lose()
        assert session.calls.get("1.1.0") != "Executing"

    @pytest.mark.req("R-154", "R-052")
    def test_keeps_target_request_id_start_observation_and_who_may_look(self):
        session = executing(Effect.FENCEABLE)
        session.started(handle="pid 7")
        session.progressed("half written")
        session.lose(target="request 12", observation="accepted")
        state = session.call().state
        assert dict(state.transition.evidence)["target"] == "request 12"
        assert (state.run.handle, state.run.observation) == ("pid 7", "accepted")
        assert state.run.released_at < session.now
        assert state.inquiry.by is Inspector.PROGRAM

    def test_of_an_unknown_that_was_not_seen_running_is_nothing_new(self):
        session = executing(Effect.FENCEABLE)
        execution = session.execution()
        session.lose()
        judged = session.tried(ToolLost, **execution, cause="again")
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "already-unknown")

    def test_of_a_read_that_was_told_to_stop_means_that_it_stopped(self):
        session = executing(Effect.PURE)
        session.abort()
        session.lose()
        assert session.outcome() == CancelledCall(EffectSeen.NONE)

    def test_of_an_aborted_read_after_a_resume_is_a_stop(self):
        session = executing(Effect.PURE)
        session.abort(AbortScope.CALL, "1.1.0")
        session.resume()
        assert session.outcome() == CancelledCall(EffectSeen.NONE)


class TestADeadline:
    def test_of_a_read_is_a_failure(self):
        session = executing(Effect.PURE)
        session.fire("deadline/1.1.0")
        assert session.outcome() == FailedCall("timed out", "timeout")

    @pytest.mark.req("R-153")
    @pytest.mark.parametrize("effect", ASKED)
    def test_of_what_acts_makes_it_unknown_tells_it_to_stop_and_looks(self, effect):
        session = executing(effect)
        session.fire("deadline/1.1.0")
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert {"execute-tool 1.1.0", "cancel-tool 1.1.0", "start-timer grace/1.1.0", "inspect-effect 1.1.0"} <= set(
            session.waits
        )
        assert asked(session) is ASKED[effect]

    def test_of_a_keyed_call_runs_it_again_only_once_that_attempt_has_ended(self):
        session = executing(Effect.KEYED)
        session.fire("deadline/1.1.0")
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert "inspect-effect 1.1.0" not in session.waits
        session.lose()
        assert session.calls == {"1.1.0": "Released"}

    def test_of_a_keyed_call_that_does_not_confirm_is_asked_of_a_person(self):
        session = executing(Effect.KEYED)
        session.fire("deadline/1.1.0")
        session.fire("grace/1.1.0")
        session.fire("inquiry/1.1.0")
        assert asked(session) is Inspector.PERSON

    def test_grace_withdraws_the_order_to_stop(self):
        session = executing(Effect.FENCEABLE)
        session.fire("deadline/1.1.0")
        session.fire("grace/1.1.0")
        assert "cancel-tool 1.1.0" not in session.waits
        assert "execute-tool 1.1.0" not in session.waits
        assert "inspect-effect 1.1.0" in session.waits

    @pytest.mark.parametrize("effect", BY_PROGRAM)
    def test_then_the_end_of_the_attempt_keeps_the_look_that_is_under_way(self, effect):
        session = executing(effect)
        session.fire("deadline/1.1.0")
        order = session.the(InspectEffect)
        session.lose()
        assert session.the(InspectEffect) == order
        assert "cancel-tool 1.1.0" not in session.waits

    def test_then_the_end_of_the_attempt_ends_the_pause_between_looks(self):
        session = executing(Effect.FENCEABLE)
        session.fire("deadline/1.1.0")
        session.inspected(Finding.STILL_RUNNING)
        assert "start-timer inquiry/1.1.0" in session.waits
        session.lose()
        assert "inspect-effect 1.1.0" in session.commands

    def test_a_tool_names_its_own_deadline(self):
        session = executing(Effect.FENCEABLE, timeout_ms=5)
        run = session.call().state.run
        assert run.due_at == run.covered_at + 5

    def test_none_sets_no_deadline(self):
        session = executing(Effect.FENCEABLE, limits=Limits(tool_ms=None))
        assert "start-timer deadline/1.1.0" not in session.waits

    @pytest.mark.req("R-223")
    @pytest.mark.parametrize("effect", ACTING)
    def test_and_a_success_that_came_first_is_a_success(self, effect):
        session = executing(effect, calls=2)
        session.succeed("1.1.0")
        assert "start-timer deadline/1.1.0" not in session.waits
        assert session.outcome("1.1.0") == Succeeded("ok")

    @pytest.mark.parametrize("effect", ACTING)
    def test_and_a_failure_after_it_is_a_failure_that_had_timed_out(self, effect):
        session = executing(effect)
        session.fire("deadline/1.1.0")
        session.fail(error="disk full")
        assert session.outcome() == FailedCall("disk full", timed_out=True)


class TestAnAbort:
    @pytest.mark.req("R-176", "R-177", "R-178", "R-238", "D-7")
    @pytest.mark.parametrize("effect", Effect)
    def test_is_cancellation_requested_until_it_is_confirmed(self, effect):
        session = executing(effect)
        session.abort()
        assert session.phase is Stopping
        assert session.calls == {"1.1.0": "CancellationRequested"}
        assert {"execute-tool 1.1.0", "cancel-tool 1.1.0", "start-timer grace/1.1.0"} <= set(session.waits)

    @pytest.mark.parametrize("effect", Effect)
    @pytest.mark.parametrize("seen", [EffectSeen.NONE, EffectSeen.DONE])
    def test_that_is_confirmed_settles_with_what_is_proved(self, effect, seen):
        session = executing(effect)
        session.abort()
        session.stopped(seen)
        session.all_saved()
        assert session.phase is Cancelled
        assert session.outcome() == CancelledCall(seen)

    @pytest.mark.parametrize(
        ("effect", "state"),
        [
            (Effect.KEYED, "EffectUnknown"),
            (Effect.FENCEABLE, "EffectUnknown"),
            (Effect.INSPECTABLE, "EffectUnknown"),
        ],
    )
    def test_confirmed_without_proof_leaves_an_unknown(self, effect, state):
        session = executing(effect)
        session.abort()
        session.stopped(EffectSeen.UNPROVED)
        assert session.calls == {"1.1.0": state}
        assert "cancel-tool 1.1.0" not in session.waits
        assert asked(session) is ASKED.get(effect, Inspector.PERSON)

    def test_confirmed_without_proof_settles_an_opaque_call_into_the_register(self):
        session = executing(Effect.OPAQUE)
        session.abort()
        session.stopped(EffectSeen.UNPROVED)
        session.all_saved()
        assert session.phase is Cancelled
        assert session.outcome() == CancelledCall(EffectSeen.UNPROVED)
        assert session.register == {"1.1.0": "Settled"}
        assert "may have happened" in session.result().content

    def test_confirmed_without_proof_settles_a_read(self):
        session = executing(Effect.PURE)
        session.abort()
        session.stopped(EffectSeen.UNPROVED)
        assert session.outcome() == CancelledCall(EffectSeen.NONE)

    def test_of_one_opaque_call_that_stays_unproved_asks_a_person(self):
        session = executing(Effect.OPAQUE)
        session.abort(AbortScope.CALL, "1.1.0")
        session.stopped(EffectSeen.UNPROVED)
        assert session.phase is RunningTools
        assert asked(session) is Inspector.PERSON

    @pytest.mark.parametrize("effect", ACTING)
    def test_that_nobody_confirms_becomes_unknown_after_its_grace(self, effect):
        session = executing(effect)
        session.abort()
        session.fire("grace/1.1.0")
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert "execute-tool 1.1.0" not in session.waits

    def test_of_a_read_ends_with_its_grace(self):
        session = executing(Effect.PURE)
        session.abort()
        session.fire("grace/1.1.0")
        assert session.outcome() == CancelledCall(EffectSeen.NONE)

    @pytest.mark.req("R-223")
    def test_that_loses_the_race_against_a_result_leaves_the_result(self):
        session = executing(Effect.FENCEABLE)
        session.abort()
        session.succeed(result="written")
        session.all_saved()
        assert session.phase is Cancelled
        assert session.outcome() == Succeeded("written")

    @pytest.mark.req("R-223")
    def test_that_wins_the_race_against_a_result_refuses_the_result(self):
        session = executing(Effect.FENCEABLE, calls=2)
        execution = session.execution("1.1.0")
        session.abort()
        session.stopped(EffectSeen.NONE, "1.1.0")
        judged = session.tried(ToolSucceeded, **execution, result="written")
        assert judged.rejection.code is RejectionCode.CONTRADICTS_ABSENCE
        assert session.outcome("1.1.0") == CancelledCall(EffectSeen.NONE)

    @pytest.mark.parametrize("effect", ASKED)
    def test_reaches_an_unknown_one(self, effect):
        session = unknown(effect)
        session.abort()
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert {"cancel-tool 1.1.0", "start-timer grace/1.1.0", "inspect-effect 1.1.0"} <= set(session.waits)

    def test_of_an_unknown_past_its_deadline_keeps_the_first_order_to_stop(self):
        session = executing(Effect.FENCEABLE)
        session.fire("deadline/1.1.0")
        order = session.the(CancelTool)
        session.abort()
        assert session.the(CancelTool) == order

    def test_of_one_call_again_is_the_same_order(self):
        session = executing(Effect.FENCEABLE, calls=2)
        session.abort(AbortScope.CALL, "1.1.0")
        order = session.the(CancelTool)
        session.abort(AbortScope.CALL, "1.1.0")
        assert session.the(CancelTool) == order
        session.fire("grace/1.1.0")
        session.abort(AbortScope.CALL, "1.1.0")
        later = session.the(CancelTool)
        session.abort(AbortScope.CALL, "1.1.0")
        assert session.the(CancelTool) == later != order

    @pytest.mark.req("D-7", "R-206")
    @pytest.mark.parametrize("effect", ACTING)
    def test_and_a_second_act_gives_the_prompt_back_with_the_effect_listed(self, effect):
        session = executing(effect)
        session.abort()
        session.fire("grace/1.1.0")
        session.abort()
        session.all_saved()
        assert session.phase is Cancelled
        assert session.outcome() == Abandoned("user")
        assert session.register == {"1.1.0": "Settled"}
        session.reopen()
        session.prompt("Next.")
        assert session.phase is AwaitingModel

    def test_and_a_second_act_ends_a_read_without_effect(self):
        session = executing(Effect.PURE)
        session.abort()
        session.abort()
        assert session.outcome() == CancelledCall(EffectSeen.NONE)

    def test_and_a_second_act_does_not_wait_for_a_confirmation(self):
        session = executing(Effect.FENCEABLE)
        session.abort()
        session.abort()
        assert session.because is Because.WORK_STOPPED
        assert session.outcome() == Abandoned("user")


class TestAResume:
    @pytest.mark.parametrize("effect", ASKED)
    def test_makes_what_may_have_acted_unknown(self, effect):
        session = executing(effect)
        session.resume()
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert asked(session) is ASKED[effect]
        assert session.call().state.run.resumed

    @pytest.mark.req("G-12")
    @pytest.mark.parametrize("effect", ASKED)
    def test_does_so_with_a_release_that_no_checkpoint_covered(self, effect):
        session = Session(tool("write", effect))
        session.propose("write")
        session.allow()
        assert session.calls == {"1.1.0": "Released"}
        session.resume()
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert session.call().state.run.covered_at == session.now

    @pytest.mark.parametrize("effect", [Effect.PURE, Effect.KEYED])
    def test_runs_again_what_may_run_again_after_a_new_review(self, effect):
        session = executing(effect)
        session.resume()
        assert session.calls == {"1.1.0": "Proposed"}
        session.allow()
        session.all_saved()
        assert session.execution() == {"call_id": "1.1.0", "epoch": 1, "attempt": 2}

    @pytest.mark.parametrize("effect", ACTING)
    def test_while_stopping_asks_about_what_may_have_acted(self, effect):
        session = executing(effect)
        session.abort()
        session.resume()
        assert session.phase is Stopping
        assert session.calls == {"1.1.0": "EffectUnknown"}
        assert asked(session) is ASKED.get(effect, Inspector.PERSON)

    def test_refuses_what_the_dead_process_read(self):
        session = executing(Effect.PURE)
        execution = session.execution()
        session.resume()
        judged = session.tried(ToolSucceeded, **execution, result="late")
        assert judged.rejection.code is RejectionCode.STALE_ATTEMPT

    def test_while_stopping_settles_a_read(self):
        session = executing(Effect.PURE)
        session.abort()
        session.resume()
        assert session.outcome() == NotExecuted(NotExecutedReason.TURN_STOPPED)

    @pytest.mark.parametrize("effect", ASKED)
    def test_asks_anew_about_what_was_being_looked_into(self, effect):
        session = unknown(effect)
        before = session.the(InspectEffect)
        session.resume()
        after = session.the(InspectEffect)
        assert (after.epoch, after.attempt) == (1, before.attempt + 1)
        assert not session.call().state.run.resumed

    def test_keeps_the_pause_between_two_looks(self):
        session = unknown()
        session.inspected(Finding.UNAVAILABLE)
        due = session.call().state.inquiry.resume_at
        session.resume(dead_ms=50)
        assert session.call().state.inquiry.resume_at == due + 51
        assert "start-timer inquiry/1.1.0" in session.commands

    def test_forgets_an_order_to_stop_a_dead_process(self):
        session = executing(Effect.FENCEABLE)
        session.fire("deadline/1.1.0")
        session.resume()
        assert "cancel-tool 1.1.0" not in session.waits
        assert "execute-tool 1.1.0" not in session.waits

    def test_keeps_a_proved_absence(self):
        session = unknown(calls=2)
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no row")
        session.resume()
        assert session.call("1.1.0").state.proved_absent == "no row"

    @pytest.mark.req("D-8", "G-12")
    def test_then_a_conclusive_absence_runs_it_again_by_default(self):
        session = executing(Effect.FENCEABLE)
        session.resume()
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        assert session.calls == {"1.1.0": "Proposed"}
        session.allow()
        assert session.calls == {"1.1.0": "Released"}
        session.all_saved()
        assert session.execution()["attempt"] == 2

    def test_then_a_tool_may_report_instead(self):
        session = executing(Effect.FENCEABLE, absent_after_resume="report")
        session.resume()
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no row")
        assert session.outcome() == NotExecuted(NotExecutedReason.PROVED_ABSENT, "no row")

    def test_a_late_success_of_the_attempt_it_made_unknown_settles_it(self):
        session = executing(Effect.FENCEABLE)
        execution = session.execution()
        session.resume()
        session.give(ToolSucceeded, **execution, result="done")
        assert session.outcome() == Succeeded("done", timed_out=True)


@pytest.mark.req("R-157", "R-242")
def test_a_person_who_says_only_that_it_happened_is_understood():
    session = unknown(tool())
    session.tried(EffectResolved, call_id="1.1.0", resolution=Resolution.EXECUTED)
    results = [message for message in session.state.history if isinstance(message, ToolMessage)]
    assert "It happened" in results[-1].results[0].content
