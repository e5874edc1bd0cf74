"""Every pair of state class and event class, of both machines: the verdict is the table's, and all laws hold after it.

Fifty examples a pair, ids waited for, repeated, stale and foreign among them. A pair with fewer fails.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from agentcore import Verdict, reduce
from agentcore.events import EVENTS
from agentcore.states import CALL_STATES, PHASES, EffectUnknown, Settled
from agentcore.testing.core import CORE
from agentcore.testing.laws import missing_inspection
from agentcore.testing.passage import Passage
from agentcore.testing.scenario import render, scenario_told
from agentcore.testing.strategies import Aim, calls, events, sessions
from agentcore.testing.watch import broken
from tests.testing.expected import CALL_EVENTS, breach

EXAMPLES_MIN = 50
TRIED: Counter[Verdict] = Counter()
"""Verdicts of the examples of the pair that is being tried."""
TOTAL: Counter[str] = Counter()
"""Examples of all pairs by verdict, and pairs."""

OF_THE_CALL = (Aim.OWN, Aim.OWN, Aim.REPEATED, Aim.REWRITTEN, Aim.EARLIER_ATTEMPT, Aim.EARLIER_EPOCH, Aim.FOREIGN)
"""Aims that leave the call as it is that an event is about."""


def pairs(states):
    """Parameters for every state class and every event class."""
    kinds = EVENTS if states is PHASES else CALL_EVENTS
    return [pytest.param(state, kind, id=f"{state.__name__}-{kind.__name__}") for state in states for kind in kinds]


@pytest.fixture(autouse=True)
def enough_examples(request):
    """A pair for which fewer than fifty examples were made fails, whatever became of them."""
    TRIED.clear()
    yield
    tried = sum(TRIED.values())
    assert tried >= EXAMPLES_MIN, f"{request.node.name}: {tried} examples were made, {EXAMPLES_MIN} are wanted"
    TOTAL.update({"pairs": 1, **{verdict.value: times for verdict, times in TRIED.items()}})


@pytest.fixture(scope="module", autouse=True)
def totals(report):
    yield
    report("pairs of state and event: " + ", ".join(f"{times} {name}" for name, times in sorted(TOTAL.items())))


def judge(session, event, loop_check):
    """Give an event to the reducer; fail, and save a scenario if that is wanted, if the table or a law is broken."""
    note(f"{session}\nthen {event}")
    judgement = reduce.examine(session.state, event)
    passage = Passage(session.state, event, judgement.reduction)
    TRIED[judgement.verdict] += 1
    problem = breach(passage, judgement) or broken(passage)
    if problem is not None:
        name = f"{type(session.state.phase).__name__}-{type(event).__name__}"
        loop_check.save(name, render(scenario_told(session.origin, (*session.journal, event), problem)))
    assert problem is None
    return passage


@pytest.mark.slow
@pytest.mark.req("R-247", "R-221")
@pytest.mark.parametrize(("phase", "kind"), pairs(PHASES))
@given(data=st.data())
def test_in_every_phase_every_event_gets_the_verdict_of_the_table(phase, kind, loop_check, data):
    session = data.draw(sessions(phase, meets=kind))
    judge(session, data.draw(events(kind, session)), loop_check)


@pytest.mark.slow
@pytest.mark.req("R-247")
@pytest.mark.parametrize(("state", "kind"), pairs(CALL_STATES))
@given(data=st.data())
def test_in_every_call_state_every_event_of_a_call_gets_the_verdict_of_the_table(state, kind, loop_check, data):
    session, call = data.draw(calls(state, meets=kind))
    aim = data.draw(st.sampled_from(OF_THE_CALL))
    judge(session, data.draw(events(kind, session, aim=aim, call=call)), loop_check)


@pytest.mark.req("R-247")
@pytest.mark.parametrize("state", [EffectUnknown, Settled])
@given(data=st.data())
def test_unknown_always_has_an_inspect_action(state, loop_check, data):
    """Before and after whatever event, for every effect that is open."""
    session, _ = data.draw(calls(state))
    kind = data.draw(st.sampled_from(EVENTS))
    passage = judge(session, data.draw(events(kind, session)), loop_check)
    for found in (passage.before, passage.after):
        assert missing_inspection(found, CORE) is None
