"""Views at a terminal: what is shown of each, in which order, and that nothing untrusted gets through as it is."""

from __future__ import annotations

import pytest

from agentcore import Config, Effect, ToolContract, reduce, start
from agentcore.events import (
    AbortRequested,
    AbortScope,
    DamageKind,
    ModelReplied,
    PolicyAllowed,
    PromptSubmitted,
    Recovery,
)
from agentcore.messages import (
    Abandoned,
    CancelledCall,
    DenialCase,
    DeniedCall,
    EffectSeen,
    FailedCall,
    InvalidCall,
    InvalidReason,
    NotExecuted,
    NotExecutedReason,
    Succeeded,
    TextPart,
    ToolCallPart,
    digest,
)
from interpreters.frontends import Style, Terminal, call_line, outcome_line, short_arguments
from interpreters.frontends.terminal import PROGRESS_LINES_MAX
from interpreters.support.views import (
    AgentEnd,
    Lagged,
    PartialDiscarded,
    ReasoningDelta,
    RecoveryView,
    StateView,
    TextDelta,
    ToolProgress,
    ToolResultView,
    ToolStart,
    TurnEnd,
)


class Screen:
    """Keeps what is shown."""

    def __init__(self) -> None:
        self.text = ""

    def say(self, text: str) -> None:
        self.text += text

    def note(self, line: str) -> None:
        self.text += f"{line}\n"


@pytest.fixture
def shown():
    """Show views and return the text."""
    screen = Screen()

    def show(*views, **options):
        terminal = Terminal(screen, Style(), **options)
        for view in views:
            terminal.show(view)
        return screen.text

    return show


EVIL = "a\x1b[2J\x9b\x07\u202eb\r\n"


def session(*events, effect=Effect.OPAQUE):
    state = start("s", Config(tools=(ToolContract("pay", effect),)), at=0).state
    for event in events:
        state = reduce(state, event).state
    return state


PROMPT = PromptSubmitted(at=1, message_id="m", parts=(TextPart("hi"),))
CALLS = ModelReplied(at=2, request_id="1.1", epoch=0, attempt=1, parts=(ToolCallPart("p", "pay", "{}"),))


# Calls


@pytest.mark.req("R-241")
@pytest.mark.parametrize(
    ("arguments", "short"),
    [
        ('{"path":"a.txt","lines":3}', 'path="a.txt", lines=3'),
        ("{}", ""),
        ('{"a":' + '"x' + "y" * 100 + '"}', f'a="x{"y" * 45}…"'),
        ("not json \x1b", "not json \\u001b"),
        ("[1]", "[1]"),
        ('{"a":"\\u001b[2J\\n"}', 'a="\\u001b[2J\\n"'),
    ],
)
def test_arguments_are_shortened_and_harmless(arguments, short):
    assert short_arguments(arguments) == short


def test_many_arguments_are_shortened_together():
    assert len(short_arguments('{"a":"%s","b":"%s","c":"%s","d":"%s"}' % (("x" * 60,) * 4))) == 160


def test_a_tools_name_is_harmless_too():
    assert call_line("\x1bx", "{}") == "\\u001bx()"


@pytest.mark.req("R-241", "R-242", "R-176")
@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (Succeeded("one\ntwo"), "ok: one"),
        (Succeeded("long", summary="short"), "ok: short"),
        (Succeeded(""), "ok"),
        (Succeeded("x", timed_out=True), "ok, found out afterwards: x"),
        (FailedCall("ValueError: no\nmore"), "error: ValueError: no"),
        (InvalidCall(InvalidReason.TOOL_NOT_FOUND, "no such tool"), "error, not run: no such tool"),
        (DeniedCall(DenialCase.STATIC, rule="r1", reason="never"), "refused by r1: never"),
        (DeniedCall(DenialCase.REFUSED, by="ann"), "refused by ann"),
        (NotExecuted(NotExecutedReason.USER_ABORT), "not executed: user abort"),
        (NotExecuted(NotExecutedReason.PROVED_ABSENT, "nothing there"), "not executed: nothing there"),
        (CancelledCall(EffectSeen.NONE), "cancelled: it did nothing"),
        (CancelledCall(EffectSeen.DONE), "cancelled: it had happened already"),
        (CancelledCall(EffectSeen.UNPROVED), "cancelled: it had been started, and nobody knows whether it happened"),
        (Abandoned("nobody"), "unresolved: given up by nobody; whether it happened is not known"),
    ],
)
def test_each_outcome_has_a_line_of_its_own(outcome, line):
    assert outcome_line(outcome, Style()) == line


def test_colour_tells_success_failure_and_doubt_apart_and_only_beside_the_words():
    style = Style(colour=True)
    lines = [outcome_line(each, style) for each in (Succeeded("x"), FailedCall("x"), Abandoned("x"))]
    assert [line[:5] for line in lines] == ["\033[32m", "\033[31m", "\033[33m"]
    assert [line.split("\033[0m")[1][:1] for line in lines] == [":", ":", ":"]


# Views


