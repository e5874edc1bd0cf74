"""BC-26: each checkpoint repeated all earlier answers, so storage grew with the square of the number of pauses.

A batch and everything about it leaves the state in the transition that writes its results; the journal holds each event
once; a checkpoint is a sync, and snapshots are spaced so that all of them together stay linear.
"""

from __future__ import annotations

import gc
import sys
import time

import attrs
import pytest
from attrs import evolve

from agentcore import Effect, Limits
from agentcore.codec import encode_event, encode_state
from agentcore.messages import History, ToolMessage
from agentcore.steps import decide, ending
from interpreters.stores.rules import Spacing
from tests.cases.helpers_a import fails, patched
from tests.core.driver import Session, call, tool

RESULT = "x" * 20_000
LIMITS = Limits(steps=None, tool_calls=None, identical_calls=None, denials=None)


@attrs.frozen
class Measured:
    """What a run of so many rounds costs."""

    journal: int
    """Bytes of all events."""
    checkpoints: int
    """Bytes of the states at all stable boundaries, without the history."""
    snapshots: int
    """Bytes of the snapshots that a store takes of it, whole."""
    largest: int
    """The largest of those states."""
    first_ms: float
    """Mean time of an event among the first 50."""
    last_ms: float
    """Among the last 50."""


def bare(state) -> bytes:
    """A state as it is saved, without the history."""
    return encode_state(evolve(state, history=History()))


class Timed(Session):
    """A session that measures each event."""

    def __init__(self, *tools, **config) -> None:
        super().__init__(*tools, **config)
        self.times: list[float] = []
        self.bytes = 0
        self.events = 0

    def given(self, event):
        began = time.perf_counter()
        self.reduce(self.state, event)
        self.times.append((time.perf_counter() - began) * 1000)
        payload = encode_event(event)
        self.bytes += len(payload)
        self.events += 1
        return super().given(event)


def run(rounds: int) -> tuple[Timed, Measured]:
    """In each round one approval and one result of 20 kB."""
    session, spacing = Timed(tool("read", Effect.FENCEABLE), limits=LIMITS), Spacing()
    checkpoints = snapshots = largest = 0
    session.prompt()
    for number in range(rounds):
        session.reply(call("read", f"c{number}", n=number))
        session.ask()
        session.grant(by=f"person-{number}")
        session.all_saved()
        session.succeed(result=RESULT)
        session.all_saved()
        size = len(bare(session.state))
        checkpoints, largest = checkpoints + size, max(largest, size)
        spacing.appended = session.bytes - snapshots if snapshots else session.bytes
        if spacing.due:
            whole = len(encode_state(session.state))
            spacing.start_over(whole)
            snapshots += whole
    session.answer()
    first, last = (sorted(part)[len(part) // 2] for part in (session.times[:50], session.times[-50:]))
    return session, Measured(session.bytes, checkpoints, snapshots, largest, first, last)


def check_scratch(session: Timed) -> None:
    """Nothing of a turn is left in the state once it is over, and nothing of a round once it is answered."""
    state = session.state
    assert state.batch is None
    assert state.register == ()
    text = bare(state).decode()
    for gone in ("person-0", RESULT[:200], "c0", '"n":0'):
        assert gone not in text, f"{gone[:20]!r} is still in the state"


def check(rounds: int = 100) -> None:
    gc.collect()
    _, small = run(rounds)
    session, large = run(2 * rounds)
    check_scratch(session)
    assert large.journal / small.journal < 2.3
    assert large.checkpoints / small.checkpoints < 2.3
    assert large.snapshots / small.snapshots < 2.3
    assert large.largest < small.largest + 200
    assert large.last_ms <= 3 * large.first_ms + 0.5
    results = [message for message in session.history if isinstance(message, ToolMessage)]
    assert len(results) == 2 * rounds


@pytest.mark.req("R-044", "D-17", "R-187")
def test_storage_and_time_stay_linear_in_the_number_of_pauses():
    check()


def keep_what_was_answered(state):
    """Writing results as it was: what was answered stays in the state beside the history."""
    return evolve(ending.write_results(state), register=(*state.register, *state.batch.calls))


def test_a_state_that_keeps_what_was_answered_is_found_out():
    with patched((decide, "write_results", keep_what_was_answered)):
        fails(check, 10)


def test_a_snapshot_at_every_boundary_is_found_out():
    class Eager(Spacing):
        due = True

    with patched((sys.modules[__name__], "Spacing", Eager)):
        fails(check, 30)
