"""BC-28: a sub-agent ended its turn while its job ran; it was reported as finished, and the job's end reached nobody.

A task stands in the register of the session that started it, through the end of a turn and a crash, until its outcome
was told, once. docs/decisions/0124 says why it is never handed to another owner. Sub-agents are sessions; here both
levels are shown by events and commands.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from agentcore import Effect, Verdict, reduce
from agentcore.commands import CancelTool, ExecuteTool, InspectEffect
from agentcore.events import AbortScope, Finding
from agentcore.messages import MessageSource, Succeeded, UserMessage
from agentcore.projections import Abort, InspectCall, pending_acts, ui_status
from agentcore.states import Because, Completed, EffectUnknown, Executing, ReviewingCompletion, Settled
from agentcore.steps import batch, decide
from agentcore.steps.base import replace_call, want_checkpoint, why
from tests.cases.helpers_a import Case, fails, patched
from tests.core.driver import tool

J = "1.1.0"


def owner(*, required: bool = False, reducer=reduce) -> Case:
    """K has started J in the background and produced its final text."""
    case = Case(tool("job", Effect.FENCEABLE, detached=True, required=required), reduce=reducer)
    case.execute("job")
    case.detach(handle="job 41")
    case.all_saved()
    case.reply("All done.")
    case.all_saved()
    return case


def listed(case: Case) -> bool:
    """J is seen running and can be stopped, or it is seen unknown and can be looked into and stopped."""
    acts = [act for act in pending_acts(case.state) if getattr(act, "call_id", "") == J]
    seen = J in ui_status(case.state).text and [call.call_id for call in case.state.register] == [J]
    return seen and any(isinstance(act, Abort | InspectCall) for act in acts)


def notices(case: Case) -> list[str]:
    return [
        message.parts[0].text
        for message in case.history
        if isinstance(message, UserMessage) and message.source is MessageSource.NOTICE
    ]


def check(*, crash: bool = False, reducer=reduce) -> None:
    case = owner(reducer=reducer)
    # 1: completed, with live work.
    assert case.phase is Completed
    assert case.count(ExecuteTool, J) == 1
    assert listed(case)
    assert isinstance(case.call(J).state, Executing)
    # The id that the model was told resolves to the entry.
    assert case.state.register[0].run.handle == "job 41"
    assert "job 41" in case.results[0].content
    if crash:
        # 2: as well after a restart; nobody knows any more whether it runs.
        case.restart()
        assert isinstance(case.call(J).state, EffectUnknown)
        assert listed(case)
        assert case.the(InspectEffect).call_id == J
        case.inspected(Finding.EXECUTED, result="exit 0, output")
    else:
        case.task_ends(result="exit 0, output")
    case.all_saved()
    # 3: told once, to the session that owns it, in its next turn.
    assert isinstance(case.call(J).state, Settled)
    case.reopen()
    case.prompt("And?")
    assert ["exit 0, output" in text for text in notices(case)] == [True]
    assert J in notices(case)[0]
    case.answer()
    case.reopen()
    case.prompt("Anything else?")
    assert len(notices(case)) == 1
    assert case.state.register == ()


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.req("R-169", "R-168", "R-167", "R-249")
def test_a_job_is_listed_until_its_end_is_told_once(crash):
    check(crash=crash)


def forgotten(state, before, after, event):
    """Detaching as it was: the call is answered, and nobody keeps the job."""
    answered = Settled(why(Because.TASK_STARTED), Succeeded(f"started as {event.handle}", "started"), after.run)
    return want_checkpoint(replace_call(state, evolve(before, state=answered)))


def test_a_job_that_nobody_keeps_or_whose_end_nobody_hears_is_found_out():
    with patched((batch, "_detached", forgotten)):
        fails(check)
    with patched((batch, "notice", lambda state, *_: state)):
        fails(check)


def check_required() -> None:
    case = owner(required=True)
    assert case.phase is ReviewingCompletion
    assert case.state.phase.awaits_tasks
    assert listed(case)
    case.restart()
    assert case.phase is ReviewingCompletion
    case.inspected(Finding.EXECUTED, result="exit 0")
    # Its outcome is told before the end is decided.
    assert ["exit 0" in text for text in notices(case)] == [True]
    case.answer("Now it is done.")
    assert case.phase is Completed


@pytest.mark.req("R-165", "R-166")
def test_a_turn_whose_contract_requires_the_job_is_not_over_before_it():
    check_required()


def test_a_turn_that_does_not_wait_for_what_it_requires_is_found_out():
    with patched((decide, "required_tasks", lambda _: ())):
        fails(check_required)


@pytest.mark.req("R-177")
def test_a_job_can_be_stopped_after_the_turn_that_started_it():
    case = owner()
    case.abort(AbortScope.TASK, J)
    assert case.the(CancelTool).call_id == J
    case.stopped()
    assert isinstance(case.call(J).state, Settled)
    assert case.phase is Completed


@pytest.mark.req("R-168")
def test_the_parent_reads_its_childs_session_and_hears_of_live_work():
    """P's child is a call whose effect is K's session: P asks it what became of it, and its answer names J."""
    parent, child = Case(tool("sub_agent")), owner()
    parent.execute("sub_agent")
    parent.started(handle="session K")
    unfinished = [each.call_id for each in child.state.register if not isinstance(each.state, Settled)]
    parent.succeed(result=f"All done. Still running: {', '.join(unfinished)}")
    assert J in parent.results[0].content
    # The job's own end is none of P's events.
    event = next(line.event for line in child.trace if type(line.event).__name__ == "TaskStarted")
    assert parent.quietly(evolve(event, call_id="7.7.7", at=parent.now)).verdict is Verdict.REJECTED
