"""What a model is sent: the window, nothing else, and never an orphan."""

from __future__ import annotations

import attrs
import pytest

from agentcore import commands as c
from agentcore import events as e
from agentcore.messages import (
    AssistantMessage,
    History,
    MediaPart,
    MessageSource,
    TextPart,
    ToolMessage,
    UserMessage,
)
from agentcore.projections import request_messages
from agentcore.states import Window
from tests.core.projections.driving import TOOLS, Session

IMAGE = MediaPart("image/png", "aGk=", "cat.png")


def texts(view):
    return [getattr(message, "text", None) or type(message).__name__ for message in view.messages]


@pytest.mark.req("R-128", "R-134")
def test_a_request_holds_the_window_with_each_call_answered_behind_its_message():
    session = Session().run("look").succeed("1.1.0", "seen")
    view = request_messages(session.state, session.waiting(c.RequestModel).request_id)
    user, asked, answered = view.messages
    assert (view.request_id, view.instructions, view.summary, view.tools) == ("1.2", "Be brief.", "", TOOLS)
    assert view.settings == session.state.config.settings
    assert [type(message) for message in view.messages] == [UserMessage, AssistantMessage, ToolMessage]
    assert user.parts == (TextPart("go"),)
    assert [part.provider_id for part in asked.calls] == [result.provider_id for result in answered.results]
    assert answered.results[0].content == "seen"


def test_an_earlier_request_is_shown_up_to_its_answer():
    session = Session().run("look").succeed("1.1.0").reply("done").all_saved()
    assert len(request_messages(session.state, "1.1").messages) == 1
    assert len(request_messages(session.state, "1.2").messages) == 3
    assert len(request_messages(session.state, "2.1").messages) == 4


@pytest.mark.req("R-145", "R-149")
def test_after_a_compaction_the_summary_stands_for_what_it_covers():
    session = Session().run("look").succeed("1.1.0").reply("first").all_saved()
    session.feed(e.SessionReopened(at=session.tick())).prompt("more", "m2")
    asked = session.waiting(c.RequestModel)
    session.answer(asked, e.ModelFailed, kind=e.ModelFailure.OVERFLOW, message="too long")
    order = session.waiting(c.CompactContext)
    sizes = {"covers_to": 4, "summary": "we looked", "tokens_before": 9, "tokens_after": 3}
    session.answer(order, e.ContextCompacted, purpose=e.CompactionPurpose.OVERFLOW, **sizes)
    view = request_messages(session.state, "2.1")
    assert view.summary == "we looked"
    assert [message.message_id for message in view.messages] == ["m2"]


@pytest.mark.req("R-148")
def test_media_before_the_mark_become_a_remark_and_everything_else_stays_the_same_object():
    answer = AssistantMessage("1.1", 0, 1, (TextPart("look: "), attrs.evolve(IMAGE, name="")))
    pictures = UserMessage("m1", MessageSource.PROMPT, (TextPart("a cat"), IMAGE))
    words = UserMessage("m2", MessageSource.PROMPT, (TextPart("and?"),))
    later = UserMessage("m3", MessageSource.PROMPT, (IMAGE,))
    results = ToolMessage("1.1", ())
    history = History().append(pictures, answer, results, words, later)
    state = attrs.evolve(Session().state, history=history, window=Window(media_to=4))
    shown = request_messages(state, "9.9").messages
    assert shown[0].parts[0] == TextPart("a cat")
    assert shown[0].parts[1].text == "[image/png 'cat.png' was here; it is left out to make the context smaller]"
    assert shown[1].text == "look: [image/png was here; it is left out to make the context smaller]"
    assert shown[2] is results
    assert shown[3] is words
    assert shown[4] is later


@pytest.mark.req("R-044")
def test_what_a_running_batch_holds_is_not_sent():
    session = Session().prompt().call("pay")
    assert texts(request_messages(session.state, "1.1")) == ["UserMessage"]
