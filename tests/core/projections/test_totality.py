"""Projections are total: whatever state they are given, they answer, and say nothing that is not so."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore import Config, reduce
from agentcore import events as e
from agentcore.projections import (
    InspectCall,
    Passage,
    ResolveCall,
    audit_passage,
    durable_status,
    explain_end,
    next_step,
    pending_acts,
    request_messages,
    status_holds,
    transcript,
    ui_status,
    unresolved,
    usage_of,
)
from agentcore.states import PHASES, Call, EffectUnknown, Settled, State
from tests.core.codec_values import values
from tests.core.projections.driving import Session


@pytest.mark.parametrize("kind", PHASES)
@given(data=st.data())
def test_every_projection_answers_for_any_state(kind, data):
    register = data.draw(values(tuple[Call, ...]))
    state = State("s", data.draw(values(Config)), data.draw(values(kind)), register=register)
    status = ui_status(state)
    assert status_holds(status.ui, state)
    assert status.text
    assert explain_end(state).text
    assert next_step(state).text
    assert durable_status(state)
    assert set(status.unresolved) == {call.call_id for call in unresolved(state)}
    assert len(pending_acts(state)) >= 2


@given(state=values(State))
def test_every_projection_answers_for_any_history_window_and_queue(state):
    assert request_messages(state, "1.1").request_id == "1.1"
    assert len(transcript(state)) >= len(state.queues.steering)
    assert usage_of(state).turn == state.turn.usage
    audit_passage(Passage(state, e.SessionReopened(at=1), Session().state))
    audit_passage(Passage(Session().state, e.SessionReopened(at=1), state))


def walk(seed: int) -> list[State]:
    """A session that always does one of the things that are listed or answers one thing that is asked."""
    chance = random.Random(seed)
    session = Session()
    moves = (
        lambda: session.prompt("go", f"m{session.clock}"),
        lambda: session.call(*chance.sample(("look", "pay", "file", "job", "nothing"), 2)),
        lambda: session.reply("done"),
        lambda: session.allow(chance.choice(calls())),
        lambda: session.ask(chance.choice(calls())),
        lambda: session.grant(chance.choice(calls())),
        session.saved,
        session.unsaved,
        lambda: session.succeed(chance.choice(calls())),
        lambda: session.lose(chance.choice(calls())),
        lambda: session.abort(f"a{session.clock}"),
        session.resume,
        lambda: session.feed(e.SessionReopened(at=session.tick())),
    )

    def calls() -> list[str]:
        batch = session.state.batch
        return [call.call_id for call in (*(batch.calls if batch else ()), *session.state.register)] or ["1.1.0"]

    seen = [session.state]
    for _ in range(400):
        try:
            chance.choice(moves)()
        except AssertionError:
            continue
        seen.append(session.state)
    assert [passage.after for passage in session.passages] == seen[1:]
    return seen


@pytest.mark.req("R-208", "R-155")
@pytest.mark.parametrize("seed", range(10))
def test_on_a_walk_every_open_effect_has_an_inspection_and_a_resolution_listed(seed):
    seen = walk(seed)
    assert len(seen) > 40
    for state in seen:
        acts = pending_acts(state)
        kept = {call.call_id: call for call in (*(state.batch.calls if state.batch else ()), *state.register)}
        waiting = {call_id for call_id, call in kept.items() if isinstance(call.state, EffectUnknown)}
        waiting |= {call.call_id for call in unresolved(state) if isinstance(call.state, Settled)}
        assert waiting <= {act.call_id for act in acts if isinstance(act, InspectCall)}
        assert waiting <= {act.call_id for act in acts if isinstance(act, ResolveCall)}
        assert status_holds(ui_status(state).ui, state)


@pytest.mark.req("R-198", "R-205")
def test_projections_leave_the_state_as_it_was():
    state = Session().run("pay").lose().state
    before = hash(state)
    for project in (ui_status, explain_end, next_step, durable_status, pending_acts, transcript, usage_of):
        assert project(state) == project(state)
    assert hash(state) == before
    assert reduce(state, e.SessionReopened(at=1)).state is state
