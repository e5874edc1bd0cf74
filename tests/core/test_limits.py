"""Each bound trips exactly at its value: 0 allows none (of a loop: no second one), None allows any number."""

from __future__ import annotations

import attrs
import pytest

from agentcore import Effect, Limits
from agentcore.events import Finding, ModelFailure
from agentcore.limits import BOUNDS, allows, doubled
from agentcore.messages import (
    Abandoned,
    DenialCase,
    FinishReason,
    NotExecuted,
    NotExecutedReason,
    ReasoningPart,
    Usage,
)
from agentcore.states import (
    Because,
    Completed,
    Counters,
    Denied,
    Exhausted,
    Failed,
    RunningTools,
    Stopping,
    StopReason,
)
from tests.core.driver import Session, call, executing, tool, unknown

MANY = 12
"""Enough repetitions to tell unlimited from any default."""


def rounds(session, number, make=None):
    """Let the model ask for a round of tools that often, or until the turn ends."""
    done = 0
    while done < number and session.state.open and "Saving" not in session.phases:
        (make or one_read)(session, done)
        done += 1
    return done


def one_read(session, number):
    session.propose(call("read", x=number))
    session.allow()
    session.succeed(result=str(number))


def reading(**limits):
    return Session(tool("read", Effect.PURE), limits=Limits(**limits))


def tries(session, once, *, most=MANY):
    """How often a thing can be done while the turn goes on; ``most`` if it does not end by then."""
    for number in range(most):
        once(session)
        if session.phase.__name__ in ("Saving", "Stopping") or not session.state.open:
            return number
    return most


@pytest.mark.req("R-073", "R-104", "D-5", "R-042")
class TestSteps:
    @pytest.mark.parametrize(("limit", "requests"), [(0, 0), (1, 1), (3, 3)])
    def test_as_many_requests_as_the_limit_says(self, limit, requests):
        session = reading(steps=limit)
        session.prompt()
        rounds(session, MANY)
        session.all_saved()
        assert session.phase is Exhausted
        assert session.stop is StopReason.MAX_STEPS
        assert session.state.turn.step == requests

    @pytest.mark.req("D-23", "R-108")
    def test_the_cause_of_the_request_that_no_longer_fits_is_kept(self):
        session = reading(steps=1)
        session.prompt()
        rounds(session, MANY)
        assert dict(session.ending.evidence) == {"steps": "1", "cause": "results-appended"}

    def test_unlimited(self):
        session = reading(steps=None, tool_calls=None)
        session.prompt()
        assert rounds(session, 150) == 150
        assert session.state.turn.step == 151

    def test_retries_are_counted_apart(self):
        session = reading(steps=1)
        session.prompt()
        session.model_fails()
        session.fire("retry/1.1")
        session.answer()
        assert session.phase is Completed

    @pytest.mark.req("D-23", "R-107")
    def test_a_recovery_is_allowed_while_one_more_request_fits(self):
        session = reading(steps=2)
        session.propose("read")
        session.refuse_arguments()
        assert session.phase.__name__ == "AwaitingModel"
        session.propose("read")
        session.refuse_arguments()
        assert session.ending.reason is StopReason.MAX_STEPS
        assert dict(session.ending.evidence)["cause"] == "arguments-repaired"


