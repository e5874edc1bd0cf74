"""Every rule catches an agent that breaks it, a correct one passes; what a program does not offer is no pass."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from interpreters.check import MEANINGS, NAMED, Rule, Verdict
from tests.check.conftest import AGENTS, attack_agent

EVERYWHERE = ("chat", "responses", "anthropic")
CHAT = ("chat",)

BROKEN = [
    (Rule.CONNECTS, "exits_at_once", "text-only", CHAT),
    (Rule.CONNECTS, "never_connects", "text-only", CHAT),
    (Rule.ENDS, "hangs", "text-only", CHAT),
    (Rule.OUTPUT_BOUNDED, "floods", "text-only", CHAT),
    (Rule.REQUESTS_BOUNDED, "never_gives_up", "rounds-for-ever", EVERYWHERE),
    (Rule.REQUESTS_BOUNDED, "never_gives_up", "empty-for-ever", CHAT),
    (Rule.WELL_FORMED, "sends_slips_back", "arguments-that-are-no-json", EVERYWHERE),
    (Rule.PROMPT_KEPT, "slides", "one-call", EVERYWHERE),
    (Rule.HISTORY_STABLE, "rewrites", "three-rounds", EVERYWHERE),
    (Rule.NOTHING_INVENTED, "keeps_half", "disconnect", EVERYWHERE),
    (Rule.ANSWERED, "drops_failures", "failing-tool", EVERYWHERE),
    (Rule.ANSWERED_ONCE, "answers_twice", "one-call", EVERYWHERE),
    (Rule.ADJACENT, "results_later", "one-call", EVERYWHERE),
    (Rule.IN_ORDER, "completion_order", "parallel-calls", EVERYWHERE),
    (Rule.RESULT_OF_ITS_CALL, "crosses", "parallel-calls", EVERYWHERE),
    (Rule.CONTINUES, "stops_after_tools", "one-call", CHAT),
    (Rule.CONTINUES, "believes_the_label", "labelled-stop", ("chat", "anthropic")),
    (Rule.GOES_ON, "forgets_the_turn", "kill-in-stream", CHAT),
    (Rule.GOES_ON, "forgets_the_turn", "kill-after-a-round", CHAT),
    (Rule.QUIET_AFTER_END, "asks_again", "text-only", EVERYWHERE),
    (Rule.QUIET_AFTER_CANCEL, "ignores_the_cancel", "cancel-in-tool", CHAT),
    (Rule.NOT_AFTER_CANCEL, "ignores_the_cancel", "cancel-in-stream", EVERYWHERE),
    (Rule.EXECUTED_ONCE, "tries_tools_again", "lost-answer-of-a-tool", CHAT),
    (Rule.EXECUTED_ONCE, "acts_before_it_writes", "kill-in-deed", CHAT),
    (Rule.CUT_NOT_RUN, "runs_cut_calls", "cut-call-that-parses", EVERYWHERE),
    (Rule.CUT_NOT_RUN, "needs_no_end", "disconnect", EVERYWHERE),
    (Rule.AS_ASKED, "guesses_arguments", "arguments-that-are-no-json", ("chat", "responses")),
    (Rule.NOT_AFTER_DENIAL, "asks_and_runs", "denial", EVERYWHERE),
]
FOLLOWS = {
    "slides": {Rule.HISTORY_STABLE, Rule.WELL_FORMED},
    "rewrites": {Rule.RESULT_OF_ITS_CALL},
    "ignores_the_cancel": {Rule.QUIET_AFTER_CANCEL, Rule.NOT_AFTER_CANCEL},
    "needs_no_end": {Rule.NOTHING_INVENTED},
}
"""What the fault of an agent breaks beside its own rule, because the one follows from the other."""
CASES = [
    pytest.param(rule, agent, scenario, dialect, id=f"{rule}-{agent}-{scenario}-{dialect}")
    for rule, agent, scenario, dialects in BROKEN
    for dialect in dialects
]


@pytest.fixture(scope="module")
def caught(request):
    """The reports of all cases that are run: most of their time is waiting, so four are attacked at a time."""
    wanted = [item.callspec.params for item in request.session.items if "caught" in item.fixturenames]
    with ThreadPoolExecutor(4) as pool:
        yield {
            (each["rule"], each["agent"], each["scenario"], each["dialect"]): pool.submit(
                attack_agent, each["agent"], each["scenario"], dialect=each["dialect"]
            )
            for each in wanted
        }


@pytest.mark.parametrize(("rule", "agent", "scenario", "dialect"), CASES)
def test_a_broken_agent_is_caught_by_the_rule_it_breaks_and_by_no_other(caught, rule, agent, scenario, dialect):
    report = caught[rule, agent, scenario, dialect].result()
    broken = {each for each, verdict in report.rules.items() if verdict is Verdict.BROKEN}
    assert rule in broken <= {rule} | FOLLOWS.get(agent, set()), report.to_text()
    assert f"broken    {rule}: " in report.to_text()


def test_every_rule_has_an_agent_that_breaks_it_and_a_meaning():
    assert {rule for rule, *_ in BROKEN} == set(Rule) == set(MEANINGS)


def test_every_broken_agent_is_used():
    kept = {"kit", "good", "uses_mcp", "chains", "compacts", "engine", "offers_nothing", "asks_nobody"}
    assert {file.stem for file in AGENTS.glob("*.py")} - kept == {agent for _, agent, *_ in BROKEN}


@pytest.mark.parametrize("dialect", EVERYWHERE)
def test_a_correct_agent_passes_everything_and_every_rule_is_asked(attack, dialect):
    report = attack("good", dialect=dialect, generated=4, jobs=8)
    assert report.held, report.to_text()
    assert set(report.rules.values()) == {Verdict.HELD}
    assert {each.verdict for each in report.outcomes} == {Verdict.HELD}


@pytest.mark.parametrize("dialect", EVERYWHERE)
def test_a_correct_agent_passes_without_streams(attack, dialect):
    names = ("three-rounds", "cut-call", "cut-call-that-parses", "disconnect", "garbage", "empty-reply", "overflow")
    report = attack("good", *names, dialect=dialect, streams=False)
    assert report.held, report.to_text()


@pytest.mark.deep
@pytest.mark.parametrize("dialect", EVERYWHERE)
def test_a_correct_agent_passes_what_is_made_from_many_seeds(attack, dialect):
    report = attack("good", *(f"generated-{number}" for number in range(1, 200)), dialect=dialect, seed=11)
    assert report.held, report.to_text()


def test_without_tools_whatever_needs_them_is_not_applicable(attack):
    report = attack("offers_nothing", "text-only", "one-call", "kill-in-deed")
    assert [each.verdict for each in report.outcomes] == [Verdict.HELD, *[Verdict.NOT_APPLICABLE] * 2]
    assert report.rules[Rule.EXECUTED_ONCE] is Verdict.NOT_APPLICABLE
    assert report.held


def test_without_anyone_to_ask_a_denial_is_not_applicable(attack):
    report = attack("asks_nobody", "denial")
    assert report.outcomes[0].verdict is Verdict.NOT_APPLICABLE
    assert report.rules[Rule.NOT_AFTER_DENIAL] is Verdict.NOT_APPLICABLE


def test_without_a_resume_command_or_a_cancel_those_scenarios_are_not_applicable(attack):
    names = [each.name for each in NAMED if each.name.startswith(("kill-", "cancel-"))]
    report = attack("good", *names, resumes=False, cancels=False)
    assert {each.verdict for each in report.outcomes} == {Verdict.NOT_APPLICABLE}
    assert all(each.record is not None and not each.record.askings for each in report.outcomes)


@pytest.mark.parametrize("agent", ["exits_at_once", "never_connects", "hangs", "floods"])
def test_a_program_that_does_not_get_through_the_probe_is_not_asked_for_more(attack, agent):
    report = attack(agent, "text-only", "one-call", "rounds-for-ever")
    assert [each.verdict for each in report.outcomes] == [Verdict.BROKEN, *[Verdict.NOT_APPLICABLE] * 2]
    assert report.seconds < 15
