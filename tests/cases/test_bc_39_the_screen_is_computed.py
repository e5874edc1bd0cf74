"""BC-39: "idle" was sent before the message was closed; where the two arrived apart the spinner never stopped.

What a screen shows is a function of the state alone. In the step in which a turn's end is entered nothing of it is
open any more, and whatever notifications were lost, the next look at the state is right.
"""

from __future__ import annotations

import itertools
import sys

import pytest

from agentcore import Effect, Limits, Policy, outstanding
from agentcore.codec import encode_state
from agentcore.events import ModelFailure
from agentcore.projections import Called, UiStatus, transcript, ui_status
from agentcore.projections import status as status_module
from agentcore.states import (
    ENDS,
    CancellationRequested,
    EffectUnknown,
    Executing,
    Settled,
    State,
    Stopping,
    StopReason,
)
from interpreters import Agent, ManualClock
from interpreters.engine import engine
from interpreters.engine import shown as shown_module
from interpreters.scripted import Ask, Hang, Say, ScriptedGate, ScriptedModel, ScriptedToolBox, scripted_tool
from tests.cases.helpers_a import Case, fails, fails_async, patched
from tests.cases.helpers_b import until
from tests.core.driver import tool

BUSY = {
    UiStatus.THINKING,
    UiStatus.ANSWERING,
    UiStatus.RUNNING_TOOL,
    UiStatus.STARTING_TOOL,
    UiStatus.PREPARING,
    UiStatus.CHECKING,
    UiStatus.CANCELLING,
    UiStatus.SAVING,
}


def at_work(**limits) -> Case:
    """One message is streaming, and one tool is shown as running."""
    case = Case(tool("read", Effect.FENCEABLE), limits=Limits(model_retries=0, **limits))
    case.execute("read")
    return case


def by_answer(case: Case) -> None:
    case.succeed()
    case.opened()
    case.answer()


def by_error(case: Case) -> None:
    case.succeed()
    case.opened()
    case.model_fails(ModelFailure.FATAL, "broken", output_shown=True)


def by_cancel(case: Case) -> None:
    case.abort()
    case.stopped()


def by_cancel_while_streaming(case: Case) -> None:
    case.succeed()
    case.opened()
    case.abort()
    case.model_stops("partial")


def by_steps(case: Case) -> None:
    case.succeed()


def by_time(case: Case) -> None:
    case.fire("turn/1")
    case.stopped()


ENDINGS = {
    by_answer: ({}, StopReason.FINAL_ANSWER),
    by_error: ({}, StopReason.MODEL_ERROR),
    by_cancel: ({}, StopReason.USER_ABORT),
    by_cancel_while_streaming: ({}, StopReason.USER_ABORT),
    by_steps: ({"steps": 1}, StopReason.MAX_STEPS),
    by_time: ({"turn_ms": 60_000}, StopReason.TIMEOUT),
}


def open_parts(state: State) -> list[str]:
    """What a screen would show as going on: calls without an outcome, messages that are not closed."""
    calls = [entry.call_id for entry in transcript(state) if isinstance(entry, Called) and entry.ok is None]
    return calls + [type(command).__name__ for command in outstanding(state)]


def check(ending) -> None:
    limits, reason = ENDINGS[ending]
    case = at_work(**limits)
    assert ui_status(case.state).ui is UiStatus.RUNNING_TOOL
    ending(case)
    case.all_saved()
    assert case.stop is reason
    for line in case.trace:
        check_screen(line.state)
    # A pure function: no memory of what was shown before.
    told = [ui_status(line.state) for line in case.trace]
    assert [ui_status(line.state) for line in reversed(case.trace)] == told[::-1]
    assert ui_status(case.folded()) == told[-1]


def check_screen(state: State) -> None:
    """What each word requires."""
    word = ui_status(state).ui
    calls = [type(call.state) for call in (state.batch.calls if state.batch else ())]
    if isinstance(state.phase, ENDS):
        assert word not in BUSY, f"an ended turn shows {word}"
        assert open_parts(state) == []
    elif state.open:
        assert word not in (UiStatus.IDLE, UiStatus.DONE, UiStatus.CANCELLED), f"a running turn shows {word}"
    if isinstance(state.phase, Stopping) and CancellationRequested in calls:
        assert word in (UiStatus.CANCELLING, UiStatus.STOPPING)
    if Executing in calls and not isinstance(state.phase, Stopping):
        assert word in (UiStatus.RUNNING_TOOL, UiStatus.WAITING_FOR_PERSON)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.req("R-181", "R-182", "R-178", "R-238")
