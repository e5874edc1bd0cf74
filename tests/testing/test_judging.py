"""What judges pairs and walks sees what is wrong: a broken table, a broken law, a step too many in a counterexample."""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import TABLES, Config, Tables, Verdict, make_reduce, reduce, start
from agentcore.events import (
    EVENTS,
    AbortRequested,
    AbortScope,
    CheckpointWritten,
    CompletionAccepted,
    EffectInspected,
    HistoryCleared,
    InspectionRequested,
    ModelReplied,
    PromptSubmitted,
    SessionReopened,
    SteeringQueued,
    ToolCancelled,
    ToolFailed,
    ToolLost,
    ToolSucceeded,
)
from agentcore.messages import EffectSeen, TextPart
from agentcore.policy import Effect
from agentcore.rejections import RejectionCode
from agentcore.states import AwaitingModel, Cancelled, EffectUnknown, Executing, Idle, Saving, Settled
from agentcore.table import Kind
from agentcore.testing.census import GROUPS, Census
from agentcore.testing.passage import Passage
from agentcore.testing.strategies import Walk, roll_config, roll_event, seeded
from agentcore.testing.strategies.pools import in_phase, with_call
from agentcore.testing.strategies.walk import is_no_lie
from agentcore.testing.watch import Watch, broken
from agentcore.testing.world import Attempt, Deed, World
from tests.testing.expected import breach, meeting_of, promised, row_of, rows_for
from tests.testing.shrinking import shortest

TEXT = (TextPart("Hello."),)


def changed(machine, source, event, **changes):
    """The tables with one row changed, or without it if nothing is to change."""
    rows = getattr(TABLES, machine)
    row = row_of(rows, source, event)
    instead = (evolve(row, **changes),) if changes else ()
    return evolve(TABLES, **{machine: tuple(new for old in rows for new in (instead if old is row else (old,)))})


def stay(state, _event):
    return state


def found_wrong(tables: Tables, sessions, kind, *, calls=(None,)):
    """What the judge says of a reducer made of broken tables, over many events of a class."""
    reducer, dice = make_reduce(tables), seeded(1)
    for session in sessions:
        for call in calls:
            event = roll_event(kind, session, dice, call=call)
            judgement = reducer.examine(session.state, event)
            passage = Passage(session.state, event, judgement.reduction)
            if problem := breach(passage, judgement):
                yield problem


@pytest.mark.parametrize(
    ("source", "event", "changes"),
    [
        (Idle, PromptSubmitted, {}),
        (
            AwaitingModel,
            PromptSubmitted,
            {"kind": Kind.STEP, "step": stay, "to": (AwaitingModel,)},
        ),
        (Idle, SessionReopened, {"because": "for-another-reason"}),
        (Cancelled, SessionReopened, {"kind": Kind.IGNORE, "step": None, "because": "no"}),
    ],
)
def test_a_row_that_is_missing_widened_or_ignored_is_noticed(source, event, changes):
    broken_tables = changed("turn", source, event, **changes)
    assert list(found_wrong(broken_tables, in_phase(source), event))
    assert not list(found_wrong(TABLES, in_phase(source), event))


@pytest.mark.parametrize(
    ("source", "event"), [(Executing, ToolSucceeded), (EffectUnknown, InspectionRequested), (Settled, ToolFailed)]
)
def test_a_row_that_is_missing_from_the_call_machine_is_noticed(source, event):
    found = with_call(source)[:60]
    tables = changed("call", source, event)
    wrong = [problem for session, call in found for problem in found_wrong(tables, (session,), event, calls=(call,))]
    assert wrong


def test_a_phase_or_call_that_no_row_leads_to_is_noticed():
    session = in_phase(Idle)[0]
    event = HistoryCleared(at=1)
    judgement = reduce.examine(session.state, event)
    saving = in_phase(Saving)[0].state.phase
    strayed = Passage(session.state, event, judgement.reduction._replace(state=evolve(session.state, phase=saving)))
    assert "the phase is Saving" in breach(strayed, judgement)

    session = next(session for session, call in with_call(Executing) if not call.registered)
    event = SteeringQueued(at=session.state.at, message_id="new", parts=TEXT)
    judgement = reduce.examine(session.state, event)
    settled = with_call(Settled)[0][1].state
    calls = tuple(evolve(each, state=settled) for each in session.state.batch.calls)
    batch = evolve(session.state.batch, calls=calls)
    after = evolve(judgement.reduction.state, phase=evolve(session.state.phase, batch=batch))
    strayed = Passage(session.state, event, judgement.reduction._replace(state=after))
    assert "is Settled" in breach(strayed, judgement)


def test_an_event_about_no_call_of_ours_is_promised_to_be_refused():
    state = in_phase(Idle)[0].state
    event = EffectInspected(at=1, call_id="99.1.0", epoch=0, attempt=1, finding="executed")
    assert promised(rows_for(meeting_of(state, event), event)) == ({Verdict.REJECTED}, RejectionCode.FOREIGN_CALL.value)


def test_a_broken_law_is_named():
    session = in_phase(Idle)[0]
    event = HistoryCleared(at=1)
    again = session.state, event, reduce(session.state, event)._replace(state=evolve(session.state, seq=99))
    assert broken(Passage(*again)).startswith("L2: ")


