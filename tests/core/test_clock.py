"""The turn's clock: it stops while only people are waited for, keeps what was left, and moves by the dead time."""

from __future__ import annotations

import pytest

from agentcore import Effect, Limits, Policy, Verdict
from agentcore.events import AbortScope, Finding, SteeringQueued, TimerFired
from agentcore.messages import TextPart
from agentcore.states import AwaitingModel, Exhausted, StopReason
from tests.core.driver import Session, tool

HOUR = 3_600_000


def session_with(*, count_waiting=False, turn_ms=1_000, **fields):
    return Session(
        tool(**fields),
        tool("read", Effect.PURE),
        tool("pay", Effect.OPAQUE),
        limits=Limits(turn_ms=turn_ms),
        policy=Policy(count_waiting=count_waiting),
    )


def runs(session):
    return "start-timer turn/1" in session.waits


@pytest.mark.req("D-27", "D-26", "R-103")
class TestWaitingForAPerson:
    def test_stops_the_clock_and_keeps_what_was_left(self):
        session = session_with()
        session.propose("write")
        session.wait(400)
        session.ask()
        assert not runs(session)
        left = session.state.turn.left_ms
        assert left == 1_000 - (session.now - session.state.turn.started_at)
        session.wait(HOUR)
        session.grant()
        assert runs(session)
        assert session.state.turn.due_at == session.now + left

    def test_starts_it_again_under_a_new_key(self):
        session = session_with()
        session.propose("write", "write")
        session.ask()
        session.grant()
        session.ask()
        session.grant()
        assert session.state.turn.clocks == 3
        stale = session.tried(TimerFired, timer_id="turn/1", epoch=0, attempt=1)
        assert (stale.verdict, stale.reason) == (Verdict.IGNORED, "nobody-waits")

    def test_of_an_inspection_stops_it_too(self):
        session = session_with()
        session.execute("pay")
        session.lose()
        assert not runs(session)
        session.wait(HOUR)
        session.inspected(Finding.EXECUTED)
        assert session.phase is AwaitingModel
        assert runs(session)

    def test_while_something_else_runs_does_not_stop_it(self):
        session = session_with()
        session.execute("pay", "read")
        session.lose("1.1.0")
        assert runs(session)
        session.succeed("1.1.1")
        assert not runs(session)

    def test_while_a_pause_runs_does_not_stop_it(self):
        session = session_with()
        session.execute("pay")
        session.lose()
        session.inspected(Finding.UNAVAILABLE)
        assert runs(session)

    def test_does_not_stop_it_for_an_inspection_by_a_program(self):
        session = session_with()
        session.execute("write")
        session.lose()
        assert runs(session)

    def test_counts_where_the_host_says_so(self):
        session = session_with(count_waiting=True)
        session.propose("write")
        session.ask()
        assert runs(session)
        session.fire("turn/1")
        session.all_saved()
        assert session.phase is Exhausted
        assert session.stop is StopReason.TIMEOUT

    def test_has_an_expiry_of_its_own(self):
        session = Session(tool(), limits=Limits(turn_ms=1_000, approval_ms=5_000))
        session.propose("write")
        session.ask()
        assert session.waits[-2:] == ("ask-approval 1.1.0", "start-timer expiry/1.1.0")
        session.fire("expiry/1.1.0")
        assert session.phase is AwaitingModel
        assert runs(session)

    def test_after_the_time_was_used_up_leaves_none(self):
        session = session_with(turn_ms=10)
        session.propose("write")
        session.ask()
        session.wait(HOUR)
        session.grant()
        session.now = session.state.turn.due_at
        session.give(SteeringQueued, message_id="m", parts=(TextPart("x"),))
        assert session.stop is StopReason.TIMEOUT

    def test_of_a_session_without_a_limit_has_no_clock(self):
        session = session_with(turn_ms=None)
        session.propose("write")
        session.ask()
        assert (session.state.turn.due_at, session.state.turn.left_ms) == (None, None)

    def test_that_an_abort_ends_leaves_no_clock(self):
        session = session_with()
        session.propose("write")
        session.ask()
        session.abort(AbortScope.TURN)
        assert (session.state.turn.due_at, session.state.turn.left_ms) == (None, None)


@pytest.mark.req("D-27")
class TestDeadTime:
    def test_moves_the_due_time(self):
        session = session_with()
        session.prompt()
        due = session.state.turn.due_at
        session.resume(dead_ms=HOUR)
        assert session.state.turn.due_at == due + HOUR + 1
        assert session.phase is AwaitingModel

    def test_leaves_what_was_left_of_a_stopped_clock(self):
        session = session_with()
        session.propose("write")
        session.ask()
        left = session.state.turn.left_ms
        session.resume(dead_ms=HOUR)
        session.ask()
        assert session.state.turn.left_ms == pytest.approx(left, abs=2)

    def test_does_not_move_when_an_attempt_could_first_act(self):
        session = session_with()
        session.execute("write")
        covered = session.call().state.run.covered_at
        session.resume(dead_ms=HOUR)
        assert session.call().state.run.covered_at == covered


class TestTimers:
    @pytest.mark.req("D-26")
    @pytest.mark.parametrize(
        "timer_id",
        [
            "turn/1",
            "model/1.1",
            "retry/1.1",
            "grace/1.1",
            "checkpoint",
            "deadline/1.1.0",
            "grace/1.1.0",
            "expiry/1.1.0",
            "inquiry/1.1.0",
            "nonsense",
            "",
        ],
    )
    def test_that_nobody_waits_for_are_ignored(self, timer_id):
        session = Session(tool())
        judged = session.tried(TimerFired, timer_id=timer_id, epoch=0, attempt=1)
        assert (judged.verdict, judged.reason) == (Verdict.IGNORED, "nobody-waits")

    def test_of_an_earlier_epoch_are_ignored(self):
        session = session_with()
        session.prompt()
        session.resume()
        judged = session.tried(TimerFired, timer_id="turn/1", epoch=0, attempt=1)
        assert judged.verdict is Verdict.IGNORED

    def test_time_never_falls(self):
        session = Session()
        session.prompt()
        before = session.state.at
        session.given(SteeringQueued(at=-100, message_id="m", parts=()))
        assert session.state.at == before
