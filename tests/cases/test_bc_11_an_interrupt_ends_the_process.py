"""BC-11: the turn was shown as interrupted while the shell process went on, writing files and holding ports.

An abort is a request. Until the attempt confirms its end the turn is stopping and says so; without a confirmation the
effect is unknown and looked into. A second act is the person's word that they will not wait (docs/decisions/0103).
"""

from __future__ import annotations

import socket
import sys

import pytest

from agentcore import Effect, Verdict, reduce
from agentcore.commands import CancelTool, InspectEffect, RequestModel
from agentcore.events import AbortRequested, AbortScope, Finding, PromptSubmitted, ToolCancelled
from agentcore.messages import Abandoned, CancelledCall, EffectSeen, TextPart
from agentcore.projections import UiStatus, ui_status
from agentcore.rejections import RejectionCode
from agentcore.states import Because, Cancelled, Executing, Settled, StopReason
from agentcore.steps.calls.moves import settle
from agentcore.steps.verdicts import StopEntered
from interpreters import Agent, shell_tool
from interpreters.scripted import Ask, Say, ScriptedGate, ScriptedModel
from tests.cases.helpers_a import Case, broken, fails, fails_async, instead, unknown_state
from tests.core.driver import tool

C1 = "1.1.0"


def ended(case: Case) -> None:
    """5a: it has ended."""
    case.stopped(EffectSeen.NONE)
    case.all_saved()
    assert (case.phase, case.outcome()) == (Cancelled, CancelledCall(EffectSeen.NONE))


def silent(case: Case) -> None:
    """5b: the deadline of the confirmation passes."""
    case.fire(f"grace/{C1}")
    _unknown_until_ended(case)


def still_running(case: Case) -> None:
    """5c: whoever looks finds it still running: it is told to stop again."""
    case.fire(f"grace/{C1}")
    orders = case.count(CancelTool)
    case.inspected(Finding.STILL_RUNNING, result="pid 7 is alive")
    assert case.count(CancelTool) == orders + 1
    _unknown_until_ended(case)


def _unknown_until_ended(case: Case) -> None:
    """Neither silence nor a sign of life cancels anything; only a report of the end does."""
    run = unknown_state(case).run
    assert [each for each in case.waits if each in (f"inspect-effect {C1}", f"start-timer inquiry/{C1}")]
    assert ui_status(case.state).ui in (UiStatus.CANCELLING, UiStatus.WAITING_FOR_PERSON)
    case.give(ToolCancelled, call_id=C1, epoch=run.epoch, attempt=run.attempt, effect=EffectSeen.NONE)
    case.all_saved()
    assert (case.phase, case.outcome()) == (Cancelled, CancelledCall(EffectSeen.NONE))


def check(way, effect: Effect, reducer=reduce) -> None:
    case = Case(tool("run", effect), reduce=reducer)
    case.execute("run")
    case.started()
    # 1: told once, and still outstanding.
    case.abort(act_id="esc")
    assert case.count(CancelTool) == 1
    assert case.calls == {C1: "CancellationRequested"}
    # 2: what is shown.
    assert ui_status(case.state).ui is UiStatus.CANCELLING
    assert "not confirmed" in ui_status(case.state).text
    assert ui_status(case.state).unresolved == (C1,)
    # 3: the same act again, however often.
    for _ in range(3):
        again = AbortRequested(at=case.now + 1, act_id="esc", scope=AbortScope.TURN, turn=1)
        assert case.quietly(again).verdict is Verdict.IGNORED
    assert case.count(CancelTool) == 1
    # 4: nothing new begins beside it.
    refused = case.quietly(PromptSubmitted(at=case.now + 1, message_id="u2", parts=(TextPart("U2"),)))
    assert refused.rejection.code is RejectionCode.TURN_IN_PROGRESS
    case.follow_up("U2", "u2")
    assert case.count(RequestModel) == 1
    # 5.
    way(case)
    assert case.count(RequestModel) == 1
    assert [each.message_id for each in case.state.queues.follow_ups] == ["u2"]


