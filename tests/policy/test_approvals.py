"""People who are asked: at a terminal, through a program, beforehand, or not at all."""

from __future__ import annotations

import json
import os

import anyio
import pytest

from agentcore.commands import AskApproval, InspectEffect
from agentcore.events import ApprovalDenied, ApprovalGranted, DenialKind, EffectResolved, Finding, Inspector, Resolution
from agentcore.messages import digest
from agentcore.policy import Effect, ToolContract
from agentcore.states import AwaitingApproval, Because, Call, EffectUnknown, Inquiry, Run, Transition
from interpreters.approvals import (
    Nobody,
    QueuedApprover,
    StandingAnswer,
    TerminalApprover,
    TerminalLines,
    terminal_approver,
)

pytestmark = pytest.mark.anyio

ARGUMENTS = '{"content":"line\\nnext","path":"a\\u001b[2J\u202eb"}'


def call(state=None, arguments=ARGUMENTS, name="write_file"):
    state = state or AwaitingApproval(Transition(Because.APPROVAL_ASKED), None)
    return Call("1.1.0", "p", name, arguments, arguments, arguments, ToolContract(name, Effect.FENCEABLE), state)


def unknown():
    transition = Transition(Because.DEADLINE_PASSED, evidence=(("deadline", "10 s"),))
    run = Run(0, 1, 5, 1_700_000_000_000, handle="job 9", observation="half done\x1b[1A")
    return call(EffectUnknown(transition, run, Inquiry(Inspector.PERSON, 1), reports=("attempt 0.0 said so",)))


def permission(arguments=ARGUMENTS, reason="no rule is about it"):
    return AskApproval("1.1.0", 0, 4, digest(arguments), reason)


INQUIRY = InspectEffect("1.1.0", 0, 2, Inspector.PERSON, (0, 1))


class Script:
    """Lines that were typed, one after the other, and everything that was shown."""

    def __init__(self, *typed):
        self._typed = iter(typed)
        self.shown = ""

    async def read(self, prompt):
        self.shown += prompt
        return next(self._typed)

    def write(self, text):
        self.shown += text


@pytest.mark.req("G-6", "R-114")
@pytest.mark.parametrize("typed", ["y", "YES", " y "])
async def test_a_yes_at_the_terminal_is_bound_to_the_arguments_that_were_shown(typed):
    event = await TerminalApprover(Script(typed), by="ann").ask("s", permission(), call())
    expected = ApprovalGranted(
        at=0, call_id="1.1.0", epoch=0, attempt=4, arguments=ARGUMENTS, digest=digest(ARGUMENTS), by="ann"
    )
    assert event == expected


async def test_tool_exact_arguments_and_digest_are_shown():
    script = Script("n")
    await TerminalApprover(script).ask("s", permission(), call())
    assert "May write_file run?" in script.shown
    assert f"SHA-256 of the arguments {digest(ARGUMENTS)}" in script.shown
    shown = "\n".join(line[4:] for line in script.shown.split("\n") if line.startswith("  | "))
    assert json.loads(shown) == json.loads(ARGUMENTS)


async def test_what_could_move_the_cursor_or_turn_the_text_is_shown_and_never_sent():
    script = Script("n")
    await TerminalApprover(script).ask("s", permission(reason="because\x1b[2J"), call(name="evil\r\x1b[1A"))
    assert not set(script.shown) & set("\x1b\r\u202e\x9b")
    assert "because\\u001b[2J" in script.shown
    assert "a\\u001b[2J\\u202eb" in script.shown
    assert "evil\\u000d\\u001b[1A" in script.shown


@pytest.mark.req("D-1")
@pytest.mark.parametrize(
    ("typed", "feedback"), [(["n"], ""), (["NO"], ""), (["", "", "use mv"], "use mv"), (["yo"], "yo")]
)
async def test_anything_but_a_yes_is_a_refusal_perhaps_with_words(typed, feedback):
    event = await TerminalApprover(Script(*typed)).ask("s", permission(), call())
    assert isinstance(event, ApprovalDenied)
    assert (event.kind, event.feedback) == (DenialKind.REFUSED, feedback)


async def test_long_arguments_are_cut_that_is_said_and_all_of_them_can_be_seen():
    arguments = json.dumps({"content": "x" * 9_000 + "THE END"}, separators=(",", ":"))
    script = Script("v", "y")
    await TerminalApprover(script).ask("s", permission(arguments), call(arguments=arguments))
    first, _, rest = script.shown.partition("[y]es")
    assert "THE END" not in first
    assert "more characters: [v]iew all" in first
    assert "THE END" in rest