@pytest.mark.req("R-102", "R-106", "D-5")
class TestToolCalls:
    @pytest.mark.parametrize(("limit", "ran"), [(0, 0), (1, 1), (2, 2)])
    def test_as_many_start_as_the_limit_says_and_each_call_has_its_answer(self, limit, ran):
        session = reading(tool_calls=limit)
        session.execute("read", "read", "read")
        for call_id, state in list(session.calls.items()):
            if state == "Executing":
                session.succeed(call_id)
        session.all_saved()
        assert session.phase is Exhausted
        assert session.stop is StopReason.MAX_TOOL_CALLS
        refused = [result for result in session.results if isinstance(result.outcome, NotExecuted)]
        assert len(session.results) == 3
        assert len(refused) == 3 - ran
        assert {result.outcome.reason for result in refused} == {NotExecutedReason.MAX_TOOL_CALLS}

    def test_exactly_at_the_limit_the_turn_goes_on(self):
        session = reading(tool_calls=1)
        session.prompt()
        rounds(session, 1)
        session.answer()
        assert session.phase is Completed

    def test_unlimited(self):
        session = reading(tool_calls=None, steps=None)
        session.prompt()
        assert rounds(session, 210) == 210

    def test_a_second_execution_of_one_call_is_not_counted_again(self):
        session = reading(tool_calls=1)
        session.execute("read")
        session.lose()
        session.succeed()
        assert session.state.turn.counters.tool_calls == 1
        session.answer()
        assert session.phase is Completed

    def test_what_never_started_is_not_counted(self):
        session = reading(tool_calls=1)
        session.propose("read")
        session.block()
        session.prompt() if not session.state.open else None
        session.execute("read")
        session.succeed()
        session.answer()
        assert session.phase is Completed

    def test_a_new_turn_counts_anew(self):
        session = reading(tool_calls=1)
        for _ in range(2):
            session.execute("read")
            session.succeed()
            session.answer()
            session.reopen()

    @pytest.mark.req("R-166")
    def test_a_call_that_blocks_on_failure_and_was_not_started_for_the_limit_ends_it_as_the_limit(self):
        session = Session(tool(on_failure="block"), limits=Limits(tool_calls=0))
        session.execute("write")
        session.all_saved()
        assert session.stop is StopReason.MAX_TOOL_CALLS


@pytest.mark.req("R-105", "D-5")
class TestTokensAndCost:
    @pytest.mark.parametrize(
        ("limit", "usage", "reason"),
        [
            ("tokens", Usage(6, 4), StopReason.MAX_TOKENS),
            ("cost_micros", Usage(cost_micros=10), StopReason.MAX_COST),
        ],
    )
    def test_no_request_starts_once_they_are_used_up(self, limit, usage, reason):
        session = reading(**{limit: 10})
        session.propose("read")
        session.allow()
        session.succeed(usage=usage)
        session.all_saved()
        assert session.phase is Exhausted
        assert session.stop is reason
        assert dict(session.ending.evidence)[limit] == "10"

    @pytest.mark.parametrize(("limit", "usage"), [("tokens", Usage(5, 4)), ("cost_micros", Usage(cost_micros=9))])
    def test_one_below_the_limit_goes_on(self, limit, usage):
        session = reading(**{limit: 10})
        session.propose("read")
        session.allow()
        session.succeed(usage=usage)
        session.answer()
        assert session.phase is Completed

    @pytest.mark.parametrize("limit", ["tokens", "cost_micros"])
    def test_zero_allows_no_request(self, limit):
        session = reading(**{limit: 0})
        session.prompt()
        assert session.stop in (StopReason.MAX_TOKENS, StopReason.MAX_COST)
        assert session.state.turn.requests == 0

    def test_a_retry_asks_them_too(self):
        session = reading(tokens=10)
        session.prompt()
        session.model_fails(usage=Usage(10, 0))
        session.fire("retry/1.1")
        assert session.stop is StopReason.MAX_TOKENS

    def test_a_resume_asks_them_too(self):
        session = reading(tokens=10)
        session.prompt()
        session.resume(limits=Limits(tokens=0))
        assert session.stop is StopReason.MAX_TOKENS

    def test_what_was_under_way_may_exceed_them_and_an_answer_is_an_answer(self):
        session = reading(tokens=10)
        session.prompt()
        session.reply("Long.", usage=Usage(50, 50))
        session.all_saved()
        assert session.phase is Completed

    def test_unknown_usage_counts_as_nothing(self):
        session = reading(tokens=1, cost_micros=1)
        session.prompt()
        rounds(session, 3)
        session.answer()
        assert session.phase is Completed

    @pytest.mark.req("D-23", "D-28")
    def test_the_cause_is_kept_with_them(self):
        session = reading(tokens=10)
        session.propose("read")
        session.allow()
        session.succeed(usage=Usage(10, 0))
        assert dict(session.ending.evidence)["cause"] == "results-appended"


