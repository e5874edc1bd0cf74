"""Clauses about what must not be left undone: what is waited for is ordered, what is due happens, words are heard."""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Effect, Limits, Policy, outstanding
from agentcore.commands import (
    AskApproval,
    CancelTool,
    CompactContext,
    ExecuteTool,
    PersistCheckpoint,
    RequestModel,
)
from agentcore.events import SteeringQueued, ToolFailed
from agentcore.messages import (
    DenialCase,
    DeniedCall,
    FailedCall,
    InvalidCall,
    InvalidReason,
    MessageSource,
    NotExecuted,
    NotExecutedReason,
    Succeeded,
    TextPart,
    UserMessage,
)
from agentcore.states import Because, EffectUnknown, Ready, Released, ReviewingCompletion, Settled, StopReason
from agentcore.steps.base import why
from agentcore.testing.core import Core
from agentcore.testing.laws import LAWS
from tests.core.driver import Session, tool
from tests.laws.forging import asked, call_in, last, running, session, waiting_for, with_call, wrong


def silent(made, kind):
    """The last event of a session whose core does not tell anybody of one kind of command."""
    step = last(made)
    core = waiting_for(without=(kind,))
    ordered = tuple(each for each in step.reduction.commands if not isinstance(each, kind))
    return step.passage(core=core, commands=ordered)


class TestOrders:
    """L3: numbers are minted, and nothing is waited for in silence."""

    def test_a_number_is_minted_before_it_is_ordered(self):
        step = last(running())

        more = ExecuteTool("1.1.0", epoch=0, attempt=2)
        core = Core(outstanding=lambda state: (*outstanding(state), *([more] if state is step.after else [])))
        wrong("L3", step.passage(core=core), "was ordered, and 1 was the last number minted for it")

    def test_what_is_over_is_not_ordered(self):
        step, old = last(running()), RequestModel("1.0", epoch=0, attempt=1)
        core = Core(outstanding=lambda state: (*outstanding(state), *([old] if state is step.after else [])))
        wrong("L3", step.passage(core=core), "was ordered, and None was the last number minted for it")

    def test_a_model_that_is_awaited_was_asked(self):
        made = session()
        made.prompt()
        wrong("L3", silent(made, RequestModel), "the turn is AwaitingModel, and no request-model is outstanding")

    def test_a_smaller_context_is_asked_for(self):
        made = session(limits=Limits(compact_at_tokens=0))
        made.prompt()
        wrong("L3", silent(made, CompactContext), "the turn is Compacting, and no compact-context is outstanding")

    @pytest.mark.parametrize(
        ("verb", "kind", "words"),
        [
            ("started", ExecuteTool, "1.1.0 is Executing, and no execute-tool"),
            ("abort", CancelTool, "1.1.0 is CancellationRequested, and no cancel-tool"),
        ],
    )
    def test_an_execution_is_ordered_and_its_end_too(self, verb, kind, words):
        made = running()
        getattr(made, verb)()
        wrong("L3", silent(made, kind), words)

    def test_a_question_is_asked(self):
        made = asked()
        made.ask()
        wrong("L3", silent(made, AskApproval), "1.1.0 is AwaitingApproval, and no ask-approval")

    def test_an_open_turn_waits_for_something(self):
        state = running().state
        assert LAWS["L17"].state(state, Core()) is None
        words = "RunningTools is open, and nothing is outstanding"
        assert LAWS["L17"].state(state, Core(outstanding=lambda _: ())) == words
        assert LAWS["L17"].state(session().state, Core(outstanding=lambda _: ())) is None


class TestStorage:
    """L6: what a checkpoint says is durable, and what it covers has started."""

    def test_what_is_written_is_durable(self):
        made = asked()
        made.saved()
        step = last(made)
        assert any(isinstance(each, PersistCheckpoint) for each in outstanding(step.before))
        deaf = evolve(step.after, storage=step.before.storage)
        wrong("L6", step.passage(deaf, commands=()), "durable went from 0 to 0 by CheckpointWritten")

    def test_a_covered_release_has_started(self):
        step = last(running())
        run = call_in(step.after).run
        waits = with_call(step.after, state=Released(why(Because.RELEASED), run))
        wrong("L6", step.passage(waits, commands=()), "the release of 1.1.0 is durable, and it has not started")


class TestResume:
    """L10: nothing that was allowed or asked outlives a resume."""

    def resumed(self):
        made = asked(Effect.OPAQUE)
        made.resume()
        return last(made)

    def test_a_permission_does_not_outlive_it(self):
        step = self.resumed()
        ready = with_call(step.before, state=Ready(why(Because.POLICY_ALLOWED)))
        after = evolve(with_call(step.after, state=call_in(ready).state))
        wrong("L10", evolve(step, before=ready).passage(after, commands=()), "1.1.0 is Ready after a resume")

    def test_a_review_is_asked_for_anew(self):
        step = self.resumed()
        old = with_call(step.after, tries=call_in(step.before).tries)
        wrong("L10", step.passage(old, commands=()), "1.1.0 is not reviewed anew after a resume")

    def test_what_is_gone_is_not_reviewed(self):
        step = self.resumed()
        bare = evolve(step.after, config=evolve(step.after.config, tools=()))
        wrong("L10", step.passage(bare), "1.1.0 is reviewed after a resume, and there is no 'a'")

    def test_what_is_unknown_or_settled_needs_no_review(self):
        made = running(Effect.OPAQUE, Effect.PURE)
        made.fail("1.1.1")
        made.resume()
        assert {type(each.state) for each in made.state.batch.calls} == {EffectUnknown, Settled}
        assert LAWS["L10"].transition(last(made).passage()) is None


