"""BC-06: a timeout killed a command that had sent its message; told that it had failed, the agent sent it twice.

A timeout proves nothing: the effect is unknown, an inspection is on offer, and running it again is refused until its
absence is proved.
"""

from __future__ import annotations

import anyio
import attrs
import pytest

from agentcore import Effect, Verdict, reduce
from agentcore.commands import CancelTool, ExecuteTool, InspectEffect, RequestModel, StartTimer
from agentcore.events import Finding, InspectionRequested, RetryRequested, TimerFired, ToolSucceeded
from agentcore.messages import EffectSeen, FailedCall, Succeeded
from agentcore.projections import InspectCall, RetryCall, pending_acts
from agentcore.rejections import RejectionCode
from agentcore.states import Because, EffectUnknown, Executing, Ready, Released
from agentcore.steps.calls.moves import review, settle
from interpreters import Agent, ManualClock, ToolContext, executed, not_executed, shell_tool, tool
from interpreters.scripted import Ask, Say, ScriptedGate, ScriptedModel
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, unknown_state
from tests.core.driver import tool as contract

C1 = "1.1.0"
INSPECTED = [Effect.FENCEABLE, Effect.INSPECTABLE, Effect.OPAQUE]


def timed_out(effect: Effect, reducer=reduce) -> Case:
    """c1 executes since t=0, says where it can be asked about, and its deadline passes at t=120 s."""
    case = Case(contract("send", effect, timeout_ms=120_000), reduce=reducer)
    case.execute("send")
    case.started(handle="mail queue 7")
    case.progressed("handed to the relay")
    case.fire(f"deadline/{C1}")
    return case


def check(effect: Effect, after, reducer=reduce) -> None:
    case = timed_out(effect, reducer)
    # 1: unknown, with all that is known of it; somebody looks, nothing runs again.
    unknown = unknown_state(case)
    assert (unknown.run.handle, unknown.run.observation) == ("mail queue 7", "handed to the relay")
    assert unknown.run.covered_at is not None
    assert unknown.run.due_at - unknown.run.covered_at == 120_000
    kinds = {type(command) for command in case.work} - {StartTimer}
    assert {InspectEffect, CancelTool} <= kinds
    assert case.count(ExecuteTool, C1) == 1
    assert [act for act in pending_acts(case.state) if isinstance(act, InspectCall) and act.call_id == C1]
    # 2: a retry without evidence.
    judged = case.quietly(RetryRequested(at=case.now, call_id=C1))
    assert judged.rejection.code is RejectionCode.EFFECT_NOT_PROVED_ABSENT
    assert "Inspect first" in judged.rejection.advice
    assert not [act for act in pending_acts(case.state) if isinstance(act, RetryCall)]
    after(case)
    # The result says that it was timed out once, and one request follows.
    assert case.outcome() == attrs.evolve(case.outcome(), result="sent", timed_out=True)
    assert isinstance(case.outcome(), Succeeded)
    assert case.count(RequestModel) == 2
    assert case.count(ExecuteTool, C1) == 1
    # 6: a settled call never goes back.
    late = TimerFired(at=case.now, timer_id=f"deadline/{C1}", epoch=0, attempt=1)
    assert case.quietly(late).verdict is Verdict.IGNORED


def inspected(case: Case) -> None:
    """3 and 4: still unknown, then found."""
    case.inspected(Finding.UNAVAILABLE)
    unknown_state(case)
    assert (case.count(ExecuteTool, C1), case.count(RequestModel)) == (1, 1)
    assert case.quietly(RetryRequested(at=case.now, call_id=C1)).verdict is Verdict.REJECTED
    case.fire(f"inquiry/{C1}")
    case.inspected(Finding.EXECUTED, result="sent", evidence="message 41 is in the outbox")


def looked_at_again(case: Case) -> None:
    """Every inspection that the bound allows is in vain; a person is asked and finds it."""
    bound = case.state.config.limits.inspections
    for _ in range(bound):
        case.inspected(Finding.STILL_RUNNING, result="handed to the relay")
        if f"inquiry/{C1}" in " ".join(case.waits):
            case.fire(f"inquiry/{C1}")
    unknown_state(case)
    case.given(InspectionRequested(at=case.now, call_id=C1))
    case.inspected(Finding.EXECUTED, result="sent")


def late_success(case: Case) -> None:
    """5: the attempt itself reports after all."""
    case.give(ToolSucceeded, call_id=C1, epoch=0, attempt=1, result="sent")


@pytest.mark.parametrize("after", [inspected, looked_at_again, late_success])
@pytest.mark.parametrize("effect", INSPECTED)
@pytest.mark.req("R-153", "R-154", "R-155", "R-157", "R-158", "R-159", "R-160", "R-243", "D-8")
def test_a_timeout_leaves_the_effect_unknown_until_evidence_settles_it(effect, after):
    check(effect, after)


def failed_plainly(state, call, event):
    """The row as it was: a timeout is a failure."""
    return settle(call, FailedCall("timed out; try again with a larger limit"), Because.DEADLINE_PASSED)


