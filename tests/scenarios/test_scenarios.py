"""Scenario files: each is run, judged by every law, and compared with what stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcore.policy import Effect
from agentcore.testing.explorations import with_faults
from agentcore.testing.notation import NotationError, Reader, write
from agentcore.testing.report import Step
from agentcore.testing.scenario import Scenario, parse, render
from agentcore.testing.search import Search

FILES = sorted(Path(__file__).parent.rglob("*.txt"))


@pytest.mark.req("R-215", "R-223")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_comes_out_as_it_is_written(path, golden):
    text = render(parse(path.read_bytes().decode("utf-8")))
    assert "    broken" not in text
    golden(path, text)


def test_there_are_scenarios():
    assert len(FILES) >= 6


def ways() -> list[Scenario]:
    """Every place of a small exploration with a crash, by the way that leads there."""
    search = Search(with_faults(("crash",), ("writes",), Effect.FENCEABLE), laws={})
    report = search.run()
    return [Scenario("s", 0, report.config, search.way(number)) for number in range(0, report.places, 5)]


def test_what_is_written_is_read_again():
    for scenario in ways():
        text = render(scenario, laws={})
        assert parse(text) == scenario
        assert render(parse(text), laws={}) == text


def test_a_crash_forgets_and_the_world_does_not():
    crashed = next(
        way for way in ways() if any(isinstance(step, Step) and step.keeps is not None for step in way.steps)
    )
    text = render(crashed)
    assert "crash keeps=" in text
    assert "session-resumed" in text


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("tool-exploded @0", "line 2: tool-exploded is no event and no step"),
        ("tool-lost @0 call-id=1.1.0", "line 2: tool-lost: .*epoch"),
        ("tool-lost @0 when=now", "line 2: tool-lost has no field when"),
        ("tool-lost @0 epoch=soon", "line 2: soon is no int"),
        ("model-replied @0 parts=[image(1)]", "line 2: image is none of text-part"),
        ("model-replied @0 parts=", "line 2: expected"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line, problem):
    with pytest.raises(NotationError, match=problem):
        parse(f"session s @0\n{line}\n")


@pytest.mark.parametrize("text", ["", "two words", "null", "1.1.0", 'a "quoted" one', "line\nbreak", "ünï", "[x]"])
def test_text_is_read_as_it_was_written(text):
    assert Reader(write(text)).value(str | None) == text
