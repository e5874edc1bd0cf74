"""Readings of disputed rules: each field of the policy both ways, the presets, every stop reason."""

from __future__ import annotations

import attrs
import pytest

from agentcore import PRESETS, Config, Effect, Limits, ModelSettings, Policy, ToolContract
from agentcore.events import AbortScope, DenialKind, ModelFailure
from agentcore.messages import DenialCase, DeniedCall, FailedCall, FinishReason, NotExecuted, NotExecutedReason, Usage
from agentcore.states import (
    END_OF,
    AwaitingModel,
    Cancelled,
    Completed,
    Denied,
    Exhausted,
    Failed,
    Saving,
    Stopping,
    StopReason,
)
from tests.core.driver import Session, call, tool

CASES = {
    DenialCase.STATIC: lambda session: session.block("1.1.0"),
    DenialCase.DANGEROUS: lambda session: session.block("1.1.0", dangerous=True),
    DenialCase.REFUSED: lambda session: (session.ask("1.1.0"), session.deny()),
    DenialCase.FEEDBACK: lambda session: (session.ask("1.1.0"), session.deny(feedback="Not there.")),
    DenialCase.UNANSWERED: lambda session: (session.ask("1.1.0"), session.deny(kind=DenialKind.NOBODY)),
}
"""How each case of a denial comes about."""


@pytest.mark.req("D-1", "R-115", "R-116", "R-117", "R-113")
class TestDenials:
    @pytest.mark.parametrize("case", CASES)
    def test_that_return_an_error_tell_the_model_and_go_on(self, case):
        session = Session(tool(), policy=Policy(**{f"denied_{case.value}": "return_error"}))
        session.propose("write")
        CASES[case](session)
        assert session.phase is AwaitingModel
        assert session.outcome().case is case
        assert session.result().content.startswith("Denied")

    @pytest.mark.parametrize("case", CASES)
    def test_that_stop_the_turn_write_the_result_first_and_one_for_every_sibling(self, case):
        session = Session(tool(), policy=Policy(**{f"denied_{case.value}": "stop_turn"}))
        session.propose("write", "write")
        CASES[case](session)
        session.all_saved()
        assert session.phase is Denied
        assert session.stop is StopReason.PERMISSION_DENIED
        assert [type(result.outcome) for result in session.results] == [DeniedCall, NotExecuted]
        assert session.results[1].outcome.reason is NotExecutedReason.TURN_STOPPED
        assert dict(session.ending.evidence) == {"call": "1.1.0", "case": case.value}

    @pytest.mark.req("R-117")
    def test_by_a_rule_keep_rule_and_reason_in_the_end(self):
        session = Session(tool(), policy=Policy(denied_static="stop_turn"))
        session.propose("write")
        session.block(rule="no-writes", reason="this directory is sealed")
        assert (session.ending.rule, session.ending.message) == ("no-writes", "this directory is sealed")

    def test_by_a_person_keep_who_refused_and_what_is_wanted_instead(self):
        session = Session(tool())
        session.propose("write")
        session.ask(rule="ask-first")
        session.deny(feedback="Use the other file.", by="anna")
        assert session.outcome() == DeniedCall(DenialCase.FEEDBACK, "ask-first", "Use the other file.", "anna")
        assert session.result().content == "Denied by rule ask-first: Use the other file."

    def test_by_a_person_without_words_say_so(self):
        session = Session(tool(), policy=Policy(denied_refused="return_error"))
        session.propose("write")
        session.ask()
        session.deny()
        assert session.outcome().reason == "the user refused"

    @pytest.mark.req("D-27")
    @pytest.mark.parametrize(
        ("kind", "reason"),
        [(DenialKind.EXPIRED, "the question expired"), (DenialKind.NOBODY, "nobody was there to ask")],
    )
    def test_without_an_answer_say_why(self, kind, reason):
        session = Session(tool())
        session.propose("write")
        session.ask()
        session.deny(kind=kind)
        assert (session.outcome().case, session.outcome().reason) == (DenialCase.UNANSWERED, reason)

    @pytest.mark.req("D-27", "G-6")
    def test_an_expired_question_is_a_refusal(self):
        session = Session(tool(), limits=Limits(approval_ms=10))
        session.propose("write")
        session.ask()
        session.fire("expiry/1.1.0")
        assert (session.outcome().case, session.outcome().reason) == (DenialCase.UNANSWERED, "the question expired")

    def test_stop_running_siblings_too(self):
        session = Session(tool(), limits=Limits(max_parallel=1), policy=Policy(denied_static="stop_turn"))
        session.execute("write", "write")
        session.resume()
        session.block("1.1.1")
        assert session.phase is Stopping
        assert session.calls == {"1.1.0": "EffectUnknown", "1.1.1": "Settled"}
        assert "cancel-tool 1.1.0" in session.commands

    def test_beyond_their_bound_name_the_call_that_went_beyond(self):
        session = Session(tool(), limits=Limits(denials=1))
        session.propose("write", "write")
        session.block("1.1.0", rule="first")
        session.block("1.1.1", rule="second")
        assert session.ending.rule == "second"
        assert dict(session.ending.evidence)["call"] == "1.1.1"


