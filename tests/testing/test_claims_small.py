"""Each claim of the simulation can fail: a session in which only that is wrong is found out, in its words."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest
from attrs import evolve

import agentcore.testing as kit
from agentcore.commands import ExecuteTool, RequestModel
from agentcore.events import (
    AbortRequested,
    AbortScope,
    PromptSubmitted,
    TaskSettled,
    TaskStarted,
    ToolCancelled,
    ToolFailed,
    ToolLost,
)
from agentcore.messages import EffectSeen, History, NotExecuted, NotExecutedReason, ProvedBy, ToolMessage
from agentcore.policy import Config, Effect
from agentcore.reduce import Reduction
from agentcore.states import Stopping
from agentcore.testing.census import Census
from agentcore.testing.core import Core
from agentcore.testing.laws.base import Law, Monitor
from agentcore.testing.passage import Passage
from agentcore.testing.protocol import CallAsked, DeedDone, LoopProtocol, RequestMade, explore_protocol, loop_laws
from agentcore.testing.protocol.plain import canonical
from agentcore.testing.simulation import CLAIMS, Simulation, calm
from agentcore.testing.simulation.session import proves
from agentcore.testing.watch import Watch, unsound
from agentcore.testing.world import Deed, World
from tests.testing.test_simulation import TEXT, begun, done


def says(claim, sim, words):
    """A claim says these words of a session; it said nothing before something was made wrong in it."""
    said = CLAIMS[claim](sim) or ""
    assert words in said, f"{claim} says {said!r}"


def ended(effect=Effect.OPAQUE):
    """A session whose one call is done, and whose turn is over."""
    sim = begun(effect)
    done(sim, late=False)
    assert calm(sim) is None
    assert all(check(sim) is None for check in CLAIMS.values())
    return sim


def failed():
    """A session that was told that its call failed, and goes on."""
    sim = begun()
    sim.makes(next(each for each in sim.moves(sim.orders(ExecuteTool)[0]) if isinstance(each.event, ToolFailed)))
    assert all(check(sim) is None for check in CLAIMS.values())
    return sim


def test_a_success_without_a_deed_is_a_false_claim():
    sim = ended()
    sim.world = sim.world.told(sim.world.attempts[0], Deed.VOID)
    says("what-is-claimed-happened", sim, "and nothing of it happened")


def test_a_task_that_was_never_started_is_a_false_claim():
    sim = begun(detached=True)
    sim.makes(next(each for each in sim.moves(sim.orders(ExecuteTool)[0]) if isinstance(each.event, TaskStarted)))
    assert CLAIMS["what-is-claimed-happened"](sim) is None
    sim.world = World(sim.world.now)
    says("what-is-claimed-happened", sim, "was started, and it never was")


def test_a_failure_of_what_was_done_is_a_false_denial():
    sim = failed()
    sim.world = sim.world.told(sim.world.attempts[0], Deed.DONE)
    says("what-is-denied-did-not-happen", sim, "[(0, 1)] acted or still can")


def saying(sim, outcome):
    """Write another outcome into the only result that there is."""
    messages = [
        evolve(message, results=tuple(evolve(each, outcome=outcome(each.outcome)) for each in message.results))
        if isinstance(message, ToolMessage)
        else message
        for message in sim.state.history
    ]
    sim.state = evolve(sim.state, history=History().append(*messages))


def test_a_persons_word_may_be_wrong():
    sim = failed()
    assert calm(sim) is None
    sim.world = sim.world.told(sim.world.attempts[0], Deed.DONE)
    says("what-is-denied-did-not-happen", sim, "acted or still can")
    saying(sim, lambda outcome: evolve(outcome, proved_by=ProvedBy.PERSON))
    assert CLAIMS["what-is-denied-did-not-happen"](sim) is None


def test_a_deed_that_nobody_speaks_of_is_passed_over():
    sim = ended()
    sim.state = evolve(sim.state, history=History())
    says("no-deed-is-passed-over", sim, "acted or still can, and nobody speaks of it")


def test_a_good_end_does_not_deny_a_deed():
    sim = ended()
    saying(sim, lambda _: NotExecuted(NotExecutedReason.USER_ABORT))
    says("no-deed-is-passed-over", sim, "the end is shown as good, and 1.1.0 is spoken of only as")


def test_a_request_that_leaves_results_out_is_found_out():
    sim = begun()
    done(sim, late=False)
    (passage,) = (each for each in sim.fresh if each.requests and each.after.turn.step == 2)
    view = sim.core.request_messages(passage.after, "1.2")
    cut = evolve(view, messages=tuple(each for each in view.messages if not isinstance(each, ToolMessage)))
    assert CLAIMS["calls-are-answered-once"](sim) is None
    sim.core = Core(request_messages=lambda _state, _request: cut)
    says("calls-are-answered-once", sim, "request 1.")


def test_what_the_disk_can_lose_is_not_acted_on():
    sim = begun(Effect.FENCEABLE)
    assert CLAIMS["nothing-acts-before-it-is-recorded"](sim) is None
    sim.disk = Simulation(Config()).disk
    says("nothing-acts-before-it-is-recorded", sim, "0 events are durable")


def executed(sim, after):
    """Only the event that ordered the execution, with another state behind it."""
    (passage,) = (each for each in sim.fresh if each.executions)
    sim.fresh[:] = [Passage(passage.before, passage.event, Reduction(after(passage.after), passage.commands))]


def test_what_runs_was_allowed_and_its_tool_exists():
    sim = begun()
    assert CLAIMS["nothing-runs-without-leave"](sim) is None
    sim.leave.clear()
    says("nothing-runs-without-leave", sim, "is executed with {}, which nobody allowed")
    executed(sim, lambda state: evolve(state, config=Config()))
    says("nothing-runs-without-leave", sim, "there is no such tool")


def test_an_execution_of_no_call_is_left_to_the_laws():
    sim = begun()
    assert list(sim.effects_begun) == [Effect.OPAQUE]
    executed(sim, lambda _: Simulation(Config()).state)
    assert list(sim.effects_begun) == []
    assert CLAIMS["nothing-runs-without-leave"](sim) is None


def test_a_stop_begins_nothing():
    sim = begun()
    sim.arrives(AbortRequested(at=0, act_id="a", scope=AbortScope.TURN, turn=1))
    assert isinstance(sim.state.phase, Stopping)
    assert CLAIMS["nothing-begins-in-a-stop"](sim) is None
    order = RequestModel("1.2", epoch=0, attempt=1)
    sim.fresh.append(Passage(sim.state, sim.told[-1], Reduction(sim.state, (order,))))
    says("nothing-begins-in-a-stop", sim, "the turn is stopping, and RequestModel")


def test_a_turn_in_which_nothing_can_happen_does_not_end():
    sim = Simulation(Config(), Core(outstanding=lambda _: ()), Watch({}))
    sim.arrives(PromptSubmitted(at=0, message_id="m", parts=TEXT))
    assert calm(sim) == "every-turn-ends: nothing can happen any more, and the turn is AwaitingModel"


def test_only_an_answer_that_says_what_was_is_a_proof():
    told = {"at": 0, "call_id": "1.1.0", "epoch": 0, "attempt": 1}
    assert proves(ToolCancelled(**told, effect=EffectSeen.NONE))
    assert not proves(ToolCancelled(**told, effect=EffectSeen.UNPROVED))
    assert not proves(ToolLost(**told, cause="gone"))
    assert not proves(None)


def test_an_attempt_that_has_acted_cannot_report_the_contrary():
    sim = begun()
    order = sim.orders(ExecuteTool)[0]
    assert any(isinstance(move.event, ToolFailed) for move in sim.moves(order))
    done(sim, late=True)
    assert not any(isinstance(move.event, ToolFailed) for move in sim.moves(order))


def test_a_task_that_has_acted_cannot_end_as_if_it_had_not():
    sim = begun(detached=True)
    order = sim.orders(ExecuteTool)[0]
    sim.makes(next(each for each in sim.moves(order) if isinstance(each.event, TaskStarted)))
    order = sim.orders(ExecuteTool)[0]
    ends = [move for move in sim.moves(order) if isinstance(move.event, TaskSettled)]
    assert {move.event.succeeded for move in ends} == {True, False}
    sim.makes(next(move for move in ends if move.event.succeeded), late=True)
    assert {each.event.succeeded for each in sim.moves(order) if isinstance(each.event, TaskSettled)} == {True}


def test_a_watch_tells_whichever_way_a_law_breaks():
    """An event, a path, a world, a state."""
    said = PromptSubmitted(at=0, message_id="m", parts=TEXT)
    planned = "as planned"
    monitor = Monitor(0, lambda held, _: (held + 1, planned), lambda _value, _state: None)
    for law in (
        Law("L0", "", transition=lambda _: planned),
        Law("L0", "", monitor=monitor),
        Law("L0", "", world=lambda _world, _passage: planned),
    ):
        sim = Simulation(Config(), watch=Watch({"L0": law}))
        sim.arrives(said)
        assert sim.trouble == "L0: as planned"
    law = Law("L0", "", state=lambda _state, _core: planned)
    assert unsound(sim.state, {"L0": law}) == "L0: as planned"
    assert unsound(sim.state, {}) is None


def test_a_census_is_told_group_by_group():
    census = Census({"mine": ("one", "two")})
    census.add("two", "two")
    assert list(census.lines())[-1] == "mine: one 0, two 2"


# The kit's names, and loops of others


def test_a_name_that_the_kit_does_not_have_is_missing():
    assert kit.SessionMachine is import_module("agentcore.testing.machine").SessionMachine
    with pytest.raises(AttributeError, match=r"module 'agentcore\.testing' has no attribute 'flood'"):
        _ = kit.flood


def test_what_needs_hypothesis_names_the_extra_and_other_gaps_are_told_as_they_are(monkeypatch):
    monkeypatch.setitem(sys.modules, "agentcore.testing.machine", None)
    with pytest.raises(ModuleNotFoundError, match=r"agentcore\.testing\.machine"):
        _ = kit.SessionMachine
    for name in [name for name in sys.modules if name.startswith("agentcore.testing.strategies")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError, match=r"states needs Hypothesis: pip install 'agentcore-reducer\[testing\]'"):
        _ = kit.states


def test_a_function_is_its_own_key():
    assert canonical([len, int]) == canonical([len, int])
    assert canonical([len]) != canonical([max])


def test_a_loop_may_tell_of_requests_and_deeds_and_is_held_to_them():
    """What was run before it was told is run a second time when it is ordered then."""
    facts = {"asks": [CallAsked("a")], "sends": [RequestMade()], "ran": [DeedDone("a")], "again": []}
    steps = tuple(facts)
    laws = loop_laws(told=facts.__getitem__, ordered=lambda call: [DeedDone(call)], ended=lambda _: False)

    def found(runs):
        return explore_protocol(
            LoopProtocol(
                0,
                lambda state: steps[state : state + 1],
                lambda state, event: (state + 1, ["a"] if event == runs else []),
                laws=laws,
            )
        ).counterexample("deed-twice")

    assert found("") is None
    assert [step.event for step in found("again").steps] == list(steps)
