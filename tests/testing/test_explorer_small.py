"""The explorer on its smallest explorations: what each option lets happen, what breaks a search, what a report says."""

from __future__ import annotations

import attrs
import pytest

from agentcore import events
from agentcore.events import DamageKind, SessionResumed
from agentcore.limits import Limits
from agentcore.messages import FinishReason, TextPart
from agentcore.policy import Config, Effect
from agentcore.reduce import Verdict, make_reduce, reduce
from agentcore.rejections import RejectionCode
from agentcore.table import TABLES
from agentcore.testing import normalise
from agentcore.testing.core import CORE, Core, core_of
from agentcore.testing.explorations import shipped
from agentcore.testing.explore import explore, explore_all
from agentcore.testing.graphs import first_circle
from agentcore.testing.laws import LAWS
from agentcore.testing.laws.base import Law
from agentcore.testing.report import everything
from agentcore.testing.scenario import parse, render, scenario_of
from agentcore.testing.script import ANSWER, Exploration, Reply, calling, tool
from agentcore.testing.search import Search
from tests.laws.twins import TWINS

SHIPPED = {exploration.name: exploration for exploration in shipped()}


class Noting:
    """A core that notes what was accepted."""

    def __init__(self):
        self.accepted = []

    def examine(self, state, event):
        judgement = CORE.examine(state, event)
        if judgement.verdict is Verdict.ACCEPTED:
            self.accepted.append(event)
        return judgement


def accepted_in(name, cap=3_000):
    """Everything that is accepted anywhere in an exploration."""
    noting = Noting()
    explore(SHIPPED[name], core=Core(examine=noting.examine), laws={}, cap=cap)
    return noting.accepted


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("talk", {events.SteeringQueued, events.FollowUpQueued, events.MessageWithdrawn, events.SessionReopened}),
        ("idle", {events.HistoryImported, events.HistoryCleared, events.ConfigChanged, events.SessionReopened}),
        ("fenceable+start+progress", {events.ToolStarted, events.ToolProgressed}),
        ("fenceable+inspection+inquiry", {events.InspectionRequested, events.EffectInspected}),
        ("overflow", {events.ContextCompacted, events.CompactionFailed}),
    ],
)
def test_what_an_option_pays_for_happens_somewhere(name, kinds):
    assert kinds <= {type(event) for event in accepted_in(name)}


def test_a_prompt_may_name_what_waits():
    named = [event.queued for event in accepted_in("talk") if isinstance(event, events.PromptSubmitted)]
    assert {len(each) for each in named} >= {0, 1}


def test_a_task_is_aborted_by_its_own_name():
    aborts = [each for each in accepted_in("fenceable+detach+abort-task") if isinstance(each, events.AbortRequested)]
    assert {(each.scope, each.call_id) for each in aborts} >= {(events.AbortScope.TASK, "1.1.0")}


def test_a_session_is_taken_up_without_its_tools_and_with_a_gap():
    bare = [event for event in accepted_in("pure-gone") if isinstance(event, SessionResumed)]
    assert {len(event.config.tools) for event in bare} == {0, 2}
    damaged = [event for event in accepted_in("fenceable+crash+damage", 300) if isinstance(event, SessionResumed)]
    assert {event.recovery.damage for event in damaged} >= {DamageKind.MIDDLE}


@pytest.mark.parametrize(
    ("name", "kind", "reached"),
    [
        ("nudges", "limits tripped", {"think_only", "empty_replies"}),
        ("rounds-identical_calls", "limits tripped", {"identical_calls"}),
        ("reviewed", "limits tripped", {"completion_refusals"}),
        ("fenceable+inspection+inquiry", "limits tripped", {"inspections"}),
        ("fenceable+start+progress", "limits tripped", {"observations"}),
        ("turn-timed", "stop reasons", {"timeout"}),
        ("prepared-unsaved", "phases", {"Preparing"}),
    ],
)
def test_a_report_says_what_was_reached(name, kind, reached):
    report = explore(SHIPPED[name], laws={}, cap=1_500)
    assert reached <= report.reached[kind]
    assert report.reached[kind] <= everything()[kind]


@pytest.mark.parametrize("name", ["exhausted", "exhausted-unsaved", "prepared-unsaved", "prepared-timed"])
def test_the_smallest_explorations_break_no_law(name):
    report = explore(SHIPPED[name])
    assert report.broken == ()
    assert not report.capped


