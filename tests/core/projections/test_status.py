"""Where a session stands: a word, a sentence, and the facts each word needs."""

from __future__ import annotations

import attrs
import pytest

from agentcore import codec
from agentcore import commands as c
from agentcore import events as e
from agentcore.limits import Limits
from agentcore.messages import EffectSeen
from agentcore.projections import (
    STATUSES,
    DurableStatus,
    Fact,
    UiStatus,
    durable_status,
    facts_of,
    status_holds,
    ui_status,
)
from agentcore.states import Cancelled, Ending, StopReason
from tests.core.projections.driving import Session


def word(session: Session) -> UiStatus:
    return ui_status(session.state).ui


def text(session: Session) -> str:
    return ui_status(session.state).text


@pytest.mark.req("R-181", "R-182", "R-077")
def test_a_plain_turn_is_shown_step_by_step():
    session = Session(prepares_steps=True, reviews_completion=True)
    seen = [word(session)]
    prepared = {"settings": None}
    for act in (
        session.prompt,
        lambda: session.answer(session.waiting(c.PrepareStep), e.StepPrepared, **prepared),
        lambda: session.answer(session.waiting(c.RequestModel), e.ModelStreamOpened),
        lambda: session.reply("done"),
        lambda: session.answer(session.waiting(c.ReviewCompletion), e.CompletionAccepted),
        session.all_saved,
    ):
        act()
        seen.append(word(session))
    assert seen == [
        UiStatus.IDLE,
        UiStatus.PREPARING,
        UiStatus.THINKING,
        UiStatus.ANSWERING,
        UiStatus.REVIEWING,
        UiStatus.SAVING,
        UiStatus.DONE,
    ]
    assert text(session) == "Done."


@pytest.mark.req("R-238", "R-034")
def test_a_call_is_shown_step_by_step():
    session = Session().prompt().call("pay")
    assert (word(session), text(session)) == (UiStatus.CHECKING, "Checking which of the calls may run.")
    session.ask("1.1.0")
    assert (word(session), text(session)) == (UiStatus.WAITING_FOR_PERSON, "You are asked whether pay (1.1.0) may run.")
    session.grant("1.1.0")
    assert word(session) is UiStatus.STARTING_TOOL
    assert text(session) == "pay (1.1.0) starts as soon as that is recorded."
    session.all_saved()
    assert (word(session), text(session)) == (UiStatus.RUNNING_TOOL, "Running pay (1.1.0).")
    session.abort(scope=e.AbortScope.CALL, call_id="1.1.0")
    assert word(session) is UiStatus.CANCELLING
    assert text(session) == "Cancelling; the end of pay (1.1.0) is not confirmed."


@pytest.mark.req("R-151", "R-145")
def test_trouble_with_the_model_is_shown_as_recovering_or_compacting():
    session = Session().prompt()
    failed = {"kind": e.ModelFailure.RETRYABLE, "message": "busy"}
    session.answer(session.waiting(c.RequestModel), e.ModelFailed, **failed)
    assert word(session) is UiStatus.RECOVERING
    assert "asked again" in text(session)
    session.fire("retry/1.1")
    failed = {"kind": e.ModelFailure.OVERFLOW, "message": "too long"}
    session.answer(session.waiting(c.RequestModel), e.ModelFailed, **failed)
    assert word(session) is UiStatus.COMPACTING


@pytest.mark.req("R-185", "R-153")
def test_an_unknown_effect_that_a_program_looks_into_is_recovering():
    session = Session().run("file").lose()
    assert (word(session), text(session)) == (
        UiStatus.RECOVERING,
        "Finding out whether file (1.1.0) happened.",
    )
    assert ui_status(session.state).unresolved == ("1.1.0",)


@pytest.mark.req("R-162", "D-27")
def test_an_unknown_effect_that_a_person_is_asked_about_waits_for_the_person():
    session = Session().run("pay").lose()
    assert word(session) is UiStatus.WAITING_FOR_PERSON
    assert text(session) == "You are asked whether pay (1.1.0) happened: look, and say what you found."
    session.abort()
    assert word(session) is UiStatus.WAITING_FOR_PERSON
    assert text(session).endswith("Abort once more to get the prompt back and leave it open.")


def test_a_pause_between_two_questions_to_a_person_is_no_question():
    session = Session().run("pay").lose()
    look = session.waiting(c.InspectEffect)
    session.answer(look, e.EffectInspected, finding=e.Finding.UNAVAILABLE)
    assert word(session) is UiStatus.RECOVERING


