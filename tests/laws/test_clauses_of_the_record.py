"""Each clause of the laws about what is recorded, survived and done can fail, as those of the others can."""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Effect, Limits, Reduction, outstanding, reduce
from agentcore.codec import CODEC
from agentcore.commands import CancelModel, CancelTool, RequestModel
from agentcore.events import AbortScope, ModelFailure, SessionResumed, TimerFired, ToolSucceeded
from agentcore.messages import (
    AssistantMessage,
    FinishReason,
    History,
    NotExecuted,
    NotExecutedReason,
    Succeeded,
    TextPart,
    ToolMessage,
    ToolResult,
    Usage,
)
from agentcore.states import Because, Exhausted, RunningTools, Settled, StopReason
from agentcore.steps.base import why
from agentcore.testing.core import Core
from agentcore.testing.laws import LAWS
from agentcore.testing.laws.base import Graph
from agentcore.testing.laws.ranking import ranking
from agentcore.testing.world import Attempt, Deed, World
from tests.core.driver import Session, call, tool
from tests.laws.forging import asked, call_in, last, running, session, waiting_for, with_call, wrong

SETTLED = Settled(why(Because.TOOL_SUCCEEDED), Succeeded("ok"))
NOT_RUN = Settled(why(Because.TOOL_SUCCEEDED), NotExecuted(NotExecutedReason.USER_ABORT))
OTHER = Settled(why(Because.TOOL_SUCCEEDED), Succeeded("other"))


def answered():
    """A session whose one call has succeeded; its result was written and the next request is under way."""
    made = running()
    made.succeed()
    made.saved()
    return made


def written(result: ToolResult | None, message: AssistantMessage) -> tuple:
    return (message,) if result is None else (message, ToolMessage(message.request_id, (result,)))


def saying(step, *messages):
    """The step, with these messages added to the history that stood before."""
    return step.passage(evolve(step.after, history=step.before.history.append(*messages)), commands=())