@pytest.mark.req("R-103", "R-056", "D-26")
class TestTime:
    def test_the_turns_timer_ends_it(self):
        session = reading(turn_ms=100)
        session.prompt()
        session.fire("turn/1")
        session.model_stops()
        session.all_saved()
        assert session.phase is Exhausted
        assert session.stop is StopReason.TIMEOUT

    def test_zero_allows_no_request(self):
        session = reading(turn_ms=0)
        session.prompt()
        assert session.stop is StopReason.TIMEOUT
        assert session.state.turn.requests == 0

    def test_unlimited_starts_no_timer(self):
        session = reading(turn_ms=None)
        session.prompt()
        assert "start-timer turn/1" not in session.waits

    def test_it_ends_the_turn_before_anything_else_of_it_goes_on(self):
        session = reading(turn_ms=100)
        session.execute("read")
        session.wait(200)
        session.succeed()
        assert session.hops[0] is Because.TIME_IS_UP
        assert session.stop is StopReason.TIMEOUT
        assert "request-model 1.2" not in session.commands

    def test_one_millisecond_below_it_goes_on(self):
        session = reading(turn_ms=100)
        session.execute("read")
        session.now = session.state.turn.due_at - 2
        session.succeed()
        assert session.phase.__name__ == "AwaitingModel"

    @pytest.mark.parametrize("phase", ["Preparing", "AwaitingRetry", "Compacting", "ReviewingCompletion", "Streaming"])
    def test_it_ends_every_phase_at_work(self, phase):
        session = Session(
            limits=Limits(turn_ms=100, compact_at_tokens=0 if phase == "Compacting" else None),
            prepares_steps=phase == "Preparing",
            reviews_completion=True,
        )
        session.prompt()
        if phase == "AwaitingRetry":
            session.model_fails()
        if phase == "ReviewingCompletion":
            session.reply("Done?")
        if phase == "Streaming":
            session.opened()
        assert session.phase.__name__ == phase
        session.fire("turn/1")
        assert session.stop is StopReason.TIMEOUT


