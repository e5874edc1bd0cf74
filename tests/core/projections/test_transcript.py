"""The conversation as people read it."""

from __future__ import annotations

import attrs
import pytest

from agentcore import commands as c
from agentcore import events as e
from agentcore.messages import (
    History,
    MediaPart,
    MessageSource,
    ReasoningPart,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
)
from agentcore.projections import Called, Said, Speaker, transcript
from agentcore.states import QueuedMessage, Queues
from tests.core.projections.driving import Session


@pytest.mark.req("R-127", "R-211")
def test_calls_stand_in_source_order_whatever_ended_first():
    session = Session().prompt().call("look", "look", "look").allow("1.1.0", "1.1.1", "1.1.2")
    for index in (1, 0, 2):
        session.succeed(f"1.1.{index}", f"result {index}")
    entries = [entry for entry in transcript(session.state) if isinstance(entry, Called)]
    assert [(entry.call_id, entry.text) for entry in entries] == [(f"1.1.{i}", f"result {i}") for i in range(3)]
    assert {(entry.standing, entry.ok, entry.arguments) for entry in entries} == {("succeeded", True, "{}")}


def test_a_running_batch_shows_how_far_each_call_has_come():
    session = Session().prompt().call("look", "nothing", "pay").allow("1.1.0")
    said = transcript(session.state)
    assert said[0] == Said(Speaker.USER, "m1", "go", MessageSource.PROMPT)
    assert said[1] == Said(Speaker.MODEL, "1.1", "I will.")
    assert [(entry.name, entry.standing, entry.ok) for entry in said[2:]] == [
        ("look", "ready", None),
        ("nothing", "invalid-call", False),
        ("pay", "proposed", None),
    ]
    assert "TOOL_NOT_FOUND" in said[3].text
    assert "Available tools: look, pay" in said[3].text


def test_a_call_that_ran_shows_the_arguments_that_ran():
    session = Session().prompt().call("look").allow("1.1.0", arguments='{"safe":true}').succeed("1.1.0")
    assert transcript(session.state)[-1].arguments == '{"safe":true}'


def test_a_call_that_never_ran_shows_what_the_model_wrote():
    session = Session().prompt().reply(ToolCallPart("p1", "nothing", '{"a": 1}'))
    (called,) = (entry for entry in transcript(session.state) if isinstance(entry, Called))
    assert (called.arguments, called.standing) == ('{"a": 1}', "invalid-call")


@pytest.mark.req("R-178")
def test_nobody_can_tell_whether_an_abandoned_call_succeeded():
    session = Session().run("pay").lose().abort().abort("a2").all_saved()
    called = transcript(session.state)[-1]
    assert (called.standing, called.ok) == ("abandoned", None)


def test_thinking_media_and_what_the_provider_ran_are_told_apart():
    session = Session().prompt()
    provider_ran = ToolCallPart("p1", "web_search", '{"q":"cats"}', provider_executed=True)
    session.reply(ReasoningPart("hm"), ReasoningPart(""), "here: ", MediaPart("image/png", "aGk=", "cat"), provider_ran)
    answer, searched = transcript(session.state)[1:]
    assert (answer.text, answer.thinking) == ("here: [image/png cat]", "hm")
    assert searched == Called("", "web_search", '{"q":"cats"}', "provider-executed")


def test_an_interrupted_answer_says_so():
    session = Session().prompt().abort()
    session.answer(session.waiting(c.CancelModel), e.ModelStopped, parts=(TextPart("I was"),))
    assert transcript(session.state)[-1] == Said(Speaker.MODEL, "1.1", "I was", interrupted=True)


@pytest.mark.req("R-239")
def test_queued_words_stand_last_and_wait():
    session = Session().prompt()
    for event, message_id in ((e.FollowUpQueued, "f1"), (e.SteeringQueued, "s1")):
        session.feed(event(at=session.tick(), message_id=message_id, parts=(TextPart("later"),)))
    notice = QueuedMessage("notice/1", (MediaPart("image/gif", ""),), MessageSource.NOTICE)
    queues = attrs.evolve(session.state.queues, notices=(notice,))
    waiting = [entry for entry in transcript(attrs.evolve(session.state, queues=queues)) if entry.waiting]
    assert [(entry.id, entry.speaker, entry.text) for entry in waiting] == [
        ("notice/1", Speaker.LOOP, "[image/gif]"),
        ("s1", Speaker.USER, "later"),
        ("f1", Speaker.USER, "later"),
    ]
    assert transcript(attrs.evolve(session.state, queues=Queues())) == transcript(session.state)[:1]


def test_a_nudge_of_the_loop_is_not_the_users_word():
    session = Session().prompt().reply(ReasoningPart("…"))
    nudge = transcript(session.state)[-1]
    assert (nudge.speaker, nudge.source, nudge.text) == (
        Speaker.LOOP,
        MessageSource.NUDGE,
        "You only thought. Answer, or call a tool.",
    )


def test_a_result_without_its_question_is_shown_all_the_same():
    result = ToolResult("1.1.0", "p1", "look", "seen", Succeeded("seen"))
    state = attrs.evolve(Session().state, history=History().append(ToolMessage("1.1", (result,))))
    assert transcript(state) == (Called("1.1.0", "look", "", "succeeded", True, "seen"),)


def test_a_silent_message_leaves_no_empty_line():
    session = Session().prompt().reply(ToolCallPart("p1", "look", "{}"))
    assert [type(entry) for entry in transcript(session.state)] == [Said, Called]
