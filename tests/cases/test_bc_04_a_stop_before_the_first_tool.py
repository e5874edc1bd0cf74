"""BC-04: a run was stopped after the model had asked for tools and before the first one answered; every later message
failed, since the stored message looked complete.

A message with calls is in no history before all its results are: the batch holds it, and the stop settles the batch.
"""

from __future__ import annotations

import anyio
import attrs
import pytest

from agentcore import Effect, reduce
from agentcore.events import PolicyAllowed
from agentcore.messages import NotExecuted, NotExecutedReason
from agentcore.states import AwaitingApproval, Cancelled, Proposed, Ready, Released, StopReason
from agentcore.steps.verdicts import StopEntered
from interpreters import Agent, FileStore
from interpreters.scripted import Ask, Say, ScriptedGate, ScriptedModel, ScriptedToolBox, scripted_tool
from tests.cases.helpers_a import Case, broken, check_sendable, crash_image, fails, fails_async, shape, without
from tests.core.driver import tool


def proposed(case: Case) -> None:
    """Policy for c1 is not decided."""


def half_reviewed(case: Case) -> None:
    """c1 is allowed, c2 is not decided: nothing is released before the batch is reviewed."""
    case.allow()


def asked(case: Case) -> None:
    """A person is asked about c1."""
    case.ask()


def released(case: Case) -> None:
    """Both are allowed; their release waits for its checkpoint, and a running engine has started nothing."""
    case.allow()
    case.allow()


GAP = (proposed, half_reviewed, asked, released)


def check(moment, effect: Effect = Effect.OPAQUE, reducer=reduce) -> None:
    case = Case(tool("pay", effect), tool("mail", effect), reduce=reducer)
    case.propose("pay", "mail")
    moment(case)
    case.abort()
    assert case.state.phase.ending.reason is StopReason.USER_ABORT
    # Nothing was started, so there is nothing to wait for but the record of the end.
    assert {name.partition(" ")[0] for name in case.waits} <= {"persist-checkpoint"}
    case.all_saved()
    end = case.state.phase
    assert case.phase is Cancelled

    case.restart()
    case.all_saved()
    assert case.state.phase == end
    case.reopen()
    case.prompt("U2")
    settled = [("1.1.0", "NotExecuted"), ("1.1.1", "NotExecuted")]
    assert shape(case.sent[-1]) == ["Do it.", ("", "pay", "mail"), settled, "U2"]
    assert {result.outcome.reason for result in case.results} == {NotExecutedReason.USER_ABORT}
    assert case.executed == []
    case.answer()
    assert case.executed == []


@pytest.mark.parametrize("moment", GAP)
@pytest.mark.req("R-176", "D-7", "R-180", "R-210")
def test_a_stop_before_anything_started_ends_at_once_and_answers_every_call(moment):
    check(moment)


@pytest.mark.parametrize(
    ("moment", "state"),
    [(proposed, Proposed), (half_reviewed, Ready), (asked, AwaitingApproval), (released, Released)],
)
def test_a_stop_that_says_nothing_to_calls_which_have_not_started_is_found_out(moment, state):
    fails(check, moment, reducer=broken(without(state, StopEntered)))


def test_a_pure_call_that_has_started_is_no_such_gap():
    case = Case(tool("read", Effect.PURE))
    case.propose("read")
    case.allow()
    assert "execute-tool 1.1.0" in case.waits


# ---- with files, two processes' worth of engines, and a gate that never answers


class Undecided(ScriptedGate):
    """Rules that never come to a decision."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = anyio.Event()

    async def evaluate(self, session_id, order, call) -> PolicyAllowed:
        self.reached.set()
        await anyio.sleep_forever()
        raise AssertionError


async def check_restart(folder, image) -> None:
    box = ScriptedToolBox([scripted_tool("pay", effect=Effect.OPAQUE), scripted_tool("mail", effect=Effect.OPAQUE)])
    gate = Undecided()
    first = Agent(
        model=ScriptedModel([Say("I will.", calls=(Ask("pay"), Ask("mail")))]),
        tools=box,
        rules=gate,
        store=FileStore(folder),
    )
    async with first.open("s", create=True) as session:
        await session.send("U1")
        await gate.reached.wait()
        await session.abort()
        before = await session.wait()
        end = session.state.phase
        # The process dies here: what is on the disk now is all that the next one has.
        left = crash_image(folder, image)
    assert before.reason is StopReason.USER_ABORT

    model = ScriptedModel([Say("done")])
    second = Agent(model=model, tools=box, rules=ScriptedGate(), store=FileStore(left))
    async with second.open("s") as session:
        assert (await session.wait()).reason is StopReason.USER_ABORT
        assert session.state.phase == end
        await session.send("U2")
        assert (await session.wait()).text == "done"
    sent = model.requests[0][1].messages
    check_sendable(sent)
    settled = [("1.1.0", "NotExecuted"), ("1.1.1", "NotExecuted")]
    assert shape(sent) == ["U1", ("I will.", "pay", "mail"), settled, "U2"]
    assert box.deeds == []


@pytest.mark.anyio
@pytest.mark.req("R-176", "R-194")
async def test_the_same_over_a_restart_from_files(tmp_path):
    await check_restart(tmp_path / "store", tmp_path / "image")


@pytest.mark.anyio
async def test_an_engine_whose_stop_says_nothing_to_proposed_calls_is_found_out(tmp_path, monkeypatch):
    monkeypatch.setattr("interpreters.engine.engine.reduce", broken(without(Proposed, StopEntered)))

    async def impatient() -> None:
        # The twin never ends: that is the fault.
        with anyio.move_on_after(0.5) as limit:
            await check_restart(tmp_path / "store", tmp_path / "image")
        assert not limit.cancelled_caught, "the stop never ended"

    await fails_async(impatient)


def test_what_the_model_is_told_says_that_nothing_happened():
    case = Case(tool("pay"))
    case.propose("pay")
    case.abort()
    case.all_saved()
    assert case.result().content == "Not executed: the user stopped it before it started."
    assert isinstance(case.outcome(), NotExecuted)
    assert attrs.asdict(case.outcome())["retryable"] is True
