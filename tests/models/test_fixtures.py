"""What providers really send decodes as stated: by the decoder alone, and through a real connection."""

from __future__ import annotations

import base64
import json

import pytest

from agentcore.events import ModelFailure, ModelReplied
from agentcore.messages import FinishReason
from interpreters.models import DIALECTS, Failure, HttpModel, Timeouts
from interpreters.models.faults import WireRule
from interpreters.support.ports_model import ReasoningDelta, TextDelta
from tests.models import wire
from tests.models.byteserver import Answer, Pause, serving
from tests.models.runs import NOW, watched

HASTY = Timeouts(connect_s=30, idle_s=0.4, progress_s=0.4)
"""For answers that never end."""

CALM = Timeouts(connect_s=30, idle_s=30, progress_s=30)
"""For all others: a busy machine is no silent server."""


@pytest.mark.parametrize("size", [1, 7, 10**9])
@pytest.mark.parametrize("name", wire.names())
@pytest.mark.req("R-086", "G-14")
def test_a_recorded_answer_decodes_as_stated_however_its_bytes_are_cut(name, size):
    fixture = wire.load(name)
    data = wire.body(fixture)
    size = max(size, len(data) // 10_000)
    shown, outcome = wire.decode_fixture(fixture, wire.cut(data, size))
    expect = fixture["expect"]
    if isinstance(outcome, Failure):
        wire.check_failure(expect, outcome.fault.value, outcome.kind, outcome.retry_after_ms, 0)
        assert outcome.rule in WireRule
    else:
        wire.check_reply(expect, outcome.parts, outcome.finish, outcome.usage)
    assert shown.get("TextDelta", "") == expect["text"] + expect.get("refusal", "")
    assert shown.get("ReasoningDelta", "") == expect.get("reasoning", "")


def steps(fixture: dict) -> tuple:
    """What the server writes, piece by piece."""
    found = []
    for step in fixture["steps"]:
        if "b64" in step:
            found.append(base64.b64decode(step["b64"]))
        else:
            found.append(Pause(step["sleep"]) if "sleep" in step else step["end"])
    return tuple(found)


@pytest.mark.anyio
@pytest.mark.parametrize("name", wire.names())
async def test_a_recorded_answer_comes_through_a_connection_as_stated(name):
    fixture = wire.load(name)
    expect = fixture["expect"]
    with serving(Answer(steps(fixture), fixture["status"], fixture["headers"])) as server:
        seen = watched()
        timeouts = HASTY if expect.get("kind") == "idle_timeout" else CALM
        model = HttpModel("m", base_url=server.url, dialect=fixture["dialect"], timeouts=timeouts)
        event = await model.answer(seen.run)
    if isinstance(event, ModelReplied):
        wire.check_reply(expect, event.parts, event.finish, event.usage)
    else:
        wire.check_failure(expect, event.code, event.kind, event.retry_after_ms, NOW)
        assert event.output_shown is bool(expect["text"])
    assert len(seen.emitted) == (fixture["status"] < 300)
    assert seen.text(TextDelta) == expect["text"] + expect.get("refusal", "")
    assert seen.text(ReasoningDelta) == expect.get("reasoning", "")


@pytest.mark.parametrize("name", wire.captures())
@pytest.mark.parametrize("size", [1, 7, 10**9])
def test_a_stream_of_a_real_server_decodes(name, size):
    data = (wire.FIXTURES / name).read_bytes()
    _, outcome = wire.decode(wire.cut(data, size), dialect=wire.dialect_of(name))
    found = wire.told(outcome.parts)
    truncated = "truncated" in name
    # The model of the first recordings really asked twice.
    asked = 2 if name.startswith("llamacpp_") and not truncated else 1
    assert [call[0] for call in found["tools"]] == ["get_weather"] * asked
    # This server says of a cut response that it is complete; what it holds tells.
    said = FinishReason.LENGTH if truncated and "responses" not in name else FinishReason.TOOL_CALLS
    assert outcome.finish is said
    assert (found["tools"][0][1] is None) is truncated
    assert wire.runnable(outcome.parts, outcome.finish) is not truncated
    if "python" not in name:
        assert (outcome.usage.input_tokens, outcome.usage.cache_read_tokens) == (228, 227)


@pytest.mark.parametrize("name", [name for name in wire.names() if wire.load(name)["expect"]["outcome"] == "ok"])
def test_a_stream_cut_off_anywhere_before_its_end_was_stated_is_no_message(name):
    """Whatever prefix arrives: either it is the whole message, or it is told to be cut; never a shorter message."""
    fixture = wire.load(name)
    data = wire.body(fixture)
    _, whole = wire.decode_fixture(fixture)
    for length in range(0, len(data), max(1, len(data) // 400)):
        _, outcome = wire.decode_fixture(fixture, [data[:length]])
        if isinstance(outcome, Failure):
            assert outcome.kind is ModelFailure.RETRYABLE, length
        else:
            assert outcome.parts == whole.parts, length


def test_the_fixtures_are_what_they_are_taken_for():
    assert {dialect: len(wire.names(dialect)) for dialect in DIALECTS} == {"chat": 58, "anthropic": 16, "responses": 6}
    assert len(wire.captures()) >= 5
    assert all(json.loads(path.read_text())["id"] == path.stem for path in wire.FIXTURES.glob("*.json"))