@pytest.mark.req("R-068", "R-214", "R-140", "G-7")
class TestLoops:
    """Bounds on loops count extra tries: with 0 there is no second one."""

    BOUNDS = (0, 1, 3)

    @pytest.mark.req("R-141", "R-143", "D-13")
    @pytest.mark.parametrize("bound", BOUNDS)
    def test_model_retries(self, bound):
        def fail(session):
            session.model_fails()
            if session.phase.__name__ == "AwaitingRetry":
                session.fire("retry/1.1")

        session = reading(model_retries=bound)
        session.prompt()
        assert tries(session, fail) == bound
        assert session.stop is StopReason.MODEL_ERROR
        assert session.state.turn.counters.model_retries == bound
        unlimited = reading(model_retries=None)
        unlimited.prompt()
        assert tries(unlimited, fail) == MANY

    @pytest.mark.parametrize("bound", BOUNDS)
    def test_model_retries_of_the_next_step_are_counted_anew(self, bound):
        session = reading(model_retries=bound)
        session.prompt()
        for step in (1, 2):
            for _ in range(bound):
                session.model_fails()
                session.fire(f"retry/1.{step}")
            one_read(session, step)
        session.answer()
        assert session.phase is Completed

    @pytest.mark.req("G-5")
    @pytest.mark.parametrize("bound", BOUNDS)
    def test_resumes(self, bound):
        session = reading(resumes=bound)
        session.prompt()
        assert tries(session, lambda each: each.resume()) == bound
        assert session.stop is StopReason.RESUMES
        unlimited = reading(resumes=None)
        unlimited.prompt()
        assert tries(unlimited, lambda each: each.resume()) == MANY

    @pytest.mark.req("R-145", "G-8")
    @pytest.mark.parametrize("bound", BOUNDS)
    @pytest.mark.parametrize(
        ("name", "kind"),
        [("overflow_compactions", ModelFailure.OVERFLOW), ("media_downgrades", ModelFailure.MEDIA_TOO_LARGE)],
    )
    def test_compactions_and_downgrades(self, name, kind, bound):
        def fail(session):
            session.model_fails(kind, "too large")
            if session.phase.__name__ == "Compacting":
                session.compacted()

        session = reading(**{name: bound})
        session.prompt()
        assert tries(session, fail) == bound
        assert session.stop is StopReason.MODEL_ERROR
        assert getattr(session.state.turn.counters, name) == bound
        unlimited = reading(**{name: None})
        unlimited.prompt()
        assert tries(unlimited, fail) == MANY

    @pytest.mark.req("R-147", "D-15")
    @pytest.mark.parametrize("bound", BOUNDS)
    @pytest.mark.parametrize("parts", [("Half a",), (call("read"),)])
    def test_truncation_reissues(self, bound, parts):
        def cut(session):
            session.reply(*parts, finish=FinishReason.LENGTH)

        session = reading(truncation_reissues=bound)
        session.prompt()
        assert tries(session, cut) == bound
        assert session.stop is StopReason.TRUNCATED
        unlimited = reading(truncation_reissues=None)
        unlimited.prompt()
        assert tries(unlimited, cut) == MANY

    @pytest.mark.parametrize("bound", BOUNDS)
    @pytest.mark.parametrize(
        ("name", "parts", "finish", "reason"),
        [
            ("empty_replies", (), FinishReason.STOP, StopReason.NO_ANSWER),
            ("empty_replies", ("  ",), FinishReason.STOP, StopReason.NO_ANSWER),
            ("think_only", (ReasoningPart("Hm."),), FinishReason.STOP, StopReason.NO_ANSWER),
        ],
    )
    def test_nudges(self, name, parts, finish, reason, bound):
        session = reading(**{name: bound})
        session.prompt()
        assert tries(session, lambda each: each.reply(*parts, finish=finish)) == bound
        assert session.stop is reason
        assert getattr(session.state.turn.counters, name) == bound
        unlimited = reading(**{name: None})
        unlimited.prompt()
        assert tries(unlimited, lambda each: each.reply(*parts, finish=finish)) == MANY

    @pytest.mark.req("R-089", "D-16")
    @pytest.mark.parametrize("bound", BOUNDS)
    @pytest.mark.parametrize("finish", [FinishReason.UNKNOWN, FinishReason.PAUSE])
    def test_unknown_finishes(self, finish, bound):
        session = reading(unknown_finishes=bound)
        session.prompt()
        assert tries(session, lambda each: each.reply("Perhaps done.", finish=finish)) == bound
        session.all_saved()
        assert session.phase is Completed
        assert session.ending.warning == "the model did not state an end"

    @pytest.mark.req("R-090")
    @pytest.mark.parametrize("bound", BOUNDS)
    def test_missing_completions(self, bound):
        from agentcore import Policy

        def session_with(limit):
            session = Session(
                tool("finish", Effect.PURE, completes=True),
                limits=Limits(missing_completions=limit),
                policy=Policy(completion_required=True),
            )
            session.prompt()
            return session

        session = session_with(bound)
        assert tries(session, lambda each: each.reply("Done, I think.")) == bound
        assert (session.stop, session.ending.loop) == (StopReason.LOOP_LIMIT, "missing_completions")
        assert tries(session_with(None), lambda each: each.reply("Done.")) == MANY

    @pytest.mark.req("R-099", "D-22")
    @pytest.mark.parametrize("bound", BOUNDS)
    def test_completion_refusals(self, bound):
        def refuse(session):
            session.reply("Done.")
            session.refuse("Not yet.")

        session = Session(limits=Limits(completion_refusals=bound), reviews_completion=True)
        session.prompt()
        assert tries(session, refuse) == bound
        session.all_saved()
        assert session.phase is Completed
        assert session.ending.warning == "the completion review objected: Not yet."
        unlimited = Session(limits=Limits(completion_refusals=None), reviews_completion=True)
        unlimited.prompt()
        assert tries(unlimited, refuse) == MANY

    @pytest.mark.req("D-1")
    @pytest.mark.parametrize("bound", BOUNDS)
    def test_denials(self, bound):
        def deny(session):
            session.propose(call("read", x=session.state.turn.step))
            session.block()

        session = reading(denials=bound)
        session.prompt()
        assert tries(session, deny) == bound
        session.all_saved()
        assert session.phase is Denied
        assert session.stop is StopReason.PERMISSION_DENIED
        assert session.outcome(session.results[-1].call_id).case is DenialCase.STATIC
        unlimited = reading(denials=None, failing_rounds=None)
        unlimited.prompt()
        assert tries(unlimited, deny) == MANY

    @pytest.mark.parametrize("bound", BOUNDS)
    @pytest.mark.parametrize(
        ("name", "bad"),
        [
            ("argument_repairs", lambda s: (s.reply(call("read", x=s.state.turn.step)), s.refuse_arguments())),
            ("argument_repairs", lambda s: s.reply(call("read", raw=f"{{{s.state.turn.step}}}"))),
            ("unknown_tools", lambda s: s.reply(call("write", x=s.state.turn.step))),
            ("failing_rounds", lambda s: (s.reply(call("read", x=s.state.turn.step)), s.allow(), s.fail())),
            ("identical_calls", lambda s: (s.reply(call("read", x=1)), s.allow(), s.succeed())),
        ],
    )
    def test_rounds_in_a_row(self, name, bad, bound):
        others = {"argument_repairs", "unknown_tools", "failing_rounds", "identical_calls"} - {name}
        session = reading(**{name: bound}, **dict.fromkeys(others))
        session.prompt()
        repeats = bound + 1 if name == "identical_calls" else bound
        assert tries(session, bad) == repeats
        session.all_saved()
        assert session.phase is Exhausted
        assert (session.stop, session.ending.loop) == (StopReason.LOOP_LIMIT, name)
        unlimited = reading(**{name: None}, **dict.fromkeys(others))
        unlimited.prompt()
        assert tries(unlimited, bad) == MANY

    @pytest.mark.parametrize("name", ["argument_repairs", "failing_rounds", "unknown_tools"])
    def test_a_good_round_between_begins_the_count_anew(self, name):
        session = reading(**{name: 1})
        session.prompt()
        for number in range(4):
            session.propose(call("nope" if name == "unknown_tools" else "read", x=number, bad=True))
            if name != "unknown_tools":
                session.refuse_arguments()
            one_read(session, number)
        session.answer()
        assert session.phase is Completed

    def test_the_first_bound_that_trips_is_named(self):
        session = reading(argument_repairs=0, failing_rounds=0)
        session.propose("read")
        session.refuse_arguments()
        assert session.ending.loop == "argument_repairs"

    @pytest.mark.parametrize("bound", BOUNDS)
    def test_checkpoint_retries(self, bound):
        def fail(session):
            session.save_fails()
            if "start-timer checkpoint" in session.waits:
                session.fire("checkpoint")

        session = executing_after_first_checkpoint(checkpoint_retries=bound)
        assert tries(session, fail) == bound
        assert session.stop is StopReason.STORAGE
        assert tries(executing_after_first_checkpoint(checkpoint_retries=None), fail) == MANY

    @pytest.mark.parametrize("bound", BOUNDS)
    def test_changed_grants(self, bound):
        def change(session):
            session.ask(arguments=f'{{"hook":{session.now}}}')
            session.grant(arguments=f'{{"person":{session.now}}}')

        session = Session(tool(), limits=Limits(changed_grants=bound))
        session.propose("write")
        done = 0
        while "evaluate-policy 1.1.0" in session.waits and done < MANY:
            change(session)
            done += 1
        assert done == bound + 1
        assert session.outcome().reason == "the arguments were changed too often"
        assert session.outcome().case is DenialCase.UNANSWERED
        unlimited = Session(tool(), limits=Limits(changed_grants=None))
        unlimited.propose("write")
        for _ in range(MANY):
            change(unlimited)
        assert unlimited.calls == {"1.1.0": "Proposed"}

    def test_questions_to_a_person_share_the_bound_of_inspections(self):
        session = unknown(Effect.OPAQUE, limits=Limits(inspections=0))
        session.inspected(Finding.UNAVAILABLE, by="anna")
        assert session.outcome() == Abandoned("anna")


