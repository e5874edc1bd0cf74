"""BC-40: a request hung after a result of several megabytes; Stop did nothing, and a sweeper took the agent away.

A result is bounded before it is stored, says how much was cut and where the whole is. Every request has a deadline,
every cancel a grace; whether a session is idle is asked of its state, never of its traffic.
"""

from __future__ import annotations

import anyio
import pytest

from agentcore import Limits
from agentcore.projections import UiStatus, ui_status
from agentcore.states import Cancelled, StopReason
from interpreters import Agent, FileStore, ManualClock, tool
from interpreters.scripted import Ask, Say, ScriptedGate, ScriptedModel, Stall
from interpreters.support.bounded import Cut
from interpreters.tools import toolbox
from tests.cases.helpers_a import fails_async, patched
from tests.cases.helpers_b import lines_of, until

pytestmark = pytest.mark.anyio
LIMIT, SIZE = toolbox.OUTPUT_MAX, 5_000_000
HUGE = "beginning " + "x" * (SIZE - 20) + "  the end."
MODEL_MS, GRACE_MS = 60_000, 5_000


async def check(tmp_path, *, cancels: bool = False, retries: int = 0, limits: Limits | None = None) -> None:
    @tool(effect="pure")
    async def dump() -> str:
        """Dump."""
        return HUGE

    clock, store = ManualClock(), FileStore(tmp_path)
    hung = [Stall("", confirms=False, opens=False)] * (retries + 1)
    model = ScriptedModel([Say(calls=(Ask("dump"),)), *hung, Say("fine")])
    limits = limits or Limits(model_ms=MODEL_MS, grace_ms=GRACE_MS, model_retries=retries, retry_jitter_ms=0)
    agent = Agent(model=model, tools=[dump], rules=ScriptedGate(), store=store, clock=clock, limits=limits)
    async with agent.open("s", create=True) as session:
        views = session.views(0)
        await session.send("go")
        await until(session, clock, lambda _: len(model.requests) == 2, step_ms=0, steps=5)
        check_bounded(tmp_path, session.state.history[2].results[0].content)
        # 4: not idle, whatever the traffic.
        assert session.state.open
        assert ui_status(session.state).ui is UiStatus.THINKING
        if cancels:
            # 3: no answer of the provider is needed.
            await session.abort()
            assert ui_status(session.state).ui is not UiStatus.THINKING
            await until(session, clock, lambda state: not state.open, step_ms=GRACE_MS, steps=3)
            assert isinstance(session.state.phase, Cancelled)
        else:
            # 2: the deadline, then bounded retries, then the end.
            await until(session, clock, lambda state: not state.open, step_ms=MODEL_MS, steps=8)
            assert session.state.phase.ending.reason is StopReason.MODEL_ERROR
            assert len(model.requests) == 2 + retries
        seen = []
        async for each in views:
            seen.append(each.name)
            if each.name == "agent_end":
                break
        assert (seen.count("turn_end"), seen.count("agent_end")) == (1, 1)
        assert ui_status(session.state).ui not in (UiStatus.THINKING, UiStatus.ANSWERING)
        # 5: the next submit is taken.
        await session.send("U2")
        await until(session, clock, lambda state: not state.open, step_ms=0)
        assert session.result.text == "fine"


def check_bounded(folder, content: str) -> None:
    """1: bounded, with what was cut and where the whole is; the lines of the log are bounded too."""
    assert len(content) < LIMIT + 500
    assert content.startswith("beginning ")
    assert content.rstrip().endswith("the end.")
    assert f"{SIZE - LIMIT} characters left out" in content
    assert max(len(line) for line in lines_of(folder / "s")) < 3 * LIMIT
    kept = sorted((folder / "s" / "kept").iterdir())
    assert "".join(path.read_text() for path in kept) == HUGE, "the whole is not kept"
    assert kept[0].name in content


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.req("G-13", "G-11", "R-141", "R-143", "R-185", "R-100")
async def test_a_request_that_hangs_behind_a_huge_result_ends_at_its_deadline(tmp_path, retries):
    await check(tmp_path, retries=retries)


@pytest.mark.req("D-7", "R-175", "R-177", "R-180")
async def test_a_cancel_needs_no_answer_of_the_provider(tmp_path):
    await check(tmp_path, cancels=True)


async def test_a_result_that_is_not_bounded_is_found_out(tmp_path):
    with patched((toolbox, "bounded", lambda text, *_: Cut(text, 0))):
        await fails_async(check, tmp_path)


@pytest.mark.parametrize("cancels", [False, True])
async def test_a_wait_without_an_end_is_found_out(tmp_path, cancels):
    endless = Limits(model_ms=None, grace_ms=10**9, model_retries=0, retry_jitter_ms=0)
    with anyio.fail_after(20):
        await fails_async(check, tmp_path, cancels=cancels, limits=endless)