def test_an_ended_turn_has_nothing_open_and_shows_so(ending):
    check(ending)


def idle_first(state: State):
    """The screen as it was: a word that is kept from the last notification."""
    word = UiStatus.THINKING if isinstance(state.phase, ENDS) else real_status(state).ui
    return status_module.Status(word, "")


real_status = ui_status


def test_a_screen_that_keeps_thinking_is_found_out():
    with patched((sys.modules[__name__], "ui_status", idle_first)):
        fails(check, by_answer)


@pytest.mark.req("R-114", "R-177", "R-185", "R-208")
def test_waiting_for_a_person_unknown_and_cancelling_have_words_of_their_own():
    case = Case(tool("read", Effect.FENCEABLE))
    case.propose("read")
    case.ask()
    assert ui_status(case.state).ui is UiStatus.WAITING_FOR_PERSON
    case.grant()
    case.all_saved()
    case.lose()
    assert isinstance(case.call("1.1.0").state, EffectUnknown)
    assert ui_status(case.state).ui is UiStatus.RECOVERING
    case.abort()
    assert ui_status(case.state).ui in (UiStatus.CANCELLING, UiStatus.STOPPING)


@pytest.mark.req("R-183", "R-184")
def test_words_of_the_screen_do_not_reach_what_is_stored():
    case = at_work()
    before = encode_state(case.state)
    renamed = {word: word.value for word in UiStatus}
    for word in UiStatus:
        word._value_ = f"renamed {word.name}"
    try:
        assert encode_state(case.state) == before
        assert ui_status(case.state).ui.value == "renamed RUNNING_TOOL"
    finally:
        for word, value in renamed.items():
            word._value_ = value


@pytest.mark.req("R-168", "R-185")
def test_a_finished_task_does_not_make_its_parent_look_idle():
    case = Case(tool("job", detached=True), tool("read"), policy=Policy())
    case.execute("job", "read")
    case.detach("1.1.0")
    case.task_ends("1.1.0")
    assert case.state.open
    assert ui_status(case.state).ui is UiStatus.RUNNING_TOOL
    assert isinstance(case.call("1.1.0").state, Settled)


# ---- the notifications of a real engine, any one of them dropped, in any order


async def check_views(reason: StopReason) -> None:
    clock = ManualClock()
    box = ScriptedToolBox([scripted_tool("read", Hang(), effect=Effect.FENCEABLE)])
    model = ScriptedModel([Say("I look.", calls=(Ask("read"),)), Say("done")])
    agent = Agent(model=model, tools=box, rules=ScriptedGate(), clock=clock, limits=Limits(turn_ms=600_000))
    async with agent.open("s", create=True) as session:
        views = session.views(0)
        await session.send("go")
        await until(session, clock, _runs, step_ms=0)
        if reason is StopReason.USER_ABORT:
            await session.abort()
        await until(session, clock, lambda state: not state.open, step_ms=100_000)
        told = []
        async for each in views:
            told.append(each)
            if each.name == "agent_end":
                break
        final = session.state
    assert final.phase.ending.reason is reason
    names = [each.name for each in told]
    assert names[-2:] == ["turn_end", "agent_end"]
    assert names.count("turn_end") == names.count("agent_end") == 1
    # Every state that was shown is right by itself, so a lost or overtaken one does no harm.
    states = [each.view.state for each in told if each.name == "state"]
    for state in states:
        check_screen(state)
    for kept in itertools.combinations(states, max(len(states) - 1, 0)):
        seen = {id(state): ui_status(state) for state in reversed(kept)}
        assert ui_status(final) == ui_status(states[-1])
        assert all(seen[id(state)] == ui_status(state) for state in kept)
    check_screen(final)


def _runs(state: State) -> bool:
    return state.batch is not None and isinstance(state.batch.calls[0].state, Executing)


@pytest.mark.anyio
@pytest.mark.parametrize("reason", [StopReason.USER_ABORT, StopReason.TIMEOUT])
@pytest.mark.req("R-100", "R-178", "R-233")
async def test_whatever_notification_is_lost_the_next_look_is_right(reason):
    await check_views(reason)


@pytest.mark.anyio
async def test_an_end_that_is_not_said_is_found_out():
    real = shown_module.views_of

    def without_end(passage, shown):
        return [view for view in real(passage, shown) if type(view).__name__ != "TurnEnd"]

    with patched((engine, "views_of", without_end)):
        await fails_async(check_views, StopReason.USER_ABORT)
