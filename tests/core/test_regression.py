"""The traces that have to come out exactly: whole turns, read from what happened rather than from the answer."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Verdict
from agentcore.events import (
    ArgumentsRefused,
    EffectInspected,
    Finding,
    ModelFailure,
    ModelReplied,
    PromptSubmitted,
    RetryRequested,
    ToolFailed,
    ToolLost,
    ToolSucceeded,
)
from agentcore.messages import FailedCall, FinishReason, InvalidCall, InvalidReason, Succeeded, ToolMessage, Usage
from agentcore.rejections import RejectionCode
from agentcore.states import Because, Cancelled, Completed, Failed, Idle, RunningTools, StopReason
from tests.core.driver import Session, call, tool

DECISIVE = {ModelReplied: "call_model", ArgumentsRefused: "validate_tool", ToolSucceeded: "execute_tool"}
"""What decided, by the name the requirement gives it."""

WITHHELD = (FinishReason.CONTENT_FILTER, FinishReason.REFUSAL)
WHOLE = [label for label in FinishReason if label not in (FinishReason.LENGTH, *WITHHELD)]
"""Labels that do not say that the message is cut or withheld."""


def stages(session):
    """The turn by the names of R-216: what decided each event, a named recovery, the end."""
    named = []
    for line in session.trace:
        if type(line.event) in DECISIVE:
            named.append(DECISIVE[type(line.event)])
        if Because.ARGUMENTS_REPAIRED in line.judged.hops:
            named.append("recover")
        if Because.END_SAVED in line.judged.hops:
            named.append("final")
    return named


def ended_in(session):
    """The calls in the order in which they ended."""
    return [line.event.call_id for line in session.trace if isinstance(line.event, ToolSucceeded)]


@pytest.mark.req("R-216", "R-029", "R-111", "R-052")
class TestBadArgumentsAreRepaired:
    @pytest.fixture
    def session(self):
        session = Session(tool("read", Effect.PURE))
        session.prompt()
        session.reply(call("read", path=7))
        session.refuse_arguments("path: expected a string, found 7")
        session.reply(call("read", path="a.txt"))
        session.allow()
        session.succeed(result="text of a")
        session.answer("It says: text of a")
        return session

    def test_the_stages_come_in_this_order(self, session):
        assert stages(session) == [
            "call_model",
            "validate_tool",
            "recover",
            "call_model",
            "execute_tool",
            "call_model",
            "final",
        ]
        assert session.phase is Completed
        assert session.stop is StopReason.FINAL_ANSWER

    def test_the_trace_counts_turn_and_steps(self, session):
        last = session.trace[-1].state.turn
        assert (last.number, last.step) == (1, 3)
        asked = [command for line in session.trace for command in line.commands if command.startswith("request-model")]
        assert asked == ["request-model 1.1", "request-model 1.2", "request-model 1.3"]

    def test_the_trace_shows_the_cause(self, session):
        outcome = session.result("1.1.0").outcome
        assert outcome == InvalidCall(InvalidReason.ARGUMENTS_REFUSED, "path: expected a string, found 7")
        assert "path: expected a string, found 7" in session.result("1.1.0").content

    def test_the_trace_shows_the_repaired_arguments(self, session):
        running = [each for line in session.trace if line.state.batch for each in line.state.batch.calls]
        assert next(each.arguments for each in running) == '{"path":7}'
        assert session.result("1.2.0").arguments == '{"path":"a.txt"}'


@pytest.mark.req("R-225", "R-226", "R-125", "R-126", "R-127", "R-211", "D-19")
class TestThreeParallelTools:
    @pytest.fixture
    def session(self):
        session = Session(tool("read", Effect.PURE))
        session.execute("read", "read", "read")
        return session

    def test_all_three_run_at_once(self, session):
        assert session.calls == {"1.1.0": "Executing", "1.1.1": "Executing", "1.1.2": "Executing"}

    def test_they_end_in_their_order_and_are_written_in_the_order_of_the_message(self, session):
        session.succeed("1.1.1", "two")
        session.succeed("1.1.0", "one")
        session.succeed("1.1.2", "three")
        session.answer()
        assert ended_in(session) == ["1.1.1", "1.1.0", "1.1.2"]
        assert [result.content for result in session.results] == ["one", "two", "three"]

    def test_an_end_updates_its_call_only_and_the_phase_advances_once(self, session):
        session.succeed("1.1.1")
        assert session.calls == {"1.1.0": "Executing", "1.1.1": "Settled", "1.1.2": "Executing"}
        session.succeed("1.1.0")
        assert session.phase is RunningTools
        session.succeed("1.1.2")
        session.answer()
        assert session.phases == (
            "AwaitingModel",
            "RunningTools",
            "AwaitingModel",
            "Saving",
            "Completed",
        )

    def test_nothing_stands_between_the_message_and_its_results(self, session):
        session.steer("Faster.")
        for call_id in ("1.1.2", "1.1.1", "1.1.0"):
            session.succeed(call_id)
        assert session.said == (
            "prompt: Do it.",
            "model: read, read, read",
            "results: ok, ok, ok",
            "steering: Faster.",
        )


@pytest.mark.req("R-225", "R-226", "R-107", "R-015")
def test_three_serial_steps():
    session = Session(tool("read", Effect.PURE))
    for step in (1, 2, 3):
        session.execute("read")
        session.succeed(result=f"part {step}")
    session.answer("All read.")
    assert session.phases == ("AwaitingModel", "RunningTools") * 3 + ("AwaitingModel", "Saving", "Completed")
    assert session.state.turn.step == 4
    assert session.said == (
        "prompt: Do it.",
        "model: read",
        "results: part 1",
        "model: read",
        "results: part 2",
        "model: read",
        "results: part 3",
        "model: All read.",
    )


@pytest.mark.req("R-225", "R-075", "R-215", "R-100")
def test_text_only():
    session = Session()
    session.prompt("Hello.")
    session.opened()
    session.reply("Hello to you.")
    session.saved()
    assert session.phases == ("AwaitingModel", "Streaming", "Saving", "Completed")
    assert session.stop is StopReason.FINAL_ANSWER
    assert session.waits == ()
    assert session.said == ("prompt: Hello.", "model: Hello to you.")


@pytest.mark.req("R-226", "R-046", "R-048", "R-212")
def test_a_kept_state_is_never_touched_by_what_comes_after_it():
    session = Session(tool())
    session.execute("write")
    kept, shown = session.state, repr(session.state)
    session.succeed()
    session.tried(ToolSucceeded, call_id="9.9.9", epoch=0, attempt=1, result="?")
    assert repr(kept) == shown


@pytest.mark.req("R-226", "R-047", "R-061")
def test_an_illegal_event_leaves_the_old_state_as_it_was():
    session = Session()
    session.prompt()
    before, shown = session.state, repr(session.state)
    judged = session.tried(PromptSubmitted, message_id="other")
    assert judged.verdict is Verdict.REJECTED
    assert judged.reduction.state is before
    assert repr(before) == shown


@pytest.mark.req("R-226", "R-098")
def test_a_cancelled_turn_ends_normally():
    session = Session(tool("read", Effect.PURE))
    session.execute("read")
    session.abort()
    session.stopped()
    session.all_saved()
    assert session.phase is Cancelled
    assert session.stop is StopReason.USER_ABORT
    assert session.waits == ()


class TestFourOfflineAcceptances:
    @pytest.mark.req("R-227", "R-082", "R-084", "R-228")
    def test_a_stream_that_breaks_for_good_ends_the_turn(self):
        session = Session(limits=Limits(model_retries=0))
        session.prompt()
        session.opened()
        session.model_fails(message="connection reset", output_shown=True)
        session.all_saved()
        assert session.phase is Failed
        assert session.stop is StopReason.MODEL_ERROR
        assert session.ending.message == "connection reset"

    @pytest.mark.req("R-227", "R-086")
    @pytest.mark.parametrize("label", WHOLE)
    def test_a_call_counts_whatever_the_label_says(self, label):
        session = Session(tool("read", Effect.PURE))
        session.prompt()
        session.reply("I read it.", call("read"), finish=label)
        assert session.calls == {"1.1.0": "Proposed"}
        session.allow()
        session.succeed()
        session.answer()
        assert session.phase is Completed

    @pytest.mark.req("R-227", "R-130", "R-131", "R-136")
    def test_a_tool_that_raises_does_not_end_the_loop(self):
        session = Session(tool())
        session.execute("write")
        session.fail(error="FileNotFoundError: no such file: 'b'")
        session.answer("It is not there.")
        assert session.phase is Completed
        assert session.outcome() == FailedCall("FileNotFoundError: no such file: 'b'")
        assert session.result().content == "Error: FileNotFoundError: no such file: 'b'"

    @pytest.mark.req("R-227", "R-127")
    def test_completion_order_and_history_order_differ(self):
        session = Session(tool())
        session.execute("write", "write", "write")
        for call_id in ("1.1.1", "1.1.0", "1.1.2"):
            session.succeed(call_id, call_id)
        assert ended_in(session) == ["1.1.1", "1.1.0", "1.1.2"]
        assert [result.content for result in session.results] == ["1.1.0", "1.1.1", "1.1.2"]


@pytest.mark.req("R-228")
class TestTheAgentsRetries:
    def test_a_retry_that_succeeds_goes_on_in_the_same_step(self):
        session = Session()
        session.prompt()
        session.model_fails()
        session.fire("retry/1.1")
        session.answer("Here.")
        assert session.phase is Completed
        assert session.state.turn.step == 1

    def test_a_failure_that_cannot_pass_is_not_retried(self):
        session = Session()
        session.prompt()
        session.model_fails(ModelFailure.FATAL, "invalid key")
        session.all_saved()
        assert session.phase is Failed
        assert session.ending.message == "invalid key"

    def test_retries_end_when_they_are_used_up(self):
        session = Session()
        session.prompt()
        for _ in range(3):
            session.model_fails()
            session.fire("retry/1.1")
        session.model_fails(message="still busy")
        session.all_saved()
        assert session.phase is Failed
        assert session.ending.message == "still busy"

    def test_tokens_of_every_attempt_add_up(self):
        session = Session(tool("read", Effect.PURE))
        session.prompt()
        session.model_fails(usage=Usage(10, 1))
        session.fire("retry/1.1")
        session.reply(call("read"), usage=Usage(10, 5))
        session.allow()
        session.succeed(usage=Usage(3, 2))
        session.reply("Done.", usage=Usage(20, 4))
        assert session.state.usage == Usage(43, 12)
        assert session.state.turn.usage == Usage(43, 12)

    def test_a_tool_call_after_a_retry_runs_once(self):
        session = Session(tool())
        session.prompt()
        session.model_fails()
        session.fire("retry/1.1")
        session.execute("write")
        session.succeed()
        assert [command for line in session.trace for command in line.commands if command.startswith("execute")] == [
            "execute-tool 1.1.0"
        ]

    def test_clearing_the_history_leaves_the_past_and_empties_the_window(self):
        session = Session()
        session.prompt()
        session.answer()
        session.reopen()
        session.clear()
        assert session.phase is Idle
        assert session.because is Because.HISTORY_CLEARED
        assert session.state.window.start == len(session.state.history) == 2

    def test_an_abort_ends_the_wait_for_a_retry(self):
        session = Session()
        session.prompt()
        session.model_fails()
        session.abort()
        assert "start-timer retry/1.1" not in session.waits
        session.all_saved()
        assert session.phase is Cancelled


@pytest.mark.req("D-15", "R-146")
def test_a_cut_message_with_two_readable_calls_runs_neither():
    session = Session(tool())
    session.prompt()
    session.reply(call(x=1), call(x=2), finish=FinishReason.LENGTH)
    ordered = [command for line in session.trace for command in line.commands]
    assert not [command for command in ordered if command.startswith(("execute-tool", "evaluate-policy"))]
    assert session.because is Because.PREPARATION_SKIPPED
    assert session.hops == (
        Because.RESULTS_APPENDED,
        Because.TRUNCATION_REISSUED,
        Because.STEP_BEGUN,
        Because.REQUEST_READY,
    )
    assert [result.outcome.reason for result in session.results] == [InvalidReason.TRUNCATED] * 2


@pytest.mark.req("R-153", "R-161")
def test_a_tool_that_raises_a_timeout_is_unknown_and_not_failed():
    session = Session(tool())
    session.execute("write")
    session.lose(cause="TimeoutError: read timed out")
    assert session.calls == {"1.1.0": "EffectUnknown"}
    assert session.phase is RunningTools
    assert "inspect-effect 1.1.0" in session.commands


@pytest.mark.req("R-067", "R-220")
class TestThreeIllegalEvents:
    def test_a_tool_result_in_idle(self):
        judged = Session().tried(ToolSucceeded, call_id="1.1.0", epoch=0, attempt=1, result="ok")
        assert judged.rejection.code is RejectionCode.FOREIGN_CALL
        assert judged.rejection.offending == "1.1.0"

    def test_a_prompt_in_completed(self):
        session = Session()
        session.prompt()
        session.answer()
        judged = session.tried(PromptSubmitted, message_id="next")
        assert judged.rejection.code is RejectionCode.TURN_ENDED
        assert "SessionReopened" in judged.rejection.legal

    def test_a_retry_asked_for_in_effect_unknown(self):
        session = Session(tool())
        session.execute("write")
        session.lose()
        judged = session.tried(RetryRequested, call_id="1.1.0")
        assert judged.rejection.code is RejectionCode.EFFECT_NOT_PROVED_ABSENT
        assert judged.rejection.advice == "Inspect first: inspect-effect 1.1.0 by program."
        assert "EffectInspected" in judged.rejection.legal


@pytest.mark.req("R-159", "R-223", "D-8")
def test_a_success_after_unknown_settles_it_and_keeps_that_it_had_timed_out():
    session = Session(tool())
    session.execute("write")
    execution = session.execution()
    session.lose()
    session.give(ToolSucceeded, **execution, result="written")
    assert session.outcome() == Succeeded("written", timed_out=True)
    assert isinstance(session.history[-1], ToolMessage)


@pytest.mark.req("R-160", "R-223")
def test_a_timeout_after_success_unsettles_nothing():
    session = Session(tool())
    session.execute("write", "write")
    execution = session.execution("1.1.0")
    session.succeed("1.1.0", "written")
    judged = session.tried(ToolLost, **execution, cause="TimeoutError")
    assert judged.rejection.code is RejectionCode.ALREADY_SETTLED
    assert session.outcome() == Succeeded("written")
    assert session.tried(ToolFailed, **execution, error="late").rejection.code is RejectionCode.ALREADY_SETTLED


@pytest.mark.req("R-230", "R-043", "R-054")
def test_each_event_of_a_turn_is_one_transition_with_its_evidence():
    session = Session(tool())
    session.execute("write")
    session.lose(cause="TimeoutError", target="request 17", observation="accepted")
    evidence = dict(session.call().state.transition.evidence)
    assert session.call().state.transition.because is Because.TOOL_LOST
    assert evidence == {"asked": "program", "cause": "TimeoutError", "target": "request 17", "observation": "accepted"}
    session.inspected(Finding.EXECUTED, result="found", evidence="row 3", question="is it there?")
    last = session.trace[-1].event
    assert isinstance(last, EffectInspected)
    assert session.outcome() == Succeeded("found", timed_out=True, proved_by="inspection")
