"""Review of calls: serial and in source order, bound to exactly the arguments that run; the lookup; the answers."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Verdict
from agentcore.events import (
    ApprovalDenied,
    ApprovalGranted,
    ArgumentsRefused,
    DenialKind,
    Finding,
    PolicyAllowed,
    PolicyAsked,
    PolicyBlocked,
)
from agentcore.messages import FinishReason, InvalidCall, InvalidReason, NotExecuted, NotExecutedReason, digest
from agentcore.rejections import Blame, RejectionCode
from agentcore.states import AwaitingModel, Because
from tests.core.driver import Session, call, executing, tool, unknown

KEY = {"call_id": "1.1.0", "epoch": 0, "attempt": 1}


def sealed(text):
    return {"arguments": text, "digest": digest(text)}


def proposed(*calls, limits=None, **fields):
    session = Session(tool("write", **fields), limits=limits)
    session.propose(*(calls or ("write",)))
    return session


@pytest.mark.req("R-120", "R-002")
class TestOrder:
    def test_calls_are_reviewed_one_at_a_time_in_source_order(self):
        session = proposed("write", "write", "write")
        for number in range(3):
            assert [name for name in session.waits if name.startswith("evaluate")] == [f"evaluate-policy 1.1.{number}"]
            session.allow()

    def test_a_question_to_a_person_holds_up_the_review_of_the_next(self):
        session = proposed("write", "write")
        session.ask()
        assert session.waits[-1] == "ask-approval 1.1.0"
        session.grant()
        assert "evaluate-policy 1.1.1" in session.commands

    @pytest.mark.req("R-076", "R-123")
    def test_nothing_is_released_before_the_whole_batch_is_reviewed(self):
        session = proposed("write", "write")
        session.allow()
        assert session.calls == {"1.1.0": "Ready", "1.1.1": "Proposed"}
        session.allow()
        assert session.calls == {"1.1.0": "Released", "1.1.1": "Released"}

    def test_a_decision_about_a_call_whose_turn_it_is_not_is_foreign(self):
        session = proposed("write", "write")
        judged = session.tried(PolicyAllowed, **{**KEY, "call_id": "1.1.1"}, **sealed("{}"))
        assert (judged.rejection.code, judged.rejection.blame) == (RejectionCode.FOREIGN_ATTEMPT, Blame.WORLD)

    def test_a_refused_call_spoils_only_itself(self):
        session = proposed("write", "write")
        session.refuse_arguments()
        session.allow()
        assert session.calls == {"1.1.0": "Settled", "1.1.1": "Released"}


class TestLookup:
    @pytest.mark.req("R-110")
    def test_an_unknown_tool_is_named_with_those_that_exist_and_the_model_tries_again(self):
        session = Session(tool("read", Effect.PURE), tool("write"))
        session.propose("erase")
        assert session.phase is AwaitingModel
        assert Because.UNKNOWN_TOOL_REPORTED in session.hops
        text = "TOOL_NOT_FOUND: there is no tool 'erase'. Available tools: read, write"
        assert session.result().content == text

    def test_a_session_without_tools_says_so(self):
        session = Session()
        session.propose("erase")
        assert session.result().content.endswith("Available tools: none")

    def test_a_call_without_a_name_is_an_unknown_tool(self):
        session = Session(tool())
        session.propose(call(""))
        assert session.outcome().reason is InvalidReason.TOOL_NOT_FOUND

    @pytest.mark.req("R-111", "R-242")
    @pytest.mark.parametrize("raw", ["[1]", "7", '{"a":NaN}', '{"a":1,"a":2}', "{a:1}", "nonsense"])
    def test_arguments_that_are_no_object_are_malformed_and_say_where(self, raw):
        session = proposed(call(raw=raw))
        outcome = session.outcome()
        assert outcome.reason is InvalidReason.ARGUMENTS_MALFORMED
        assert outcome.problem
        assert session.result().content.startswith("TOOL_INPUT_INVALID: the arguments are not usable JSON: ")

    @pytest.mark.parametrize("raw", ["{,", "[" + "1," * 5_000 + "1]"])
    def test_arguments_that_are_malformed_are_shown_to_the_model_as_far_as_fits(self, raw):
        problem = proposed(call(raw=raw)).outcome().problem
        assert raw[:500] in problem
        assert len(problem) < 1_200
        assert (f"({len(raw)} characters)" in problem) is (len(raw) > 1_000)

    @pytest.mark.req("D-15")
    def test_complete_but_invalid_arguments_spoil_only_their_own_call(self):
        session = proposed(call(raw="[1]"), call(x=1))
        assert session.calls == {"1.1.0": "Settled", "1.1.1": "Proposed"}

    @pytest.mark.req("D-15")
    @pytest.mark.parametrize(
        "raw", ['{"a":', '{"a":"x', '{"a"', "{", '{"a":[1,', '{"a":tr', '{"a":-', '{"a":"\\u12', '{"a":1']
    )
    def test_arguments_that_end_early_spoil_the_whole_message_whatever_its_label(self, raw):
        session = proposed(call(x=1), call(raw=raw))
        assert {result.outcome.reason for result in session.results} == {InvalidReason.TRUNCATED}

    @pytest.mark.req("D-15")
    @pytest.mark.parametrize("raw", ['{"a":1.', '{"a":1e', '{"a":1e+', '{"a":-1.'])
    def test_arguments_that_end_inside_a_number_end_early(self, raw):
        session = proposed(call(x=1), call(raw=raw))
        assert [result.outcome.reason for result in session.results] == [InvalidReason.TRUNCATED] * 2

    @pytest.mark.req("D-15")
    @pytest.mark.parametrize("raw", ['{"a":1} t', '{"a":1}-', "{n", '{"a" t'])
    def test_arguments_that_no_further_text_completes_are_malformed(self, raw):
        session = proposed(call(x=1), call(raw=raw))
        assert session.calls == {"1.1.0": "Proposed", "1.1.1": "Settled"}

    def test_blank_arguments_mean_the_empty_object(self):
        session = proposed(call(raw="  "))
        assert session.call().arguments == "{}"

    def test_arguments_are_kept_raw_and_canonical(self):
        session = proposed(call(raw='{ "b": 1, "a": 2 }'))
        assert session.call().raw_arguments == '{ "b": 1, "a": 2 }'
        assert session.call().arguments == '{"a":2,"b":1}'


class TestPermission:
    def test_what_is_allowed_is_ready_under_its_digest(self):
        session = proposed("write", "write")
        session.allow("1.1.0", '{"x":9}', rule="all-writes")
        ready = session.call("1.1.0")
        assert (ready.arguments, ready.digest, ready.rule) == ('{"x":9}', digest('{"x":9}'), "all-writes")
        assert dict(ready.state.transition.evidence)["rule"] == "all-writes"

    @pytest.mark.req("R-114", "G-6")
    def test_a_question_shows_digest_and_reason(self):
        session = proposed()
        session.ask(reason="it writes")
        order = session.ordered[-1]
        assert (order.digest, order.reason) == (digest(session.call().arguments), "it writes")

    @pytest.mark.req("G-6")
    def test_a_grant_runs_exactly_the_arguments_that_were_shown(self):
        session = proposed()
        session.ask(arguments='{"x":5}')
        session.grant(by="anna")
        session.all_saved()
        assert session.call().arguments == '{"x":5}'
        assert session.call().grant.by == "anna"

    @pytest.mark.req("G-6")
    @pytest.mark.parametrize("kind", [PolicyAllowed, PolicyAsked, ApprovalGranted])
    def test_a_digest_that_is_not_that_of_the_arguments_is_refused(self, kind):
        session = proposed()
        if kind is ApprovalGranted:
            session.ask()
        judged = session.tried(kind, **KEY, arguments="{}", digest=digest('{"x":1}'))
        assert judged.rejection.code is RejectionCode.DIGEST_MISMATCH

    @pytest.mark.req("G-6")
    def test_a_grant_for_other_arguments_goes_back_to_review(self):
        session = proposed()
        session.ask()
        session.grant(arguments='{"x":2}')
        assert session.calls == {"1.1.0": "Proposed"}
        assert session.call().state.transition.because is Because.GRANT_CHANGED
        assert session.commands == ("evaluate-policy 1.1.0",)

    def test_a_review_that_asks_about_what_was_granted_finds_the_grant_standing(self):
        session = proposed("write", "write")
        session.ask("1.1.0")
        session.grant("1.1.0", '{"x":2}')
        session.ask("1.1.0", '{"x":2}')
        assert session.calls["1.1.0"] == "Ready"
        assert session.call("1.1.0").state.transition.because is Because.GRANT_STANDS

    def test_a_review_after_a_changed_grant_may_still_refuse(self):
        session = proposed()
        session.ask()
        session.grant(arguments='{"x":2}')
        session.block()
        assert session.outcome().rule == "no-writes"

    @pytest.mark.req("D-27")
    def test_a_question_asked_again_under_the_same_digest_keeps_its_due_time(self):
        session = proposed(limits=Limits(approval_ms=100))
        session.ask()
        due = session.call().state.due_at
        session.resume(dead_ms=1_000)
        session.ask()
        assert session.call().state.due_at == due + 1_001

    def test_a_question_about_other_arguments_has_a_due_time_of_its_own(self):
        session = proposed(limits=Limits(approval_ms=100))
        session.ask()
        session.resume(dead_ms=1_000)
        session.ask(arguments='{"x":7}')
        assert session.call().state.due_at == session.now + 100

    @pytest.mark.req("G-6")
    def test_a_grant_stands_over_a_resume(self):
        session = proposed("write", "write")
        session.ask("1.1.0")
        session.grant("1.1.0")
        session.resume()
        assert session.calls["1.1.0"] == "Proposed"
        session.ask("1.1.0")
        assert session.calls["1.1.0"] == "Ready"

    @pytest.mark.req("R-112")
    def test_a_tool_that_is_gone_at_a_resume_is_not_reviewed(self):
        session = proposed()
        session.resume(tools=(tool("read"),))
        assert session.outcome() == InvalidCall(
            InvalidReason.TOOL_NOT_FOUND, "there is no tool 'write' any more. Available tools: read"
        )

    def test_when_no_tool_is_left_at_a_resume_that_is_said(self):
        session = proposed()
        session.resume(tools=())
        assert session.outcome().problem.endswith("Available tools: none")


class TestWhatWouldRunAgainIsReviewedAnew:
    def test_a_read_whose_tool_is_gone_is_not_executed(self):
        session = executing(Effect.PURE)
        session.resume(tools=())
        assert session.outcome() == NotExecuted(NotExecutedReason.TOOL_GONE, retryable=False)

    @pytest.mark.parametrize("how", ["block", "refuse_arguments"])
    def test_a_read_that_may_not_run_any_more_is_not_executed(self, how):
        session = executing(Effect.PURE)
        session.resume()
        getattr(session, how)()
        assert isinstance(session.outcome(), NotExecuted)

    def test_a_keyed_call_whose_tool_is_gone_is_asked_of_a_person(self):
        session = executing(Effect.KEYED)
        session.resume(tools=())
        assert session.calls == {"1.1.0": "EffectUnknown"}

    @pytest.mark.parametrize("how", ["block", "refuse_arguments"])
    def test_a_keyed_call_that_may_not_run_any_more_is_asked_of_a_person(self, how):
        session = executing(Effect.KEYED)
        session.resume()
        getattr(session, how)()
        assert session.calls == {"1.1.0": "EffectUnknown"}

    def test_a_keyed_call_that_a_person_refuses_now_is_asked_about(self):
        session = executing(Effect.KEYED)
        session.resume()
        session.ask()
        session.deny(feedback="No.")
        assert session.calls == {"1.1.0": "EffectUnknown"}

    def test_a_voided_attempt_leaves_nothing_to_ask_about(self):
        session = executing(Effect.FENCEABLE)
        session.resume()
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        session.block(rule="sealed")
        assert session.outcome().rule == "sealed"

    def test_in_the_same_epoch_nothing_is_reviewed_twice(self):
        session = unknown(absent_otherwise="retry")
        session.inspected(Finding.NOT_EXECUTED, conclusive=True)
        assert session.calls == {"1.1.0": "Released"}

    @pytest.mark.req("R-010")
    def test_a_review_under_way_is_finished_before_one_in_front_of_it_begins(self):
        session = executing(calls=2, limits=Limits(max_parallel=1))
        session.resume()
        assert "evaluate-policy 1.1.1" in session.waits
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        while any(name.startswith("evaluate-policy") for name in session.waits):
            session.allow()
        assert set(session.calls.values()) <= {"Released", "Ready"}

    def test_the_answer_to_an_open_question_is_always_taken(self):
        session = executing(calls=2, limits=Limits(max_parallel=1))
        session.resume()
        session.ask("1.1.1")
        session.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
        assert "ask-approval 1.1.1" in session.waits
        session.grant("1.1.1")
        assert session.calls["1.1.1"] == "Ready"


@pytest.mark.req("R-245", "D-30")
class TestRepeatedAnswers:
    @pytest.mark.parametrize(
        ("first", "kind", "fields"),
        [
            (lambda s: s.allow(), PolicyAllowed, sealed('{"x":0}')),
            (lambda s: s.ask(), PolicyAsked, sealed('{"x":0}')),
            (lambda s: s.block(), PolicyBlocked, {"rule": "no-writes", "reason": "forbidden"}),
            (lambda s: s.refuse_arguments("bad"), ArgumentsRefused, {"problem": "bad"}),
            (lambda s: (s.ask(), s.grant()), ApprovalGranted, sealed('{"x":0}')),
            (lambda s: (s.ask(), s.deny(feedback="no")), ApprovalDenied, {"feedback": "no"}),
        ],
    )
    def test_the_same_one_again_is_ignored(self, first, kind, fields):
        session = proposed("write", "write")
        first(session)
        judged = session.tried(kind, **KEY, **fields)
        assert judged.verdict is Verdict.IGNORED, judged.rejection

    @pytest.mark.parametrize(
        ("first", "kind", "fields"),
        [
            (lambda s: s.allow(), PolicyAllowed, sealed('{"x":9}')),
            (lambda s: s.allow(), PolicyBlocked, {"rule": "r", "reason": "no"}),
            (lambda s: s.ask(), PolicyAllowed, sealed('{"x":0}')),
            (lambda s: s.block(), PolicyAllowed, sealed('{"x":0}')),
            (lambda s: (s.ask(), s.grant()), ApprovalDenied, {"kind": DenialKind.REFUSED}),
            (lambda s: (s.ask(), s.deny(feedback="no")), ApprovalGranted, sealed('{"x":0}')),
            (lambda s: s.refuse_arguments("bad"), PolicyAsked, sealed('{"x":0}')),
        ],
    )
    def test_another_one_is_refused(self, first, kind, fields):
        session = proposed("write", "write")
        first(session)
        judged = session.tried(kind, **KEY, **fields)
        assert judged.rejection.code is RejectionCode.ALREADY_DECIDED

    def test_one_from_before_a_resume_is_stale(self):
        session = proposed()
        session.resume()
        judged = session.tried(PolicyAllowed, **KEY, **sealed('{"x":0}'))
        assert (judged.rejection.code, judged.rejection.blame) == (RejectionCode.STALE_ATTEMPT, Blame.STALE)

    def test_the_same_one_again_is_ignored_though_the_call_is_in_review_once_more(self):
        session = proposed()
        session.ask()
        session.grant(arguments='{"x":2}')
        for kind, fields in ((PolicyAsked, sealed('{"x":0}')), (ApprovalGranted, sealed('{"x":2}'))):
            judged = session.tried(kind, **KEY, **fields)
            assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "repeats-what-was-decided")

    def test_one_for_a_question_never_asked_is_foreign(self):
        session = proposed()
        session.ask()
        judged = session.tried(ApprovalGranted, **{**KEY, "attempt": 9}, **sealed('{"x":0}'))
        assert judged.rejection.code is RejectionCode.FOREIGN_ATTEMPT

    def test_a_refusal_of_a_stale_question_is_stale(self):
        session = proposed()
        session.ask()
        session.resume()
        session.ask()
        judged = session.tried(ApprovalDenied, **KEY)
        assert judged.rejection.code is RejectionCode.STALE_ATTEMPT

    @pytest.mark.parametrize("kind", [PolicyBlocked, ArgumentsRefused])
    def test_a_stale_refusal_of_the_policy_is_stale(self, kind):
        session = proposed()
        session.resume()
        fields = {"rule": "r", "reason": "no"} if kind is PolicyBlocked else {"problem": "bad"}
        assert session.tried(kind, **KEY, **fields).rejection.code is RejectionCode.STALE_ATTEMPT

    def test_a_grant_without_a_question_is_not_expected(self):
        session = proposed()
        judged = session.tried(ApprovalGranted, **KEY, **sealed('{"x":0}'))
        assert judged.verdict is Verdict.REJECTED


class TestProviderIds:
    @pytest.mark.req("G-1")
    def test_identity_is_turn_step_and_index(self):
        session = Session(tool("read", Effect.PURE))
        session.execute(call("read", "same"))
        session.succeed()
        session.execute(call("read", "same", x=2), call("read", "other"))
        assert list(session.calls) == ["1.2.0", "1.2.1"]
        assert [session.call(call_id).provider_id for call_id in session.calls] == ["same", "other"]

    @pytest.mark.req("G-2")
    def test_of_two_calls_with_one_id_the_first_wins_and_the_second_is_recorded(self):
        session = proposed(call("write", "a", x=1), call("write", "a", x=2), call("write", "b", x=3))
        assert [session.call(call_id).arguments for call_id in session.calls] == ['{"x":1}', '{"x":3}']
        assert dict(session.state.phase.transition.evidence)["dropped"] == "a"

    def test_a_call_without_one_gets_one_of_ours(self):
        session = proposed(call("write", "", x=1), call("write", "", x=2))
        assert [each.provider_id for each in session.state.batch.calls] == ["call-1.1.0", "call-1.1.1"]

    @pytest.mark.req("R-087")
    def test_what_the_provider_ran_itself_is_no_call_of_ours(self):
        from attrs import evolve

        session = Session(tool())
        session.prompt()
        session.reply(evolve(call("search", "p"), provider_executed=True), "Found.", finish=FinishReason.TOOL_CALLS)
        session.all_saved()
        assert session.results == ()
        assert session.said[-1] == "model: Found."
