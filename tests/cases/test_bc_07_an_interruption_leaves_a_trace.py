"""BC-07: after a stop during a tool with effects the next turn saw no trace of it, and the model did it again.

The interruption is a result in the history: started, interrupted, may have happened, check first. It is recorded before
anybody is told that the turn is cancelled.
"""

from __future__ import annotations

import attrs
import pytest

from agentcore import Effect, reduce
from agentcore.codec import decode_event
from agentcore.events import CheckpointWritten, ToolCancelled
from agentcore.messages import Abandoned, CancelledCall, EffectSeen, ToolMessage, is_error
from agentcore.states import Because, Cancelled, Saving, StopReason
from agentcore.steps import ending
from agentcore.steps.verdicts import Advance
from interpreters import Agent, FileStore
from interpreters.scripted import (
    Ask,
    Hang,
    Say,
    ScriptedGate,
    ScriptedModel,
    ScriptedToolBox,
    scripted_tool,
)
from tests.cases.helpers_a import (
    Case,
    broken,
    check_sendable,
    crash_image,
    fails,
    fails_async,
    folded,
    instead,
    journalled,
    patched,
    shape,
    until_started,
)
from tests.core.driver import call, tool

C1 = "1.1.0"


def acknowledged(case: Case) -> None:
    """The process ended, its outcome is not known."""
    case.stopped(EffectSeen.UNPROVED)


def given_up(case: Case) -> None:
    """Nobody confirms anything, and the person does not wait."""
    case.abort()


def silent(case: Case) -> None:
    """Nobody confirms anything, a person is asked and cannot tell either."""
    case.fire(f"grace/{C1}")
    case.abort()


def check(stops, effect: Effect, *, reloads: bool, reducer=reduce) -> tuple:
    """Return what the two following turns are sent."""
    case = Case(tool("create_pull_request", effect), reduce=reducer)
    case.prompt("U1", message_id="u1")
    case.reply("on it", call("create_pull_request", "c1"))
    case.allow()
    case.all_saved()
    case.started()
    case.abort()
    stops(case)
    # The record comes first: as long as it is not durable the turn is not reported as cancelled.
    while case.state.open and case.work:
        assert case.phase is not Cancelled
        case.saved()
    assert case.phase is Cancelled
    if reloads:
        case.restart()
        case.all_saved()
    case.reopen()
    case.prompt("please do X instead", message_id="u2")
    u2 = case.sent[-1]
    told = [result for message in u2 if isinstance(message, ToolMessage) for result in message.results]
    assert [(result.call_id, is_error(result.outcome)) for result in told] == [(C1, True)]
    assert isinstance(told[0].outcome, Abandoned | CancelledCall)
    for words in ("effect may have happened", "Check before doing it again"):
        assert words in told[0].content
    case.answer("did X")
    case.reopen()
    case.prompt("thanks", message_id="u3")
    u3 = case.sent[-1]
    assert shape(u3)[: len(u2)] == shape(u2)
    assert sum("may have happened" in result.content for result in case.results) == 1
    return tuple(shape(sent) for sent in (u2, u3)), tuple(result.content for result in case.results)


STOPS = [
    (acknowledged, Effect.OPAQUE),
    *((stops, effect) for stops in (given_up, silent) for effect in Effect if effect is not Effect.PURE),
]


@pytest.mark.parametrize(("stops", "effect"), STOPS)
@pytest.mark.req("R-176", "R-150", "D-7", "R-193")
def test_the_next_turns_know_of_the_interruption_with_and_without_a_reload(stops, effect):
    assert check(stops, effect, reloads=False) == check(stops, effect, reloads=True)


@pytest.mark.parametrize("stops", [acknowledged, given_up])
def test_a_stop_that_is_only_an_outward_event_is_found_out(stops):
    with patched((ending, "write_results", lambda state: state)):
        fails(check, stops, Effect.OPAQUE, reloads=False)


# ---- with files: whoever reads "cancelled" finds the reason on the disk