@pytest.mark.req("D-2", "R-130", "R-122")
class TestToolErrors:
    @pytest.mark.parametrize(("field", "fatal"), [("recoverable_error", False), ("fatal_error", True)])
    def test_that_return_an_error_tell_the_model(self, field, fatal):
        session = Session(tool(), policy=Policy(**{field: "return_error"}))
        session.execute("write")
        session.fail(error="PermissionError", kind="permission", fatal=fatal, duration_ms=3)
        assert session.phase is AwaitingModel
        assert session.outcome() == FailedCall("PermissionError", "permission", fatal, 3)

    @pytest.mark.parametrize(("field", "fatal"), [("recoverable_error", False), ("fatal_error", True)])
    def test_that_stop_the_turn_write_the_result_first(self, field, fatal):
        session = Session(tool(), policy=Policy(**{field: "stop_turn"}))
        session.execute("write", "write")
        session.fail("1.1.0", error="PermissionError", fatal=fatal)
        assert session.phase is Stopping
        assert session.calls["1.1.1"] == "CancellationRequested"
        session.stopped()
        session.all_saved()
        assert session.phase is Failed
        assert session.stop is StopReason.TOOL_ERROR
        assert session.ending.message == "write: PermissionError"
        assert [result.call_id for result in session.results] == ["1.1.0", "1.1.1"]

    @pytest.mark.req("R-091")
    def test_a_step_with_an_error_never_ends_the_turn_by_itself(self):
        session = Session(tool("done", Effect.PURE, completes=True), tool())
        session.execute("done", "write")
        session.succeed("1.1.0", terminate=True)
        session.fail("1.1.1")
        assert session.phase is AwaitingModel


@pytest.mark.req("R-124")
def test_sequential_runs_one_call_at_a_time_in_source_order():
    session = Session(tool("read", Effect.PURE), policy=Policy(sequential=True))
    session.execute("read", "read", "read")
    order = []
    while "Executing" in session.calls.values():
        running = [call_id for call_id, state in session.calls.items() if state == "Executing"]
        order += running
        session.succeed(running[0])
    assert order == ["1.1.0", "1.1.1", "1.1.2"]


@pytest.mark.req("R-090", "D-28")
class TestCompletionTool:
    def session(self, **policy):
        session = Session(tool("finish", Effect.PURE, completes=True), tool(), policy=Policy(**policy))
        session.prompt()
        return session

    @pytest.mark.parametrize("required", [False, True])
    def test_calling_it_without_error_ends_the_turn(self, required):
        session = self.session(completion_required=required)
        session.execute("finish")
        session.succeed()
        session.all_saved()
        assert session.phase is Completed
        assert session.stop is StopReason.FINAL_ANSWER
        assert dict(session.ending.evidence) == {"completed_by": "tool"}

    def test_text_does_not_end_the_turn_while_it_is_owed(self):
        session = self.session(completion_required=True)
        session.reply("Done.")
        assert session.phase is AwaitingModel
        assert session.said[-1] == "nudge: Nothing is finished until you call finish. Call it, or go on working."

    def test_text_ends_the_turn_where_it_is_not_owed(self):
        session = self.session(completion_required=False)
        session.answer()
        assert session.phase is Completed

    def test_calling_it_beside_an_error_does_not_end_the_turn(self):
        session = self.session(completion_required=True)
        session.execute("finish", "write")
        session.succeed("1.1.0")
        session.fail("1.1.1")
        assert session.phase is AwaitingModel

    def test_a_failing_one_does_not_end_the_turn(self):
        session = self.session(completion_required=True)
        session.execute("finish")
        session.fail()
        assert session.phase is AwaitingModel

    def test_a_hint_to_terminate_does_not_end_the_turn_while_it_is_owed(self):
        session = self.session(completion_required=True)
        session.execute("write")
        session.succeed(terminate=True)
        assert session.phase is AwaitingModel

    def test_a_configuration_that_could_never_end_is_refused(self):
        with pytest.raises(ValueError, match="completion_required needs a tool with completes=True"):
            Config(policy=Policy(completion_required=True))


