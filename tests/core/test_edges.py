"""The edges and words that the requirements name, shown in this vocabulary: minimum edges, scales, continue reasons."""

from __future__ import annotations

import attrs
import pytest

from agentcore import TABLES, Effect, Limits, Policy
from agentcore.events import EVENTS, AbortScope, Finding, ModelFailure
from agentcore.messages import DenialCase, DeniedCall, FinishReason, ReasoningPart, Succeeded
from agentcore.rejections import Rejection
from agentcore.states import (
    CALL_STATES,
    ENDS,
    PHASES,
    WORKING,
    AwaitingApproval,
    AwaitingModel,
    Because,
    Cancelled,
    Completed,
    Counters,
    RunningTools,
    State,
    Turn,
)
from agentcore.table import Kind
from tests.core.driver import Session, call, executing, tool, unknown


@pytest.mark.req("R-051", "D-7", "D-8")
class TestMinimumEdges:
    def test_idle_submit_requesting(self):
        session = Session()
        session.prompt()
        assert session.phase is AwaitingModel

    def test_requesting_tool_call_waiting(self):
        session = Session(tool())
        session.propose("write")
        assert session.calls == {"1.1.0": "Proposed"}

    def test_requesting_final_text_completed(self):
        session = Session()
        session.prompt()
        session.answer()
        assert session.phase is Completed

    def test_waiting_policy_allow_executing(self):
        assert executing().calls == {"1.1.0": "Executing"}

    def test_waiting_policy_block_denied(self):
        session = Session(tool())
        session.propose("write")
        session.block()
        assert session.outcome() == DeniedCall(DenialCase.STATIC, "no-writes", "forbidden")

    def test_executing_tool_result_requesting(self):
        session = executing()
        session.succeed()
        assert session.phase is AwaitingModel

    def test_executing_timeout_unknown(self):
        session = executing()
        session.fire("deadline/1.1.0")
        assert session.calls == {"1.1.0": "EffectUnknown"}

    def test_unknown_inspect_still_unknown(self):
        session = unknown()
        session.inspected(Finding.UNAVAILABLE)
        assert session.calls == {"1.1.0": "EffectUnknown"}

    def test_unknown_confirmed_not_executed_requesting(self):
        session = unknown()
        session.inspected(Finding.NOT_EXECUTED, conclusive=True, evidence="no row")
        assert session.phase is AwaitingModel
        assert (session.outcome().evidence, session.outcome().retryable) == ("no row", True)

    def test_unknown_late_success_completed(self):
        session = unknown()
        session.inspected(Finding.EXECUTED, result="row 3")
        assert isinstance(session.outcome(), Succeeded)

    @pytest.mark.parametrize("running", [False, True])
    def test_executing_or_requesting_abort_cancelled(self, running):
        session = executing() if running else Session()
        if not running:
            session.prompt()
        session.abort()
        session.stopped() if running else session.model_stops()
        session.all_saved()
        assert session.phase is Cancelled


@pytest.mark.req("R-058", "D-12", "R-119")
def test_a_question_to_a_person_has_exits_of_its_own_inside_the_machine():
    targets = {target.__name__ for row in TABLES.call if row.source is AwaitingApproval for target in row.to}
    events = {row.event.__name__ for row in TABLES.call if row.source is AwaitingApproval and row.kind is Kind.STEP}
    assert {"Ready", "Settled"} <= targets
    assert {"ApprovalGranted", "ApprovalDenied", "TimerFired"} <= events
    assert "Executing" not in targets


@pytest.mark.req("R-060", "D-11")
@pytest.mark.parametrize("phase", WORKING)
def test_every_phase_at_work_can_be_ended_by_a_row(phase):
    reached = {target.__name__ for row in TABLES.turn if row.source is phase for target in row.to}
    assert {"Saving"} <= reached or {"Stopping"} <= reached


