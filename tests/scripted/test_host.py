"""Scripted rules, person, hooks and compactor."""

from __future__ import annotations

import attrs
import pytest

from agentcore.commands import CompactContext
from agentcore.events import (
    CompactionFailed,
    CompactionPurpose,
    DenialKind,
    EffectInspected,
    EffectResolved,
    Finding,
    PolicyAllowed,
    PolicyAsked,
    PolicyBlocked,
    Resolution,
)
from agentcore.messages import (
    AssistantMessage,
    History,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
    Usage,
    digest,
)
from agentcore.policy import Config, ModelSettings
from agentcore.reduce import start
from interpreters.scripted import (
    Allow,
    AskFirst,
    Compaction,
    Grant,
    Refuse,
    Resolve,
    ScriptedApprover,
    ScriptedCompactor,
    ScriptedGate,
    ScriptedPreparer,
    ScriptedReviewer,
    ScriptStopped,
    Unsure,
    scripted_tool,
)
from tests.models.runs import user
from tests.scripted.calls import SESSION, ask, call_of, evaluate, inspect

pytestmark = pytest.mark.anyio

CALL = call_of(scripted_tool("write"), arguments='{"a":1}')
KEY = {"at": 0, "call_id": "1.1.0", "epoch": 0, "attempt": 1}


async def test_rules_answer_in_order_about_exactly_the_arguments():
    verdicts = [
        Allow("r1"),
        Allow("r2", {"a": 2}),
        AskFirst("r3", "large"),
        Refuse("r4", "no", dangerous=True),
    ]
    gate = ScriptedGate({"write": verdicts})
    found = [await gate.evaluate(SESSION, evaluate(), CALL) for _ in range(5)]
    mine = {"arguments": '{"a":1}', "digest": digest('{"a":1}')}
    changed = {"arguments": '{"a":2}', "digest": digest('{"a":2}')}
    blocked = PolicyBlocked(**KEY, rule="r4", reason="no", dangerous=True)
    assert found == [
        PolicyAllowed(**KEY, rule="r1", **mine),
        PolicyAllowed(**KEY, rule="r2", **changed),
        PolicyAsked(**KEY, rule="r3", reason="large", **mine),
        blocked,
        blocked,
    ]
    assert gate.asked == ["1.1.0"] * 5


async def test_a_tool_without_a_rule_is_allowed():
    assert isinstance(await ScriptedGate().evaluate(SESSION, evaluate(), CALL), PolicyAllowed)


@pytest.mark.req("G-6")
async def test_a_person_grants_exactly_what_was_shown_or_something_else():
    answers = [Grant("ada"), Grant(arguments={"a": 2}), Refuse(reason="not now"), Refuse(kind=DenialKind.NOBODY)]
    person = ScriptedApprover(answers)
    found = [await person.ask(SESSION, ask(CALL), CALL) for _ in range(4)]
    assert (found[0].by, found[0].digest) == ("ada", ask(CALL).digest)
    assert found[1].digest == digest('{"a":2}') == digest(found[1].arguments)
    assert [(one.kind, one.feedback) for one in found[2:]] == [
        (DenialKind.REFUSED, "not now"),
        (DenialKind.NOBODY, ""),
    ]
    assert len(person.questions) == 4


async def test_a_person_says_what_became_of_an_effect_or_does_not_know():
    effects = [Resolve(Resolution.NOT_EXECUTED, "r", retry=True, by="ada"), Unsure("no idea")]
    person = ScriptedApprover(effects=effects)
    found = [await person.ask_effect(SESSION, inspect(), CALL) for _ in range(2)]
    assert found == [
        EffectResolved(at=0, call_id="1.1.0", resolution=Resolution.NOT_EXECUTED, by="ada", result="r", retry=True),
        EffectInspected(**KEY, finding=Finding.UNAVAILABLE, by="user", evidence="no idea"),
    ]
    assert len(person.inquiries) == 2


STATE = start("s1", Config(), 0).state


def test_a_preparation_gives_settings_keeps_them_or_fails():
    prepare = ScriptedPreparer([None, ModelSettings("big"), "no disk"])
    assert [prepare(STATE), prepare(STATE)] == [None, ModelSettings("big")]
    with pytest.raises(ScriptStopped, match="no disk"):
        prepare(STATE)
    assert prepare.steps == ["0.0"] * 3


@pytest.mark.req("D-22")
def test_a_review_asks_for_more_until_it_is_content():
    review = ScriptedReviewer(["tests are missing", ""])
    assert [review(STATE), review(STATE), review(STATE)] == ["tests are missing", "", ""]
    assert len(review.steps) == 3


def history(length: int) -> History:
    """Questions and answers, each answer with a call and its result."""
    made = History()
    for turn in range(length):
        call = ToolCallPart("t", "read", "{}")
        result = ToolResult(f"{turn}.1.0", "t", "read", "x", Succeeded("x"))
        made = made.append(
            user("q", message_id=str(turn)),
            AssistantMessage(f"{turn}.1", 0, 1, (call,)),
            ToolMessage(f"{turn}.1", (result,)),
            AssistantMessage(f"{turn}.2", 0, 1, (TextPart("a"),)),
        )
    return made


def state_of(length: int, begin: int = 0):
    return attrs.evolve(STATE, history=history(length), window=attrs.evolve(STATE.window, start=begin))


def order(purpose=CompactionPurpose.THRESHOLD) -> CompactContext:
    return CompactContext("1.2", 0, 1, purpose)


@pytest.mark.parametrize("keep", range(10))
@pytest.mark.parametrize("begin", [0, 3, 8])
@pytest.mark.req("G-8")
async def test_a_summary_never_parts_calls_from_their_results(keep, begin):
    state = state_of(2, begin)
    event = await ScriptedCompactor([Compaction("before", keep)]).compact(order(), state)
    place = event.covers_to
    assert begin <= place <= len(state.history)
    if place > begin and place < len(state.history):
        assert not isinstance(state.history[place], ToolMessage)
    assert place <= max(begin, 8 - keep)
    assert (event.summary, event.purpose) == ("before", CompactionPurpose.THRESHOLD)
    assert event.tokens_after < event.tokens_before


async def test_media_are_taken_out_of_everything_and_nothing_is_summarised():
    event = await ScriptedCompactor().compact(order(CompactionPurpose.MEDIA), state_of(2))
    assert (event.covers_to, event.summary) == (8, "")


async def test_a_compaction_can_fail_and_costs_all_the_same():
    compactor = ScriptedCompactor([Compaction(fails="no", usage=Usage(5))])
    event = await compactor.compact(order(), state_of(1))
    assert event == CompactionFailed(at=0, request_id="1.2", epoch=0, attempt=1, reason="no", usage=Usage(5))
    assert compactor.orders == [order()]