class TestRecord:
    """L9, L11, L13, L14, L16."""

    def test_history_is_not_rewritten(self):
        step = last(answered())
        wrong("L9", step.passage(evolve(step.after, history=History())), "history was rewritten")
        same, again = (History().append(*tuple(step.before.history) * 40) for _ in range(2))
        assert same == again
        copied = evolve(step, before=evolve(step.before, history=same))
        wrong("L9", copied.passage(evolve(step.after, history=again)), "history was rewritten")

    def test_a_settled_call_stays_as_it_is(self):
        made = running(Effect.FENCEABLE, Effect.FENCEABLE)
        made.succeed("1.1.0")
        made.started("1.1.1")
        step = last(made)
        wrong("L9", step.passage(with_call(step.after, state=OTHER)), "was settled and changed")

    def test_what_is_written_is_what_was_settled(self):
        made = running(Effect.FENCEABLE, Effect.FENCEABLE)
        made.succeed("1.1.0")
        made.succeed("1.1.1")
        step = last(made)
        before = with_call(step.before, state=OTHER)
        wrong("L9", evolve(step, before=before).passage(), "was settled and something else was written")

    def test_each_call_has_its_result(self):
        step = last(answered())
        asking = next(each for each in step.after.history if isinstance(each, AssistantMessage))
        wrong("L11", saying(step, asking), "no results stand behind the calls")
        wrong("L11", saying(step, asking, asking), "no results stand behind the calls")
        results = next(each for each in step.after.history if isinstance(each, ToolMessage))
        wrong("L11", saying(step, results), "stand where none are owed")

    def test_what_is_sent_is_balanced(self):
        made = running()
        made.succeed()
        step = last(made)
        assert "request-model 1.2" in made.commands
        view = Core().request_messages(step.after, "1.2")
        cut = evolve(view, messages=tuple(each for each in view.messages if not isinstance(each, ToolMessage)))
        core = Core(request_messages=lambda _state, _request: cut)
        wrong("L11", step.passage(core=core, commands=step.reduction.commands), "in request")

    @pytest.mark.parametrize(
        ("parts", "words"),
        [
            ((call("a", "p0"), TextPart("and")), "goes on behind a call"),
            ((call("a", "p0", raw="[]"),), "the arguments of p0 are no object: '[]'"),
            ((TextPart(" "),), "says nothing"),
        ],
    )
    def test_a_message_is_one_that_providers_take_back(self, parts, words):
        step = last(answered())
        message = AssistantMessage("1.1", 0, 1, parts, FinishReason.STOP)
        results = tuple(
            ToolResult("1.1.0", part.provider_id, "a", "{}", Succeeded("ok"), "ok") for part in message.calls
        )
        behind = (ToolMessage("1.1", results),) if results else ()
        wrong("L11", saying(step, message, *behind), words)

    def test_what_nobody_waits_for_is_not_accepted(self):
        made = running()
        step = last(made)
        stray = ToolSucceeded(at=step.event.at, call_id="1.1.0", epoch=0, attempt=9, result="")
        wrong("L13", evolve(step, event=stray).passage(), "ToolSucceeded is accepted, and it is foreign-attempt")
        gone = ToolSucceeded(at=step.event.at, call_id="1.0.0", epoch=0, attempt=1, result="")
        wrong("L13", evolve(step, event=gone).passage(), "ToolSucceeded is accepted, and it is foreign-call")

    def test_an_earlier_attempt_starts_nothing(self):
        made = running(Effect.KEYED)
        made.lose()
        made.saved()
        step = last(made)
        assert any("execute-tool" in each for each in made.commands)
        earlier = ToolSucceeded(at=step.event.at, call_id="1.1.0", epoch=0, attempt=1, result="")
        passage = evolve(step, event=earlier).passage(commands=step.reduction.commands)
        wrong("L13", passage, "started an execution of its own call")

    def test_a_newer_attempt_that_acts_is_not_overtaken(self):
        made = running(Effect.KEYED)
        made.lose()
        made.saved()
        made.started()
        step = last(made)
        fenced = evolve(call_in(step.before).contract, effect=Effect.FENCEABLE)
        earlier = ToolSucceeded(at=step.event.at, call_id="1.1.0", epoch=0, attempt=1, result="")
        passage = evolve(step, before=with_call(step.before, contract=fenced), event=earlier).passage()
        wrong("L13", passage, "ToolSucceeded is accepted, and it is earlier-attempt-acted")

    def test_a_message_arrives_once_and_is_known(self):
        made = session()
        made.prompt()
        made.steer(message_id="s")
        step = last(made)
        wrong("L14", step.passage(evolve(step.after, known=step.before.known)), "s arrived and is not known")
        wrong(
            "L14",
            evolve(step, before=evolve(step.before, known=step.after.known)).passage(),
            "was known and arrived again",
        )

    def test_usage_is_of_an_attempt_and_counted_once(self):
        monitor = LAWS["L16"].monitor
        made = session()
        made.prompt()
        made.steer()
        step = last(made)
        more = evolve(step.after, usage=Usage(input_tokens=1))
        assert "names no attempt, but usage was counted" in monitor.step(monitor.start, step.passage(more))[1]
        made.model_fails(ModelFailure.RETRYABLE, usage=Usage(input_tokens=3))
        counted, said = monitor.step(monitor.start, last(made).passage())
        assert said is None
        assert "was counted twice" in monitor.step(counted, last(made).passage())[1]

    def test_what_is_counted_is_what_the_attempt_told(self):
        monitor = LAWS["L16"].monitor
        made = session()
        made.prompt()
        made.model_fails(ModelFailure.RETRYABLE, usage=Usage(input_tokens=3))
        step = last(made)
        more = evolve(step.after, usage=Usage(input_tokens=4))
        assert "usage went from" in monitor.step(monitor.start, step.passage(more))[1]
        turn = evolve(step.after.turn, usage=Usage(input_tokens=4))
        assert (
            "usage of the turn went from" in monitor.step(monitor.start, step.passage(evolve(step.after, turn=turn)))[1]
        )


