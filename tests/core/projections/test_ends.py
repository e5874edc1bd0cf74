"""Why a turn ended, and what comes next."""

from __future__ import annotations

import attrs
import pytest

from agentcore import commands as c
from agentcore import events as e
from agentcore.limits import BOUNDS, Limits
from agentcore.messages import DenialCase
from agentcore.policy import ModelSettings
from agentcore.projections import END_TEXTS, LOOP_TEXTS, NextStep, Party, explain_end, next_step
from agentcore.states import END_OF, Ending, Saving, StopReason
from tests.core.projections.driving import Session

UNKNOWN = Session().run("pay").lose().abort().abort("a2").all_saved().state


def ended(reason: StopReason, *, unsaved: bool = False, state=None, **ending):
    state = state or Session().state
    phase = END_OF[reason](state.phase.transition, Ending(reason, **ending), 1, unsaved)
    return attrs.evolve(state, phase=phase)


def told(reason: StopReason, **fields) -> str:
    return explain_end(ended(reason, **fields)).text


@pytest.mark.req("R-094", "R-097")
def test_every_reason_has_a_text_of_its_own():
    texts = {reason: told(reason) for reason in StopReason}
    assert len(set(texts.values())) == len(StopReason)
    assert [text for text in texts.values() if "{" in text] == []
    assert set(END_TEXTS) == set(StopReason)


@pytest.mark.req("R-097")
@pytest.mark.parametrize(
    ("reason", "fields", "parts"),
    [
        (StopReason.MAX_STEPS, {}, ("limit of 100 model requests", "Split the task into smaller parts")),
        (StopReason.MAX_TOOL_CALLS, {}, ("limit of 200 tool calls", "limits.tool_calls")),
        (StopReason.TIMEOUT, {}, ("ran out", "You can try again")),
        (StopReason.MODEL_ERROR, {"message": "no key"}, ("The request to the model failed: no key.",)),
        (StopReason.TOOL_ERROR, {"message": "pay: no money"}, ("mend: pay: no money.",)),
        (StopReason.LOOP_LIMIT, {"loop": "identical_calls"}, ("kept repeating the same calls",)),
        (StopReason.LOOP_LIMIT, {"loop": "something_new"}, ("it reached the bound something_new",)),
        (StopReason.LOOP_LIMIT, {}, ("it reached the bound of a loop",)),
        (StopReason.STORAGE, {"message": "disk full"}, ("could not be saved: disk full.",)),
        (StopReason.FINAL_ANSWER, {"warning": "the review objected"}, ("Done", "Note: the review objected.")),
    ],
)
def test_a_text_says_what_happened_and_what_to_do(reason, fields, parts):
    text = told(reason, **fields)
    assert [part for part in parts if part not in text] == []


@pytest.mark.req("R-097", "R-117")
@pytest.mark.parametrize(
    ("case", "rule", "said"),
    [
        (DenialCase.REFUSED, "r2", "because the user refused a permission: too much."),
        (DenialCase.FEEDBACK, "", "because the user refused"),
        (DenialCase.STATIC, "r2", "because a rule (r2) refused"),
        (DenialCase.STATIC, "", "because a rule refused"),
        (DenialCase.DANGEROUS, "r2", "because a rule against dangerous acts (r2) refused"),
        (DenialCase.UNANSWERED, "r2", "because nobody answered"),
        ("", "r2", "because a rule (r2) refused"),
    ],
)
def test_a_refusal_says_who_refused(case, rule, said):
    evidence = (("call", "1.1.0"), ("case", str(case)))
    assert said in told(StopReason.PERMISSION_DENIED, rule=rule, message="too much", evidence=evidence)


@pytest.mark.req("R-115")
def test_a_real_refusal_is_told_as_the_users():
    session = Session().prompt().call("pay").ask("1.1.0")
    session.answer(session.waiting(c.AskApproval), e.ApprovalDenied).all_saved()
    assert explain_end(session.state).text.startswith("Stopped because the user refused a permission")


@pytest.mark.req("R-097", "R-156")
@pytest.mark.parametrize("reason", StopReason)
def test_where_an_effect_is_unknown_checking_is_offered_before_any_retry(reason):
    explained = explain_end(ended(reason, state=UNKNOWN))
    check = "It is not known what became of pay (1.1.0): check that first, before anything is tried again."
    assert explained.unresolved == ("1.1.0",)
    assert check in explained.text
    advice = END_TEXTS[reason].advice
    assert explained.text.index(check) < explained.text.index(advice) or not advice


@pytest.mark.req("R-193")
@pytest.mark.parametrize("reason", StopReason)
def test_an_unsaved_end_says_that_the_turn_continues_from_its_last_saved_point(reason):
    explained = explain_end(ended(reason, unsaved=True))
    assert explained.unsaved
    assert explained.text.endswith(
        "What was done is done, but this end is not saved: when the session is reopened, the turn will be continued "
        "from its last saved point."
    )


@pytest.mark.req("R-075", "R-097")
def test_an_answer_is_told_with_the_answer_itself():
    session = Session().run("look").succeed("1.1.0").reply("forty-two").all_saved()
    explained = explain_end(session.state)
    assert (explained.reason, explained.answer) == (StopReason.FINAL_ANSWER, "forty-two")
    assert explain_end(ended(StopReason.FINAL_ANSWER)).answer == ""
    assert explain_end(ended(StopReason.TERMINATED, state=session.state)).answer == ""