@pytest.mark.req("R-093")
class TestTerminateHint:
    @pytest.mark.parametrize(("hints", "ends"), [((True, True), True), ((True, False), False), ((False, True), False)])
    def test_ends_the_turn_only_if_every_result_says_so(self, hints, ends):
        session = Session(tool())
        session.execute("write", "write")
        for call_id, hint in zip(("1.1.0", "1.1.1"), hints, strict=True):
            session.succeed(call_id, terminate=hint)
        session.all_saved()
        assert (session.phase is Completed) is ends
        if ends:
            assert session.stop is StopReason.TERMINATED

    def test_is_not_reviewed(self):
        session = Session(tool(), reviews_completion=True)
        session.execute("write")
        session.succeed(terminate=True)
        assert session.phase is Saving


class TestPresets:
    @pytest.mark.req("R-141", "R-145", "R-147", "R-148")
    def test_recommended(self):
        limits = PRESETS["recommended"].limits
        assert (limits.steps, limits.tool_calls) == (100, 200)
        assert (limits.tokens, limits.cost_micros, limits.turn_ms) == (None, None, None)
        bounds = {
            "model_retries": 3,
            "resumes": 3,
            "overflow_compactions": 1,
            "truncation_reissues": 1,
            "media_downgrades": 1,
            "empty_replies": 2,
            "think_only": 2,
            "unknown_finishes": 1,
            "missing_completions": 2,
            "completion_refusals": 3,
            "denials": 5,
            "argument_repairs": 3,
            "unknown_tools": 3,
            "failing_rounds": 5,
            "identical_calls": 3,
            "inspections": 3,
            "effect_retries": 1,
            "checkpoint_retries": 3,
            "observations": 20,
        }
        assert {name: getattr(limits, name) for name in bounds} == bounds
        assert (limits.retry_base_ms, limits.retry_cap_ms, limits.retry_jitter_ms) == (1_000, 30_000, 1_000)

    @pytest.mark.req("D-1", "D-2", "D-27")
    def test_recommended_reads_the_disputed_rules_so(self):
        policy = PRESETS["recommended"].policy
        assert attrs.asdict(policy) == {
            "denied_static": "return_error",
            "denied_refused": "stop_turn",
            "denied_feedback": "return_error",
            "denied_dangerous": "stop_turn",
            "denied_unanswered": "return_error",
            "recoverable_error": "return_error",
            "fatal_error": "stop_turn",
            "sequential": False,
            "completion_required": False,
            "count_waiting": False,
            "show_recoverable": False,
        }

    def test_recommended_is_the_default(self):
        assert Config() == Config(limits=PRESETS["recommended"].limits, policy=PRESETS["recommended"].policy)

    @pytest.mark.req("R-101", "R-102", "R-103")
    def test_strict(self):
        limits, policy = PRESETS["strict"].limits, PRESETS["strict"].policy
        assert limits == Limits(steps=8, tool_calls=12, turn_ms=120_000)
        assert policy.count_waiting
        assert {getattr(policy, f"denied_{case.value}") for case in DenialCase} == {"stop_turn"}
        assert (policy.recoverable_error, policy.fatal_error) == ("stop_turn", "stop_turn")

    def test_open(self):
        limits, policy = PRESETS["open"].limits, PRESETS["open"].policy
        assert limits == Limits(steps=None, tool_calls=None)
        assert (limits.tokens, limits.cost_micros, limits.turn_ms) == (None, None, None)
        assert {getattr(policy, f"denied_{case.value}") for case in DenialCase} == {"return_error"}
        assert (policy.recoverable_error, policy.fatal_error) == ("return_error", "return_error")

    @pytest.mark.req("R-124")
    def test_single_call(self):
        assert PRESETS["single_call"].limits == PRESETS["recommended"].limits
        assert PRESETS["single_call"].policy == attrs.evolve(PRESETS["recommended"].policy, sequential=True)

    def test_there_are_four(self):
        assert set(PRESETS) == {"recommended", "strict", "open", "single_call"}

    @pytest.mark.parametrize("name", ["recommended", "strict", "single_call"])
    def test_every_loop_is_bounded_in_all_but_open(self, name):
        unbounded = {"tokens", "cost_micros", "turn_ms", "approval_ms", "compact_at_tokens"}
        limits = PRESETS[name].limits
        assert {field.name for field in attrs.fields(Limits) if getattr(limits, field.name) is None} <= unbounded


def reach(reason):
    """Lead a turn to its end for a reason, by the shortest way."""
    session = ENDS[reason]()
    session.all_saved()
    return session


def _answered():
    session = Session()
    session.prompt()
    session.reply("Done.")
    return session


def _terminated():
    session = Session(tool())
    session.execute("write")
    session.succeed(terminate=True)
    return session


def _stopped_by_host():
    session = Session(tool())
    session.execute("write")
    session.abort(AbortScope.AFTER_STEP)
    session.succeed()
    return session


def _denied():
    session = Session(tool())
    session.propose("write")
    session.ask()
    session.deny()
    return session


def _aborted():
    session = Session()
    session.prompt()
    session.abort()
    session.model_stops()
    return session


