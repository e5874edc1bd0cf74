"""Whatever a generated test finds can be saved as a scenario file, and the file says what the test saw."""

from __future__ import annotations

import pytest

from agentcore import reduce
from agentcore.events import SteeringQueued
from agentcore.messages import TextPart
from agentcore.states import PHASES
from agentcore.testing.scenario import Step, parse, render, scenario_told
from agentcore.testing.strategies import Walk, roll_config, seeded
from agentcore.testing.strategies.pools import in_phase
from interpreters.loop_check.checks import LoopCheck
from tests.testing import test_pairs, test_walks


@pytest.mark.parametrize("phase", PHASES)
def test_every_session_that_is_drawn_can_be_told_by_a_file(phase):
    for session in in_phase(phase)[:3]:
        text = render(scenario_told(session.origin, session.journal, "said"), laws={})
        read = parse(text)
        assert read.steps == ("# said", *(Step(event) for event in session.journal))
        state = session.origin
        for step in read.steps[1:]:
            state = reduce(state, step.event).state
        assert state == session.state


@pytest.fixture
def saving(tmp_path):
    return LoopCheck(here=tmp_path, save_to=tmp_path, tell=lambda line: None)


def test_a_pair_that_fails_is_saved(saving, tmp_path, monkeypatch):
    monkeypatch.setattr(test_pairs, "note", lambda text: None)
    monkeypatch.setattr(test_pairs, "broken", lambda passage: "L0: it is Tuesday")
    session = in_phase(PHASES[3])[0]
    event = SteeringQueued(at=session.state.at, message_id="m", parts=(TextPart("Hm."),))
    with pytest.raises(AssertionError, match="Tuesday"):
        test_pairs.judge(session, event, saving)
    text = (tmp_path / f"{PHASES[3].__name__}-SteeringQueued.txt").read_text("utf-8")
    assert "# L0: it is Tuesday" in text
    assert parse(text).steps[-1] == Step(event)


def test_a_walk_that_fails_is_saved(monkeypatch):
    """A law that objects to the fortieth event; what is saved is the whole of the journal and that event."""
    seen = []

    class Watch(test_walks.Watch):
        def see(self, passage, world):
            seen.append(passage)
            return "L0: forty" if len(seen) == 40 else None

    monkeypatch.setattr(test_walks, "Watch", Watch)
    dice = seeded(7)
    walk = Walk(roll_config(dice), dice)
    failure = test_walks.walk_on(walk, dice, test_walks.Census())
    told = [step.event for step in parse(failure.scenario()).steps if isinstance(step, Step)]
    assert told == list(failure.events)
    assert told[: len(walk.journal)] == walk.journal
    assert "(the last " in str(failure)
