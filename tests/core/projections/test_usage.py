"""Five kinds of tokens, by turn and by session."""

from __future__ import annotations

import pytest

from agentcore import events as e
from agentcore.messages import Usage
from agentcore.projections import KINDS, UsageLine, usage_of
from tests.core.projections.driving import Session


@pytest.mark.req("R-235", "R-074")
def test_usage_is_told_for_the_turn_and_for_the_session():
    first = Usage(input_tokens=10, output_tokens=2, cache_read_tokens=4, reasoning_tokens=1, cost_micros=7)
    session = Session().prompt().reply("one", usage=first).all_saved()
    session.feed(e.SessionReopened(at=session.tick())).prompt("again", "m2")
    session.reply("two", usage=Usage(input_tokens=20, output_tokens=3))
    view = usage_of(session.state)
    assert (view.turn_number, view.turn, view.session) == (2, Usage(20, 3), first + Usage(20, 3))
    assert view.lines == (
        UsageLine("input", 20, 30),
        UsageLine("output", 3, 5),
        UsageLine("of the input, read from a cache", None, 4),
        UsageLine("of the input, written to a cache", None, None),
        UsageLine("of the output, thinking", None, 1),
    )
    assert len(KINDS) == 5


def test_before_the_first_turn_nothing_is_known_and_that_is_not_zero():
    view = usage_of(Session().state)
    assert (view.turn_number, [line.session for line in view.lines]) == (0, [None] * 5)