@pytest.mark.req("R-126", "R-241")
def test_calls_are_shown_as_they_start_and_in_the_order_in_which_they_end(shown):
    text = shown(
        ToolStart("1.1.0", "read", "{}", 1),
        ToolStart("1.1.1", "pay", '{"n":1}', 2),
        ToolResultView("1.1.1", "pay", Succeeded("paid")),
        ToolResultView("1.1.0", "read", FailedCall("gone")),
    )
    assert text.split("\n") == [
        "> read()  [1.1.0]",
        "> pay(n=1)  [1.1.1, attempt 2]",
        "< pay ok: paid  [1.1.1]",
        "< read error: gone  [1.1.0]",
        "",
    ]


def test_text_is_shown_as_it_comes_and_thinking_only_where_it_is_wanted(shown):
    deltas = (ReasoningDelta("1.1", 1, "hm "), TextDelta("1.1", 1, "He"), TextDelta("1.1", 1, "llo"))
    assert shown(*deltas) == "Hello"


def test_thinking_is_shown_where_it_is_wanted(shown):
    assert shown(ReasoningDelta("1.1", 1, "hm "), TextDelta("1.1", 1, "Hello"), thinking=True) == "hm Hello"


def test_what_was_shown_in_vain_is_withdrawn_in_words(shown):
    assert "does not count" in shown(TextDelta("1.1", 1, "Hal"), PartialDiscarded("1.1", 1))


def test_progress_is_bounded_for_each_call(shown):
    text = shown(*(ToolProgress("1.1.0", f"{number}\n\n") for number in range(100)), ToolProgress("1.1.1", "x"))
    lines = text.split("\n")
    assert len([line for line in lines if line]) == PROGRESS_LINES_MAX + 2
    assert lines[PROGRESS_LINES_MAX] == "  | …"
    assert lines[-2] == "  | x"


def test_a_hundred_megabytes_without_a_line_break_are_one_short_line(shown):
    assert len(shown(ToolProgress("1.1.0", "x" * 100_000_000))) < 200


@pytest.mark.req("R-177", "R-178")
def test_cancelling_is_said_until_it_is_confirmed_and_never_cancelled_before(shown):
    arguments = {"call_id": "1.1.0", "epoch": 0, "attempt": 1, "arguments": "{}", "digest": digest("{}")}
    running = session(PROMPT, CALLS, PolicyAllowed(at=3, **arguments), effect=Effect.PURE)
    stopping = reduce(running, AbortRequested(at=4, act_id="a", scope=AbortScope.TURN, turn=1)).state
    text = shown(StateView(1, running), StateView(2, stopping), StateView(3, stopping))
    assert text == "Cancelling; the end of pay (1.1.0) is not confirmed.\n"


@pytest.mark.req("R-097")
def test_an_end_is_explained_unless_it_is_an_answer(shown):
    aborted = reduce(session(PROMPT), AbortRequested(at=4, act_id="a", scope=AbortScope.TURN, turn=1)).state
    reason = aborted.phase.ending.reason
    assert "Cancelled, as you asked." in shown(StateView(1, aborted), TurnEnd(1, reason))


def test_a_turn_that_was_left_open_is_no_end(shown):
    assert shown(StateView(1, session(PROMPT)), TurnEnd(1, None, "left")) == ""


def test_a_resume_says_what_was_found(shown):
    found = Recovery(last_seq=4, damage=DamageKind.TORN_TAIL, place="segment:9", kept_at="aside/x")
    assert shown(RecoveryView("resumed", "resumed after event 4", found)) == (
        "resumed after event 4; damage (torn-tail) at segment:9, kept in aside/x\n"
    )
    accepted = Recovery(last_seq=4, gap_accepted_by="ann")
    assert shown(RecoveryView("resumed", "resumed", accepted)).endswith("resumed, accepted by ann\n")


def test_trouble_is_named(shown):
    text = shown(RecoveryView("storage", "disk full"), AgentEnd("storage unavailable"), AgentEnd())
    assert text == "storage: disk full\nstorage unavailable\n"


def test_missed_views_are_counted(shown):
    assert shown(Lagged(7, session(PROMPT))) == "(7 views were missed here)\n"


EVIL_VIEWS = (
    TextDelta("1.1", 1, EVIL),
    ReasoningDelta("1.1", 1, EVIL),
    ToolStart(EVIL, EVIL, EVIL, 1),
    ToolProgress("c", EVIL),
    ToolResultView(EVIL, EVIL, FailedCall(EVIL)),
    RecoveryView("model", EVIL),
    RecoveryView("resumed", EVIL, Recovery(place=EVIL, kept_at=EVIL, gap_accepted_by=EVIL)),
    AgentEnd(EVIL),
)


@pytest.mark.parametrize("view", EVIL_VIEWS, ids=lambda view: type(view).__name__)
def test_no_view_brings_a_control_character_to_the_screen(shown, view):
    text = shown(view, thinking=True)
    assert text
    assert [each for each in text if not each.isprintable() and each != "\n"] == []