def executing_after_first_checkpoint(**limits):
    """The message's checkpoint is outstanding while the model waits for nothing else."""
    session = Session(tool(), limits=Limits(**limits))
    session.propose("write")
    return session


@pytest.mark.req("R-214", "D-4")
class TestParallel:
    @pytest.mark.parametrize("limit", [1, 2, 5])
    def test_no_more_calls_hold_a_slot_than_the_limit_says(self, limit):
        session = executing(Effect.FENCEABLE, calls=4, limits=Limits(max_parallel=limit))
        assert list(session.calls.values()).count("Executing") == min(limit, 4)

    def test_at_least_one(self):
        with pytest.raises(ValueError, match=r"limits\.max_parallel is 0: expected a whole number"):
            Limits(max_parallel=0)


class TestDurations:
    def test_a_request_has_a_deadline(self):
        session = reading(model_ms=50)
        session.prompt()
        session.fire("model/1.1")
        assert session.phase.__name__ == "AwaitingRetry"
        assert dict(session.state.phase.transition.evidence)["code"] == "deadline"

    def test_a_request_without_a_deadline_waits(self):
        session = reading(model_ms=None)
        session.prompt()
        assert session.waits == ("request-model 1.1",)

    @pytest.mark.req("R-141", "D-14")
    def test_the_delay_before_a_retry_doubles_up_to_its_cap(self):
        session = reading(model_retries=7)
        session.prompt()
        delays = []
        for _ in range(7):
            session.model_fails()
            delays.append(session.state.phase.due_at - session.now)
            assert session.state.phase.jitter_max_ms == 1_000
            session.fire("retry/1.1")
        assert delays == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]

    @pytest.mark.req("D-14")
    def test_a_server_may_ask_for_a_longer_wait_up_to_a_cap(self):
        session = reading(retry_after_cap_ms=5_000)
        session.prompt()
        session.model_fails(retry_after_ms=5_000)
        assert session.state.phase.due_at - session.now == 5_000
        assert session.because is Because.RETRY_RATE_LIMITED
        session.fire("retry/1.1")
        session.model_fails(retry_after_ms=5_001, message="come back tomorrow")
        assert session.stop is StopReason.MODEL_ERROR
        assert session.ending.message == "come back tomorrow"

    def test_a_server_may_not_shorten_the_wait(self):
        session = reading()
        session.prompt()
        session.model_fails(retry_after_ms=1)
        assert session.state.phase.due_at - session.now == 1_000

    def test_the_delay_before_a_checkpoint_doubles(self):
        session = executing_after_first_checkpoint(checkpoint_retries=3, checkpoint_base_ms=10)
        delays = []
        for _ in range(3):
            session.save_fails()
            delays.append(session.state.storage.retry_at - session.now)
            session.fire("checkpoint")
        assert delays == [10, 20, 40]

    def test_grace_and_approval_have_their_durations(self):
        session = Session(tool(), limits=Limits(grace_ms=7, approval_ms=9))
        session.propose("write")
        session.ask()
        assert session.call().state.due_at == session.now + 9
        session.grant()
        session.all_saved()
        session.abort()
        assert session.call().state.cancel.grace_at == session.now + 7

    def test_doubling_ends_at_the_cap_however_often(self):
        assert [doubled(1, times, 100) for times in (0, 1, 6, 7, 10_000)] == [1, 2, 64, 100, 100]


