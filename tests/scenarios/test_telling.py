"""How much a scenario file tells: everything, what is usual, or only what is broken."""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore.events import InspectionRequested, ModelReplied, PromptSubmitted
from agentcore.messages import TextPart, ToolCallPart
from agentcore.policy import Config, ToolContract
from agentcore.reduce import Verdict, reduce, start
from agentcore.states import Because
from agentcore.steps.base import why
from agentcore.testing.changes import changes
from agentcore.testing.core import Core
from agentcore.testing.report import Step
from agentcore.testing.scenario import Scenario, parse, render
from agentcore.testing.strategies import Walk, roll_config, seeded

CONFIG = Config(tools=(ToolContract("writes"),))
PROMPT = PromptSubmitted(at=0, message_id="p", parts=(TextPart("Do it."),))
CALL = ModelReplied(
    at=5, request_id="1.1", epoch=0, attempt=1, parts=(TextPart("Well."), ToolCallPart("p0", "writes", "{}"))
)


def told(*steps):
    return render(Scenario("s", 0, CONFIG, steps))


def test_the_whole_shows_what_the_usual_leaves_out():
    usual, whole = told(Step(PROMPT), Step(CALL)), told("whole", Step(PROMPT), Step(CALL))
    assert "turn.step=1" not in usual
    for line in ("turn.step=1", "known+=[p]", "storage.wanted=2", "since calls=1 finish=stop", "calls.1.1.0=call("):
        assert f"    {line}" in whole
    assert set(usual.split("\n")) <= set(whole.split("\n"))


def test_a_refusal_told_whole_says_who_is_at_fault_what_did_not_fit_and_what_to_do():
    text = told("whole", Step(PROMPT), Step(evolve(PROMPT, message_id="q")))
    assert "    rejected: turn-in-progress\n    at fault: host q Queue it as follow-up or steering.\n" in text


def test_an_id_from_elsewhere_stays_on_its_line():
    scenario = Scenario("s", 0, CONFIG, ("whole", Step(InspectionRequested(at=0, call_id="a\ntool-lost @0"))))
    text = render(scenario)
    assert '    at fault: host "a\\ntool-lost @0"\n' in text
    assert parse(text) == scenario


def test_briefly_tells_only_what_is_broken():
    assert "    " not in told("briefly", Step(PROMPT), Step(CALL))
    lazy = Core(outstanding=lambda _state: ())
    broken = render(Scenario("s", 0, CONFIG, ("briefly", Step(PROMPT))), lazy)
    assert "\n    broken L3: " in broken


def test_the_words_are_read_again_and_hold_from_where_they_stand():
    scenario = Scenario("s", 0, CONFIG, ("briefly", Step(PROMPT), "# Now it gets interesting.", "whole", Step(CALL)))
    text = render(scenario)
    assert parse(text) == scenario
    head, _, tail = text.partition("\nwhole\n")
    assert "    " not in head
    assert "storage.wanted=2" in tail


@pytest.mark.parametrize("seed", range(12))
def test_nothing_of_a_session_changes_that_is_not_told(seed):
    dice = seeded(seed)
    walk = Walk(roll_config(dice), dice)
    for _ in range(60):
        happening = walk.next()
        before = walk.states[min(happening.keeps, len(walk.journal))]
        if happening.event is not None:
            after = reduce(before, happening.event).state
            lines = list(changes(before, after, happening.event.at))
            shown = evolve(before, seq=after.seq, at=max(before.at, happening.event.at), phase=after.phase)
            assert bool(lines) or shown == after
        walk.take(happening, reduce)


def test_each_place_that_differs_is_named():
    state = reduce(reduce.examine(start("s", CONFIG, 0).state, PROMPT).reduction.state, CALL).state
    assert reduce.examine(state, CALL).verdict is not Verdict.ACCEPTED
    call = state.batch.calls[0]
    waits = evolve(state.phase, transition=why(Because.SESSION_RESUMED, ("epoch", 1)))
    after = evolve(
        state,
        seq=state.seq + 1,
        phase=evolve(waits, batch=evolve(state.batch, calls=(evolve(call, rule="allow", digest="a" * 64),))),
        register=(evolve(call, registered=True),),
        turn=evolve(state.turn, stop_after_step=True),
    )
    assert list(changes(state, after, state.at)) == [
        "since epoch=1",
        "calls.1.1.0.digest=aaaaaaaaaaaa…",
        "calls.1.1.0.rule=allow",
        "turn.stop-after-step=true",
        next(line for line in changes(state, after, state.at) if line.startswith("register.1.1.0=call(")),
    ]
    gone = evolve(after, seq=after.seq + 1, register=())
    assert list(changes(after, gone, after.at)) == ["register.1.1.0=null"]