def interrupted(folder, model, *acts) -> Agent:
    box = ScriptedToolBox([scripted_tool("create_pull_request", *acts, effect=Effect.OPAQUE)])
    return Agent(model=model, tools=box, rules=ScriptedGate(), store=FileStore(folder))


UNCERTAIN = Hang(effect=EffectSeen.UNPROVED, did=True, handle="request 7")


async def stopped_while_it_runs(session) -> None:
    views = session.views()
    await session.send("U1", message_id="u1")
    await until_started(views, C1)
    await session.abort()


async def check_reader(folder) -> None:
    agent = interrupted(folder, ScriptedModel([Say("on it", calls=(Ask("create_pull_request"),))]), UNCERTAIN)
    async with agent.open("s", create=True) as session:
        views = session.views()
        await stopped_while_it_runs(session)
        async for shown in views:
            if shown.name == "turn_end":
                break
        found = await journalled(agent.store, "s")
        assert shown.view.reason is StopReason.USER_ABORT
    where = [index for index, event in enumerate(found, 1) if isinstance(event, ToolCancelled)]
    assert where, "cancelled was reported, and the journal does not say why"
    assert [event for event in found if isinstance(event, CheckpointWritten) and event.seq >= where[0]]


@pytest.mark.anyio
@pytest.mark.req("R-193", "R-201")
async def test_a_reader_that_reacts_to_cancelled_finds_the_fact_in_the_journal(tmp_path):
    await check_reader(tmp_path)


def end_unsaved(state):
    """The move as it was: the turn ends, whether or not that is durable."""
    return ending.enter_end(state, state.phase, Because.END_SAVED)


@pytest.mark.anyio
async def test_telling_before_recording_is_found_out(tmp_path, monkeypatch):
    twin = broken(instead(Saving, Advance, end_unsaved))
    monkeypatch.setattr("interpreters.engine.engine.reduce", twin)
    await fails_async(check_reader, tmp_path)


async def sent_after(folder, image, *, reloads: bool):
    """What U2 and U3 are sent, in the same process or in another one."""
    script = [Say("on it", calls=(Ask("create_pull_request"),)), Say("did X"), Say("welcome")]
    model = ScriptedModel(script, by_history=True)
    agent = interrupted(folder, model, UNCERTAIN)
    async with agent.open("s", create=True) as session:
        await stopped_while_it_runs(session)
        await session.wait()
        if not reloads:
            await _two_more(session)
        left = crash_image(folder, image)
    if reloads:
        agent = interrupted(left, model, UNCERTAIN)
        async with agent.open("s") as session:
            await _two_more(session)
    assert len(model.requests) == 3
    return [view.messages for _, view in model.requests[1:]]


async def _two_more(session) -> None:
    for name, words in (("u2", "please do X instead"), ("u3", "thanks")):
        await session.send(words, message_id=name)
        await session.wait()


@pytest.mark.anyio
@pytest.mark.req("R-176", "R-194")
async def test_the_histories_with_and_without_a_reload_from_files_are_equal(tmp_path):
    stayed = await sent_after(tmp_path / "a", tmp_path / "b", reloads=False)
    reloaded = await sent_after(tmp_path / "c", tmp_path / "d", reloads=True)
    for mine, other in zip(stayed, reloaded, strict=True):
        check_sendable(mine)
        assert _timeless(mine) == _timeless(other)
    state = await folded(FileStore(tmp_path / "d"), "s")
    assert [entry.call_id for entry in state.register] == [C1]


def _timeless(messages):
    """Without the epoch in which a request was answered."""
    return [attrs.evolve(message, epoch=0) if hasattr(message, "epoch") else message for message in messages]


def test_the_note_is_the_result_and_no_message_of_its_own():
    case = Case(tool("create_pull_request", Effect.OPAQUE))
    case.execute("create_pull_request")
    case.abort()
    case.stopped(EffectSeen.UNPROVED)
    case.all_saved()
    assert [type(message).__name__ for message in case.history] == ["UserMessage", "AssistantMessage", "ToolMessage"]
    assert [type(decode_event(line)).__name__ for line in case.lines][-3:-1] == ["AbortRequested", "ToolCancelled"]
