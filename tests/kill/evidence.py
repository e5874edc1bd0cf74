"""What is found afterwards: by reading the journal, the disk and the service, not by asking the run."""

from __future__ import annotations

import hashlib

import anyio

from agentcore import reduce, start
from agentcore.codec import decode_event, decode_header, decode_state, encode_event, encode_header, encode_state
from agentcore.commands import RequestModel
from agentcore.messages import AssistantMessage, ToolMessage, ToolResult
from agentcore.projections import request_messages
from agentcore.states import State
from agentcore.testing.laws import LAWS
from agentcore.testing.passage import Passage
from interpreters import FileStore
from interpreters.engine import read_state
from interpreters.support.ports_store import Loaded
from tests.kill.world import SESSION, World


def load(world: World) -> Loaded:
    """The journal, from its beginning."""

    async def read() -> Loaded:
        return await FileStore(world.store).read(SESSION, from_start=True)

    return anyio.run(read)


def check_journal(world: World) -> State:
    """Fold the journal and return its state, after finding that

    1. header and events are what their bytes say, and encode to the same bytes again;
    2. every event was accepted, and every request that was ordered on the way is balanced;
    3. the state survives its codec, and is the one that a snapshot leads to, and the one that the live run ended with.
    """
    loaded = load(world)
    assert loaded.recovery.damage is None
    header = decode_header(loaded.header)
    assert encode_header(header) == loaded.header
    state = start(header.session_id, header.config, header.at).state
    for seq, payload in loaded.events:
        event = decode_event(payload)
        assert encode_event(event) == payload
        state, commands = reduce(state, event)
        assert state.seq == seq, f"event {seq} was not accepted: {event}"
        for order in commands:
            if isinstance(order, RequestModel):
                check_ledger(request_messages(state, order.request_id).messages)
    check_ledger(tuple(state.history))
    encoded = encode_state(state)
    assert decode_state(encoded) == state
    assert anyio.run(read_state, FileStore(world.store), SESSION) == state
    assert hashlib.sha256(encoded).hexdigest() == world.said()["state"]
    return state


def check_laws(world: World) -> None:
    """Hold every law that looks at events, alone or with a memory, against what really happened."""
    loaded = load(world)
    header = decode_header(loaded.header)
    state = start(header.session_id, header.config, header.at).state
    memories = {law.name: law.monitor.start for law in LAWS.values() if law.monitor}
    for seq, payload in loaded.events:
        event = decode_event(payload)
        reduction = reduce(state, event)
        passage = Passage(state, event, reduction)
        for law in LAWS.values():
            problem = law.transition(passage) if law.transition else None
            if law.monitor and not problem:
                memories[law.name], problem = law.monitor.step(memories[law.name], passage)
            assert problem is None, f"event {seq} breaks {law.name}: {problem}"
        state = reduction.state


def check_ledger(messages: tuple) -> None:
    """Every call of a message has exactly one result, directly behind it and in source order; there are no others."""
    before = None
    for message in (*messages, None):
        asked = before.calls if isinstance(before, AssistantMessage) else ()
        results = message.results if isinstance(message, ToolMessage) else ()
        assert [call.provider_id for call in asked] == [result.provider_id for result in results]
        if isinstance(message, ToolMessage):
            assert [each.call_id for each in results] == [f"{message.request_id}.{at}" for at in range(len(results))]
        before = message


def results_of(state: State) -> dict[str, ToolResult]:
    """What was written for each call, by tool."""
    written = (message for message in state.history if isinstance(message, ToolMessage))
    return {result.name: result for message in written for result in message.results}
