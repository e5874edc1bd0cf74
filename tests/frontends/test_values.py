"""Views and states for programs: JSON values, whole and bounded."""

from __future__ import annotations

import json

import attrs
import pytest

from agentcore import Config, reduce, start
from agentcore.events import ModelReplied, PromptSubmitted
from agentcore.messages import Artifact, Succeeded, TextPart, Usage
from interpreters.frontends import (
    Style,
    as_value,
    event_tag,
    outcome_value,
    standing,
    transition_text,
    usage_text,
    usage_values,
)
from interpreters.frontends.feed import PROGRESS_MAX
from interpreters.support.views import (
    VIEW_NAMES,
    VIEWS,
    Lagged,
    Shown,
    StateView,
    ToolProgress,
    ToolResultView,
    TurnEnd,
    UsageView,
)


@pytest.fixture
def state():
    begun = start("s", Config(), at=0).state
    asked = reduce(begun, PromptSubmitted(at=1, message_id="m", parts=(TextPart("hi"),))).state
    usage = Usage(input_tokens=1200, output_tokens=5, cost_micros=2_500_000)
    reply = ModelReplied(at=2, request_id="1.1", epoch=0, attempt=1, parts=(TextPart("Yes."),), usage=usage)
    return reduce(asked, reply).state


def made(kind, state):
    given = {
        "text": "x",
        "outcome": Succeeded("x", artifacts=(Artifact("a", "p", "0"),)),
        "turn": 1 if kind is TurnEnd else Usage(),
        "session": Usage(),
        "state": state,
    }
    numbers = ("attempt", "seq", "missed")
    fields = [field for field in attrs.fields(kind) if field.default is attrs.NOTHING]
    return kind(**{field.name: given.get(field.name, 1 if field.name in numbers else "x") for field in fields})


@pytest.mark.parametrize("kind", [*VIEWS, Lagged], ids=lambda kind: kind.__name__)
def test_every_view_is_a_json_object_with_its_name_and_number(kind, state):
    value = json.loads(json.dumps(as_value(Shown(3, made(kind, state))), allow_nan=False))
    assert (value["view"], value["number"]) == (VIEW_NAMES[kind], 3)


def test_a_state_is_told_by_what_can_be_read_from_it(state):
    value = as_value(Shown(1, StateView(2, state)))
    assert (value["seq"], value["phase"], value["next"]["by"]) == (2, "saving", "store")
    assert "history" not in value
    assert standing(state)["status"] == "saving"


def test_an_outcome_has_its_tag_and_its_evidence():
    value = outcome_value(Succeeded("x", artifacts=(Artifact("a", "p", "0"),)))
    assert (value["outcome"], value["artifacts"]) == ("succeeded", ({"id": "a", "place": "p", "sha256": "0"},))
    assert as_value(Shown(1, ToolResultView("c", "n", Succeeded("x"))))["outcome"] == "succeeded"


def test_progress_is_bounded():
    assert len(as_value(Shown(1, ToolProgress("c", "x" * 10**6)))["text"]) == PROGRESS_MAX


def test_what_nobody_told_is_null_for_a_program_and_said_to_a_person():
    begun = start("s", Config(), at=0).state
    assert usage_values(begun)["session"]["cost_micros"] is None
    assert as_value(Shown(1, UsageView(Usage(), Usage())))["turn"]["input_tokens"] is None
    assert "not told" in usage_text(begun)


@pytest.mark.req("R-235")
def test_consumption_is_shown_in_a_table(state):
    rows = [line.split() for line in usage_text(state).split("\n")]
    assert rows[0] == ["turn", "1", "session"]
    assert rows[1] == ["input", "1,200", "1,200"]
    assert rows[-1] == ["cost", "2.5000", "2.5000"]


FIELDS = {
    "seq": 4,
    "from": "Streaming",
    "to": "RunningTools",
    "verdict": "accepted",
    "because": "calls-proposed",
    "hops": [],
    "evidence": {"calls": "1", "empty": ""},
    "calls": ["1.1.0 - -> Proposed (call-proposed)"],
    "commands": ["evaluate-policy/1.1.0/0/1"],
}


@pytest.mark.req("R-054", "R-233")
def test_a_transition_is_a_line_with_the_calls_that_moved_and_its_evidence():
    assert transition_text("ModelReplied", FIELDS, Style()).split("\n") == [
        "    4 model-replied        Streaming -> RunningTools  (calls-proposed)",
        "        call 1.1.0 - -> Proposed (call-proposed)",
        "        calls: 1",
    ]


def test_with_all_of_it_the_orders_are_named_and_nothing_is_shortened():
    fact = {"type": "model-replied", "v": 1, "at": 5, "text": "x" * 300, "usage": {"input_tokens": None}}
    short = transition_text("ModelReplied", {**FIELDS, "fact": fact}, Style())
    whole = transition_text("ModelReplied", {**FIELDS, "fact": fact}, Style(), whole=True)
    assert "x" * 300 not in short
    assert f"text = {'x' * 300}" in whole
    assert "orders evaluate-policy/1.1.0/0/1" in whole
    assert "usage" not in whole


def test_where_the_phase_stays_only_what_moved_is_shown():
    text = transition_text("PolicyAllowed", {**FIELDS, "from": "RunningTools", "hops": ["calls-released"]}, Style())
    assert text.split("\n")[0] == "    4 policy-allowed       RunningTools  (calls-released)"
    assert "calls: 1" not in text


@pytest.mark.req("R-061")
def test_a_refused_event_says_why_and_has_no_number():
    fields = {**FIELDS, "verdict": "rejected", "because": "not-expected-here", "refused": "no \x1b"}
    lines = transition_text("ToolSucceeded", fields, Style()).split("\n")
    assert lines[0].startswith("      tool-succeeded")
    assert lines[0].endswith("rejected: not-expected-here")
    assert lines[-1].strip() == "no \\u001b"


def test_a_name_that_is_no_event_stays_as_it_is():
    assert (event_tag("ToolLost"), event_tag("hook")) == ("tool-lost", "hook")
