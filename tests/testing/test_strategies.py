"""The strategies make what they say: states that were reached, events aimed as wanted, every word of the vocabulary."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.vendor.pretty import pretty

from agentcore import Config, outstanding, reduce
from agentcore.commands import COMMANDS, Command, StartTimer, key_of
from agentcore.events import (
    EVENTS,
    HOST_EVENTS,
    AbortRequested,
    AbortScope,
    CheckpointWritten,
    Event,
    ModelReplied,
    SessionReopened,
    TimerFired,
    ToolSucceeded,
)
from agentcore.messages import History, Message
from agentcore.states import CALL_STATES, PHASES, Executing, Ready, State
from agentcore.testing.answers import answered_key
from agentcore.testing.passage import find_call
from agentcore.testing.strategies import (
    Aim,
    Dice,
    Session,
    calls,
    configs,
    events,
    roll_event,
    seeded,
    sessions,
    states,
    values,
)
from agentcore.testing.strategies.aims import ADDRESS, fields_of
from agentcore.testing.strategies.pools import in_phase, pool, with_call

FEW = 25
"""Sessions of a class with which, moved and stirred, fifty different examples are made."""


def each_pooled(step=7):
    return pool()[::step]


@pytest.mark.parametrize("phase", PHASES)
def test_the_pool_holds_sessions_of_every_phase(phase):
    assert len(in_phase(phase)) >= FEW


@pytest.mark.parametrize("state", CALL_STATES)
def test_the_pool_holds_calls_in_every_state_in_batch_and_register(state):
    found = with_call(state)
    assert len(found) >= FEW
    assert all(find_call(session.state, call.call_id) is call for session, call in found)


def test_every_pooled_state_is_what_its_journal_folds_to():
    for session in each_pooled():
        state = session.origin
        for event in session.journal:
            state = reduce(state, event).state
        assert state == session.state


def test_the_simplest_sessions_come_first():
    assert [each.state.seq for each in pool()] == sorted(each.state.seq for each in pool())


def test_pools_are_filled_the_same_way_again():
    again = pool.__wrapped__()
    assert len(again) == len(pool())
    assert all(mine.state == other.state for mine, other in zip(each_pooled(), again[::7], strict=True))


@pytest.mark.parametrize("kind", [State, Event, Command, Message, Config, History])
def test_any_value_of_a_type_is_of_that_type(kind):
    @given(value=values(kind))
    def holds(value):
        assert isinstance(value, kind)

    holds()


@pytest.mark.parametrize("union", [Event, Command])
def test_every_member_of_a_union_is_made(union):
    made = Counter()

    @given(value=st.lists(values(union), min_size=20, max_size=40))
    def holds(value):
        made.update(map(type, value))

    holds()
    assert set(made) == set(EVENTS if union is Event else COMMANDS)


@given(config=configs())
def test_a_configuration_has_tools_and_bounds(config):
    assert config.tools
    assert not config.policy.completion_required or any(tool.completes for tool in config.tools)


@pytest.mark.parametrize("phase", PHASES)
def test_a_session_of_a_phase_is_in_that_phase_stirred_or_not(phase):
    @given(session=sessions(phase), state=states(phase))
    def holds(session, state):
        assert type(session.state.phase) is type(state.phase) is phase

    holds()


@pytest.mark.parametrize("state", CALL_STATES)
def test_a_call_of_a_state_is_in_that_state_stirred_or_not(state):
    @given(found=calls(state))
    def holds(found):
        session, call = found
        assert type(call.state) is state
        assert find_call(session.state, call.call_id) is call

    holds()


@pytest.mark.parametrize("kind", EVENTS)
def test_an_event_of_every_class_is_made_for_any_state_however_it_is_aimed(kind):
    dice = seeded(1)
    for session in each_pooled(61):
        for aim in Aim:
            assert type(roll_event(kind, session, dice, aim=aim)) is kind


@pytest.mark.parametrize("kind", sorted({*EVENTS} - {*HOST_EVENTS}, key=lambda kind: kind.__name__))
def test_an_answer_names_what_is_waited_for_or_never_does_as_it_is_aimed(kind):
    dice, named = seeded(2), Counter()
    for session in each_pooled(5):
        awaited = {key_of(command) for command in outstanding(session.state)}
        mine = Session(session.state)
        for aim in set(Aim) - {Aim.REPEATED, Aim.REWRITTEN}:
            key = answered_key(roll_event(kind, mine, dice, aim=aim))
            named[aim] += key in awaited
    assert named.pop(Aim.OWN) > 0
    assert not +named


@pytest.mark.parametrize("kind", [CheckpointWritten, ModelReplied, ToolSucceeded, SessionReopened])
def test_what_is_repeated_was_told_before_and_what_is_rewritten_names_the_same(kind):
    dice = seeded(3)
    told = [each for each in pool() if any(type(event) is kind for event in each.journal)][:40]
    assert told
    for session in told:
        assert roll_event(kind, session, dice, aim=Aim.REPEATED) in session.journal
        again = roll_event(kind, session, dice, aim=Aim.REWRITTEN)
        ids = fields_of(kind) & ADDRESS
        assert any(
            type(event) is kind and all(getattr(event, name) == getattr(again, name) for name in ids)
            for event in session.journal
        )


@pytest.mark.parametrize("kind", [ToolSucceeded, TimerFired, AbortRequested])
def test_events_about_one_call_name_it_however_they_are_aimed(kind):
    dice = seeded(4)
    for session, call in (*with_call(Executing)[:30], *with_call(Ready)[:10]):
        for aim in (Aim.OWN, Aim.EARLIER_ATTEMPT, Aim.FOREIGN):
            event = roll_event(kind, session, dice, aim=aim, call=call)
            wide = isinstance(event, AbortRequested) and event.scope in (AbortScope.ALL, AbortScope.TURN)
            named = getattr(event, "call_id", "") or getattr(event, "timer_id", "")
            assert wide or named.rpartition("/")[2] == call.call_id


@given(data=st.data())
def test_an_event_drawn_for_a_session_is_of_the_class_that_was_wanted(data):
    session = data.draw(sessions(PHASES[0]))
    assert type(data.draw(events(AbortRequested, session))) is AbortRequested


def test_an_earlier_execution_that_really_was_is_named_as_such():
    dice, found = seeded(5), 0
    for session in pool():
        for call in session.state.batch.calls if session.state.batch else ():
            if call.unproved:
                event = roll_event(ToolSucceeded, session, dice, aim=Aim.EARLIER_ATTEMPT, call=call)
                found += (event.epoch, event.attempt) in {run.id for run in call.unproved}
    assert found


def test_a_session_is_shown_as_the_events_that_led_to_it():
    session = next(each for each in pool() if each.state.seq == 2)
    assert repr(session).splitlines()[1:] == [f"  {event}" for event in session.journal]
    assert pretty(session) == repr(session)
    assert repr(Session(session.origin)) == "Idle at seq 0, reached by nothing"


def test_dice_are_made_of_numbers_below_a_bound():
    bounds = []

    def below(bound):
        bounds.append(bound)
        return bound - 1

    dice = Dice(below)
    assert dice.pick("abc") == "c"
    assert dice.once_in(5)
    assert dice.some((1, 2)) == (1, 2)
    assert dice.weighed({"a": 3, "b": 1}) == "b"
    assert dice.pick("x") == "x"
    assert bounds == [3, 5, 2, 2, 4]


def test_weighed_options_come_as_often_as_their_weights_say():
    numbers = iter(range(6))
    dice = Dice(lambda _: next(numbers))
    assert [dice.weighed({"a": 1, "b": 3, "c": 2}) for _ in range(6)] == ["a", "b", "b", "b", "c", "c"]


def test_dice_of_one_seed_fall_the_same_way():
    mine, other = seeded(7), seeded(7)
    assert [mine.below(1000) for _ in range(20)] == [other.below(1000) for _ in range(20)]


def test_timers_of_every_kind_are_aimed_at():
    timers = {each.timer_id for found in pool() for each in outstanding(found.state) if isinstance(each, StartTimer)}
    kinds = {timer_id.partition("/")[0] for timer_id in timers}
    assert kinds == {"turn", "model", "retry", "grace", "deadline", "expiry", "inquiry", "checkpoint"}