@pytest.mark.parametrize("jobs", [1, 2])
def test_many_explorations_are_one_result_whatever_the_number_of_processes(jobs):
    names, told = ("exhausted", "exhausted-crash"), []
    result = explore_all(
        [SHIPPED[name] for name in names],
        laws=("L2", "L4"),
        jobs=jobs,
        progress=lambda report, done, total: told.append((report.name, done, total)),
    )
    assert [report.name for report in result.reports] == list(names)
    assert sorted(name for name, _, _ in told) == sorted(names)
    assert [(done, total) for _, done, total in told] == [(1, 2), (2, 2)]
    said = result.to_json()
    assert (said["complete"], said["places"]) == (True, sum(report.places for report in result.reports))
    assert [each["name"] for each in said["explorations"]] == list(names)
    assert "RunningTools" in said["unreached"]["phases"]
    assert result.broken == ()


def test_a_result_that_was_cut_short_is_not_complete():
    result = explore_all([SHIPPED["exhausted"]], laws=("L2",), jobs=1, cap=2)
    assert (result.complete, result.reports[0].capped) == (False, True)


def test_nothing_explored_leaves_everything_unreached():
    result = explore_all([], jobs=1)
    assert {kind: set(names) for kind, names in result.unreached.items()} == everything()


def test_progress_is_told_and_a_search_that_is_not_merged_has_more_places():
    told = []
    merged = explore(SHIPPED["exhausted-unsaved"], laws={}, progress=lambda *numbers: told.append(numbers))
    apart = explore(SHIPPED["exhausted-unsaved"], laws={}, merge=False)
    assert told[0][0] >= 1
    assert apart.places > merged.places
    assert apart.states == merged.states


def test_keys_that_were_forgotten_are_made_again(monkeypatch):
    whole = explore(SHIPPED["idle-unsaved"], laws={})
    monkeypatch.setattr(normalise, "_MEMO_MAX", 3)
    again = explore(SHIPPED["idle-unsaved"], laws={})
    assert (again.places, again.states, again.transitions) == (whole.places, whole.states, whole.transitions)


def test_a_reply_that_was_cut_anyway_is_not_cut_once_more():
    said = Reply((TextPart("So"),), FinishReason.LENGTH)
    config = Config(limits=Limits(truncation_reissues=0))
    never, once = (Exploration("cut", config, ((said,),), {"truncation": times}) for times in (0, 1))
    assert explore(once, laws={}).transitions == explore(never, laws={}).transitions


def test_an_exploration_refuses_an_option_that_does_not_exist():
    with pytest.raises(ValueError, match="exploration 'exhausted': no such option: flood"):
        attrs.evolve(SHIPPED["exhausted"], budget={"flood": 1})


def test_a_shortest_circle_is_found_beside_a_longer_one():
    assert first_circle([[1, 2], [3], [3], [4, 0], [0]]) == (0, 1, 3)
    assert first_circle([[1], [2], []]) == ()


# What breaks a search


def on_event(*kinds, problem="as planned"):
    """A law about one event that objects to some classes."""
    return {"L0": Law("L0", "", transition=lambda passage: problem if isinstance(passage.event, kinds) else None)}


def on_world(objects):
    """A law about the world."""
    return {"L0": Law("L0", "", world=lambda world, passage: "as planned" if objects(world, passage) else None)}


def broken_by(name, laws, core=CORE):
    """The only law that an exploration breaks, and its way."""
    (broken,) = explore(SHIPPED[name], laws=laws, core=core).broken
    return broken


def test_a_law_that_objects_to_a_resume_ends_the_search_with_the_crash():
    broken = broken_by("exhausted-crash", on_event(SessionResumed))
    assert (broken.law, broken.problem) == ("L0", "as planned")
    assert broken.way[-1].keeps is not None
    assert isinstance(broken.way[-1].event, SessionResumed)


def test_a_law_about_the_world_is_asked_after_a_resume_after_an_event_and_after_a_deed():
    resumed = broken_by("exhausted-crash", on_world(lambda _, passage: isinstance(passage.event, SessionResumed)))
    assert isinstance(resumed.way[-1].event, SessionResumed)
    assert resumed.way[-1].keeps is not None
    told = broken_by("exhausted", on_world(lambda _, passage: passage is not None))
    assert [type(step.event) for step in told.way] == [events.PromptSubmitted]
    deed = broken_by("fenceable+person+late-failure", on_world(lambda _, passage: passage is None))
    assert deed.way[-1].event is None
    assert deed.way[-1].acts == ("1.1.0", 0, 1)


