"""One record for each call: what ran, who let it, what came of it, how long it took."""

from __future__ import annotations

import pytest

from agentcore import commands as c
from agentcore import events as e
from agentcore.limits import Limits
from agentcore.messages import (
    Abandoned,
    AssistantMessage,
    DenialCase,
    DeniedCall,
    MessageSource,
    Succeeded,
    TextPart,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agentcore.projections import Passage, audit, audit_passage, replay
from tests.core.projections.driving import Session, call_part


def records(session: Session):
    return list(audit(session.passages))


@pytest.mark.req("R-133", "R-026")
def test_a_success_is_recorded_with_rule_arguments_result_and_duration():
    session = Session().prompt().call("pay").allow("1.1.0", arguments='{"sum":1}').all_saved()
    session.clock = 1000
    session.succeed("1.1.0", "paid", duration_ms=40).reply("done").all_saved()
    (record,) = records(session)
    assert (record.session_id, record.call_id, record.name) == ("s", "1.1.0", "pay")
    assert (record.arguments, record.rule, record.by) == ('{"sum":1}', "r1", "")
    assert (record.ok, record.text, record.duration_ms) == (True, "paid", 40)
    assert (record.epoch, record.attempt, record.at, record.late) == (0, 1, 1010, False)


@pytest.mark.req("R-133")
def test_a_failure_is_recorded_with_the_time_that_was_measured():
    session = Session().run("pay")
    started = session.clock
    session.clock = 500
    session.answer(session.waiting(c.ExecuteTool), e.ToolFailed, error="no money")
    (record,) = records(session)
    assert (record.ok, record.text, record.duration_ms) == (False, "Error: no money", 510 - started)


@pytest.mark.req("R-133", "R-114")
def test_a_call_that_a_person_allowed_names_the_person_and_the_rule_that_asked():
    session = Session().prompt().call("pay").ask("1.1.0").grant("1.1.0").all_saved().succeed("1.1.0")
    (record,) = records(session)
    assert (record.rule, record.by, record.ok) == ("r2", "ann", True)


@pytest.mark.req("R-117")
def test_a_refusal_is_recorded_as_a_call_that_never_ran():
    session = Session().prompt().call("pay", "look").ask("1.1.0")
    session.answer(session.waiting(c.AskApproval), e.ApprovalDenied, by="ann").all_saved()
    denied, sibling = records(session)
    assert denied.outcome == DeniedCall(DenialCase.REFUSED, "r2", "the user refused", "ann")
    assert (denied.rule, denied.by, denied.arguments, denied.attempt, denied.duration_ms) == ("r2", "ann", "", 0, None)
    assert (sibling.call_id, sibling.ok, sibling.text) == (
        "1.1.1",
        False,
        "Not executed: the turn was stopped before it started.",
    )


@pytest.mark.req("R-110")
def test_calls_that_are_invalid_from_the_start_are_recorded_too():
    session = Session().prompt().reply(call_part("nothing"), call_part("look", "{"), call_part("look", "[]", "p3"))
    assert [(record.call_id, record.ok, record.attempt) for record in records(session)] == [
        ("1.1.0", False, 0),
        ("1.1.1", False, 0),
        ("1.1.2", False, 0),
    ]


@pytest.mark.req("R-159")
def test_a_late_word_about_a_given_up_effect_is_a_record_of_its_own():
    session = Session().run("pay").lose().abort().abort("a2").all_saved()
    said = {"call_id": "1.1.0", "resolution": e.Resolution.EXECUTED, "result": "it did", "by": "ann"}
    session.feed(e.EffectResolved(at=session.tick(), **said))
    first, second = records(session)
    assert (first.outcome, first.ok, first.late) == (Abandoned("user"), None, False)
    assert (second.text, second.ok, second.late) == ("it did", True, True)


@pytest.mark.req("R-169")
def test_a_background_task_is_recorded_when_it_ends_not_when_it_starts():
    session = Session().run("job")
    session.answer(session.waiting(c.ExecuteTool), e.TaskStarted, handle="job-7")
    assert records(session) == []
    task = session.waiting(c.ExecuteTool, "1.1.0")
    session.answer(task, e.TaskSettled, succeeded=True, result="built")
    session.reply("done").all_saved()
    (record,) = records(session)
    assert (record.text, record.ok, record.late) == ("built", True, True)


def test_a_task_that_ends_before_its_batch_is_recorded_once():
    session = Session().prompt().call("job", "look").allow("1.1.0", "1.1.1").all_saved()
    session.answer(session.waiting(c.ExecuteTool, "1.1.0"), e.TaskStarted, handle="job-7")
    session.answer(session.waiting(c.ExecuteTool, "1.1.0"), e.TaskSettled, succeeded=False, result="broken")
    session.succeed("1.1.1").reply("done").all_saved()
    assert [(record.call_id, record.ok) for record in records(session)] == [("1.1.0", False), ("1.1.1", True)]


@pytest.mark.req("R-106")
def test_a_call_beyond_the_limit_is_recorded_as_not_executed():
    session = Session(limits=Limits(tool_calls=0)).prompt().call("look", "look").allow("1.1.0")
    session.ask("1.1.1").grant("1.1.1")
    allowed, granted = records(session)
    assert (allowed.attempt, allowed.ok, allowed.rule, allowed.by) == (0, False, "r1", "")
    assert (granted.attempt, granted.ok, granted.rule, granted.by) == (0, False, "r2", "ann")


@pytest.mark.req("R-106")
def test_the_rule_is_named_also_where_its_word_was_the_last_before_the_end():
    session = Session(limits=Limits(tool_calls=0)).prompt().call("look").allow("1.1.0")
    (record,) = records(session)
    assert (record.attempt, record.ok, record.rule) == (0, False, "r1")


def test_an_imported_history_is_nobodys_deed():
    session = Session()
    result = ToolResult("", "p1", "look", "seen", Succeeded("seen"))
    asked = AssistantMessage("", 0, 0, (call_part("look", provider_id="p1"),))
    said = UserMessage("i1", MessageSource.PROMPT, (TextPart("hi"),))
    session.feed(e.HistoryImported(at=session.tick(), messages=(said, asked, ToolMessage("", (result,)))))
    assert len(session.state.history) == 3
    assert records(session) == []


@pytest.mark.req("R-010")
def test_a_refused_event_leaves_no_record():
    state = Session().state
    assert audit_passage(Passage(state, e.SessionReopened(at=1), state)) == ()


@pytest.mark.req("R-213")
def test_the_journal_gives_the_same_records_as_the_live_session():
    session = Session().run("pay").lose().abort().abort("a2").all_saved()
    again = list(replay(session.first, [passage.event for passage in session.passages]))
    assert again == session.passages
    assert list(audit(again)) == records(session)