class TestRecovery:
    """L19, L20."""

    def stopped(self, *, in_request: bool = False):
        made = (
            session(Effect.FENCEABLE, Effect.FENCEABLE) if in_request else running(Effect.FENCEABLE, Effect.FENCEABLE)
        )
        if in_request:
            made.prompt()
        made.abort()
        return made

    def test_an_aborted_turn_does_not_work_on(self):
        step = last(self.stopped())
        wrong(
            "L20",
            step.passage(evolve(step.before, seq=step.after.seq), commands=()),
            "the turn was aborted and is RunningTools",
        )

    def test_a_request_is_told_to_stop(self):
        step = last(self.stopped(in_request=True))
        wrong("L20", step.passage(core=waiting_for(without=(CancelModel,))), "a model request was not told to stop")
        dropped = Core(outstanding=lambda state: () if state is step.after else outstanding(state))
        wrong("L20", step.passage(core=dropped), "the request under way was dropped")

    def test_a_second_act_waits_for_no_model(self):
        made = self.stopped(in_request=True)
        step = last(made)
        again = evolve(step, before=step.after)
        both = waiting_for(next(each for each in outstanding(step.before) if isinstance(each, RequestModel)))
        wrong(
            "L20",
            again.passage(evolve(step.after, seq=step.after.seq + 1), core=both),
            "a second act still waits for the model",
        )

    def test_a_second_act_waits_for_no_call(self):
        made = self.stopped()
        step = last(made)
        again = evolve(step, before=step.after)
        wrong(
            "L20",
            again.passage(evolve(step.after, seq=step.after.seq + 1)),
            "1.1.0 is still waited for after a second act",
        )

    def test_what_had_not_started_is_settled(self):
        made = asked(Effect.FENCEABLE, Effect.FENCEABLE)
        made.abort(AbortScope.CALL, "1.1.0")
        step = last(made)
        still = with_call(step.after, state=call_in(step.before).state)
        wrong("L20", step.passage(still), "1.1.0 had not started and is Proposed")

    def test_what_runs_is_told_to_stop(self):
        made = running(Effect.FENCEABLE, Effect.FENCEABLE)
        made.abort(AbortScope.CALL, "1.1.0")
        step = last(made)
        wrong("L20", step.passage(core=waiting_for(without=(CancelTool,))), "1.1.0 was not told to stop")

    def test_what_is_outside_stays_as_it_is(self):
        made = running(Effect.FENCEABLE, Effect.FENCEABLE)
        made.abort(AbortScope.CALL, "1.1.0")
        step = last(made)
        wrong(
            "L20",
            step.passage(with_call(step.after, "1.1.1", state=SETTLED)),
            "1.1.1 is outside of the scope and changed",
        )

    def test_an_abort_of_everything_reaches_everything(self):
        made = running(Effect.FENCEABLE, Effect.FENCEABLE)
        made.abort(AbortScope.ALL)
        assert LAWS["L20"].transition(last(made).passage()) is None
        assert LAWS["L20"].transition(evolve(last(made), event=evolve(last(made).event, at=10**9)).passage()) is None

    def test_a_crash_is_survived_in_the_plainest_way_wherever_it_happens(self):
        for made in (asked(), running(), answered(), self.stopped(), self.stopped(in_request=True)):
            assert LAWS["L19"].state(made.state, Core()) is None

    def test_a_turn_that_does_not_end_after_a_crash_is_found_out(self):
        made = asked()
        stays = Core(outstanding=lambda state: ())
        assert "the turn does not end" in LAWS["L19"].state(made.state, stays)

    def test_an_end_stays_that_end(self):
        made = session()
        made.prompt()
        made.model_fails(ModelFailure.FATAL)
        made.saved()

        def otherwise(state, event):
            judged = made.reduce.examine(state, event)
            if not isinstance(event, SessionResumed):
                return judged
            ending = evolve(judged.reduction.state.phase.ending, reason=StopReason.MAX_STEPS)
            end = Exhausted(judged.reduction.state.phase.transition, ending, 1)
            return evolve(judged, reduction=type(judged.reduction)(evolve(judged.reduction.state, phase=end), ()))

        assert "became max_steps" in LAWS["L19"].state(made.state, Core(examine=otherwise))

    def test_a_resume_that_is_refused_is_found_out(self):
        made = running()

        def deaf(state, event):
            judged = made.reduce.examine(state, event)
            return (
                evolve(judged, reduction=type(judged.reduction)(state, ()))
                if isinstance(event, SessionResumed)
                else judged
            )

        assert "SessionResumed was ignored" in LAWS["L19"].state(made.state, Core(examine=deaf))

    def test_an_abort_when_the_time_is_up_as_well_reaches_all_of_it(self):
        made = running(Effect.FENCEABLE, Effect.FENCEABLE, limits=Limits(turn_ms=1_000))
        made.wait(5_000)
        made.abort(AbortScope.CALL, "1.1.0")
        assert LAWS["L20"].transition(last(made).passage()) is None

    def test_an_abort_that_blocks_the_turn_reaches_all_of_it(self):
        made = Session(tool("a", on_failure="block"), tool("b"))
        made.prompt()
        made.reply(call("a"), call("b"))
        made.abort(AbortScope.CALL, "1.1.0")
        assert made.phase is not RunningTools
        assert LAWS["L20"].transition(last(made).passage()) is None

    def test_a_crash_is_survived_where_a_request_is_being_stopped_and_where_time_has_to_pass(self):
        made = session(limits=Limits(model_ms=1_000))
        made.prompt()
        made.opened()
        made.abort()
        assert LAWS["L19"].state(made.state, Core()) is None
        made = running(Effect.OPAQUE)
        made.lose()
        assert LAWS["L19"].state(made.state, Core()) is None

    def test_a_session_that_answers_without_end_after_a_crash_is_found_out(self):
        made = asked()

        def anew(state, event):
            judged = made.reduce.examine(state, event)
            return evolve(judged, reduction=type(judged.reduction)(evolve(made.state, seq=state.seq + 1), ()))

        assert "the turn does not end" in LAWS["L19"].state(made.state, Core(examine=anew))