class TestMessages:
    """L14: what is said keeps its kind, is heard where it can be, and what is imported is there."""

    @pytest.mark.parametrize(
        ("verb", "source"), [("steer", MessageSource.FOLLOW_UP), ("follow_up", MessageSource.STEERING)]
    )
    def test_steering_is_steering_and_what_follows_follows(self, verb, source):
        made = asked()
        getattr(made, verb)(message_id="said")
        step = last(made)
        queues = step.after.queues
        turned = tuple(evolve(each, source=source) for each in (*queues.follow_ups, *queues.steering))
        steering = turned if source is MessageSource.STEERING else ()
        other = evolve(queues, steering=steering, follow_ups=turned if not steering else ())
        wrong("L14", step.passage(evolve(step.after, queues=other)), f"and became {source.value}")

    def test_a_prompt_is_a_prompt(self):
        made = session()
        made.prompt(message_id="said")
        step = last(made)
        nudge = UserMessage("said", MessageSource.FOLLOW_UP, (TextPart("Do it."),))
        other = evolve(step.after, history=step.before.history.append(nudge))
        wrong("L14", step.passage(other), "said was said as prompt and became follow-up")

    def test_steering_is_heard_before_a_completion_is_reviewed(self):
        made = session(reviews_completion=True)
        made.prompt()
        made.steer(message_id="said")
        step = last(made)
        reviewing = ReviewingCompletion(why(Because.REVIEW_ORDERED), "1.1", None)
        wrong("L14", step.passage(evolve(step.after, phase=reviewing)), "said waits in ReviewingCompletion")

    def completed(self):
        made = session()
        made.prompt()
        made.answer()
        return last(made), SteeringQueued(at=made.now, message_id="said", parts=(TextPart("And?"),))

    def test_a_follow_up_begins_behind_an_answer(self):
        step, steering = self.completed()
        waits = evolve(last(self.steered()).after.queues)
        told = evolve(step, event=steering).passage(evolve(step.after, queues=waits), commands=())
        wrong("L14", told, "said waits in Completed")

    def steered(self):
        made = session()
        made.prompt()
        made.steer(message_id="said")
        return made

    @pytest.mark.parametrize(
        "change",
        [
            {"unsaved": True},
            {"reason": StopReason.STOPPED_BY_HOST},
            {"transition": why(Because.WAITING_GIVEN_UP)},
        ],
    )
    def test_an_end_that_is_not_saved_or_was_wanted_begins_nothing(self, change):
        step, steering = self.completed()
        end = step.after.phase
        if "reason" in change:
            change = {"ending": evolve(end.ending, reason=change["reason"])}
        waits = evolve(step.after, phase=evolve(end, **change), queues=last(self.steered()).after.queues)
        before = evolve(step.after, known=step.before.known)
        told = evolve(step, before=before, event=steering).passage(evolve(waits, known=waits.known.add("said")))
        assert LAWS["L14"].transition(told) is None

    def test_what_is_imported_stands_in_history(self):
        made = session()
        made.bring(UserMessage("old", MessageSource.PROMPT, (TextPart("Hello."),)))
        step = last(made)
        assert LAWS["L14"].transition(step.passage()) is None
        wrong("L14", step.passage(evolve(step.after, history=step.before.history)), "old was imported and is not in")


class TestTime:
    """L15: a turn whose time is up ends for that, and a large context is compacted first."""

    def late(self):
        made = session(limits=Limits(turn_ms=10))
        made.prompt()
        made.wait(20)
        made.reply("Done.")
        return last(made)

    def test_no_turn_works_after_its_time(self):
        step = self.late()
        assert LAWS["L15"].transition(step.passage()) is None
        works = evolve(step.before, seq=step.after.seq, at=step.after.at)
        wrong("L15", step.passage(works, commands=()), "turn 1 works on after its time")

    def test_a_turn_whose_time_is_up_ends_for_that(self):
        step = self.late()
        phase = step.after.phase
        other = evolve(phase, ending=evolve(phase.ending, reason=StopReason.FINAL_ANSWER))
        wrong("L15", step.passage(evolve(step.after, phase=other), commands=()), "turn 1 does not end for that")

    def test_a_large_context_is_compacted_before_it_is_sent(self):
        made = session(limits=Limits(compact_at_tokens=50))
        made.prompt()
        step = last(made)
        large = evolve(step.after, turn=evolve(step.after.turn, context_tokens=60))
        wrong("L15", step.passage(large, commands=step.reduction.commands), "with 60 tokens, the threshold is 50")
        again = evolve(large, turn=evolve(large.turn, compactions=1))
        assert LAWS["L15"].transition(step.passage(again, commands=step.reduction.commands)) is None