def test_a_defect_of_the_core_is_named_whatever_the_laws_say():
    def lost(_state, _event):
        raise LookupError("gone")

    reducer = make_reduce(changed("turn", Idle, HistoryCleared, step=lost))
    session, event = in_phase(Idle)[0], HistoryCleared(at=1)
    assert "core-defect" in broken(Passage(session.state, event, reducer(session.state, event)), {})


def test_a_watch_forgets_what_a_crash_took_back_but_not_what_the_world_saw():
    dice = seeded(11)
    walk, watch = Walk(roll_config(dice), dice), Watch()
    while len(walk.journal) < 12:
        happening = walk.next()
        if happening.keeps < len(walk.journal):
            watch.forget(happening.keeps)
        assert watch.see(walk.take(happening, reduce), walk.world) is None
        assert len(watch.memories) == len(walk.journal) + 1
    newest = watch.memories[-1]
    watch.forget(3)
    assert len(watch.memories) == 4
    for name, monitor in watch.monitors.items():
        assert (watch.memories[-1][name] == newest[name]) or not monitor.of_world


def test_a_counterexample_holds_no_event_that_is_not_needed():
    told, origin = [], start("session", Config(), 0).state
    state = origin
    for event in (
        SteeringQueued(at=1, message_id="s", parts=TEXT),
        PromptSubmitted(at=2, message_id="a", parts=TEXT),
        ModelReplied(at=3, request_id="1.1", epoch=0, attempt=1, parts=TEXT),
        CheckpointWritten(at=4, seq=3, epoch=0, attempt=1),
        SessionReopened(at=5),
        PromptSubmitted(at=6, message_id="b", parts=TEXT),
        AbortRequested(at=7, act_id="x", scope=AbortScope.TURN, turn=2),
    ):
        told.append((state, event))
        state = reduce(state, event).state

    def aborts_its_turn(before, event):
        works = isinstance(before.phase, AwaitingModel) and isinstance(event, AbortRequested)
        return works and event.turn == before.turn.number

    assert aborts_its_turn(*told[-1])
    short = shortest(origin, told, aborts_its_turn)
    assert [type(event) for event in short] == [PromptSubmitted, AbortRequested]
    assert short[-1].turn == 1


def test_a_census_counts_what_is_entered_and_names_what_is_rare():
    census, state = Census(), start("session", Config(), 0).state
    for event in (
        PromptSubmitted(at=1, message_id="a", parts=TEXT),
        PromptSubmitted(at=1, message_id="b", parts=TEXT),
        ModelReplied(at=2, request_id="1.1", epoch=0, attempt=1, parts=TEXT),
    ):
        passage = Passage(state, event, reduce(state, event))
        census.note(passage)
        state = passage.after
    assert census.events == 3
    assert census.verdicts == {"accepted": 2, "rejected": 1}
    assert {"AwaitingModel", "Saving", "final_answer"} == set(census.visited)
    assert set(census.rarer_than(1, "phases")) == set(GROUPS["phases"]) - {"AwaitingModel", "Saving"}
    assert next(iter(census.lines())) == "3 events: 2 accepted, 1 rejected"


@pytest.mark.parametrize(
    ("event", "deed", "true"),
    [
        (ToolSucceeded, Deed.DONE, True),
        (ToolSucceeded, Deed.VOID, False),
        (ToolFailed, Deed.VOID, True),
        (ToolFailed, Deed.MAY, False),
        (ToolLost, Deed.MAY, True),
    ],
)
def test_what_is_told_of_an_attempt_is_a_lie_unless_the_world_says_so(event, deed, true):
    world = World(attempts=(Attempt("1.1.0", 0, 1, Effect.OPAQUE, deed),))
    said = {"result": "r"} if event is ToolSucceeded else {"cause" if event is ToolLost else "error": "e"}
    assert is_no_lie(world, event(at=0, call_id="1.1.0", epoch=0, attempt=1, **said)) is true


@pytest.mark.parametrize(
    ("seen", "deed", "true"),
    [
        (EffectSeen.DONE, Deed.DONE, True),
        (EffectSeen.NONE, Deed.DONE, False),
        (EffectSeen.UNPROVED, Deed.MAY, False),
        (EffectSeen.UNPROVED, Deed.VOID, True),
    ],
)
def test_a_confirmed_stop_is_a_lie_while_the_attempt_may_act(seen, deed, true):
    world = World(attempts=(Attempt("1.1.0", 0, 1, Effect.OPAQUE, deed),))
    assert is_no_lie(world, ToolCancelled(at=0, call_id="1.1.0", epoch=0, attempt=1, effect=seen)) is true


def test_every_event_class_comes_in_a_few_walks():
    kinds = set()
    for seed in range(30):
        dice = seeded(seed)
        walk = Walk(roll_config(dice), dice)
        for _ in range(250):
            happening = walk.next()
            kinds.add(type(happening.event))
            walk.take(happening, reduce)
    assert kinds - {type(None)} == set(EVENTS)
    assert CompletionAccepted in kinds
