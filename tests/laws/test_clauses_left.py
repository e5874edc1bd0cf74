"""What the other files of clauses leave: a cut batch beside others, an end that waits, late proof, plain answers."""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Effect, Judgement, Reduction, Verdict, reduce
from agentcore.commands import CancelModel, CancelTool, ExecuteTool, PersistCheckpoint, RequestModel
from agentcore.events import AbortScope, Finding, InspectionRequested, RetryRequested, StepPrepared, ToolSucceeded
from agentcore.messages import FinishReason
from agentcore.states import Completed, EffectUnknown, Preparing, Released
from agentcore.testing.core import Core
from agentcore.testing.laws import LAWS
from agentcore.testing.laws.ranking import ranking
from agentcore.testing.laws.recovery import plain_answer
from agentcore.testing.laws.totality import is_said_again
from tests.core.driver import Session, unknown
from tests.laws.forging import asked, call_in, last, running, session, waiting_for, with_batch, with_call, wrong
from tests.laws.twins import TWINS


def test_an_answer_that_changes_from_time_to_time_is_no_function():
    state = running().state
    assert LAWS["L1"].state(state, Core()) is None
    assert "gave two different answers" in LAWS["L1"].state(state, TWINS["L1"][0])


def test_a_journal_may_not_be_accepted_twice():
    step = last(running())
    assert is_said_again(step.passage(commands=step.reduction.commands)).endswith(
        "was delivered before and accepted again"
    )


def test_an_ended_turn_waits_for_nothing_of_its_own():
    made = session()
    made.prompt()
    made.reply("Done.")
    made.all_saved()
    assert made.phase is Completed
    step = last(made)
    wrong("L4", step.passage(core=waiting_for(RequestModel("1.9", epoch=0, attempt=1))), "though turn 1 has ended")


def test_a_cut_message_says_nothing_of_executions_beside_it():
    made = running()
    step = last(made)
    cut = with_batch(step.after, message=evolve(step.after.batch.message, finish=FinishReason.LENGTH))
    (execution,) = (each for each in step.reduction.commands if isinstance(each, ExecuteTool))
    wrong("L12", step.passage(cut, commands=(execution,)), "is executed, though its message was cut")
    beside = evolve(execution, call_id="0.1.0")
    assert LAWS["L12"].transition(step.passage(cut, commands=(beside,))) is None


def test_a_late_proof_that_settles_nothing_has_to_be_kept():
    made = unknown(Effect.FENCEABLE)
    run = call_in(made.state).run
    earlier = evolve(run, attempt=run.attempt + 7)
    before = with_call(made.state, unproved=(earlier,))
    told = ToolSucceeded(at=before.at, call_id="1.1.0", epoch=earlier.epoch, attempt=earlier.attempt, result="")
    step = evolve(last(made), before=before, event=told)
    held = evolve(before, seq=before.seq + 1)
    assert LAWS["L13"].transition(step.passage(held, commands=())) is None
    ready = with_call(held, state=call_in(running().state).state)
    wrong("L13", step.passage(ready, commands=()), "was accepted and settled nothing")


def test_a_prepared_step_ranks_below_one_that_is_still_prepared():
    made = Session(prepares_steps=True)
    made.prompt()
    ordered = made.state
    assert isinstance(ordered.phase, Preparing)
    prepared = evolve(ordered, phase=evolve(ordered.phase, prepared=True))
    assert ranking(prepared) < ranking(ordered)
    assert made.given(StepPrepared(at=ordered.at, request_id="1.1", epoch=0, attempt=1))


def test_an_abort_leaves_what_is_unknown_unknown():
    made = unknown(Effect.FENCEABLE)
    made.abort(AbortScope.CALL, "1.1.0")
    step = last(made)
    assert isinstance(call_in(step.after).state, EffectUnknown)
    assert LAWS["L20"].transition(step.passage(commands=step.reduction.commands)) is None


def test_a_call_that_was_released_may_turn_out_unknown_and_may_not_go_on():
    made = asked(Effect.FENCEABLE)
    made.saved()
    made.allow()
    before, held = made.state, call_in(unknown(Effect.FENCEABLE).state).state
    assert isinstance(call_in(before).state, Released)
    made.abort(AbortScope.CALL, "1.1.0")
    step, going = last(made), evolve(before, seq=before.seq + 1)
    assert LAWS["L20"].transition(step.passage(with_call(going, state=held), commands=())) is None
    wrong("L20", step.passage(going, commands=()), "had not started and is Released")


def stopping_request():
    made = session()
    made.prompt()
    made.abort()
    return made


def stopping_call():
    made = running()
    made.started()
    made.abort()
    return made


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (running, ExecuteTool),
        (running, PersistCheckpoint),
        (stopping_request, CancelModel),
        (stopping_call, CancelTool),
    ],
)
def test_a_plain_answer_is_accepted_wherever_its_command_waits(make, kind):
    made = make()
    if kind is PersistCheckpoint:
        made = session()
        made.prompt()
        made.reply("Done.")
    command = made.the(kind)
    state = made.state
    assert reduce(state, plain_answer(command, state.at)).state is not state


def test_an_attempt_that_is_told_to_stop_is_not_answered_beside_its_cancel():
    made = stopping_call()
    waiting = Core().outstanding(made.state)
    assert {ExecuteTool, CancelTool} <= {type(each) for each in waiting}
    first = Core(outstanding=lambda state: tuple(sorted(Core().outstanding(state), key=_executions_first)))
    assert LAWS["L19"].state(made.state, first) is None


def _executions_first(command):
    return not isinstance(command, ExecuteTool)


def test_a_proved_absence_may_be_run_again_where_it_may_not_be_looked_into_again():
    made = running(Effect.FENCEABLE, Effect.FENCEABLE)
    made.lose("1.1.0")
    made.inspected(Finding.NOT_EXECUTED, "1.1.0", conclusive=True)
    assert made.call("1.1.0").state.proved_absent is not None
    step = last(made)
    assert LAWS["L5"].transition(step.passage()) is None

    def deaf(state, event):
        if isinstance(event, InspectionRequested | RetryRequested):
            return Judgement(Verdict.IGNORED, Reduction(state, ()))
        return reduce.examine(state, event)

    wrong("L5", step.passage(core=Core(examine=deaf)), "InspectionRequested and RetryRequested is refused")
