"""Each clause of the laws about one event can fail: a passage in which only that is wrong is found out, in its words.

The explorations show that the true core breaks no law, and the twins that each law notices a plausible slip. A law has
several clauses, though, and one that could never say anything would be missed by both.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Judgement, Limits, Reduction, Verdict, outstanding, reduce
from agentcore.commands import ExecuteTool, InspectEffect, RequestModel, StartTimer
from agentcore.events import InspectionRequested, ModelFailure
from agentcore.messages import (
    FinishReason,
    NotExecuted,
    NotExecutedReason,
    Succeeded,
    Usage,
)
from agentcore.states import Because, Settled
from agentcore.steps.base import why
from agentcore.testing.core import Core
from agentcore.testing.laws import LAWS
from tests.laws.forging import (
    asked,
    call_in,
    last,
    refused,
    running,
    session,
    waiting_for,
    with_batch,
    with_call,
    wrong,
)

SETTLED = Settled(why(Because.TOOL_SUCCEEDED), Succeeded("ok"))
NOT_RUN = Settled(why(Because.TOOL_SUCCEEDED), NotExecuted(NotExecutedReason.USER_ABORT))


def counters(state, **changes):
    return evolve(state, turn=evolve(state.turn, counters=evolve(state.turn.counters, **changes)))


class TestFunctions:
    """L2: what a refusal, an ignored event and an acceptance are."""

    def test_a_refusal_orders_nothing_else(self):
        step = last(running())
        timer = StartTimer("deadline/1.1.0", 0, 9, 5)
        wrong("L2", step.passage(step.before, commands=(timer,)), "the state stayed, but 1 commands came")

    def test_a_refusal_changes_no_state(self):
        made = running()
        assert refused(made)
        step = last(made)
        changed = evolve(step.before, seq=99)
        wrong("L2", step.passage(changed, commands=step.reduction.commands), "refused and changed the state")

    def test_an_accepted_event_is_one_more(self):
        step = last(running())
        wrong("L2", step.passage(evolve(step.after, seq=step.after.seq + 1)), "seq went from")


class TestOrders:
    """L3: commands are the difference of outstanding work."""

    def test_no_more_and_no_less_is_ordered(self):
        step = last(running())
        wrong("L3", step.passage(commands=()), "ordered was nothing; newly outstanding is")

    def test_no_key_is_outstanding_twice(self):
        step = last(running())
        twice = next(each for each in outstanding(step.after) if isinstance(each, ExecuteTool))
        core = Core(outstanding=lambda state: (*outstanding(state), *([twice] if state is step.after else [])))
        wrong("L3", step.passage(core=core, commands=step.reduction.commands), "a key is outstanding twice")

    def test_a_rejection_is_nothing_to_wait_for(self):
        made = running()
        commands = refused(made)
        made.started()
        wrong("L3", last(made).passage(core=waiting_for(*commands)), "a rejection is outstanding")

    def test_a_command_is_not_exchanged_while_it_is_outstanding(self):
        made = running()
        made.started()
        step = last(made)

        def other(state):
            return tuple(
                evolve(each, due_at=(each.due_at or 0) + 1)
                if isinstance(each, StartTimer) and state is step.after
                else each
                for each in outstanding(state)
            )

        wrong("L3", step.passage(core=Core(outstanding=other)), "was exchanged while it was outstanding")

    def test_a_new_key_carries_the_epoch_in_force(self):
        step = last(running())
        old = RequestModel("1.9", epoch=7, attempt=1)
        core = Core(outstanding=lambda state: (*outstanding(state), *([old] if state is step.after else [])))
        wrong("L3", step.passage(core=core), "was ordered in epoch 0")

    def test_a_key_that_left_does_not_come_back(self):
        monitor = LAWS["L3"].monitor
        made = running()
        made.lose()
        gone, said = monitor.step(monitor.start, last(made).passage())
        assert said is None
        back = next(line for line in made.trace if any("execute-tool" in each for each in line.commands))
        before = made.trace[made.trace.index(back) - 1].state
        again = evolve(last(made), before=before, reduction=back.judged.reduction)
        assert "has already left" in monitor.step(gone, again.passage())[1]

    def test_an_epoch_rises(self):
        monitor = LAWS["L3"].monitor
        made = running()
        made.resume()
        gone, said = monitor.step(monitor.start, last(made).passage())
        assert said is None
        assert "epoch 1 was there before" in monitor.step(gone, last(made).passage())[1]


class TestBounds:
    """L15: what is counted is bounded where it is ordered."""

    def test_no_step_is_begun_beyond_its_limit(self):
        made = session(limits=Limits(steps=5))
        made.prompt()
        step = last(made)
        beyond = evolve(step.after, turn=evolve(step.after.turn, steps=6))
        wrong("L15", step.passage(beyond, commands=step.reduction.commands), "step 6 is requested, 5 are allowed")

    @pytest.mark.parametrize(
        ("name", "used", "words"),
        [
            ("tokens", Usage(input_tokens=11), "after 11 of 10 tokens"),
            ("cost_micros", Usage(cost_micros=11), "after 11 of 10 millionths"),
        ],
    )
    def test_nothing_is_asked_for_beyond_what_may_be_spent(self, name, used, words):
        made = session(limits=Limits(**{name: 10}))
        made.prompt()
        step = last(made)
        spent = evolve(step.after, turn=evolve(step.after.turn, usage=used))
        wrong("L15", step.passage(spent, commands=step.reduction.commands), words)

    def test_no_call_runs_beyond_the_limit_of_calls(self):
        step = last(running(limits=Limits(tool_calls=3)))
        after = counters(with_call(step.after, counted=True), tool_calls=4)
        before = with_call(step.before, counted=False)
        passage = evolve(step, before=before).passage(after, commands=step.reduction.commands)
        wrong("L15", passage, "1.1.0 is executed beyond 3 tool calls")

    def test_no_count_of_a_turn_rises_beyond_its_bound(self):
        made = session(limits=Limits(model_retries=1))
        made.prompt()
        made.model_fails(ModelFailure.RETRYABLE)
        step = last(made)
        wrong("L15", step.passage(counters(step.after, model_retries=2)), "model_retries is 2, the bound is 1")

    def test_no_count_of_a_call_rises_beyond_its_bound(self):
        made = running(limits=Limits(observations=1))
        made.progressed("half")
        step = last(made)
        tries = call_in(step.after).tries
        many = with_call(step.after, tries=evolve(tries, observations_used=2))
        wrong("L15", step.passage(many), "observations_used of 1.1.0 is 2, the bound observations is 1")


class TestEffects:
    """L5, L6, L10, L12, L22: unknown, durable, allowed, whole, in one place."""

    def lost(self):
        made = running()
        made.lose()
        return made

    def test_an_unknown_effect_is_inspected(self):
        step = last(self.lost())
        core = waiting_for(without=(InspectEffect,))
        wrong("L5", step.passage(core=core), "no inspection is outstanding and no timer brings one")

    def test_an_inspection_may_be_asked_for(self):
        step = last(self.lost())

        def deaf(state, event):
            refusal = refused(running()) if isinstance(event, InspectionRequested) else None
            return (
                reduce.examine(state, event)
                if refusal is None
                else Judgement(Verdict.REJECTED, Reduction(state, refusal))
            )

        wrong("L5", step.passage(core=Core(examine=deaf)), "InspectionRequested is refused")

    def test_an_act_that_may_be_done_is_listed(self):
        state = last(self.lost()).after
        core = Core(pending_acts=lambda _: ())
        assert "InspectionRequested is not among the pending acts" in LAWS["L5"].state(state, core)

    def test_durable_is_what_a_checkpoint_says(self):
        made = running()
        made.started()
        step = last(made)
        later = evolve(step.after, storage=evolve(step.after.storage, durable=step.after.seq))
        wrong("L6", step.passage(later), "by ToolStarted")

    def test_a_release_is_dated_by_its_own_event(self):
        made = asked()
        made.saved()
        made.allow("1.1.0")
        step = last(made)
        run = call_in(step.after).run
        state = evolve(call_in(step.after).state, run=evolve(run, seq=run.seq - 1))
        wrong("L6", step.passage(with_call(step.after, state=state)), "was released at")

    def test_what_is_executed_stands_in_the_state(self):
        step = last(running())
        stranger = (*step.reduction.commands, ExecuteTool("9.9.9", 0, 1))
        wrong("L6", step.passage(commands=stranger), "that no call of the state speaks of")

    def test_nothing_runs_before_its_release_is_durable(self):
        step = last(running())
        ahead = evolve(call_in(step.after).run, seq=step.after.storage.durable + 1)
        behind = with_call(step.after, state=evolve(call_in(step.after).state, run=ahead))
        wrong("L6", step.passage(behind, commands=step.reduction.commands), "is not durable")

    def test_a_call_becomes_ready_by_a_permission(self):
        made = asked()
        made.allow("1.1.0")
        step = last(made)
        other = evolve(step, event=evolve(step.event, call_id="1.1.9"))
        wrong("L10", other.passage(), "1.1.0 became Released by PolicyAllowed")

    def test_a_question_permits_only_what_was_granted(self):
        made = asked()
        made.ask("1.1.0")
        step = last(made)
        ready = with_call(step.after, state=SETTLED)
        assert LAWS["L10"].transition(step.passage(ready)) is None
        run = running().call().state
        wrong("L10", step.passage(with_call(step.after, state=run)), "became Executing by PolicyAsked")

    def test_arguments_stay_as_they_were_allowed(self):
        made = running()
        made.started()
        step = last(made)
        wrong("L10", step.passage(with_call(step.after, arguments='{"x":1}')), "changed after they were allowed")

    def test_what_runs_was_allowed_and_exists(self):
        step = last(running())
        commands = step.reduction.commands
        others = evolve(step, before=with_call(step.before, digest="0"))
        wrong("L10", others.passage(with_call(step.after, digest="0"), commands=commands), "digest was not allowed")
        gone = evolve(step.after, config=evolve(step.after.config, tools=()))
        wrong("L10", step.passage(gone, commands=commands), "which the configuration in force does not have")

    def test_nothing_of_a_cut_message_runs(self):
        step = last(running())
        cut = evolve(step.after.batch.message, finish=FinishReason.LENGTH)
        after = with_batch(step.after, message=cut)
        wrong("L12", step.passage(after, commands=step.reduction.commands), "though its message was cut")

    def test_a_usable_call_is_proposed_and_an_unusable_one_is_not(self):
        step = last(asked())
        wrong("L12", step.passage(with_call(step.after, state=NOT_RUN)), "its own arguments and name are usable")
        wrong("L12", step.passage(with_call(step.after, raw_arguments="[")), "arguments and name are unusable")

    def test_a_call_stands_once(self):
        made = running()
        made.started()
        step = last(made)
        double = with_batch(step.after, calls=step.after.batch.calls * 2)
        wrong("L22", step.passage(double), "a call stands twice in one place")

    def test_what_the_register_has_is_settled_in_the_batch(self):
        made = running()
        made.started()
        step = last(made)
        entry = evolve(call_in(step.after), registered=True)
        wrong(
            "L22", step.passage(evolve(step.after, register=(entry,))), "in the register and, unsettled, in the batch"
        )

    def test_a_started_effect_is_somewhere(self):
        made = running()
        made.started()
        step = last(made)
        wrong("L22", step.passage(with_batch(step.after, calls=())), "1.1.0 was started and is nowhere")

    def test_a_started_attempt_is_not_forgotten(self):
        made = self.lost()
        step = last(made)
        proposed = last(asked()).after.batch.calls[0]
        wrong("L22", step.passage(with_call(step.after, state=proposed.state)), "and Proposed forgets it")