def test_a_crash_is_tried_once_for_prefixes_that_are_alike():
    """Clearing an empty history changes nothing that matters: each further time costs its own tries and no resume."""

    def tried(clears):
        return explore(attrs.evolve(SHIPPED["exhausted"], budget={"clear": clears, "crash": 1}), laws={}).transitions

    assert tried(3) - tried(2) == tried(2) - tried(1) == 3


def explodes(state, event):
    """What the core makes of a step that raises."""
    if isinstance(event, events.PromptSubmitted):
        return _BROKEN.examine(state, event)
    return reduce.examine(state, event)


def _raises(*_):
    raise ZeroDivisionError


_BROKEN = make_reduce(
    attrs.evolve(
        TABLES,
        turn=tuple(
            attrs.evolve(row, step=_raises) if row.event is events.PromptSubmitted else row for row in TABLES.turn
        ),
    )
)


def test_a_defect_of_the_core_breaks_whatever_law_is_looked_at():
    broken = broken_by("exhausted", {"L4": LAWS["L4"]}, Core(examine=explodes))
    assert broken.law == "L4"
    assert broken.problem.startswith(f"{RejectionCode.CORE_DEFECT.value}: ")
    assert "    broken: core-defect" in render(scenario_of(broken, SHIPPED["exhausted"].config), Core(examine=explodes))


def test_an_event_of_the_journal_that_is_accepted_once_more_is_found_out():
    core, name = TWINS["L2"]
    broken = broken_by(name, {"L2": Law("L2", "the rest of it")}, core)
    assert broken.problem == "ToolStarted was delivered before and accepted again"


def test_a_core_is_made_of_any_reducer():
    exploration = SHIPPED["exhausted"]
    same = explore(exploration, core=core_of(make_reduce(TABLES)))
    assert same.broken == ()
    assert explore(exploration, core=core_of(_BROKEN)).broken[0].problem.startswith("core-defect")


# Scenarios


def test_a_counterexample_is_a_scenario_that_says_so():
    broken = broken_by("exhausted-crash", on_event(SessionResumed))
    scenario = scenario_of(broken, SHIPPED["exhausted-crash"].config)
    text = render(scenario, laws=on_event(SessionResumed))
    assert scenario.steps[0] == "# L0: as planned"
    assert text.count("    broken L0: as planned") == 1
    assert parse(text) == scenario


@pytest.mark.parametrize(
    "law",
    [
        Law("L0", "", state=lambda _state, _core: "as planned"),
        Law("L0", "", world=lambda _world, _passage: "as planned"),
        attrs.evolve(
            LAWS["L3"],
            name="L0",
            monitor=attrs.evolve(LAWS["L3"].monitor, step=lambda held, _: (held, "as planned")),
            transition=None,
            state=None,
            world=None,
        ),
    ],
    ids=["state", "world", "monitor"],
)
def test_a_scenario_shows_whichever_way_a_law_breaks(law):
    text = render(
        parse('session s @0\nprompt-submitted @0 message-id=m parts=[text-part("Do it.")]\n'), laws={"L0": law}
    )
    assert text.count("    broken L0: as planned") == 1


def test_a_crash_cannot_keep_what_never_was():
    scenario = parse("session s @0\n\ncrash keeps=7\nsession-resumed @5 recovery=recovery(7)\n")
    with pytest.raises(ValueError, match="a crash cannot keep 7 events: there were 0"):
        render(scenario)


def test_the_end_of_a_task_tells_what_became_of_its_deed():
    writes = tool("writes", Effect.FENCEABLE, detached=True)
    tried = Exploration("task", Config(tools=(writes,)), ((calling("writes"),), (ANSWER,)), {"detach": 1})
    search = Search(tried, laws={})
    report = search.run()
    for succeeded in (True, False):
        ended = next(
            way
            for way in map(search.way, range(report.places))
            if way and isinstance(way[-1].event, events.TaskSettled) and way[-1].event.succeeded is succeeded
        )
        text = render(parse(render(scenario_of(attrs.evolve(_NO_LAW, way=ended), report.config))))
        assert "    broken" not in text
        assert ("result=done" in text, "result=broke" in text) == (succeeded, not succeeded)


_NO_LAW = broken_by("exhausted", on_world(lambda *_: True))
