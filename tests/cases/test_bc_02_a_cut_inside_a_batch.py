"""BC-02: shortening the context cut inside a parallel batch, and results stood there whose calls were gone.

Three ways in which a host can shape what is sent, and what becomes of a cut inside a batch in each: an imported history
is mended when it is taken in, once and durably; a compaction is refused and has failed; a transform of one request is
refused before anything is sent (docs/decisions/0101).
"""

from __future__ import annotations

import itertools

import pytest

from agentcore.commands import PersistCheckpoint, RequestModel
from agentcore.events import ModelFailure
from agentcore.messages import (
    AssistantMessage,
    IdSet,
    MessageSource,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agentcore.states import AwaitingModel, Because, StopReason
from agentcore.steps import mend, model, queues
from interpreters import Agent, Hooks
from interpreters.engine import context
from interpreters.scripted import Say, ScriptedModel
from tests.cases.helpers_a import Case, check_sendable, fails, fails_async, patched, shape
from tests.core.driver import call, tool


def user(name: str) -> UserMessage:
    return UserMessage(name, MessageSource.PROMPT, (TextPart(name),))


def result(name: str) -> ToolResult:
    return ToolResult("", name, "read", f"result of {name}", Succeeded(f"result of {name}"))


CALLS = ("c1", "c2", "c3")
U1, U2, A2 = user("U1"), user("U2"), AssistantMessage("", 0, 0, (TextPart("A2"),))
A1 = AssistantMessage("", 0, 0, (TextPart("A1"), *(ToolCallPart(name, "read", "{}") for name in CALLS)))


def results(*names: str) -> ToolMessage:
    return ToolMessage("", tuple(result(name) for name in names))


VARIANTS = {
    "V1": ((results("c2", "c3"), A2, U2), [], ["c2", "c3"]),
    "V2": ((A1, results("c1", "c2"), A2, U2), ["c3"], []),
    "V3": ((A2, U2), [], []),
    "V4": ((A1, U2), ["c1", "c2", "c3"], []),
    # One message a result, as some formats write it, in another order, one of them twice.
    "V5": ((U1, A1, *map(results, ("c3", "c1", "c2", "c1")), A2), [], ["c1"]),
}


def imported(*messages) -> Case:
    """A session that has taken a history in and saved it."""
    case = Case(tool("read"))
    case.bring(*messages)
    return case


def told(case: Case) -> tuple[list[str], list[str]]:
    """The diagnostic: ids that were answered, ids that were set aside."""
    facts = dict(case.state.phase.transition.evidence)
    return tuple([part for part in facts.get(name, "").split(", ") if part] for name in ("answered", "set_aside"))


def check_imported(messages, answered, set_aside) -> None:
    case = imported(*messages)
    assert case.because is Because.HISTORY_IMPORTED
    assert told(case) == (answered, set_aside)
    mended = case.history
    check_sendable(mended)
    # The mended form is durable before the first request goes out.
    case.prompt("go on")
    assert not [each for each in case.work if isinstance(each, RequestModel)]
    case.the(PersistCheckpoint)
    case.all_saved()
    assert case.sent[-1][: len(mended)] == mended
    # The same is not said again in the following turn, nor by another process.
    case.answer()
    case.restart()
    case.reopen()
    case.prompt("and on")
    assert case.sent[-1][: len(mended)] == mended
    assert [line.state.phase.transition.because for line in case.trace].count(Because.HISTORY_IMPORTED) == 1
    # Mending what is mended changes nothing.
    again = imported(*mended)
    assert told(again) == ([], [])
    assert shape(again.history) == shape(mended)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.req("D-35", "R-150", "R-210")
def test_a_history_that_was_cut_inside_a_batch_is_mended_when_it_is_taken_in(name):
    check_imported(*VARIANTS[name])


def test_a_history_that_is_whole_is_taken_as_it_is():
    assert shape(imported(A2, U2).history) == [("A2",), "U2"]


@pytest.mark.req("D-35", "R-134")
def test_every_way_of_leaving_messages_out_is_mended():
    whole = (U1, A1, *map(results, CALLS), A2, U2)
    for kept in itertools.product((True, False), repeat=len(whole)):
        left = tuple(message for message, keep in zip(whole, kept, strict=True) if keep)
        once = mend.mend(left, 1, IdSet())
        check_sendable(once.messages)
        twice = mend.mend(once.messages, 1, IdSet())
        assert twice.messages == once.messages
        assert (twice.answered, twice.set_aside) == ((), ())


def as_it_came(messages, turn, known):
    return mend.Mended(tuple(messages), known, 0, (), ())


@pytest.mark.parametrize("name", ["V1", "V2", "V4", "V5"])
def test_taking_a_history_in_as_it_comes_is_found_out(name):
    messages = VARIANTS[name][0]
    with patched((queues, "mend", as_it_came)):
        fails(check_imported, messages, [], [])


# ---- a compaction may not part calls from their results


def check_compacted(covers_to: int) -> None:
    case = Case(tool("read"))
    case.prompt("U1", message_id="u1")
    case.reply("A1", *(call("read", name, n=name) for name in CALLS))
    for _ in CALLS:
        case.allow()
    case.all_saved()
    for index in range(3):
        case.succeed(f"1.1.{index}")
    case.all_saved()
    before = case.state.window
    case.model_fails(ModelFailure.OVERFLOW, "too long")
    case.compacted(covers_to)
    if isinstance(case.history[covers_to], ToolMessage):
        assert case.state.window == before
        case.all_saved()
        assert case.stop is StopReason.MODEL_ERROR
    else:
        assert case.phase is AwaitingModel
        check_sendable(case.view().messages)


@pytest.mark.parametrize("covers_to", range(3))
@pytest.mark.req("G-8", "R-145")
def test_a_compaction_that_parts_calls_from_results_has_failed(covers_to):
    check_compacted(covers_to)


def test_a_compaction_that_may_cut_anywhere_is_found_out():
    with patched((model, "_objection", lambda *_: "")):
        fails(check_compacted, 2)


# ---- a transform of one request may not break the ledger


def transform(name: str):
    """A hook that returns a variant as long as it is broken, and else what it is given."""
    broken = [name]

    def hook(messages):
        if not broken:
            return messages
        kept = list(messages[-1:])
        return [*_ours(messages, broken.pop()), *kept]

    return hook


def _ours(messages, name: str):
    """The variant, made of the messages that the session really has."""
    _, a1, results_, a2, *_ = messages

    def only(*places):
        return ToolMessage(results_.request_id, tuple(results_.results[place] for place in places))

    return {
        "V1": (only(1, 2), a2),
        "V2": (a1, only(0, 1), a2),
        "V3": (a2,),
        "V4": (a1,),
        "reordered": (a1, only(2, 0, 1), a2),
        "doubled": (a1, only(0, 1, 2, 2), a2),
    }[name]


async def check_transformed(name: str) -> None:
    model_ = ScriptedModel([Say("first"), Say("second")])
    agent = Agent(model=model_, hooks=Hooks(transform_context=transform(name)))
    async with agent.open() as session:
        await session.import_history((U1, A1, results(*CALLS), A2))
        await session.send("U2")
        first = await session.wait()
        await session.send("U3")
        second = await session.wait()
    for _, view in model_.requests:
        check_sendable(view.messages)
    if name == "V3":
        assert first.text == "first"
        return
    assert (first.reason, first.text) == (StopReason.MODEL_ERROR, "")
    assert "c1" in first.message or "no call stands directly before" in first.message
    assert (second.reason, second.text) == (StopReason.FINAL_ANSWER, "first")


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["V1", "V2", "V3", "V4", "reordered", "doubled"])
@pytest.mark.req("R-020", "R-018")
async def test_a_transform_that_breaks_the_ledger_sends_nothing_and_the_session_goes_on(name):
    await check_transformed(name)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["V1", "V2", "V4", "reordered", "doubled"])
async def test_sending_whatever_a_transform_returns_is_found_out(name):
    with patched((context, "_check_ledger", lambda *_: None)):
        await fails_async(check_transformed, name)