@pytest.mark.req("R-030", "R-031", "R-032", "R-029", "R-035")
def test_the_states_of_the_sources_have_their_names_here():
    phases, calls = {each.__name__ for each in PHASES}, {each.__name__ for each in CALL_STATES}
    assert {"Idle", "Preparing", "AwaitingModel", "Streaming", "RunningTools", "Saving", "Stopping"} <= phases
    assert {"Completed", "Denied", "Cancelled", "Exhausted", "Failed"} == {each.__name__ for each in ENDS}
    assert {"Proposed", "AwaitingApproval", "Executing", "CancellationRequested", "EffectUnknown", "Settled"} <= calls


@pytest.mark.req("R-033", "R-034", "R-037")
def test_each_state_carries_its_own_data_and_no_pile_of_flags():
    for kind in (*PHASES, *CALL_STATES):
        flags = [field.name for field in attrs.fields(kind) if field.type in (bool, "bool")]
        assert len(flags) <= 4, kind
    assert "running" not in {field.name for field in attrs.fields(State)}


@pytest.mark.req("R-040", "R-041", "R-045", "R-024", "R-026")
def test_the_data_of_a_turn_stand_in_the_state():
    fields = {field.name for field in attrs.fields(State)}
    assert {"session_id", "config", "phase", "turn", "history", "queues", "register", "storage", "usage"} <= fields
    assert {"number", "step", "started_at", "due_at", "counters", "usage"} <= {each.name for each in attrs.fields(Turn)}
    assert {each.name for each in attrs.fields(Counters)} <= {each.name for each in attrs.fields(Limits)}


@pytest.mark.req("R-024", "R-025")
def test_a_session_holds_turns_and_a_turn_holds_steps():
    session = Session(tool("read", Effect.PURE))
    for turn in (1, 2):
        session.execute("read")
        session.succeed()
        session.answer()
        assert (session.state.turn.number, session.state.turn.step) == (turn, 2)
        session.reopen()


@pytest.mark.req("R-028", "R-164")
def test_every_unit_of_work_has_its_own_id_and_its_own_state():
    session = Session(tool("job", detached=True), tool())
    session.execute("job", "write")
    session.detach("1.1.0")
    session.lose("1.1.1")
    assert session.phase is RunningTools
    assert (session.register["1.1.0"], session.calls["1.1.1"]) == ("Executing", "EffectUnknown")


CONTINUES = {
    Because.RESULTS_APPENDED: lambda s: (s.execute("read"), s.succeed()),
    Because.STEERING_DELIVERED: lambda s: (s.prompt(), s.steer(), s.reply("Done.")),
    Because.ARGUMENTS_REPAIRED: lambda s: (s.propose("read"), s.refuse_arguments()),
    Because.UNKNOWN_TOOL_REPORTED: lambda s: s.propose("nope"),
    Because.TRUNCATION_REISSUED: lambda s: (s.prompt(), s.reply("Half", finish=FinishReason.LENGTH)),
    Because.EMPTY_REPLY_NUDGED: lambda s: (s.prompt(), s.reply()),
    Because.THINK_ONLY_NUDGED: lambda s: (s.prompt(), s.reply(ReasoningPart("Hm."))),
    Because.UNKNOWN_FINISH_NUDGED: lambda s: (s.prompt(), s.reply("Perhaps.", finish=FinishReason.UNKNOWN)),
    Because.COMPLETION_REFUSED: lambda s: (s.prompt(), s.reply("Done."), s.refuse()),
}
SAME_STEP = {
    Because.RETRY_DUE: lambda s: (s.prompt(), s.model_fails(), s.fire("retry/1.1")),
    Because.OVERFLOW_COMPACTED: lambda s: (s.prompt(), s.model_fails(ModelFailure.OVERFLOW), s.compacted()),
    Because.MEDIA_DOWNGRADED: lambda s: (s.prompt(), s.model_fails(ModelFailure.MEDIA_TOO_LARGE), s.compacted()),
}