def test_a_turn_that_has_not_ended_says_so():
    session = Session()
    assert (explain_end(session.state).reason, explain_end(session.state).text) == (None, "No turn is open.")
    assert explain_end(session.prompt().state).text == "The turn has not ended."
    explained = explain_end(session.abort().state)
    assert explained.reason is StopReason.USER_ABORT
    assert explained.text == "The turn is ending. Cancelled, as you asked. Send a message to go on."
    saving = Saving(session.state.phase.transition, Ending(StopReason.TIMEOUT), 1)
    assert explain_end(attrs.evolve(session.state, phase=saving)).text.startswith("The turn is ending. Stopped because")


def test_every_loop_that_can_end_a_turn_has_a_text():
    ending = {bound.name for bound in BOUNDS if "loop_limit" in bound.at_bound}
    assert set(LOOP_TEXTS) == ending


@pytest.mark.req("R-237", "R-236")
def test_at_every_point_it_is_known_what_comes_next():
    session = Session(prepares_steps=True, reviews_completion=True, limits=Limits(effect_retries=0))
    seen = []

    def note(*_):
        step = next_step(session.state)
        seen.append((step.by, step.ids))

    settings = ModelSettings("m")
    note()
    note(session.prompt())
    note(session.answer(session.waiting(c.PrepareStep), e.StepPrepared, settings=settings))
    failed = {"kind": e.ModelFailure.RETRYABLE, "message": "busy"}
    note(session.answer(session.waiting(c.RequestModel), e.ModelFailed, **failed))
    note(session.fire("retry/1.1"))
    failed = {"kind": e.ModelFailure.OVERFLOW, "message": "too long"}
    note(session.answer(session.waiting(c.RequestModel), e.ModelFailed, **failed))
    sizes = {"covers_to": 0, "summary": "s", "tokens_before": 9, "tokens_after": 3}
    order = session.waiting(c.CompactContext)
    session.answer(order, e.ContextCompacted, purpose=e.CompactionPurpose.OVERFLOW, **sizes)
    note(session.call("file"))
    note(session.ask("1.1.0"))
    note(session.grant("1.1.0"))
    note(session.all_saved())
    note(session.lose())
    note(session.answer(session.waiting(c.InspectEffect), e.EffectInspected, finding=e.Finding.STILL_RUNNING))
    note(session.fire("inquiry/1.1.0"))
    found = {"finding": e.Finding.EXECUTED, "result": "written"}
    session.answer(session.waiting(c.InspectEffect), e.EffectInspected, **found)
    session.answer(session.waiting(c.PrepareStep), e.StepPrepared)
    note(session.reply("done"))
    note(session.answer(session.waiting(c.ReviewCompletion), e.CompletionAccepted))
    note(session.unsaved())
    note(session.fire("checkpoint").all_saved())
    assert seen == [
        (Party.USER, ()),
        (Party.HOST, ("1.1",)),
        (Party.MODEL, ("1.1",)),
        (Party.CLOCK, ("retry/1.1",)),
        (Party.MODEL, ("1.1",)),
        (Party.HOST, ("1.1",)),
        (Party.POLICY, ("1.1.0",)),
        (Party.PERSON, ("1.1.0",)),
        (Party.STORE, seen[8][1]),
        (Party.TOOL, ("1.1.0",)),
        (Party.TOOL, ("1.1.0",)),
        (Party.CLOCK, ("inquiry/1.1.0",)),
        (Party.TOOL, ("1.1.0",)),
        (Party.HOST, ("1.2",)),
        (Party.STORE, seen[14][1]),
        (Party.CLOCK, ("checkpoint",)),
        (Party.USER, ()),
    ]


@pytest.mark.req("R-237")
def test_the_turns_own_work_comes_before_what_runs_beside_it():
    session = Session().run("job")
    session.answer(session.waiting(c.ExecuteTool), e.TaskStarted, handle="7")
    assert next_step(session.state) == NextStep(Party.MODEL, "The model answers request 1.2.", ("1.2",))


@pytest.mark.req("R-165")
def test_a_turn_that_waits_for_its_task_waits_for_the_tool():
    session = Session().run("duty")
    session.answer(session.waiting(c.ExecuteTool), e.TaskStarted, handle="7").reply("done").all_saved()
    expected = NextStep(Party.TOOL, "The outcome of duty (1.1.0) comes in.", ("1.1.0",))
    assert next_step(session.state) == expected


@pytest.mark.req("R-237", "R-177")
def test_after_a_fault_the_only_next_step_is_known():
    unknown = Session().run("pay").lose()
    text = "A person looks whether pay (1.1.0) happened, and says so."
    assert next_step(unknown.state) == NextStep(Party.PERSON, text, ("1.1.0",))
    text = "The end of pay (1.1.0) is confirmed, or waiting for it ends."
    assert next_step(Session().run("pay").abort().state) == NextStep(Party.TOOL, text, ("1.1.0",))
    text = "The end of request 1.1 is confirmed, or waiting for it ends."
    assert next_step(Session().prompt().abort().state) == NextStep(Party.MODEL, text, ("1.1",))
    text = "Find out what became of pay (1.1.0): inspect, or say what you know."
    assert next_step(UNKNOWN) == NextStep(Party.USER, text, ("1.1.0",))
    text = "Reopen the session: the turn continues from its last saved point."
    assert next_step(ended(StopReason.FINAL_ANSWER, unsaved=True)) == NextStep(Party.USER, text)


def test_a_state_that_waits_for_nothing_says_so():
    session = Session().prompt()
    saving = Saving(session.state.phase.transition, Ending(StopReason.TIMEOUT), 1)
    assert next_step(attrs.evolve(session.state, phase=saving)).by is Party.NOBODY
