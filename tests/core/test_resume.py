"""Resuming: legal in every state; what may have been under way becomes what is proved; bounded and shifted."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Verdict
from agentcore.commands import CompactContext, InspectEffect, PersistCheckpoint, PrepareStep, ReviewCompletion
from agentcore.events import (
    CheckpointWritten,
    DamageKind,
    Finding,
    Inspector,
    ModelReplied,
    Recovery,
    Resolution,
    SessionResumed,
    StepPrepared,
    Suspect,
)
from agentcore.messages import Abandoned, NotExecuted, NotExecutedReason, Succeeded
from agentcore.rejections import RejectionCode
from agentcore.states import (
    AwaitingModel,
    AwaitingRetry,
    Because,
    Completed,
    Failed,
    Idle,
    ReviewingCompletion,
    RunningTools,
    Saving,
    Stopping,
    StopReason,
)
from tests.core.driver import Session, asked, executing, tool, unknown


@pytest.mark.req("R-194", "R-004")
class TestEveryPhase:
    def test_idle_stays(self):
        session = Session()
        session.resume()
        assert session.phase is Idle
        assert session.state.epoch == 1
        assert session.commands == ()

    @pytest.mark.parametrize("opened", [False, True])
    def test_a_request_becomes_its_next_attempt(self, opened):
        session = Session()
        session.prompt()
        if opened:
            session.opened()
        session.resume()
        assert session.phase is AwaitingModel
        order = session.the(type(session.ordered[-2]))
        assert (order.request_id, order.epoch, order.attempt) == ("1.1", 1, 2)

    def test_a_preparation_is_ordered_anew(self):
        session = Session(prepares_steps=True)
        session.prompt()
        first = session.the(PrepareStep)
        session.resume()
        again = session.the(PrepareStep)
        assert (again.epoch, again.attempt) == (1, first.attempt + 1)
        late = session.tried(StepPrepared, request_id="1.1", epoch=0, attempt=1)
        assert late.rejection.code is RejectionCode.STALE_ATTEMPT
        session.prepared()
        assert session.phase is AwaitingModel

    def test_a_preparation_is_skipped_where_the_host_no_longer_prepares(self):
        session = Session(prepares_steps=True)
        session.prompt()
        session.resume(prepares_steps=False)
        assert session.phase is AwaitingModel

    def test_a_compaction_is_ordered_anew(self):
        session = Session(limits=Limits(compact_at_tokens=0))
        session.prompt()
        session.resume()
        assert (session.the(CompactContext).epoch, session.the(CompactContext).attempt) == (1, 2)

    def test_a_wait_for_a_retry_goes_on_shifted_by_the_dead_time(self):
        session = Session()
        session.prompt()
        session.model_fails()
        due = session.state.phase.due_at
        session.resume(dead_ms=500)
        assert session.phase is AwaitingRetry
        assert session.state.phase.due_at == due + 501
        assert session.because is Because.SESSION_RESUMED

    def test_a_review_of_the_completion_is_ordered_anew(self):
        session = Session(reviews_completion=True)
        session.prompt()
        session.reply("Done.")
        session.resume()
        assert session.phase is ReviewingCompletion
        assert (session.the(ReviewCompletion).epoch, session.the(ReviewCompletion).attempt) == (1, 2)

    def test_a_review_is_skipped_where_the_host_no_longer_reviews(self):
        session = Session(reviews_completion=True)
        session.prompt()
        session.reply("Done.")
        session.resume(reviews_completion=False)
        session.all_saved()
        assert session.phase is Completed

    def test_a_wait_for_tasks_goes_on(self):
        session = Session(tool("job", detached=True, required=True))
        session.execute("job")
        session.detach("1.1.0")
        session.reply("Done.")
        session.resume()
        assert session.phase is ReviewingCompletion
        assert session.register == {"1.1.0": "EffectUnknown"}

    def test_unreviewed_calls_are_reviewed_again(self):
        session = Session(tool())
        session.propose("write", "write")
        session.allow()
        session.ask()
        session.resume()
        assert session.calls == {"1.1.0": "Proposed", "1.1.1": "Proposed"}
        assert session.phase is RunningTools

    def test_a_stopping_request_has_ended(self):
        session = Session()
        session.prompt()
        session.abort()
        session.resume()
        assert session.phase is Saving

    def test_saving_asks_for_its_checkpoint_anew(self):
        session = Session()
        session.prompt()
        session.reply("Done.")
        before = session.the(PersistCheckpoint)
        session.resume()
        after = session.the(PersistCheckpoint)
        assert session.phase is Saving
        assert (after.epoch, after.attempt) == (1, before.attempt + 1)
        late = session.tried(CheckpointWritten, seq=before.seq, epoch=0, attempt=before.attempt)
        assert late.rejection.code is RejectionCode.STALE_ATTEMPT

    def test_an_end_stays(self):
        session = Session()
        session.prompt()
        session.answer()
        session.resume()
        assert session.phase is Completed
        assert session.commands == ()

    def test_everything_that_is_outstanding_is_ordered(self):
        session = unknown(calls=2)
        session.resume()
        assert session.commands == session.waits

    def test_a_checkpoint_that_waited_for_its_retry_is_asked_for_at_once(self):
        session = executing()
        session.succeed()
        session.save_fails()
        assert "start-timer checkpoint" in session.waits
        session.resume()
        assert "start-timer checkpoint" not in session.waits
        assert session.the(PersistCheckpoint)

    def test_answers_of_the_dead_process_are_stale(self):
        session = Session()
        session.prompt()
        session.resume()
        judged = session.tried(ModelReplied, request_id="1.1", epoch=0, attempt=1, parts=())
        assert judged.rejection.code is RejectionCode.STALE_ATTEMPT

    def test_a_clock_that_went_backwards_counts_as_no_time(self):
        session = Session(limits=Limits(turn_ms=100))
        session.prompt()
        due = session.state.turn.due_at
        judged = session.given(SessionResumed(at=-5, config=session.state.config))
        assert judged.verdict is Verdict.ACCEPTED
        assert session.state.turn.due_at == due


class TestTheConfiguration:
    @pytest.mark.req("R-112")
    def test_of_the_resuming_host_is_in_force(self):
        session = Session(tool())
        session.prompt()
        session.resume(tools=(tool("read", Effect.PURE),), instructions="Be brief.")
        assert session.state.config.tool("write") is None
        assert session.state.config.instructions == "Be brief."

    def test_does_not_change_the_contract_of_a_call_that_stands(self):
        session = executing(Effect.FENCEABLE)
        session.resume(tools=(tool("write", Effect.PURE),))
        assert session.call().contract.effect is Effect.FENCEABLE

    def test_with_smaller_limits_ends_a_turn_that_has_used_them_up(self):
        session = Session()
        session.prompt()
        session.resume(limits=Limits(cost_micros=0))
        assert session.stop is StopReason.MAX_COST


@pytest.mark.req("G-5", "R-068")
class TestTheBound:
    def test_counts_resumes_of_one_step_with_work_under_way(self):
        session = executing(Effect.OPAQUE, limits=Limits(resumes=1))
        session.resume()
        assert session.phase is RunningTools
        assert session.state.turn.counters.resumes == 1

    def test_does_not_count_while_a_person_is_asked(self):
        session = Session(tool(), limits=Limits(resumes=0))
        session.propose("write")
        session.ask()
        session.resume()
        session.ask()
        session.resume()
        assert session.phase is RunningTools

    def test_does_not_count_while_an_unknown_waits_for_a_person(self):
        session = executing(Effect.OPAQUE, limits=Limits(resumes=1))
        session.lose()
        for _ in range(5):
            session.resume()
        assert session.phase is RunningTools

    def test_of_the_next_step_begins_anew(self):
        session = executing(Effect.PURE, limits=Limits(resumes=1))
        session.resume()
        session.allow()
        session.succeed()
        session.resume()
        assert session.phase is AwaitingModel

    def test_tripped_in_a_request_ends_the_turn(self):
        session = Session(limits=Limits(resumes=0))
        session.prompt()
        session.resume()
        session.all_saved()
        assert session.phase is Failed
        assert session.stop is StopReason.RESUMES
        assert dict(session.ending.evidence)["resumes"] == "1"

    @pytest.mark.parametrize("effect", [Effect.KEYED, Effect.FENCEABLE, Effect.INSPECTABLE, Effect.OPAQUE])
    def test_tripped_in_an_execution_is_quiet_only_people_are_asked(self, effect):
        session = executing(effect, limits=Limits(resumes=0))
        session.resume()
        assert session.phase is Stopping
        assert session.state.phase.quiet
        assert asked(session) is Inspector.PERSON
        assert {name.split()[0] for name in session.waits} <= {"persist-checkpoint", "inspect-effect", "start-timer"}

    def test_tripped_in_a_read_settles_it(self):
        session = executing(Effect.PURE, limits=Limits(resumes=0))
        session.resume()
        session.all_saved()
        assert session.outcome() == NotExecuted(NotExecutedReason.TURN_STOPPED)
        assert session.stop is StopReason.RESUMES

    def test_tripped_settles_what_was_not_started(self):
        session = executing(calls=2, limits=Limits(resumes=0, max_parallel=1))
        session.resume()
        assert session.calls == {"1.1.0": "EffectUnknown", "1.1.1": "Settled"}

    def test_tripped_with_a_proved_absence_reports_it(self):
        session = unknown(calls=2, limits=Limits(resumes=0))
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no row")
        session.resume()
        assert session.outcome("1.1.0") == NotExecuted(NotExecutedReason.PROVED_ABSENT, "no row")

    def test_tripped_while_stopping_is_quiet_whatever_the_reason_was(self):
        session = executing(limits=Limits(resumes=0))
        session.abort()
        session.resume()
        assert session.phase is Stopping
        assert session.state.phase.quiet
        assert session.stop is StopReason.USER_ABORT
        assert ("resumes", "1") in session.ending.evidence
        assert asked(session) is Inspector.PERSON

    def test_counts_a_request_that_was_being_stopped(self):
        session = Session(limits=Limits(resumes=0))
        session.prompt()
        session.abort()
        session.resume()
        assert ("resumes", "1") in session.ending.evidence
        assert session.stop is StopReason.USER_ABORT

    def test_quiet_is_lifted_for_one_call_by_asking_for_a_look(self):
        session = executing(calls=2, limits=Limits(resumes=0))
        session.resume()
        session.inspect("1.1.0")
        assert asked(session, "1.1.0") is Inspector.PROGRAM
        assert asked(session, "1.1.1") is Inspector.PERSON
        session.inspected(Finding.UNAVAILABLE, "1.1.0")
        assert asked(session, "1.1.0") is Inspector.PERSON

    def test_quiet_tells_nothing_to_stop_again(self):
        session = executing(limits=Limits(resumes=0))
        session.resume()
        session.inspected(Finding.STILL_RUNNING, by="anna")
        assert not [name for name in session.waits if name.startswith("cancel-tool")]

    def test_quiet_ends_with_a_persons_word(self):
        session = executing(limits=Limits(resumes=0))
        session.resume()
        session.resolve(Resolution.EXECUTED, result="seen")
        session.all_saved()
        assert session.phase is Failed
        assert isinstance(session.outcome(), Succeeded)

    def test_quiet_ends_with_an_abort(self):
        session = executing(limits=Limits(resumes=0))
        session.resume()
        session.abort()
        session.all_saved()
        assert session.outcome() == Abandoned("user")

    def test_quiet_stays_over_another_resume_and_asks_anew(self):
        session = executing(limits=Limits(resumes=0))
        session.resume()
        before = session.the(InspectEffect)
        session.resume()
        assert session.state.phase.quiet
        assert session.the(InspectEffect) != before
        assert asked(session) is Inspector.PERSON

    def test_quiet_asks_at_once_what_paused_between_two_looks(self):
        session = executing(calls=2, limits=Limits(resumes=0))
        session.abort()
        session.fire("grace/1.1.0")
        session.inspected(Finding.STILL_RUNNING, "1.1.0")
        assert "start-timer inquiry/1.1.0" in session.waits
        session.resume()
        assert session.state.phase.quiet
        assert asked(session, "1.1.0") is Inspector.PERSON

    def test_quiet_asks_no_program_about_a_task(self):
        session = Session(tool("job", detached=True), tool(), limits=Limits(resumes=0))
        session.execute("job", "write")
        session.detach("1.1.0")
        session.resume()
        assert session.state.phase.quiet
        assert asked(session, "1.1.0") is Inspector.PERSON


@pytest.mark.req("R-201", "R-202", "R-163")
class TestWhatTheStoreFound:
    def test_stands_in_the_evidence(self):
        session = Session()
        session.prompt()
        recovery = Recovery(last_seq=1, damage=DamageKind.TORN_TAIL, place="s/1.ndjson:120", gap_accepted_by="anna")
        session.resume(recovery=recovery)
        assert session.phase is AwaitingModel
        evidence = dict(session.state.phase.transition.evidence)
        assert evidence["epoch"] == "1"
        assert evidence["damage"] == "torn-tail"
        assert evidence["gap_accepted_by"] == "anna"

    def test_suspects_enter_the_register_and_a_person_is_asked(self):
        session = Session(tool())
        session.resume(recovery=Recovery(suspects=(Suspect(call_id="3.1.0", name="write", arguments='{"x":1}'),)))
        assert session.register == {"3.1.0": "EffectUnknown"}
        assert asked(session, "3.1.0") is Inspector.PERSON
        entry = session.call("3.1.0")
        assert (entry.name, entry.arguments, entry.contract.effect) == ("write", '{"x":1}', Effect.FENCEABLE)
        assert entry.state.transition.because is Because.GAP_SUSPECTED
        assert (entry.state.run.epoch, entry.state.run.attempt, entry.tries.executions) == (session.state.epoch, 1, 1)
        assert session.the(PersistCheckpoint)

    def test_a_suspect_of_no_known_tool_is_opaque(self):
        session = Session()
        session.resume(recovery=Recovery(suspects=(Suspect(call_id="3.1.0", name=""),)))
        assert session.call("3.1.0").contract.effect is Effect.OPAQUE
        assert session.call("3.1.0").name

    def test_a_suspect_can_be_resolved_and_the_model_is_told(self):
        session = Session(tool())
        session.resume(recovery=Recovery(suspects=(Suspect(call_id="3.1.0", name="write"),)))
        session.resolve(Resolution.NOT_EXECUTED, "3.1.0")
        session.prompt()
        assert session.said[-1].startswith("notice: Notice about write (call 3.1.0): Not executed")

    def test_a_suspect_that_is_known_already_is_what_it_is(self):
        session = executing(calls=2)
        session.succeed("1.1.0")
        suspects = (Suspect(call_id="1.1.0", name="write"), Suspect(call_id="1.1.1", name="write"))
        session.resume(recovery=Recovery(suspects=suspects))
        assert session.register == {}
        assert session.calls == {"1.1.0": "Settled", "1.1.1": "EffectUnknown"}

    def test_a_suspect_whose_result_is_written_is_what_it_was(self):
        session = executing()
        session.succeed()
        session.resume(recovery=Recovery(suspects=(Suspect(call_id="1.1.0", name="write"),)))
        assert session.register == {}

    def test_a_suspect_that_had_not_started_as_far_as_we_know_is_asked_about(self):
        session = Session(tool())
        session.propose("write", "write")
        session.resume(recovery=Recovery(suspects=(Suspect(call_id="1.1.1", name="write"),)))
        assert session.calls == {"1.1.0": "Proposed", "1.1.1": "EffectUnknown"}
        assert asked(session, "1.1.1") is Inspector.PERSON

    @pytest.mark.req("G-1", "R-027")
    def test_no_call_minted_later_shares_an_id_with_a_suspect(self):
        session = Session(tool())
        session.prompt()
        session.answer()
        session.resume(recovery=Recovery(gap_accepted_by="anna", suspects=(Suspect(call_id="2.1.0", name="write"),)))
        session.reopen()
        session.propose("write")
        assert "2.1.0" not in session.calls
        session.allow()
        session.all_saved()
        session.succeed()
        session.answer()
        assert session.phase is Completed

    @pytest.mark.parametrize(
        "phase", ["Preparing", "AwaitingModel", "AwaitingRetry", "Compacting", "ReviewingCompletion"]
    )
    @pytest.mark.parametrize("call_id", ["1.1.0", "1.3.0"])
    def test_no_call_of_the_running_turn_shares_an_id_with_a_suspect(self, phase, call_id):
        session = Session(
            tool(),
            prepares_steps=phase == "Preparing",
            limits=Limits(compact_at_tokens=0 if phase == "Compacting" else None),
            reviews_completion=phase == "ReviewingCompletion",
        )
        session.prompt()
        if phase == "AwaitingRetry":
            session.model_fails()
        if phase == "ReviewingCompletion":
            session.reply("Done.")
        assert session.phase.__name__ == phase
        session.resume(recovery=Recovery(gap_accepted_by="anna", suspects=(Suspect(call_id=call_id, name="write"),)))
        match phase:
            case "Preparing":
                session.prepared()
            case "AwaitingRetry":
                session.fire(next(name for name in session.waits if "retry/" in name).split()[1])
            case "Compacting":
                session.compacted(covers_to=0)
            case "ReviewingCompletion":
                session.refuse("Go on.")
        session.execute("write")
        assert call_id not in session.calls
        session.succeed(next(iter(session.calls)))
        assert session.phase.__name__ in ("AwaitingModel", "Preparing", "Compacting")

    @pytest.mark.parametrize("call_id", ["", "x", "1", "a.b.c", "9" * 5_000 + ".1.0", "-1.2.3"])
    def test_a_suspect_under_a_strange_id_bricks_nothing(self, call_id):
        session = Session(tool())
        judged = session.given(
            SessionResumed(
                at=5, config=session.state.config, recovery=Recovery(suspects=(Suspect(call_id=call_id, name="write"),))
            )
        )
        assert judged.verdict is Verdict.ACCEPTED
        session.now = 5
        session.execute("write")
        session.succeed()
        session.answer()
        assert session.phase is Completed


@pytest.mark.req("R-224", "R-201")
def test_a_log_that_ends_with_effect_started_abort_requested_and_half_a_line():
    session = executing(Effect.FENCEABLE)
    session.started(handle="pid 7")
    session.abort()
    recovery = Recovery(
        last_seq=session.state.seq, damage=DamageKind.TORN_TAIL, place="s/1.ndjson:733", kept_at="s/torn"
    )
    session.resume(dead_ms=60_000, recovery=recovery)
    assert session.phase is Stopping, "an abort that was asked for is not one that happened"
    assert session.calls == {"1.1.0": "EffectUnknown"}
    assert "inspect-effect 1.1.0" in session.commands
    assert session.call().state.run.handle == "pid 7"
    session.inspected(Finding.EXECUTED, result="written")
    session.all_saved()
    assert session.stop is StopReason.USER_ABORT
    assert isinstance(session.outcome(), Succeeded)


@pytest.mark.req("G-12", "R-223")
def test_a_power_cut_that_took_the_covering_checkpoints_record_makes_no_second_deed():
    session = Session(tool())
    session.propose("write")
    session.allow()
    while not [name for name in session.waits if name.startswith("execute-tool")]:
        kept = session.state
        session.saved()
    session.succeed(result="written")
    # The journal lost everything behind the release: only what was durable when it was ordered is certain.
    session.state, session.ordered, session.newest = kept, (), {}
    assert session.calls == {"1.1.0": "Released"}
    session.resume()
    assert session.calls == {"1.1.0": "EffectUnknown"}
    assert not [name for name in session.commands if name.startswith("execute-tool")]
    session.inspected(Finding.EXECUTED, result="written")
    session.answer()
    assert session.phase is Completed
