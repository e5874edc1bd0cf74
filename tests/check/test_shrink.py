"""A failure is made short, and it is said whether it is as short as it gets."""

from __future__ import annotations

import anyio
import attrs

from interpreters.check import NAMED, Finding, Rule, generated
from interpreters.check import shrink as shrinking
from interpreters.check.record import Record
from interpreters.check.scenarios import Act, Call, Fault, Form, Ids, Kind, Scenario, Step
from interpreters.check.shrink import shrink, simpler

BIG = Scenario(
    "big",
    (
        Step((Call(), Call(form=Form.NO_JSON), Call()), ids=Ids.SAME, instead=(Fault.EMPTY, Fault.CUT)),
        Step((Call(),), labelled_stop=True),
        Step((Call(),), instead=(Fault.GARBAGE,)),
    ),
    Act(Kind.KILL, step=2),
)


PLAIN = attrs.astuple(Call())


def size(scenario):
    steps = scenario.steps
    calls = [call for step in steps for call in step.calls]
    odd = sum(value != plain for call in calls for value, plain in zip(attrs.astuple(call), PLAIN, strict=True))
    extras = sum((step.ids is not Ids.FRESH) + step.labelled_stop + len(step.instead) for step in steps)
    act = 0 if scenario.act is None else 1 + scenario.act.step
    return (len(steps) + sum(len(step.calls) for step in steps), odd + extras + act + scenario.endless)


def run(scenario, breaks):
    """Shrink a failure that is there whenever ``breaks`` says so; count the runs."""
    played = []

    async def again(shorter):
        played.append(shorter)
        found = (Finding(Rule.CUT_NOT_RUN, "cut"),) if breaks(shorter) else ()
        return Record(shorter, "m", "p"), (Finding(Rule.ENDS, "slow"), *found)

    async def work():
        return await shrink(scenario, Record(scenario, "m", "p"), (Finding(Rule.CUT_NOT_RUN, "cut"),), again)

    return anyio.run(work), played


def has_cut(scenario):
    return any(Fault.CUT in step.instead for step in scenario.steps)


def test_the_shortest_form_is_found_and_called_minimal():
    shrunk, played = run(BIG, has_cut)
    assert shrunk.minimal
    assert shrunk.record.scenario.steps == (Step((Call(),), instead=(Fault.CUT,)),)
    assert shrunk.record.scenario.act is None
    assert shrunk.runs == len(played) <= shrinking.RUNS_MAX
    assert shrunk.findings[0].rule is Rule.CUT_NOT_RUN


def test_a_failure_of_another_rule_does_not_count():
    shrunk, _ = run(BIG, lambda scenario: scenario == BIG)
    assert shrunk.record.scenario == BIG


def test_a_search_that_is_cut_short_says_so(monkeypatch):
    monkeypatch.setattr(shrinking, "RUNS_MAX", 3)
    shrunk, played = run(BIG, has_cut)
    assert (shrunk.minimal, shrunk.runs, len(played)) == (False, 3, 3)


def test_no_form_is_played_twice():
    _, played = run(BIG, lambda scenario: False)
    assert len(played) == len(set(played))


def test_every_simpler_form_is_smaller_and_can_be_played():
    pairs = [(each, whole) for whole in (*NAMED, *generated(1, 40), BIG) for each in simpler(whole)]
    for each, scenario in pairs:
        assert size(each) < size(scenario)
        assert each.act is None or each.act.step < max(1, len(each.steps))
        assert not each.endless or each.steps