@pytest.mark.req("R-114", "D-27")
async def test_a_terminal_that_was_closed_is_nobody():
    event = await TerminalApprover(Script(None)).ask("s", permission(), call())
    assert (event.kind, event.by) == (DenialKind.NOBODY, "nobody")


@pytest.mark.req("G-6")
@pytest.mark.parametrize(
    "approver", [TerminalApprover(Script("y")), QueuedApprover(), StandingAnswer(grant=True, by="f")]
)
async def test_arguments_that_are_not_those_of_the_digest_are_shown_to_nobody(approver):
    with pytest.raises(ValueError, match="nobody is asked"):
        await approver.ask("s", AskApproval("1.1.0", 0, 4, digest("{}")), call())


@pytest.mark.req("R-162", "R-155")
@pytest.mark.parametrize(
    ("typed", "resolution", "result", "retry"),
    [
        (["y", "it is there"], Resolution.EXECUTED, "it is there", False),
        (["f", "out of paper"], Resolution.FAILED, "out of paper", False),
        (["n", "y"], Resolution.NOT_EXECUTED, "", True),
        (["n", ""], Resolution.NOT_EXECUTED, "", False),
        (["n", None], Resolution.NOT_EXECUTED, "", False),
        (["", "what?", "g"], Resolution.ABANDONED, "", False),
    ],
)
async def test_a_person_says_what_became_of_an_effect(typed, resolution, result, retry):
    event = await TerminalApprover(Script(*typed), by="ann").ask_effect("s", INQUIRY, unknown())
    word = f"answer/1.1.0/{INQUIRY.epoch}.{INQUIRY.attempt}"
    assert event == EffectResolved(
        at=0, call_id="1.1.0", resolution=resolution, by="ann", result=result, retry=retry, act_id=word
    )


@pytest.mark.parametrize("typed", ["l", None])
async def test_a_person_who_cannot_say_leaves_it_open(typed):
    event = await TerminalApprover(Script(typed)).ask_effect("s", INQUIRY, unknown())
    assert (event.finding, event.epoch, event.attempt) == (Finding.UNAVAILABLE, 0, 2)


@pytest.mark.req("R-154")
async def test_what_is_known_of_the_effect_is_shown_harmlessly():
    script = Script("g")
    await TerminalApprover(script).ask_effect("s", INQUIRY, unknown())
    assert "started: 2023-11-14T22:13:20+00:00" in script.shown
    assert "handle: job 9" in script.shown
    assert "last seen: half done\\u001b[1A" in script.shown
    assert "deadline: 10 s" in script.shown
    assert "also reported: attempt 0.0 said so" in script.shown
    assert "\x1b" not in script.shown