def _limited(usage=None, **limits):
    session = Session(tool("read", Effect.PURE), limits=Limits(**limits))
    session.execute("read")
    if "execute-tool 1.1.0" in session.waits:
        session.succeed(usage=usage or Usage())
    return session


def _late():
    session = Session(limits=Limits(turn_ms=5))
    session.prompt()
    session.fire("turn/1")
    session.model_stops()
    return session


def _looping():
    session = Session(limits=Limits(unknown_tools=0))
    session.prompt()
    session.reply(call("write"))
    return session


def _model_error():
    session = Session()
    session.prompt()
    session.model_fails(ModelFailure.FATAL)
    return session


def _tool_error():
    session = Session(tool())
    session.execute("write")
    session.fail(fatal=True)
    return session


def _truncated():
    session = Session(limits=Limits(truncation_reissues=0))
    session.prompt()
    session.reply("Half", finish=FinishReason.LENGTH)
    return session


def _no_answer():
    session = Session(limits=Limits(empty_replies=0))
    session.prompt()
    session.reply()
    return session


def _unsaved():
    session = Session(tool(), limits=Limits(checkpoint_retries=0))
    session.propose("write")
    session.save_fails()
    return session


def _resumed_too_often():
    session = Session(limits=Limits(resumes=0))
    session.prompt()
    session.resume()
    return session


ENDS = {
    StopReason.FINAL_ANSWER: _answered,
    StopReason.TERMINATED: _terminated,
    StopReason.STOPPED_BY_HOST: _stopped_by_host,
    StopReason.PERMISSION_DENIED: _denied,
    StopReason.USER_ABORT: _aborted,
    StopReason.MAX_STEPS: lambda: _limited(steps=1),
    StopReason.MAX_TOOL_CALLS: lambda: _limited(tool_calls=0),
    StopReason.MAX_TOKENS: lambda: _limited(Usage(1, 0), tokens=1),
    StopReason.MAX_COST: lambda: _limited(Usage(cost_micros=1), cost_micros=1),
    StopReason.TIMEOUT: _late,
    StopReason.LOOP_LIMIT: _looping,
    StopReason.MODEL_ERROR: _model_error,
    StopReason.TOOL_ERROR: _tool_error,
    StopReason.TRUNCATED: _truncated,
    StopReason.NO_ANSWER: _no_answer,
    StopReason.STORAGE: _unsaved,
    StopReason.RESUMES: _resumed_too_often,
}


@pytest.mark.req("R-094", "R-095", "R-096")
class TestStopReasons:
    @pytest.mark.parametrize("reason", StopReason)
    def test_each_is_reached_and_leads_to_its_end(self, reason):
        session = reach(reason)
        assert session.stop is reason
        assert session.phase is END_OF[reason]
        assert session.waits == ()

    def test_the_five_ends_share_them_out(self):
        shared = {end: {reason.value for reason in StopReason if END_OF[reason] is end} for end in END_OF.values()}
        assert shared == {
            Completed: {"final_answer", "terminated", "stopped_by_host"},
            Denied: {"permission_denied"},
            Cancelled: {"user_abort"},
            Exhausted: {"max_steps", "max_tool_calls", "max_tokens", "max_cost", "timeout", "loop_limit"},
            Failed: {"model_error", "tool_error", "truncated", "no_answer", "storage", "resumes"},
        }


class TestContracts:
    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"name": ""}, "a tool needs a name"),
            ({"effect": Effect.INSPECTABLE}, "acts_within_ms belongs to effect 'inspectable', which needs it"),
            ({"acts_within_ms": 5}, "acts_within_ms belongs to effect 'inspectable', which needs it"),
            ({"required": True}, "only a detached tool can be required"),
        ],
    )
    def test_that_contradict_themselves_are_refused(self, fields, problem):
        with pytest.raises(ValueError, match=problem):
            ToolContract(**{"name": "t", **fields})

    def test_two_tools_of_one_name_are_refused(self):
        with pytest.raises(ValueError, match="two tools are named a, b: rename one of each"):
            Config(tools=(tool("a"), tool("b"), tool("b"), tool("a")))

    def test_a_plain_function_is_opaque_until_somebody_knows_better(self):
        assert ToolContract("t").effect is Effect.OPAQUE

    def test_only_two_kinds_can_be_asked_by_a_program(self):
        can = {effect for effect in Effect if tool("t", effect).programs_inspect}
        assert can == {Effect.FENCEABLE, Effect.INSPECTABLE}
        assert [tool("t", effect).pure for effect in Effect] == [True, False, False, False, False]

    @pytest.mark.req("R-081")
    def test_settings_are_kept_as_they_came(self):
        settings = ModelSettings("small", '{"temperature":0}')
        assert Session(settings=settings).state.config.settings == settings