@pytest.mark.parametrize("way", [ended, silent, still_running])
@pytest.mark.parametrize("effect", [Effect.OPAQUE, Effect.FENCEABLE, Effect.INSPECTABLE])
@pytest.mark.req("R-177", "R-178", "R-206", "R-238", "D-7", "D-9", "R-239")
def test_an_interrupt_is_over_only_when_its_end_is_confirmed(way, effect):
    check(way, effect)


def believed(state, call, event):
    """The row as it was: the interrupt ends the wait, and with it, one hopes, the process."""
    return settle(call, CancelledCall(EffectSeen.NONE), Because.TURN_STOPPING)


TWIN = broken(instead(Executing, StopEntered, believed, to=(Settled,)))


def test_an_interrupt_that_only_ends_the_wait_is_found_out():
    fails(check, ended, Effect.OPAQUE, TWIN)


@pytest.mark.parametrize("effect", [effect for effect in Effect if effect is not Effect.PURE])
@pytest.mark.req("D-7", "R-208")
def test_a_second_act_gives_the_prompt_back_and_leaves_the_effect_open(effect):
    case = Case(tool("run", effect))
    case.execute("run")
    case.abort()
    case.abort()
    case.all_saved()
    assert (case.phase, case.count(CancelTool)) == (Cancelled, 1)
    assert case.outcome() == Abandoned("user")
    # No false green: the end is shown with what is not settled, and that can be looked into.
    assert ui_status(case.state).ui is UiStatus.UNRESOLVED
    case.inspect(C1)
    assert [each.call_id for each in case.work if isinstance(each, InspectEffect)] == [C1]


# ---- a real process that holds a port


HOLDER = """
import signal, socket, sys, time
if sys.argv[1] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
listener = socket.create_server(("127.0.0.1", 0))
print("port", listener.getsockname()[1], flush=True)
while True:
    time.sleep(60)
"""


async def port_of(views) -> int:
    """Wait until the process says where it listens."""
    async for shown in views:
        if shown.name == "tool_progress" and shown.view.text.startswith("port "):
            return int(shown.view.text.split()[1])
    raise AssertionError("it never listened")


async def check_port(folder, manner: str) -> None:
    (folder / "holder.py").write_text(HOLDER)
    # In the background of the shell, too: what is to end is the whole group.
    command = f"{sys.executable} holder.py {manner} & wait"
    model = ScriptedModel([Say(calls=(Ask("shell", {"command": command}),))])
    async with Agent(model=model, tools=[shell_tool(folder)], rules=ScriptedGate()).open() as session:
        views = session.views()
        await session.send("go")
        port = await port_of(views)
        socket.create_connection(("127.0.0.1", port)).close()
        views = session.views()
        await session.abort()
        async for shown in views:
            if shown.name == "state":
                assert ui_status(shown.view.state).ui is not UiStatus.IDLE
            if shown.name == "turn_end":
                break
        assert shown.view.reason is StopReason.USER_ABORT
        assert not _listens(port), "shown as over, and the port is still held"


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.mark.anyio
@pytest.mark.parametrize("manner", ["obedient", "stubborn"])
@pytest.mark.req("R-177", "R-070")
async def test_a_process_that_holds_a_port_is_gone_when_the_turn_is_shown_as_over(tmp_path, manner, monkeypatch):
    monkeypatch.setattr("interpreters.tools.shell._GRACE_S", 0.1)
    await check_port(tmp_path, manner)


@pytest.mark.anyio
async def test_a_turn_that_is_over_before_its_process_is_found_out(tmp_path, monkeypatch):
    monkeypatch.setattr("interpreters.tools.shell._GRACE_S", 0.1)
    monkeypatch.setattr("interpreters.engine.engine.reduce", TWIN)
    await fails_async(check_port, tmp_path, "stubborn")
