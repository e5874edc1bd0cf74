"""Programs of every kind: what they leave behind, how they are cancelled, and that nothing they send ends the check."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpreters.check import Call, CannotStart, Fault, Rule, Scenario, Setup, Step, Verdict, run
from interpreters.check import attack as attack_with
from interpreters.check.anthropic import ANTHROPIC
from interpreters.check.model import DIALECTS
from interpreters.check.wire import Asked
from tests.check.conftest import AGENTS, QUICK

GOOD = (sys.executable, str(AGENTS / "good.py"))


def test_tools_may_come_from_the_mcp_server(attack):
    names = ("parallel-calls", "arguments-of-a-wrong-type", "denial", "lost-answer-of-a-tool", "kill-in-deed")
    report = attack("uses_mcp", *names)
    assert report.held, report.to_text()
    assert {each.verdict for each in report.outcomes} == {Verdict.HELD}
    assert all(each.record.deeds for each in report.outcomes)


def test_the_provider_may_keep_the_history(attack):
    names = ("three-rounds", "cut-call-that-parses", "disconnect", "error-then-answer", "kill-after-deed")
    report = attack("chains", *names, dialect="responses", streams=False)
    assert report.held, report.to_text()
    assert {each.verdict for each in report.outcomes} == {Verdict.HELD}


@pytest.mark.parametrize("dialect", ["chat", "responses", "anthropic"])
def test_history_may_be_compacted_once_the_context_had_overflowed(attack, dialect):
    report = attack("compacts", "overflow", dialect=dialect)
    assert report.held, report.to_text()
    assert len(report.outcomes[0].record.askings) == 3


def test_a_program_that_says_it_compacts_is_not_asked_for_a_stable_history(attack):
    assert attack("slides", "three-rounds").rules[Rule.HISTORY_STABLE] is Verdict.BROKEN
    report = attack("slides", "three-rounds", compacts=True)
    assert report.held, report.to_text()
    assert report.rules[Rule.HISTORY_STABLE] is report.rules[Rule.PROMPT_KEPT] is Verdict.NOT_APPLICABLE


def test_a_cancel_command_is_started_with_the_number_of_the_program(attack):
    stop = "import os; os.kill(int(os.environ['AGENTCORE_CHECK_PID']), 15)"
    report = attack("ignores_the_cancel", "cancel-in-tool", cancel_command=[sys.executable, "-c", stop])
    assert report.held, report.to_text()
    assert report.rules[Rule.NOT_AFTER_CANCEL] is Verdict.HELD


def test_another_dialect_than_the_one_declared_is_a_finding(attack):
    report = attack("good", "text-only", dialect="responses", env={"AGENT_DIALECT": "chat"})
    (finding,) = report.outcomes[0].findings
    assert (finding.rule, "said to speak responses" in finding.what) == (Rule.WELL_FORMED, True)


def test_whatever_a_program_starts_is_gone_when_it_is_ended(tmp_path):
    """The program hangs, and so does what it started: its whole group is ended."""
    note = tmp_path / "pid"
    source = f"sleep 60 & echo $! > {shlex.quote(str(note))}; wait"
    report = run(["sh", "-c", source], scenarios=["text-only"], patience=QUICK)
    assert report.rules[Rule.CONNECTS] is Verdict.BROKEN
    assert is_gone(int(note.read_text()))


def test_a_process_that_left_the_group_does_not_hold_up_the_check():
    """It keeps the pipe open; nobody waits for it."""
    began = time.monotonic()
    report = run(["sh", "-c", "setsid sleep 20 & exit 0"], scenarios=["text-only"], patience=QUICK)
    assert report.rules[Rule.CONNECTS] is Verdict.BROKEN
    assert time.monotonic() - began < 15


def is_gone(pid):
    """Not there, or dead and not collected by whoever inherited it."""
    give_up_at = time.monotonic() + 10
    while time.monotonic() < give_up_at:
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
    return False


def test_no_child_is_left_uncollected(attack):
    attack("good", "one-call", "kill-in-deed")
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_resume_command_that_is_nothing_is_said_as_such(attack):
    with pytest.raises(CannotStart, match="no-such-thing"):
        attack("good", "kill-in-deed", resume_command=["./no-such-thing"])


def test_a_scenario_of_ones_own_is_a_value(attack):
    mine = Scenario("mine", (Step((Call(), Call()), instead=(Fault.CUT_WHOLE,)),))
    report = attack("runs_cut_calls", mine, shrinks=True)
    (outcome,) = report.broken
    assert outcome.findings[0].rule is Rule.CUT_NOT_RUN
    assert outcome.shrunk.minimal
    assert outcome.shrunk.record.scenario.steps == (Step((Call(),), instead=(Fault.CUT_WHOLE,)),)
    assert "first cut-whole; then asks for record" in outcome.script


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_check_itself_runs_on_either_event_loop(backend):
    setup = Setup(command=GOOD, resume_command=(*GOOD, "--resume"), patience=QUICK)
    scenarios = (Scenario("mine", (Step((Call(),)),)),)
    report = anyio.run(lambda: attack_with(setup, scenarios), backend=backend)
    assert report.held, report.to_text()


def test_parts_of_one_message_and_two_messages_are_the_same_to_anthropic():
    one, two = ({"type": "text", "text": word} for word in ("first", "second"))
    joined = ANTHROPIC.read({"messages": [{"role": "user", "content": [one, two]}]})
    apart = ANTHROPIC.read({"messages": [{"role": "user", "content": "first"}, {"role": "user", "content": [two]}]})
    assert [item.text for item in joined.items] == ["first", "second"]
    assert joined.items == apart.items


KEYS = st.sampled_from(
    ["role", "content", "tool_calls", "tool_call_id", "id", "function", "name", "arguments", "type", "text", "tools"]
) | st.sampled_from(["model", "input", "call_id", "output", "tool_use_id", "max_tokens", "stream", "refusal"])
WORDS = st.sampled_from(
    ["", "user", "assistant", "tool", "system", "tool_use", "tool_result", "text", "function_call", "{}", "[", "\ud800"]
) | st.sampled_from(["function_call_output", "message", "reasoning", "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.name)
@given(messages=VALUES, body=st.dictionaries(KEYS, VALUES, max_size=5))
def test_no_request_ends_the_check_and_what_is_wrong_is_a_complaint(dialect, messages, body):
    read = dialect.read({**body, "messages": messages, "input": messages})
    assert isinstance(read, Asked)
    for item in read.items:
        assert all(isinstance(each, str) for call in item.calls for each in (call.id, call.name, call.arguments))
        assert all(isinstance(each, str) for result in item.results for each in (result.call_id, result.content))
        assert isinstance(item.text, str)
