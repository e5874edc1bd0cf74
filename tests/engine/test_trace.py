"""One line per reduction."""

from __future__ import annotations

import pytest
import structlog
from structlog.testing import capture_logs

from interpreters.engine.trace import default_log
from tests.engine.rig import Rig, ScriptedModel, ScriptedTools, calls, config, contract, text

pytestmark = pytest.mark.anyio


async def ran(run):
    return "ran"


@pytest.mark.req("R-233", "R-043", "R-054", "R-026")
async def test_each_reduction_leaves_exactly_one_line_that_says_why():
    rig = Rig(config(contract("work")))
    async with rig.open(ScriptedModel(calls(("work", {})), text("done")), ScriptedTools(work=ran)) as session:
        await session.send("go")
        await session.wait()
        await session.retry("9.9.9")
        await session.withdraw("nothing")
    lines = [line for line in rig.lines if "verdict" in line]
    accepted = [line for line in lines if line["verdict"] == "accepted"]
    assert [line["seq"] for line in accepted] == list(range(1, session.state.seq + 1))
    assert all(line["because"] for line in lines)
    prompt = accepted[0]
    assert (prompt["event"], prompt["from"], prompt["to"]) == ("PromptSubmitted", "Idle", "AwaitingModel")
    assert prompt["hops"]
    assert prompt["commands"] == ["request-model/1.1/0/1", "start-timer/model/1.1/0/1"]
    assert prompt["session"] == "s"
    assert prompt["duration_us"] >= 0
    succeeded = next(line for line in accepted if line["event"] == "ToolSucceeded")
    assert succeeded["from"] == "RunningTools"
    released = next(line for line in accepted if line["event"] == "CheckpointWritten" and line["calls"])
    assert released["calls"] == ["1.1.0 Released -> Executing (release-covered)"]
    refused = next(line for line in lines if line["verdict"] == "rejected")
    assert refused["because"] == "foreign-call"
    assert "9.9.9" in refused["refused"]


async def test_a_library_writes_nothing_until_the_host_configures_logging(capsys):
    structlog.reset_defaults()
    assert default_log() is None
    rig = Rig(config(), log=None)
    async with rig.open(ScriptedModel(text("done"))) as session:
        await session.send("go")
        await session.retry("9.9.9")
        await session.wait()
    assert capsys.readouterr().out == ""
    with capture_logs() as lines:
        default_log().info("x", a=1)
    assert lines == [{"event": "x", "a": 1, "log_level": "info"}]
    structlog.reset_defaults()
