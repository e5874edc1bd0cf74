"""The loop does not know where its tools are (R-017)."""

from __future__ import annotations

import json

import anyio
import attrs
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from agentcore.codec import decode_event, encode_event
from agentcore.commands import ExecuteTool
from agentcore.states import EffectUnknown
from tests.engine.rig import Rig, ScriptedModel, ScriptedTools, calls, config, contract, settle, text

pytestmark = pytest.mark.anyio

LINE_MAX = 1 << 20


@attrs.frozen
class RemoteCall:
    """What of a call goes over the wire."""

    name: str
    arguments: str


class RemoteTools:
    """A toolbox at the other end of a socket: one connection for each execution."""

    contracts = ()

    def __init__(self, port):
        self.port = port
        self.streams = {}

    async def execute(self, session_id, order, call, *, emit, show):
        stream = await anyio.connect_tcp("127.0.0.1", self.port)
        async with stream:
            asked = {
                "session": session_id,
                "order": attrs.asdict(order),
                "call": attrs.asdict(RemoteCall(call.name, call.arguments)),
            }
            await stream.send(json.dumps(asked).encode() + b"\n")
            lines = BufferedByteReceiveStream(stream)
            while True:
                kind, _, body = (await lines.receive_until(b"\n", LINE_MAX)).partition(b" ")
                if kind == b"end":
                    return decode_event(body)
                if kind == b"emit":
                    emit(decode_event(body))
                else:
                    show(body.decode())


def serve(tools):
    """Return what answers one connection with a toolbox of this process."""

    async def handle(stream):
        async with stream:
            asked = json.loads(await BufferedByteReceiveStream(stream).receive_until(b"\n", LINE_MAX))
            said = []
            end = await tools.execute(
                asked["session"],
                ExecuteTool(**asked["order"]),
                RemoteCall(**asked["call"]),
                emit=lambda event: said.append(b"emit " + encode_event(event)),
                show=lambda words: said.append(b"show " + words.encode()),
            )
            for line in (*said, b"end " + encode_event(end)):
                await stream.send(line + b"\n")

    return handle


def scripted_tools():
    async def add(run):
        from agentcore.events import ToolStarted

        run.emit(ToolStarted(at=0, **run.named, handle="process 7"))
        run.show("adding")
        return str(run.arguments["x"] + run.arguments["y"])

    async def fail(run):
        return run.failed("no such thing", kind="missing")

    return ScriptedTools(add=add, fail=fail)


class PatientModel(ScriptedModel):
    """Answers when everybody else waits: trio runs tasks in random order, and that is not what is compared."""

    async def answer(self, run):
        await settle()
        return await super().answer(run)


async def run_turn(tools):
    rig = Rig(config(contract("add"), contract("fail")))
    model = PatientModel(calls(("add", {"x": 1, "y": 2})), calls(("fail", {})), text("done"))
    async with rig.open(model, tools) as session:
        await session.send("go", message_id="m")
        result = await session.wait()
    assert result.text == "done"
    return await rig.journal()


@pytest.mark.req("R-017")
async def test_tools_in_process_and_at_the_other_end_of_a_socket_give_the_same_journal():
    here = await run_turn(scripted_tools())
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve(scripted_tools()))
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        there = await run_turn(RemoteTools(port))
        tasks.cancel_scope.cancel()
    assert there == here
    assert {type(event).__name__ for event in here} >= {"ToolStarted", "ToolSucceeded", "ToolFailed"}


def is_lost(state):
    return state.batch is not None and isinstance(state.batch.calls[0].state, EffectUnknown)


async def test_a_connection_that_breaks_is_an_attempt_that_is_lost():
    async def hang_up(stream):
        await stream.aclose()

    rig = Rig(config(contract("add")))
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, hang_up)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with rig.open(ScriptedModel(calls(("add", {}))), RemoteTools(port)) as session:
            await session.send("go")
            async for shown in session.views(0):
                if shown.name == "state" and is_lost(shown.view.state):
                    break
        tasks.cancel_scope.cancel()
    assert "ToolLost" in rig.reductions()