class TestTheTableOfBounds:
    @pytest.mark.req("R-109", "R-234")
    def test_names_every_loop_counter_and_every_bound_is_a_limit(self):
        names = [bound.name for bound in BOUNDS]
        assert len(set(names)) == len(names)
        assert {field.name for field in attrs.fields(Counters)} <= set(names)
        assert set(names) <= {field.name for field in attrs.fields(Limits)}

    def test_one_more_fits_below_a_limit_and_never_at_it(self):
        assert [allows(2, used) for used in (0, 1, 2, 3)] == [True, True, False, False]
        assert not allows(0, 0)
        assert allows(None, 10**9)

    @pytest.mark.parametrize("value", [-1, 1.5, True, "3"])
    def test_a_limit_is_a_whole_number(self, value):
        with pytest.raises(ValueError, match=r"limits\.steps is .*: expected a whole number"):
            Limits(steps=value)

    @pytest.mark.parametrize("name", [field.name for field in attrs.fields(Limits) if field.type in (int, "int")])
    def test_what_has_to_be_a_number_is_never_unlimited(self, name):
        with pytest.raises(ValueError, match=rf"limits\.{name}"):
            Limits(**{name: None})


@pytest.mark.req("R-214", "R-166")
def test_a_model_cannot_brick_a_turn_with_many_calls():
    session = Session(tool("read", Effect.PURE), limits=Limits(tool_calls=0))
    session.prompt()
    session.reply(*(call("read", str(number)) for number in range(1_010)))
    for _ in range(1_010):
        session.allow()
    session.all_saved()
    assert session.stop is StopReason.MAX_TOOL_CALLS


def test_a_turn_that_is_stopping_has_an_end_though_every_limit_is_zero():
    zero = {field.name: 0 for field in attrs.fields(Limits) if field.name != "max_parallel"}
    session = Session(tool(), limits=Limits(**zero))
    session.prompt()
    session.all_saved()
    assert session.phase is Exhausted
    assert session.waits == ()


def test_nothing_under_way_and_no_time_left_still_runs_what_was_decided():
    session = reading(turn_ms=100)
    session.execute("read")
    session.fire("turn/1")
    assert session.phase is Stopping
    session.stopped()
    session.all_saved()
    assert session.phase is Exhausted


def test_failures_of_a_session_and_of_a_step_are_told_apart():
    session = reading(model_retries=0)
    session.prompt()
    session.model_fails()
    session.all_saved()
    assert session.phase is Failed
    assert RunningTools.__name__ not in session.phases
