"""The trace of one real run that is kept: each transition has one event and its evidence, and is what the core says.

It is made anew with::

    agentcore demo --model smollm2 --dir room
    agentcore log demo --sessions room/sessions --json > docs/examples/smollm2-trace.ndjson
"""

from __future__ import annotations

import json
import re

import pytest

from agentcore.codec import decode_event
from agentcore.commands import tag_of
from agentcore.events import EVENTS
from interpreters.cli.reading import transitions
from interpreters.frontends import event_tag
from interpreters.support.ports_store import Loaded, Recovery
from tests.meta.tree import ROOT

TRACE = ROOT / "docs/examples/smollm2-trace.ndjson"


@pytest.fixture(scope="module")
def trace():
    header, *lines = [json.loads(line) for line in TRACE.read_bytes().split(b"\n") if line]
    assert header.pop("log") == "header"
    return header, lines


@pytest.mark.req("R-230")
def test_each_transition_names_exactly_one_event_and_its_evidence(trace):
    _, lines = trace
    tags = {tag_of(kind) for kind in EVENTS}
    assert [line["log"] for line in lines] == ["transition"] * len(lines)
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    for line in lines:
        assert line["event"] in tags
        assert line["fact"]["type"] == line["event"]
        assert decode_event(json.dumps(line["fact"]).encode()).at == line["at"]
        names = set(line["fact"]) - {"type", "v", "at"}
        assert names, f"event {line['seq']} says nothing but that it happened"


@pytest.mark.req("R-054", "R-213")
def test_the_core_makes_the_same_transitions_of_the_same_events(trace):
    header, lines = trace
    events = tuple((line["seq"], json.dumps(line["fact"]).encode()) for line in lines)
    loaded = Loaded(header["session_id"], json.dumps(header).encode(), None, events, Recovery(len(events)))
    again = [{"log": "transition", "event": event_tag(event)} | fields for event, fields in transitions(loaded)]
    assert json.loads(json.dumps(again)) == lines


def test_the_run_was_killed_after_its_deed_and_the_deed_was_found(trace):
    _, lines = trace
    events = [line["event"] for line in lines]
    resumed = events.index("session-resumed")
    assert "tool-succeeded" not in events
    assert "effect-inspected" in events[resumed:]
    assert lines[resumed]["calls"] == ["1.1.0 Executing -> EffectUnknown (session-resumed)"]
    assert lines[-1]["to"] == "Completed"


def test_nothing_in_it_tells_of_the_machine_it_was_made_on():
    assert re.findall(r"(?<![\w.<])/(?:\w+/)+\w+|site-packages|\.gguf", TRACE.read_text(encoding="utf-8")) == []
