"""What a context transform may do."""

from __future__ import annotations

import pytest

from agentcore.messages import (
    AssistantMessage,
    MessageSource,
    Succeeded,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agentcore.states import Window
from interpreters.engine.context import ContextRefused, Sent, check_transformed


def user(name, words="words"):
    return UserMessage(name, MessageSource.PROMPT, (TextPart(words),))


def asks(*ids):
    return AssistantMessage("1.1", 0, 1, tuple(ToolCallPart(name, "t", "{}") for name in ids))


def answers(*ids):
    return ToolMessage(
        "1.1", tuple(ToolResult(f"1.1.{n}", name, "t", "ok", Succeeded("ok")) for n, name in enumerate(ids))
    )


HISTORY = (user("a"), asks("p", "q"), answers("p", "q"), user("b"))
MORE = (*HISTORY, user("c"))


def check(original, transformed, last=None, window=None):
    return check_transformed(tuple(original), tuple(transformed), window or Window(), last or Sent())


@pytest.mark.req("R-020")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (HISTORY, MORE),
        ((*HISTORY, user("r1")), (*MORE, user("r2"))),
        (tuple(user(each.message_id, "x") if isinstance(each, UserMessage) else each for each in HISTORY),) * 2,
        ((user("s"), *HISTORY), (user("s"), *MORE)),
    ],
    ids=["unchanged", "reminder behind", "rewritten the same way", "the same preface each time"],
)
def test_a_transform_that_sends_again_what_was_sent_is_fine(first, second):
    sent = check(HISTORY, first)
    check(MORE, second, sent)


@pytest.mark.req("R-020")
@pytest.mark.parametrize(
    "second",
    [
        (user("new"), *MORE),
        (user("a", "other"), *MORE[1:]),
        MORE[3:],
        (*HISTORY[:3], user("between"), *MORE[3:]),
    ],
    ids=["put before", "rewritten", "left out", "put between"],
)
def test_a_transform_that_changes_what_was_sent_is_refused(second):
    sent = check(HISTORY, HISTORY)
    with pytest.raises(ContextRefused, match="cached prefix"):
        check(MORE, second, sent)


def test_another_window_is_another_prefix():
    sent = check(HISTORY, HISTORY)
    check(MORE[4:], MORE[4:], sent, Window(start=4))


@pytest.mark.parametrize(
    "broken",
    [
        (user("a"), asks("p", "q"), user("b")),
        (user("a"), asks("p", "q"), answers("p"), user("b")),
        (user("a"), asks("p", "q"), answers("p", "p"), user("b")),
        (user("a"), asks("p", "q")),
        (user("a"), answers("p")),
        (answers("p"),),
        (user("a"), asks("p"), user("b"), answers("p")),
        (user("a"), "no message"),
    ],
)
def test_a_transform_that_breaks_the_ledger_is_refused(broken):
    with pytest.raises(ContextRefused):
        check(HISTORY, broken)


def test_nothing_to_send_is_no_prefix():
    assert check((), ()).messages == ()