class TestAnywhere:
    """What is the same for all laws."""

    @pytest.mark.parametrize("law", [law for law in LAWS.values() if law.transition], ids=lambda law: law.name)
    def test_where_nothing_happened_nothing_is_broken(self, law):
        step = last(running())
        stray = TimerFired(at=step.event.at, timer_id="deadline/9.9.9", epoch=0, attempt=1)
        assert law.transition(evolve(step, event=stray).passage(step.before, commands=())) is None

    def test_the_ranking_falls_with_every_answer(self):
        made = session(limits=Limits(model_retries=2, turn_ms=10**9), prepares_steps=True, reviews_completion=True)
        ranks = []

        def next_one(verb, *args):
            verb(*args)
            ranks.append(ranking(made.state))

        next_one(made.prompt)
        next_one(made.prepared)
        next_one(made.opened)
        next_one(made.reply, call("a"))
        next_one(made.saved)
        next_one(made.allow, "1.1.0")
        next_one(made.saved)
        next_one(made.succeed)
        next_one(made.prepared)
        next_one(made.reply, "Done.")
        next_one(made.accept)
        next_one(made.saved)
        assert None not in ranks
        assert ranks == sorted(set(ranks), reverse=True)
        stopping = session()
        stopping.prompt()
        stopping.abort()
        waits = ranking(stopping.state)
        stopping.model_stops()
        assert waits > ranking(stopping.state)


class TestWorld:
    """L7, L17, L18, and the ranking."""

    DONE = Attempt("1.1.0", 0, 1, Effect.FENCEABLE, Deed.DONE)

    def test_a_call_acts_once(self):
        twice = World(attempts=(self.DONE, evolve(self.DONE, attempt=2)))
        assert "1.1.0 acted 2 times" in LAWS["L7"].world(twice, None)

    def test_two_executions_have_something_conclusive_between_them(self):
        step = last(running())
        world = World(attempts=(evolve(self.DONE, attempt=9),))
        assert "though attempt (0, 9) has acted or may still act" in LAWS["L7"].world(world, step.passage())

    def test_what_is_said_of_an_effect_is_true(self):
        made = running()
        made.started()
        step = last(made)
        world = World(attempts=(self.DONE,))
        denied = step.passage(with_call(step.after, state=NOT_RUN))
        assert "1.1.0 is settled as" in LAWS["L7"].world(world, denied)
        assert LAWS["L7"].world(world, step.passage(with_call(step.after, state=SETTLED))) is None
        assert LAWS["L7"].world(world, step.passage(step.before)) is None
        says = Settled(why(Because.TOOL_SUCCEEDED), NotExecuted(NotExecutedReason.PERSON_SAYS))
        assert LAWS["L7"].world(world, step.passage(with_call(step.after, state=says))) is None
        void = World(attempts=(evolve(self.DONE, deed=Deed.VOID),))
        assert LAWS["L7"].world(void, denied) is None

    def test_something_can_happen_until_the_end(self):
        stuck = Graph(ends=[False], asks=[False], edges=[[]])
        assert LAWS["L17"].graph(stuck) == (0, "nothing can happen here any more, and the turn has not ended")

    def test_values_are_the_same_after_they_were_written_and_read(self):
        class Odd:
            def __init__(self, **replaced):
                self.replaced = replaced

            def __getattr__(self, name):
                return self.replaced.get(name) or getattr(CODEC, name)

        state = running().state
        other = session().state
        assert "the state is another one" in LAWS["L18"].state(state, Core(codec=Odd(decode_state=lambda _: other)))
        changed = Core(codec=Odd(decode_command=lambda data: CODEC.decode_command(data) and None))
        assert "is another one after it was written" in LAWS["L18"].state(state, changed)
        changed = Core(codec=Odd(decode_event=lambda data: CODEC.decode_event(data) and None))
        assert "is another one after it was written" in LAWS["L18"].state(state, changed)
        answers = iter(range(1000))
        fickle = Core(
            examine=lambda given, event: evolve(
                reduce.examine(given, event), reduction=Reduction(given, (next(answers),))
            )
        )
        assert "leads elsewhere" in LAWS["L18"].state(state, fickle)

    def test_there_is_no_ranking_where_a_loop_is_unbounded(self):
        assert ranking(asked(limits=Limits(model_retries=None)).state) is None
        assert ranking(asked().state) is not None

    def test_a_law_can_be_asked_about_one_event(self):
        step = last(running())
        assert LAWS["L6"].check(step.before, step.event, step.reduction) is None
        assert LAWS["L19"].check(step.before, step.event, step.reduction) is None