@pytest.mark.req("R-152", "R-068", "R-043", "D-34")
class TestContinueReasons:
    @pytest.mark.parametrize("because", CONTINUES)
    def test_each_new_step_says_why_in_the_trace(self, because):
        session = Session(tool("read", Effect.PURE), reviews_completion=True)
        CONTINUES[because](session)
        assert because in session.hops
        assert session.state.request_id == "1.2"

    def test_a_missing_completion_says_so_too(self):
        session = Session(tool("finish", completes=True), policy=Policy(completion_required=True))
        session.prompt()
        session.reply("Done.")
        assert Because.COMPLETION_MISSING in session.hops

    @pytest.mark.parametrize("because", SAME_STEP)
    def test_each_return_to_the_same_step_says_why_in_the_state(self, because):
        session = Session()
        SAME_STEP[because](session)
        assert session.because is because
        assert session.state.request_id == "1.1"


@pytest.mark.req("R-085")
def test_a_retry_of_the_model_and_a_retry_of_a_write_are_different_acts():
    session = executing(calls=2)
    session.lose("1.1.0")
    session.inspected(Finding.NOT_EXECUTED, conclusive=True)
    session.retry()
    assert session.state.turn.counters.model_retries == 0
    assert session.call("1.1.0").tries.retries_used == 1


@pytest.mark.req("D-21")
def test_denied_is_a_permission_and_rejected_is_an_event():
    assert "Denied" in {each.__name__ for each in ENDS}
    assert not [each for each in (*PHASES, *CALL_STATES) if "Reject" in each.__name__]
    assert Rejection.__name__ == "Rejection"


@pytest.mark.req("D-24", "R-196", "R-044")
def test_no_event_carries_deltas():
    assert not [each.__name__ for each in EVENTS if "Delta" in each.__name__ or "Token" in each.__name__]


@pytest.mark.req("G-4", "G-10")
def test_after_an_abort_every_queued_item_is_delivered_withdrawn_or_still_queued():
    session = executing()
    delivered, withdrawn, queued = session.steer(), session.steer(), session.follow_up()
    session.withdraw(withdrawn)
    session.abort()
    session.stopped()
    session.all_saved()
    assert [each.message_id for each in session.state.queues.steering] == [delivered]
    assert [each.message_id for each in session.state.queues.follow_ups] == [queued]
    session.reopen()
    session.prompt("", queued=(delivered,))
    assert session.history[-1].message_id == delivered


@pytest.mark.req("G-11", "D-26")
def test_timers_are_commands_and_events():
    session = Session(tool(), limits=Limits(turn_ms=1_000))
    session.propose("write")
    assert "start-timer turn/1" in session.waits
    session.fire("turn/1")
    assert "start-timer turn/1" not in session.waits


@pytest.mark.req("D-18", "R-003", "G-9")
def test_compaction_and_retry_are_decided_here_and_done_elsewhere():
    session = Session(limits=Limits(compact_at_tokens=0))
    session.prompt()
    assert session.commands == ("compact-context 1.1",)
    session.compacted(covers_to=0)
    session.model_fails(output_shown=True)
    assert session.commands == ("start-timer retry/1.1",)


@pytest.mark.req("R-231")
def test_a_state_of_any_moment_can_be_taken_up_alone():
    session = executing(calls=2)
    kept = session.state
    session.succeed("1.1.0")
    other = Session(tool())
    other.state = kept
    other.abort(AbortScope.CALL, "1.1.1")
    assert (other.calls["1.1.1"], session.calls["1.1.1"]) == ("CancellationRequested", "Executing")


@pytest.mark.req("R-118")
def test_permission_is_a_command_of_its_own_and_no_part_of_an_execution():
    session = Session(tool("read", Effect.PURE))
    session.propose(call("read"))
    order = session.commands
    assert [name for name in order if name.startswith("evaluate-policy")] == ["evaluate-policy 1.1.0"]
    assert not [name for name in order if name.startswith("execute-tool")]