def run_once_more(state, call, event):
    """The row as it was: whoever asks for a retry gets one."""
    return review(state, call, Because.EFFECT_RETRIED)


@pytest.mark.parametrize(
    "change",
    [
        instead(Executing, TimerFired, failed_plainly),
        instead(EffectUnknown, RetryRequested, run_once_more, to=(Ready, Released)),
    ],
)
def test_a_timeout_as_failure_or_a_retry_without_evidence_is_found_out(change):
    fails(check, Effect.FENCEABLE, inspected, broken(change))


@pytest.mark.parametrize("seen", EffectSeen)
def test_what_the_stopped_attempt_confirms_counts_as_evidence_too(seen):
    case = timed_out(Effect.FENCEABLE)
    case.stopped(seen)
    if seen is EffectSeen.UNPROVED:
        unknown_state(case)
    else:
        assert case.outcome().effect is seen
    assert case.count(ExecuteTool, C1) == 1


@pytest.mark.req("R-153")
def test_a_keyed_effect_runs_again_only_once_its_attempt_has_ended_and_under_the_same_key():
    case = timed_out(Effect.KEYED)
    unknown_state(case)
    assert case.count(ExecuteTool, C1) == 1
    case.stopped(EffectSeen.UNPROVED)
    case.all_saved()
    assert [each.call_id for each in case.executed] == [C1, C1]


# ---- a real tool that has sent its message when its time is up


async def check_sent_once(tmp_path, *, finds: bool) -> None:
    outbox = tmp_path / "outbox"
    sent = anyio.Event()
    clock = ManualClock()

    def look(arguments, context):
        """Ask the other side by the effect key."""
        there = outbox.exists() and context.effect_key in outbox.read_text()
        return executed("sent", evidence="it is in the outbox") if there else not_executed("not there", conclusive=True)

    @tool(effect="fenceable", inspect=look, timeout=120)
    async def send_report(context: ToolContext) -> str:
        """Send the report."""
        with outbox.open("a") as file:
            file.write(f"{context.effect_key}\n")
        sent.set()
        await anyio.sleep_forever()
        return "sent"

    model = ScriptedModel([Say(calls=(Ask("send_report"),)), Say("done")])
    agent = Agent(model=model, tools=[send_report], rules=ScriptedGate(), clock=clock)
    async with agent.open("s", create=True) as session:
        await session.send("go")
        await sent.wait()
        if not finds:
            outbox.write_text("")
        clock.advance(120_000)
        assert (await session.wait()).text == "done"
    result = model.requests[1][1].messages[-1].results[0]
    assert outbox.read_text() == ("s/1.1.0\n" if finds else "")
    if finds:
        assert (type(result.outcome), result.outcome.timed_out, result.content) == (Succeeded, True, "sent")
    else:
        assert "proved that the effect did not happen" in result.content


@pytest.mark.anyio
@pytest.mark.parametrize("finds", [True, False])
@pytest.mark.req("R-153", "R-157")
async def test_a_message_that_was_sent_before_the_timeout_is_found_and_not_sent_again(tmp_path, finds):
    await check_sent_once(tmp_path, finds=finds)


@pytest.mark.anyio
async def test_a_timeout_told_as_failure_by_a_real_tool_is_found_out(tmp_path, monkeypatch):
    twin = broken(instead(Executing, TimerFired, failed_plainly))
    monkeypatch.setattr("interpreters.engine.engine.reduce", twin)
    await fails_async(check_sent_once, tmp_path, finds=True)


# ---- a command that is killed at its own limit has ended, and says what that proves (docs/decisions/0102)


async def check_killed_command(tmp_path) -> None:
    command = "echo sent >> outbox; echo one line; sleep 60"
    ask = Ask("shell", {"command": command, "timeout_s": 0.3})
    model = ScriptedModel([Say(calls=(ask,)), Say("done")])
    agent = Agent(model=model, tools=[shell_tool(tmp_path)], rules=ScriptedGate())
    result = await agent.run("go")
    assert result.text == "done"
    told = model.requests[1][1].messages[-1].results[0].content
    assert (tmp_path / "outbox").read_text() == "sent\n"
    assert "what it had done by then stays done" in told
    assert "one line" in told
    assert not [word for word in ("try again", "retry", "larger", "run it again") if word in told.lower()]


@pytest.mark.anyio
@pytest.mark.req("R-153", "R-242")
async def test_a_command_that_is_killed_at_its_limit_says_that_it_may_have_acted(tmp_path):
    await check_killed_command(tmp_path)


@pytest.mark.anyio
async def test_a_command_whose_limit_reads_like_a_plain_failure_is_found_out(tmp_path, monkeypatch):
    def plain(ended, text, timed_out, *, told):
        return "timed out, try again with a larger limit"

    monkeypatch.setattr("interpreters.tools.shell._judged", plain)
    await fails_async(check_killed_command, tmp_path)
