"""Counterexamples as scenario files, and states as diagrams; text of other programs means nothing in either."""

from __future__ import annotations

import json
import re

import attrs
import pytest

from agentcore.testing.examples import approval, naive_loop
from agentcore.testing.protocol import (
    LoopProtocol,
    ProtocolLaw,
    ScenarioError,
    explain,
    explore_protocol,
    protocol_of,
    protocol_scenario,
    replay,
    to_dot,
    to_json,
    to_mermaid,
)
from tests.protocol.loops import BROKEN

PAID = """\
protocol approval
    draft 1

# paid-as-approved: version 2 is paid, and approved is [1]

ask for approval
    draft 1, asked about 1

change the draft
    draft 2, asked about 1

approve
    draft 2, approval of 1 under way

deliver the approval
    draft 2, paid 2
    -> pay version 2
    broken paid-as-approved: version 2 is paid, and approved is [1]
"""


def test_a_counterexample_is_a_scenario_that_can_be_read():
    findings = explore_protocol(approval.protocol())
    assert protocol_scenario(findings.protocol, findings.broken[0]) == PAID


@pytest.mark.parametrize("law", BROKEN)
def test_every_counterexample_comes_out_as_it_is_written_when_it_is_played(law):
    protocol = protocol_of(BROKEN[law]())
    found = explore_protocol(protocol).counterexample(law)
    text = protocol_scenario(protocol, found)
    assert replay(protocol, text) == text
    assert f"# {law}: " in text
    if law not in ("dead-end", "no-way-out"):  # those are about what cannot happen
        assert f"    broken {law}: " in text


def test_only_what_stands_at_the_margin_is_read():
    stripped = "\n".join(line for line in PAID.split("\n") if line and not line.startswith(" "))
    assert replay(approval.protocol(), stripped) == PAID


def test_the_mended_protocol_plays_the_same_scenario_otherwise():
    text = replay(approval.protocol(mended=True), PAID)
    assert "broken" not in text
    assert "-> ask for approval" in text


def test_a_line_that_cannot_happen_is_named_with_what_could():
    with pytest.raises(ScenarioError, match="line 2: approve cannot happen here; what can is: change the draft; ask"):
        replay(approval.protocol(), "protocol approval\napprove\n")


def test_two_events_that_look_alike_are_refused():
    protocol = LoopProtocol(0, lambda state: [1, 1.0], lambda state, event: (state, []), show_event=lambda event: "one")
    with pytest.raises(ScenarioError, match="line 1: 2 events are shown as one"):
        replay(protocol, "one\n")


def test_what_was_refused_ignored_or_raised_is_written():
    def reduce(state, event):
        if event == "no":
            raise PermissionError("not you")
        if event == "bad":
            raise ZeroDivisionError
        return state, []

    protocol = LoopProtocol("s", lambda state: ("no", "yes", "bad"), reduce, refusals=(PermissionError,))
    text = replay(protocol, "protocol x\nno\nyes\nbad\n")
    assert [line.strip() for line in text.split("\n") if line.startswith("    ")] == [
        "s",
        "refused: not you",
        "ignored",
        "ignored",
        "broken reduce-returns: reduce raised ZeroDivisionError",
    ]


def test_the_way_round_a_circle_is_written_behind_the_way_to_it():
    protocol = attrs.evolve(approval.protocol(mended=True), progress=lambda transition: False)
    found = explore_protocol(protocol).counterexample("livelock")
    text = protocol_scenario(protocol, found)
    assert text.index("# Round and round:") < text.index("ask for approval") < text.index("lose the question")
    assert replay(protocol, text) == text


def test_laws_that_are_broken_by_the_same_way_share_it():
    text = explain(explore_protocol(naive_loop.protocol()))
    assert text.count("protocol naive-loop") == 3
    assert text.count("# duplicate-result") == text.count("# two-results") == 1
    assert text.startswith("naive-loop: 24 states, 107 transitions")


HOSTILE = [
    "# remark",
    "    broken law: not",
    "",
    "-> pay",
    "protocol x",
    'a"]; x',
    "a\nb\x1b[31m",
    "\u2028\u202e",
    "\\n",
]


def hostile(law=()):
    """A protocol whose states, events and commands are texts that try to mean something."""
    step = lambda state, event: (event, [event])  # noqa: E731 - one line says it all
    return LoopProtocol("start", lambda state: HOSTILE if state == "start" else (), step, law, name="x\ny")


def test_hostile_text_is_read_back_and_stands_where_it_belongs():
    for event in HOSTILE:
        law = ProtocolLaw("here", state=lambda state, event=event: "it is here\n-> no" if state == event else None)
        protocol = hostile((law,))
        findings = explore_protocol(protocol)
        text = protocol_scenario(protocol, findings.counterexample("here"))
        assert replay(protocol, text) == text
        lines = text.split("\n")
        assert len([line for line in lines if line and not line.startswith("    ")]) == 3
        assert len([line for line in lines if line.startswith("    ->")]) == 1
        assert len([line for line in lines if line.startswith("    broken")]) == 1
        assert all(line.isprintable() for line in lines)


def test_a_mermaid_diagram_has_a_line_for_each_state_and_arrow_and_nothing_else():
    text = to_mermaid(explore_protocol(hostile()))
    state, arrow, ends = r'    state "[^"]*" as s\d+', r"    s\d+ --> s\d+: [\w .,()#;/-]*", r"    \[\*\] --> s0"
    lines = text.rstrip("\n").split("\n")
    assert lines[0] == "stateDiagram-v2"
    assert [line for line in lines[1:] if not re.fullmatch(f"{state}|{arrow}|{ends}", line)] == []
    assert len(lines) == 1 + len(HOSTILE) + 1 + 1 + len(HOSTILE)


def test_a_dot_graph_quotes_what_it_is_given():
    text = to_dot(explore_protocol(hostile()))
    quoted = r'"(?:[^"\\\n]|\\.)*"'
    line = rf"    s\d+ \[label={quoted}, peripheries=\d\];|    s\d+ -> s\d+ \[label={quoted}\];"
    lines = text.rstrip("\n").split("\n")
    assert re.fullmatch(rf"digraph {quoted} {{", lines[0])
    assert [each for each in lines[3:-1] if not re.fullmatch(line, each)] == []


def test_accepting_states_and_what_was_left_out_are_shown():
    findings = explore_protocol(approval.protocol(mended=True))
    assert "--> [*]" in to_mermaid(findings)
    assert "peripheries=2" in to_dot(findings)
    more = findings.states - 5
    assert f"    %% {more} more states are left out" in to_mermaid(findings, most=5)
    assert f"    // {more} more states are left out" in to_dot(findings, most=5)


def test_json_has_the_report_and_the_whole_graph():
    findings = explore_protocol(naive_loop.protocol())
    told = json.loads(to_json(findings))
    assert len(told["graph"]["states"]) == findings.states == told["states"]
    assert {"law": "orphan-result", "steps": ["result a0"]}.items() <= told["broken"][1].items()
    assert {"from": 0, "to": 1, "event": "prompt", "commands": ["ask"], "refused": None, "progress": False} in (
        told["graph"]["edges"]
    )
