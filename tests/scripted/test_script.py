"""Scripts as data: what is right is read, what is wrong is told with its place."""

from __future__ import annotations

import json

import pytest

from agentcore.events import ModelFailure
from agentcore.messages import Artifact, EffectSeen, FinishReason, Usage
from interpreters.scripted import (
    Ask,
    Break,
    Detach,
    Fail,
    Hang,
    Lose,
    Say,
    ScriptError,
    Stall,
    Succeed,
    read_script,
)

DATA = """[
  {"do": "say", "text": "hi", "reasoning": "mm", "finish": "length", "usage": {"input_tokens": 5, "output_tokens": 2},
   "calls": [{"tool": "read", "arguments": {"path": "a"}}, {"tool": "now", "arguments": "{", "id": "x"}]},
  {"do": "break", "message": "slow", "kind": "retryable", "code": "rate-limited", "status": 429, "retry_after_ms": 5},
  {"do": "stall", "text": "half", "opens": false, "confirms": false},
  {"do": "succeed", "result": "3", "artifacts": [{"id": "a", "place": "p", "sha256": "s"}], "after": ["b", "c"]},
  {"do": "fail", "error": "no", "fatal": true},
  {"do": "lose", "cause": "timeout", "did": false},
  {"do": "hang", "effect": "unproved", "confirms": false},
  {"do": "detach", "handle": "h", "then": {"do": "lose", "did": true}},
  {"do": "say"}
]"""


def test_every_kind_of_reply_and_act_can_be_data():
    assert read_script(json.loads(DATA)) == (
        Say(
            "hi",
            "mm",
            (Ask("read", {"path": "a"}), Ask("now", "{", "x")),
            FinishReason.LENGTH,
            Usage(5, 2),
        ),
        Break("slow", ModelFailure.RETRYABLE, "rate-limited", 429, 5),
        Stall("half", opens=False, confirms=False),
        Succeed(result="3", artifacts=(Artifact("a", "p", "s"),), after=("b", "c")),
        Fail(error="no", fatal=True),
        Lose(cause="timeout", did=False),
        Hang(effect=EffectSeen.UNPROVED, confirms=False),
        Detach(handle="h", then=Lose(did=True)),
        Say(),
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({}, r"a script is a list of objects, found dict"),
        ("[]", r"a script is a list of objects, found str"),
        ([7], r"entry 0: expected an object, found int"),
        ([{"do": "say"}, {"text": "x"}], r"entry 1: 'do' is None, expected one of say, break"),
        ([{"do": "sing"}], r"entry 0: 'do' is 'sing'"),
        ([{"do": ["say"]}], r"entry 0: 'do' is \['say'\]"),
        ([{"do": "say", "txt": "x"}], r"entry 0: say has no txt; it has calls, finish"),
        ([{"do": "say", "text": 7}], r"entry 0, text: Expected `str`, got `int`"),
        ([{"do": "break", "kind": "sad"}], r"entry 0, kind: Invalid enum value 'sad'"),
        ([{"do": "say", "calls": [{"arguments": {}}]}], r"entry 0, calls: .*missing.*`tool`"),
        ([{"do": "detach", "then": {"do": "succeed", "result": 7}}], r"entry 0, then, result: Expected `str`"),
        ([{"do": "detach", "then": {"do": "say"}}], r"entry 0, then: 'do' is 'say', expected one of succeed, fail"),
    ],
)
def test_a_wrong_script_says_where_and_what_was_expected(data, problem):
    with pytest.raises(ScriptError, match=problem):
        read_script(data)


def test_arguments_are_canonical_json_or_raw_text():
    assert Ask("x", {"b": 1, "a": None}).raw == '{"a":null,"b":1}'
    assert Ask("x", "not json").raw == "not json"
    assert Ask("x").raw == "{}"


def test_a_label_fits_unless_it_is_given():
    assert Say("x").label is FinishReason.STOP
    assert Say("x", calls=(Ask("y"),)).label is FinishReason.TOOL_CALLS
    assert Say("x", calls=(Ask("y"),), finish=FinishReason.STOP).label is FinishReason.STOP