@pytest.mark.req("R-177", "R-178")
def test_cancelled_is_said_only_when_everything_has_stopped():
    session = Session().run("pay").abort()
    assert word(session) is UiStatus.CANCELLING
    run = session.waiting(c.ExecuteTool)
    session.answer(run, e.ToolCancelled, effect=EffectSeen.NONE).all_saved()
    assert (word(session), text(session)) == (UiStatus.CANCELLED, "Cancelled.")


@pytest.mark.req("R-178", "R-209")
def test_cancelled_with_something_unresolved_is_said_with_its_number():
    session = Session().prompt().call("pay", "pay").allow("1.1.0", "1.1.1").all_saved().abort().abort("a2").all_saved()
    status = ui_status(session.state)
    assert (status.ui, status.unresolved) == (UiStatus.UNRESOLVED, ("1.1.0", "1.1.1"))
    assert status.text.startswith("Cancelled, 2 unresolved. Check pay (1.1.0), pay (1.1.1) before")
    for call_id in status.unresolved:
        said = {"call_id": call_id, "resolution": e.Resolution.EXECUTED, "result": "it did"}
        session.feed(e.EffectResolved(at=session.tick(), **said))
    assert word(session) is UiStatus.CANCELLED


@pytest.mark.req("R-185")
def test_idle_is_not_said_while_something_is_unresolved():
    session = Session().run("pay").lose().abort().abort("a2").all_saved()
    session.feed(e.SessionReopened(at=session.tick()))
    assert (word(session), text(session)[:20]) == (UiStatus.UNRESOLVED, "Ready, 1 unresolved.")
    session.prompt("and now?", "m2")
    assert (word(session), text(session)) == (
        UiStatus.THINKING,
        "The model was asked and has not answered yet. Unresolved: pay (1.1.0).",
    )


@pytest.mark.req("R-176", "R-098")
def test_a_request_that_is_being_stopped_is_cancelling():
    session = Session().prompt().abort()
    assert (word(session), text(session)) == (
        UiStatus.CANCELLING,
        "Cancelling; the end of the running work is not confirmed.",
    )


@pytest.mark.req("R-103")
def test_a_turn_out_of_time_is_stopping_and_then_stopped():
    session = Session(limits=Limits(turn_ms=500)).run("pay").fire("turn/1")
    assert (word(session), text(session)) == (UiStatus.STOPPING, "Stopping; the end of pay (1.1.0) is not confirmed.")
    session.succeed("1.1.0").all_saved()
    assert (word(session), text(session)) == (UiStatus.STOPPED, "Stopped at a limit.")


@pytest.mark.req("R-019")
def test_a_turn_stopped_after_its_step_is_not_called_done():
    session = Session().run("look").abort(scope=e.AbortScope.AFTER_STEP).succeed("1.1.0").all_saved()
    assert (word(session), text(session)) == (UiStatus.STOPPED, "Stopped after the step, as asked.")


@pytest.mark.req("R-115")
def test_a_refused_permission_stops():
    session = Session().prompt().call("pay").ask("1.1.0")
    session.answer(session.waiting(c.AskApproval), e.ApprovalDenied).all_saved()
    assert (word(session), text(session)) == (UiStatus.STOPPED, "Stopped, because permission was refused.")


@pytest.mark.req("R-084")
def test_a_failure_is_an_error():
    session = Session().prompt()
    session.answer(session.waiting(c.RequestModel), e.ModelFailed, kind=e.ModelFailure.FATAL, message="no key")
    session.all_saved()
    assert (word(session), text(session)) == (UiStatus.ERROR, "Failed.")


@pytest.mark.req("R-193")
def test_an_end_that_cannot_be_saved_says_so_all_the_way():
    session = Session(limits=Limits(checkpoint_retries=1)).prompt().reply("done").unsaved()
    assert word(session) is UiStatus.SAVING
    assert "The storage is unavailable" in text(session)
    assert "What was done is kept, but not saved yet." in text(session)
    session.fire("checkpoint").unsaved()
    assert word(session) is UiStatus.UNSAVED
    assert text(session).startswith("Done. This end is not saved: the turn continues from its last saved point")


@pytest.mark.req("R-192")
def test_a_call_whose_start_cannot_be_recorded_says_that_the_storage_is_unavailable():
    session = Session().prompt().call("pay").allow("1.1.0").unsaved()
    assert word(session) is UiStatus.STARTING_TOOL
    assert text(session).endswith("The storage is unavailable; no effect is started until it is back.")


@pytest.mark.req("R-165", "R-169")
def test_background_tasks_are_named_and_a_required_one_is_waited_for():
    session = Session().prompt().call("job", "duty").allow("1.1.0", "1.1.1").all_saved()
    for call_id in ("1.1.0", "1.1.1"):
        session.answer(session.waiting(c.ExecuteTool, call_id), e.TaskStarted, handle=call_id)
    assert text(session).endswith("In the background: job (1.1.0), duty (1.1.1).")
    session.reply("done")
    assert word(session) is UiStatus.WAITING_FOR_TASK