async def test_one_question_is_asked_at_a_time():
    class Slow(Script):
        asking = 0

        async def read(self, prompt):
            self.asking += 1
            assert self.asking == 1
            await anyio.lowlevel.checkpoint()
            self.asking -= 1
            return await super().read(prompt)

    approver = TerminalApprover(Slow("n", "n"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(approver.ask, "s", permission(), call())
        tasks.start_soon(approver.ask, "s", permission(), call())


@pytest.fixture
def terminal():
    """A real terminal: what a person types into, and the end a program reads."""
    person, program = os.openpty()
    yield person, program
    os.close(person)
    os.close(program)


async def test_at_a_real_terminal_what_was_typed_before_the_question_answers_nothing(terminal):
    person, program = terminal
    os.write(person, b"y\n")
    lines = TerminalLines(program, lambda text: os.write(person, b"n\n") if "[y]es" in text else None)
    event = await TerminalApprover(lines).ask("s", permission(), call())
    assert isinstance(event, ApprovalDenied)
    assert event.feedback == ""


async def test_at_a_real_terminal_a_withdrawn_question_takes_no_line_with_it(terminal):
    person, program = terminal
    told = []
    lines = TerminalLines(program, told.append)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(TerminalApprover(lines).ask, "s", permission(), call())
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert told[-1] == "\n(no longer asked)\n"
    os.write(person, b"next\n")
    assert os.read(program, 100) == b"next\n"


async def test_at_a_real_terminal_that_hangs_up_there_is_nobody():
    person, program = os.openpty()
    lines = TerminalLines(program, lambda text: os.close(person) if "[y]es" in text else None)
    event = await TerminalApprover(lines).ask("s", permission(), call())
    os.close(program)
    assert event.kind is DenialKind.NOBODY


async def test_at_a_terminal_that_is_ended_there_is_nobody(terminal):
    person, program = terminal
    lines = TerminalLines(program, lambda text: os.write(person, b"\x04") if "[y]es" in text else None)
    event = await TerminalApprover(lines).ask("s", permission(), call())
    assert event.kind is DenialKind.NOBODY


async def test_questions_are_shown_on_standard_error(terminal, capsys):
    lines = TerminalLines(terminal[1])
    lines.write("shown\n")
    assert capsys.readouterr() == ("", "shown\n")


async def test_without_a_terminal_nobody_is_asked(monkeypatch):
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 0)
    assert isinstance(terminal_approver(), Nobody)
    monkeypatch.setattr(os, "isatty", lambda _: True)
    assert isinstance(terminal_approver(), TerminalApprover)


@pytest.mark.req("D-27")
async def test_nobody_refuses_and_gives_up_at_once():
    refused = await Nobody().ask("s", permission(), call())
    given_up = await Nobody().ask_effect("s", INQUIRY, unknown())
    assert (refused.kind, refused.by) == (DenialKind.NOBODY, "nobody")
    assert (given_up.resolution, given_up.by) == (Resolution.ABANDONED, "nobody")


@pytest.mark.parametrize(("grant", "kind"), [(True, ApprovalGranted), (False, ApprovalDenied)])
async def test_an_answer_given_beforehand_names_where_it_comes_from(grant, kind):
    approver = StandingAnswer(grant=grant, by="--yes")
    event = await approver.ask("s", permission(), call())
    assert isinstance(event, kind)
    assert event.by == "--yes"
    assert (await approver.ask_effect("s", INQUIRY, unknown())).by == "nobody"


async def ask_and(work, question=None):
    """Ask through a queue, let a program do something with the question, and return the answer."""
    approver, answers = QueuedApprover(), []

    async def asking():
        answers.append(await (question or (lambda who: who.ask("s", permission(), call())))(approver))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asking)
        work(await anext(approver))
    return answers[0]


@pytest.mark.req("R-022")
async def test_a_program_grants_a_question_it_was_handed():
    event = await ask_and(lambda question: question.grant(by="web"))
    assert (event.arguments, event.digest, event.by) == (ARGUMENTS, digest(ARGUMENTS), "web")


async def test_a_program_can_grant_other_arguments_under_their_own_digest():
    event = await ask_and(lambda question: question.grant(arguments="{}"))
    assert (event.arguments, event.digest) == ("{}", digest("{}"))


async def test_a_program_refuses_with_words():
    event = await ask_and(lambda question: question.deny("not today \ud800"))
    assert event.feedback == "not today \N{REPLACEMENT CHARACTER}"


async def test_a_program_resolves_an_effect_or_leaves_it_open():
    def about_effect(who):
        return who.ask_effect("s", INQUIRY, unknown())

    resolved = await ask_and(lambda question: question.resolve(Resolution.NOT_EXECUTED, retry=True), about_effect)
    left = await ask_and(lambda question: question.leave_open(), about_effect)
    assert (resolved.resolution, resolved.retry) == (Resolution.NOT_EXECUTED, True)
    assert left.finding is Finding.UNAVAILABLE


async def test_questions_come_one_after_the_other():
    approver, tools = QueuedApprover(), []
    async with anyio.create_task_group() as tasks:
        for name in ("first", "second"):
            tasks.start_soon(approver.ask, "s", permission(), call(name=name))
            await anyio.wait_all_tasks_blocked()
        async for question in approver:
            tools.append(question.call.name)
            assert question.deny()
            if len(tools) == 2:
                break
    assert tools == ["first", "second"]


async def test_only_the_first_answer_counts():
    taken = []

    def both(question):
        taken.extend([question.grant(), question.deny()])

    assert isinstance(await ask_and(both), ApprovalGranted)
    assert taken == [True, False]


async def test_a_withdrawn_question_is_not_handed_over_and_takes_no_answer():
    approver = QueuedApprover()
    with anyio.move_on_after(0):
        await approver.ask("s", permission(), call())
    (withdrawn,) = approver._waiting
    assert withdrawn.grant() is False
    with anyio.move_on_after(0.02) as scope:
        await anext(approver)
    assert scope.cancelled_caught
