"""What may be done now: exactly what the reducer would accept."""

from __future__ import annotations

import attrs
import pytest

from agentcore import Verdict, reduce
from agentcore import commands as c
from agentcore import events as e
from agentcore.events import AbortScope, Inspector
from agentcore.messages import TextPart, digest
from agentcore.projections import (
    Abort,
    ApproveCall,
    DenyCall,
    InspectCall,
    ResolveCall,
    RetryCall,
    SessionAct,
    WithdrawMessage,
    pending_acts,
)
from tests.core.projections.driving import Session


def of(session: Session, *kinds: type) -> list:
    return [act for act in pending_acts(session.state) if isinstance(act, kinds)]


def session_acts(session: Session) -> set[str]:
    return {act.event.__name__ for act in of(session, SessionAct)}


def test_in_idle_a_prompt_and_what_concerns_the_whole_session_are_possible():
    assert session_acts(Session()) == {
        "PromptSubmitted",
        "SteeringQueued",
        "FollowUpQueued",
        "HistoryImported",
        "HistoryCleared",
        "ConfigChanged",
    }
    assert of(Session(), Abort) == []


@pytest.mark.req("R-239", "D-33")
def test_while_a_turn_runs_words_are_queued_and_work_can_be_stopped():
    session = Session().prompt()
    assert session_acts(session) == {"SteeringQueued", "FollowUpQueued"}
    assert of(session, Abort) == [Abort(AbortScope.TURN, 1), Abort(AbortScope.ALL), Abort(AbortScope.AFTER_STEP, 1)]
    session.abort(scope=AbortScope.AFTER_STEP)
    assert of(session, Abort) == [Abort(AbortScope.TURN, 1), Abort(AbortScope.ALL)]


@pytest.mark.req("R-059")
def test_an_ended_turn_can_be_reopened_and_not_prompted():
    session = Session().prompt().reply("done").all_saved()
    assert session_acts(session) == {"SessionReopened", "SteeringQueued", "FollowUpQueued"}


@pytest.mark.req("R-114", "R-113")
def test_a_question_for_permission_lists_both_answers_with_what_they_have_to_name():
    session = Session().prompt().call("pay").ask("1.1.0", '{"sum":1}')
    approve, deny = of(session, ApproveCall, DenyCall)
    assert approve == ApproveCall("1.1.0", "pay", 0, 1, '{"sum":1}', digest('{"sum":1}'), "r2", "it costs", None)
    assert deny == DenyCall("1.1.0", "pay", 0, 1)
    assert (approve.event, deny.event) == (e.ApprovalGranted, e.ApprovalDenied)
    key = {"call_id": approve.call_id, "epoch": approve.epoch, "attempt": approve.attempt}
    sealed = {"arguments": approve.arguments, "digest": approve.digest}
    session.feed(approve.event(at=session.tick(), **key, **sealed))
    assert of(session, ApproveCall, DenyCall) == []


@pytest.mark.req("R-155", "R-156", "R-158", "R-208", "R-243")
@pytest.mark.parametrize(("tool", "by"), [("pay", Inspector.PERSON), ("file", Inspector.PROGRAM)])
def test_an_unknown_effect_can_be_inspected_and_resolved_but_not_retried(tool, by):
    session = Session().run(tool).lose()
    checks = of(session, InspectCall, ResolveCall, RetryCall)
    assert checks == [InspectCall("1.1.0", tool, by, "", "", ()), ResolveCall("1.1.0", tool, "{}")]
    assert [act.event for act in checks] == [e.InspectionRequested, e.EffectResolved]


@pytest.mark.req("R-157", "R-243")
def test_a_retry_is_listed_once_nothing_is_proved_to_have_happened():
    session = Session().prompt().call("file", "pay").allow("1.1.0", "1.1.1").all_saved()
    started = session.waiting(c.ExecuteTool, "1.1.0")
    session.answer(started, e.ToolStarted, handle="pid 7").lose("1.1.0")
    look = session.waiting(c.InspectEffect, "1.1.0")
    assert of(session, InspectCall)[0].handle == "pid 7"
    found = {"finding": e.Finding.NOT_EXECUTED, "conclusive": True, "evidence": "no such file"}
    session.answer(look, e.EffectInspected, **found)
    assert of(session, RetryCall) == [RetryCall("1.1.0", "file", "no such file")]
    session.feed(e.RetryRequested(at=session.tick(), call_id="1.1.0"))
    assert of(session, InspectCall, ResolveCall, RetryCall) == []


@pytest.mark.req("R-208")
def test_an_effect_that_was_given_up_can_still_be_inspected_and_resolved():
    session = Session().run("pay").lose().abort().abort("a2").all_saved()
    assert of(session, InspectCall, ResolveCall) == [
        InspectCall("1.1.0", "pay", Inspector.PERSON, "", "", ()),
        ResolveCall("1.1.0", "pay", "{}"),
    ]
    session.feed(e.InspectionRequested(at=session.tick(), call_id="1.1.0"))
    assert len(of(session, InspectCall, ResolveCall)) == 2
    said = {"call_id": "1.1.0", "resolution": e.Resolution.FAILED, "result": "no"}
    session.feed(e.EffectResolved(at=session.tick(), **said))
    assert of(session, InspectCall, ResolveCall) == []


@pytest.mark.req("R-167")
def test_calls_and_background_tasks_can_be_stopped_one_by_one_and_not_twice():
    session = Session().prompt().call("job", "pay").allow("1.1.0", "1.1.1").all_saved()
    session.answer(session.waiting(c.ExecuteTool, "1.1.0"), e.TaskStarted, handle="7")
    task, call = Abort(AbortScope.TASK, call_id="1.1.0"), Abort(AbortScope.CALL, call_id="1.1.1")
    assert [act for act in of(session, Abort) if act.call_id] == [task, call]
    session.abort("a1", AbortScope.CALL, call_id="1.1.1")
    session.abort("a2", AbortScope.TASK, call_id="1.1.0")
    assert [act for act in of(session, Abort) if act.call_id] == []
    session.abort("a3")
    assert [act for act in of(session, Abort) if act.call_id] == [task, call]


@pytest.mark.req("R-239")
def test_queued_words_can_be_taken_back():
    session = Session().prompt()
    session.feed(e.FollowUpQueued(at=session.tick(), message_id="f1", parts=(TextPart("then"),)))
    session.feed(e.SteeringQueued(at=session.tick(), message_id="s1", parts=(TextPart("now"),)))
    assert of(session, WithdrawMessage) == [WithdrawMessage("s1"), WithdrawMessage("f1")]
    session.feed(e.MessageWithdrawn(at=session.tick(), message_id="s1"))
    assert of(session, WithdrawMessage) == [WithdrawMessage("f1")]


def test_asking_what_is_possible_uses_no_id_of_the_clients():
    state = Session().state
    state = attrs.evolve(state, known=state.known.add("asked"), acts=state.acts.add("asked'"))
    assert pending_acts(state) == pending_acts(Session().state)


@pytest.mark.req("R-011", "R-243")
def test_what_is_not_listed_would_be_refused():
    session = Session().run("pay").lose()
    asked = e.RetryRequested(at=session.tick(), call_id="1.1.0")
    judged = reduce.examine(session.state, asked)
    assert (judged.verdict, judged.reason) == (Verdict.REJECTED, "effect-not-proved-absent")