def test_long_lists_of_calls_are_cut_short():
    session = Session().prompt().call(*["look"] * 5).allow(*(f"1.1.{i}" for i in range(5)))
    assert text(session) == "Running look (1.1.0), look (1.1.1), look (1.1.2) and 2 more."


def test_a_status_word_that_holds_in_another_state_does_not_hold_here():
    session = Session().prompt()
    assert status_holds(UiStatus.THINKING, session.state)
    assert not status_holds(UiStatus.CANCELLED, session.state)


def test_every_fact_is_required_by_a_status_and_every_status_has_a_row():
    assert {fact for _, required in STATUSES for fact in required} == set(Fact)
    assert {status for status, _ in STATUSES} == set(UiStatus)


def test_the_comforting_words_require_that_nothing_is_unresolved():
    comforting = {UiStatus.DONE, UiStatus.CANCELLED, UiStatus.IDLE}
    assert all(Fact.NOTHING_UNRESOLVED in required for status, required in STATUSES if status in comforting)
    assert all(
        Fact.END_SAVED in required for status, required in STATUSES if status in {UiStatus.DONE, UiStatus.CANCELLED}
    )


def test_an_end_of_another_reason_is_still_named_by_its_class():
    transition = Session().state.phase.transition
    state = attrs.evolve(Session().state, phase=Cancelled(transition, Ending(StopReason.TIMEOUT), 1))
    assert ui_status(state).ui is UiStatus.CANCELLED


def test_an_unknown_that_is_proved_absent_is_not_unresolved():
    session = Session().run("pay").lose()
    batch = session.state.phase.batch
    absent = attrs.evolve(batch.calls[0].state, proved_absent="nothing there")
    calls = (attrs.evolve(batch.calls[0], state=absent),)
    phase = attrs.evolve(session.state.phase, batch=attrs.evolve(batch, calls=calls))
    status = ui_status(attrs.evolve(session.state, phase=phase))
    assert (status.ui, status.unresolved) == (UiStatus.CHECKING, ())


def test_looking_again_at_a_proved_absence_asks_a_person_and_leaves_it_resolved():
    session = Session().prompt().call("pay", "pay").allow("1.1.0", "1.1.1").all_saved().lose("1.1.0")
    found = {"finding": e.Finding.NOT_EXECUTED, "conclusive": True, "by": "ann"}
    session.answer(session.waiting(c.InspectEffect, "1.1.0"), e.EffectInspected, **found)
    assert (word(session), ui_status(session.state).unresolved) == (UiStatus.RUNNING_TOOL, ())
    session.feed(e.InspectionRequested(at=session.tick(), call_id="1.1.0"))
    assert (word(session), ui_status(session.state).unresolved) == (UiStatus.WAITING_FOR_PERSON, ())


@pytest.mark.req("R-183", "R-184", "R-038")
def test_no_status_word_stands_in_a_checkpoint():
    session = Session().run("pay").lose()
    written = codec.encode_state(session.state).decode()
    assert str(UiStatus.WAITING_FOR_PERSON.value) not in written
    assert {status.value for status in UiStatus} & {status.value for status in DurableStatus} == set()


@pytest.mark.req("R-181", "R-038")
def test_the_durable_status_names_the_gravest_thing_a_crash_would_leave():
    session = Session()
    seen = [durable_status(session.state)]
    for act in (
        session.prompt,
        lambda: session.call("pay"),
        session.all_saved,
        lambda: session.allow("1.1.0"),
        session.all_saved,
        session.lose,
        lambda: session.abort().abort("a2"),
    ):
        act()
        seen.append(durable_status(session.state))
    assert seen == [
        DurableStatus.CHECKPOINTED,
        DurableStatus.MODEL_REQUESTED,
        DurableStatus.RECORDED,
        DurableStatus.CHECKPOINTED,
        DurableStatus.EFFECT_STARTED,
        DurableStatus.EFFECT_STARTED,
        DurableStatus.EFFECT_UNKNOWN,
        DurableStatus.EFFECT_UNKNOWN,
    ]
    cancelling = Session().run("pay").abort()
    assert durable_status(cancelling.state) is DurableStatus.EFFECT_STARTED
    stopping = Session().prompt().abort()
    assert durable_status(stopping.state) is DurableStatus.MODEL_REQUESTED


def test_facts_are_read_off_the_state_alone():
    session = Session().run("pay")
    assert facts_of(session.state) == {Fact.CALLS_OPEN, Fact.TOOL_RUNS, Fact.NOTHING_UNRESOLVED}