class TestStarted:
    """L22, L13: what may have acted is not settled as if it had not begun; what is told of it is kept."""

    @pytest.mark.parametrize(
        "outcome",
        [
            NotExecuted(NotExecutedReason.USER_ABORT),
            DeniedCall(DenialCase.UNANSWERED),
            InvalidCall(InvalidReason.ARGUMENTS_REFUSED, "x"),
        ],
    )
    def test_what_may_have_acted_is_not_settled_as_if_it_had_not(self, outcome):
        made = running()
        made.fail()
        step = last(made)
        before = evolve(step.before)
        run = call_in(before).run
        settled = with_call(before, state=Settled(why(Because.TURN_STOPPING), outcome, run))
        wrong("L22", step.passage(evolve(settled, seq=step.after.seq), commands=()), "1.1.0 may have acted")
        pure = with_call(before, contract=evolve(call_in(before).contract, effect=Effect.PURE))
        read = with_call(pure, state=call_in(settled).state)
        assert LAWS["L22"].transition(evolve(step, before=pure).passage(read, commands=())) is None

    def test_what_is_told_of_one_earlier_attempt_is_kept_by_asking_about_the_other(self):
        made = Session(tool("write", Effect.KEYED), limits=Limits(effect_retries=3))
        made.execute("write")
        for _ in range(2):
            made.lose()
            made.all_saved() if len(call_in(made.state).unproved) == 1 else None
        assert isinstance(call_in(made.state).state, Released)
        made.give(ToolFailed, call_id="1.1.0", epoch=0, attempt=1, error="no")
        assert isinstance(call_in(made.state).state, EffectUnknown)
        step = last(made)
        assert LAWS["L13"].transition(step.passage()) is None
        one = with_call(step.before, unproved=call_in(step.before).unproved[:1])
        wrong("L13", evolve(step, before=one).passage(), "was accepted and settled nothing")


class TestDemands:
    """L8: a turn does not work on behind an outcome that ends it."""

    def settled(self, outcome, policy=None, **contract):
        """Two calls, of which the first has just been settled, and the turn works on."""
        made = running(Effect.FENCEABLE, Effect.FENCEABLE, policy=policy or Policy())
        made.succeed("1.1.0")
        step = last(made)
        bound = evolve(call_in(step.after).contract, **contract)
        state = Settled(why(Because.TOOL_FAILED), outcome, call_in(step.before).run)
        return step.passage(with_call(step.after, state=state, contract=bound))

    @pytest.mark.parametrize(
        ("outcome", "contract"),
        [
            (FailedCall("no", fatal=True), {}),
            (DeniedCall(DenialCase.REFUSED), {}),
            (DeniedCall(DenialCase.DANGEROUS), {}),
            (FailedCall("no"), {"on_failure": "block"}),
            (NotExecuted(NotExecutedReason.PROVED_ABSENT), {"on_failure": "block"}),
        ],
    )
    def test_an_outcome_that_ends_the_turn_ends_it(self, outcome, contract):
        wrong("L8", self.settled(outcome, **contract), "1.1.0 ends turn 1, and that is RunningTools")

    @pytest.mark.parametrize(
        ("outcome", "contract"),
        [
            (FailedCall("no"), {}),
            (DeniedCall(DenialCase.FEEDBACK), {}),
            (Succeeded("ok"), {"on_failure": "block"}),
            (NotExecuted(NotExecutedReason.MAX_TOOL_CALLS), {"on_failure": "block"}),
            (InvalidCall(InvalidReason.ARGUMENTS_REFUSED, "x"), {"on_failure": "block"}),
        ],
    )
    def test_any_other_does_not(self, outcome, contract):
        assert LAWS["L8"].transition(self.settled(outcome, **contract)) is None

    def test_a_policy_may_say_otherwise(self):
        forgiving = Policy(fatal_error="return_error", denied_refused="return_error", recoverable_error="stop_turn")
        assert LAWS["L8"].transition(self.settled(FailedCall("no", fatal=True), forgiving)) is None
        assert LAWS["L8"].transition(self.settled(DeniedCall(DenialCase.REFUSED), forgiving)) is None
        wrong("L8", self.settled(FailedCall("no"), forgiving), "1.1.0 ends turn 1")

    @pytest.mark.parametrize(("turn", "ends"), [("1", True), ("0", False)])
    def test_a_task_blocks_its_own_turn(self, turn, ends):
        made = Session(tool("task", Effect.OPAQUE, detached=True, on_failure="block"), tool("write"))
        made.execute("task", "write")
        made.detach("1.1.0")
        made.progressed("half", "1.1.1")
        step = last(made)
        failed = Settled(why(Because.TASK_SETTLED), FailedCall("no"), step.after.register[0].run)
        entry = evolve(step.after.register[0], call_id=f"{turn}.1.0", state=failed)
        passage = step.passage(evolve(step.after, register=(entry,)))
        assert (LAWS["L8"].transition(passage) is not None) is ends
